"""Tools for outings and lessons that `compose_times.py` makes questions of: animals, sports, trips, parties."""

from said_amounts import Tool, amount, clock, count, day, duration, enum, flag, hours, share, stay, word

CATS = ("Minka", "Pepper", "Biscuit", "Sir Toby", "Olive", "Mochi", "Kiki", "Schnurri", "Gustav")
PEOPLE = ("Amira", "Jonas", "Priya", "Theo", "Klara", "Mateo", "Ines", "Bram", "Yuki", "Solène", "Owen", "Lotte")

GONE = "well, {} cancelled|but {} dropped out|minus {} who are ill / {} haben aber abgesagt / {} se sont désistés / {} han cancelado"

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
        Can you take {cat} {stay}[? {shared_room}]?
        We're off on holiday and {cat} needs a bed {stay}[, {medication}][, {daily_food} of dry food a day].
        Boarding for {cat}, {stay}[, {shared_room}].
        I'd like to leave {cat} with you {stay}[, {medication}][, {shared_room}].
        Please book {cat} in {stay}[, {daily_food} of dry food a day].
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
        Could {cat} come in for grooming {day} at {time}[? {coat}]?
        {cat} is one big knot again, is {day} at {time} ok for a grooming[? {coat}]? Then book it please.
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
            "child_seats?": count("How many child seats are needed", 1, 4, "child seats|kids' seats / Kindersitze / sièges enfant"
                                  " / sillas infantiles"),
        },
        """
        Minibus from {from_town} {day} at {pickup_time}, {passengers}[, {trailer}].
        We need a minibus {day}, leaving {from_town} at {pickup_time}. We're {passengers}[, coming back at {return_time}].
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
            "children": count("How many children", 1, 4),
            "sitter?": word("Name of the sitter that is wished for; left out if anybody will do", *PEOPLE),
            "car?": flag("Whether the sitter must have a car", "must have a car|we need someone with a car / mit Auto"
                         " / avec voiture / con coche", "no car needed / Auto nicht nötig / pas besoin de voiture / sin coche"),
            "dinner?": flag("Whether the sitter cooks for the children", "please cook for them too|dinner included / mit Abendessen kochen"
                            " / repas à préparer / con cena",
                            "they'll have eaten, no cooking|no need to cook / Essen ist schon gemacht, nicht kochen"
                            " / pas de repas à préparer / sin preparar la cena"),
        },
        """
        Babysitter needed {day} {hours}, number of kids: {children}[, {car}].
        We want to go out {day}. Someone {hours} please, kids: {children}[, {dinner}].
        Can {sitter} look after the children {day} {hours}? How many: {children}[, {dinner}].
        Sitter {day} {hours}, children: {children}[, ideally {sitter}][, {car}].
        It's our anniversary {day} so we'd need help {hours}, number of children {children}[, {dinner}].
        Please find somebody {day}, {hours}, for the children (that's {children} of them)[, {dinner}].
        de: Wir brauchen {day} {hours} einen Babysitter, Anzahl der Kinder: {children}[, {car}][, {dinner}].
        fr: Une baby-sitter {day} {hours}, nombre d'enfants : {children}[, {dinner}].
        es: Necesitamos canguro {day} {hours}, número de niños: {children}[, {car}].
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
            "life_vests_xs?": count("Number of life vests in child size", 1, 5, "child-size life vests|kids' life vests"
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
            "climbers": count("How many climb", 2, 6),
            "instructor?": flag("Whether an instructor belays", "with an instructor / mit Trainer / avec un moniteur / con monitor",
                                "we belay each other, no instructor|without an instructor / ohne Trainer / sans moniteur / sin monitor"),
            "rental_shoes?": count("Pairs of shoes to rent", 1, 5, "pairs of rental shoes / Paar Leihschuhe / paires de chaussons à louer"
                                   " / pares de pies de gato de alquiler"),
        },
        """
        Rope lane {day} {hours}, climbers: {climbers}[, {instructor}].
        Could we get a rope {day} {hours}? Number of climbers {climbers}[, {rental_shoes}].
        Book us a lane {day}, {hours}, {climbers} climbing[, {instructor}][, {rental_shoes}].
        We feel like climbing {day}, {hours}, headcount {climbers}[, {instructor}].
        Lane please, {day}, {hours}, {climbers} on the rope[, {rental_shoes}].
        Reserve a rope lane {hours} {day}; climbers: {climbers}[; {instructor}].
        de: Eine Seilbahn in der Kletterhalle {day} {hours}, Kletterer: {climbers}[, {instructor}].
        fr: Une voie {day} {hours}, nombre de grimpeurs : {climbers}[, {instructor}].
        """,
    ),
    Tool(
        "log_ascent", "Write an ascent into the climbing diary.", "a climbing hall",
        {
            "route": word("Name of the route", "Blue Ghost", "Zitronenfalter", "Kraken", "La Diva", "Old Squeaky", "Tango"),
            "day": day("Day of the ascent", is_past=True),
            "attempts": count("How many attempts it took", 1, 12),
            "height?": amount("Height climbed", "m", ["12", "14.5", "17", "9"], "m"),
            "style?": enum("How it was climbed", {"lead": "lead climbing|leading it / im Vorstieg / en tête / de primero",
                                                  "top_rope": "on top rope|with the rope from above / im Toprope / en moulinette / en polea"}),
        },
        """
        I climbed {route} {day}, number of attempts: {attempts}[, {style}].
        Did {route} {day}!! attempts: {attempts}[, {height} up].
        Diary: {route}, {day}, attempts {attempts}[, {style}][, {height}].
        Finally sent {route} {day}. Attempts it took me: {attempts}[, {style}].
        Please log {route} {day}, attempt count {attempts}[, {height} high].
        {route} is done, that was {day}; attempts needed: {attempts}[; {style}].
        de: {route} geschafft, {day}, Versuche: {attempts}[, {style}].
        es: Hice {route} {day}, intentos: {attempts}[, {style}].
        """,
    ),
    Tool(
        "book_ride", "Book a riding lesson or a hack. Lessons are between 8:00 and 19:00.", "a riding stable",
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
        I'd like to book {rider} in {day}. {time}, {length}, {level}[, {own_helmet}].
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
        Could somebody deliver {bales} bales {day}[? {loft}]?
        The horses are starving (they say). {bales} bales of hay {day}[, {steamed}].
        de: Bitte {bales} Ballen Heu liefern, {day}[, {loft}].
        fr: Livrez {bales} bottes de foin {day}[, {loft}].
        """,
    ),
    Tool(
        "plan_driving_lesson", "Plan a driving lesson for a learner.", "a driving school",
        {
            "learner": word("First name of the learner", *PEOPLE),
            "day": day("Day of the lesson"),
            "time": clock("Start", 8, 20),
            "length": duration("Length of the lesson", 45, 150),
            "kind?": enum("What is practised", {"motorway": "on the motorway|motorway driving / Autobahn / autoroute / autopista",
                                                "night": "driving in the dark|a night drive / Nachtfahrt / conduite de nuit / conducción nocturna",
                                                "parking": "just parking|practising how to park / Einparken / stationnement / aparcar",
                                                "town": "city traffic|in town traffic / Stadtverkehr / circulation en ville / tráfico urbano"}),
            "gearbox?": enum("Gearbox of the car", {"manual": "a stick shift|a car with a clutch / mit Schaltung / boîte manuelle / cambio manual",
                                                    "automatic": "an automatic / mit Automatik / boîte automatique / cambio automático"}),
        },
        """
        Lesson for {learner} {day} at {time}, {length}[, {kind}].
        {learner} wants to drive {day} at {time} for {length}[, {kind}][, {gearbox}].
        Please plan {length} with {learner}, {day}, {time}[, {gearbox}].
        Put {learner} in the plan: {day}, {time}, {length}[, {kind}].
        New driving lesson, learner {learner}, {day} at {time}, {length} long[, {gearbox}].
        Can {learner} have a lesson {day} at {time}? {length}[, {kind}].
        de: Fahrstunde für {learner} {day} um {time}, {length}[, {kind}][, {gearbox}].
        de: {learner} möchte {day} um {time} fahren, {length}[, {kind}].
        fr: Une leçon pour {learner} {day} à {time}, {length}[, {kind}][, {gearbox}].
        es: Una clase de conducir para {learner} {day} a {time}, {length}[, {kind}].
        """,
    ),
    Tool(
        "log_practice_drive", "Enter a practice drive into the log of a learner.", "a driving school",
        {
            "learner": word("First name of the learner", *PEOPLE),
            "day": day("Day of the drive", is_past=True),
            "distance": amount("Distance driven", "km", ["8", "12.5", "24", "31", "1.5", "2.5", "56"], "km", "m"),
            "length?": duration("Time at the wheel", 20, 120),
            "dark?": flag("Whether it was dark", "in the dark / im Dunkeln / de nuit / de noche", "in daylight / bei Tageslicht / de jour / de día"),
        },
        """
        {learner} drove {distance} {day}[, {dark}][, {length} at the wheel].
        Practice drive {day}: {learner}, {distance}[, {dark}].
        Log {distance} for {learner}, driven {day}[, {length}].
        {day} {learner} did {distance}[, {dark}][, took {length}].
        Another {distance} for {learner}'s log, that was {day}[, {dark}].
        Please enter a drive of {distance} by {learner} {day}[ which took {length}].
        de: {learner} ist {day} {distance} gefahren[, {dark}].
        fr: {learner} a conduit {distance} {day}[, {dark}].
        es: {learner} condujo {distance} {day}[, {dark}].
        """,
    ),
    Tool(
        "log_dive", "Write a dive into the log book.", "a diving club",
        {
            "day": day("Day of the dive", is_past=True),
            "depth": amount("Greatest depth", "m", ["9", "12.5", "18", "21", "27.5", "30"], "m"),
            "bottom_time": duration("Time under water", 15, 75, "in minutes", "in seconds"),
            "gas?": enum("What was breathed", {"air": "plain compressed air|ordinary air / Pressluft / air comprimé / aire comprimido",
                                               "nitrox": "enriched air|air with extra oxygen / mit Sauerstoff angereicherte Luft"
                                               " / air enrichi / aire enriquecido"}, is_fixable=False),
            "buddy?": word("First name of the partner", *PEOPLE),
            "night_dive?": flag("Whether it was dark", "at night|in the dark / nachts / de nuit / de noche",
                                "in daylight / bei Tag / de jour / de día"),
        },
        """
        Dived {day}, {depth} deep, {bottom_time} under water[, {gas}][, with {buddy}].
        Log book: {day}, {depth}, {bottom_time}[, {night_dive}].
        {day} I was down at {depth} for {bottom_time}[, {gas}].
        Please log my dive, it was {day}, max depth {depth}, {bottom_time}[, buddy was {buddy}][, {night_dive}].
        New dive: {depth}, {bottom_time}, {day}[, {gas}].
        What a dive {day}! {depth} and {bottom_time} of bliss[, {buddy} came along]. Write it down please.
        de: Tauchgang {day}, {depth} tief, {bottom_time} unter Wasser[, {gas}][, mit {buddy}].
        fr: Plongée {day}, {depth} de profondeur, {bottom_time} sous l'eau[, {gas}].
        es: Inmersión {day}, {depth} de profundidad, {bottom_time} bajo el agua[, {gas}].
        """,
    ),
    Tool(
        "reserve_stall", "Reserve a stall on the street market.", "a street market",
        {
            "day": day("Market day"),
            "goods": enum("What is sold", {
                "bakery": "bread and cakes|cakes / Brot und Kuchen / du pain et des gâteaux / pan y pasteles",
                "cheese": "goat cheese|cheese from our own goats / Ziegenkäse / du fromage / queso",
                "clothing": "jumpers and scarves|second-hand coats / gebrauchte Kleider / des vêtements / ropa",
                "toys": "wooden toys|old dolls / Holzspielzeug / des jouets en bois / juguetes de madera",
                "plants": "tomato seedlings|flowers in pots / Topfblumen / des fleurs en pot / flores en maceta"}),
            "width": amount("Width of the stall", "m", ["2", "2.5", "3", "4", "4.5", "6"], "m"),
            "power?": flag("Whether the stall needs electricity", "with a socket|we need electricity / mit Strom / avec électricité / con luz",
                           "no power|we don't need electricity / kein Strom / sans électricité / sin luz"),
            "van_beside?": flag("Whether a van parks beside it", "our van has to stand next to it|with the van beside / der Transporter steht daneben"
                                " / avec la camionnette à côté / con la furgoneta al lado",
                                "no van / ohne Transporter / sans camionnette / sin furgoneta"),
            "tables?": count("Tables to borrow", 1, 4, "borrowed tables|tables from you / Tische von euch / tables à emprunter / mesas prestadas"),
        },
        """
        A stall {day} please, {width} wide, we sell {goods}[, {power}][, {van_beside}].
        We'd like to sell {goods} {day}, {width}[, {tables}].
        Market {day}: {goods}, {width}[, {power}].
        Is there room {day} for a stall of {width}? We'd bring {goods}[, {power}]. Please reserve it.
        Reserve {width} {day}, {goods}[, {van_beside}][, {tables}].
        My mum makes the best stuff, put us down {day} with {goods}, {width} of stall[, {power}].
        de: Einen Stand {day}, {width} breit, wir verkaufen {goods}[, {power}][, {van_beside}].
        fr: Un stand {day}, {width} de large, nous vendons {goods}[, {power}].
        es: Un puesto {day}, {width} de ancho, vendemos {goods}[, {power}].
        """,
    ),
    Tool(
        "hire_castle", "Hire a bouncy castle for a party.", "a bouncy castle hire",
        {
            "theme": enum("Look of the castle", {"pirate": "a pirate ship|pirates / Piratenschiff / bateau pirate / barco pirata",
                                                 "dinosaur": "T. rex and friends|dinos / Dinos / dinos / dinos",
                                                 "princess": "a fairy-tale castle for little queens|princesses / Prinzessinnen / princesses / princesas",
                                                 "jungle": "monkeys and palm trees|the jungle one / Dschungel / jungle / selva"}),
            "day": day("Day of the party"),
            "hours": hours("setup_time", "collect_time", "When it stands", "When it is fetched", 9, 14),
            "indoors?": flag("Whether it stands in a hall", "it'll be in the gym, so indoors|indoors / drinnen / à l'intérieur / dentro",
                             "outside in the garden|outdoors / draußen im Garten / dehors / fuera"),
            "extra_blower?": flag("Bring a second blower", "with a spare blower / mit Ersatzgebläse / avec un souffleur de secours"
                                  " / con soplador de reserva",
                                  "no spare blower / ohne Ersatzgebläse / sans souffleur de secours / sin soplador de reserva"),
            "max_age?": count("Age of the oldest child", 5, 12),
        },
        """
        Bouncy castle {day} {hours}, theme: {theme}[, {indoors}].
        For the birthday {day} we need a bouncy castle {hours}, {theme}[, oldest kid is {max_age}].
        Hire one {day}, {hours}, {theme}[, {indoors}][, {extra_blower}].
        The kids want {theme}. {day}, {hours}[, {indoors}].
        Could you set up a castle {day} {hours}? Theme {theme}[, {extra_blower}].
        Party {day}: castle with {theme}, {hours}[, oldest child {max_age}].
        de: Hüpfburg {day} {hours}, Motto: {theme}[, {indoors}].
        fr: Un château gonflable {day} {hours}, thème : {theme}[, {indoors}].
        es: Un castillo hinchable {day} {hours}, tema: {theme}[, {indoors}].
        """,
    ),
    Tool(
        "log_rowing", "Enter an outing into the rowing log.", "a rowing club",
        {
            "boat": word("Name of the boat", "Merganser", "Eisvogel", "Lady Joan", "Poseidon", "Swift"),
            "day": day("Day of the outing", is_past=True),
            "distance": amount("Distance rowed", "km", ["4", "1.5", "2.5", "7.5", "12", "16.5"], "m", "km"),
            "length?": duration("Time on the water", 20, 120),
            "damage?": flag("Whether the boat was damaged", "we scratched the hull|the boat has a crack now / Boot leider beschädigt"
                            " / le bateau est abîmé / el bote se dañó",
                            "the boat is undamaged|no damage / kein Schaden am Boot / aucun dégât / sin daños"),
        },
        """
        {distance} with {boat} {day}[, {damage}].
        Rowed {distance} {day} in {boat}[, {length} on the water].
        Log: {boat}, {day}, {distance}[, {length}][, {damage}].
        We took {boat} out {day} and did {distance}[ in {length}].
        Please enter {distance} for {boat}, {day}[, {damage}].
        Lovely row {day}. {boat}, {distance}[, {length}].
        de: {distance} mit {boat} gerudert, {day}[, {damage}].
        fr: Sortie avec {boat} {day}, {distance}[, {damage}].
        es: Remamos {distance} con {boat} {day}[, {damage}].
        """,
    ),
    Tool(
        "arrange_tuition", "Arrange a lesson with a tutor. Lessons are between 13:00 and 20:00.", "a tutoring service",
        {
            "pupil": word("First name of the pupil", *PEOPLE),
            "subject": enum("Subject", {"maths": "maths|fractions and all that sums stuff / Mathe / maths / mates",
                                        "chemistry": "chemistry / Chemie / chimie / química",
                                        "history": "history / Geschichte / histoire / historia",
                                        "german": "German / Deutsch / allemand / alemán"}),
            "day": day("Day of the lesson"),
            "time": clock("Start", 13, 19, is_bare=True),
            "length": duration("Length", 45, 120),
            "in_person?": flag("True if they meet in a room, false for a video call", "face to face, not online|in person"
                               " / vor Ort, nicht online / en présentiel / presencial",
                               "by video call|online, not in person / per Video / en visio / por videollamada"),
            "exam_prep?": flag("Whether it prepares for an exam", "there's an exam coming up|it's for an exam / zur Prüfungsvorbereitung"
                               " / pour préparer un examen / para preparar un examen",
                               "not for an exam / nicht für eine Prüfung / pas pour un examen / no es para un examen"),
            "group_size?": count("How many pupils share the lesson", 2, 4),
        },
        """
        {subject} for {pupil} {day} at {time}, {length}[, {in_person}].
        {pupil} is struggling with {subject}. {length} {day} at {time} please[, {exam_prep}].
        Tutor wanted: {subject}, {pupil}, {day}, {time}, {length}[, {in_person}][, {exam_prep}].
        Can you arrange {length} of {subject} with {pupil} {day} at {time}[? {in_person}]?
        Book {pupil} a lesson in {subject}, {day} at {time}, {length}[, {in_person}].
        {pupil}, {subject}, {length}, {day}, {time}[, {exam_prep}].
        de: Nachhilfe in {subject} für {pupil} {day} um {time}, {length}[, {in_person}][, {exam_prep}].
        fr: Un cours ({subject}) pour {pupil} {day} à {time}, {length}[, {in_person}].
        es: Una clase de {subject} para {pupil} {day} a {time}, {length}[, {in_person}].
        """,
    ),
    Tool(
        "book_jump", "Book tickets for the trampoline hall.", "a trampoline hall",
        {
            "day": day("Day of the visit"),
            "time": clock("Time of entry", 10, 20),
            "jumpers": count("How many jump", 4, 16, "kids|children|jumpers / Kinder / enfants / niños", cancelled=GONE),
            "socks?": count("Pairs of grip socks to buy", 1, 9, "pairs of grip socks|pairs of socks / Paar Stoppersocken / paires de chaussettes"
                            " / pares de calcetines"),
            "party_table?": flag("Reserve a table for a party", "with a party table / mit Partytisch / avec une table de fête / con mesa de fiesta",
                                 "no table needed / ohne Tisch / sans table / sin mesa"),
            "discount?": share("Discount of the voucher", ["5", "10", "15", "20", "12.5"]),
        },
        """
        Jumping {day} at {time}, {jumpers}[, {socks}].
        Tickets {day}, {time}, for {jumpers}[, {party_table}].
        We're coming with {jumpers} {day} at {time}[, {socks}][, {party_table}].
        {jumpers} want to jump {day} at {time}[, and I have a voucher for {discount} off].
        Trampoline hall, {day}, {time}, {jumpers}[, {party_table}].
        Please book entry at {time} {day} for {jumpers}[, {socks}][, the voucher says {discount}].
        de: Eintritt {day} um {time} für {jumpers}[, {socks}][, {party_table}].
        fr: Des billets {day} à {time} pour {jumpers}[, {party_table}].
        es: Entradas {day} a {time} para {jumpers}[, {socks}].
        """,
    ),
    Tool(
        "reserve_bread_oven", "Reserve the wood-fired oven of the village for baking.", "a village bakehouse",
        {
            "household": word("Family name", "Okonkwo", "Lindqvist", "Perez", "Vogel", "Tanaka", "Moreau"),
            "day": day("Baking day"),
            "hours": hours("start", "end", "When the oven is free for them", "When it must be swept out", 7, 13),
            "dough?": amount("Amount of dough", "kg", ["2.5", "4", "7.5", "12", "1.5"], "g", "kg"),
            "firewood?": flag("Whether the village brings the wood; false if the family brings it",
                              "please have the wood ready for us / Holz bitte stellen / avec le bois fourni / con la leña incluida",
                              "we bring our own wood|own wood / Holz bringen wir mit / nous apportons le bois / llevamos la leña"),
        },
        """
        The oven {day} {hours} for {household}[, {firewood}].
        {household} here, we want to bake {day} {hours}[, {dough} of dough].
        Reserve the oven: {household}, {day}, {hours}[, {firewood}].
        Can {household} have the bread oven {day} {hours}[? {firewood}]?
        Baking day! {household}, {day}, {hours}[, about that much dough: {dough}].
        Please keep the oven free {day} {hours}, name is {household}[, {dough} of dough][, {firewood}].
        de: Den Backofen {day} {hours} für {household}[, {firewood}][, {dough} Teig].
        fr: Le four {day} {hours} pour {household}[, {firewood}].
        es: El horno {day} {hours} para {household}[, {firewood}].
        """,
    ),
)  # fmt: skip
