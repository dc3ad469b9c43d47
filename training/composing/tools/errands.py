"""Tools for errands that `times.py` makes questions of: laundry, tailor, storage, shop, fuel."""

# ruff: noqa: E501 (a sentence is one line)

from composing.said.amounts import amount, code, count, enum, flag, money, phone, share, word
from composing.said.moments import clock, day, stay
from composing.said.slots import Tool

PEOPLE = ("Femke", "Rashid", "Nora", "Elio", "Mei", "Casper", "Zofia", "Dunja", "Hugo", "Paula")

PART_OF_DAY = {
    "morning": "before lunch|in the morning / vormittags|vor dem Mittagessen / dans la matinée|en matinée / por la mañana|antes de comer",
    "afternoon": "after lunch|in the afternoon / nachmittags|nach dem Mittagessen / dans l'après-midi|après le déjeuner / por la tarde|después de comer",
    "evening": "in the evening|after dinner / abends|nach Feierabend / dans la soirée|en soirée / por la noche|después de cenar",
}

GARMENTS = {
    "trousers": "trousers|slacks / Hose / pantalon / pantalones",
    "skirt": "skirt / Rock / jupe / falda",
    "coat": "coat|winter coat / Mantel / manteau / abrigo",
    "dress": "dress|evening gown / Kleid / robe / vestido",
    "suit_jacket": "suit jacket|blazer / Sakko / veste de costume / americana",
    "curtain": "curtain|drapes / Vorhang / rideau / cortina",
}

ERRANDS: tuple[Tool, ...] = (
    Tool(
        "collect_laundry", "Send a driver who collects laundry.", "a laundry",
        {
            "day": day("Day of collection"),
            "slot": enum("Part of the day", PART_OF_DAY),
            "bags": count("Number of bags", 2, 9, "bags|big bags / Säcke / sacs / bolsas"),
            "starch?": flag("Whether shirts are starched", "shirts starched|starch the shirts / Hemden stärken / chemises amidonnées / camisas almidonadas",
                            "no starch / keine Stärke / sans amidon / sin almidón"),
            "ring_bell?": flag("Whether the driver may ring; false if the house must stay quiet", "just ring the bell / einfach klingeln"
                               " / il peut sonner / puede llamar al timbre",
                               "please don't ring, the baby sleeps|don't ring the bell / bitte nicht klingeln / ne pas sonner / no llamar al timbre"),
            "unscented?": flag("True for detergent without perfume", "no perfume in the detergent|fragrance-free / ohne Duftstoffe / sans parfum / sin perfume",
                               "with the nice scent|perfumed detergent is fine / mit Duft / avec parfum / con perfume"),
        },
        """
        Laundry pickup {day} {slot}, {bags}[, {starch}].
        Could your driver come {day} {slot}? {bags}[, {ring_bell}].
        The basket is overflowing. Fetch it {day} {slot}, {bags}[, {unscented}][, {starch}].
        Please collect our washing {day}, {slot}, {bags}[, {unscented}].
        Pickup {day} {slot}, {bags}[, {ring_bell}][, {starch}].
        I'm only home {slot}, so {day} then, {bags}[, {ring_bell}].
        de: Bitte die Wäsche {day} {slot} abholen, {bags}[, {starch}][, {ring_bell}].
        fr: Venez chercher le linge {day} {slot}, {bags}[, {ring_bell}].
        es: Recojan la ropa {day} {slot}, {bags}[, {unscented}].
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
        {garment} for cleaning, ready {ready}[, at most {price_limit}].
        I'm wearing it {ready} so it must be ready then: {garment}[, stained with {stain}].
        To be cleaned by you: {garment}, has to be done {ready}[, {stain} on it].
        {garment}, dry clean, needed {ready}[, max {price_limit}].
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
        Please take {shorten_by} off the {garment}, to be ready {ready}[, {keep_hem}].
        {garment}: {shorten_by} shorter, to be ready {ready}[, {pieces} of them].
        Can you take {shorten_by} off my {garment} so that I can have it {ready}?[ {keep_hem}.]
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
            "companions?": count("How many people come along", 2, 4),
        },
        """
        Fitting for {customer} {day} at {time}[, {wedding}].
        {customer} comes for a fitting {day}, {time}[, bringing {companions} friends].
        Could {customer} have a fitting {day} at {time}?[ {wedding}.]
        Put {customer} down for a fitting {day} at {time}[, {wedding}].
        {customer}, fitting, {day}, {time}[, {companions} friends come along].
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
            "stay": stay("first_day", "last_day", "First day", "Day on which it is empty again", has_nights=False),
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
        New gate code for room {room}: {new_code}[, starting {valid_from}].
        Change the code of room {room} to {new_code} please.
        Please set {new_code} as the code for room {room}[, starting {valid_from}].
        I keep forgetting my code. Make it {new_code}, room {room}.
        Room {room}, code {new_code}[, starting {valid_from}].
        Could you change our gate code? Room {room}, new one is {new_code}[, starting {valid_from}].
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
        Set up {promo} please, {reduction} reduction, valid {until}[, {max_uses} uses in total].
        Marketing wants {reduction} off with the code {promo} {until}[, from {minimum} upwards].
        New code: {promo}. It gives {reduction} and runs {until}[, usable {max_uses} times][, {new_customers}].
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
        Can you return {sum} of order {order}?[ Reason: {reason}.]
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
)  # fmt: skip
