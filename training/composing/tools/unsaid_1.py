"""Tools that `omissions.py` asks for with and without a value: a sawmill, code, an airfield, PDFs, sizes, fountains."""

# ruff: noqa: E501 (a sentence is one line)

from composing.said.asked_for import Field, Job, choice, clock, code, day, flag, number, several, text

SAWMILL = Field(
    "sawmill",
    (
        Job(
            "mill.cut_log",
            "Put one log on the list of the band saw.",
            {
                "log": code(
                    "Number on the end of the log",
                    "L-###",
                    "Which log should be cut? Please give me its number.|What is the number of the log? / de: Welcher Stamm soll gesägt werden?|Welche Nummer hat der Stamm?",
                ),
                "profile": choice(
                    "What is cut from it",
                    {
                        "beam": "beams / de: Balken",
                        "plank": "planks / de: Bohlen",
                        "batten": "battens / de: Latten",
                        "post": "posts / de: Pfosten",
                    },
                    "What should be cut from {log}: beams, planks, battens or posts?|Which profile would you like: beam, plank, batten or post? / de: Was soll daraus werden: Balken, Bohlen, Latten oder Pfosten?|Welches Profil brauchst du: Balken, Bohlen, Latten oder Pfosten?",
                ),
                "thickness_mm": number(
                    "Thickness in millimetres",
                    [18, 24, 32, 45, 60, 80],
                    "How thick should the pieces be, in millimetres?|Which thickness do you want, in mm? / de: Wie dick sollen die Stücke werden, in Millimetern?|Welche Dicke in mm?",
                ),
                "keep_bark?": flag(
                    "Leave the bark on the edges", "leave the bark on|bark stays on / de: Rinde dranlassen"
                ),
            },
            """
        Saw {log}[ into {profile}][, {thickness_mm} mm thick][, {keep_bark}].
        Please put [log {log}|the log from this morning] on the saw: {profile}[ of {thickness_mm} mm][, {keep_bark}].
        {log} can go on the band saw now[, {profile} please][, {thickness_mm} mm thick].
        I need {profile}[ {thickness_mm} mm thick] from [{log}|the oak log].
        Could you have {profile}[ of {thickness_mm} mm] cut from [log {log}|my log][, {keep_bark}]?
        de: Bitte [Stamm {log}|den Stamm] sägen: {profile}[, {thickness_mm} mm dick][, {keep_bark}].
        de: {log} auf die Säge[, wir brauchen {profile}], Dicke bitte {thickness_mm} mm.
        """,
            """
        Two logs for the saw, both for {profile}: {log:1} at {thickness_mm:1} mm and {log:2} [at {thickness_mm:2} mm|a bit thicker]. >> How thick should the pieces from {log:2} be, in mm? Then I put both logs on the list. | Which thickness in millimetres for {log:2}? Once I know, I enter both.
        Cut {log:1} into {profile:1} and {log:2} [into {profile:2}|into something else], {thickness_mm} mm each. >> What should be cut from {log:2}? Then I order both cuts. | Which profile do you want from {log:2}? I'll enter the two together then.
        de: Zwei Stämme, beide {thickness_mm} mm: {log:1} zu {profile:1}, {log:2} [zu {profile:2}|auch noch, aber anders]. >> Was soll aus {log:2} werden? Dann trage ich beide ein. | Zu welchem Profil soll {log:2} gesägt werden? Danach gebe ich beide Aufträge ein.
        """,
        ),
        Job(
            "mill.dry_stack",
            "Start the drying of a stack in the drying chamber.",
            {
                "stack": code(
                    "Number of the stack",
                    "S##",
                    "Which stack should be dried?|What is the number of the stack? / de: Welcher Stapel soll getrocknet werden?|Um welchen Stapel geht es?",
                ),
                "target_percent": number(
                    "Moisture at the end, in percent",
                    [8, 10, 12, 15, 18],
                    "Down to which moisture should it dry, in percent?|What is the target moisture in percent? / de: Auf wie viel Prozent Feuchte soll getrocknet werden?|Welche Endfeuchte in Prozent?",
                ),
                "degrees_c?": number("Temperature in °C", [45, 55, 65], default=55),
            },
            """
        Start drying stack {stack}[ to {target_percent} percent][ at {degrees_c} °C].
        [Stack {stack}|The stack by the gate] should go into the chamber, down to {target_percent} % moisture[, {degrees_c} °C].
        Get [{stack}|the larch] dried to {target_percent} percent[ at {degrees_c} degrees Celsius].
        Please dry {stack}[ until it has {target_percent} percent left].
        Drying chamber on for {stack}[, target {target_percent} %][, {degrees_c} °C].
        de: Bitte Stapel {stack} trocknen[, auf {target_percent} Prozent][, bei {degrees_c} °C].
        de: [{stack}|Der neue Stapel] kann in die Kammer, Zielfeuchte {target_percent} Prozent.
        """,
            """
        Dry two stacks: {stack:1} to {target_percent:1} percent and {stack:2} [to {target_percent:2} percent|drier than that]. >> Down to how many percent should {stack:2} dry? Then I start both. | What is the target moisture of {stack:2}? I'll start the two stacks as soon as I know.
        Chamber for {stack:1}, {target_percent:1} % please, and the same for {stack:2}[ but {target_percent:2} %|, only not quite as dry]. >> Which moisture should {stack:2} have in the end, in percent? I start both then. | To how many percent should I dry {stack:2}? After that I start both stacks.
        """,
        ),
        Job(
            "mill.deliver",
            "Plan the delivery of sawn timber to a customer.",
            {
                "order": code(
                    "Number of the order",
                    "SW-####",
                    "Which order should be delivered?|What is the number of the order? / de: Welcher Auftrag soll geliefert werden?|Wie lautet die Auftragsnummer?",
                ),
                "date": day(
                    "Day of delivery",
                    "On which day should {order} be delivered?|Which date should I plan? / de: An welchem Tag soll geliefert werden?|Für welches Datum soll ich die Lieferung planen?",
                ),
                "vehicle": choice(
                    "What it is delivered with",
                    {
                        "van": "van / de: Transporter",
                        "crane_truck": "crane truck / de: Kranwagen",
                        "trailer": "trailer / de: Anhänger",
                    },
                    "Which vehicle should deliver it: the van, the crane truck or the trailer?|With what should it go: van, crane truck or trailer? / de: Womit soll geliefert werden: Transporter, Kranwagen oder Anhänger?|Welches Fahrzeug: Transporter, Kranwagen oder Anhänger?",
                ),
                "call_before?": flag(
                    "Call the customer half an hour before",
                    "call them half an hour before|give them a ring before you arrive / de: vorher anrufen",
                ),
            },
            """
        Deliver order {order}[ on {date}][ with the {vehicle}][, {call_before}].
        Please plan the delivery of [{order}|their last order][ for {date}], by {vehicle}.
        {order} goes out[ on {date}][, {vehicle}].
        The customer wants [{order}|the timber] on {date}[, the {vehicle} would be best][, {call_before}].
        Can {order} be brought[ on {date}]? [Use the {vehicle}.|The lane is narrow there.]
        de: Bitte [Auftrag {order}|die Bohlen][ am {date}] liefern, Fahrzeug: {vehicle}[, {call_before}].
        de: Lieferung {order}[ am {date}][, mit: {vehicle}].
        """,
        ),
    ),
)

CODE_HOST = Field(
    "codehost",
    (
        Job(
            "milestone_open",
            "Open a milestone in a repository.",
            {
                "owner": text(
                    "User or organisation that owns the repository",
                    ["tidewater", "kobalt-labs", "mirelabs", "hexaplane"],
                    "Who owns the repository {repo}?|Under which user or organisation is {repo}? / es: ¿De qué usuario u organización es {repo}?|¿Quién es el propietario de {repo}?",
                ),
                "repo": text(
                    "Name of the repository",
                    ["gridview", "lantern", "pagecast", "sluice"],
                    "Which repository is the milestone for?|What is the name of the repository? / es: ¿En qué repositorio lo abro?|¿Cómo se llama el repositorio?",
                ),
                "title": text(
                    "Title",
                    ["v2.0", "beta 3", "autumn cleanup", "v1.4"],
                    "What should the milestone be called?|Which title should it get? / es: ¿Qué título le pongo?|¿Cómo se llamará el hito?",
                ),
                "due?": day("Due day"),
            },
            """
        Open a milestone[ called {title}] in [{owner}/{repo}|our repository][, due {due}].
        New milestone "{title}"[ in {owner}/{repo}][, due {due}].
        We need a milestone {title}[ for {owner}/{repo}].
        Set up the milestone {title} in [{repo} of {owner}|the usual repo][, due on {due}].
        Create a milestone in {owner}/{repo}[, title {title}][, due {due}].
        es: Abre un hito[ llamado {title}] en {owner}/{repo}.
        es: Abre el hito {title}[ en {owner}/{repo}][, para el {due}].
        """,
            asks={
                "owner+repo": "In which repository (owner/name) should I open the milestone?|Which repository is it for? I need the owner and the name. / es: ¿En qué repositorio (propietario/nombre) abro el hito?|¿Para qué repositorio es? Necesito el propietario y el nombre."
            },
        ),
        Job(
            "deploy_key_add",
            "Add a deploy key to a repository.",
            {
                "repo": text(
                    "owner/name",
                    ["kobalt-labs/lantern", "mirelabs/pagecast", "hexaplane/sluice", "tidewater/buoy"],
                    "To which repository (owner/name) should I add the key?|Which repository is the key for? Please give me owner/name. / es: ¿A qué repositorio (propietario/nombre) añado la clave?|¿Para qué repositorio es la clave?",
                ),
                "label": text(
                    "Label of the key",
                    ["build-box", "staging-runner", "nas-backup", "ci-arm"],
                    "What should the key be called?|Which label should the key have? / es: ¿Qué etiqueta le pongo a la clave?|¿Cómo se llamará la clave?",
                ),
                "access": choice(
                    "What the key may do",
                    {
                        "read": "read-only|read / es: lectura|solo lectura",
                        "write": "write|read and write / es: escritura",
                    },
                    "May the key only read, or also write?|Should {label} get read or write access? / es: ¿La clave será de lectura o de escritura?|¿Qué acceso le doy: lectura o escritura?",
                ),
            },
            """
        Add the deploy key {label}[ to {repo}][ with {access} access].
        {repo} needs a deploy key[ labelled {label}][, access: {access}].
        Put a deploy key[ named {label}] on [{repo}|the repository], {access} access.
        Can you add a key[ called {label}] to {repo}[? Access: {access}.|?]
        I set up a new machine, so please add its deploy key {label}[ to {repo}], {access} access.
        es: Añade la clave {label} a [{repo}|nuestro repositorio][, acceso de {access}].
        es: Hace falta una clave de despliegue[, etiqueta {label},] en {repo}, acceso de {access}.
        """,
            """
        Two deploy keys for {repo}: {label:1} with {access:1} access and one more, {label:2}[ with {access:2} access|]. >> Should {label:2} get read or write access? Then I add both keys. | What may {label:2} do, read or write? I'll add the two together then.
        """,
        ),
        Job(
            "branch_protect",
            "Protect a branch: a number of approvals is needed before a merge.",
            {
                "repo": text(
                    "owner/name",
                    ["kobalt-labs/lantern", "mirelabs/pagecast", "hexaplane/sluice", "tidewater/buoy"],
                    "In which repository (owner/name)?|Which repository is that? I need owner/name. / de: In welchem Repository (owner/name)?|Um welches Repository geht es? Bitte als owner/name.",
                ),
                "branch": text(
                    "Name of the branch",
                    ["main", "develop", "release/5", "stable"],
                    "Which branch should be protected?|What is the name of the branch? / de: Welcher Branch soll geschützt werden?|Wie heißt der Branch?",
                ),
                "approvals": number(
                    "Approvals needed, 1 to 4",
                    [2, 3, 4],
                    "How many approvals should be needed?|How many people have to approve: 1, 2, 3 or 4? / de: Wie viele Freigaben sollen nötig sein?|Wie viele Personen müssen zustimmen?",
                ),
                "block_admins?": flag(
                    "Whether it holds for administrators too", "admins included|also for admins / de: auch für Admins"
                ),
            },
            """
        Protect {branch}[ in {repo}] with {approvals} approvals[, {block_admins}].
        Branch protection for [{branch}|a branch] in {repo}[, {approvals} approvals needed][, {block_admins}].
        From now on, merges to {branch}[ of {repo}] should need approvals[: {approvals} of them].
        Nobody should merge into {branch}[ in {repo}] without {approvals} approvals.
        In {repo}, protect [{branch}|the other branch too]. Approvals needed: {approvals}.
        de: Bitte {branch}[ in {repo}] schützen[, nötige Freigaben: {approvals}][, {block_admins}].
        """,
            """
        Protect two branches in {repo}: {branch:1} with {approvals:1} approvals and {branch:2} [with {approvals:2}|with another number of them]. >> How many approvals should {branch:2} need? Then I protect both. | How many approvals for {branch:2}? I set both branches as soon as I know.
        de: In {repo} zwei Branches schützen: {branch:1} mit {approvals:1} Freigaben und {branch:2} [mit {approvals:2}|auch, aber mit einer anderen Zahl]. >> Wie viele Freigaben soll {branch:2} brauchen? Dann schütze ich beide. | Mit wie vielen Freigaben soll ich {branch:2} schützen? Danach stelle ich beide ein.
        """,
        ),
        Job(
            "wiki_page_move",
            "Move a page of the wiki of a repository to another section.",
            {
                "repo": text(
                    "owner/name",
                    ["kobalt-labs/lantern", "mirelabs/pagecast", "hexaplane/sluice"],
                    "In which repository (owner/name) is the page?|Which repository's wiki do you mean? Please give me owner/name. / fr: Dans quel dépôt (propriétaire/nom) se trouve la page ?|De quel dépôt s'agit-il ? Il me faut propriétaire/nom.",
                ),
                "page": text(
                    "Title of the page",
                    ["Release checklist", "Style guide", "Glossary", "Local setup"],
                    "Which page should be moved?|What is the title of the page? / fr: Quelle page faut-il déplacer ?|Quel est le titre de la page ?",
                ),
                "section": text(
                    "Title of the section that it goes to",
                    ["Handbook", "Archive", "Onboarding", "Operations"],
                    "To which section should {page} go?|Where should the page be moved to? / fr: Vers quelle section faut-il la déplacer ?|Dans quelle section dois-je la mettre ?",
                ),
            },
            """
        Move the wiki page {page}[ of {repo}] to {section}.
        In the wiki of {repo}, [{page}|one of the pages] belongs in {section}.
        The page {page} in the wiki of {repo} is in the wrong place[, it belongs under {section}|, please move it].
        Wiki of {repo}: move {page}[ to the section {section}].
        Please move {page}[ in the wiki of {repo}][ to {section}].
        fr: Déplace la page {page} du wiki[ de {repo}] vers la section {section}.
        fr: Dans le wiki de {repo}, déplace {page}[ dans la section {section}].
        """,
        ),
    ),
)

AIRFIELD = Field(
    "airfield",
    (
        Job(
            "airfield_park",
            "Reserve a place in a hangar for an aircraft.",
            {
                "registration": text(
                    "Registration of the aircraft",
                    ["D-EKLM", "F-GTPA", "G-BOWZ", "HB-CFR", "EC-IJN"],
                    "Which aircraft is it? Please give me its registration.|What is the registration of the aircraft? / fr: Quelle est l'immatriculation de l'avion ?|De quel avion s'agit-il ?",
                ),
                "hangar": choice(
                    "Hangar",
                    {
                        "north": "north hangar / fr: hangar nord",
                        "south": "south hangar / fr: hangar sud",
                        "heated": "heated hangar / fr: hangar chauffé",
                    },
                    "Which hangar would you like: north, south or heated?|In which hangar should {registration} stand: north, south or the heated one? / fr: Quel hangar : nord, sud ou chauffé ?|Dans quel hangar doit-il être : nord, sud ou chauffé ?",
                ),
                "from_date": day(
                    "First night",
                    "From which day on?|When does the stay begin? / fr: À partir de quel jour ?|Quelle est la première nuit ?",
                ),
                "to_date": day(
                    "Day of departure",
                    "Until which day should the place be kept?|When does {registration} leave? / fr: Jusqu'à quel jour ?|Quel est le jour du départ ?",
                    after="from_date",
                ),
                "tow?": flag("Tow it in and out", "with towing|please tow it in and out / fr: avec remorquage"),
            },
            """
        Reserve a place in the {hangar} for {registration} from {from_date}[ to {to_date}][, {tow}].
        {registration} needs a place[ in the {hangar}] from {from_date} until {to_date}[, {tow}].
        I'm flying in with [{registration}|a friend's plane] on {from_date} and leaving[ on {to_date}| some days later]; put it in the {hangar}, please.
        Hangar place for {registration}[, {hangar}][, from {from_date} to {to_date}].
        Can {registration} stand in the {hangar}[ from {from_date} to {to_date}][, {tow}]?
        fr: Une place pour {registration} dans le {hangar} à partir du {from_date}[, jusqu'au {to_date}].
        fr: Réservez une place pour {registration}[ dans le {hangar}], du {from_date} au {to_date}[, {tow}].
        """,
            """
        Two planes for the {hangar}, both from {from_date}: {registration:1} until {to_date:1} and {registration:2} [until {to_date:2}|for longer]. >> Until which day does {registration:2} stay? Then I reserve both places. | When does {registration:2} leave? I'll book the two places then.
        Both from {from_date} to {to_date}: {registration:1} in the {hangar:1}, {registration:2} [in the {hangar:2}|in another hangar]. >> In which hangar should {registration:2} stand? Then I reserve both. | Which hangar for {registration:2}: north, south or heated? I book both after that.
        """,
            asks={
                "from_date+to_date": "For which period? I need the first night and the day of departure.|From when until when should {registration} stand there? / fr: Pour quelle période ?|Du combien au combien ?"
            },
        ),
        Job(
            "airfield_refuel",
            "Order fuel for an aircraft.",
            {
                "registration": text(
                    "Registration of the aircraft",
                    ["D-EKLM", "F-GTPA", "G-BOWZ", "HB-CFR", "EC-IJN"],
                    "Which aircraft should be refuelled?|What is the registration? / de: Welches Flugzeug soll betankt werden?|Wie lautet das Kennzeichen?",
                ),
                "fuel": choice(
                    "Kind of fuel",
                    {"avgas_100ll": "Avgas 100LL", "mogas": "Mogas", "jet_a1": "Jet A-1"},
                    "Which fuel: Avgas 100LL, Mogas or Jet A-1?|What does {registration} take: Avgas 100LL, Mogas or Jet A-1? / de: Welcher Kraftstoff: Avgas 100LL, Mogas oder Jet A-1?|Was soll getankt werden: Avgas 100LL, Mogas oder Jet A-1?",
                ),
                "litres": number(
                    "Amount in litres",
                    [40, 65, 80, 120, 150],
                    "How many litres?|How much should go in, in litres? / de: Wie viele Liter?|Wie viel soll getankt werden, in Litern?",
                ),
            },
            """
        Fuel for {registration}, {fuel}[, {litres} litres].
        Please refuel {registration}[: {litres} litres][, {fuel}].
        {registration} needs [{litres} litres of|some] fuel before noon[, {fuel}].
        I'd like {litres} litres[ of {fuel}] in [{registration}|my plane].
        Top up {registration}: {fuel}[, {litres} litres].
        de: Bitte {registration} betanken[, {litres} Liter][, Sorte {fuel}].
        """,
            """
        Refuel {registration:1} with {litres:1} litres and {registration:2} [with {litres:2}|with rather more], {fuel} for both. >> How many litres for {registration:2}? Then I order both. | How much {fuel} does {registration:2} get, in litres? I'll order for both then.
        de: {fuel} für zwei Flugzeuge: {registration:1} {litres:1} Liter und {registration:2} [{litres:2} Liter|etwas weniger]. >> Wie viele Liter bekommt {registration:2}? Dann bestelle ich für beide. | Wie viel soll in {registration:2}, in Litern? Danach bestelle ich beides.
        """,
        ),
        Job(
            "airfield_landing_fee",
            "Compute the landing fee.",
            {
                "mtow_kg": number(
                    "Maximum take-off mass in kg",
                    [650, 890, 1160, 1750],
                    "What is the maximum take-off mass of the aircraft, in kg?|How heavy is it at most at take-off, in kg? / es: ¿Cuál es la masa máxima al despegue, en kg?|¿Cuántos kg pesa como máximo al despegar?",
                ),
                "noise_class": choice(
                    "Noise class",
                    {"A": "class A / es: clase A", "B": "class B / es: clase B", "C": "class C / es: clase C"},
                    "Which noise class does it have: A, B or C?|Is it noise class A, B or C? / es: ¿Qué clase de ruido tiene: A, B o C?|¿Es de clase A, B o C?",
                ),
                "landings?": number("Number of landings", [2, 3, 4, 5], default=1),
                "weekend?": flag("Whether it is on a weekend", "on a weekend / es: en fin de semana"),
            },
            """
        What's the landing fee for an aircraft[ of {mtow_kg} kg][, noise {noise_class}][, {landings} landings]?
        Landing fee please: [{mtow_kg} kg, |]noise {noise_class}[, {weekend}].
        How much do I pay for landing with {mtow_kg} kg[ and noise {noise_class}][ {weekend}]?
        I land with {mtow_kg} kg[, {landings} times][, noise {noise_class}]. What does it cost?
        The fee for landing a plane in noise {noise_class}[ with {mtow_kg} kg][, {weekend}], please.
        es: ¿Cuánto cuesta aterrizar con {mtow_kg} kg[, ruido de {noise_class}]?
        """,
        ),
    ),
)

PDF_DESK = Field(
    "pdfdesk",
    (
        Job(
            "pdf.stamp",
            "Put a stamp on a page of a PDF.",
            {
                "file": text(
                    "File name",
                    ["offer.pdf", "lease.pdf", "minutes.pdf", "plan-b.pdf"],
                    "Which file should be stamped?|What is the name of the PDF? / de: Welche Datei soll gestempelt werden?|Wie heißt die PDF-Datei?",
                ),
                "stamp": choice(
                    "Stamp",
                    {"paid": "PAID", "draft": "DRAFT", "approved": "APPROVED", "void": "VOID"},
                    "Which stamp: paid, draft, approved or void?|What should the stamp say: paid, draft, approved or void? / de: Welcher Stempel: PAID, DRAFT, APPROVED oder VOID?|Was soll der Stempel sagen: PAID, DRAFT, APPROVED oder VOID?",
                ),
                "page": number(
                    "Page, from 1",
                    [1, 2, 3, 4, 7],
                    "On which page?|Which page of {file} should get the stamp? / de: Auf welche Seite?|Welche Seite soll den Stempel bekommen?",
                ),
                "x_mm": number(
                    "Distance from the left edge in mm",
                    [15, 25, 110, 140],
                    "How far from the left edge, in mm?|What is the distance from the left edge, in mm? / de: Wie weit vom linken Rand, in mm?|Welcher Abstand vom linken Rand, in mm?",
                ),
                "y_mm": number(
                    "Distance from the top edge in mm",
                    [12, 20, 240, 265],
                    "How far from the top edge, in mm?|What is the distance from the top, in mm? / de: Wie weit vom oberen Rand, in mm?|Welcher Abstand von oben, in mm?",
                ),
            },
            """
        Stamp page {page} of {file} with {stamp}[, {x_mm} mm from the left and {y_mm} mm from the top].
        Put {stamp} on [page {page} of |]{file}, {x_mm} mm from the left edge and {y_mm} mm from the top edge.
        {file}, page {page}: stamp it[ {stamp}] at {x_mm} mm from the left[, {y_mm} mm from the top].
        The stamp {stamp} goes on page {page} of [{file}|the contract][, {x_mm} mm from the left and {y_mm} mm from the top].
        I need {stamp} on page {page} of {file}[, {x_mm} mm from the left], {y_mm} mm from the top.
        de: Bitte den Stempel {stamp} auf Seite {page} von {file}[, {x_mm} mm von links und {y_mm} mm von oben].
        de: {file}[, Seite {page}]: Stempel {stamp}, {x_mm} mm von links, {y_mm} mm von oben.
        """,
            asks={
                "x_mm+y_mm": "Where on the page should the stamp be? I need the distance from the left and from the top, in mm.|At which place on the page? Please give me the distances from the left and the top edge in mm. / de: Wo auf der Seite soll der Stempel sitzen? Ich brauche den Abstand von links und von oben in mm.|An welcher Stelle der Seite, in mm von links und von oben?"
            },
        ),
        Job(
            "pdf.extract_pages",
            "Write a range of pages to a new file.",
            {
                "file": text(
                    "File name",
                    ["handbook.pdf", "atlas.pdf", "thesis.pdf", "songbook.pdf"],
                    "From which file?|Which PDF are the pages in? / es: ¿De qué archivo?|¿En qué PDF están las páginas?",
                ),
                "first": number(
                    "First page",
                    [2, 5, 9, 14],
                    "From which page on?|Which page is the first? / es: ¿Desde qué página?|¿Cuál es la primera página?",
                ),
                "last": number(
                    "Last page",
                    [18, 22, 31, 40],
                    "Up to which page?|Which page is the last one? / es: ¿Hasta qué página?|¿Cuál es la última página?",
                ),
                "into": text(
                    "Name of the new file",
                    ["part.pdf", "extract.pdf", "chapter.pdf", "appendix.pdf"],
                    "What should the new file be called?|Which name should the new file get? / es: ¿Cómo se llamará el archivo nuevo?|¿Qué nombre le pongo al archivo nuevo?",
                ),
            },
            """
        Take [pages {first} to {last}|some pages] out of {file} and save them as {into}.
        Extract page {first} [to {last}|and what follows] of {file} into {into}.
        I need pages {first} to {last}[ of {file}][ in a file called {into}| as a file of their own].
        Split off [pages {first} to {last}|a few pages] of {file}[ as {into}].
        From {file}, make {into}[ out of pages {first} to {last}].
        es: Extrae[ las páginas {first} a {last}| unas páginas] de {file} y guárdalas como {into}.
        es: Saca las páginas {first} a {last}[ de {file}] y guárdalas en {into}.
        """,
            asks={
                "first+last": "Which pages? I need the first and the last one.|From which page to which page? / es: ¿Qué páginas? Necesito la primera y la última.|¿De qué página a qué página?"
            },
        ),
        Job(
            "pdf.rotate",
            "Turn one page of a PDF.",
            {
                "file": text(
                    "File name",
                    ["scan-12.pdf", "receipt.pdf", "drawing.pdf", "poster.pdf"],
                    "Which file is it?|In which PDF is the page? / fr: De quel fichier s'agit-il ?|Dans quel PDF se trouve la page ?",
                ),
                "page": number(
                    "Page, from 1",
                    [1, 3, 6, 8, 11],
                    "Which page should be turned?|On which page of {file}? / fr: Quelle page faut-il tourner ?|De quelle page s'agit-il ?",
                ),
                "degrees": number(
                    "Clockwise: 90, 180 or 270",
                    [90, 180, 270],
                    "By how many degrees clockwise: 90, 180 or 270?|How far should it be turned clockwise: 90, 180 or 270 degrees? / fr: De combien de degrés dans le sens horaire : 90, 180 ou 270 ?|De combien faut-il la tourner : 90, 180 ou 270 degrés ?",
                ),
            },
            """
        Turn page {page} of {file}[ by {degrees} degrees clockwise].
        Rotate [page {page}|a page] of {file} clockwise by {degrees} degrees.
        In {file}, page {page} lies the wrong way[, turn it {degrees}° clockwise|, please turn it].
        Please rotate page {page}[ of {file}] by {degrees} degrees clockwise.
        {file}: rotate page {page}[ clockwise by {degrees}°].
        fr: Tourne la page {page} de {file}[ de {degrees} degrés dans le sens horaire].
        """,
            """
        Two pages of {file} are the wrong way round: turn page {page:1} by {degrees:1} degrees clockwise and page {page:2} [by {degrees:2}|by another angle]. >> By how many degrees clockwise should page {page:2} be turned? Then I turn both. | How far clockwise should I turn page {page:2}: 90, 180 or 270 degrees? I'll do both pages then.
        fr: Dans {file}, tourne la page {page:1} de {degrees:1} degrés dans le sens horaire et la page {page:2} [de {degrees:2} degrés|aussi, mais d'un autre angle]. >> De combien de degrés faut-il tourner la page {page:2} ? Je tournerai ensuite les deux. | De combien dois-je tourner la page {page:2} : 90, 180 ou 270 degrés ? Je fais les deux ensuite.
        """,
        ),
        Job(
            "pdf.merge",
            "Join PDF files in the given order.",
            {
                "files": several(
                    "The files, in order",
                    ["cover.pdf", "letter.pdf", "cv.pdf", "photos.pdf", "terms.pdf"],
                    "Which files should be joined, and in which order?|What are the names of the files, in order? / de: Welche Dateien sollen zusammengefügt werden, in welcher Reihenfolge?|Wie heißen die Dateien, der Reihe nach?",
                ),
                "into": text(
                    "Name of the new file",
                    ["all.pdf", "bundle.pdf", "application.pdf"],
                    "What should the joined file be called?|Which name should the new file get? / de: Wie soll die neue Datei heißen?|Unter welchem Namen soll ich sie speichern?",
                ),
                "bookmarks?": flag(
                    "Add a bookmark for each file", "with a bookmark for each / de: mit Lesezeichen für jede"
                ),
            },
            """
        Join [{files}|my PDFs] into {into}[, {bookmarks}].
        Merge {files}[ into {into}], in this order[, {bookmarks}].
        Make one PDF[ called {into}] of {files}.
        Please put [{files}|those files] together as {into}[, {bookmarks}].
        I need {into} made from [{files}|the documents we talked about].
        de: Bitte [{files}|die PDFs] zu {into} zusammenfügen[, {bookmarks}].
        de: Füge {files} zusammen[, als {into}].
        """,
        ),
    ),
)

SYSTEMS = {"AU": "AU", "UK": "UK", "US": "US"}

SIZES = Field(
    "sizes",
    (
        Job(
            "convertShoeSize",
            "Convert a shoe size from one system to another.",
            {
                "size": number(
                    "The size",
                    [5.5, 6, 8, 9.5, 10],
                    "Which size should I convert?|What is the size? / de: Welche Größe soll ich umrechnen?|Um welche Größe geht es?",
                ),
                "fromSystem": choice(
                    "System of the given size",
                    SYSTEMS,
                    "In which system is {size}: AU, UK or US?|Is that an AU, UK or US size? / de: In welchem System ist {size}: AU, UK oder US?|Ist das eine Größe nach AU, UK oder US?",
                ),
                "toLength": choice(
                    "What is wanted, as the length of the foot",
                    {"MM": "millimetres / de: Millimeter", "CM": "centimetres / de: Zentimeter"},
                    "Into what should I convert it: millimetres or centimetres?|What should {size} be converted to, millimetres or centimetres? / de: Wohin soll ich umrechnen: Millimeter oder Zentimeter?|In Millimeter oder in Zentimeter?",
                ),
                "fit": choice(
                    "Whose shoes",
                    {
                        "women": "women's / de: Damen",
                        "men": "men's / de: Herren",
                        "children": "children's / de: Kinder",
                    },
                    "Are these women's, men's or children's shoes?|Is it a women's, men's or children's size? / de: Sind es Schuhe für Damen, Herren oder Kinder?|Für wen sind die Schuhe: Damen, Herren oder Kinder?",
                ),
            },
            """
        What is {fit} shoe size {size}[ {fromSystem}] in {toLength}?
        Convert [{fit} |]shoe size {fromSystem} {size} to {toLength}.
        I wear {fit} shoes in {size}[, {fromSystem} sizes]. What is that in {toLength}?
        How many {toLength} are {fit} shoes of size {size}[ in {fromSystem} sizing]?
        {fit} shoes, size {size}[ {fromSystem}], convert that[ to {toLength}].
        de: Schuhgröße {size}[ {fromSystem}], {fit}: Was ist das in {toLength}?
        de: Rechne {fromSystem} {size}[ ({fit})] in {toLength} um.
        """,
            """
        Into {toLength}, please: {fit} shoes {fromSystem:1} {size:1} and also {size:2}[ {fromSystem:2}| in another system]. >> In which system is {size:2}: AU, UK or US? Then I convert both. | Is {size:2} an AU, UK or US size? I'll convert the two then.
        """,
        ),
        Job(
            "convertPressure",
            "Convert a pressure.",
            {
                "value": number(
                    "The pressure",
                    [1.5, 12, 18, 30, 36],
                    "Which pressure should I convert?|How high is the pressure? / fr: Quelle pression faut-il convertir ?|Quelle est la pression ?",
                ),
                "fromUnit": choice(
                    "Unit of the given pressure",
                    {"bar": "bar", "psi": "psi", "kPa": "kPa"},
                    "In which unit is {value}: bar, psi or kPa?|Is that bar, psi or kPa? / fr: En quelle unité : bar, psi ou kPa ?|Est-ce en bar, en psi ou en kPa ?",
                ),
                "toUnit": choice(
                    "Wanted unit",
                    {"atm": "atmospheres / fr: atmosphères", "mmHg": "mmHg", "hPa": "hectopascals / fr: hectopascals"},
                    "Into which unit: atm, mmHg or hPa?|What should I convert it to: atm, mmHg or hPa? / fr: Dans quelle unité : atm, mmHg ou hPa ?|Vers quelle unité faut-il convertir : atm, mmHg ou hPa ?",
                ),
            },
            """
        The gauge says {value}[ {fromUnit}], what is that in {toUnit}?
        Convert a pressure of {value}[ {fromUnit}][ to {toUnit}].
        How much are {value} {fromUnit} of pressure[ in {toUnit}| in another unit]?
        Pressure {value}[ {fromUnit}] in {toUnit}, please.
        My tyre pressure is {value}[ {fromUnit}]. Give me that in {toUnit}.
        fr: Le manomètre indique {value}[ {fromUnit}], combien cela fait-il en {toUnit} ?
        """,
            """
        Convert two readings to {toUnit}: {value:1} {fromUnit:1} and {value:2}[ {fromUnit:2}|, which is from the other gauge in another unit]. >> In which unit is {value:2}: bar, psi or kPa? Then I convert both. | What is the unit of {value:2}? I convert both readings then.
        """,
        ),
        Job(
            "convertFuelVolume",
            "Convert an amount of liquid. Gallons differ between countries.",
            {
                "amount": number(
                    "The amount",
                    [3, 7.5, 12, 40],
                    "How much should I convert?|Which amount is it? / es: ¿Qué cantidad convierto?|¿Cuánto es?",
                ),
                "gallon": choice(
                    "Kind of gallon",
                    {"us": "US / es: de EE. UU.", "imperial": "imperial / es: imperiales"},
                    "Are those US or imperial gallons?|Which gallons do you mean, US or imperial? / es: ¿Son galones de EE. UU. o imperiales?|¿Qué galones son: estadounidenses o imperiales?",
                ),
                "direction": choice(
                    "What is wanted",
                    {"to_litres": "litres / es: litros", "to_cubic_feet": "cubic feet / es: pies cúbicos"},
                    "Into what should I convert them: litres or cubic feet?|Do you want litres or cubic feet? / es: ¿A litros o a pies cúbicos?|¿Lo quieres en litros o en pies cúbicos?",
                ),
            },
            """
        How many {direction} are {amount}[ {gallon}] gallons?
        The tank holds {amount}[ {gallon}] gallons, convert that[ to {direction}].
        Convert [{amount} |my ]{gallon} gallons to {direction}.
        {amount}[ {gallon}] gallons in {direction}, please.
        I bought {amount}[ {gallon}] gallons. What is that in {direction}?
        es: ¿Cuántos {direction} son {amount} galones[ {gallon}]?
        """,
        ),
    ),
)

FOUNTAINS = Field(
    "fountains",
    (
        Job(
            "fountain_run",
            "Let a fountain run for a part of one day.",
            {
                "fountain": choice(
                    "Fountain",
                    {
                        "market": "market fountain / de: Marktbrunnen",
                        "lion": "lion fountain / de: Löwenbrunnen",
                        "station": "station fountain / de: Bahnhofsbrunnen",
                        "park": "park fountain / de: Parkbrunnen",
                    },
                    "Which fountain: market, lion, station or park?|Which of the fountains should run: market, lion, station or park? / de: Welcher Brunnen: Markt, Löwen, Bahnhof oder Park?|Welcher der Brunnen soll laufen: Markt, Löwen, Bahnhof oder Park?",
                ),
                "date": day("Day", "On which day?|For which date? / de: An welchem Tag?|Für welches Datum?"),
                "start": clock(
                    "Start",
                    "From what time?|When should it start? / de: Ab wann?|Um wie viel Uhr soll es losgehen?",
                    (8, 14),
                ),
                "end": clock(
                    "End",
                    "Until what time?|When should it stop? / de: Bis wann?|Bis wie viel Uhr soll der Brunnen laufen?",
                    after="start",
                ),
                "lights?": flag("With lights", "with the lights on|lights on too / de: mit Licht"),
            },
            """
        Run the {fountain}[ on {date}] from {start}[ to {end}][, {lights}].
        On {date}, the {fountain} should run[ from {start} to {end}][, {lights}].
        Let the {fountain} run on {date}, starting at {start}[ and stopping at {end}].
        Please turn on [the {fountain}|a fountain] on {date} from {start} until {end}.
        The {fountain} from {start}[ until {end}][ on {date}], please[, {lights}].
        de: Der {fountain} soll[ am {date}] ab {start} laufen[, bis {end}][, {lights}].
        de: {fountain} am {date} einschalten[, von {start} bis {end}].
        """,
            """
        Two fountains on {date}: the {fountain:1} from {start} to {end:1} and the {fountain:2} from {start} [to {end:2}|as well, but longer]. >> Until what time should the {fountain:2} run? Then I set both. | When should the {fountain:2} stop? I'll enter the two together then.
        For {date}, the {fountain:1} from {start:1} to {end} and the {fountain:2} also until {end}[, from {start:2}|, only starting at another time]. >> From what time should the {fountain:2} run? Then I set both. | When should the {fountain:2} start? After that I set both fountains.
        de: Am {date} ab {start}: {fountain:1} bis {end:1} und {fountain:2} [bis {end:2}|auch, nur länger]. >> Bis wann soll der {fountain:2} laufen? Dann stelle ich beide ein. | Wann soll der {fountain:2} ausgehen? Danach trage ich beide ein.
        """,
            asks={
                "start+end": "From when until when?|Between which times should it run? / de: Von wann bis wann?|Zu welcher Zeit, von wann bis wann?"
            },
        ),
        Job(
            "fountain_jet",
            "Set the height of the jet of a fountain.",
            {
                "fountain": choice(
                    "Fountain",
                    {
                        "market": "market fountain / es: fuente del mercado",
                        "lion": "lion fountain / es: fuente de los leones",
                        "station": "station fountain / es: fuente de la estación",
                        "park": "park fountain / es: fuente del parque",
                    },
                    "Which fountain: market, lion, station or park?|At which fountain: market, lion, station or park? / es: ¿Qué fuente: mercado, leones, estación o parque?|¿En qué fuente: mercado, leones, estación o parque?",
                ),
                "height_m": number(
                    "Height in metres",
                    [0.5, 1.2, 2.5, 4, 6.5],
                    "How high should the jet be, in metres?|Which height in metres? / es: ¿A qué altura, en metros?|¿Cuántos metros debe tener el chorro?",
                ),
                "pulsing?": flag("Let it pulse", "pulsing / es: intermitente"),
            },
            """
        Set the jet of the {fountain}[ to {height_m} m][, {pulsing}].
        The jet of the {fountain} should be [{height_m} metres high|lower].
        {height_m} metres for the jet of [the {fountain}|the fountain][, {pulsing}].
        Change the jet of the {fountain}[ to {height_m} metres|, it sprays the benches].
        There's a strong wind, so bring the jet of [the {fountain}|that fountain] to {height_m} metres.
        es: Pon el chorro de la {fountain}[ a {height_m} metros| más alto][, {pulsing}].
        """,
            """
        Set two jets: {height_m:1} m at the {fountain:1} and [{height_m:2} m|a higher one] at the {fountain:2}. >> How high should the jet of the {fountain:2} be, in metres? Then I set both. | Which height for the {fountain:2}, in metres? I'll set both jets then.
        es: Dos chorros: la {fountain:1} a {height_m:1} metros y la {fountain:2} [a {height_m:2} metros|también, pero más bajo]. >> ¿A cuántos metros pongo el chorro de la {fountain:2}? Después ajusto los dos. | ¿Qué altura para la {fountain:2}, en metros? Luego pongo los dos.
        """,
        ),
    ),
)

FIELDS_1 = (SAWMILL, CODE_HOST, AIRFIELD, PDF_DESK, SIZES, FOUNTAINS)
