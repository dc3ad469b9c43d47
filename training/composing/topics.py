"""The tools and sentences that `from_topics.py` makes questions of.

A topic is one tool, with a phrase that asks for it. A phrase has a place for each required value, such as `{years}`;
what is said of an optional value is appended to the phrase. A value is drawn together with the words that say it: `5%`
and 0.05, `half past six in the evening` and `18:30`.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Drawn = tuple[str, Any]
"""The words for a value, and the value."""

Pool = Callable[[random.Random], Drawn]


@dataclass(frozen=True)
class Value:
    """A parameter of a tool, and the values that are drawn for it."""

    schema: dict[str, Any]
    pool: Pool


@dataclass(frozen=True)
class Topic:
    """A tool and how people ask for it.

    Attributes:
        name: The name of the tool.
        description: What it does, as the model reads it.
        area: The subject. Tools of another area do not serve a request.
        phrase: The request: a thing ("the area of …") or, if `is_deed`, an order ("book …").
        able: What the tool can do, as a reply says it.
        required: The values in the phrase.
        optional: The values that may be said after it.
        said: What is appended to the phrase for each optional value.
        listed: The required value of which several may be named in one phrase, if any.
        unsaid: Requests without a required value, each with the question to ask for it.
        result: What a call returns: each key with the words or numbers that it may have.
        told: The sentence that tells a result, with places for values and for keys of the result.
    """

    name: str
    description: str
    area: str
    phrase: str
    able: str
    required: Mapping[str, Value]
    optional: Mapping[str, Value] = field(default_factory=dict[str, Value])
    said: Mapping[str, str] = field(default_factory=dict[str, str])
    listed: str = ""
    is_deed: bool = False
    unsaid: Sequence[tuple[str, str]] = ()
    result: Mapping[str, Sequence[Any]] = field(default_factory=dict[str, Sequence[Any]])
    told: str = ""


def text(description: str, *values: str | Drawn, **more: Any) -> Value:
    """Return a parameter that takes a text."""
    drawn = [each if isinstance(each, tuple) else (each, each) for each in values]
    return Value({"type": "string", "description": description, **more}, lambda rng: rng.choice(drawn))


def choice(description: str, *values: str | Drawn, **more: Any) -> Value:
    """Return a parameter that takes one of some texts."""
    drawn = [each if isinstance(each, tuple) else (each, each) for each in values]
    names = list(dict.fromkeys(value for _, value in drawn))
    return Value({"type": "string", "description": description, "enum": names, **more}, lambda rng: rng.choice(drawn))


def integer(description: str, low: int, high: int, step: int = 1, **more: Any) -> Value:
    """Return a parameter that takes a whole number."""

    def pool(rng: random.Random) -> Drawn:
        number = rng.randrange(low, high + 1, step)
        return f"{number:,}" if number > 9999 and rng.random() < 0.5 else str(number), number

    return Value({"type": "integer", "description": description, **more}, pool)


def said_integer(description: str, *values: Drawn, **more: Any) -> Value:
    return Value({"type": "integer", "description": description, **more}, lambda rng: rng.choice(values))


def number(description: str, *values: Drawn, **more: Any) -> Value:
    """Return a parameter that takes a number, from a list of words and numbers."""
    return Value({"type": "number", "description": description, **more}, lambda rng: rng.choice(values))


def decimal(description: str, low: float, high: float, places: int = 1, **more: Any) -> Value:
    def pool(rng: random.Random) -> Drawn:
        drawn = round(rng.uniform(low, high), rng.choice([0, places]))
        value = int(drawn) if drawn == int(drawn) else drawn
        return str(value), value

    return Value({"type": "number", "description": description, **more}, pool)


def flag(description: str, **more: Any) -> Value:
    """Return a parameter that is true when it is said; `from_topics.py` knows when it is false."""
    return Value({"type": "boolean", "description": description, **more}, lambda _: ("", True))


def texts(description: str, *values: str, **more: Any) -> Value:
    """Return a parameter that takes a list of texts."""

    def pool(rng: random.Random) -> Drawn:
        drawn = rng.sample(values, rng.choice([1, 2, 2, 3]))
        return join(drawn), drawn

    return Value({"type": "array", "items": {"type": "string"}, "description": description, **more}, pool)


def numbers(description: str, low: int, high: int, **more: Any) -> Value:
    """Return a parameter that takes a list of whole numbers."""

    def pool(rng: random.Random) -> Drawn:
        drawn = [rng.randint(low, high) for _ in range(rng.randint(4, 7))]
        words = str(drawn) if rng.random() < 0.5 else join([str(each) for each in drawn])
        return words, drawn

    return Value({"type": "array", "items": {"type": "integer"}, "description": description, **more}, pool)


def join(words: Sequence[str]) -> str:
    """Join words as a sentence does: with commas, and `and` before the last."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


CITIES = ("Oslo", "Lisbon", "Nairobi", "Osaka", "Toronto", "Lima", "Cairo", "Helsinki", "Seville", "Hanoi", "Perth")
US_CITIES = (
    ("Denver", "Denver, CO"), ("Seattle", "Seattle, WA"), ("Austin", "Austin, TX"),
    ("Portland, Oregon", "Portland, OR"),
    ("Tucson", "Tucson, AZ"), ("Atlanta", "Atlanta, GA"), ("Cleveland", "Cleveland, OH"), ("Omaha", "Omaha, NE"),
    ("Philadelphia", "Philadelphia, PA"), ("Las Vegas", "Las Vegas, NV"), ("Salt Lake City", "Salt Lake City, UT"),
    ("Detroit", "Detroit, MI"), ("Baltimore", "Baltimore, MD"), ("San Antonio, Texas", "San Antonio, TX"),
)  # fmt: skip
COUNTRIES = ("Norway", "Kenya", "Chile", "Vietnam", "Portugal", "Canada", "Egypt", "Poland", "New Zealand", "Peru")
MONEY = tuple((f"${each:,}", each) for each in (800, 1200, 2500, 4000, 7500, 12000, 18000, 35000, 60000, 250000))
MILLIONS = (
    ("$2 million", 2_000_000), ("3.5 million dollars", 3_500_000), ("$40 million", 40_000_000), ("$750,000", 750_000),
    ("half a million dollars", 500_000), ("$1.2 billion", 1_200_000_000), ("6 million", 6_000_000), ("$90k", 90_000),
)  # fmt: skip
SHARES = (
    *((f"{each}%", each / 100) for each in (2, 3, 4, 5, 6, 8, 12, 15)),
    ("2.5%", 0.025), ("4.75 percent", 0.0475), ("7.2%", 0.072), ("six percent", 0.06), ("half a percent", 0.005),
)  # fmt: skip
PERCENTS = (("5%", 5), ("7.5 percent", 7.5), ("12%", 12), ("20 percent", 20), ("3.2%", 3.2), ("15%", 15), ("8%", 8))
CLOCK = (
    ("7 PM", "19:00"), ("half past six in the evening", "18:30"), ("9:15 am", "09:15"), ("noon", "12:00"),
    ("8:45 p.m.", "20:45"), ("14:20", "14:20"), ("quarter past three in the afternoon", "15:15"), ("6 am", "06:00"),
)  # fmt: skip
DAYS = (
    ("March 3, 2025", "2025-03-03"), ("12 July 2024", "2024-07-12"), ("2025-11-30", "2025-11-30"),
    ("the 5th of May 2026", "2026-05-05"), ("October 21st, 2025", "2025-10-21"), ("1 February 2026", "2026-02-01"),
    ("December 24, 2025", "2025-12-24"), ("9/17/2025", "2025-09-17"), ("August 8, 2026", "2026-08-08"),
)  # fmt: skip
PEOPLE = ("Ada Lovelace", "Nikola Tesla", "Maria Callas", "Pelé", "Akira Kurosawa", "Rosa Parks", "Niels Bohr",
          "Frida Kahlo", "Roger Federer", "Wangari Maathai")  # fmt: skip

TOPICS: tuple[Topic, ...] = (
    Topic(
        "finance.compound_interest",
        "Compute the compound interest earned on a deposit.",
        "money",
        "the compound interest on {principal} at {rate} a year over {years} years",
        "work out compound interest",
        {
            "principal": number("Money deposited", *MONEY),
            "rate": number("Yearly rate as a decimal, 0.05 for 5 percent", *SHARES),
            "years": integer("Number of years", 2, 30),
        },
        {
            "per_year": said_integer(
                "How often a year interest is added",
                ("monthly", 12),
                ("quarterly", 4),
                ("yearly", 1),
                ("twice a year", 2),
                default=1,
            )
        },
        {"per_year": ", compounded {per_year}"},
        unsaid=[
            ("How much compound interest do I get over 10 years at 4%?", "How much money do you deposit?"),
            ("I deposit $3,000. What compound interest will I earn?", "At what yearly rate, and for how many years?"),
        ],
        result={"interest": [812.4, 1544.02, 97.5], "balance": [5812.4, 13544.02, 2597.5]},
        told="On {principal} at {rate} you earn {interest} in interest over {years} years, which brings the "
        "balance to {balance}.",
    ),
    Topic(
        "loan_payment",
        "Monthly payment for a loan with fixed interest.",
        "money",
        "the monthly payment for a loan of {amount} at {rate} over {years} years",
        "work out loan payments",
        {
            "amount": number("Amount borrowed", *MONEY),
            "rate": number("Annual interest in percent, e.g. 4.5", *PERCENTS),
            "years": integer("Term in years", 3, 35),
        },
        {"extra": integer("Extra paid each month", 50, 400, 50, default=0)},
        {"extra": ", paying {extra} extra each month"},
        unsaid=[
            (
                "What would I pay each month for a loan of $20,000?",
                "What are the annual interest rate and the term in years?",
            )
        ],
        result={"monthly": [214.07, 96.5, 1288.3], "total_interest": [3310.0, 801.2, 20412.9]},
        told="You would pay {monthly} a month for a loan of {amount} at {rate} over {years} years; the "
        "interest adds up to {total_interest}.",
    ),
    Topic(
        "currency.convert",
        "Converts an amount of money from one currency to another.",
        "money",
        "the value of {amount} {source} in {target}",
        "convert currencies",
        {
            "amount": integer("Amount", 20, 9000, 10),
            "source": text(
                "ISO code of the currency to convert from",
                ("euros", "EUR"),
                ("US dollars", "USD"),
                ("Swiss francs", "CHF"),
                ("pounds", "GBP"),
            ),
            "target": text(
                "ISO code of the currency to convert to",
                ("yen", "JPY"),
                ("Polish zloty", "PLN"),
                ("Norwegian kroner", "NOK"),
                ("Indian rupees", "INR"),
                ("Canadian dollars", "CAD"),
            ),
        },
        {"with_fee": flag("Subtract the fee of the bank", default=False)},
        {"with_fee": ", less the fee of the bank"},
        listed="target",
        result={"rate": [1.08, 163.2, 11.4], "converted": [410.4, 9720.0, 2280.5]},
        told="{amount} {source} are {converted} {target}, at a rate of {rate}.",
    ),
    Topic(
        "stock_quote",
        "Latest share price of a company.",
        "money",
        "the share price of {company}",
        "look up share prices",
        {
            "company": text(
                "Name of the company", "Siemens", "Nintendo", "Unilever", "Volvo", "Petrobras", "Novo Nordisk"
            )
        },
        {
            "exchange": text("Stock exchange", "Frankfurt", "Tokyo", "NYSE", "London", default="NYSE"),
            "days": integer("Days of history", 2, 30, default=1),
        },
        {"exchange": " on the {exchange} exchange", "days": " for the last {days} days"},
        listed="company",
        result={"price": [141.2, 58.05, 903.0], "change_percent": [-1.2, 0.4, 2.9], "currency": ["EUR", "USD"]},
        told="{company} stands at {price} {currency}, a change of {change_percent} percent.",
    ),
    Topic(
        "tax.estimate",
        "Estimates income tax.",
        "money",
        "the income tax on {income} earned in {year}",
        "estimate income tax",
        {"income": number("Income of the year", *MONEY), "year": integer("Tax year", 2019, 2025)},
        {
            "status": choice(
                "Filing status",
                ("filing as a single person", "single"),
                ("for a married couple", "married"),
                ("as head of household", "head_of_household"),
                default="single",
            )
        },
        {"status": ", {status}"},
        unsaid=[("How much income tax do I owe for 2024?", "How much did you earn in 2024?")],
    ),
    Topic(
        "triangle_area",
        "Area of a triangle.",
        "mathematics",
        "the area of a triangle with a base of {base} and a height of {height}",
        "compute areas of triangles",
        {"base": decimal("Length of the base", 2, 60), "height": decimal("Height", 2, 60)},
        {"unit": choice("Unit of length", ("meters", "m"), ("centimeters", "cm"), ("inches", "in"), default="m")},
        {"unit": ", measured in {unit}"},
        unsaid=[("What is the area of a triangle whose base is 14 cm?", "How high is the triangle?")],
        result={"area": [84.0, 12.5, 330.75]},
        told="A triangle with a base of {base} and a height of {height} has an area of {area}.",
    ),
    Topic(
        "geometry.sphere_volume",
        "Volume of a sphere.",
        "mathematics",
        "the volume of a sphere with a radius of {radius}",
        "compute volumes of spheres",
        {"radius": integer("Radius", 2, 90)},
        {"precision": integer("Digits after the point", 1, 6, default=2)},
        {"precision": ", rounded to {precision} decimal places"},
        listed="radius",
    ),
    Topic(
        "stats.describe",
        "Mean, median and deviation of numbers.",
        "statistics",
        "the summary statistics of {values}",
        "summarise numbers",
        {"values": numbers("The numbers", 2, 99)},
        {"sample": flag("Treat them as a sample, not as all there is", default=True)},
        {"sample": ", treating them as a sample"},
        unsaid=[
            ("Give me mean and median of my measurements.", "Which measurements are they? Please send me the numbers.")
        ],
        result={"mean": [41.2, 17.75], "median": [39, 18], "deviation": [12.9, 4.3]},
        told="For {values} the mean is {mean}, the median is {median} and the standard deviation is {deviation}.",
    ),
    Topic(
        "health.calories",
        "Calories burned by an activity.",
        "health",
        "the calories burned by {minutes} minutes of {activity}",
        "estimate calories",
        {
            "minutes": integer("Duration in minutes", 10, 120, 5),
            "activity": text("The activity", "running", "swimming", "cycling", "rowing", "yoga"),
        },
        {"weight": integer("Weight of the person in kg", 50, 110, 5, default=70)},
        {"weight": " for someone who weighs {weight} kg"},
        listed="activity",
    ),
    Topic(
        "recipes.find",
        "Finds recipes.",
        "food",
        "a recipe for {dish}",
        "find recipes",
        {"dish": text("The dish", "lasagna", "pad thai", "borscht", "shakshuka", "apple strudel")},
        {
            "servings": integer("For how many people", 2, 10, default=4),
            "diet": choice("Diet", ("vegan", "vegan"), ("gluten-free", "gluten_free"), ("low on salt", "low_salt")),
            "minutes": integer("Longest time to cook", 15, 90, 5),
        },
        {
            "servings": " for {servings} people",
            "diet": " that is {diet}",
            "minutes": " and takes at most {minutes} minutes",
        },
        listed="dish",
    ),
    Topic(
        "nutrition.facts",
        "Nutrients of a food.",
        "food",
        "the nutrition facts of {food}",
        "look up nutrition facts",
        {"food": text("The food", "oatmeal", "avocado", "tofu", "rye bread", "salmon")},
        {
            "grams": integer("Portion in grams", 50, 400, 50, default=100),
            "nutrients": texts("Only these", "protein", "fat", "fiber", "sugar", "iron"),
        },
        {"grams": " per {grams} grams", "nutrients": ", namely {nutrients}"},
        listed="food",
        result={"kcal": [389, 160, 144], "protein_g": [16.9, 2, 17.3], "fat_g": [6.9, 14.7, 8.8]},
        told="{food} has {kcal} kcal, {protein_g} g of protein and {fat_g} g of fat.",
    ),
    Topic(
        "restaurants.search",
        "Finds restaurants in a city.",
        "food",
        "a {cuisine} restaurant in {city}",
        "find restaurants",
        {
            "cuisine": text("Kind of food", "Thai", "Mexican", "Ethiopian", "Greek", "sushi"),
            "city": text("City and state, such as Boston, MA", *US_CITIES),
        },
        {
            "rating": integer("Lowest rating, 1 to 5", 2, 5, default=1),
            "closes_after": said_integer(
                "Hour until which it is open at least, 0 to 23",
                ("10 PM", 22),
                ("11 p.m.", 23),
                ("9 in the evening", 21),
            ),
            "amenities": texts("What it must have", "patio", "wifi", "parking", "live music"),
        },
        {
            "rating": " with at least {rating} stars",
            "closes_after": ", open until {closes_after} at least",
            "amenities": ", with {amenities}",
        },
        listed="city",
        unsaid=[("Find me a good Greek restaurant.", "In which city?")],
        result={
            "name": ["Blue Door", "Casa Lila", "Saffron House"],
            "stars": [4.4, 4.7, 3.9],
            "street": ["12 Main St", "480 Pine Ave"],
            "open_until": ["22:30", "23:00"],
        },
        told="In {city} I found {name} at {street}: it has {stars} stars and is open until {open_until}.",
    ),
    Topic(
        "weather.forecast",
        "Weather forecast for a place.",
        "weather",
        "the weather forecast for {location}",
        "look up the weather",
        {"location": text("City", *CITIES)},
        {
            "days": integer("How many days", 2, 10, default=1),
            "unit": choice(
                "Unit of temperature", ("Celsius", "celsius"), ("Fahrenheit", "fahrenheit"), default="celsius"
            ),
        },
        {"days": " for the next {days} days", "unit": ", in {unit}"},
        listed="location",
        unsaid=[("Will it rain tomorrow?", "For which city do you want the forecast?")],
        result={
            "sky": ["sunny", "cloudy", "light rain", "snow showers"],
            "high": [7, 19, 31],
            "low": [-2, 8, 22],
            "wind_kmh": [6, 18, 35],
        },
        told="In {location} it is {sky}, with a high of {high} degrees, a low of {low} and wind at {wind_kmh} km/h.",
    ),
    Topic(
        "maps.route",
        "Driving route between two places.",
        "travel",
        "the {kind} route from {start} to {end}",
        "find routes",
        {
            "kind": choice("What to minimise", ("fastest", "fastest"), ("shortest", "shortest")),
            "start": text("Where it begins", "Munich", "Prague", "Vienna", "Zagreb"),
            "end": text(
                "Where it ends",
                "Berlin",
                "Trieste",
                "Basel",
                ("the Brandenburg Gate", "Brandenburg Gate"),
                ("the Prado Museum", "Prado Museum"),
            ),
        },
        {
            "avoid_tolls": flag("Avoid toll roads", default=False),
            "unit": choice("Unit of distance", ("miles", "miles"), ("kilometers", "km"), default="km"),
        },
        {"avoid_tolls": ", avoiding toll roads", "unit": ", with the distance in {unit}"},
        listed="end",
        result={"distance": [412, 87.5, 690], "hours": [4.2, 1.1, 7.5], "via": ["A9", "E55"]},
        told="The {kind} route from {start} to {end} runs via {via}: {distance} km in {hours} hours.",
    ),
    Topic(
        "flights.book",
        "Books a flight.",
        "travel",
        "book a flight from {origin} to {destination} on {date}",
        "book flights",
        {
            "origin": text("City of departure", "Dublin", "Madrid", "Warsaw", "Boston"),
            "destination": text("City of arrival", "Athens", "Chicago", "Tokyo", "Marrakesh"),
            "date": text("Day as YYYY-MM-DD", *DAYS),
        },
        {
            "passengers": integer("How many people", 2, 6, default=1),
            "cabin": choice(
                "Class",
                ("economy", "economy"),
                ("business class", "business"),
                ("first class", "first"),
                default="economy",
            ),
            "direct": flag("Only flights without a stop", default=False),
        },
        {"passengers": " for {passengers} people", "cabin": ", in {cabin}", "direct": ", direct flights only"},
        is_deed=True,
        unsaid=[
            ("Book me a flight to Tokyo on March 3, 2025.", "From which city do you want to fly?"),
            ("Get me a flight from Dublin to Athens.", "On which day would you like to fly?"),
        ],
        result={"reference": ["QX7RT2", "LM29PA"], "price_eur": [129, 840.5], "departs": ["07:55", "18:20"]},
        told="Your flight from {origin} to {destination} on {date} is booked: it departs at {departs} and "
        "costs {price_eur} euros. The reference is {reference}.",
    ),
    Topic(
        "hotels.book",
        "Books a hotel room.",
        "travel",
        "book a {room} room at {hotel} in {city} for {nights} nights",
        "book hotel rooms",
        {
            "room": text("Type of room", "single", "double", "deluxe", "twin"),
            "hotel": text(
                "Name of the hotel",
                "Hotel Astoria",
                ("the Grand Plaza", "Grand Plaza"),
                "Lakeside Inn",
                ("the Harbour Hotel", "Harbour Hotel"),
            ),
            "city": text("City", *CITIES),
            "nights": integer("Number of nights", 2, 9),
        },
        {
            "check_in": text("Day of arrival, YYYY-MM-DD", *DAYS),
            "extras": texts("Services to add", "breakfast", "parking", "late checkout", "spa"),
        },
        {"check_in": " from {check_in}", "extras": ", with {extras}"},
        is_deed=True,
        unsaid=[("Book a double room at the Grand Plaza in Lisbon.", "For how many nights?")],
        result={"reference": ["H-5512", "H-9034"], "price_eur": [310, 584.0], "check_in_from": ["14:00", "15:00"]},
        told="The {room} room at {hotel} in {city} is booked for {nights} nights at {price_eur} euros in "
        "all. You can check in from {check_in_from}, and the reference is {reference}.",
    ),
    Topic(
        "trains.timetable",
        "Trains between two stations.",
        "travel",
        "the trains from {origin} to {destination}",
        "look up trains",
        {
            "origin": text("Station of departure", "Hamburg", "Lyon", "Zurich"),
            "destination": text("Station of arrival", "Cologne", "Paris", "Geneva", "Turin"),
        },
        {"date": text("Day as YYYY-MM-DD", *DAYS), "after": text("Not before this time, HH:MM", *CLOCK)},
        {"date": " on {date}", "after": " after {after}"},
        listed="destination",
    ),
    Topic(
        "geo.distance",
        "Distance between two cities as the crow flies.",
        "travel",
        "the distance between {a} and {b}",
        "measure distances",
        {
            "a": text("First city", "Rome", "Dakar", "Santiago"),
            "b": text("Second city", "Sofia", "Sydney", "Reykjavik", "Bogotá"),
        },
        {"unit": choice("Unit", ("miles", "miles"), ("kilometers", "km"), ("nautical miles", "nm"), default="km")},
        {"unit": " in {unit}"},
        listed="b",
    ),
    Topic(
        "people.biography",
        "Facts about the life of a person.",
        "history",
        "the biography of {person}",
        "look up biographies",
        {"person": text("Name of the person", *PEOPLE)},
        {
            "topics": texts("Only these parts", "childhood", "education", "career", "awards"),
            "length": choice("How long", ("a short version", "short"), ("the full version", "full"), default="short"),
        },
        {"topics": ", especially {topics}", "length": ", {length}"},
        listed="person",
    ),
    Topic(
        "books.search",
        "Finds books.",
        "culture",
        "books about {subject}",
        "find books",
        {
            "subject": text(
                "What they are about",
                "beekeeping",
                ("the Silk Road", "Silk Road"),
                "stoicism",
                "game theory",
                ("the history of tea", "history of tea"),
            )
        },
        {
            "author": text("Author", *PEOPLE[:4]),
            "language": choice("Language", ("German", "de"), ("English", "en"), ("Spanish", "es"), default="en"),
            "limit": integer("How many", 3, 20, default=10),
        },
        {"author": " by {author}", "language": " in {language}", "limit": ", at most {limit}"},
        listed="subject",
    ),
    Topic(
        "text.translate",
        "Translates a text.",
        "language",
        "translate {text} into {target}",
        "translate texts",
        {
            "text": text(
                "The text",
                *(
                    (f"'{each}'", each)
                    for each in ("Where is the station?", "Two coffees, please.", "See you tomorrow.")
                ),
            ),
            "target": text(
                "Language to translate into, as a code of two letters",
                ("French", "fr"),
                ("Finnish", "fi"),
                ("Japanese", "ja"),
                ("Portuguese", "pt"),
            ),
        },
        {"formal": flag("Use the polite form", default=False)},
        {"formal": ", in the polite form"},
        listed="target",
        is_deed=True,
        unsaid=[("Translate this for me: 'Good night and sleep well.'", "Into which language should I translate it?")],
    ),
    Topic(
        "calendar.create",
        "Creates an event in the calendar.",
        "office",
        "put {title} into my calendar on {date} at {start}",
        "create calendar events",
        {
            "title": text(
                "Title",
                "Dentist",
                ("a budget review", "Budget review"),
                ("lunch with Omar", "Lunch with Omar"),
                "Standup",
            ),
            "date": text("Day, YYYY-MM-DD", *DAYS),
            "start": text("Begin, HH:MM", *CLOCK),
        },
        {
            "minutes": said_integer(
                "Length in minutes",
                ("half an hour", 30),
                ("an hour", 60),
                ("90 minutes", 90),
                ("two hours", 120),
                default=60,
            ),
            "guests": texts("Who is invited", "Omar", "Lena", "Priya"),
        },
        {"minutes": " for {minutes}", "guests": ", and invite {guests}"},
        is_deed=True,
        unsaid=[("Put the dentist into my calendar for 12 July 2024.", "At what time is the appointment?")],
        result={"event_id": ["ev_812", "ev_9004"], "conflicts": ["none", "Standup at the same time"]},
        told="{title} is in your calendar on {date} at {start} (event {event_id}). Conflicts: {conflicts}.",
    ),
    Topic(
        "mail.send",
        "Sends an email.",
        "office",
        "send an email to {to} with the subject {subject}, saying {body}",
        "send emails",
        {
            "to": text("Address", "jo@kelp.io", "team@northwind.example", "anna.berg@mail.example"),
            "subject": text("Subject", *((f"'{each}'", each) for each in ("Invoice 88", "Friday", "Keys"))),
            "body": text(
                "Text of the mail",
                *(
                    (f"'{each}'", each)
                    for each in ("Please pay by Monday.", "I will be late.", "They are under the mat.")
                ),
            ),
        },
        {
            "priority": choice(
                "Priority",
                ("high priority", "high"),
                ("normal priority", "normal"),
                ("low priority", "low"),
                default="normal",
            )
        },
        {"priority": ", with {priority}"},
        is_deed=True,
        unsaid=[("Send jo@kelp.io an email.", "What should the subject be, and what should I write?")],
    ),
    Topic(
        "alarm.set",
        "Sets an alarm.",
        "home",
        "set an alarm for {time}",
        "set alarms",
        {"time": text("Time, HH:MM", *CLOCK)},
        {
            "label": text("Name of the alarm", "pills", "bread", "school run"),
            "repeat": choice(
                "When it rings again",
                ("every day", "daily"),
                ("on weekdays", "weekdays"),
                ("just once", "never"),
                default="never",
            ),
        },
        {"label": " called {label}", "repeat": ", {repeat}"},
        listed="time",
        is_deed=True,
        unsaid=[("Set an alarm for me.", "For what time?")],
        result={"alarm_id": [7, 12], "rings_in": ["8 hours", "45 minutes"]},
        told="The alarm for {time} is set (number {alarm_id}); it rings in {rings_in}.",
    ),
    Topic(
        "lights.set",
        "Switches or dims the lights of a room.",
        "home",
        "set the lights in {room} to {brightness} percent",
        "control the lights",
        {
            "room": text(
                "Room",
                ("the kitchen", "kitchen"),
                ("the living room", "living room"),
                ("the hallway", "hallway"),
                ("my office", "office"),
            ),
            "brightness": integer("Brightness, 0 to 100 percent", 0, 100, 10),
        },
        {"color": text("Colour", "warm white", "blue", "red", default="warm white")},
        {"color": ", {color}"},
        listed="room",
        is_deed=True,
    ),
    Topic(
        "shop.order",
        "Orders a product.",
        "shopping",
        "order {quantity} {product}",
        "order products",
        {
            "quantity": integer("How many", 2, 12),
            "product": text(
                "Name of the product",
                ("packs of printer paper", "printer paper"),
                ("AA batteries", "AA batteries"),
                ("bags of basmati rice", "basmati rice"),
                ("USB-C cables", "USB-C cable"),
            ),
        },
        {
            "delivery": choice(
                "Delivery",
                ("standard delivery", "standard"),
                ("express delivery", "express"),
                ("to be picked up", "pickup"),
                default="standard",
            ),
            "gift": flag("Wrap as a gift", default=False),
        },
        {"delivery": ", {delivery}", "gift": ", wrapped as a gift"},
        is_deed=True,
        result={"order_id": ["O-771", "O-1208"], "total_usd": [23.4, 61.0], "arrives": ["Tuesday", "in three days"]},
        told="I ordered {quantity} {product} for {total_usd} dollars. The order {order_id} arrives {arrives}.",
    ),
    Topic(
        "shop.search",
        "Searches products.",
        "shopping",
        "{product} for less than {max_price}",
        "search products",
        {
            "product": text(
                "What to search for", "running shoes", "coffee grinders", "noise-cancelling headphones", "desk lamps"
            ),
            "max_price": number("Highest price", ("$50", 50), ("120 dollars", 120), ("$200", 200)),
        },
        {
            "brand": text("Brand", "Sony", "Nike", "Bosch"),
            "sort": choice(
                "Order",
                ("sorted by rating", "rating"),
                ("cheapest first", "price"),
                ("the newest first", "newest"),
                default="rating",
            ),
        },
        {"brand": " by {brand}", "sort": ", {sort}"},
        listed="product",
    ),
    Topic(
        "parse.units",
        "Converts a measure into another unit.",
        "measures",
        "convert {value} {source} to {target}",
        "convert units",
        {
            "value": decimal("Number to convert", 2, 300),
            "source": text("Unit to convert from", "miles", "pounds", "gallons"),
            "target": text("Unit to convert to", "kilometers", "kilograms", "liters"),
        },
        {"digits": integer("Digits after the point", 1, 5, default=2)},
        {"digits": ", to {digits} decimal places"},
        is_deed=True,
        result={"converted": [12.8, 96.56, 4.54]},
        told="{value} {source} are {converted} {target}.",
    ),
    Topic(
        "profit_margin",
        "Profit margin of a business.",
        "money",
        "the profit margin of a shop with sales of {sales} and costs of {costs}",
        "work out profit margins",
        {"sales": number("Sales in dollars", *MILLIONS), "costs": number("Costs in dollars", *MILLIONS)},
        {"taxes": number("Taxes paid, in dollars", *MILLIONS, default=0)},
        {"taxes": " that paid {taxes} in taxes"},
    ),
    Topic(
        "least_common_multiple",
        "Least common multiple of two whole numbers.",
        "mathematics",
        "the least common multiple of {a} and {b}",
        "find least common multiples",
        {"a": integer("First number", 12, 990), "b": integer("Second number", 12, 990)},
    ),
    Topic(
        "fibonacci",
        "Fibonacci number at a place of the sequence.",
        "mathematics",
        "the Fibonacci number at place {n}",
        "compute Fibonacci numbers",
        {"n": integer("The place", 3, 60)},
        listed="n",
    ),
    Topic(
        "polynomial.evaluate",
        "Value of a polynomial at a point.",
        "mathematics",
        "the value of {polynomial} at x = {x}",
        "evaluate polynomials",
        {
            "polynomial": text(
                "The polynomial, written in Python",
                ("x^2 + 3x", "x**2 + 3*x"),
                ("7x^3 - 2x", "7*x**3 - 2*x"),
                ("4x^5", "4*x**5"),
                ("x^4 - 1", "x**4 - 1"),
            ),
            "x": integer("Where", 1, 12),
        },
        {"digits": integer("Digits after the point", 1, 5, default=2)},
        {"digits": ", to {digits} digits after the point"},
        listed="x",
    ),
    Topic(
        "stats.correlation",
        "Correlation of two series of numbers.",
        "statistics",
        "compare the series {xs} and {ys}",
        "compute correlations",
        {"xs": numbers("First series", 5, 60), "ys": numbers("Second series", 5, 60)},
        {"ranked": flag("Compare ranks instead of values", default=False)},
        {"ranked": ", by rank"},
        is_deed=True,
    ),
    Topic(
        "lottery.odds",
        "Odds of guessing all numbers of a lottery.",
        "statistics",
        "the odds of guessing {k} numbers out of {n}",
        "compute odds of lotteries",
        {"k": integer("Numbers drawn", 3, 8), "n": integer("Numbers in the drum", 20, 60)},
        {"tickets": integer("How many tickets are played", 2, 40, default=1)},
        {"tickets": " with {tickets} tickets"},
    ),
    Topic(
        "tiles.chance",
        "Chance of drawing one of the wanted tiles.",
        "statistics",
        "the chance of drawing {wanted} from {total}",
        "compute chances",
        {
            "wanted": said_integer(
                "Number of wanted tiles",
                ("a double", 7),
                ("a tile with a blank", 7),
                ("a tile with a six", 7),
                ("the double six", 1),
            ),
            "total": said_integer(
                "Number of all tiles",
                ("a standard set of dominoes", 28),
                ("a full domino set", 28),
                ("a set of 28 dominoes", 28),
            ),
        },
        {"as_percent": flag("Return percent instead of a fraction", default=False)},
        {"as_percent": ", in percent"},
    ),
    Topic(
        "same_birthday",
        "Probability that two people of a group share a birthday.",
        "statistics",
        "the probability that two of {people} people share a birthday",
        "compute probabilities of shared birthdays",
        {"people": integer("Size of the group", 5, 60)},
        {"days": integer("Days of a year", 360, 366, 1, default=365)},
        {"days": " if a year has {days} days"},
        listed="people",
    ),
    Topic(
        "car.braking_distance",
        "Distance a car needs to stop, in metres.",
        "physics",
        "the braking distance of a car that {speed} on {friction}",
        "compute braking distances",
        {
            "speed": number(
                "Speed in km/h",
                ("drives at 50 km/h", 50),
                ("goes at 120 km/h", 120),
                ("stands still", 0),
                ("rolls at 30 km/h", 30),
            ),
            "friction": number(
                "Friction of the road: 0.7 dry, 0.4 wet, 0.1 ice",
                ("a dry road", 0.7),
                ("a wet road", 0.4),
                ("ice", 0.1),
            ),
        },
        {
            "reaction": number(
                "Reaction time in seconds", ("half a second", 0.5), ("1.5 seconds", 1.5), ("one second", 1), default=1
            )
        },
        {"reaction": " with a reaction time of {reaction}"},
    ),
    Topic(
        "pendulum.period",
        "Time of one swing of a pendulum.",
        "physics",
        "the period of a pendulum {length} long",
        "compute pendulums",
        {
            "length": number(
                "Length in metres",
                ("80 cm", 0.8),
                ("2 meters", 2),
                ("25 centimeters", 0.25),
                ("half a meter", 0.5),
                ("1.4 m", 1.4),
            )
        },
        {
            "gravity": number(
                "Gravity in m/s^2", ("on the Moon (1.62 m/s²)", 1.62), ("on Earth (9.81 m/s²)", 9.81), default=9.81
            ),
            "damped": flag("Take friction into account", default=False),
        },
        {"gravity": " {gravity}", "damped": ", taking friction into account"},
        listed="length",
    ),
    Topic(
        "electric.power",
        "Electric power.",
        "physics",
        "the power at a voltage of {voltage} and a current of {current}",
        "compute electric power",
        {
            "voltage": number("Voltage in volts", ("400 mV", 0.4), ("12 volts", 12), ("1.1 kV", 1100), ("230 V", 230)),
            "current": number(
                "Current in amperes", ("40 mA", 0.04), ("3 A", 3), ("500 milliamperes", 0.5), ("0.2 A", 0.2)
            ),
        },
        unsaid=[("How much power is that at 12 volts?", "How large is the current?")],
    ),
    Topic(
        "pressure",
        "Pressure of a force on an area.",
        "physics",
        "the pressure of a force of {force} on an area of {area}",
        "compute pressures",
        {
            "force": number("Force in newtons", ("12 N", 12), ("3 kN", 3000), ("450 newtons", 450)),
            "area": number("Area in square metres", ("2 square meters", 2), ("50 cm²", 0.005), ("0.4 m²", 0.4)),
        },
        {"unit": text("Unit of the answer", "bar", "Pa", "psi", default="Pa")},
        {"unit": ", in {unit}"},
    ),
    Topic(
        "materials.hardness",
        "Hardness and density of a material.",
        "chemistry",
        "the hardness and density of {material}",
        "look up materials",
        {"material": text("Name of the material", "oak", "granite", "nylon", "brass", "titanium", "glass")},
        {"temperature": integer("Temperature in °C", 0, 400, 50, default=20)},
        {"temperature": " at a temperature of {temperature} °C"},
        listed="material",
        result={"mohs": [3, 6.5, 5.5], "density_g_cm3": [0.75, 2.7, 8.5]},
        told="{material} has a hardness of {mohs} on the scale of Mohs and a density of {density_g_cm3} g/cm³.",
    ),
    Topic(
        "dictionary.word_for",
        "The word for a thing in a language.",
        "language",
        "the word for {thing} in {language}",
        "look up words of other languages",
        {
            "thing": text("The thing, in English", "butterfly", "umbrella", "homework", ("the moon", "moon")),
            "language": text(
                "Code of the language, two letters",
                ("Finnish", "fi"),
                ("Hungarian", "hu"),
                ("Swahili", "sw"),
                ("Welsh", "cy"),
            ),
        },
        listed="thing",
    ),
    Topic(
        "bicycle.part",
        "Describes a part of a bicycle.",
        "machines",
        "a description of {part}",
        "describe parts of bicycles",
        {
            "part": text(
                "Name of the part",
                ("the rear derailleur", "rear derailleur"),
                ("the bottom bracket", "bottom bracket"),
                ("the stem", "stem"),
                ("the freewheel", "freewheel"),
            )
        },
        {
            "with_drawing": flag("Add a drawing", default=False),
            "kind": choice(
                "Kind of bicycle",
                ("of road bikes", "road"),
                ("of mountain bikes", "mountain"),
                ("of city bikes", "city"),
                default="city",
            ),
        },
        {"kind": " {kind}", "with_drawing": ", with a drawing"},
        listed="part",
    ),
    Topic(
        "plants.suggest",
        "Suggests plants for a place.",
        "garden",
        "plants with {color} flowers that grow {place}",
        "suggest plants",
        {
            "color": text("Colour of the flowers", "yellow", "white", "blue", "pink"),
            "place": text(
                "Where they grow",
                ("in full shade", "full shade"),
                ("on a balcony", "balcony"),
                ("in a dry garden", "dry garden"),
                ("at a pond", "pond"),
            ),
        },
        {
            "height": choice(
                "Height", ("low", "low"), ("about knee-high", "medium"), ("rather tall", "tall"), default="low"
            )
        },
        {"height": " (they should be {height})"},
    ),
    Topic(
        "clothes.size",
        "Size of a jacket for a person.",
        "shopping",
        "the jacket size of a person who weighs {weight} and is {height} tall",
        "work out sizes of jackets",
        {
            "weight": number(
                "Weight in kilograms", ("72 kg", 72), ("85 kilograms", 85), ("58.5 kg", 58.5), ("103 kg", 103)
            ),
            "height": number(
                "Height in centimetres",
                ("1.80 m", 180),
                ("165 cm", 165),
                ("1.72 meters", 172),
                ("195 centimeters", 195),
            ),
        },
        {"system": choice("System of sizes", ("European", "EU"), ("American", "US"), default="EU")},
        {"system": ", in {system} sizes"},
        unsaid=[("Which jacket size do I need? I weigh 81 kg.", "How tall are you?")],
        result={"size": ["48", "52", "L"], "sleeve_cm": [62, 66.5], "cut": ["slim", "regular"]},
        told="A person who weighs {weight} and is {height} tall needs size {size} in a {cut} cut, with "
        "sleeves of {sleeve_cm} cm.",
    ),
    Topic(
        "pollen.level",
        "Average level of pollen at a place.",
        "weather",
        "the pollen level in {location} over the last {days} days",
        "look up pollen levels",
        {"location": text("City and state, such as Boston, MA", *US_CITIES), "days": integer("Number of days", 2, 30)},
        {"hourly": flag("Return values for each hour", default=False)},
        {"hourly": ", hour by hour"},
        listed="location",
        result={"grains": [34, 61, 178], "trend": ["rising", "falling", "steady"], "plant": ["birch", "grass"]},
        told="In {location} there were {grains} grains of pollen on average over the last {days} days, "
        "mostly {plant}, and the trend is {trend}.",
    ),
    Topic(
        "tides",
        "Times of the tides at a harbour on a day.",
        "weather",
        "the tides at {harbour} on {date}",
        "look up tides",
        {
            "harbour": text("Name of the harbour", "Dover", "Brest", "Galway", "Esbjerg"),
            "date": text(
                "Day in the form MM-DD-YYYY", *((words, f"{day[5:7]}-{day[8:]}-{day[:4]}") for words, day in DAYS)
            ),
        },
        {"heights": flag("Include the heights of the water", default=False)},
        {"heights": ", with the heights of the water"},
        listed="harbour",
    ),
    Topic(
        "library.hours",
        "Opening hours of a library.",
        "culture",
        "the opening hours of {library}",
        "look up opening hours of libraries",
        {
            "library": text(
                "Name of the library",
                ("the Carnegie Library", "Carnegie Library"),
                ("the State Library of Victoria", "State Library of Victoria"),
                ("the Austrian National Library", "Austrian National Library"),
            )
        },
        {"day": choice("Day of the week", "Monday", "Friday", "Sunday", "Tuesday")},
        {"day": " on {day}"},
        listed="library",
        result={"opens": ["09:00", "10:00"], "closes": ["17:00", "18:30"], "card_eur": [12, 15, 22]},
        told="{library} opens at {opens} and closes at {closes}; a card costs {card_eur} euros a year.",
    ),
    Topic(
        "energy.demand",
        "Forecast of the demand for electricity.",
        "society",
        "the electricity demand of {place} over the next {years} years",
        "forecast the demand for electricity",
        {"place": text("City or country", *COUNTRIES), "years": integer("How many years ahead", 3, 30)},
        {"growth": number("Yearly growth in percent. Leave out to use the latest known one.", *PERCENTS)},
        {"growth": ", assuming a growth of {growth} a year"},
        listed="place",
    ),
    Topic(
        "country.exports",
        "Exports of a country.",
        "society",
        "the exports of {country} from {start} to {end}",
        "look up exports of countries",
        {
            "country": text("Country", *COUNTRIES),
            "start": integer("First year", 1980, 2005),
            "end": integer("Last year", 2006, 2023),
        },
        {"per_head": flag("Per inhabitant", default=False)},
        {"per_head": ", per head"},
        listed="country",
    ),
    Topic(
        "space.launch_date",
        "When a space mission was launched.",
        "history",
        "the launch date of {mission}",
        "look up launch dates",
        {
            "mission": text(
                "Name of the mission",
                ("the Cassini probe", "Cassini"),
                "Voyager 2",
                ("the Rosetta mission", "Rosetta"),
                "Sputnik 1",
            )
        },
        {"format": text("Form of the date", "YYYY", "YYYY-MM-DD", "DD.MM.YYYY", default="YYYY-MM-DD")},
        {"format": ", in the format {format}"},
        listed="mission",
    ),
    Topic(
        "awards.winner",
        "Who won an award in a year.",
        "history",
        "who won {award} in {year}",
        "look up winners of awards",
        {
            "award": text(
                "Name of the award",
                ("the Booker Prize", "Booker Prize"),
                ("the Fields Medal", "Fields Medal"),
                ("the Pritzker Prize", "Pritzker Prize"),
            ),
            "year": integer("Year", 1980, 2022),
        },
        {"with_work": flag("Return the work too", default=False)},
        {"with_work": ", and for which work"},
        listed="award",
    ),
    Topic(
        "words.origin",
        "Where a word comes from.",
        "language",
        "where the word {word} comes from",
        "look up the origin of words",
        {"word": text("The word", "robot", "alcohol", "sandwich", "avatar", "boycott")},
        {"with_year": flag("Return when it was first used", default=False)},
        {"with_year": ", and since when it is used"},
        listed="word",
        result={
            "language": ["Czech", "Arabic", "Sanskrit"],
            "first_used": [1920, 1543, 1784],
            "meaning": ["forced labour", "fine powder", "descent"],
        },
        told='The word {word} comes from {language}, where it meant "{meaning}"; it was first used in English in '
        "{first_used}.",
    ),
    Topic(
        "stamps.value",
        "Estimated value of a stamp.",
        "culture",
        "the value of the stamp {stamp} from {country}",
        "estimate the value of stamps",
        {
            "stamp": text("Name of the stamp", "Penny Black", "Blue Mauritius", "Inverted Swan", "Basel Dove"),
            "country": text("Country", "Great Britain", "Mauritius", "Switzerland"),
        },
        {"year": integer("Year of the estimate", 1990, 2024)},
        {"year": " in {year}"},
        listed="stamp",
    ),
    Topic(
        "theatre.plays",
        "Finds plays in theatres.",
        "culture",
        "{genre} in the theatres of {city}",
        "find plays",
        {
            "genre": text("Genre", "comedies", "tragedies", "musicals", "operas"),
            "city": text("City and state, such as Boston, MA", *US_CITIES),
        },
        {
            "days_ahead": said_integer(
                "How many days ahead to look",
                ("the next two weeks", 14),
                ("the next month", 30),
                ("the coming week", 7),
                default=7,
            ),
            "max_price": integer("Highest price of a ticket", 30, 150, 10),
        },
        {"days_ahead": " in {days_ahead}", "max_price": " for less than ${max_price}"},
        listed="city",
        unsaid=[("Are there any musicals on soon?", "In which city should I look?")],
    ),
    Topic(
        "bikes.find",
        "Finds bicycles for sale.",
        "shopping",
        "bicycles of the {kind} kind for at most {budget}",
        "find bicycles",
        {"kind": choice("Kind", "touring", "electric", "folding"), "budget": number("Most money to spend", *MONEY[:5])},
        {"make": text("Maker", "Brompton", "Canyon", "Gazelle")},
        {"make": ", made by {make}"},
    ),
    Topic(
        "authors.works",
        "Works of an author.",
        "culture",
        "the works of {author}",
        "look up authors",
        {
            "author": text(
                "Name of the author",
                "Doris Lessing",
                "Italo Calvino",
                "Chinua Achebe",
                "Astrid Lindgren",
                "Stanisław Lem",
            )
        },
        {
            "publisher": text("Only with this publisher", "Suhrkamp", "Penguin", "Einaudi"),
            "since": integer("Only since this year", 1955, 2003),
        },
        {"publisher": " with {publisher}", "since": " since {since}"},
        listed="author",
    ),
    Topic(
        "tv.episodes",
        "Next episodes of a series.",
        "culture",
        "the next {count} episodes of {series}",
        "look up episodes",
        {
            "count": integer("How many episodes", 2, 9),
            "series": text(
                "Name of the series",
                "Borgen",
                ("the Great Bake Off", "Great Bake Off"),
                ("the Evening News", "Evening News"),
                "Blue Planet",
            ),
        },
        {
            "channel": text("Channel", "BBC One", "Arte", "ZDF"),
            "new_only": flag("Leave out what was shown before", default=False),
        },
        {"channel": " on {channel}", "new_only": ", new ones only"},
        listed="series",
    ),
    Topic(
        "films.rating",
        "Average rating of a film by its viewers.",
        "culture",
        "the average rating of {film}",
        "look up ratings of films",
        {"film": text("Title of the film", "Metropolis", "Parasite", "Amélie", "Stalker", "Roma")},
        {
            "country": text("Only of viewers in this country", *COUNTRIES),
            "with_reviews": flag("Add the reviews", default=False),
        },
        {"country": " in {country}", "with_reviews": ", with the reviews"},
        listed="film",
    ),
    Topic(
        "rivers.longest",
        "Longest rivers of a country.",
        "geography",
        "the top {count} rivers of {country}",
        "look up rivers",
        {"count": integer("How many", 3, 10), "country": text("Country", *COUNTRIES)},
        {"min_km": integer("Lowest length in km", 100, 900, 100, default=0)},
        {"min_km": " with a length of at least {min_km} km"},
        listed="country",
    ),
    Topic(
        "patents.search",
        "Finds patents of a company.",
        "law",
        "patents of {company} filed in {year}",
        "search patents",
        {
            "company": text("Name of the company", "Acme Corp.", "Globex Inc.", "Initech", "Umbrella Ltd."),
            "year": integer("Year of filing", 2005, 2024),
        },
        {
            "status": choice(
                "Status",
                ("only the granted ones", "granted"),
                ("only the pending ones", "pending"),
                ("granted and pending ones alike", "all"),
                default="all",
            ),
            "office": text("Patent office", "Munich", "Tokyo", "Alexandria"),
        },
        {"office": " at the office in {office}", "status": ", {status}"},
        listed="company",
    ),
    Topic(
        "standards.lookup",
        "Content of a technical standard.",
        "law",
        "the content of {standard} of {year}",
        "look up standards",
        {
            "standard": text(
                "Name of the standard, without the year",
                ("the standard ISO 9001", "ISO 9001"),
                ("the DIN 476", "DIN 476"),
                "ISO 8601",
                ("the standard EN 207", "EN 207"),
            ),
            "year": integer("Year of the edition", 1976, 2018),
        },
    ),
    Topic(
        "car.value",
        "Estimates the value of a used car.",
        "property",
        "the value of a {model} with {kilometers} km",
        "estimate the value of cars",
        {
            "model": text("Make and model", "Fiat Panda", "Volvo V60", "Toyota Yaris"),
            "kilometers": integer("Kilometres driven", 9000, 240000, 1000),
        },
        {
            "year": integer("Year of construction", 1995, 2022),
            "accidents": integer("Number of accidents", 0, 3, default=0),
        },
        {"year": ", built in {year}", "accidents": ", with {accidents} accidents so far"},
        unsaid=[("What is a used Volvo V60 worth?", "How many kilometers has it driven?")],
        result={"low_eur": [3200, 8900], "high_eur": [4100, 10400]},
        told="A {model} with {kilometers} km is worth between {low_eur} and {high_eur} euros.",
    ),
    Topic(
        "text.readability",
        "Tells how hard a text is to read.",
        "language",
        "the readability of the text {text}",
        "judge how hard texts are to read",
        {
            "text": text(
                "The text",
                *(
                    (f"'{each}'", each)
                    for each in (
                        "The soup was cold and the waiter rude.",
                        "Press the red button twice.",
                        "Hereinafter the party of the first part.",
                        "Lovely room, quiet at night.",
                    )
                ),
            ),
            "language": text("Language of the text", ("", "English")),
        },
    ),
    Topic(
        "coffee.blend",
        "Blends two kinds of coffee.",
        "food",
        "blend {first} and {second} coffee",
        "blend coffee",
        {
            "first": choice("First kind", "Kenyan", "Colombian", "Sumatran"),
            "second": choice("Second kind", "Ethiopian", "Brazilian", "Indian"),
        },
        {"share": integer("Share of the first in percent", 10, 90, 10, default=50)},
        {"share": " with {share}% of the first"},
        is_deed=True,
    ),
)
