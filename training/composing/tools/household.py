"""Tools for the household that `times.py` makes questions of: repairs, logs, machines."""

# ruff: noqa: E501 (a sentence is one line)

from composing.said.amounts import amount, code, count, enum, flag, money, reading, share, word
from composing.said.moments import clock, day, duration, hours
from composing.said.slots import Tool

PEOPLE = ("Femke", "Rashid", "Nora", "Elio", "Mei", "Casper", "Zofia", "Dunja", "Hugo", "Paula")

PART_OF_DAY = {
    "morning": "before lunch|in the morning / vormittags|vor dem Mittagessen / dans la matinée|en matinée / por la mañana|antes de comer",
    "afternoon": "after lunch|in the afternoon / nachmittags|nach dem Mittagessen / dans l'après-midi|après le déjeuner / por la tarde|después de comer",
    "evening": "in the evening|after dinner / abends|nach Feierabend / dans la soirée|en soirée / por la noche|después de cenar",
}

HOUSEHOLD: tuple[Tool, ...] = (
    Tool(
        "tune_piano", "Order a piano tuner.", "a piano workshop",
        {
            "instrument": enum("What is tuned", {"upright": "an ordinary piano against the wall|an upright / Klavier / piano droit / piano vertical",
                                                 "grand": "a concert grand|a grand / Flügel / piano à queue / piano de cola",
                                                 "harpsichord": "a harpsichord / Cembalo / clavecin / clavecín"}),
            "day": day("Day of the visit"),
            "slot": enum("Part of the day", PART_OF_DAY),
            "floor?": count("Floor on which it stands, 0 is the ground floor", 1, 6),
            "years_untuned?": count("Years since it was tuned", 2, 15),
            "repair?": flag("Whether something must be repaired too", "some keys are stuck, so bring the repair kit|it needs a repair as well"
                            " / auch etwas reparieren / avec une réparation / con una reparación",
                            "just tuning, no repair / nur stimmen, nichts reparieren / accord seulement, sans réparation / solo afinar, sin reparación"),
        },
        """
        A tuner {day} {slot}, instrument: {instrument}[, {repair}].
        It sounds awful. Please send someone {day} {slot}, it's {instrument}[, floor {floor}].
        Piano tuning {day} {slot}: {instrument}[, {repair}][, floor {floor}].
        Could the tuner come {day} {slot}? We have {instrument}[, not tuned for {years_untuned} years].
        We need {instrument} tuned {day} {slot}[, {repair}].
        Tuner please, {instrument}, {day}, {slot}[, untuned for {years_untuned} years].
        de: Bitte stimmen: {instrument}, {day} {slot}[, {repair}].
        fr: À accorder : {instrument}, {day} {slot}[, {repair}].
        es: Para afinar: {instrument}, {day} {slot}[, {repair}].
        """,
    ),
    Tool(
        "request_sweep", "Order the chimney sweep.", "a chimney sweep",
        {
            "day": day("Day of the visit"),
            "time": clock("When the sweep comes; visits are from 7:00 to 15:00", 7, 14, is_bare=True),
            "flues": count("Number of flues", 2, 4, "flues / Züge / conduits / conductos"),
            "roof_ladder?": flag("Whether the sweep must bring a ladder", "bring a ladder please|there's no ladder here / bitte Leiter mitbringen"
                                 " / apportez une échelle / traigan escalera",
                                 "we have a ladder|no need to bring a ladder / Leiter ist da / il y a une échelle ici / tenemos escalera"),
            "camera?": flag("Inspect by camera", "with a camera check / mit Kamera / avec caméra / con cámara",
                            "no camera / ohne Kamera / sans caméra / sin cámara"),
        },
        """
        Chimney sweep {day} at {time}, {flues}[, {roof_ladder}].
        Could the sweep come {day} at {time}? {flues}[, {camera}].
        Sweep the chimney {day}, {time}, {flues}[, {roof_ladder}][, {camera}].
        We lit the stove and the room was black. {day} at {time} please, {flues}[, {camera}].
        Send the sweep {day} at {time}, {flues}[, {roof_ladder}].
        Chimney, {day}, {time}, {flues}.
        de: Schornsteinfeger {day} um {time}, {flues}[, {roof_ladder}][, {camera}].
        fr: Le ramoneur {day} à {time}, {flues}[, {roof_ladder}].
        """,
    ),
    Tool(
        "book_pressing", "Book a slot at the cider press.", "a cider press",
        {
            "fruit": amount("Weight of the apples", "kg", ["80", "120", "150", "275", "340"], "kg", "g"),
            "day": day("Day of pressing"),
            "time": clock("Start", 8, 18),
            "bottle?": amount("Volume of each bottle", "l", ["0.5", "1.5", "2.5", "3", "5"], "ml", "l"),
            "pasteurise?": flag("Whether the juice is heated so that it keeps", "pasteurised|please heat it so it keeps / pasteurisiert / pasteurisé / pasteurizado",
                                "raw, not pasteurised|don't heat it / nicht pasteurisieren / non pasteurisé / sin pasteurizar"),
            "pear_share?": share("Share of pears in the fruit", ["5", "10", "20", "25", "30"]),
        },
        """
        We'd bring {fruit} of apples {day} at {time}[, {pasteurise}].
        Pressing {day}, {time}, {fruit}[, bottles of {bottle}][, {pasteurise}].
        {fruit} of apples to press {day} at {time}[, share of pears {pear_share}].
        Can we press {fruit} {day} at {time}?[ {pasteurise}.]
        The trees were generous. {fruit}, {day}, {time}[, bottle size {bottle}].
        Book the press {day} at {time} for {fruit}[, {pear_share} of it pears][, {pasteurise}].
        de: {fruit} Äpfel pressen, {day} um {time}[, {pasteurise}][, Flaschengröße: {bottle}].
        fr: {fruit} de pommes à presser {day} à {time}[, {pasteurise}].
        es: {fruit} de manzanas para prensar {day} a {time}[, {pasteurise}].
        """,
    ),
    Tool(
        "order_bouquet", "Order flowers for delivery.", "a florist",
        {
            "occasion": enum("Why they are given", {"birthday": "a birthday|her birthday, she turns 60 / Geburtstag / anniversaire / cumpleaños",
                                                    "funeral": "a funeral / Beerdigung / enterrement / funeral",
                                                    "wedding": "a wedding / Hochzeit / mariage / boda",
                                                    "thanks": "just to say thank you / als Dankeschön / pour dire merci / para dar las gracias"}),
            "budget": money("What the flowers may cost", ["25", "32.50", "45", "60", "80"]),
            "day": day("Day of delivery"),
            "time?": clock("When they are delivered", 8, 19),
            "roses?": count("Number of roses in it", 5, 20, dozens=True),
            "vase?": flag("With a vase", "with a vase / mit Vase / avec un vase / con jarrón", "no vase / ohne Vase / sans vase / sin jarrón"),
        },
        """
        Flowers for {budget}, {day}[ at {time}], occasion: {occasion}[, {vase}].
        Please deliver a bouquet {day}, {budget}, the occasion is {occasion}[, roses in it: {roses}].
        Bouquet, {occasion}, {budget}, {day}[, {time}][, {vase}].
        I'd spend {budget}. The reason: {occasion}. Delivery {day}[ at {time}].
        Send flowers {day}, {occasion}, not more than {budget}[, with {roses} roses].
        A nice bouquet {day} please, budget {budget}, {occasion}[, {vase}].
        de: Einen Strauß für {budget}, Anlass: {occasion}, Lieferung {day}[ um {time}][, {vase}].
        fr: Un bouquet à {budget}, occasion : {occasion}, livraison {day}[ à {time}][, {vase}].
        es: Un ramo de {budget}, motivo: {occasion}, entrega {day}[ a {time}][, {vase}].
        """,
    ),
    Tool(
        "cut_keys", "Order copies of a key.", "a locksmith",
        {
            "key_code": code("Code on the key", 5),
            "copies": count("Number of copies", 2, 8, "copies / Kopien / copies / copias"),
            "pickup?": day("Day on which they are fetched"),
            "deposit?": money("Deposit that was paid", ["5", "10", "7.50"]),
            "engrave?": flag("Whether the code is engraved on the copies", "engrave the code|with engraving / mit Gravur / avec gravure / con grabado",
                             "no engraving / ohne Gravur / sans gravure / sin grabado"),
        },
        """
        {copies} of key {key_code}[, {engrave}].
        Key {key_code}, {copies}[, I'd fetch them {pickup}].
        Please cut key {key_code}, {copies}[, {engrave}][, pickup {pickup}].
        I lost my keys again, code is {key_code}, I need {copies}[, {engrave}].
        Order {copies}, key code {key_code}[, deposit paid: {deposit}].
        Could you copy {key_code}? I need {copies}[, picking them up {pickup}].
        de: Schlüssel {key_code} nachmachen, {copies}[, {engrave}].
        fr: Clé {key_code}, {copies}[, {engrave}].
        """,
    ),
    Tool(
        "pay_allowance", "Put pocket money on the card of a child.", "a pocket money app",
        {
            "child": word("Name of the child", *PEOPLE),
            "sum": money("Amount", ["2.50", "5", "7.50", "10", "12", "20"]),
            "when?": day("Day on which it is paid; left out: now"),
            "weekly?": flag("Whether it is repeated each week", "every week from then on|weekly / jede Woche / chaque semaine / cada semana",
                            "just this once, not weekly / nur dieses eine Mal / une seule fois / solo esta vez"),
            "savings_share?": share("Share that goes to the piggy bank", ["10", "20", "25", "30", "50"]),
        },
        """
        {sum} for {child}[ {when}][, {weekly}].
        Give {child} {sum}[, {savings_share} of it into the piggy bank].
        Please put {sum} on {child}'s card[ {when}][, {weekly}].
        {child} tidied the room, that's worth {sum}[, {savings_share} of it saved].
        Send {child} {sum}[ {when}][, {weekly}][, with {savings_share} going to savings].
        {child}: {sum}, pocket money[, {weekly}].
        de: Taschengeld für {child}: {sum}[, {when}][, {weekly}].
        fr: {sum} d'argent de poche pour {child}[, {when}][, {weekly}].
        es: {sum} de paga para {child}[, {when}][, {weekly}].
        """,
    ),
    Tool(
        "log_feed", "Note a meal in the baby diary.", "a baby diary",
        {
            "milk": amount("Amount drunk", "ml", ["60", "90", "120", "150", "180"], "ml", "l"),
            "time": clock("When", 5, 22),
            "kind?": enum("What it was", {"breast": "mummy's own milk|breast milk / Muttermilch / lait maternel / leche materna",
                                          "formula": "powder milk from the tin|bottle milk from powder / Milchpulver / lait en poudre / leche en polvo"}),
            "burped?": flag("Whether the baby burped", "and burped / hat aufgestoßen / a fait son rot / y eructó",
                            "didn't burp / kein Bäuerchen / sans rot / no eructó"),
        },
        """
        She had {milk} at {time}[, {kind}][, {burped}].
        {milk} at {time}[, {burped}].
        Baby drank {milk}, that was at {time}[, {kind}].
        Diary: {time}, {milk}[, {kind}].
        Just noting it down before I fall asleep: {milk} at {time}[, {burped}].
        Please log a feed of {milk} at {time}[, {kind}][, {burped}].
        de: {milk} getrunken um {time}[, {kind}][, {burped}].
        fr: {milk} bus à {time}[, {kind}].
        es: Tomó {milk} a {time}[, {kind}][, {burped}].
        """,
    ),
    Tool(
        "log_nap", "Note a nap in the baby diary.", "a baby diary",
        {
            "start": clock("When the baby fell asleep", 8, 18),
            "length": duration("How long it slept", 15, 150),
            "place?": enum("Where", {"pram": "in the buggy|in the pushchair / im Kinderwagen / dans la poussette / en el carrito",
                                     "cot": "in her own bed|in the crib / im Gitterbett / dans son lit / en la cuna",
                                     "arms": "on my arm|on daddy / auf dem Arm / dans les bras / en brazos"}),
            "woke_crying?": flag("Whether it woke up crying", "woke up crying / weinend aufgewacht / réveil en pleurs / se despertó llorando",
                                 "woke up happy, no tears / ist fröhlich aufgewacht / réveil sans pleurs / se despertó sin llorar"),
        },
        """
        Nap at {start}, {length}[, {place}].
        Fell asleep at {start} and slept {length}[, {woke_crying}].
        {length} of sleep, starting at {start}[, {place}][, {woke_crying}].
        Put a nap into the diary, {start}, {length}[, {woke_crying}].
        He went down at {start} for {length}[, {place}].
        Finally asleep at {start}!! lasted {length}[, {place}]. log it please
        de: Schlaf um {start}, {length}[, {place}][, {woke_crying}].
        fr: Sieste à {start}, {length}[, {place}].
        es: Siesta a {start}, {length}[, {place}].
        """,
    ),
    Tool(
        "cut_panel", "Queue a rectangular panel on the laser cutter.", "a makerspace",
        {
            "width": amount("Width", "cm", ["12", "15", "24.5", "30", "42"], "mm"),
            "height": amount("Height", "cm", ["8", "10", "18.5", "20", "25"], "mm"),
            "material": enum("Material", {"plywood": "plywood|that layered birch wood / Sperrholz / contreplaqué / contrachapado",
                                          "acrylic": "plexiglass|perspex / Plexiglas / plexiglas / metacrilato",
                                          "cardboard": "cardboard|old moving boxes / Pappe / carton / cartón"}),
            "copies?": count("Number of panels", 2, 9, dozens=True),
            "power_level?": share("Power of the laser", ["35", "40", "55", "80", "12.5"]),
            "rounded?": flag("Whether the corners are round", "round corners|with rounded corners / runde Ecken / coins arrondis / esquinas redondeadas",
                             "no rounding, sharp corners|corners not rounded / spitze Ecken / coins droits / esquinas rectas"),
        },
        """
        One panel of {material}, {width} wide and {height} high[, {rounded}].
        Cut me {material}, width {width}, height {height}[, copies: {copies}].
        Laser: {material}, {width} wide, {height} high[, power {power_level}][, {rounded}].
        Please queue a panel, {width} in width and {height} in height, {material}[, quantity {copies}].
        I need {material} cut to a width of {width} and a height of {height}[, {rounded}].
        Panel, width {width}, height {height}, {material}[, {power_level} power].
        de: Bitte lasern: {material}, Breite {width}, Höhe {height}[, {rounded}][, Leistung {power_level}].
        fr: Un panneau, matière : {material}, largeur {width}, hauteur {height}[, {rounded}].
        es: Un panel, material: {material}, ancho {width}, alto {height}[, {rounded}].
        """,
    ),
    Tool(
        "reserve_laser", "Reserve time on the laser cutter.", "a makerspace",
        {
            "member": word("First name of the member", *PEOPLE),
            "day": day("Day"),
            "hours": hours("start", "end", "Beginning", "End", 10, 17),
            "supervisor?": flag("Whether a trained person must be there", "I need somebody to supervise|with supervision / mit Aufsicht / avec un encadrant"
                                " / con supervisión",
                                "no supervision needed / ohne Aufsicht / sans encadrant / sin supervisión"),
        },
        """
        Laser cutter {day} {hours}, member {member}[, {supervisor}].
        {member} needs the laser {day} {hours}[, {supervisor}].
        Reserve the laser for {member}: {day}, {hours}[, {supervisor}].
        Can {member} have the laser cutter {day} {hours}?[ {supervisor}.]
        Block the machine {hours} {day} for {member} please[, {supervisor}].
        {member}, laser, {day}, {hours}.
        de: Laser {day} {hours} für {member}[, {supervisor}].
        fr: La découpeuse {day} {hours} pour {member}[, {supervisor}].
        es: La cortadora {day} {hours} para {member}[, {supervisor}].
        """,
    ),
    Tool(
        "start_cooker", "Start the slow cooker.", "a smart kitchen",
        {
            "programme": enum("What is cooked", {"stew": "beef stew|goulash / Gulasch / ragoût / estofado", "porridge": "oats for breakfast|porridge / Haferbrei"
                              " / porridge d'avoine / gachas", "stock": "chicken broth|bone broth / Brühe / bouillon / caldo"}),
            "length": duration("Cooking time", 60, 210),
            "start?": clock("When it starts; left out: now", 5, 20),
            "keep_warm?": flag("Whether it stays warm after the end", "keep it warm afterwards / danach warmhalten / puis garder au chaud / y luego mantener caliente",
                               "don't keep it warm after that|switch off at the end / danach nicht warmhalten / sans garder au chaud / sin mantener caliente"),
            "portions?": count("Number of portions", 2, 8),
        },
        """
        {programme}, {length}[, start at {start}][, {keep_warm}].
        Cook {programme} for {length}[, {portions} portions].
        Slow cooker: {programme}, {length}[, starting at {start}].
        Please make {programme}, {length} should be enough[, {keep_warm}].
        Start the cooker[ at {start}] with {programme} for {length}[, {keep_warm}].
        I put {programme} in the pot, let it run {length}[, {keep_warm}][, {portions} portions].
        de: {programme} kochen, {length}[, Start um {start}][, {keep_warm}].
        fr: Lance la mijoteuse : {programme}, {length}[, début à {start}].
        es: Pon la olla: {programme}, {length}[, empezando a {start}].
        """,
    ),
    Tool(
        "set_wake_lamp", "Set the lamp that wakes people with light. It wakes between 4:00 and 11:00.", "a smart bedroom",
        {
            "time": clock("When the light is full", 5, 10, is_bare=True),
            "fade?": duration("How long the light grows before", 15, 45, "in seconds", "in minutes"),
            "brightness?": share("Brightness at the end", ["40", "55", "70", "85", "100"]),
            "birdsong?": flag("Play birdsong", "with birdsong / mit Vogelgezwitscher / avec des chants d'oiseaux / con canto de pájaros",
                              "no birds please|without birdsong / ohne Vogelgezwitscher / sans oiseaux / sin pájaros"),
            "day?": day("Day; left out: every day"),
        },
        """
        Wake me at {time}[, {birdsong}].
        Lamp at {time}[, brightness {brightness}][, {birdsong}].
        Set the wake lamp to {time}[ {day}][, growing over {fade}].
        I have to get up at {time}[ {day}][, {birdsong}]. Set the lamp.
        Could the light wake me at {time}[, fading in over {fade}][, up to {brightness}]?
        Wake-up light, {time}[, {day}][, {brightness} bright].
        de: Weck mich um {time}[, {birdsong}][, Helligkeit {brightness}].
        fr: Réveille-moi à {time}[, {birdsong}].
        es: Despiértame a {time}[, {birdsong}][, brillo: {brightness}].
        """,
    ),
    Tool(
        "return_club_car", "Report that a shared car was brought back.", "a car club",
        {
            "car": word("Name of the car", "Hummel", "Ruby", "Panda 3", "Olaf", "Mimi"),
            "odometer": reading("What the counter shows, in kilometres", 11_000, 96_000),
            "day": day("Day of the return", is_past=True),
            "fuel?": share("How full the tank is", ["10", "25", "40", "50", "75", "90"]),
            "dirty?": flag("Whether it needs cleaning", "it needs a wash|sorry, it's filthy / muss gewaschen werden / il faut la laver / hay que lavarlo",
                           "it's clean / ist sauber / elle est propre / está limpio"),
        },
        """
        Brought {car} back {day}, counter at {odometer}[, {dirty}].
        {car} is back since {day}. It shows {odometer}[, tank at {fuel}].
        Return: {car}, {odometer} km on the clock, {day}[, {dirty}][, fuel {fuel}].
        I returned {car} {day} with {odometer} km[, {dirty}].
        Please note that {car} came back {day}, {odometer} km on the counter[, tank {fuel} full].
        Done with {car}, dropped it off {day}, odometer says {odometer}[, {dirty}].
        de: {car} {day} zurückgebracht, Kilometerstand {odometer}[, {dirty}][, Tank bei {fuel}].
        de: Habe {car} {day} abgestellt, der Zähler steht bei {odometer}[, {dirty}].
        fr: {car} rendue {day}, compteur à {odometer}[, {dirty}].
        es: Devolví {car} {day}, el contador marca {odometer}[, {dirty}].
        """,
    ),
    Tool(
        "set_lights_out", "Set when all lamps go out at night.", "a smart bedroom",
        {
            "time": clock("When the lamps go out; midnight is 00:00", 20, 23, has_midnight=True),
            "dim_for?": duration("How long they are dimmed before", 15, 60, "in minutes", "in seconds"),
            "night_light?": flag("Leave the night light on", "leave the night light on / Nachtlicht anlassen / laisse la veilleuse allumée / deja la luz de noche",
                                 "no night light|night light off too / Nachtlicht auch aus / sans veilleuse / sin luz de noche"),
            "rest_brightness?": share("Brightness while dimmed", ["5", "10", "20", "30"]),
        },
        """
        Lights out at {time}[, {night_light}].
        All lamps off at {time}[, dimmed for {dim_for} before that].
        The kids have school, so lights out at {time}[, {night_light}][, dimmed to {rest_brightness} before].
        Please switch everything off at {time}[, {night_light}].
        I want it dark at {time}[, after {dim_for} of dimmed light].
        At {time} all lights should go off[, {night_light}].
        de: Alle Lampen um {time} aus[, {night_light}].
        fr: Éteins toutes les lampes à {time}[, {night_light}].
        es: Apaga todas las luces a {time}[, {night_light}].
        """,
    ),
    Tool(
        "repot_plants", "Order the repotting of house plants.", "a plant doctor",
        {
            "plants": count("Number of plants", 2, 9, "plants|big plants / Pflanzen / plantes / plantas"),
            "pot_width": amount("Width of the new pots", "cm", ["12", "14.5", "18", "24", "30"], "cm", "mm"),
            "day": day("Day of the visit"),
            "soil?": amount("Soil to bring", "l", ["2.5", "5", "10", "20", "1.5"], "l", "ml"),
            "fertiliser?": flag("Add fertiliser", "with fertiliser / mit Dünger / avec de l'engrais / con abono",
                                "no fertiliser / ohne Dünger / sans engrais / sin abono"),
            "budget_level?": enum("How dear the pots may be", {"budget": "cheap pots|the cheapest pots / billige Töpfe / des pots pas chers / macetas baratas",
                                                               "premium": "really fancy pots|only the best pots / edle Töpfe / de beaux pots chers / macetas de lujo"}),
        },
        """
        Repot {plants} {day}, new pots {pot_width} wide[, {fertiliser}].
        {plants} need new pots of {pot_width}, please come {day}[, {budget_level}].
        Could you come {day} and repot {plants}? Pot width {pot_width}[, bring {soil} of soil].
        My jungle has outgrown me: {plants}, pots of {pot_width}, {day}[, {budget_level}][, {fertiliser}].
        Repotting {day}, {plants}, {pot_width}[, {soil} of soil][, {fertiliser}].
        I'd like {plants} repotted {day} into pots of {pot_width}[, {budget_level}].
        de: Bitte {plants} umtopfen, {day}, Töpfe mit {pot_width} Breite[, {fertiliser}][, {budget_level}].
        fr: {plants} à rempoter {day}, pots de {pot_width}[, {fertiliser}][, {budget_level}].
        es: {plants} para trasplantar {day}, macetas de {pot_width}[, {fertiliser}].
        """,
    ),
)  # fmt: skip
