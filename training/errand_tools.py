"""Tools for errands and the household that `compose_times.py` makes questions of: deliveries, repairs, logs, machines."""

from said_amounts import Tool, amount, clock, code, count, day, duration, enum, flag, hours, money, phone, reading, share, stay, word

PEOPLE = ("Femke", "Rashid", "Nora", "Elio", "Mei", "Casper", "Zofia", "Dunja", "Hugo", "Paula")

PART_OF_DAY = {
    "morning": "before lunch|in the morning / vormittags|vor dem Mittagessen / dans la matinée|le matin / por la mañana|antes de comer",
    "afternoon": "after lunch|in the afternoon / nachmittags|nach dem Mittagessen / dans l'après-midi|après le déjeuner / por la tarde|después de comer",
    "evening": "in the evening|after dinner / abends|nach Feierabend / dans la soirée|le soir / por la noche|después de cenar",
}

GARMENTS = {
    "trousers": "trousers|slacks / Hose / pantalon / pantalones",
    "skirt": "skirt / Rock / jupe / falda",
    "coat": "coat|winter coat / Mantel / manteau / abrigo",
    "dress": "dress|evening gown / Kleid / robe / vestido",
    "suit_jacket": "jacket of my suit|blazer / Sakko / veste de costume / americana",
    "curtain": "curtain|drapes / Vorhang / rideau / cortina",
}

ERRANDS: tuple[Tool, ...] = (
    Tool(
        "collect_laundry", "Send a driver who collects laundry.", "a laundry",
        {
            "day": day("Day of collection"),
            "slot": enum("Part of the day", PART_OF_DAY),
            "bags": count("Number of bags", 1, 9),
            "starch?": flag("Whether shirts are starched", "shirts starched|starch the shirts / Hemden stärken / chemises amidonnées / camisas almidonadas",
                            "no starch / keine Stärke / sans amidon / sin almidón"),
            "ring_bell?": flag("Whether the driver may ring; false if the house must stay quiet", "just ring the bell / einfach klingeln"
                               " / il peut sonner / puede llamar al timbre",
                               "please don't ring, the baby sleeps|don't ring the bell / bitte nicht klingeln / ne pas sonner / no llamar al timbre"),
            "unscented?": flag("True for detergent without perfume", "no perfume in the detergent|fragrance-free / ohne Duftstoffe / sans parfum / sin perfume",
                               "with the nice scent|perfumed detergent is fine / mit Duft / avec parfum / con perfume"),
        },
        """
        Laundry pickup {day} {slot}, number of bags: {bags}[, {starch}].
        Could your driver come {day} {slot}? Bags: {bags}[, {ring_bell}].
        The basket is overflowing. Fetch it {day} {slot}, bags: {bags}[, {unscented}][, {starch}].
        Please collect our washing {day}, {slot}, bag count {bags}[, {unscented}].
        Pickup {day} {slot}, bags {bags}[, {ring_bell}][, {starch}].
        I'm only home {slot}, so {day} then, {bags} as the number of bags[, {ring_bell}].
        de: Bitte die Wäsche {day} {slot} abholen, Anzahl Säcke: {bags}[, {starch}][, {ring_bell}].
        fr: Venez chercher le linge {day} {slot}, nombre de sacs : {bags}[, {ring_bell}].
        es: Recojan la ropa {day} {slot}, número de bolsas: {bags}[, {unscented}].
        """,
    ),
    Tool(
        "clean_garment", "Order the dry cleaning of one piece.", "a laundry",
        {
            "garment": enum("Piece to clean", GARMENTS),
            "ready": day("Day it must be ready"),
            "stain?": enum("What stained it", {"red_wine": "wine (the red sort) / Rotwein / vin rouge / vino tinto",
                                               "grease": "bike oil and butter|frying fat / Fett / graisse / grasa",
                                               "ink": "a leaking pen|ink / Tinte / encre / tinta",
                                               "grass": "grass / Gras / herbe / hierba"}),
            "price_limit?": money("Most that it may cost", ["12", "18.50", "25", "9.90"]),
        },
        """
        Dry cleaning: {garment}, needed {ready}[, stain: {stain}].
        Clean one piece for me please: {garment}. I need it {ready}[, the stain is {stain}][, not more than {price_limit}].
        One {garment} for cleaning, ready {ready}[, at most {price_limit}].
        I'm wearing it {ready} so it must be ready then: {garment}[, stained with {stain}].
        To be cleaned by you: {garment}, has to be done {ready}[, {stain} on it].
        {garment}, dry clean, {ready}[, max {price_limit}].
        de: Bitte reinigen: {garment}, fertig {ready}[, Fleck: {stain}][, höchstens {price_limit}].
        fr: À nettoyer : {garment}, prêt {ready}[, tache : {stain}].
        es: Para limpiar: {garment}, listo {ready}[, mancha: {stain}].
        """,
    ),
    Tool(
        "alter_garment", "Order an alteration of one piece of clothing.", "a tailor",
        {
            "garment": enum("Piece to alter", GARMENTS),
            "shorten_by": amount("By how much it is shortened", "cm", ["1.5", "2", "2.5", "3", "4.5", "6"], "mm", "cm"),
            "ready": day("Day it must be ready"),
            "keep_hem?": flag("Whether the original hem is kept", "keep the original hem / Originalsaum behalten / garder l'ourlet d'origine"
                              " / conservar el dobladillo original",
                              "no need to keep the original hem / Originalsaum muss nicht bleiben / sans garder l'ourlet d'origine"
                              " / sin conservar el dobladillo original"),
            "pieces?": count("Number of such pieces", 2, 4),
        },
        """
        Shorten by {shorten_by}: {garment}, ready {ready}[, {keep_hem}].
        It's too long, my {garment}. Take off {shorten_by} please, I need it {ready}[, {keep_hem}].
        Please take {shorten_by} off the {garment}, {ready}[, {keep_hem}].
        {garment}: {shorten_by} shorter, to be ready {ready}[, {pieces} of them].
        Can you take {shorten_by} off my {garment} so that I can have it {ready}[? {keep_hem}]?
        My {garment} must lose {shorten_by}. I'd fetch it {ready}[, {keep_hem}].
        de: Bitte kürzen: {garment}, um {shorten_by}, fertig {ready}[, {keep_hem}].
        fr: À raccourcir : {garment}, de {shorten_by}, prêt {ready}[, {keep_hem}].
        es: Para acortar: {garment}, {shorten_by}, listo {ready}[, {keep_hem}].
        """,
    ),
    Tool(
        "book_fitting", "Book a fitting in the shop, open 9:00 to 18:00.", "a tailor",
        {
            "customer": word("Name of the customer", *PEOPLE),
            "day": day("Day of the fitting"),
            "time": clock("Start", 9, 17, is_bare=True),
            "wedding?": flag("Whether it is for a wedding", "it's for a wedding / für eine Hochzeit / pour un mariage / para una boda",
                             "not for a wedding, by the way / nicht für eine Hochzeit / pas pour un mariage / no es para una boda"),
            "companions?": count("How many people come along", 1, 3),
        },
        """
        Fitting for {customer} {day} at {time}[, {wedding}].
        {customer} comes for a fitting {day}, {time}[, companions: {companions}].
        Could {customer} try it on {day} at {time}[? {wedding}]?
        Put {customer} down for a fitting {day} at {time}[, {wedding}].
        {customer}, fitting, {day}, {time}[, number of companions {companions}].
        Please book the fitting with {customer} {day}. {time} suits best[, {wedding}].
        de: Anprobe für {customer} {day} um {time}[, {wedding}].
        fr: Un essayage pour {customer} {day} à {time}[, {wedding}].
        es: Una prueba para {customer} {day} a {time}[, {wedding}].
        """,
    ),
    Tool(
        "rent_storage", "Rent a storage room.", "a self-storage",
        {
            "size": enum("Size of the room", {"xs": "the tiniest you have|as small as a cupboard / den kleinsten / la plus petite / el más pequeño",
                                              "m": "a medium one|a mid-sized one / einen mittleren / une moyenne / uno mediano",
                                              "xl": "the largest one|your biggest / den größten / la plus grande / el más grande"}),
            "stay": stay("first_day", "last_day", "First day", "Day on which it is empty again"),
            "heated?": flag("Whether it must be heated", "heated|with heating / beheizt / chauffée / con calefacción",
                            "doesn't need heating|unheated / unbeheizt / sans chauffage / sin calefacción"),
            "ground_floor?": flag("Whether it must be on the ground floor", "on the ground floor / im Erdgeschoss / au rez-de-chaussée / en planta baja",
                                  "any floor, doesn't have to be the ground floor / muss nicht im Erdgeschoss sein / pas forcément au rez-de-chaussée"
                                  " / no hace falta planta baja"),
        },
        """
        I need a storage room, {size}, {stay}[, {heated}].
        We're between two flats, so a room for our things {stay}, {size}[, {ground_floor}].
        Storage {stay}, {size}[, {heated}][, {ground_floor}].
        Rent me a room {stay}, please {size}[, {heated}].
        Can I store my furniture {stay}? I'd take {size}[, {ground_floor}].
        A storage room {stay}. Size: {size}[, {heated}].
        de: Einen Lagerraum {stay}, bitte {size}[, {heated}][, {ground_floor}].
        fr: Un box {stay}, {size}[, {heated}].
        es: Un trastero {stay}, {size}[, {heated}].
        """,
    ),
    Tool(
        "change_gate_code", "Change the code of the gate for one room.", "a self-storage",
        {
            "room": count("Number of the room", 11, 390),
            "new_code": code("The new code", 4),
            "valid_from?": day("First day of the new code; left out: at once"),
        },
        """
        New gate code for room {room}: {new_code}[, valid {valid_from}].
        Change the code of room {room} to {new_code} please.
        Please set {new_code} as the code for room {room}[, starting {valid_from}].
        I keep forgetting my code. Make it {new_code}, room {room}.
        Room {room}, code {new_code}[, from then on: {valid_from}].
        Could you change our gate code? Room {room}, new one is {new_code}[, but only {valid_from}].
        de: Neuer Torcode für Raum {room}: {new_code}.
        fr: Nouveau code pour le box {room} : {new_code}.
        es: Nuevo código para el trastero {room}: {new_code}.
        """,
    ),
    Tool(
        "request_callback", "Ask the office to call somebody back.", "a service desk",
        {
            "phone": phone("Number to call"),
            "day": day("Day of the call"),
            "slot": enum("Part of the day", PART_OF_DAY),
            "topic?": enum("What it is about", {"billing": "my invoice|the bill / die Rechnung / la facture / la factura",
                                                "outage": "nothing works any more|a breakdown / ein Ausfall / une panne / una avería",
                                                "moving": "we're moving house / ein Umzug / un déménagement / una mudanza"}, is_fixable=False),
            "interpreter?": flag("Whether an interpreter joins", "with an interpreter please / mit Dolmetscher / avec un interprète / con intérprete",
                                 "no interpreter needed / ohne Dolmetscher / sans interprète / sin intérprete"),
        },
        """
        Please call me back {day} {slot} on {phone}[, topic: {topic}].
        {phone} is my number, ring me {day} {slot}[, {interpreter}].
        Callback {day} {slot}, {phone}[, about this: {topic}].
        Can someone phone me {day}, ideally {slot}? {phone}[, {interpreter}].
        I'm free {day} {slot}, my number is {phone}[, it's about this: {topic}].
        Tell the office to call {phone} {day} {slot}[, {interpreter}].
        de: Bitte ruft mich {day} {slot} unter {phone} zurück[, es geht um Folgendes: {topic}].
        fr: Rappelez-moi {day} {slot} au {phone}[, sujet : {topic}].
        es: Llámenme {day} {slot} al {phone}[, tema: {topic}].
        """,
    ),
    Tool(
        "issue_promo", "Create a promotion code for the shop.", "an online shop",
        {
            "promo": word("The code, in upper case", "SPRING", "HELLO", "PUMPKIN", "LASTCALL", "FRIENDS", "MOIN"),
            "reduction": share("Reduction", ["5", "7.5", "10", "12.5", "15", "20", "25", "40"]),
            "until": day("Last day on which it works", is_limit=True),
            "minimum?": money("Smallest basket for which it works", ["20", "25", "49.90", "75", "100"]),
            "new_customers?": flag("Only for people who never bought before", "new customers only / nur für Neukunden / réservé aux nouveaux clients"
                                   " / solo clientes nuevos",
                                   "for everyone, not just new customers / nicht nur für Neukunden / pas seulement pour les nouveaux clients"
                                   " / no solo para clientes nuevos"),
            "max_uses?": count("How often it may be used in all", 20, 90),
        },
        """
        Create {promo}: {reduction} off {until}[, baskets of at least {minimum}].
        We need a promo code {promo} for {reduction} off, good {until}[, {new_customers}].
        {promo}, {reduction}, {until}[, {new_customers}][, minimum {minimum}].
        Set up {promo} please, {reduction} reduction, valid {until}[, total uses: {max_uses}].
        Marketing wants {reduction} off with the code {promo} {until}[, from {minimum} upwards].
        New code: {promo}. It gives {reduction} and runs {until}[, usable this many times: {max_uses}][, {new_customers}].
        de: Bitte den Code {promo} anlegen, {reduction} Rabatt, gültig {until}[, ab {minimum}][, {new_customers}].
        fr: Créez le code {promo}, {reduction} de remise, valable {until}[, dès {minimum}].
        es: Crea el código {promo}, {reduction} de descuento, válido {until}[, a partir de {minimum}].
        """,
    ),
    Tool(
        "refund_part", "Pay back a part of an order.", "an online shop",
        {
            "order": code("Number of the order", 6),
            "sum": money("Amount to pay back", ["3.50", "12", "19.99", "27", "64.80", "110", "8.05"]),
            "reason?": enum("Why", {"damaged": "it arrived broken|the glass was cracked / kam kaputt an / arrivé cassé / llegó roto",
                                    "late": "it came far too late / kam viel zu spät / livré beaucoup trop tard / llegó muy tarde",
                                    "missing_part": "something was not in the box / es fehlte ein Teil / il manquait une pièce / faltaba una pieza"},
                            is_fixable=False),
            "restock?": flag("Whether the goods go back on the shelf", "put it back into stock / wieder einlagern / remettre en stock / devolver al almacén",
                             "don't restock it / nicht wieder einlagern / ne pas remettre en stock / no devolver al almacén"),
        },
        """
        Refund {sum} on order {order}[, reason: {reason}].
        Order {order}: please pay back {sum}[, {restock}].
        Give the customer {sum} back, order {order}[, {reason}][, {restock}].
        {sum} back for order {order}[, because {reason}].
        Can you return {sum} of order {order}[? Reason: {reason}]?
        The lady with order {order} gets {sum} back[, {restock}].
        de: Bestellung {order}: bitte {sum} erstatten[, Grund: {reason}].
        fr: Remboursez {sum} sur la commande {order}[, raison : {reason}].
        es: Devuelve {sum} del pedido {order}[, motivo: {reason}].
        """,
    ),
    Tool(
        "order_pellets", "Order wood pellets for heating.", "a fuel merchant",
        {
            "quantity": amount("Amount of pellets", "kg", ["450", "750", "900", "1500", "2500", "3000"], "kg"),
            "day": day("Day of delivery"),
            "hose?": amount("Hose that the lorry needs to the store room", "m", ["12", "18", "25", "30"], "m"),
            "clean_store?": flag("Whether the store room is vacuumed first", "vacuum the store room first / Lager vorher aussaugen"
                                 " / aspirer le silo avant / aspirar el silo antes",
                                 "no need to vacuum the store room / Lager nicht aussaugen / sans aspirer le silo / sin aspirar el silo"),
            "pay_limit?": money("Most that it may cost", ["300", "480", "650", "1200"]),
        },
        """
        {quantity} of pellets {day} please[, {clean_store}].
        Pellets: {quantity}, {day}[, hose of {hose}].
        The boiler is nearly empty! Deliver {quantity} {day}[, {clean_store}][, at most {pay_limit}].
        I'd like {quantity} of wood pellets delivered {day}[, you'll need {hose} of hose].
        Order {quantity} pellets, delivery {day}[, {clean_store}].
        Can you bring {quantity} {day}[ for no more than {pay_limit}]?
        de: Bitte {quantity} Pellets {day} liefern[, {clean_store}][, Schlauchlänge {hose}].
        fr: Livrez {quantity} de granulés {day}[, {clean_store}].
        es: Quiero {quantity} de pellets {day}[, {clean_store}].
        """,
    ),
    Tool(
        "report_fill_level", "Report how full the fuel store is.", "a fuel merchant",
        {
            "level": share("Fill level", ["5", "15", "20", "35", "50", "62.5", "80"]),
            "day": day("Day of the reading", is_past=True),
            "estimated?": flag("True if the value is a guess, false if it was measured", "that's only a guess|just estimated / geschätzt / estimé / a ojo",
                               "measured, not guessed / gemessen, nicht geschätzt / mesuré / medido"),
        },
        """
        The store was at {level} {day}[, {estimated}].
        Fill level {day}: {level}[, {estimated}].
        I looked {day} and it was {level} full[, {estimated}].
        Report {level} for the pellets, read {day}[, {estimated}].
        {day} the tank stood at {level}[, {estimated}].
        Please note {level} as the level, that was {day}[, {estimated}].
        de: Füllstand {day}: {level}[, {estimated}].
        fr: Le silo était à {level} {day}[, {estimated}].
        es: El depósito estaba al {level} {day}[, {estimated}].
        """,
    ),
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
        Could the tuner come {day} {slot}? We have {instrument}[, years since the last tuning: {years_untuned}].
        We need {instrument} tuned {day} {slot}[, {repair}].
        Tuner please, {instrument}, {day}, {slot}[, untuned for this many years: {years_untuned}].
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
            "flues": count("Number of flues", 1, 4),
            "roof_ladder?": flag("Whether the sweep must bring a ladder", "bring a ladder please|there's no ladder here / bitte Leiter mitbringen"
                                 " / apportez une échelle / traigan escalera",
                                 "we have a ladder|no need to bring a ladder / Leiter ist da / il y a une échelle ici / tenemos escalera"),
            "camera?": flag("Inspect by camera", "with a camera check / mit Kamera / avec caméra / con cámara",
                            "no camera / ohne Kamera / sans caméra / sin cámara"),
        },
        """
        Chimney sweep {day} at {time}, flues: {flues}[, {roof_ladder}].
        Could the sweep come {day} at {time}? Number of flues {flues}[, {camera}].
        Sweep the chimney {day}, {time}, flue count {flues}[, {roof_ladder}][, {camera}].
        We lit the stove and the room was black. {day} at {time} please, flues: {flues}[, {camera}].
        Send the sweep {day} at {time}, {flues} as the number of flues[, {roof_ladder}].
        Chimney, {day}, {time}, flues {flues}.
        de: Schornsteinfeger {day} um {time}, Züge: {flues}[, {roof_ladder}][, {camera}].
        fr: Le ramoneur {day} à {time}, conduits : {flues}[, {roof_ladder}].
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
        Can we press {fruit} {day} at {time}[? {pasteurise}]?
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
            "occasion": enum("Why they are given", {"birthday": "somebody's special day, she turns 60|a birthday / Geburtstag / anniversaire / cumpleaños",
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
            "copies": count("Number of copies", 2, 8, dozens=True),
            "pickup?": day("Day on which they are fetched"),
            "deposit?": money("Deposit that was paid", ["5", "10", "7.50"]),
            "engrave?": flag("Whether the code is engraved on the copies", "engrave the code|with engraving / mit Gravur / avec gravure / con grabado",
                             "no engraving / ohne Gravur / sans gravure / sin grabado"),
        },
        """
        Copies of key {key_code}: {copies}[, {engrave}].
        Key {key_code}, number of copies {copies}[, I'd fetch them {pickup}].
        Please cut key {key_code}, copies: {copies}[, {engrave}][, pickup {pickup}].
        I lost my keys again, code is {key_code}, how many I need: {copies}[, {engrave}].
        Order copies, quantity {copies}, key code {key_code}[, deposit paid: {deposit}].
        Could you copy {key_code}? Quantity: {copies}[, picking them up {pickup}].
        de: Schlüssel {key_code} nachmachen, Anzahl: {copies}[, {engrave}].
        fr: Clé {key_code}, nombre de copies : {copies}[, {engrave}].
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
        Can {member} have the laser cutter {day} {hours}[? {supervisor}]?
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
        Cook {programme} for {length}[, portions: {portions}].
        Slow cooker: {programme}, {length}[, starting at {start}].
        Please make {programme}, {length} should be enough[, {keep_warm}].
        Start the cooker[ at {start}] with {programme} for {length}[, {keep_warm}].
        I put {programme} in the pot, let it run {length}[, {keep_warm}][, number of portions {portions}].
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
        Wake-up light, {time}[, {day} only][, {brightness} bright].
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
)  # fmt: skip
