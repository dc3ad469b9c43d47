"""Tools for offices and depots that `sums.py` makes questions of: readings, codes, parcels, large numbers."""

# ruff: noqa: E501 (a sentence is one line)

from composing.said.amounts import enum, flag
from composing.said.counts import figure, heads, ident, large, part, tally
from composing.said.moments import day
from composing.said.slots import Tool
from composing.said.units import FIRST_TWO, measure, price

COUNTERS: tuple[Tool, ...] = (
    Tool(
        "report_inverter", "Report what the counter of an inverter shows.", "a solar farm",
        {"inverter": ident("Inverter", ("S", "V", "T"), 3), "energy": figure("Energy", "kilowatt hours", 1200, 98_000), "read_on": day("Day of the reading", is_past=True)},
        """
        Inverter {inverter} showed {energy} kWh {read_on}.
        {inverter}: {energy} kWh, read {read_on}.
        I went round {read_on}: {inverter} is at {energy} kWh.
        Reading {read_on}, inverter {inverter}, {energy} kWh.
        Please note {energy} kWh for {inverter}, that was {read_on}.
        de: Wechselrichter {inverter}: {energy} kWh, abgelesen {read_on}.
        fr: Onduleur {inverter} : {energy} kWh, relevé {read_on}.
        es: Inversor {inverter}: {energy} kWh, leído {read_on}.
        """,
        """
        Readings {read_on}. {inverter}: {energy} kWh, {inverter2}: {energy2} kWh.
        {inverter} is at {energy} kWh and {inverter2} at {energy2} kWh, both read {read_on}.
        de: Stände {read_on}. {inverter}: {energy} kWh, {inverter2}: {energy2} kWh.
        fr: Relevés {read_on}. {inverter} : {energy} kWh, {inverter2} : {energy2} kWh.
        es: Lecturas {read_on}. {inverter}: {energy} kWh, {inverter2}: {energy2} kWh.
        """,
    ),
    Tool(
        "wash_panels", "Have the panels of one row cleaned.", "a solar farm",
        {"row": ident("Row", ("N", "W"), 2), "panels": tally("Number of panels", "panels / Module / panneaux / paneles", is_personal=False), "slot": part("Shift by its start")},
        """
        Clean row {row} {slot}: {panels}.
        Row {row}, {panels}, start {slot}.
        Dusty panels in row {row}. {panels}, the crew starts {slot}.
        We begin {slot} with row {row}, {panels}.
        Please have row {row} cleaned, {slot}, {panels}.
        de: Reihe {row} reinigen, Beginn {slot}: {panels}.
        fr: Nettoyer la rangée {row}, début {slot} : {panels}.
        es: Limpiar la fila {row}, inicio {slot}: {panels}.
        """,
    ),
    Tool(
        "note_odometer", "Note the odometer of a taxi.", "a taxi garage",
        {"cab": ident("Cab", ("T", "X"), 4), "odometer": figure("Odometer", "kilometres", 2100, 96_000), "driver?": enum("Shift", {"day": "day shift / Tagschicht / équipe de jour / turno de día", "night": "night shift / Nachtschicht / équipe de nuit / turno de noche"}, is_fixable=False)},
        """
        Cab {cab}, odometer {odometer}[, {driver}].
        {odometer} km on cab {cab}[, {driver}].
        The clock of {cab} says {odometer} km[, {driver}].
        Write down {odometer} for {cab}[, {driver}].
        Just came in with {cab}, it's at {odometer} km[, {driver}].
        de: Taxi {cab}, Kilometerstand {odometer}[, {driver}].
        fr: Taxi {cab}, compteur à {odometer} km[, {driver}].
        es: Taxi {cab}, cuentakilómetros {odometer}[, {driver}].
        """,
        """
        Cab {cab} is at {odometer} km, cab {cab2} at {odometer2} km.
        Odometers: {cab}: {odometer}; {cab2}: {odometer2}.
        de: Taxi {cab}: {odometer} km, Taxi {cab2}: {odometer2} km.
        fr: Taxi {cab} : {odometer} km, taxi {cab2} : {odometer2} km.
        es: Taxi {cab}: {odometer} km, taxi {cab2}: {odometer2} km.
        """,
    ),
    Tool(
        "fuel_cab", "Book fuel for a taxi.", "a taxi garage",
        {"cab": ident("Cab", ("T", "X"), 4), "fuel": figure("Fuel", "litres", 11, 78, 2), "paid": price("What was paid", 20, 90)},
        """
        Cab {cab} took {fuel} litres for {paid}.
        Fuel: {fuel} l, {paid}, cab {cab}.
        {cab}, {fuel} litres, paid {paid}.
        I filled up {cab}, {fuel} litres, that was {paid}.
        {paid} for {fuel} litres, cab {cab}.
        de: Taxi {cab} getankt: {fuel} Liter, {paid}.
        fr: Taxi {cab}, plein de {fuel} litres, {paid}.
        es: Taxi {cab}, {fuel} litros, {paid}.
        """,
    ),
    Tool(
        "locker_parcel", "Put a parcel into a locker.", "a parcel locker network",
        {"parcel": ident("Parcel", ("PK", "ZU", "LX"), 6), "width": measure("Width", "inches", ["4", "8", "10", "12", "20"]), "weight": measure("Weight", "pounds", ["2", "4", "6", "10", "20"])},
        """
        Parcel {parcel}: {width} wide, {weight}.
        {parcel} needs a locker, width {width}, weight {weight}.
        Put {parcel} in, it's {width} wide and weighs {weight}.
        Weight {weight}, width {width}, parcel {parcel}.
        I've got a parcel here, {parcel}. {width} across, {weight}.
        de: Paket {parcel}: {width} breit, {weight} schwer.
        fr: Colis {parcel} : largeur {width}, poids {weight}.
        es: Paquete {parcel}: ancho {width}, peso {weight}.
        """,
        """
        Two parcels: {parcel}, {width} wide, {weight}; {parcel2}, {width2} wide, {weight2}.
        {parcel} is {width} wide and weighs {weight}, {parcel2} is {width2} wide and weighs {weight2}.
        de: Paket {parcel}: {width} breit, {weight}. Paket {parcel2}: {width2} breit, {weight2}.
        fr: Colis {parcel} : largeur {width}, poids {weight}. Colis {parcel2} : largeur {width2}, poids {weight2}.
        es: Paquete {parcel}: ancho {width}, peso {weight}. Paquete {parcel2}: ancho {width2}, peso {weight2}.
        """,
    ),
    Tool(
        "extend_locker", "Keep a parcel in its locker for longer.", "a parcel locker network",
        {"parcel": ident("Parcel", ("PK", "ZU", "LX"), 6), "longer": measure("How much longer", "hours", ["2", "12", "24", "36", "48"])},
        """
        Keep {parcel} for {longer} more.
        I can't come yet, please hold {parcel} another {longer}.
        {parcel}: {longer} longer please.
        Parcel {parcel}, can it stay in the box for {longer} longer?
        Extend {parcel} by {longer}.
        de: Bitte {parcel} noch {longer} länger aufheben.
        fr: Gardez {parcel} encore {longer}.
        es: Guarden {parcel} {longer} más.
        """,
    ),
    Tool(
        "buy_toll_pass", "Buy a pass for the toll road.", "a toll road office",
        {"plate": ident("Number plate", ("KA", "BR", "TU", "GE"), 5), "valid_from": day("First day"), "fare": price("Fare that is shown in the list", 9, 80)},
        """
        A toll pass for {plate}, starting {valid_from}, {fare} as in your list.
        Plate {plate}: pass, first day {valid_from}, fare {fare}.
        {fare} for the pass, plate {plate}, starting {valid_from}.
        We drive {valid_from}. Plate {plate}, the {fare} pass.
        Please buy the pass for {fare}. It starts {valid_from}, plate {plate}.
        de: Mautpass für {plate}, erster Tag {valid_from}, Preis {fare}.
        fr: Un forfait péage pour {plate}, premier jour {valid_from}, tarif {fare}.
        es: Un abono de peaje para {plate}, primer día {valid_from}, tarifa {fare}.
        """,
    ),
    Tool(
        "dispute_toll", "Object to a toll notice.", "a toll road office",
        {"notice": ident("Notice", ("",), 6), "amount": price("Amount of the notice", 5, 90), "distance": measure("Distance that was really driven", "miles", ["5", "10", "20", "30"])},
        """
        Notice {notice} over {amount} is wrong, we only drove {distance}.
        I object to {notice}: {amount} for {distance} can't be right.
        {distance} and you want {amount}? I object, notice {notice}.
        Objection to notice {notice}, amount {amount}, driven {distance}.
        We did {distance} and no more. Notice {notice}, {amount}, I object.
        de: Einspruch gegen Bescheid {notice} über {amount}, gefahren: {distance}.
        fr: Je conteste l'avis {notice} de {amount}, nous avons fait {distance}.
        es: Recurro el aviso {notice} de {amount}, solo hicimos {distance}.
        """,
    ),
    Tool(
        "store_accession", "Store seeds of one accession in the vault.", "a seed bank",
        {"accession": ident("Accession", ("AV", "TR", "HE"), 5), "seeds": large("Number of seeds"), "dried?": flag("Whether the seeds are dried", "already dried / schon getrocknet / déjà séchées / ya secas", "not dried yet / noch nicht getrocknet / pas encore séchées / sin secar")},
        """
        Store {seeds} seeds of {accession}[, {dried}].
        Accession {accession}: {seeds} seeds[, {dried}].
        {accession} goes into the vault, {seeds} seeds[, {dried}].
        We counted {seeds} seeds for {accession}[, {dried}]. Into the vault with them.
        Vault: {accession}, {seeds} seeds.
        de: Einlagern: {accession}, {seeds} Samen[, {dried}].
        fr: À stocker : {accession}, {seeds} graines[, {dried}].
        es: Para guardar: {accession}, {seeds} semillas[, {dried}].
        """,
        """
        {accession}: {seeds} seeds, {accession2}: {seeds2} seeds, both into the vault.
        Store {seeds} seeds of {accession} and {seeds2} seeds of {accession2}.
        de: Einlagern: {accession}, {seeds} Samen; {accession2}, {seeds2} Samen.
        fr: À stocker : {accession}, {seeds} graines ; {accession2}, {seeds2} graines.
        es: Para guardar: {accession}, {seeds} semillas; {accession2}, {seeds2} semillas.
        """,
    ),
    Tool(
        "germination_trial", "Start a germination trial.", "a seed bank",
        {"accession": ident("Accession", ("AV", "TR", "HE"), 5), "seeds": tally("Number of seeds", "seeds / Samen / graines / semillas", is_personal=False), "soak": measure("How long the seeds are soaked first", "hours", ["0.5", "0.75", "1.5", "2.5", "12", "6"])},
        """
        Trial with {accession}, soaked for {soak}: {seeds}.
        Soak {accession} for {soak} and start a trial, {seeds}.
        Germination trial {accession}, soaking {soak}, {seeds}.
        {accession}: {seeds}. Soak first, {soak}.
        Please start a trial, {accession}. Soaking time {soak}, {seeds}.
        de: Keimversuch {accession}, {soak} einweichen: {seeds}.
        fr: Essai de germination {accession}, trempage {soak} : {seeds}.
        es: Ensayo de germinación {accession}, remojo {soak}: {seeds}.
        """,
    ),
    Tool(
        "weigh_truck", "Record the weight of a truck on the scale.", "a weighbridge",
        {"ticket": ident("Weighing ticket", ("",), 5), "gross": figure("Gross weight", "kilograms", 3600, 39_000), "load": enum("Load", {"gravel": "gravel / Kies / gravier / grava", "scrap": "scrap metal / Schrott / ferraille / chatarra", "grain": "grain / Getreide / céréales / cereal"}, is_fixable=False)},
        """
        Ticket {ticket}, {load}, gross {gross} kg.
        {gross} kg on the scale with {load}, ticket {ticket}.
        Truck with {load}: {gross} kg gross. Ticket {ticket}.
        The scale says {gross} kg for ticket {ticket}, load is {load}.
        Weighed {load}, {gross} kg, ticket number {ticket}.
        de: Wiegeschein {ticket}, {load}, brutto {gross} kg.
        fr: Ticket {ticket}, {load}, brut {gross} kg.
        es: Ticket {ticket}, {load}, bruto {gross} kg.
        """,
    ),
    Tool(
        "curling_sheet", "Book a sheet of ice for curling.", "a curling club",
        {"players": heads("Number of players"), "day": day("Day"), "block": part("Block by its start"), "brooms?": tally("Number of brooms to borrow", "brooms / Besen / balais / escobas")},
        """
        A sheet {day} {block}. Players: {players}[. We borrow {brooms}].
        We'd curl {day} {block}; {players}[; {brooms}].
        Book ice {day} {block}, {players}.
        {day} {block}, one sheet. {players}[. Brooms: {brooms}].
        Is the ice free {day} {block}? Then book it. {players}.
        de: Eine Bahn {day} {block}. Spieler: {players}[. Wir leihen {brooms}].
        fr: Une piste {day} {block}. Joueurs : {players}[. Nous empruntons {brooms}].
        es: Una pista {day} {block}. Jugadores: {players}[. Pedimos {brooms}].
        """,
    ),
    Tool(
        "curling_stones", "Have curling stones polished.", "a curling club",
        {"set_no": ident("Set of stones", ("C", "J"), 2), "stones": tally("Number of single stones; a pair is two", "stones / Steine / pierres / piedras", has_pairs=True), "budget": price("Most that it may cost", 20, 90)},
        """
        Polish {stones} of set {set_no}, at most {budget}.
        Set {set_no}: {stones} to polish, budget {budget}.
        {stones} from set {set_no} look awful. Polish them for {budget} at the most.
        Please polish {stones}, set {set_no}, not more than {budget}.
        Budget {budget}, set {set_no}, {stones}: polish.
        de: Satz {set_no}: {stones} polieren, höchstens {budget}.
        fr: Jeu {set_no} : polir {stones}, au plus {budget}.
        es: Juego {set_no}: pulir {stones}, como mucho {budget}.
        """,
    ),
    Tool(
        "record_tour_track", "Plan the recording of one track of an audio guide.", "an audio guide studio",
        {"track": ident("Track", ("E", "D", "U"), 3), "length": measure("Length of the track", "hours", ["0.5", "0.75", "1.5", "1.25"], FIRST_TWO), "fee": price("Fee of the speaker", 30, 90)},
        """
        Track {track}, {length} long, fee {fee}.
        Plan {track}: {length}, the speaker gets {fee}.
        The speaker wants {fee} for {track}, length {length}.
        {track} runs {length}. Fee: {fee}.
        Recording of {track}, {length}, {fee} for the speaker.
        de: Spur {track}, Länge {length}, Honorar {fee}.
        fr: Piste {track}, durée {length}, cachet {fee}.
        es: Pista {track}, duración {length}, honorario {fee}.
        """,
        """
        {track} runs {length} for {fee}, {track2} runs {length2} for {fee2}.
        Plan two tracks: {track}, {length}, fee {fee}; {track2}, {length2}, fee {fee2}.
        de: Spur {track}: {length}, {fee}. Spur {track2}: {length2}, {fee2}.
        fr: Piste {track} : {length}, {fee}. Piste {track2} : {length2}, {fee2}.
        es: Pista {track}: {length}, {fee}. Pista {track2}: {length2}, {fee2}.
        """,
    ),
    Tool(
        "press_headsets", "Order headsets for the visitors.", "an audio guide studio",
        {"headsets": large("Number of headsets", 1000, 4600), "model": ident("Model", ("HX", "VE"), 3), "unit_price": price("Price of one headset", 2, 30)},
        """
        Order {headsets} headsets, model {model}, {unit_price} each.
        Model {model} at {unit_price}: {headsets} of them.
        We need {headsets} headsets. {model}, one costs {unit_price}.
        {headsets} pieces of {model}, {unit_price} a piece.
        At {unit_price} each we take {headsets}, model {model}.
        de: {headsets} Kopfhörer, Modell {model}, je {unit_price}.
        fr: {headsets} casques, modèle {model}, {unit_price} pièce.
        es: {headsets} auriculares, modelo {model}, {unit_price} cada uno.
        """,
    ),
)  # fmt: skip
