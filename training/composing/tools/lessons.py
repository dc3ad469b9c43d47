"""Tools for lessons, sports and parties that `times.py` makes questions of."""

# ruff: noqa: E501 (a sentence is one line)

from composing.said.amounts import amount, count, enum, flag, share, word
from composing.said.moments import clock, day, duration, hours
from composing.said.slots import Tool

PEOPLE = ("Amira", "Jonas", "Priya", "Theo", "Klara", "Mateo", "Ines", "Bram", "Yuki", "Solène", "Owen", "Lotte")

GONE = "well, {} cancelled|but {} dropped out|minus {} who are ill / {} haben aber abgesagt / {} ont annulé / {} han cancelado"

LESSONS: tuple[Tool, ...] = (
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
            "tables?": count("Tables to borrow", 2, 4, "borrowed tables|tables from you / Tische von euch / tables à emprunter / mesas prestadas"),
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
        Party {day}: bouncy castle, {theme}, {hours}[, oldest child {max_age}].
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
        Can you arrange {length} of {subject} with {pupil} {day} at {time}?[ {in_person}.]
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
            "socks?": count("Pairs of grip socks to buy", 2, 9, "pairs of grip socks|pairs of socks / Paar Stoppersocken / paires de chaussettes"
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
        Can {household} have the bread oven {day} {hours}?[ {firewood}.]
        Baking day! {household}, {day}, {hours}[, dough: {dough}].
        Please keep the oven free {day} {hours}, name is {household}[, {dough} of dough][, {firewood}].
        de: Den Backofen {day} {hours} für {household}[, {firewood}][, {dough} Teig].
        fr: Le four {day} {hours} pour {household}[, {firewood}].
        es: El horno {day} {hours} para {household}[, {firewood}].
        """,
    ),
    Tool(
        "fill_cylinder", "Order the filling of a diving cylinder.", "a diving club",
        {
            "volume": amount("Volume of the cylinder", "l", ["7", "10", "12", "15"], "l", "ml"),
            "ready": day("Day on which it must be full"),
            "oxygen?": share("Share of oxygen; left out for plain air", ["28", "32", "36", "40"]),
            "inspect?": flag("Check the valve too", "and check the valve|valve check too / auch das Ventil prüfen / et vérifiez le robinet / y revisen la válvula",
                             "no valve check / ohne Ventilprüfung / sans vérifier le robinet / sin revisar la válvula"),
        },
        """
        Fill my cylinder of {volume} please, I need it {ready}[, {oxygen} oxygen].
        Cylinder of {volume}, full {ready}[, {inspect}].
        One tank, {volume}, to be ready {ready}[, with {oxygen} oxygen][, {inspect}].
        I'm diving {ready}, can you fill the bottle with {volume} for that day?[ {inspect}.]
        Filling: {volume}, {ready}[, oxygen at {oxygen}].
        Please top up a cylinder with a volume of {volume}, I come for it {ready}[, {inspect}].
        de: Flasche mit {volume} bitte füllen, fertig {ready}[, {inspect}][, {oxygen} Sauerstoff].
        fr: Une bouteille de {volume} à gonfler, prête {ready}[, {inspect}].
        es: Una botella de {volume} para cargar, lista {ready}[, {inspect}].
        """,
    ),
)  # fmt: skip
