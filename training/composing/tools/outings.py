"""Tools for outings that `times.py` makes questions of: animals, trips, climbing, riding."""

# ruff: noqa: E501 (a sentence is one line)

from composing.said.amounts import amount, count, enum, flag, word
from composing.said.moments import clock, day, duration, hours, stay
from composing.said.slots import Tool

CATS = ("Minka", "Pepper", "Biscuit", "Sir Toby", "Olive", "Mochi", "Kiki", "Schnurri", "Gustav")

PEOPLE = ("Amira", "Jonas", "Priya", "Theo", "Klara", "Mateo", "Ines", "Bram", "Yuki", "Solène", "Owen", "Lotte")

GONE = "well, {} cancelled|but {} dropped out|minus {} who are ill / {} haben aber abgesagt / {} ont annulé / {} han cancelado"

LEVELS = {
    "beginner": "a complete beginner|someone who has never done it / Anfänger / débutant / principiante",
    "intermediate": "someone with some experience|an intermediate rider / leicht fortgeschritten / niveau moyen / nivel medio",
    "advanced": "an experienced rider|a very good rider / sehr erfahren / confirmé / muy avanzado",
}

OUTINGS: tuple[Tool, ...] = (
    Tool(
        "board_cat", "Board a cat while its people are away.", "a cattery",
        {
            "cat": word("Name of the cat", *CATS),
            "stay": stay("drop_off", "pick_up", "Day the cat is brought", "Day the cat is fetched"),
            "medication?": flag("Whether staff must give medication", "she needs her pills every day|on medication"
                                " / braucht täglich Tabletten / il faut lui donner ses comprimés / toma medicación",
                                "no medicine needed|no pills / keine Medikamente / pas de médicaments / sin medicación"),
            "shared_room?": flag("Whether the cat may share a room with others; false if it must be alone",
                                 "fine with other cats around|can share a room / darf mit anderen zusammen sein"
                                 " / peut partager une chambre / puede compartir habitación",
                                 "needs a room alone|can't stand other cats, so a room alone please / bitte allein unterbringen"
                                 " / doit être seul dans sa chambre / tiene que estar solo"),
            "daily_food?": amount("Dry food a day", "g", ["40", "55", "60", "70", "85"], "g", "kg"),
        },
        """
        Can you take {cat} {stay}?[ {shared_room}.]
        We're off on holiday and {cat} needs a bed {stay}[, {medication}][, {daily_food} of dry food a day].
        Boarding for {cat}, {stay}[, {shared_room}].
        I'd like to leave {cat} with you {stay}[, {medication}][, {shared_room}].
        Please book {cat}, {stay}[, {daily_food} of dry food a day].
        My neighbour usually feeds {cat} but she's moved away, so could you have the little monster {stay}[, {medication}]?
        de: Könnt ihr {cat} {stay} nehmen[, {medication}][, {shared_room}]?
        de: Bitte einen Platz für {cat}, {stay}[, {shared_room}][, {daily_food} Trockenfutter am Tag].
        fr: Je voudrais vous laisser {cat} {stay}[, {medication}].
        fr: Une place pour {cat}, {stay}[, {shared_room}], s'il vous plaît.
        es: Quisiera dejar a {cat} con vosotros {stay}[, {medication}].
        """,
    ),
    Tool(
        "groom_cat", "Book a grooming session for a cat. Open from 9:00 to 18:00.", "a cattery",
        {
            "cat": word("Name of the cat", *CATS),
            "day": day("Day of the session"),
            "time": clock("Start", 9, 17, is_bare=True),
            "coat?": enum("Kind of coat", {"short": "short-haired|short hair / kurzhaarig / poil court / pelo corto",
                                           "long": "long-haired|long, fluffy hair / langhaarig / poil long / pelo largo"},
                          is_fixable=False),
            "nails?": flag("Clip the claws too", "and do the claws as well|claws too / auch die Krallen schneiden"
                           " / et coupez les griffes aussi / y las uñas también",
                           "but leave the claws alone|no claw clipping / Krallen bitte nicht schneiden"
                           " / sans toucher aux griffes / sin tocar las uñas", default=False),
        },
        """
        {cat} needs a brush-up {day} at {time}[, {nails}].
        Grooming for {cat} ({day}, {time})[, {nails}].
        Could {cat} come in for grooming {day} at {time}?[ {coat}.]
        {cat} is one big knot again, is {day} at {time} ok for a grooming?[ {coat}.] Then book it please.
        Put {cat} down for grooming {day}, {time}[, {coat}][, {nails}].
        I want to bring {cat} to the groomer {day} at {time}[, {nails}].
        de: Fellpflege für {cat}, {day} um {time}[, {coat}][, {nails}].
        de: {cat} muss dringend gebürstet werden, bitte {day} um {time} eintragen[, {nails}].
        fr: Un toilettage pour {cat} {day} à {time}[, {nails}].
        es: Cita de peluquería para {cat} {day} a {time}[, {coat}][, {nails}].
        """,
    ),
    Tool(
        "charter_minibus", "Charter a minibus with a driver for a group.", "a minibus company",
        {
            "from_town": word("Town where the group gets on", "Ludlow", "Kendal", "Oban", "Whitby", "Tavira", "Colmar"),
            "day": day("Day of the trip"),
            "pickup_time": clock("Time of departure", 6, 19),
            "passengers": count("How many people travel", 6, 24, "people|passengers|of us / Leute|Personen / personnes / personas",
                                cancelled=GONE),
            "return_time?": clock("Time of the way back the same day; left out for a one-way trip", 20, 23),
            "trailer?": flag("Bring a luggage trailer", "we need the luggage trailer|with the trailer / mit Anhänger"
                             " / avec la remorque / con remolque",
                             "no trailer|we don't need the trailer / ohne Anhänger / sans remorque / sin remolque", default=False),
            "child_seats?": count("How many child seats are needed", 2, 4, "child seats|kids' seats / Kindersitze / sièges enfant"
                                  " / sillas infantiles"),
        },
        """
        Minibus from {from_town} {day} at {pickup_time}, {passengers}[, {trailer}].
        We need a minibus {day}, leaving {from_town} at {pickup_time}. {passengers}[, coming back at {return_time}].
        Could you drive {passengers} from {from_town} {day}? Departure {pickup_time}[, {child_seats}].
        The choir trip is on! {passengers}, from {from_town}, {day} at {pickup_time}[, and back at {return_time}][, {trailer}].
        Please charter a bus for {passengers}, {day}, {from_town}, {pickup_time}[, {trailer}][, {child_seats}].
        Pick us up in {from_town} {day} at {pickup_time} please, {passengers}[, home again at {return_time}].
        de: Wir brauchen {day} einen Kleinbus ab {from_town}, Abfahrt um {pickup_time}, {passengers}[, {trailer}].
        de: Kleinbus ab {from_town} {day} um {pickup_time}, {passengers}[, Rückfahrt um {return_time}][, {trailer}].
        fr: Un minibus au départ de {from_town} {day} à {pickup_time}, {passengers}[, {trailer}].
        es: Necesitamos un minibús desde {from_town} {day} a {pickup_time}, {passengers}[, {trailer}].
        """,
    ),
    Tool(
        "estimate_charter", "Estimate what a charter trip costs.", "a minibus company",
        {
            "distance": amount("Length of the whole trip", "km", ["45", "60", "112.5", "180", "240", "36.5"], "km", "m"),
            "waiting?": duration("How long the driver waits at the destination", 30, 210),
            "weekend?": flag("Whether the trip is at a weekend", "on a weekend|it's at the weekend / am Wochenende / le week-end"
                             " / en fin de semana", "on a weekday|not at a weekend / unter der Woche / en semaine / entre semana"),
        },
        """
        What would a trip of {distance} cost us[, {weekend}][, with the driver waiting {waiting}]?
        Roughly how much for {distance} there and back altogether[, the driver waits {waiting}]?
        Price for {distance} please[, {weekend}].
        Estimate a charter: {distance} in total[, {waiting} of waiting][, {weekend}].
        How much do you charge for {distance} all in[, {weekend}]?
        I need a figure for my boss, {distance} of driving[ and {waiting} of waiting].
        de: Was kosten {distance} Fahrt insgesamt[, {weekend}]?
        fr: Combien coûterait un trajet de {distance} au total[, {weekend}] ?
        es: ¿Cuánto costaría un viaje de {distance} en total[, {weekend}]?
        """,
    ),
    Tool(
        "book_sitter", "Book a babysitter for some hours of one day.", "a babysitting service",
        {
            "day": day("Day of the job"),
            "hours": hours("start", "end", "When the sitter comes", "When the parents are back", 13, 18),
            "children": count("How many children", 2, 4, "kids|children / Kinder / enfants / niños"),
            "sitter?": word("Name of the sitter that is wished for; left out if anybody will do", *PEOPLE),
            "car?": flag("Whether the sitter must have a car", "must have a car|we need someone with a car / mit Auto"
                         " / avec voiture / con coche", "no car needed / Auto nicht nötig / pas besoin de voiture / sin coche"),
            "dinner?": flag("Whether the sitter cooks for the children", "please cook for them too|dinner included / mit Abendessen kochen"
                            " / repas à préparer / con cena",
                            "they'll have eaten, no cooking|no need to cook / Essen ist schon gemacht, nicht kochen"
                            " / pas de repas à préparer / sin preparar la cena"),
        },
        """
        Babysitter needed {day} {hours}, {children}[, {car}].
        We want to go out {day}. Someone {hours} please, we have {children}[, {dinner}].
        Can {sitter} look after our {children} {day} {hours}?[ {dinner}.]
        Sitter {day} {hours}, {children}[, ideally {sitter}][, {car}].
        It's our anniversary {day} so we'd need help {hours}, {children}[, {dinner}].
        Please find somebody {day}, {hours}, for {children}[, {dinner}].
        de: Wir brauchen {day} {hours} einen Babysitter, {children}[, {car}][, {dinner}].
        fr: Une baby-sitter {day} {hours}, {children}[, {dinner}].
        es: Necesitamos canguro {day} {hours}, {children}[, {car}].
        """,
    ),
    Tool(
        "report_sitting", "Report the time that a sitter worked, for the payment.", "a babysitting service",
        {
            "sitter": word("Name of the sitter", *PEOPLE),
            "day": day("Day of the work", is_past=True),
            "worked": duration("Time worked", 60, 210),
            "late_fee?": flag("Whether the parents came back late and owe the late fee", "we came home late, so add the late fee"
                              " / wir kamen zu spät, also mit Zuschlag / nous sommes rentrés en retard, ajoutez le supplément"
                              " / llegamos tarde, con recargo",
                              "we were back on time, no late fee / wir waren pünktlich, kein Zuschlag"
                              " / nous étions à l'heure, pas de supplément / llegamos a la hora, sin recargo"),
        },
        """
        {sitter} was here {day} for {worked}[, {late_fee}].
        Hours for {sitter}: {worked}, {day}[, {late_fee}].
        Please note that {sitter} sat for us {day}, {worked} in all[, {late_fee}].
        {worked} of babysitting by {sitter} {day}, put that down for the payment please.
        I owe {sitter} money for {worked} {day}, report it please[, {late_fee}].
        Log {worked} for {sitter}. That was {day}[, {late_fee}].
        de: {sitter} war {day} {worked} bei uns[, {late_fee}].
        fr: {sitter} a gardé les enfants {day} pendant {worked}[, {late_fee}].
        es: {sitter} cuidó a los niños {day} durante {worked}[, {late_fee}].
        """,
    ),
    Tool(
        "rent_raft", "Rent a party raft on the lake. Rafts go out between 9:00 and 19:00.", "a raft rental",
        {
            "day": day("Day of the rental"),
            "time": clock("Start", 9, 18, is_bare=True),
            "length": duration("How long the raft is out", 60, 210),
            "guests": count("How many people come aboard", 5, 14, "people|of us|friends / Leute|Personen / personnes / personas",
                            cancelled=GONE),
            "grill?": flag("Put the grill aboard", "with the grill|grill aboard please / mit Grill / avec le barbecue / con barbacoa",
                           "without the grill|no grill / ohne Grill / sans barbecue / sin barbacoa"),
            "skipper?": flag("Send a skipper; false if the guests steer themselves", "and a skipper please|with a skipper"
                             " / mit Skipper / avec un skipper / con patrón",
                             "we steer ourselves|no skipper / wir fahren selbst / nous pilotons nous-mêmes / sin patrón"),
            "life_vests_xs?": count("Number of life vests in child size", 2, 5, "child-size life vests|kids' life vests"
                                    " / Kinderwesten / gilets enfant / chalecos infantiles"),
        },
        """
        A raft {day} at {time} for {length}, {guests}[, {grill}][, {skipper}].
        Can we have the raft {day} at {time}? We'd keep it {length}, {guests}[, {life_vests_xs}].
        Raft please: {day}, {time}, {length}, {guests}[, {skipper}].
        Stag do!! {guests} on a raft {day}, start at {time}, {length}[, {grill}].
        I'd like to rent a raft {day} at {time}, {length} should do, {guests}[, {skipper}][, {life_vests_xs}].
        Please reserve a raft. {day}, {time}. {length}. {guests}[, {grill}].
        de: Ein Floß {day} um {time} für {length}, {guests}[, {grill}][, {skipper}].
        de: Wir würden gern {day} um {time} aufs Floß, {length}, {guests}[, {grill}].
        fr: Un radeau {day} à {time} pour {length}, {guests}[, {grill}].
        es: Una balsa {day} a {time} durante {length}, {guests}[, {grill}][, {skipper}].
        """,
    ),
    Tool(
        "reserve_rope_lane", "Reserve a rope lane in the hall. Open 10:00 to 21:00.", "a climbing hall",
        {
            "day": day("Day"),
            "hours": hours("from_time", "to_time", "Beginning", "End", 13, 17),
            "climbers": count("How many climb", 2, 6, "climbers|of us / Kletterer / grimpeurs / escaladores"),
            "instructor?": flag("Whether an instructor belays", "with an instructor / mit Trainer / avec un moniteur / con monitor",
                                "we belay each other, no instructor|without an instructor / ohne Trainer / sans moniteur / sin monitor"),
            "rental_shoes?": count("Pairs of shoes to rent", 2, 5, "pairs of rental shoes / Paar Leihschuhe / paires de chaussons à louer"
                                   " / pares de pies de gato de alquiler"),
        },
        """
        Rope lane {day} {hours}, {climbers}[, {instructor}].
        Could we get a rope {day} {hours}? {climbers}[, {rental_shoes}].
        Book us a lane {day}, {hours}, {climbers}[, {instructor}][, {rental_shoes}].
        We feel like climbing {day}, {hours}, {climbers}[, {instructor}].
        Lane please, {day}, {hours}, {climbers}[, {rental_shoes}].
        Reserve a rope lane {hours} {day}; {climbers}[; {instructor}].
        de: Ein Seil in der Kletterhalle {day} {hours}, {climbers}[, {instructor}].
        fr: Une voie {day} {hours}, {climbers}[, {instructor}].
        """,
    ),
    Tool(
        "log_ascent", "Write an ascent into the climbing diary.", "a climbing hall",
        {
            "route": word("Name of the route", "Blue Ghost", "Zitronenfalter", "Kraken", "La Diva", "Old Squeaky", "Tango"),
            "day": day("Day of the ascent", is_past=True),
            "attempts": count("How many attempts it took", 2, 12, "attempts|tries|goes / Versuche / essais / intentos"),
            "height?": amount("Height climbed", "m", ["12", "14.5", "17", "9"], "m"),
            "style?": enum("How it was climbed", {"lead": "lead climbing|leading it / im Vorstieg / en tête / de primero",
                                                  "top_rope": "on top rope|with the rope from above / im Toprope / en moulinette / en polea"}),
        },
        """
        I climbed {route} {day}, it took {attempts}[, {style}].
        Did {route} {day}!! {attempts}[, {height} up].
        Diary: {route}, {day}, {attempts}[, {style}][, {height}].
        Finally sent {route} {day}. It took me {attempts}[, {style}].
        Please log {route} {day}, {attempts}[, {height} high].
        {route} is done, that was {day}; {attempts} needed[; {style}].
        de: {route} geschafft, {day}, {attempts}[, {style}].
        es: Hice {route} {day}, {attempts}[, {style}].
        """,
    ),
    Tool(
        "book_horse_ride", "Book a riding lesson or a hack. Lessons are between 8:00 and 19:00.", "a riding stable",
        {
            "rider": word("First name of the rider", *PEOPLE),
            "day": day("Day of the ride"),
            "time": clock("Start", 8, 18, is_bare=True),
            "level": enum("Level of the rider", LEVELS),
            "length": duration("Length of the ride", 30, 120),
            "own_helmet?": flag("Whether the rider brings a helmet", "brings a helmet|has a helmet / eigener Helm ist da / a son casque"
                                " / lleva casco", "has no helmet / hat keinen Helm / n'a pas de casque / no tiene casco"),
            "rider_weight?": amount("Weight of the rider", "kg", ["38", "52", "61", "74"], "kg", "g"),
        },
        """
        {length} of riding for {rider} {day} at {time}, level: {level}[, {own_helmet}].
        A ride for {rider}, {level}, {day} at {time}, {length}[, {rider_weight}].
        I'd like to book a ride for {rider} {day}. {time}, {length}, {level}[, {own_helmet}].
        {rider} would love to ride {day} at {time} for {length}. Level is {level}[, {rider_weight}][, {own_helmet}].
        Riding, {day}, {time}, {rider}, {level}, {length}.
        Can you fit in {rider} {day} at {time}? {level}, {length} please[, {own_helmet}].
        de: Reitstunde für {rider} {day} um {time}, {level}, {length}[, {own_helmet}].
        fr: Une balade à cheval pour {rider} {day} à {time}, {level}, {length}[, {own_helmet}].
        es: Una clase de equitación para {rider} {day} a {time}, {level}, {length}[, {own_helmet}].
        """,
    ),
    Tool(
        "order_hay", "Order hay for the horses.", "a riding stable",
        {
            "bales": count("Number of bales", 4, 60, dozens=True),
            "day": day("Day of delivery"),
            "steamed?": flag("Whether the hay is steamed against dust", "steamed|steamed please / bedampft / passé à la vapeur / vaporizado",
                             "not steamed|untreated, not steamed / unbedampft / pas passé à la vapeur / sin vaporizar"),
            "loft?": flag("Whether the driver stacks it in the loft; false if it is left in the yard",
                          "stack it up in the loft|up into the loft / auf den Heuboden bringen / à monter au grenier / subirlo al pajar",
                          "just leave it in the yard / einfach im Hof abladen / à laisser dans la cour / dejarlo en el patio"),
        },
        """
        Hay: {bales} bales, {day}[, {steamed}][, {loft}].
        We're nearly out of hay, please bring {bales} bales {day}[, {steamed}].
        Order {bales} bales of hay, delivery {day}[, {loft}].
        {bales} bales {day} please[, {loft}].
        Could somebody deliver {bales} bales {day}?[ {loft}.]
        The horses are starving (they say). {bales} bales of hay {day}[, {steamed}].
        de: Bitte {bales} Ballen Heu liefern, {day}[, {loft}].
        fr: Livrez {bales} bottes de foin {day}[, {loft}].
        """,
    ),
)  # fmt: skip
