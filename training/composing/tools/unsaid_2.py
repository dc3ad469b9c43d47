"""Tools that `omissions.py` asks for with and without a value: dyeing, rents, a front desk, counters, tolls, games."""

# ruff: noqa: E501 (a sentence is one line)

from composing.said.asked_for import Field, Job, choice, clock, code, day, flag, month, number, several, text

DYEING = Field(
    "dyeing",
    (
        Job(
            "dye.scale_bath",
            "Scale a dye bath from the amount of fibre that it was written for to another.",
            {
                "dye_g": number(
                    "Dye in the recipe, in g",
                    [6, 9, 14, 22],
                    "How much dye does the recipe take, in g?|How many grams of dye are in the recipe? / de: Wie viel Gramm Farbstoff stehen im Rezept?|Wie viel Farbstoff nimmt das Rezept, in g?",
                ),
                "for_fibre_g": number(
                    "Fibre that the recipe is written for, in g",
                    [100, 150, 200, 250],
                    "For how much fibre is the recipe written, in g?|How many grams of fibre are the {dye_g} g of dye meant for? / de: Für wie viel Gramm Faser ist das Rezept gedacht?|Auf wie viel g Faser bezieht sich das Rezept?",
                ),
                "to_fibre_g": number(
                    "Fibre to dye, in g",
                    [320, 480, 650, 900],
                    "How much fibre do you want to dye, in g?|To how many grams of fibre should I scale it? / de: Wie viel Faser willst du färben, in g?|Auf wie viel Gramm Faser soll ich umrechnen?",
                ),
                "mordant_percent?": number("Alum in percent of the fibre", [8, 12, 15], default=10),
            },
            """
        My indigo recipe takes {dye_g} g of dye[ for {for_fibre_g} g of wool]. Scale it to {to_fibre_g} g[, with {mordant_percent} percent alum].
        Scale the bath: [{dye_g} g|a bit] of dye for {for_fibre_g} g of fibre, I have {to_fibre_g} g.
        I want to dye {to_fibre_g} g of yarn. The recipe says {dye_g} g of dye[ per {for_fibre_g} g of yarn][, and I use {mordant_percent} percent alum].
        The recipe has {dye_g} g of madder for {for_fibre_g} g of silk[. I have {to_fibre_g} g, please scale it.| and I have more than that. Please scale it.]
        How much dye do I need for {to_fibre_g} g of cotton, if the recipe uses {dye_g} g[ on {for_fibre_g} g]?
        de: Das Rezept nimmt {dye_g} g Krapp[ auf {for_fibre_g} g Wolle]. Rechne es auf {to_fibre_g} g Wolle um.
        de: Färbebad mit {dye_g} g auf {for_fibre_g} g Faser[, jetzt für {to_fibre_g} g| größer machen, bitte].
        """,
        ),
        Job(
            "dye.book_vat",
            "Reserve a vat in the dye kitchen for one day.",
            {
                "vat": choice(
                    "Vat",
                    {
                        "indigo": "indigo vat / fr: cuve d'indigo",
                        "madder": "madder vat / fr: cuve de garance",
                        "walnut": "walnut vat / fr: cuve de noyer",
                    },
                    "Which vat: indigo, madder or walnut?|Do you want the indigo, the madder or the walnut vat? / fr: Quelle cuve : indigo, garance ou noyer ?|Voulez-vous la cuve d'indigo, de garance ou de noyer ?",
                ),
                "date": day(
                    "Day", "For which day?|On which date would you like the vat? / fr: Pour quel jour ?|À quelle date ?"
                ),
                "name": text(
                    "Who dyes",
                    ["Ottilie", "Marguerite", "Bjarne", "Sunniva"],
                    "In whose name?|Who is it for? / fr: À quel nom ?|Pour qui est-ce ?",
                ),
                "litres?": number("Filling in litres", [15, 25, 30], default=20),
            },
            """
        Reserve the {vat} for {name}[ on {date}][, filled with {litres} litres].
        {name} would like [the {vat}|a vat] on {date}[, {litres} litres].
        Put {name} down for the {vat}[ on {date}].
        The {vat} on {date}[ for {name}], please[, {litres} litres].
        Book [the {vat}|one of the vats][ on {date}] for {name}.
        fr: Réservez la {vat} pour {name}[, le {date}][, avec {litres} litres].
        fr: {name} voudrait [la {vat}|une cuve] le {date}.
        """,
            """
        Two vats for {name}: the {vat:1} on {date:1} and the {vat:2} [on {date:2}|some days after that]. >> On which day would {name} like the {vat:2}? Then I reserve both. | Which date should I take for the {vat:2}? I'll book the two vats then.
        fr: Pour {name} : la {vat:1} le {date:1} et la {vat:2} [le {date:2}|un autre jour]. >> Quel jour faut-il la {vat:2} ? Je réserverai ensuite les deux. | À quelle date dois-je réserver la {vat:2} ? Ensuite je réserve les deux cuves.
        """,
        ),
    ),
)

RENTS = Field(
    "rentoffice",
    (
        Job(
            "indexRent",
            "Compute a rent after an increase by a percentage.",
            {
                "currentRent": number(
                    "Rent now, in euros a month",
                    [540, 685, 820, 1150],
                    "How much is the rent now, in euros a month?|What is the current rent? / de: Wie hoch ist die Miete jetzt, in Euro im Monat?|Wie viel Miete wird jetzt gezahlt?",
                ),
                "percent": number(
                    "Increase in percent",
                    [1.9, 3.5, 4, 6],
                    "By how many percent does it rise?|How big is the increase, in percent? / de: Um wie viel Prozent steigt sie?|Wie hoch ist die Erhöhung in Prozent?",
                ),
                "roundUp?": flag(
                    "Round up to whole euros",
                    "rounded up to whole euros|round it up to full euros / de: auf ganze Euro aufgerundet",
                ),
            },
            """
        What is the rent after an increase of {percent} percent[ if it is {currentRent} euros now][, {roundUp}]?
        The rent[ of {currentRent} euros] goes up[ by {percent} percent]. What is it then?
        Add {percent} percent to [a rent of {currentRent} euros|the rent], please[, {roundUp}].
        Our rent is {currentRent} euros and will be raised[ by {percent} percent]. How much is the new rent[, {roundUp}]?
        How much will I pay when the landlord raises the rent[ from {currentRent} euros] by {percent} percent?
        de: Die Miete[ von {currentRent} Euro] steigt um {percent} Prozent. Wie hoch ist sie dann[, {roundUp}]?
        de: Wie hoch ist die neue Miete, wenn wir {currentRent} Euro zahlen und sie[ um {percent} Prozent] steigt?
        """,
            """
        Two rents go up: {currentRent:1} euros by {percent:1} percent, and {currentRent:2} euros [by {percent:2} percent|by a bit less]. What are they then? >> By how many percent does the rent of {currentRent:2} euros rise? Then I compute both. | How big is the increase for {currentRent:2} euros, in percent? I'll work out both then.
        """,
        ),
        Job(
            "storeMeterReading",
            "Store a meter reading of a flat.",
            {
                "flat": code(
                    "Number of the flat, as 3.4",
                    "#.#",
                    "For which flat is the reading?|Which flat is it, as on the door (for example 2.4)? / es: ¿De qué piso es la lectura?|¿Cuál es el número del piso?",
                ),
                "kind": choice(
                    "Kind of meter",
                    {
                        "cold_water": "cold water / es: agua fría",
                        "hot_water": "hot water / es: agua caliente",
                        "heat": "heat / es: calefacción",
                    },
                    "Which meter is it: cold water, hot water or heat?|Is that the reading for cold water, hot water or heat? / es: ¿Qué contador es: agua fría, agua caliente o calefacción?|¿Es la lectura de agua fría, agua caliente o calefacción?",
                ),
                "reading": number(
                    "What the meter shows",
                    [1184, 2075, 3396, 4412],
                    "What does the meter show?|What is the reading? / es: ¿Qué marca el contador?|¿Cuál es la lectura?",
                ),
                "readOn": day(
                    "Day of the reading",
                    "On which day was it read?|What is the date of the reading? / es: ¿Qué día se hizo la lectura?|¿De qué fecha es la lectura?",
                ),
            },
            """
        In flat {flat}, the[ {kind}] meter shows {reading}, read on {readOn}.
        Store the reading {reading}[ for the {kind} meter] of [flat {flat}|my flat], read on {readOn}.
        The {kind} meter in flat {flat} shows {reading}[, read on {readOn}].
        Meter reading for flat {flat}: {kind}[ {reading}], date {readOn}.
        On {readOn} the {kind} meter[ of flat {flat}] was at {reading}, please save it.
        es: Piso {flat}: el contador[ de {kind}] marca {reading}, leído el {readOn}.
        es: Guarda la lectura {reading} de {kind}[ del piso {flat}][, fecha {readOn}].
        """,
            """
        Two readings for flat {flat} from {readOn}: {kind:1} {reading:1} and {kind:2} [{reading:2}|too]. >> What does the meter for {kind:2} show? Then I store both. | What is the reading for {kind:2}? I save both readings as soon as I have it.
        """,
        ),
        Job(
            "giveKeys",
            "Note that keys were handed to somebody.",
            {
                "person": text(
                    "Who gets the keys",
                    ["Ilka Brandt", "Tomas Reuter", "Noor Haddad", "Peer Lund"],
                    "Who gets the keys?|To whom are the keys handed? / fr: À qui remet-on les clés ?|Qui reçoit les clés ?",
                ),
                "door": choice(
                    "What they open",
                    {
                        "cellar": "cellar / fr: cave",
                        "bike_room": "bike room / fr: local à vélos",
                        "roof": "roof terrace / fr: terrasse",
                        "laundry": "laundry room / fr: buanderie",
                    },
                    "Which door are the keys for: cellar, bike room, roof or laundry?|What do the keys open: cellar, bike room, roof or laundry? / fr: Pour quelle porte : cave, local à vélos, terrasse ou buanderie ?|Qu'ouvrent les clés : cave, local à vélos, terrasse ou buanderie ?",
                ),
                "count": number(
                    "How many keys",
                    [2, 3, 4],
                    "How many keys?|How many keys does {person} get? / fr: Combien de clés ?|Combien de clés faut-il noter ?",
                ),
                "deposit?": number("Deposit in euros", [20, 30, 50]),
            },
            """
        {person} gets {count} keys[ for the {door}][, deposit {deposit} euros].
        I handed out {count} keys to the {door}[, to {person}]. Please note it[, with {deposit} euros deposit].
        Note for {person}: [{count} keys|keys] to the {door}.
        {count} keys for the {door} went to [{person}|the new tenant][, {deposit} euros deposit].
        Please write down that {person} has [{count} keys|keys now][ for the {door}].
        fr: Note que {person} a reçu {count} clés[, porte : {door}].
        """,
            """
        Keys to the {door}: {count:1} for {person:1} and [{count:2}|some] for {person:2}. >> How many keys does {person:2} get? Then I note both. | How many keys for {person:2}? I enter the two together then.
        {person:1} gets {count} keys for the {door:1}, and {person:2} gets {count} [for the {door:2}|too, for another door]. >> Which door are the keys of {person:2} for? Then I note both. | What do the keys for {person:2} open? I'll write down both then.
        """,
        ),
    ),
)

STAFF = ["Benedikt", "Ludmila", "Rosalind", "Gaspard", "Ximena"]

FRONT_DESK = Field(
    "frontdesk",
    (
        Job(
            "beep_person",
            "Send a short text to the pager of somebody in the house.",
            {
                "to": text(
                    "First name",
                    STAFF,
                    "Who should get the message?|To whom should I send that? / es: ¿A quién se lo mando?|¿Quién debe recibir el mensaje?",
                ),
                "text": text(
                    "The text, up to 60 characters",
                    [
                        "visitor is waiting / es: la visita espera",
                        "please call back / es: llama, por favor",
                        "taxi is here / es: ha llegado el taxi",
                        "room 5 is free / es: la sala 5 está libre",
                    ],
                    "What should the message say?|Which text should I send to {to}? / es: ¿Qué digo en el mensaje?|¿Qué texto le mando?",
                ),
                "urgent?": flag("Beep three times", "urgent|it's urgent / es: es urgente"),
            },
            """
        Page [{to}|her]: "{text}"[, {urgent}].
        Send a page to {to}[ saying "{text}"][, {urgent}].
        Can you page [{to}|the guy from yesterday] with "{text}"?
        Let [{to}|my colleague] know by pager: "{text}".
        Please send {to} a pager message[: "{text}"][, {urgent}].
        es: Manda [a {to}|al de siempre] este aviso: "{text}"[, {urgent}].
        es: Avisa a {to} por el busca[: "{text}"].
        """,
            """
        Two pages: "{text:1}" to {to:1} and [to {to:2}|to the other one]: "{text:2}". >> Who should get "{text:2}"? Then I send both. | To whom goes "{text:2}"? I'll send the two pages then.
        Page {to:1} with "{text:1}" and {to:2} [with "{text:2}"|with something similar]. >> What should the page to {to:2} say? Then I send both. | Which text should {to:2} get? I send both after that.
        """,
        ),
        Job(
            "hand_over_item",
            "Note that an item at the desk is to be given to somebody.",
            {
                "item": choice(
                    "What lies at the desk",
                    {
                        "envelope": "envelope / de: Umschlag",
                        "parcel": "parcel / de: Paket",
                        "badge": "badge / de: Ausweis",
                        "umbrella": "umbrella / de: Schirm",
                    },
                    "What should be handed over: an envelope, a parcel, a badge or an umbrella?|Which item is it: envelope, parcel, badge or umbrella? / de: Was soll übergeben werden: Umschlag, Paket, Ausweis oder Schirm?|Um was geht es: Umschlag, Paket, Ausweis oder Schirm?",
                ),
                "recipient": text(
                    "Who fetches it",
                    STAFF,
                    "Who is the {item} for?|Who will fetch it? / de: Für wen ist das?|Wer holt es ab?",
                ),
                "until": day(
                    "Last day that it is kept",
                    "Until which day should we keep it?|What is the last day for fetching it? / de: Bis zu welchem Tag sollen wir es aufheben?|Bis wann wird es abgeholt?",
                ),
            },
            """
        The {item} stays at the desk[ for {recipient}], keep it until {until}.
        Please keep [the {item}|this] for {recipient}[ until {until}].
        {recipient} will fetch [the {item}|something][ by {until}].
        Hold the {item}[ for {recipient}] at the desk until {until}.
        One {item} for [{recipient}|the courier's usual contact], to be kept until {until}.
        de: Am Empfang liegt etwas für {recipient}[: {item}], bitte bis {until} aufheben.
        de: Bitte aufheben[ für {recipient}]: {item}[, bis {until}].
        """,
            """
        Keep two things until {until}: the {item:1} for {recipient:1} and the {item:2} [for {recipient:2}|for somebody else]. >> Who is the {item:2} for? Then I note both. | Who will fetch the {item:2}? I enter both once I know.
        The {item:1} for {recipient:1} stays until {until:1}, the {item:2} for {recipient:2} [until {until:2}|a little longer]. >> Until which day should we keep the {item:2}? Then I note both. | What is the last day for the {item:2}? I'll write down both then.
        """,
        ),
        Job(
            "visitor_announce",
            "Announce a visitor, so that a badge is printed.",
            {
                "visitor": text(
                    "Full name",
                    ["Amalia Sorge", "Ruben Castell", "Inge Moors", "Paolo Brun"],
                    "What is the name of the visitor?|Who is coming? / fr: Quel est le nom du visiteur ?|Qui vient ?",
                ),
                "host": text(
                    "First name of who is visited",
                    STAFF,
                    "Whom does {visitor} visit?|Who is the host? / fr: À qui rend-on visite ?|Qui reçoit cette personne ?",
                ),
                "date": day(
                    "Day of the visit",
                    "On which day?|For which date should I announce {visitor}? / fr: Quel jour ?|Pour quelle date ?",
                ),
                "time": clock(
                    "Arrival",
                    "At what time?|When does {visitor} arrive? / fr: À quelle heure ?|À quelle heure est l'arrivée ?",
                    (8, 17),
                ),
                "parking?": flag(
                    "Reserve a parking space",
                    "with a parking space|needs a parking space / fr: avec une place de parking",
                ),
            },
            """
        {visitor} visits {host}[ on {date}] at {time}[, {parking}].
        Announce {visitor} for {date}[ at {time}], host is {host}.
        Please print a badge for {visitor}, who comes[ to see {host}] on {date} at {time}.
        On {date}[ at {time}], {host} expects [{visitor}|a guest][, {parking}].
        We're expecting {visitor}[ on {date}], arriving at {time}; [the host is {host}|please have the badge ready].
        fr: {visitor} vient voir {host}[ le {date}][ à {time}][, {parking}].
        """,
            """
        Announce two guests of {host} for {date}: {visitor:1} at {time:1} and {visitor:2} [at {time:2}|later in the day]. >> At what time does {visitor:2} arrive? Then I announce both. | When does {visitor:2} come? I'll announce the two then.
        fr: {host} attend deux personnes le {date} : {visitor:1} à {time:1} et {visitor:2} [à {time:2}|un peu plus tard]. >> À quelle heure arrive {visitor:2} ? J'annoncerai ensuite les deux. | Quand arrive {visitor:2} ? J'annonce les deux ensuite.
        """,
        ),
    ),
)

COUNTERS = Field(
    "trafficcounters",
    (
        Job(
            "counts.total",
            "Count what passed a counter in a period.",
            {
                "counter": code(
                    "Number of the counter",
                    "TC-##",
                    "Which counter do you mean?|What is the number of the counter? / de: Welche Zählstelle meinst du?|Wie lautet die Nummer der Zählstelle?",
                ),
                "kind": choice(
                    "What is counted",
                    {
                        "bikes": "bikes / de: Fahrräder",
                        "cars": "cars / de: Autos",
                        "lorries": "lorries / de: Lastwagen",
                        "pedestrians": "pedestrians / de: Fußgänger",
                    },
                    "What should be counted: bikes, cars, lorries or pedestrians?|Which kind: bikes, cars, lorries or pedestrians? / de: Was soll gezählt werden: Fahrräder, Autos, Lastwagen oder Fußgänger?|Welche Art: Fahrräder, Autos, Lastwagen oder Fußgänger?",
                ),
                "from_date": day(
                    "First day",
                    "From which day on?|What is the first day? / de: Ab welchem Tag?|Was ist der erste Tag?",
                ),
                "to_date": day(
                    "Last day",
                    "Up to which day?|What is the last day? / de: Bis zu welchem Tag?|Was ist der letzte Tag?",
                    after="from_date",
                    most=60,
                ),
                "direction?": choice(
                    "Direction; both if not given",
                    {"inbound": "into town / de: stadteinwärts", "outbound": "out of town / de: stadtauswärts"},
                ),
            },
            """
        How many {kind} passed {counter}[ from {from_date} to {to_date}][, {direction} only]?
        Count {kind} at [{counter}|the bridge] between {from_date} and {to_date}.
        Total of {kind} at {counter} from {from_date}[ to {to_date}], please.
        I need the number[ of {kind}] at {counter}, {from_date} to {to_date}[, only {direction}].
        What was the total[ of {kind}] at {counter} from {from_date} to {to_date}?
        Give me the {kind} at {counter}[ for {from_date} to {to_date}].
        de: Wie viele {kind} zählte {counter}[ vom {from_date} bis zum {to_date}][, nur {direction}]?
        de: Zähle {kind}[ an {counter}], {from_date} bis {to_date}.
        """,
            """
        Compare {kind} from {from_date} to {to_date} at {counter:1} and at [{counter:2}|the one across the river]. >> Which is the second counter? Please give me its number, then I count at both. | What is the number of the other counter? I'll count at both then.
        de: {kind} vom {from_date} bis zum {to_date} an {counter:1} und an [{counter:2}|der Stelle daneben], bitte. >> Welche Nummer hat die zweite Zählstelle? Dann zähle ich an beiden. | Wie lautet die Nummer der anderen Zählstelle? Danach frage ich beide ab.
        """,
            asks={
                "from_date+to_date": "For which period? I need the first and the last day.|From which day to which day? / de: Für welchen Zeitraum? Ich brauche den ersten und den letzten Tag.|Von wann bis wann?"
            },
        ),
        Job(
            "counts.peak_hour",
            "Find the busiest hour of a counter on one day.",
            {
                "counter": code(
                    "Number of the counter",
                    "TC-##",
                    "Which counter do you mean?|What is the number of the counter? / fr: Quel compteur ?|Quel est le numéro du compteur ?",
                ),
                "date": day("Day", "For which day?|On which date? / fr: Pour quel jour ?|À quelle date ?"),
            },
            """
        When was the busiest hour at {counter}[ on {date}]?
        Peak hour at [{counter}|the school] on {date}, please.
        Which hour was the busiest at {counter}[ on {date}]?
        At {counter}, when was it busiest[ on {date}]?
        Find me the peak at [{counter}|that junction] for {date}.
        fr: Quelle a été l'heure de pointe à {counter}[ le {date}] ?
        """,
        ),
        Job(
            "counts.swap_sensor",
            "Plan the exchange of the sensor of a counter.",
            {
                "counter": code(
                    "Number of the counter",
                    "TC-##",
                    "At which counter should the sensor be changed?|What is the number of the counter? / es: ¿En qué contador?|¿Cuál es el número del contador?",
                ),
                "sensor": choice(
                    "New sensor",
                    {"loop": "loop / es: bucle", "radar": "radar / es: radar", "camera": "camera / es: cámara"},
                    "Which sensor should it get: loop, radar or camera?|What kind of sensor: loop, radar or camera? / es: ¿Qué sensor: bucle, radar o cámara?|¿Qué tipo de sensor: bucle, radar o cámara?",
                ),
                "date": day(
                    "Day of the work",
                    "On which day?|When should the work be done? / es: ¿Qué día?|¿Para qué fecha lo planifico?",
                ),
                "night?": flag("Work at night", "at night, please|as night work / es: de noche"),
            },
            """
        Change the sensor at {counter}[ to a {sensor}] on {date}[, {night}].
        {counter} gets a new {sensor}[ on {date}][, {night}].
        Plan a new sensor for {counter}[: {sensor}][, on {date}].
        The sensor at [{counter}|the roundabout] is broken, put in a {sensor} on {date}.
        Please have the {sensor} fitted at [{counter}|the counter near the school][ on {date}].
        es: Cambia el sensor de {counter}[ por: {sensor}][, el {date}][, {night}].
        """,
            """
        New sensors on {date}: a {sensor:1} at {counter:1} and [a {sensor:2}|a different one] at {counter:2}. >> Which sensor should {counter:2} get: loop, radar or camera? Then I plan both. | What kind of sensor is {counter:2} to get? I'll plan the two then.
        """,
        ),
    ),
)

PLATES = ["KÖ-RT 218", "1-WDF-604", "GH-482-PL", "W 73915 T", "ZG 40812"]
VEHICLES = {
    "motorcycle": "motorcycle / de: Motorrad / es: moto",
    "car": "car / de: Pkw / es: turismo",
    "camper": "camper / de: Wohnmobil / es: autocaravana",
    "lorry": "lorry / de: Lkw / es: camión",
}

TOLLS = Field(
    "tollroad",
    (
        Job(
            "BuyVignette",
            "Buy a vignette for a vehicle.",
            {
                "plate": text(
                    "Number plate",
                    PLATES,
                    "What is the number plate?|Which plate is the vignette for? / de: Wie lautet das Kennzeichen?|Für welches Kennzeichen?",
                ),
                "vehicle_class": choice(
                    "Class",
                    VEHICLES,
                    "What is the vehicle: motorcycle, car, camper or lorry?|Which class does {plate} have: motorcycle, car, camper or lorry? / de: Welche Fahrzeugklasse: Motorrad, Pkw, Wohnmobil oder Lkw?|Was für ein Fahrzeug ist es: Motorrad, Pkw, Wohnmobil oder Lkw?",
                ),
                "days": choice(
                    "How long it holds, in days",
                    {
                        "1": "one day / de: einen Tag",
                        "10": "ten days / de: zehn Tage",
                        "60": "sixty days / de: sechzig Tage",
                    },
                    "For how long: 1, 10 or 60 days?|How long should it hold: one day, ten days or sixty days? / de: Für wie lange: 1, 10 oder 60 Tage?|Wie lange soll sie gelten: einen, zehn oder sechzig Tage?",
                ),
                "start": day(
                    "First day",
                    "From which day should it hold?|What is the first day? / de: Ab welchem Tag soll sie gelten?|Was ist der erste Tag?",
                ),
            },
            """
        Buy a vignette for {plate}[, a {vehicle_class}], {days} from {start}.
        I need a vignette for my {vehicle_class}[ {plate}], valid for {days} from {start}.
        Vignette for the {vehicle_class} {plate}[, {days}], starting {start}.
        {plate} ({vehicle_class}) needs a vignette for {days}[ from {start}].
        Get [{plate}|my new ride], a {vehicle_class}, a vignette for {days}[, starting on {start}].
        de: Eine Vignette für {plate}[ ({vehicle_class})], für {days} ab {start}.
        de: Bitte eine Vignette[ für {days}] ab {start}, {vehicle_class} {plate}.
        """,
            """
        Two vignettes from {start} for {days}: {plate:1}, a {vehicle_class:1}, and {plate:2}[, a {vehicle_class:2}|, which is something else]. >> What is {plate:2}: motorcycle, car, camper or lorry? Then I buy both vignettes. | Which class does {plate:2} have? I'll buy the two then.
        A vignette for the {vehicle_class} {plate:1} for {days:1} and one for the {vehicle_class} {plate:2} [for {days:2}|for another length of time], both from {start}. >> For how long should the one for {plate:2} hold: 1, 10 or 60 days? Then I buy both. | How many days for {plate:2}: 1, 10 or 60? I buy both once I know.
        """,
        ),
        Job(
            "ListPassages",
            "List the toll gates that a vehicle passed in a month.",
            {
                "plate": text(
                    "Number plate",
                    PLATES,
                    "Which number plate?|What is the plate of the vehicle? / es: ¿Qué matrícula?|¿Cuál es la matrícula?",
                ),
                "month": month(
                    "Month", "For which month?|Which month do you mean? / es: ¿De qué mes?|¿Qué mes quieres ver?"
                ),
                "gate?": choice(
                    "Only this gate",
                    {"east": "east gate / es: puerta este", "tunnel": "tunnel gate / es: puerta del túnel"},
                ),
            },
            """
        Which gates did {plate} pass[ in {month}][, {gate} only]?
        Passages of [{plate}|our van] in {month}, please.
        Show me the toll passages of {plate}[ for {month}].
        List what {plate} passed[ in {month}][, just the {gate}].
        I want to check the tolls of [{plate}|the second car] in {month}.
        es: ¿Por qué peajes pasó {plate}[ en {month}]?
        """,
            """
        Show me the passages of {plate:1} and of [{plate:2}|the other car], {month} both. >> What is the number plate of the other car? Then I list both. | Which plate does the second car have? I'll list the passages of both then.
        """,
        ),
        Job(
            "DisputeToll",
            "Object to a toll that was charged.",
            {
                "charge": code(
                    "Number of the charge",
                    "TL######",
                    "Which charge is it? Please give me its number.|What is the number of the charge? / fr: Quel est le numéro du péage contesté ?|De quel montant s'agit-il ? Il me faut son numéro.",
                ),
                "reason": choice(
                    "Reason",
                    {
                        "wrong_class": "wrong class / fr: mauvaise classe",
                        "paid_twice": "paid twice / fr: payé deux fois",
                        "not_my_car": "not my car / fr: pas ma voiture",
                    },
                    "What is the reason: wrong class, paid twice or not your car?|Why do you object: wrong class, paid twice, or not your car? / fr: Pour quel motif : mauvaise classe, payé deux fois ou pas votre voiture ?|Quelle est la raison : mauvaise classe, payé deux fois ou pas votre voiture ?",
                ),
            },
            """
        I object to the toll {charge}[, reason: {reason}].
        [{charge} is wrong|A toll on my bill is wrong]: {reason}. Please object.
        Dispute {charge}[: {reason}].
        Please contest [the charge {charge}|that charge], {reason}.
        File an objection to {charge}[ ({reason})].
        fr: Je conteste le péage {charge}[, motif : {reason}].
        """,
            """
        Dispute two charges: {charge:1}, {reason:1}, and {charge:2}[, {reason:2}| for another reason]. >> What is the reason for {charge:2}: wrong class, paid twice or not your car? Then I object to both. | Why do you object to {charge:2}? I'll file both objections then.
        """,
        ),
    ),
)

PLAYERS = ["Ada", "Bruno", "Cleo", "Dario", "Edda", "Finn", "Greta"]

GAME_NIGHT = Field(
    "gamenight",
    (
        Job(
            "draw_teams",
            "Divide players into teams by chance.",
            {
                "players": several(
                    "Names of the players",
                    PLAYERS,
                    "Who plays? Please give me the names.|What are the names of the players? / de: Wer spielt mit? Ich brauche die Namen.|Wie heißen die Mitspieler?",
                    (4, 5, 6),
                ),
                "teams": number(
                    "Number of teams",
                    [2, 3],
                    "How many teams should there be?|Into how many teams should I divide them? / de: Wie viele Teams sollen es sein?|In wie viele Teams soll ich sie aufteilen?",
                ),
            },
            """
        Draw {teams} teams[ from {players}].
        Divide [{players}|us] into {teams} teams.
        Put {players} into [{teams} teams|teams], please.
        We want {teams} teams by chance[: {players}].
        {players} want to play in teams[, {teams} of them]. Please draw them.
        de: Teile [{players}|uns] in {teams} Teams ein.
        de: Lose Teams aus: {players}[, {teams} Teams].
        """,
        ),
        Job(
            "pick_one",
            "Pick one of several things by chance.",
            {
                "items": several(
                    "What to pick from",
                    ["Azul", "Skull King", "Carcassonne", "Hanabi", "Dixit", "Codenames"],
                    "What should I pick from? Please list the options.|Which options are there? / es: ¿Entre qué opciones elijo?|¿Qué opciones hay?",
                ),
                "exclude_last?": flag(
                    "Do not pick what was picked last time",
                    "but not the one from last time|not what came out last time / es: pero no lo de la última vez",
                ),
            },
            """
        Pick one of [{items}|our games][, {exclude_last}].
        We can't decide[ between {items}]. Choose one by chance[, {exclude_last}].
        Which game tonight[: {items}]? Pick one at random.
        Draw one at random[ from {items}][, {exclude_last}].
        Please pick a game for us[ out of {items}].
        es: Elige uno al azar[ entre {items}][, {exclude_last}].
        """,
        ),
        Job(
            "table_reserve",
            "Reserve a games table.",
            {
                "date": day("Evening", "For which evening?|On which date? / fr: Pour quel soir ?|À quelle date ?"),
                "players": number(
                    "Number of players",
                    [3, 4, 5, 6, 7],
                    "How many players are you?|For how many people? / fr: Combien de joueurs ?|Pour combien de personnes ?",
                ),
                "game": choice(
                    "What is played, for the right table",
                    {
                        "cards": "cards / fr: cartes",
                        "board": "board games / fr: jeux de société",
                        "miniatures": "miniatures / fr: figurines",
                    },
                    "What will you play: cards, board games or miniatures?|Which kind of table: cards, board games or miniatures? / fr: À quoi jouez-vous : cartes, jeux de société ou figurines ?|Quelle table : cartes, jeux de société ou figurines ?",
                ),
                "quiet?": flag("In the quiet room", "in the quiet room / fr: dans la salle calme"),
            },
            """
        A table for {players}[ on {date}], we play {game}[, {quiet}].
        Reserve a games table[ on {date}] for [{players} people|our group], {game}.
        We are {players} and want to play[ {game}] on {date}[, {quiet}].
        Games table, {date}, [{players} players, |]{game}.
        Can we have a table[ for {game}] on {date}? There are [{players}|a few] of us.
        fr: Une table pour {players} joueurs[ le {date}][, {game}][, {quiet}].
        """,
            """
        Two tables for {game}: {date:1} for {players:1} people and {date:2} [for {players:2}|with a few more of us]. >> For how many people should the table on {date:2} be? Then I reserve both. | How many players are you on {date:2}? I'll book both evenings then.
        We play {game} twice with {players} people, on {date:1} and [on {date:2}|the week after, I still have to ask which evening]. >> On which day is the second evening? Then I reserve both tables. | Which date should the second evening be? I'll reserve the two tables then.
        """,
        ),
    ),
)

FIELDS_2 = (DYEING, RENTS, FRONT_DESK, COUNTERS, TOLLS, GAME_NIGHT)
