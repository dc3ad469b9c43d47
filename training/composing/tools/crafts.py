"""Tools for workshops and merchants that `sums.py` makes questions of: materials by weight, length and number."""

# ruff: noqa: E501 (a sentence is one line)

from composing.said.amounts import enum, flag
from composing.said.counts import ident, large, tally
from composing.said.moments import day
from composing.said.slots import Tool
from composing.said.units import FIRST_TWO, LAST_TWO, height, measure, price

WAXES = {
    "beeswax": "beeswax / Bienenwachs / cire d'abeille / cera de abeja",
    "soy": "soy wax / Sojawachs / cire de soja / cera de soja",
    "paraffin": "paraffin / Paraffin / paraffine / parafina",
}
TEAS = {
    "oolong": "oolong / Oolong / oolong / oolong",
    "sencha": "sencha / Sencha / sencha / sencha",
    "rooibos": "rooibos / Rooibos / rooibos / rooibos",
    "smoked": "the smoked tea / Rauchtee / thé fumé / té ahumado",
}
WOODS = {
    "oak": "oak / Eiche / chêne / roble",
    "larch": "larch / Lärche / mélèze / alerce",
    "spruce": "spruce / Fichte / épicéa / abeto",
    "ash": "ash wood / Esche / frêne / fresno",
}
ROPES = {
    "hemp": "hemp rope / Hanfseil / corde de chanvre / cuerda de cáñamo",
    "nylon": "nylon rope / Nylonseil / corde en nylon / cuerda de nailon",
    "cotton": "cotton rope / Baumwollseil / corde de coton / cuerda de algodón",
}
BALLOONS = {
    "star": "star balloons / Sternballons / ballons étoiles / globos de estrella",
    "heart": "heart balloons / Herzballons / ballons cœurs / globos de corazón",
    "round": "round balloons / runde Ballons / ballons ronds / globos redondos",
}
FEEDS = {
    "oats": "oats / Hafer / avoine / avena",
    "muesli": "horse muesli / Pferdemüsli / muesli pour chevaux / muesli para caballos",
    "beet": "beet pulp / Rübenschnitzel / pulpe de betterave / pulpa de remolacha",
}
MILKS = {
    "whole": "whole milk / Vollmilch / lait entier / leche entera",
    "skimmed": "skimmed milk / Magermilch / lait écrémé / leche desnatada",
    "butter": "buttermilk / Buttermilch / babeurre / suero de mantequilla",
}

CRAFTS: tuple[Tool, ...] = (
    Tool(
        "melt_wax", "Melt an amount of one wax for casting.", "a candle workshop",
        {"wax": enum("Kind of wax", WAXES), "weight": measure("Amount", "pounds", ["1", "2", "3", "4", "6", "0.5", "10"])},
        """
        Melt {weight} of {wax}.
        Put {weight} of {wax} in the pot please.
        {wax}, {weight}, to be melted.
        For tonight's class we need {wax} melted: {weight}.
        Could you start the kettle? {wax}, {weight}.
        de: Bitte {weight} {wax} schmelzen.
        fr: À fondre : {wax}, {weight}.
        es: Para fundir: {wax}, {weight}.
        """,
        """
        Melt {weight} of {wax} and {weight2} of {wax2}.
        Two pots: {wax} {weight}, {wax2} {weight2}.
        We need both melted, {weight} of {wax} in one pot and {weight2} of {wax2} in the other.
        de: Bitte schmelzen: {weight} {wax} und {weight2} {wax2}.
        fr: À fondre : {wax}, {weight} ; {wax2}, {weight2}.
        es: Para fundir: {wax}, {weight}, y {wax2}, {weight2}.
        """,
    ),
    Tool(
        "add_scent", "Stir scent oil into a melted batch.", "a candle workshop",
        {"batch": ident("Batch", ("W", "L", "N"), 3), "oil": measure("Amount of oil", "ounces", ["0.5", "1", "2", "3", "4", "5"])},
        """
        Stir {oil} of scent into batch {batch}.
        Batch {batch} gets {oil} of oil.
        Scent: {oil}, batch {batch}.
        {batch} still has no scent, add {oil}.
        Please add the lavender oil to {batch}, {oil} of it.
        de: Bitte in Charge {batch} Duftöl geben: {oil}.
        fr: Ajoutez de l'huile parfumée au lot {batch} : {oil}.
        es: Añade aceite perfumado al lote {batch}: {oil}.
        """,
        """
        Scent for two batches: {oil} into {batch}, {oil2} into {batch2}.
        {batch} gets {oil} of oil and {batch2} gets {oil2}.
        de: Duftöl: {oil} in Charge {batch}, {oil2} in Charge {batch2}.
        fr: Huile parfumée : {oil} dans le lot {batch}, {oil2} dans le lot {batch2}.
        es: Aceite perfumado: {oil} en el lote {batch}, {oil2} en el lote {batch2}.
        """,
    ),
    Tool(
        "cast_candles", "Plan the casting of candles of one shape.", "a candle workshop",
        {
            "shape": enum("Shape", {"pillar": "pillars / Stumpenform / forme pilier / forma de pilar", "taper": "tapers / Spitzkerzenform / forme flambeau / forma de vela fina",
                                    "ball": "balls / Kugelform / forme boule / forma de bola"}, is_fixable=False),
            "pieces": tally("Number of candles", "candles / Kerzen / bougies / velas"),
        },
        """
        Shape: {shape}. We cast {pieces}.
        Cast these as {shape}: {pieces}.
        {pieces}, and the shape is {shape}.
        For the winter market, shape {shape}: {pieces}.
        Plan a casting please, {shape}. {pieces}.
        de: Bitte gießen, {shape}: {pieces}.
        fr: À couler, {shape} : {pieces}.
        es: Para moldear, {shape}: {pieces}.
        """,
    ),
    Tool(
        "weigh_tea", "Weigh one tea into a bag.", "a tea merchant",
        {
            "tea": enum("Tea", TEAS), "weight": measure("Amount", "ounces", ["2", "3", "4", "5", "6", "8"]),
            "gift_tin?": flag("Whether it goes into a tin", "in a gift tin / in einer Geschenkdose / dans une boîte cadeau / en una lata de regalo",
                              "no tin / ohne Dose / sans boîte / sin lata"),
        },
        """
        {weight} of {tea}[, {gift_tin}].
        I'd like {tea}, {weight}[, {gift_tin}].
        Weigh out {weight} of {tea} for me[, {gift_tin}].
        {tea} please: {weight}[, {gift_tin}].
        My neighbour wants {weight} of {tea}[, {gift_tin}].
        de: {weight} {tea} bitte[, {gift_tin}].
        fr: {tea}, {weight}, s'il vous plaît[, {gift_tin}].
        es: {tea}, {weight}, por favor[, {gift_tin}].
        """,
        """
        {weight} of {tea} and {weight2} of {tea2} please.
        I need {tea} ({weight}) and {tea2} ({weight2})[, {gift_tin} for both].
        Weigh {tea} for my mother, {weight}, and {tea2} for me, {weight2}.
        de: {weight} {tea} und {weight2} {tea2} bitte.
        fr: {tea}, {weight}, et {tea2}, {weight2}.
        es: {tea}, {weight}, y {tea2}, {weight2}.
        """,
    ),
    Tool(
        "tea_bags", "Order tea bags of one sort.", "a tea merchant",
        {"tea": enum("Tea", TEAS, is_fixable=False), "bags": tally("Number of single bags", "bags / Beutel / sachets / bolsitas")},
        """
        Tea bags, {tea}: {bags}.
        {tea} in bags please, {bags}.
        For the guests we'd take {tea}, {bags}.
        The office is out of {tea} again. {bags}.
        Order {tea}, and of that {bags}.
        de: Teebeutel, {tea}: {bags}.
        fr: Sachets de thé, {tea} : {bags}.
        es: Bolsitas de té, {tea}: {bags}.
        """,
        """
        {tea}: {bags}; {tea2}: {bags2}. Tea bags, both of them.
        Tea bags please. {tea}: {bags}. {tea2}: {bags2}.
        de: Teebeutel: {tea}, {bags}; {tea2}, {bags2}.
        fr: Sachets : {tea}, {bags} ; {tea2}, {bags2}.
        es: Bolsitas: {tea}, {bags}; {tea2}, {bags2}.
        """,
    ),
    Tool(
        "saw_planks", "Saw planks of one wood to a length.", "a sawmill",
        {
            "wood": enum("Wood", WOODS), "length": height("Length of each plank"),
            "planks": tally("Number of planks", "planks / Bretter / planches / tablas", is_personal=False),
            "planed?": flag("Whether they are planed", "planed / gehobelt / rabotées / cepilladas", "rough, not planed / sägerau, nicht gehobelt / brutes, non rabotées / sin cepillar"),
        },
        """
        {wood}, {length} each: {planks}[, {planed}].
        Saw {wood} to {length}. {planks}[, {planed}].
        I need {planks}; {wood}, each {length} long[, {planed}].
        Planks of {wood}, length {length}: {planks}.
        For the shed: {wood}, cut at {length}, {planks}[, {planed}].
        de: {wood}, je {length} lang: {planks}[, {planed}].
        fr: {wood}, longueur {length} : {planks}[, {planed}].
        es: {wood}, largo {length}: {planks}[, {planed}].
        """,
    ),
    Tool(
        "sawdust_pickup", "Sell sawdust to somebody who fetches it.", "a sawmill",
        {"weight": measure("Amount of sawdust", "kilos", ["250", "400", "750", "1500", "2000", "800"], LAST_TWO), "day": day("Day of the pickup"),
         "plate": ident("Number plate of the trailer", ("AB", "KL", "RE", "MZ"), 4)},
        """
        I'd fetch {weight} of sawdust {day}, trailer {plate}.
        Sawdust: {weight}, {day}, plate {plate}.
        {day} I come with the trailer, {plate}, for {weight} of sawdust.
        Please keep {weight} of sawdust for me {day}. Trailer plate {plate}.
        Trailer {plate}, sawdust, {weight}, {day}.
        de: {weight} Sägespäne, Abholung {day}, Anhänger {plate}.
        fr: {weight} de sciure, je passe {day}, remorque {plate}.
        es: {weight} de serrín, paso {day}, remolque {plate}.
        """,
    ),
    Tool(
        "cut_rope", "Cut one rope to length.", "a ship chandler",
        {
            "rope": enum("Rope", ROPES), "length": measure("Length", "feet", ["10", "20", "40", "50", "100", "15"]),
            "thickness?": measure("Thickness", "inches", ["0.5", "1", "2"]),
        },
        """
        {length} of {rope}[, thickness {thickness}].
        Cut me {length} of {rope}[, {thickness} thick].
        {rope}: {length}[, {thickness} thick].
        We need {rope} for the jib, {length}[, thickness {thickness}].
        Could I get {rope}, {length} of it?
        de: {rope}, {length}[, Dicke {thickness}].
        fr: {rope}, {length}[, épaisseur {thickness}].
        es: {rope}, {length}[, grosor {thickness}].
        """,
        """
        {length} of {rope} and {length2} of {rope2}.
        Cut two ropes: {rope}, {length}; {rope2}, {length2}.
        Rope for both boats, {rope} at {length} and {rope2} at {length2}.
        de: {rope}, {length}, und {rope2}, {length2}.
        fr: {rope}, {length}, et {rope2}, {length2}.
        es: {rope}, {length}, y {rope2}, {length2}.
        """,
    ),
    Tool(
        "order_oarlocks", "Order oarlocks by the piece.", "a ship chandler",
        {"article": ident("Article", ("R", "Q", "Z"), 4), "pieces": tally("Number of single pieces; a pair is two", "oarlocks / Dollen / dames de nage / toletes", has_pairs=True)},
        """
        Article {article}: {pieces}.
        I want {pieces}, article {article}.
        Order article {article} for the rowing boats, {pieces}.
        {pieces} please. The article is {article}.
        Our oarlocks are worn out. Article {article}, {pieces}.
        de: Artikel {article}: {pieces}.
        fr: Article {article} : {pieces}.
        es: Artículo {article}: {pieces}.
        """,
        """
        Article {article}: {pieces}. Article {article2}: {pieces2}.
        I want {pieces} of article {article} and {pieces2} of article {article2}.
        de: Artikel {article}: {pieces}. Artikel {article2}: {pieces2}.
        fr: Article {article} : {pieces}. Article {article2} : {pieces2}.
        es: Artículo {article}: {pieces}. Artículo {article2}: {pieces2}.
        """,
    ),
    Tool(
        "fill_balloons", "Order balloons of one shape, filled with helium.", "a balloon shop",
        {"shape": enum("Shape", BALLOONS, is_fixable=False), "number": tally("Number of balloons", "balloons / Ballons / ballons / globos"), "day": day("Day of the delivery")},
        """
        {shape}, {day}: {number}.
        For the party {day} I need {shape}. {number}.
        {day}: {number}, I mean {shape}.
        Deliver {shape} {day}, {number}.
        We're celebrating {day}! {shape} please: {number}.
        de: {shape}, {day}: {number}.
        fr: {shape}, {day} : {number}.
        es: {shape}, {day}: {number}.
        """,
        """
        {day}: {shape}, {number}, and {shape2}, {number2}.
        Deliver {day}: {shape} ({number}) and {shape2} ({number2}).
        de: {day}: {shape} ({number}) und {shape2} ({number2}).
        fr: {day} : {shape} ({number}) et {shape2} ({number2}).
        es: {day}: {shape} ({number}) y {shape2} ({number2}).
        """,
    ),
    Tool(
        "ribbon_roll", "Sell ribbon by length.", "a balloon shop",
        {"colour": enum("Colour", {"gold": "gold / Gold / doré / dorado", "silver": "silver / Silber / argenté / plateado", "green": "green / Grün / vert / verde"}),
         "length": measure("Length", "metres", ["0.5", "1.5", "3", "10", "25", "40", "1.8"])},
        """
        Ribbon in {colour}, {length}.
        {length} of ribbon, {colour}.
        I'd like ribbon, colour {colour}, {length}.
        Cut {length} of the ribbon in {colour}.
        Do you have ribbon in {colour}? I take {length}.
        de: Band in {colour}, {length}.
        fr: Du ruban {colour}, {length}.
        es: Cinta en {colour}, {length}.
        """,
        """
        Ribbon: {length} in {colour} and {length2} in {colour2}.
        I'd like {length} of ribbon in {colour}, plus {length2} in {colour2}.
        de: Band: {length} in {colour} und {length2} in {colour2}.
        fr: Du ruban : {length} en {colour} et {length2} en {colour2}.
        es: Cinta: {length} en {colour} y {length2} en {colour2}.
        """,
    ),
    Tool(
        "order_horse_feed", "Order feed for the stable.", "a riding stable",
        {"feed": enum("Feed", FEEDS), "weight": measure("Amount", "kilos", ["200", "250", "500", "750", "1500", "2500"], LAST_TWO), "max_price?": price("Most that it may cost", 30, 90)},
        """
        {weight} of {feed}[, not over {max_price}].
        Order {feed}, {weight}[, at most {max_price}].
        The horses need {feed}: {weight}.
        Could you get us {weight} of {feed}[ for {max_price} at the most]?
        {feed} is running out, please {weight}[, {max_price} tops].
        de: {weight} {feed}[, höchstens {max_price}].
        fr: {feed}, {weight}[, au plus {max_price}].
        es: {feed}, {weight}[, como mucho {max_price}].
        """,
        """
        {weight} of {feed} and {weight2} of {feed2}.
        Order {feed}, {weight}, and {feed2}, {weight2}.
        de: {weight} {feed} und {weight2} {feed2}.
        fr: {feed}, {weight}, et {feed2}, {weight2}.
        es: {feed}, {weight}, y {feed2}, {weight2}.
        """,
    ),
    Tool(
        "log_hack", "Log a ride with one horse.", "a riding stable",
        {"horse": enum("Horse", {"PEPPER": "Pepper / Pepper / Pepper / Pepper", "NIMBUS": "Nimbus / Nimbus / Nimbus / Nimbus", "TOFFEE": "Toffee / Toffee / Toffee / Toffee"}, is_fixable=False),
         "distance": measure("Distance", "miles", ["2", "3", "5", "10", "1.5", "0.5"]), "time": measure("Time in the saddle", "hours", ["0.5", "0.75", "1.5", "2.5", "1.25", "2"])},
        """
        {horse}: {distance} in {time}.
        Log a ride on {horse}, {distance}, {time}.
        I rode {horse} for {time}, {distance} in all.
        {time} on {horse} today and we did {distance}.
        Out with {horse}: {distance}, took {time}.
        de: Ausritt mit {horse}: {distance}, {time}.
        fr: Sortie avec {horse} : {distance}, {time}.
        es: Salida con {horse}: {distance}, {time}.
        """,
        """
        {horse}: {distance} in {time}. {horse2}: {distance2} in {time2}.
        Two rides to log, {horse} with {distance} in {time} and {horse2} with {distance2} in {time2}.
        de: {horse}: {distance}, {time}. {horse2}: {distance2}, {time2}.
        fr: {horse} : {distance}, {time}. {horse2} : {distance2}, {time2}.
        es: {horse}: {distance}, {time}. {horse2}: {distance2}, {time2}.
        """,
    ),
    Tool(
        "collect_milk", "Announce milk that the lorry is to collect.", "a dairy",
        {"milk": enum("Kind of milk", MILKS), "volume": measure("Amount", "gallons", ["10", "20", "30", "50", "100", "200"]), "farm": ident("Farm number", ("F", "H"), 5)},
        """
        Farm {farm} has {volume} of {milk}.
        Please collect {volume} of {milk} from farm {farm}.
        {farm}: {milk}, {volume}.
        We've got {volume} of {milk} standing here, farm {farm}.
        Milk to fetch, {milk}, {volume}, the farm number is {farm}.
        de: Hof {farm}: {volume} {milk} abzuholen.
        fr: Ferme {farm} : {milk}, {volume} à collecter.
        es: Granja {farm}: {milk}, {volume} para recoger.
        """,
        """
        Farm {farm}: {volume} of {milk} and {volume2} of {milk2}.
        Two kinds to collect at farm {farm}, {milk} ({volume}) and {milk2} ({volume2}).
        de: Hof {farm}: {volume} {milk} und {volume2} {milk2}.
        fr: Ferme {farm} : {milk}, {volume}, et {milk2}, {volume2}.
        es: Granja {farm}: {milk}, {volume}, y {milk2}, {volume2}.
        """,
    ),
    Tool(
        "order_yoghurt_jars", "Order empty jars.", "a dairy",
        {"jars": large("Number of jars"), "volume": measure("Volume of a jar", "litres", ["0.5", "0.75"], FIRST_TWO), "unit_price": price("Price of ten jars", 2, 9)},
        """
        Empty jars of {volume}: {jars} at {unit_price} for ten.
        Order {jars} jars, {volume} each, {unit_price} per ten.
        We need {jars} new jars. Volume {volume}, price for ten {unit_price}.
        Ten jars cost {unit_price}; take {jars} with {volume} each.
        Jars: {jars}, {volume}, {unit_price} for ten of them.
        de: Leere Gläser, Inhalt {volume}: {jars} Stück, zehn kosten {unit_price}.
        fr: Des bocaux, volume {volume} : {jars} pièces, {unit_price} les dix.
        es: Tarros vacíos, volumen {volume}: {jars} unidades, {unit_price} cada diez.
        """,
    ),
)  # fmt: skip
