"""A chatbot that converts times and currencies: enums in the schema, a conversation that remembers, a drawing.

$ python examples/chatbot.py
flowchart TD
    start((start))
    step1(["local"])
    start --> step1
    step1 -. call .-> step1_1[["convert_time"]]
    step1_1 -. result .-> step1
    step1 -. call .-> step1_2[["convert_currency"]]
    step1_2 -. result .-> step1
    answer((answer))
    step1 --> answer

You: What time is it in Dubai when it is 12:00 in Oslo?
  convert_time({'time': '12:00', 'from_city': 'Oslo', 'to_city': 'Dubai'}) → 15:00
Assistant: It is 15:00 in Dubai.

You: How much is 250 NOK in USD?
  convert_currency({'amount': 250, 'from_currency': 'NOK', 'to_currency': 'USD'}) → 25.0
Assistant: 250 NOK are 25 US dollars.
"""

from datetime import datetime, timedelta
from enum import Enum

from toolspeak import Agent, Model


class City(Enum):
    OSLO = "Oslo"
    LOS_ANGELES = "Los Angeles"
    DUBAI = "Dubai"


class Currency(Enum):
    NOK = "NOK"
    USD = "USD"
    AED = "AED"


HOURS = {City.OSLO: 1, City.LOS_ANGELES: -8, City.DUBAI: 4}
PER_DOLLAR = {Currency.NOK: 10.0, Currency.USD: 1.0, Currency.AED: 3.6725}


def convert_time(time: str, from_city: City, to_city: City) -> str:
    """Convert a time of day from one city to another.

    Args:
        time: The time in the first city, as HH:MM.
        from_city: Where the time is known.
        to_city: Where the time is wanted.
    """
    there = datetime.strptime(time, "%H:%M") + timedelta(
        hours=HOURS[to_city] - HOURS[from_city]
    )
    return there.strftime("%H:%M")


def convert_currency(
    amount: float, from_currency: Currency, to_currency: Currency
) -> float:
    """Convert an amount of money from one currency to another.

    Args:
        amount: How much.
        from_currency: The currency of the amount.
        to_currency: The currency that is wanted.
    """
    return round(amount / PER_DOLLAR[from_currency] * PER_DOLLAR[to_currency], 2)


QUESTIONS = (
    "What time is it in Dubai when it is 12:00 in Oslo?",
    "How much is 250 NOK in USD?",
)


def main(model: str | Model = "local") -> None:
    agent = Agent(model, tools=[convert_time, convert_currency])
    print(agent.graph())
    chat = agent.chat()
    for question in QUESTIONS:
        outcome = chat.run(question)
        print(f"You: {question}")
        for call in outcome.calls:
            print(f"  {call.name}({call.arguments}) → {call.error or call.output}")
        print(f"Assistant: {outcome.text}\n")


if __name__ == "__main__":
    main()
