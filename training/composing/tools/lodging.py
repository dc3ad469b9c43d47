"""Tools for stays, tickets and groups that `sums.py` makes questions of."""

# ruff: noqa: E501 (a sentence is one line)

from composing.said.amounts import enum, flag, word
from composing.said.counts import heads, ident, part, tally
from composing.said.moments import day
from composing.said.slots import Tool
from composing.said.stays import nights, party
from composing.said.units import height, measure, price

GUESTS = ("Marchetti", "Okonkwo", "Lindqvist", "Barros", "Weidner", "Dupont", "Szabo", "Havel", "Tanaka", "Ferreira")

BEDS = {
    "bunk": "a bunk|bunk beds / Stockbetten / des lits superposés / literas",
    "double": "a double bed / ein Doppelbett / un grand lit / una cama doble",
    "mattress": "mattresses on the floor / Matratzenlager / des matelas par terre / colchones en el suelo",
}

LODGING: tuple[Tool, ...] = (
    Tool(
        "book_lamp_room", "Book the room below the lamp for some nights.", "a lighthouse inn",
        {
            "guest": word("Family name of the guest", *GUESTS),
            "stay": nights(),
            "guests": party(),
            "sea_view?": flag("Whether the window must look at the sea", "with a view of the sea / mit Meerblick / avec vue sur la mer / con vistas al mar",
                              "sea view not needed / Meerblick nicht nötig / sans vue sur la mer / sin vistas al mar"),
        },
        """
        The lamp room please, {stay}, name is {guest}. Coming: {guests}[, {sea_view}].
        {guest} here. We'd like to sleep in the lighthouse, {stay}. It's {guests}.
        Room for {guest}: {stay}. Who comes: {guests}[; {sea_view}].
        Is the lamp room free? {stay}, {guests}. If so book it for {guest}.
        Booking for {guest}, {stay}, people: {guests}[, {sea_view}].
        My aunt always raved about your lighthouse, so now it's our turn: {stay}; that's {guests}. Name: {guest}.
        de: Das Leuchtturmzimmer bitte, {stay}, auf den Namen {guest}. Es kommen: {guests}[, {sea_view}].
        de: {guest} mein Name, ich möchte buchen: {stay}. Personen: {guests}.
        fr: La chambre du phare, {stay}, au nom de {guest}. Nous serons : {guests}[, {sea_view}].
        es: La habitación del faro, {stay}, a nombre de {guest}. Vendremos: {guests}[, {sea_view}].
        """,
    ),
    Tool(
        "order_fog_breakfast", "Order breakfast on the gallery for one morning.", "a lighthouse inn",
        {
            "room": enum("Room", {"lamp": "lamp room / Lampenzimmer / chambre de la lampe / habitación de la lámpara",
                                  "keeper": "keeper's room / Wärterzimmer / chambre du gardien / habitación del farero",
                                  "cellar": "cellar room / Kellerzimmer / chambre de la cave / habitación del sótano"}, is_fixable=False),
            "persons": heads("Number of people who eat"),
            "day": day("Morning of the breakfast"),
        },
        """
        Breakfast {day} for the {room}: {persons}.
        About the breakfast on the gallery {day}, {room}: {persons}.
        {room}, breakfast {day}; {persons}.
        Please lay the table {day} for the {room}, {persons}.
        We'd love breakfast up there {day}. {room}, {persons}.
        de: Frühstück {day}, {room}: {persons}.
        fr: Petit-déjeuner {day}, {room} : {persons}.
        es: Desayuno {day}, {room}: {persons}.
        """,
    ),
    Tool(
        "hire_narrowboat", "Hire a narrowboat to sleep on.", "a houseboat hire",
        {
            "stay": nights("leave", "nights", "leave"),
            "length": measure("Length of the boat", "feet", ["30", "40", "50", "60"]),
            "crew": party("grown_ups", "minors"),
            "bicycles?": tally("Number of bicycles on deck", "bicycles / Fahrräder / vélos / bicicletas"),
        },
        """
        We'd take a boat of {length}, {stay}. On board: {crew}.
        A narrowboat please, {length} long, {stay}; that would be {crew}.
        Boat hire {stay}, {length}, crew: {crew}.
        Can we have one of your {length} boats? {stay}. It's {crew}.
        {stay}: a boat, {length}. Sailing: {crew}.
        de: Ein Hausboot, {length} lang, {stay}. An Bord: {crew}.
        fr: Une péniche de {length}, {stay}. À bord : {crew}.
        es: Un barco de {length} de largo, {stay}. A bordo: {crew}.
        """,
    ),
    Tool(
        "moor_overnight", "Reserve a mooring at the wharf for a visiting boat.", "a houseboat hire",
        {
            "boat": ident("Registration of the boat", ("W", "B", "D"), 5),
            "stay": nights(),
            "draught": measure("Draught of the boat", "feet", ["2", "3", "4", "5"]),
            "shore_power?": flag("Whether the boat is plugged in", "with shore power / mit Landstrom / avec branchement électrique / con toma de corriente",
                                 "no shore power / ohne Landstrom / sans branchement électrique / sin toma de corriente"),
        },
        """
        A mooring for {boat}, {stay}. She draws {draught}[, {shore_power}].
        Boat {boat}, draught {draught}, mooring {stay}[, {shore_power}].
        {stay}: can we lie at your wharf? Registration {boat}, draught {draught}.
        We come in with {boat} and need {draught} of water, {stay}[, {shore_power}].
        Registration is {boat}, {stay}, draught {draught}[, {shore_power}].
        de: Liegeplatz für {boat}, {stay}, Tiefgang {draught}[, {shore_power}].
        fr: Un amarrage pour {boat}, {stay}, tirant d'eau {draught}[, {shore_power}].
        es: Un amarre para {boat}, {stay}, calado {draught}[, {shore_power}].
        """,
    ),
    Tool(
        "reserve_cell", "Reserve cells in the guest wing.", "a monastery guest house",
        {
            "name": word("Family name", *GUESTS),
            "stay": nights("last", "nights", "leave"),
            "arrival_slot": part("When the guest reaches the gate on the first day"),
            "silence?": flag("Whether the guest keeps silence", "I will keep silence / ich möchte schweigen / je garderai le silence / guardaré silencio",
                             "not a silent retreat / kein Schweigen / pas en silence / sin voto de silencio"),
        },
        """
        A cell for {name}, {stay}. I'll be at the gate {arrival_slot}[, {silence}].
        {name}, guest wing, {stay}, first day at the gate {arrival_slot}[, {silence}].
        I need quiet. {stay}, {name}, and I get there {arrival_slot} on the first day.
        Please reserve for {name}: {stay}. Train and walk, so at your gate {arrival_slot}[; {silence}].
        Father Ansgar said to write: {stay}, name {name}, reaching you {arrival_slot}.
        de: Eine Zelle für {name}, {stay}. Ankunft an der Pforte {arrival_slot}[, {silence}].
        fr: Une cellule pour {name}, {stay}. J'arrive à la porte {arrival_slot}[, {silence}].
        es: Una celda para {name}, {stay}. Llego a la puerta {arrival_slot}[, {silence}].
        """,
    ),
    Tool(
        "join_refectory", "Sign a group up for a meal with the monks.", "a monastery guest house",
        {
            "day": day("Day of the meal"),
            "persons": heads("Number of people at the table"),
            "fasting?": flag("Whether the fasting meal is wanted", "the fasting meal please / bitte das Fastenessen / le repas de jeûne / la comida de ayuno",
                             "no fasting meal / kein Fastenessen / pas le repas de jeûne / sin comida de ayuno"),
        },
        """
        We'd eat with the monks {day}: {persons}[. {fasting}].
        Meal in the refectory {day}. {persons}[, {fasting}].
        Our parish group comes {day}, {persons}[, {fasting}].
        Please sign us up to eat {day}, {persons}.
        About the meal {day}: {persons}[, {fasting}].
        de: Essen im Refektorium {day}: {persons}[, {fasting}].
        fr: Repas au réfectoire {day} : {persons}[, {fasting}].
        es: Comida en el refectorio {day}: {persons}[, {fasting}].
        """,
    ),
    Tool(
        "salt_mine_tickets", "Sell tickets for the tour into the mine, priced by age.", "a salt mine",
        {
            "day": day("Day of the tour"),
            "visitors": party("adults", "children", "seniors"),
            "tour": part("Tour by its start"),
        },
        """
        Tickets for the mine {day} {tour}: {visitors}.
        We'd like to go down {day} {tour}. Visitors: {visitors}.
        {day}, {tour}, that's {visitors}. Tickets please.
        Can we do the tour {day} {tour}? Coming: {visitors}.
        Mine tour {tour} {day}. People and ages: {visitors}.
        My grandfather worked there, now we want to see it: {day} {tour}, {visitors}.
        de: Karten fürs Bergwerk {day} {tour}: {visitors}.
        de: Wir möchten {day} {tour} einfahren. Wir sind: {visitors}.
        fr: Des billets pour la mine {day} {tour} : {visitors}.
        es: Entradas para la mina {day} {tour}: {visitors}.
        """,
    ),
    Tool(
        "mine_helmets", "Put helmets of one size aside for a group.", "a salt mine",
        {
            "size": enum("Size", {"S": "small / klein / petite taille / talla pequeña", "M": "medium / mittel / taille moyenne / talla mediana",
                                  "L": "large / groß / grande taille / talla grande"}, is_fixable=False),
            "helmets": tally("Number of helmets", "helmets / Helme / casques / cascos"),
        },
        """
        Put helmets aside, size {size}: {helmets}.
        We need {helmets}, size {size}.
        Size {size}: {helmets} please.
        For our tour please set aside {helmets}, all of them {size}.
        Helmets for the group, {size}. {helmets}.
        de: Bitte zurücklegen, Größe {size}: {helmets}.
        fr: À mettre de côté, {size} : {helmets}.
        es: Para apartar, {size}: {helmets}.
        """,
        """
        Please set aside two sizes. {size}: {helmets}. {size2}: {helmets2}.
        For our tour: {size}, {helmets}; {size2}, {helmets2}.
        de: Bitte zurücklegen, Größe {size}: {helmets}; Größe {size2}: {helmets2}.
        fr: À mettre de côté, {size} : {helmets} ; {size2} : {helmets2}.
        es: Para apartar, {size}: {helmets}; {size2}: {helmets2}.
        """,
    ),
    Tool(
        "puppet_seats", "Book seats for a puppet show.", "a puppet theatre",
        {
            "show": word("Title of the show", "The Brave Radish", "Moonfish", "Old Grumble", "Three Left Shoes", "The Soup King"),
            "day": day("Day of the show"),
            "seats": party("full_price", "reduced", is_loose=False),
        },
        """
        Seats for {show} {day}: {seats}.
        We want to see {show} {day}. It's {seats}.
        {show}, {day}, {seats}.
        Please book {show} {day} for {seats}.
        Is there room for us in {show} {day}? That would be {seats}. Book it, please.
        de: Plätze für {show} {day}: {seats}.
        fr: Des places pour {show} {day} : {seats}.
        es: Asientos para {show} {day}: {seats}.
        """,
    ),
    Tool(
        "puppet_birthday", "Book a birthday party behind the stage.", "a puppet theatre",
        {
            "day": day("Day of the party"),
            "slot": part("Slot of the party by its start"),
            "children": heads("Number of children"),
            "cupcakes?": tally("Number of cupcakes", "cupcakes / Muffins / muffins / magdalenas"),
        },
        """
        A birthday party {day} {slot}. Children: {children}[. Cupcakes: {cupcakes}].
        My son turns six, party behind the stage {day} {slot}. Number of kids: {children}[; {cupcakes}].
        Party {day}, we start {slot}. Children: {children}.
        We'd start {slot} {day}; about the children: {children}[. For afterwards {cupcakes}].
        Birthday {day} {slot}, children: {children}[; {cupcakes}].
        de: Kindergeburtstag {day} {slot}. Kinder: {children}[. Dazu {cupcakes}].
        fr: Un anniversaire {day} {slot}. Enfants : {children}[. Avec {cupcakes}].
        es: Un cumpleaños {day} {slot}. Niños: {children}[. Con {cupcakes}].
        """,
    ),
    Tool(
        "thermal_entry", "Sell entries to the thermal bath.", "a thermal bath",
        {
            "bathers": party("adults", "children", "toddlers"),
            "session": part("Session by the time of entry"),
            "day": day("Day of the visit"),
        },
        """
        Entries {day}, coming {session}: {bathers}.
        We'd like to bathe {day}, there {session}. {bathers}.
        {bathers}, {day}, {session}. Entries please.
        Thermal bath {day} {session} for {bathers}.
        Could you sell me entries {day}? {bathers}, we come {session}.
        de: Eintritt {day} {session}: {bathers}.
        fr: Des entrées {day} {session} : {bathers}.
        es: Entradas {day} {session}: {bathers}.
        """,
    ),
    Tool(
        "rent_towels", "Rent towels or bathrobes at the counter.", "a thermal bath",
        {
            "item": enum("What is rented", {"towel": "towels / Handtücher / serviettes / toallas", "bathrobe": "bathrobes / Bademäntel / peignoirs / albornoces",
                                            "swim_cap": "swim caps / Badekappen / bonnets de bain / gorros de baño"}, is_fixable=False),
            "pieces": tally("Number of pieces", "pieces / Exemplare / pièces / piezas"),
            "wristband": ident("Number of the wristband that pays", ("",), 6),
        },
        """
        {item} please, wristband {wristband}: {pieces}.
        For wristband {wristband}: {item}, {pieces}.
        We're renting {item}. {pieces}. Wristband {wristband}.
        Wristband {wristband} here, could we have {item}? {pieces}.
        {item}: {pieces}, put it on wristband {wristband}.
        de: Armband {wristband}, wir leihen {item}: {pieces}.
        fr: Bracelet {wristband}, nous louons : {item}, {pieces}.
        es: Pulsera {wristband}, alquilamos {item}: {pieces}.
        """,
        """
        Wristband {wristband}: {item}, {pieces}, and {item2}, {pieces2}.
        We need {item} ({pieces}) and {item2} ({pieces2}), all on wristband {wristband}.
        de: Armband {wristband}: {item} ({pieces}) und {item2} ({pieces2}).
        fr: Bracelet {wristband} : {item} ({pieces}) et {item2} ({pieces2}).
        es: Pulsera {wristband}: {item} ({pieces}) y {item2} ({pieces2}).
        """,
    ),
    Tool(
        "hut_bunks", "Reserve places to sleep in a mountain hut.", "a mountain club",
        {
            "hut": word("Name of the hut", "Krähennest", "Refuge du Lac", "Stone Kettle", "Alte Wacht", "Pico Chico"),
            "stay": nights("nights", "last", "nights"),
            "sleepers": party("adults", "youths"),
            "bed?": enum("Kind of bed", BEDS, is_fixable=False),
        },
        """
        {hut}, {stay}: {sleepers}[, {bed}].
        We want to sleep at {hut}, {stay}. That makes {sleepers}[, {bed} please].
        Please reserve at {hut} for {sleepers}, {stay}.
        Are there places at {hut}? {stay}; {sleepers}[; {bed}]. Reserve them then.
        Reservation {hut}: {stay}, with {sleepers}[, {bed}].
        de: {hut}, {stay}: {sleepers}[, {bed}].
        de: Schlafplätze in der Hütte {hut}, {stay}. Wir sind: {sleepers}.
        fr: {hut}, {stay} : {sleepers}[, {bed}].
        es: {hut}, {stay}: {sleepers}[, {bed}].
        """,
    ),
    Tool(
        "lend_skis", "Lend a pair of touring skis to a member.", "a mountain club",
        {
            "member": ident("Membership number", ("A", "M", "G"), 4),
            "body_height": height("Height of the member", 4, 6),
            "deposit": price("Deposit that is paid", 20, 90),
        },
        """
        Touring skis for {member}, who is {body_height}. Deposit {deposit}.
        Member {member}, {body_height} tall, pays a deposit of {deposit}. Skis please.
        {deposit} deposit, member {member}, height {body_height}: lend the skis.
        Could {member} have touring skis? Height {body_height}, deposit {deposit}.
        Skis for the tour: membership {member}, {body_height}, {deposit} as deposit.
        de: Tourenski für {member}, Größe {body_height}, Kaution {deposit}.
        fr: Des skis de randonnée pour {member}, taille {body_height}, caution {deposit}.
        es: Esquís de travesía para {member}, altura {body_height}, fianza {deposit}.
        """,
    ),
    Tool(
        "crew_dragonboat", "Register a crew for a dragon boat race.", "a rowing regatta",
        {
            "team": word("Name of the team", "Wet Socks", "Die Paddelpanda", "Splash Gordon", "Les Canards", "Río Arriba"),
            "paddlers": heads("Number of paddlers"),
            "race": part("Block of races by the start"),
            "fee": price("Fee that was paid", 40, 90),
        },
        """
        {team} want to race {race}. Paddlers: {paddlers}. Paid: {fee}.
        Register {team}, start {race}: {paddlers}. The fee of {fee} is paid.
        Team {team}, {fee} paid, race {race}. On the crew: {paddlers}.
        We paid {fee}. {team}, {paddlers}, and we start {race}.
        Dragon boat: {team}, {race}; {paddlers}; {fee} transferred.
        de: Team {team}, Start {race}. Paddler: {paddlers}. Bezahlt: {fee}.
        fr: Équipe {team}, départ {race}. Pagayeurs : {paddlers}. Payé : {fee}.
        es: Equipo {team}, salida {race}. Remeros: {paddlers}. Pagado: {fee}.
        """,
    ),
    Tool(
        "regatta_vests", "Order life vests in one colour.", "a rowing regatta",
        {
            "colour": enum("Colour", {"red": "red / rot / rouge / rojo", "yellow": "yellow / gelb / jaune / amarillo", "blue": "blue / blau / bleu / azul"}, is_fixable=False),
            "vests": tally("Number of vests", "vests / Westen / gilets / chalecos"),
            "delivery?": day("Day of delivery"),
        },
        """
        Life vests, {colour}: {vests}[, needed {delivery}].
        We need {vests}, colour {colour}[, delivered {delivery}].
        Order for the regatta, colour {colour}: {vests}[, {delivery}].
        Colour {colour} this time, {vests}.
        Can you get us {vests}? Colour {colour}[, to arrive {delivery}].
        de: Schwimmwesten, {colour}: {vests}[, Lieferung {delivery}].
        fr: Gilets de sauvetage, {colour} : {vests}[, livraison {delivery}].
        es: Chalecos salvavidas, {colour}: {vests}[, entrega {delivery}].
        """,
        """
        Life vests, needed {delivery}. Colour {colour}: {vests}. Colour {colour2}: {vests2}.
        Two colours this time. {colour}: {vests}; {colour2}: {vests2}.
        de: Schwimmwesten, {colour}: {vests}; {colour2}: {vests2}.
        fr: Gilets, {colour} : {vests} ; {colour2} : {vests2}.
        es: Chalecos, {colour}: {vests}; {colour2}: {vests2}.
        """,
    ),
)  # fmt: skip
