"""Tools that `omissions.py` asks for with and without a value: silos, docks, boats, builds, a clinic and workshops."""

# ruff: noqa: E501 (a sentence is one line)

from composing.said.asked_for import Field, Job, choice, clock, code, day, flag, number, several, text

CROPS = {
    "wheat": "wheat / de: Weizen / fr: blé",
    "rye": "rye / de: Roggen / fr: seigle",
    "barley": "barley / de: Gerste / fr: orge",
    "oats": "oats / de: Hafer / fr: avoine",
}

SILOS = Field(
    "silos",
    (
        Job(
            "silo_fill",
            "Book grain into a silo.",
            {
                "silo": code(
                    "Number of the silo",
                    "Q#",
                    "Into which silo?|Which silo should it go into? / de: In welches Silo?|Welches Silo soll es sein?",
                ),
                "crop": choice(
                    "What comes in",
                    CROPS,
                    "What comes in: wheat, rye, barley or oats?|Which grain is it: wheat, rye, barley or oats? / de: Was kommt hinein: Weizen, Roggen, Gerste oder Hafer?|Welches Getreide: Weizen, Roggen, Gerste oder Hafer?",
                ),
                "tonnes": number(
                    "Amount in tonnes",
                    [8.5, 12, 17.5, 24],
                    "How many tonnes?|How much is it, in tonnes? / de: Wie viele Tonnen?|Wie viel ist es, in Tonnen?",
                ),
                "organic?": flag("Organic grain", "organic|it's organic / de: bio"),
            },
            """
        Book {tonnes} tonnes of {crop}[ into {silo}][, {organic}].
        {silo} gets [{tonnes} tonnes of|some] {crop}[, {organic}].
        A lorry with {tonnes} t[ of {crop}] for {silo} just came in, please book it[, {organic}].
        {crop} into [silo {silo}|one of the silos], {tonnes} t.
        Please enter [{tonnes} tonnes|a load] of {crop} for {silo}.
        de: Bitte [{tonnes} Tonnen |]{crop} in {silo} buchen[, {organic}].
        de: {tonnes} Tonnen[ {crop}] kommen in [{silo}|das Silo hinten].
        """,
            """
        Two lorries of {crop}: {tonnes:1} tonnes into {silo:1} and [{tonnes:2} tonnes|a smaller load] into {silo:2}. >> How many tonnes go into {silo:2}? Then I book both. | How big is the load for {silo:2}, in tonnes? I'll book the two then.
        {tonnes} tonnes each: {crop:1} into {silo:1} and [{crop:2}|something else] into {silo:2}. >> What goes into {silo:2}: wheat, rye, barley or oats? Then I book both. | Which grain comes into {silo:2}? I book both loads then.
        de: {silo:1} bekommt {tonnes:1} Tonnen {crop}, {silo:2} auch {crop}[, {tonnes:2} Tonnen|, nur etwas mehr]. >> Wie viele Tonnen kommen in {silo:2}? Dann buche ich beides. | Wie viel {crop} kommt in {silo:2}, in Tonnen? Danach buche ich beide.
        """,
        ),
        Job(
            "silo_aerate",
            "Blow air through a silo.",
            {
                "silo": code(
                    "Number of the silo",
                    "Q#",
                    "Which silo?|Which silo should be aerated? / fr: Quel silo ?|Quel silo faut-il ventiler ?",
                ),
                "hours": number(
                    "How long, in hours",
                    [2, 4, 6, 9],
                    "For how many hours?|How long should the air blow, in hours? / fr: Pendant combien d'heures ?|Combien d'heures faut-il ventiler ?",
                ),
                "power?": choice(
                    "Strength",
                    {"low": "low power / fr: faible puissance", "full": "full power / fr: pleine puissance"},
                    default="low",
                ),
            },
            """
        Aerate {silo}[ for {hours} hours][ at {power}].
        Blow air through [{silo}|the silo] for {hours} hours[ at {power}].
        {silo} is getting warm, aerate it[ for {hours} hours| for a while][, {power}].
        Air on in [{silo}|the wheat silo], {hours} hours.
        Please run the fan of {silo}[ for {hours} hours][ at {power}].
        fr: Ventilez {silo}[ pendant {hours} heures][, à {power}].
        """,
            """
        Aerate {silo:1} for {hours:1} hours and {silo:2} [for {hours:2} hours|for longer than that]. >> For how many hours should {silo:2} be aerated? Then I start both. | How many hours for {silo:2}? I'll start the two then.
        fr: Ventilez {silo:1} pendant {hours:1} heures et {silo:2} [pendant {hours:2} heures|moins longtemps]. >> Pendant combien d'heures faut-il ventiler {silo:2} ? Je lancerai ensuite les deux. | Combien d'heures pour {silo:2} ? Ensuite je lance les deux.
        """,
        ),
        Job(
            "grain_price",
            "Compute the price of a load after the deduction for moisture.",
            {
                "tonnes": number(
                    "Amount in tonnes",
                    [9, 14.5, 21],
                    "How many tonnes is the load?|How much grain is it, in tonnes? / es: ¿Cuántas toneladas son?|¿De cuántas toneladas es la carga?",
                ),
                "price_per_tonne": number(
                    "Price in euros per tonne",
                    [178, 195, 212],
                    "What is the price per tonne, in euros?|How much is paid for a tonne? / es: ¿A cuántos euros la tonelada?|¿Cuál es el precio por tonelada?",
                ),
                "deduction_percent": number(
                    "Deduction in percent",
                    [1.5, 2.5, 4.5],
                    "How many percent are deducted for moisture?|How big is the deduction, in percent? / es: ¿Qué porcentaje se descuenta?|¿De cuánto es el descuento, en tanto por ciento?",
                ),
            },
            """
        What do I get for {tonnes} tonnes[ at {price_per_tonne} euros a tonne] with {deduction_percent} percent off for moisture?
        Price of [a load of {tonnes} tonnes|my load] at {price_per_tonne} euros per tonne, minus {deduction_percent} percent.
        {tonnes} tonnes at {price_per_tonne} euros each[, {deduction_percent} percent deducted|, with the usual deduction]: how much is that?
        How much is my grain worth at {price_per_tonne} euros a tonne and {deduction_percent} percent deduction[? It is {tonnes} tonnes.|?]
        I brought {tonnes} tonnes. You deduct {deduction_percent} percent. What do you pay[ at {price_per_tonne} euros a tonne]?
        es: ¿Cuánto me dan por {tonnes} toneladas[ a {price_per_tonne} euros], con un descuento del {deduction_percent} por ciento?
        """,
        ),
    ),
)

DOCKS = Field(
    "loadingdocks",
    (
        Job(
            "dock.assign",
            "Assign a dock to a lorry for a part of one day.",
            {
                "lorry": code(
                    "Number of the lorry",
                    "LK###",
                    "Which lorry is it?|What is the number of the lorry? / de: Welcher Lkw ist es?|Welche Nummer hat der Lkw?",
                ),
                "dock": number(
                    "Number of the dock, 1 to 9",
                    [1, 2, 4, 5, 7, 8],
                    "Which dock?|At which dock should {lorry} stand? / de: An welches Tor?|Welches Tor bekommt der Lkw?",
                ),
                "date": day("Day", "On which day?|For which date? / de: An welchem Tag?|Für welches Datum?"),
                "from_time": clock(
                    "Start", "From what time?|When does {lorry} arrive? / de: Ab wann?|Wann kommt der Lkw?", (6, 13)
                ),
                "to_time": clock(
                    "End",
                    "Until what time?|When is the dock free again? / de: Bis wann?|Bis wie viel Uhr braucht er das Tor?",
                    after="from_time",
                ),
                "cooled?": flag("Cooled load", "cooled goods|it's a cooled load / de: Kühlware"),
            },
            """
        Lorry {lorry} gets dock {dock} on {date} from {from_time}[ to {to_time}][, {cooled}].
        Assign [dock {dock}|a dock] to {lorry}[ on {date}], {from_time} to {to_time}.
        {lorry} to dock {dock}[ on {date}] from {from_time}[ until {to_time}].
        On {date} we need dock {dock} for [{lorry}|the lorry from the brewery] from {from_time} to {to_time}[, {cooled}].
        Dock {dock} for {lorry} on {date}[, from {from_time} to {to_time}], please.
        de: {lorry} bekommt[ am {date}] Tor {dock} ab {from_time}[, bis {to_time}].
        de: Am {date} von {from_time} bis {to_time}: {lorry}[ an Tor {dock}| irgendwo abfertigen][, {cooled}].
        """,
            """
        Two lorries on {date}: {lorry:1} at dock {dock:1} and {lorry:2} [at dock {dock:2}|at the one beside the ramp], both from {from_time} to {to_time}. >> At which dock should {lorry:2} stand? Then I assign both. | Which dock number for {lorry:2}? I assign both docks then.
        On {date}, {lorry:1} has dock {dock:1} from {from_time} to {to_time:1} and {lorry:2} dock {dock:2} from {from_time}[ to {to_time:2}| as well, but it needs longer]. >> Until what time does {lorry:2} need dock {dock:2}? Then I assign both. | When is {lorry:2} done? I'll assign the two docks then.
        de: Am {date} ab {from_time}: {lorry:1} an Tor {dock:1} bis {to_time:1}, {lorry:2} an Tor {dock:2} [bis {to_time:2}|auch, aber länger]. >> Bis wann braucht {lorry:2} Tor {dock:2}? Dann teile ich beide ein. | Bis wie viel Uhr steht {lorry:2} dort? Danach trage ich beide ein.
        """,
            asks={
                "from_time+to_time": "From when until when?|For which time? I need the start and the end. / de: Von wann bis wann?|Für welche Zeit, von wann bis wann?"
            },
        ),
        Job(
            "dock.order_pallets",
            "Order empty pallets to a dock.",
            {
                "dock": number(
                    "Number of the dock, 1 to 9",
                    [1, 2, 4, 5, 7, 8],
                    "To which dock?|Which dock needs the pallets? / fr: À quel quai ?|Quel quai en a besoin ?",
                ),
                "kind": choice(
                    "Kind of pallet",
                    {
                        "euro": "Euro pallets / fr: palettes Europe",
                        "half": "half pallets / fr: demi-palettes",
                        "plastic": "plastic pallets / fr: palettes en plastique",
                    },
                    "Which pallets: Euro, half or plastic?|What kind of pallet do you need: Euro, half or plastic? / fr: Quelles palettes : Europe, demi ou plastique ?|Quel type de palette : Europe, demi-palette ou plastique ?",
                ),
                "count": number(
                    "How many",
                    [10, 15, 30, 45],
                    "How many pallets?|How many do you need? / fr: Combien de palettes ?|Combien en faut-il ?",
                ),
            },
            """
        {count} {kind}[ to dock {dock}], please.
        Dock {dock} needs [{count}|more] {kind}.
        Bring {count} [{kind}|pallets] to dock {dock}.
        Please order {kind}[, {count} of them,] to dock {dock}.
        We're out of pallets[ at dock {dock}], send {count} {kind}.
        fr: Il faut [{count} |des ]{kind} au quai {dock}.
        """,
            """
        {kind} for two docks: {count:1} to dock {dock:1} and [{count:2}|fewer] to dock {dock:2}. >> How many pallets should go to dock {dock:2}? Then I order both. | How many for dock {dock:2}? I'll order for both docks then.
        """,
        ),
    ),
)

NEAR_PIERS = ["Hornvik", "Salt Quay", "Odby"]
FAR_PIERS = ["Trelleborn", "Kestrel Point", "Vadeo", "Skarholm"]

MAIL_BOATS = Field(
    "mailboats",
    (
        Job(
            "nextBoat",
            "Tell when the next mail boat goes from one pier to another.",
            {
                "fromPier": text(
                    "Pier of departure",
                    NEAR_PIERS,
                    "From which pier?|Where do you start from? / de: Von welchem Anleger?|Wo fährst du los?",
                ),
                "toPier": text(
                    "Pier of arrival",
                    FAR_PIERS,
                    "Where do you want to go?|To which pier? / de: Wohin möchtest du?|Zu welchem Anleger?",
                ),
                "withBike?": flag("Only boats that take bikes", "with a bike|I have a bike with me / de: mit Fahrrad"),
            },
            """
        When does the next boat go[ from {fromPier}] to {toPier}[, {withBike}]?
        Next mail boat[ from {fromPier}] to {toPier}, please.
        I'm[ in {fromPier} and| on the island and] want to get to {toPier}. When is the next boat[, {withBike}]?
        What's the next boat leaving {fromPier}[ for {toPier}]?
        Is there a boat to {toPier} soon[? I'm at {fromPier}.|?]
        de: Wann fährt das nächste Boot[ von {fromPier}] nach {toPier}[, {withBike}]?
        de: Nächstes Boot ab {fromPier}[ nach {toPier}], bitte.
        """,
            """
        When is the next boat from {fromPier} to {toPier:1}, and when the next one [to {toPier:2}|to the other island]? >> Which pier is the second one? Then I look up both boats. | To which pier do you want the second boat? I'll look up the two then.
        """,
        ),
        Job(
            "boatRun",
            "Tell whether a boat was on time on a day.",
            {
                "boat": code(
                    "Number of the run",
                    "MB##",
                    "Which run do you mean?|What is the number of the boat? / es: ¿Qué barco?|¿Cuál es el número del barco?",
                ),
                "date": day(
                    "Day of the run",
                    "For which day?|On which date do you mean {boat}? / es: ¿De qué día?|¿Para qué fecha?",
                ),
            },
            """
        Was {boat} on time[ on {date}]?
        Has {boat}[ of {date}] arrived?
        Status of [{boat}|the morning boat] on {date}, please.
        Did [{boat}|the late boat] run on {date}?
        How late is {boat}[ on {date}]?
        es: ¿Llegó {boat} a tiempo[ el {date}]?
        """,
            """
        Were {boat:1} on {date:1} and {boat:2} [on {date:2}|on the day after my trip] on time? >> For which date do you mean {boat:2}? Then I check both. | On which day did {boat:2} run? I'll check the two then.
        """,
        ),
        Job(
            "shipCrate",
            "Send a crate by mail boat.",
            {
                "toPier": text(
                    "Pier of arrival",
                    FAR_PIERS,
                    "To which pier?|Where should the crate go? / fr: Vers quel embarcadère ?|Où faut-il l'envoyer ?",
                ),
                "size": choice(
                    "Size of the crate",
                    {"S": "small / fr: petite", "M": "medium / fr: moyenne", "L": "large / fr: grande"},
                    "Which size: small, medium or large?|How big is the crate: small, medium or large? / fr: Quelle taille : petite, moyenne ou grande ?|De quelle taille est la caisse : petite, moyenne ou grande ?",
                ),
                "date": day("Day of sailing", "On which day?|For which date? / fr: Quel jour ?|Pour quelle date ?"),
                "recipient": text(
                    "Who fetches it",
                    ["Oda Hamre", "Kit Larkin", "Jon Vik", "Mira Solan"],
                    "Who will fetch it?|Who is the recipient? / fr: Qui viendra la chercher ?|Qui est le destinataire ?",
                ),
                "fragile?": flag("Fragile", "fragile|it is fragile / fr: fragile"),
            },
            """
        Send a[ {size}] crate to {toPier} on {date}, for {recipient}[, {fragile}].
        A {size} crate for [{recipient}|my cousin] to {toPier}[ on {date}].
        I'd like to ship a {size} crate[ to {toPier}] on {date}, {recipient} will fetch it[, {fragile}].
        Crate to {toPier}, {date}[, size {size}], recipient {recipient}.
        Please send {recipient} a {size} crate to {toPier}[ on {date}][, {fragile}].
        fr: Envoyez une caisse[ ({size})] à {toPier} le {date}[, pour {recipient}][, {fragile}].
        """,
            """
        Two crates to {toPier} on {date} for {recipient}: one {size:1} and [one {size:2}|another one, of a different size]. >> Which size is the second crate: small, medium or large? Then I send both. | How big is the second crate? I'll send the two then.
        A {size} crate to {toPier} on {date} for {recipient:1} and the same [for {recipient:2}|for somebody else there]. >> Who is the second crate for? Then I send both. | Who will fetch the second one? I send both crates then.
        """,
        ),
    ),
)

PACKAGES = ["ledger-core", "mapkit", "inkwell", "tern-cli"]

ARTIFACTS = Field(
    "artifactstore",
    (
        Job(
            "artifact_promote",
            "Promote a version of a package from one channel to the next.",
            {
                "package": text(
                    "Name of the package",
                    PACKAGES,
                    "Which package?|What is the name of the package? / de: Welches Paket?|Wie heißt das Paket?",
                ),
                "version": code(
                    "Version",
                    "#.#.#",
                    "Which version of {package}?|Which version should be promoted? / de: Welche Version?|Welche Version soll es sein?",
                ),
                "channel": choice(
                    "Channel that it goes to",
                    {"beta": "beta", "stable": "stable", "lts": "lts"},
                    "To which channel: beta, stable or lts?|Where should {package} go: beta, stable or lts? / de: In welchen Kanal: beta, stable oder lts?|Wohin: beta, stable oder lts?",
                ),
                "notify?": flag(
                    "Tell the subscribers",
                    "and tell the subscribers|subscribers should hear of it / de: mit Nachricht an die Abonnenten",
                ),
            },
            """
        Promote {package}[ {version}] to {channel}[, {notify}].
        {package} {version} can go live now[, channel {channel}][, {notify}].
        Please promote version {version}[ of {package}] to {channel}.
        Move {package} {version} up[ to {channel}].
        We tested {package}[ {version}], promote it to {channel}[, {notify}].
        de: Bitte {package}[ {version}] nach {channel} schieben[, {notify}].
        de: {package} {version} ist fertig[, bitte nach {channel}|, bitte hochstufen].
        """,
            """
        Promote two packages to {channel}: {package:1} {version:1} and {package:2}[ {version:2}| too]. >> Which version of {package:2}? Then I promote both. | Which version should I take for {package:2}? I'll promote the two then.
        {package:1} {version} goes to {channel:1} and {package:2} {version} [to {channel:2}|to another channel]. >> To which channel should {package:2} go: beta, stable or lts? Then I promote both. | Which channel for {package:2}? I promote both then.
        """,
        ),
        Job(
            "artifact_purge",
            "Delete old builds of a package.",
            {
                "package": text(
                    "Name of the package",
                    PACKAGES,
                    "Of which package should I delete builds?|Which package do you mean? / es: ¿De qué paquete?|¿Qué paquete es?",
                ),
                "older_than_days": number(
                    "Age in days from which builds are deleted",
                    [14, 30, 60, 180],
                    "How old must the builds be, in days?|Builds older than how many days should go? / es: ¿De más de cuántos días?|¿A partir de cuántos días las borro?",
                ),
                "keep_tagged?": flag(
                    "Keep what has a tag", "keep the tagged ones|but keep what is tagged / es: conserva los etiquetados"
                ),
            },
            """
        Delete old builds of {package}[, older than {older_than_days} days][, {keep_tagged}].
        Purge everything[ of {package}] older than {older_than_days} days[, {keep_tagged}].
        The old builds of {package} can go[: everything over {older_than_days} days][, {keep_tagged}].
        Clean up {package}[, delete builds older than {older_than_days} days].
        Get rid of builds that are over {older_than_days} days old[ in {package}].
        es: Borra las compilaciones de {package}[ de más de {older_than_days} días| que ya son viejas][, {keep_tagged}].
        """,
            """
        Purge {package:1} older than {older_than_days:1} days and {package:2} [older than {older_than_days:2} days|as well, but go back less far]. >> Builds of {package:2} older than how many days should go? Then I purge both. | How many days for {package:2}? I'll purge the two then.
        """,
        ),
        Job(
            "artifact_grant",
            "Let a team use a package.",
            {
                "package": text(
                    "Name of the package",
                    PACKAGES,
                    "Which package?|For which package should they get access? / fr: Quel paquet ?|Pour quel paquet ?",
                ),
                "team": text(
                    "Name of the team",
                    ["payments", "cartography", "editors", "platform"],
                    "Which team should get access?|Who should get access to {package}? / fr: Quelle équipe doit avoir accès ?|À quelle équipe ?",
                ),
                "role": choice(
                    "What it may do",
                    {
                        "puller": "pull / fr: télécharger",
                        "pusher": "push / fr: publier",
                        "owner": "administrate / fr: administrer",
                    },
                    "What may the team do: pull, push or administrate?|Which right should they get: pull, push or administrate? / fr: Que peut faire l'équipe : télécharger, publier ou administrer ?|Quel droit : télécharger, publier ou administrer ?",
                ),
            },
            """
        Give the team {team} access to {package}[, so that they can {role}].
        [The team {team}|A second team] should be able to {role} {package}.
        Let {team} use {package}[, they have to {role}].
        Access to {package}[ for the team {team}], right: {role}.
        The team {team} needs access[ to {package}] and should be able to {role}.
        fr: Donne accès à {package} à l'équipe {team}[, pour {role}].
        """,
        ),
    ),
)

DIALYSIS = Field(
    "dialysisunit",
    (
        Job(
            "session.plan",
            "Plan a session for a patient.",
            {
                "patient_no": code(
                    "Number of the patient",
                    "7####",
                    "Which patient? Please give me the number.|What is the number of the patient? / es: ¿Qué paciente? Necesito el número.|¿Cuál es el número del paciente?",
                ),
                "date": day("Day", "On which day?|For which date? / es: ¿Qué día?|¿Para qué fecha?"),
                "shift": choice(
                    "Shift",
                    {
                        "morning": "morning shift / es: turno de mañana",
                        "afternoon": "afternoon shift / es: turno de tarde",
                        "night": "night shift / es: turno de noche",
                    },
                    "Which shift: morning, afternoon or night?|In which shift should {patient_no} come: morning, afternoon or night? / es: ¿En qué turno: mañana, tarde o noche?|¿Turno de mañana, de tarde o de noche?",
                ),
                "hours?": number("Length in hours", [3, 3.5, 5], default=4),
            },
            """
        Plan a session for patient {patient_no} on {date}[, {shift}][, {hours} hours].
        Patient {patient_no} comes[ on {date}] in the {shift}[ for {hours} hours].
        A session on {date} in the {shift}[ for {patient_no}], please.
        Put [{patient_no}|the new patient] into the {shift}[ on {date}].
        {patient_no} needs an extra session[ on {date}][, {shift}].
        es: Planifica una sesión para el paciente {patient_no}[ el {date}][, {shift}].
        """,
            """
        Two sessions on {date}: patient {patient_no:1} in the {shift:1} and {patient_no:2} [in the {shift:2}|at another time of day]. >> In which shift should {patient_no:2} come: morning, afternoon or night? Then I plan both. | Which shift for {patient_no:2}? I'll plan both sessions then.
        """,
        ),
        Job(
            "weight.record",
            "Record the weight of a patient before or after a session.",
            {
                "patient_no": code(
                    "Number of the patient",
                    "7####",
                    "Which patient is it?|What is the number of the patient? / de: Welcher Patient ist es?|Wie lautet die Patientennummer?",
                ),
                "kg": number(
                    "Weight in kg",
                    [58.4, 71.9, 80.2, 94.6],
                    "What is the weight, in kg?|How many kg? / de: Wie hoch ist das Gewicht, in kg?|Wie viel Kilogramm?",
                ),
                "moment": choice(
                    "When it was taken",
                    {
                        "before": "before the session / de: vor der Sitzung",
                        "after": "after the session / de: nach der Sitzung",
                    },
                    "Was it taken before or after the session?|Is that the weight before or after the session? / de: Vor oder nach der Sitzung?|Ist das das Gewicht vor oder nach der Sitzung?",
                ),
            },
            """
        Patient {patient_no} weighs {kg} kg[ {moment}].
        Record {kg} kg for [{patient_no}|the lady in chair two], {moment}.
        Weight of {patient_no} {moment}: [{kg} kg|it went down a bit, please record it].
        {kg} kg[ {moment}] for patient {patient_no}.
        Please note the weight of {patient_no}: {kg} kg[, {moment}].
        de: Patient {patient_no} wiegt {kg} kg[, {moment}].
        """,
            """
        Weights {moment}: {patient_no:1} has {kg:1} kg and {patient_no:2} [{kg:2} kg|a bit more]. >> What is the weight of {patient_no:2}, in kg? Then I record both. | How many kg does {patient_no:2} weigh? I'll record the two then.
        """,
        ),
        Job(
            "meal.order",
            "Order a meal to a chair.",
            {
                "chair": number(
                    "Chair, 1 to 20",
                    [3, 6, 9, 12, 17],
                    "To which chair?|Which chair is the meal for? / fr: Pour quel fauteuil ?|À quel fauteuil ?",
                ),
                "diet": choice(
                    "Diet",
                    {
                        "low_salt": "low-salt / fr: pauvre en sel",
                        "vegetarian": "vegetarian / fr: végétarien",
                        "diabetic": "diabetic / fr: diabétique",
                    },
                    "Which diet: low-salt, vegetarian or diabetic?|What kind of meal: low-salt, vegetarian or diabetic? / fr: Quel régime : pauvre en sel, végétarien ou diabétique ?|Quel repas : pauvre en sel, végétarien ou diabétique ?",
                ),
                "drink?": choice("Drink", {"water": "water / fr: eau", "tea": "tea / fr: thé"}),
            },
            """
        A[ {diet}] meal for chair {chair}[ with {drink}].
        Chair {chair} would like a[ {diet}] meal[, and {drink} to drink].
        Please order the {diet} meal[ for chair {chair}].
        One {diet} lunch [to chair {chair}|for the gentleman by the window][, with {drink}].
        Lunch for chair {chair}[, {diet}][, {drink}], please.
        fr: Un repas[ {diet}] pour le fauteuil {chair}[, avec {drink}].
        """,
            """
        Lunch for two chairs: a {diet:1} meal for chair {chair:1} and [a {diet:2} one|a different one] for chair {chair:2}. >> Which diet for chair {chair:2}: low-salt, vegetarian or diabetic? Then I order both. | What kind of meal does chair {chair:2} get? I'll order both then.
        """,
        ),
    ),
)

WORKSHOP = Field(
    "grindingshop",
    (
        Job(
            "sharpen_blade",
            "Take in a blade to sharpen.",
            {
                "blade": choice(
                    "What it is",
                    {
                        "chef_knife": "chef's knife / de: Kochmesser",
                        "scissors": "pair of scissors / de: Schere",
                        "plane_iron": "plane iron / de: Hobeleisen",
                        "chisel": "chisel / de: Stechbeitel",
                    },
                    "What should be sharpened: a chef's knife, scissors, a plane iron or a chisel?|Which blade is it: chef's knife, scissors, plane iron or chisel? / de: Was soll geschliffen werden: Kochmesser, Schere, Hobeleisen oder Stechbeitel?|Um welche Klinge geht es: Kochmesser, Schere, Hobeleisen oder Stechbeitel?",
                ),
                "angle": number(
                    "Angle in degrees",
                    [15, 20, 25, 30],
                    "At which angle, in degrees?|Which angle should the edge have, in degrees? / de: In welchem Winkel, in Grad?|Welchen Winkel soll die Schneide haben, in Grad?",
                ),
                "customer": text(
                    "Name of the customer",
                    ["Mahler", "Okonkwo", "Petrides", "Svensson"],
                    "What is the name of the customer?|Whose blade is it? / de: Für welchen Kunden?|Wem gehört sie?",
                ),
                "polish?": flag("Polish the blade too", "polished too|and polish it / de: mit Politur"),
            },
            """
        Sharpen a {blade} for {customer}[ at {angle} degrees][, {polish}].
        {customer} brought [a {blade}|something] to sharpen, {angle} degrees[, {polish}].
        One {blade}[ for {customer}], edge at {angle} degrees.
        Take in a {blade} from {customer}[, angle {angle}°][, {polish}].
        Put down a {blade} to be sharpened at {angle} degrees[ for {customer}].
        de: Für {customer} schleifen: {blade}[, Winkel {angle} Grad][, {polish}].
        de: Bitte annehmen[ für {customer}]: {blade}, {angle} Grad.
        """,
            """
        {customer} brought a {blade:1} for {angle:1} degrees and a {blade:2} [for {angle:2} degrees|for a steeper angle]. >> At which angle should the {blade:2} be sharpened, in degrees? Then I take in both. | How many degrees for the {blade:2}? I'll take in the two then.
        Sharpen two blades at {angle} degrees: a {blade:1} for {customer:1} and a {blade:2} [for {customer:2}|for another customer]. >> Whose is the {blade:2}? Then I take in both. | What is the name of the customer with the {blade:2}? I take in both then.
        """,
        ),
        Job(
            "grind_quote",
            "Tell the price for a number of saw blades.",
            {
                "count": number(
                    "Number of blades",
                    [2, 3, 5, 8],
                    "How many blades?|How many blades should be ground? / es: ¿Cuántas hojas?|¿Cuántas hojas hay que afilar?",
                ),
                "diameter_mm": number(
                    "Diameter in mm",
                    [160, 190, 216, 250],
                    "What is their diameter, in mm?|How big are the blades, in mm? / es: ¿De qué diámetro, en mm?|¿Cuántos mm de diámetro tienen?",
                ),
                "teeth": choice(
                    "Teeth",
                    {"hss": "HSS", "carbide": "carbide / es: metal duro"},
                    "What are the teeth made of, HSS or carbide?|Are the teeth HSS or carbide? / es: ¿Los dientes son de HSS o de metal duro?|¿De qué son los dientes: HSS o metal duro?",
                ),
                "express?": flag("Done by the next day", "by tomorrow|as an express job / es: urgente"),
            },
            """
        What does it cost to grind {count} saw blades[ of {diameter_mm} mm] with {teeth} teeth[, {express}]?
        Quote for {count} saw blades, {diameter_mm} mm[, {teeth} teeth].
        How much for grinding [{count}|a few] blades of {diameter_mm} mm, {teeth} teeth[, {express}]?
        I have {count} {teeth} blades[ with {diameter_mm} mm]. What would you charge to grind them[ {express}]?
        Price for {count} blades with a diameter of {diameter_mm} mm, please[, {teeth} teeth][, {express}].
        es: ¿Cuánto cuesta afilar {count} hojas de {diameter_mm} mm[ con dientes de {teeth}]?
        """,
        ),
    ),
)

ARCHERY = Field(
    "archeryrange",
    (
        Job(
            "target.reserve",
            "Reserve a target on the range.",
            {
                "date": day("Day", "On which day?|For which date? / de: An welchem Tag?|Für welches Datum?"),
                "start": clock(
                    "Start",
                    "From what time?|When would you like to start? / de: Ab wann?|Um wie viel Uhr soll es losgehen?",
                    (9, 17),
                ),
                "distance_m": number(
                    "Distance in metres",
                    [18, 30, 50, 70],
                    "At which distance, in metres?|How far away should the target be: 18, 30, 50 or 70 m? / de: Auf welche Entfernung, in Metern?|Wie weit weg soll die Scheibe sein: 18, 30, 50 oder 70 m?",
                ),
                "archers?": number("Number of archers", [2, 3, 4], default=1),
            },
            """
        Reserve a target at {distance_m} m[ on {date}] at {start}[ for {archers} archers].
        I'd like to shoot {distance_m} metres on {date}[ from {start}].
        A target on {date} at {start}[, {distance_m} m][, {archers} archers].
        Target at {distance_m} m[, {date}], {start}, please.
        Can I have a target[ at {distance_m} metres][ on {date}] from {start}[ for {archers} archers]?
        de: Bitte eine Scheibe[ auf {distance_m} m] am {date} um {start}.
        de: Scheibe auf {distance_m} m reservieren, am {date}[ ab {start}].
        """,
            """
        Two targets on {date} from {start}: one at {distance_m:1} m and one [at {distance_m:2} m|at another distance]. >> At which distance should the second target be, in metres? Then I reserve both. | How far away is the second target: 18, 30, 50 or 70 m? I'll reserve the two then.
        """,
        ),
        Job(
            "arrows.order",
            "Order arrows that are made to measure.",
            {
                "count": number(
                    "Number of arrows",
                    [6, 12, 24],
                    "How many arrows?|How many do you need? / fr: Combien de flèches ?|Combien en faut-il ?",
                ),
                "length_in": number(
                    "Length in inches",
                    [27, 28.5, 29, 30.5],
                    "How long should the arrows be, in inches?|Which length in inches? / fr: De quelle longueur, en pouces ?|Quelle longueur en pouces ?",
                ),
                "spine": choice(
                    "Stiffness",
                    {"400": "spine 400", "500": "spine 500", "600": "spine 600", "700": "spine 700"},
                    "Which spine: 400, 500, 600 or 700?|How stiff should they be, spine 400, 500, 600 or 700? / fr: Quel spine : 400, 500, 600 ou 700 ?|Quelle rigidité : 400, 500, 600 ou 700 ?",
                ),
                "feathers?": choice(
                    "Feathers",
                    {
                        "natural": "natural feathers / fr: plumes naturelles",
                        "plastic": "plastic vanes / fr: plumes en plastique",
                    },
                    default="plastic",
                ),
            },
            """
        Order {count} arrows[, {length_in} inches long], {spine}[, with {feathers}].
        I need {count} arrows of {length_in} inches[, {spine}].
        [{count} arrows|New arrows] please, {length_in} inches, {spine}[, {feathers}].
        Make me {count} arrows[, {spine}][, {length_in} inches].
        Arrows with {spine}[, length {length_in} inches], {count} of them[, {feathers}].
        fr: Je voudrais {count} flèches[ de {length_in} pouces], {spine}[, {feathers}].
        """,
            """
        Two sets of {count} arrows with {spine}: one {length_in:1} inches long and the other [{length_in:2} inches|a bit shorter]. >> How long should the arrows of the second set be, in inches? Then I order both. | Which length in inches for the second set? I'll order the two then.
        """,
        ),
    ),
)

FISH = {
    "cod": "cod / de: Kabeljau / es: bacalao",
    "herring": "herring / de: Hering / es: arenque",
    "sole": "sole / de: Seezunge / es: lenguado",
    "mackerel": "mackerel / de: Makrele / es: caballa",
}

FISH_HALL = Field(
    "fishhall",
    (
        Job(
            "Hall_OrderFish",
            "Order fish for a stall.",
            {
                "stall": code(
                    "Number of the stall",
                    "F##",
                    "For which stall?|What is the number of the stall? / es: ¿Para qué puesto?|¿Cuál es el número del puesto?",
                ),
                "fish": choice(
                    "Fish",
                    FISH,
                    "Which fish: cod, herring, sole or mackerel?|What should I order: cod, herring, sole or mackerel? / es: ¿Qué pescado: bacalao, arenque, lenguado o caballa?|¿Qué pido: bacalao, arenque, lenguado o caballa?",
                ),
                "kg": number(
                    "Amount in kg",
                    [15, 20, 35, 60],
                    "How many kg?|How much, in kg? / es: ¿Cuántos kg?|¿Qué cantidad, en kg?",
                ),
                "form": choice(
                    "How it comes",
                    {"whole": "whole / es: en piezas enteras", "fillet": "as fillets / es: en filetes"},
                    "Whole or as fillets?|Should it come whole or as fillets? / es: ¿En piezas enteras o en filetes?|¿Cómo lo quieres: en piezas enteras o en filetes?",
                ),
                "ice?": flag("With ice", "with ice|on ice / es: con hielo"),
            },
            """
        {kg} kg of {fish}[, {form},] for stall {stall}[, {ice}].
        Stall {stall} wants [{kg} kg of|some] {fish}, {form}[, {ice}].
        Order {fish} for [{stall}|my stall]: {kg} kg, {form}.
        Please get {kg} kg[ of {fish}] for stall {stall}, {form}.
        For {stall}: {kg} kg {fish}[, {form}][, {ice}].
        es: Pide {kg} kg de {fish}[ para el puesto {stall}][, {form}].
        es: El puesto {stall} quiere [{kg} kg de |]{fish}, {form}[, {ice}].
        """,
            """
        For stall {stall}, all {form}: {kg:1} kg of {fish:1} and [{kg:2} kg of|some] {fish:2}. >> How many kg of {fish:2}? Then I order both. | How much {fish:2}, in kg? I'll order the two then.
        Stall {stall} needs {kg} kg of {fish:1}, {form:1}, and {kg} kg of {fish:2}[, {form:2}|, I forgot how]. >> Should the {fish:2} come whole or as fillets? Then I order both. | Whole or as fillets, the {fish:2}? I order both then.
        es: Para el puesto {stall}, {form}: {kg:1} kg de {fish:1} y [{kg:2} kg de|algo de] {fish:2}. >> ¿Cuántos kg de {fish:2}? Después pido los dos. | ¿Qué cantidad de {fish:2}, en kg? Luego hago los dos pedidos.
        """,
        ),
        Job(
            "Hall_BidLot",
            "Bid for a lot of the morning auction.",
            {
                "lot": code(
                    "Number of the lot",
                    "###",
                    "Which lot?|For which lot should I bid? / de: Für welches Los?|Welche Losnummer?",
                ),
                "euros_per_kg": number(
                    "Bid in euros per kg",
                    [3.2, 4.8, 6.5, 11.4],
                    "How much do you bid, in euros per kg?|What is your bid per kg? / de: Wie viel bietest du, in Euro pro kg?|Wie hoch ist das Gebot pro kg?",
                ),
                "buyer": text(
                    "Name of the buyer",
                    ["Kroon", "Da Silva", "Haugen", "Teixeira"],
                    "Who is the buyer?|In whose name should I bid? / de: Wer ist der Käufer?|Auf welchen Namen?",
                ),
            },
            """
        Bid {euros_per_kg} euros per kg on lot {lot}[ for {buyer}].
        {buyer} bids[ {euros_per_kg} euros a kg] on lot {lot}.
        Lot {lot}, buyer {buyer}[, {euros_per_kg} euros per kg].
        Put in a bid for {buyer}[ on lot {lot}], {euros_per_kg} euros per kg.
        For {buyer}, please bid on [lot {lot}|the cod over there][ with {euros_per_kg} euros per kg].
        de: {buyer} bietet {euros_per_kg} Euro pro kg[ auf Los {lot}].
        de: Gebot auf Los {lot}[ für {buyer}][: {euros_per_kg} Euro pro kg].
        """,
            """
        Two bids for {buyer}: lot {lot:1} with {euros_per_kg:1} euros a kg and lot {lot:2} [with {euros_per_kg:2}|with less]. >> How much does {buyer} bid for lot {lot:2}, in euros per kg? Then I place both bids. | What is the bid for lot {lot:2}, per kg? I'll place the two then.
        de: {buyer} bietet {euros_per_kg:1} Euro pro kg auf Los {lot:1} und auf Los {lot:2} [{euros_per_kg:2} Euro|auch, aber mehr]. >> Wie viel bietet {buyer} für Los {lot:2}, in Euro pro kg? Dann gebe ich beide Gebote ab. | Wie hoch ist das Gebot für Los {lot:2} pro kg? Danach biete ich für beide.
        """,
        ),
    ),
)

LETTERPRESS = Field(
    "letterpress",
    (
        Job(
            "press.order_cards",
            "Order printed cards.",
            {
                "text": text(
                    "First line of the card",
                    ["We moved", "Thank you", "Save the date", "Open studio"],
                    "What should the cards say?|Which text should be on the cards? / fr: Quel texte faut-il imprimer ?|Que doivent dire les cartes ?",
                ),
                "count": number(
                    "Number of cards",
                    [50, 80, 120, 250],
                    "How many cards?|How many should be printed? / fr: Combien de cartes ?|Combien faut-il en imprimer ?",
                ),
                "format": choice(
                    "Format",
                    {"A6": "A6", "A7": "A7", "square": "square / fr: carré"},
                    "Which format: A6, A7 or square?|Should they be A6, A7 or square? / fr: Quel format : A6, A7 ou carré ?|En A6, en A7 ou en carré ?",
                ),
                "ink?": choice(
                    "Colour",
                    {
                        "black": "black / fr: noir",
                        "vermilion": "vermilion / fr: vermillon",
                        "petrol": "petrol / fr: pétrole",
                    },
                    default="black",
                ),
            },
            """
        Print {count} cards[ in {format} format] with "{text}"[, in {ink}].
        I'd like [{count}|some] cards saying "{text}", format {format}.
        {count} cards, {format}[, text: "{text}"][, ink: {ink}].
        Order cards for me: "{text}"[, {count} of them], {format}[, printed in {ink}].
        Please print "{text}" on [{count} |]cards[ ({format})].
        fr: Imprimez {count} cartes « {text} »[, format {format}][, encre : {ink}].
        """,
            """
        Two prints, both {format}: {count:1} cards with "{text:1}" and [{count:2}|a smaller number] with "{text:2}". >> How many cards with "{text:2}"? Then I order both. | How many should say "{text:2}"? I'll order the two prints then.
        {count} cards each: "{text:1}" in {format:1} format and "{text:2}" [in {format:2} format|in another format]. >> Which format should "{text:2}" have: A6, A7 or square? Then I order both. | In which format should I print "{text:2}"? I order both then.
        """,
        ),
        Job(
            "press.cut_paper",
            "Cut sheets of paper to a size.",
            {
                "paper": choice(
                    "Paper",
                    {
                        "cotton": "cotton paper / de: Baumwollpapier",
                        "kraft": "kraft paper / de: Kraftpapier",
                        "laid": "laid paper / de: Bütten",
                    },
                    "Which paper: cotton, kraft or laid?|What should be cut: cotton, kraft or laid paper? / de: Welches Papier: Baumwolle, Kraft oder Bütten?|Was soll geschnitten werden: Baumwollpapier, Kraftpapier oder Bütten?",
                ),
                "width": number("Width", [9, 14, 21], "How wide?|What is the width? / de: Wie breit?|Welche Breite?"),
                "height": number("Height", [6, 10, 29], "How high?|What is the height? / de: Wie hoch?|Welche Höhe?"),
                "unit": choice(
                    "Unit of width and height",
                    {"cm": "cm", "inch": "inches / de: Zoll"},
                    "Is that in cm or in inches?|Are these numbers cm or inches? / de: Sind das cm oder Zoll?|In cm oder in Zoll?",
                ),
                "sheets": number(
                    "Number of sheets",
                    [25, 40, 100],
                    "How many sheets?|How many sheets should be cut? / de: Wie viele Bögen?|Wie viele Bögen sollen es sein?",
                ),
            },
            """
        Cut {sheets} sheets of {paper} to {width} by {height}[ {unit}].
        {sheets} sheets[ of {paper}], {width} x {height} {unit} (width x height), please.
        I need [{sheets} sheets of |]{paper} cut to {width} wide and {height} high, in {unit}.
        Please cut the {paper} to {width} x {height}[ {unit}], {sheets} sheets.
        Cut {sheets} sheets of {paper}[ to {width} x {height} {unit}].
        de: Bitte {sheets} Bögen {paper} auf {width} x {height}[ {unit}] schneiden.
        de: {paper} schneiden, {width} x {height} {unit}[, {sheets} Bögen].
        """,
            asks={
                "width+height+unit": "To which size? I need the width, the height and the unit.|How wide and how high should the sheets be, and is that in cm or inches? / de: Auf welche Größe? Ich brauche Breite, Höhe und Einheit.|Wie breit und wie hoch, in cm oder Zoll?"
            },
        ),
        Job(
            "press.lend_type",
            "Lend a case of type.",
            {
                "typefaces": several(
                    "Names of the typefaces",
                    ["Bodoni", "Futura", "Garamond", "Clarendon", "Gill Sans"],
                    "Which typefaces do you want to lend?|What are the names of the typefaces? / es: ¿Qué tipografías?|¿Cuáles son las tipografías?",
                ),
                "borrower": text(
                    "Who borrows them",
                    ["Atelier Nord", "Casa Tipo", "Studio Quill"],
                    "Who borrows them?|To whom are they lent? / es: ¿Quién las toma prestadas?|¿A quién se las presto?",
                ),
                "back_on": day(
                    "Day of return",
                    "When will they be back?|On which day do they come back? / es: ¿Qué día vuelven?|¿Hasta cuándo se prestan?",
                ),
            },
            """
        Lend {typefaces} to {borrower}[, back on {back_on}].
        {borrower} borrows [{typefaces}|a few typefaces] until {back_on}.
        [{borrower}|A colleague] takes {typefaces} and brings them back[ on {back_on}| soon].
        Note the loan of [{typefaces}|the usual cases] to {borrower}, back {back_on}.
        Please lend {typefaces}[ to {borrower}] until {back_on}.
        es: Presta {typefaces} a {borrower}[ hasta el {back_on}].
        """,
        ),
    ),
)

FIELDS_3 = (SILOS, DOCKS, MAIL_BOATS, ARTIFACTS, DIALYSIS, WORKSHOP, ARCHERY, FISH_HALL, LETTERPRESS)
