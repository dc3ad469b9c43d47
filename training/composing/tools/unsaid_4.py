"""Tools that `omissions.py` asks for with and without a value: word lists, audiobooks, mailboxes, pods, a bell tower."""

# ruff: noqa: E501 (a sentence is one line)

from composing.said.asked_for import Field, Job, choice, clock, day, flag, number, several, text

TONGUES = {
    "sv": "Swedish / de: Schwedisch / fr: suédois",
    "pt": "Portuguese / de: Portugiesisch / fr: portugais",
    "fi": "Finnish / de: Finnisch / fr: finnois",
    "tr": "Turkish / de: Türkisch / fr: turc",
}
TERMS = ["harbour", "kettle", "ladder", "meadow", "anchor", "bakery", "copper"]

WORD_LAB = Field(
    "wordlab",
    (
        Job(
            "lab_check_spelling",
            "Check the spelling of English words.",
            {
                "words": several(
                    "The words",
                    TERMS,
                    "Which words should I check?|What are the words? / de: Welche Wörter soll ich prüfen?|Um welche Wörter geht es?",
                ),
                "variant": choice(
                    "Variant of English",
                    {
                        "british": "British / de: britisch",
                        "american": "American / de: amerikanisch",
                        "australian": "Australian / de: australisch",
                    },
                    "In which spelling: British, American or Australian?|Should I check for British, American or Australian spelling? / de: Nach welcher Schreibung: britisch, amerikanisch oder australisch?|Britisch, amerikanisch oder australisch?",
                ),
                "suggest?": flag(
                    "Suggest corrections", "with suggestions|and suggest corrections / de: mit Vorschlägen"
                ),
            },
            """
        Check whether {words} are right[ in {variant} spelling][, {suggest}].
        Spell-check [{words}|my list of words], {variant} spelling[, {suggest}].
        Are {words} spelled correctly[ in {variant} English]?
        Please go over the spelling of [{words}|a few words] in {variant} English.
        {variant} spelling: are [{words}|these words] right?
        de: Prüfe die Schreibung von {words}[, {variant}][, {suggest}].
        de: Sind [{words}|meine Wörter] richtig geschrieben, {variant}?
        """,
            """
        Check two things in {variant:1} spelling: {words:1}. And in [{variant:2}|another] spelling: {words:2}. >> Which spelling should I use for {words:2}? Then I check both lists. | In which spelling should I check {words:2}: British, American or Australian? I'll check both then.
        """,
        ),
        Job(
            "lab_translate_terms",
            "Translate terms for a glossary.",
            {
                "terms": several(
                    "The terms",
                    TERMS,
                    "Which terms should I translate?|What are the terms? / fr: Quels termes faut-il traduire ?|De quels termes s'agit-il ?",
                ),
                "to": choice(
                    "Language",
                    TONGUES,
                    "Into which language: Swedish, Portuguese, Finnish or Turkish?|Which language do you need: Swedish, Portuguese, Finnish or Turkish? / fr: Dans quelle langue : suédois, portugais, finnois ou turc ?|Vers quelle langue : suédois, portugais, finnois ou turc ?",
                ),
                "formal?": flag("Formal words", "in formal words|formal words only / fr: dans un registre soutenu"),
            },
            """
        Translate {terms}[ into {to}][, {formal}].
        What are {terms}[ in {to}| called over there]?
        I need [{terms}|the glossary] in {to}[, {formal}].
        Give me the {to} for [{terms}|those terms].
        Our glossary lacks {terms}, please translate them[ into {to}].
        fr: Traduis {terms}[ en {to}][, {formal}].
        """,
            """
        Translate {terms:1} into {to:1} and {terms:2} [into {to:2}|into another language]. >> Into which language should I translate {terms:2}? Then I do both. | Which language for {terms:2}? I'll translate both then.
        Into {to}, please: {terms:1}, and later for the other page [{terms:2}|a few more]. >> Which terms are for the other page? Then I translate both lists. | What are the terms for the other page? I translate everything then.
        """,
        ),
        Job(
            "lab_crossing",
            "Find words that fit a length and a letter.",
            {
                "length": number(
                    "Number of letters",
                    [4, 5, 7, 8],
                    "How many letters should the word have?|How long is the word? / es: ¿Cuántas letras tiene la palabra?|¿De cuántas letras?",
                ),
                "letter": choice(
                    "Letter that is known",
                    {"K": "K", "M": "M", "R": "R", "T": "T"},
                    "Which letter is known: K, M, R or T?|What is the known letter: K, M, R or T? / es: ¿Qué letra se sabe: K, M, R o T?|¿Cuál es la letra conocida: K, M, R o T?",
                ),
                "position": number(
                    "Place of that letter, from 1",
                    [1, 2, 3],
                    "At which place is the letter?|Which place does the letter have, counted from 1? / es: ¿En qué posición está la letra?|¿Qué lugar ocupa la letra?",
                ),
            },
            """
        Find words with {length} letters that have {letter}[ at place {position}| somewhere].
        I need a word[ of {length} letters] with {letter} at place {position}.
        Words with {length} letters and [{letter}|a known letter] at place {position}, please.
        Which words[ of {length} letters] have the letter {letter} at position {position}?
        The word has {length} letters, and one of them is {letter}[, at place {position}]. Find some.
        es: Busca palabras de {length} letras con {letter}[ en la posición {position}].
        """,
        ),
    ),
)

BOOKS = ["The Salt Road", "Nine Lanterns", "A House of Reeds", "Winter Ledger"]

AUDIOBOOKS = Field(
    "audiobooks",
    (
        Job(
            "Audiobook_Play",
            "Play a chapter of an audiobook.",
            {
                "title": text(
                    "Title",
                    BOOKS,
                    "Which book do you mean? Please give me its title.|What is the title of the book? / es: ¿Qué libro es? Dime el título.|¿Cuál es el título del libro?",
                ),
                "chapter": number(
                    "Chapter",
                    [2, 4, 7, 11],
                    "Which chapter?|With which chapter should I begin? / es: ¿Qué capítulo?|¿Por qué capítulo empiezo?",
                ),
                "room": choice(
                    "Where it plays",
                    {
                        "kitchen": "kitchen / es: cocina",
                        "bedroom": "bedroom / es: dormitorio",
                        "study": "study / es: despacho",
                    },
                    "In which room: kitchen, bedroom or study?|Where should it play: in the kitchen, the bedroom or the study? / es: ¿En qué habitación: cocina, dormitorio o despacho?|¿Dónde: en la cocina, el dormitorio o el despacho?",
                ),
                "speed?": number("Speed", [0.8, 1.2, 1.5], default=1.0),
            },
            """
        Play chapter {chapter} of [{title}|that book my sister likes] in the {room}[ at speed {speed}].
        Read me {title}[, chapter {chapter}], in the {room}.
        {title}, chapter {chapter}[, in the {room}][, speed {speed}].
        Put on [{title}|the thriller everybody reads], chapter {chapter}, in the {room}.
        I'd like to hear [chapter {chapter} of |]{title}[ in the {room}].
        es: Pon [{title}|ese libro tan famoso], capítulo {chapter}, habitación: {room}.
        es: Quiero oír {title}[, capítulo {chapter}][, habitación: {room}].
        """,
            """
        In the {room:1}, play {title:1}, chapter {chapter:1}, and in the {room:2} {title:2}[, chapter {chapter:2}| from where we stopped]. >> Which chapter of {title:2} should I play in the {room:2}? Then I start both. | With which chapter should {title:2} begin? I'll start both books then.
        Chapter {chapter} for both: {title:1} in the {room:1} and [{title:2}|the kids' favourite] in the {room:2}. >> Which book should play in the {room:2}? Then I start both. | What is the title of the book for the {room:2}? I start both then.
        """,
        ),
        Job(
            "Audiobook_Gift",
            "Give an audiobook to somebody.",
            {
                "title": text(
                    "Title",
                    BOOKS,
                    "Which book should I give?|What is the title of the book? / de: Welches Buch soll es sein?|Wie heißt das Buch?",
                ),
                "email": text(
                    "Address of the recipient",
                    ["ute@fernpost.example", "dev@larkmail.example", "rosa@tidebox.example"],
                    "To which e-mail address should it go?|What is the e-mail address of the recipient? / de: An welche E-Mail-Adresse?|Wie lautet die E-Mail-Adresse?",
                ),
                "deliver_on": day(
                    "Day on which it is sent",
                    "On which day should it be sent?|For which date? / de: An welchem Tag soll es verschickt werden?|Für welches Datum?",
                ),
                "note?": text("Note", ["Enjoy", "With love", "Happy birthday"]),
            },
            """
        Give {title} as a present[ to {email}] on {deliver_on}[, with the note "{note}"].
        I'd like to give [{title}|an audiobook] to {email}[ on {deliver_on}].
        Send {title} as a present to [{email}|my aunt] on {deliver_on}[, note: "{note}"].
        A present for {email}: {title}[, to arrive on {deliver_on}][, note "{note}"].
        On {deliver_on}, [{email}|Dev] should get {title} from me.
        de: Verschenke {title} an [{email}|meine Kollegin][ am {deliver_on}].
        """,
            """
        {title:1} as a present to {email:1} and {title:2} [to {email:2}|to her brother], both on {deliver_on}. >> To which e-mail address should {title:2} go? Then I send both. | What is the address of her brother? I'll send both presents then.
        Two presents for {email}: {title:1} on {deliver_on:1} and {title:2} [on {deliver_on:2}|some weeks later]. >> On which day should {title:2} be sent? Then I set up both. | Which date for {title:2}? I enter the two presents then.
        de: Zwei Geschenke für {email}: {title:1} am {deliver_on:1} und {title:2} [am {deliver_on:2}|etwas später]. >> An welchem Tag soll {title:2} verschickt werden? Dann lege ich beide an. | Welches Datum für {title:2}? Danach trage ich beide Geschenke ein.
        """,
        ),
    ),
)

MAIL_ADMIN = Field(
    "mailadmin",
    (
        Job(
            "mailbox.create",
            "Create a mailbox.",
            {
                "name": text(
                    "Part before the @",
                    ["orders", "press", "j.lind", "helpline"],
                    "What should the mailbox be called?|Which name should stand before the @? / fr: Comment doit s'appeler la boîte ?|Quel nom avant le @ ?",
                ),
                "domain": text(
                    "Domain",
                    ["brinehill.example", "oaktide.example", "fernway.example"],
                    "In which domain?|Which domain is the mailbox in? / fr: Dans quel domaine ?|Quel est le domaine ?",
                ),
                "plan": choice(
                    "Size",
                    {"basic": "basic / fr: basique", "plus": "plus / fr: plus", "archive": "archive / fr: archive"},
                    "Which plan: basic, plus or archive?|Should it be basic, plus or archive? / fr: Quelle formule : basique, plus ou archive ?|Faut-il la formule basique, plus ou archive ?",
                ),
                "language?": choice(
                    "Language of the interface",
                    {"en": "English / fr: anglais", "nl": "Dutch / fr: néerlandais"},
                    default="en",
                ),
            },
            """
        Create a mailbox[ called {name}] in {domain} with the {plan} plan[, interface in {language}].
        We need a mailbox {name}[ in {domain}], plan {plan}.
        New mailbox {name} for {domain}[, {plan} plan][, interface in {language}].
        Please set up a mailbox with the {plan} plan in [{domain}|our domain][, name: {name}].
        Mailbox in {domain}: [name {name}, |]plan {plan}.
        fr: Crée une boîte[ nommée {name}] dans {domain}, formule {plan}.
        fr: Crée la boîte {name}[ dans {domain}][, formule {plan}].
        """,
            """
        Two mailboxes in {domain}: {name:1} with the {plan:1} plan and {name:2} [with the {plan:2} plan|with a different one]. >> Which plan should {name:2} have: basic, plus or archive? Then I create both. | Which plan for {name:2}? I'll create the two then.
        Create {name:1} in {domain} with the {plan} plan, and a second mailbox there with the same plan[, called {name:2}]. >> What should the second mailbox be called? Then I create both. | Which name should the second one get? I'll create both then.
        """,
        ),
        Job(
            "mailbox.forward",
            "Forward the mail of a mailbox for a period.",
            {
                "mailbox": text(
                    "Address of the mailbox",
                    ["press@oaktide.example", "orders@fernway.example", "j.lind@brinehill.example"],
                    "Which mailbox should be forwarded?|What is the address of the mailbox? / de: Welches Postfach soll weitergeleitet werden?|Wie lautet die Adresse des Postfachs?",
                ),
                "target": text(
                    "Address that gets the mail",
                    ["desk@oaktide.example", "night@fernway.example", "m.holt@brinehill.example"],
                    "To which address should the mail go?|Who should get the mail? Please give me the address. / de: An welche Adresse soll die Post gehen?|Wer bekommt die Post? Ich brauche die Adresse.",
                ),
                "from_date": day(
                    "First day",
                    "From which day on?|What is the first day? / de: Ab welchem Tag?|Was ist der erste Tag?",
                ),
                "to_date": day(
                    "Last day",
                    "Until which day?|What is the last day? / de: Bis zu welchem Tag?|Was ist der letzte Tag?",
                    after="from_date",
                ),
                "keep_copy?": flag("Keep a copy in the mailbox", "keep a copy|with a copy kept / de: Kopie behalten"),
            },
            """
        Forward {mailbox}[ to {target}] from {from_date} to {to_date}[, {keep_copy}].
        From {from_date}[ to {to_date}], the mail of {mailbox} should go to {target}.
        Please forward [{mailbox}|my mail] to {target} from {from_date} until {to_date}[, {keep_copy}].
        I'm on leave[ from {from_date} to {to_date}], forward {mailbox} to [{target}|my colleague].
        Mail for {mailbox} goes to {target}[, {from_date} to {to_date}][, {keep_copy}].
        de: Leite {mailbox} ab {from_date} an [{target}|meinen Vertreter] weiter[, bis {to_date}].
        de: {mailbox} bitte an {target} weiterleiten[, {from_date} bis {to_date}][, {keep_copy}].
        """,
            """
        Forward {mailbox:1} and {mailbox:2} to {target} from {from_date}: the first until {to_date:1}, the second [until {to_date:2}|for longer]. >> Until which day should {mailbox:2} be forwarded? Then I set up both. | What is the last day for {mailbox:2}? I'll set up the two then.
        From {from_date} to {to_date}, forward {mailbox:1} to {target:1} and {mailbox:2} [to {target:2}|to somebody else]. >> To which address should the mail of {mailbox:2} go? Then I set up both. | Who gets the mail of {mailbox:2}? I'll set up both then.
        """,
            asks={
                "from_date+to_date": "For which period? I need the first and the last day.|From which day to which day? / de: Für welchen Zeitraum?|Von wann bis wann?"
            },
        ),
    ),
)

SLEEP_PODS = Field(
    "sleeppods",
    (
        Job(
            "pods.find",
            "Find free sleeping pods at an airport.",
            {
                "airport": choice(
                    "Airport",
                    {"OSL": "Oslo", "LIS": "Lisbon / es: Lisboa", "HEL": "Helsinki", "VIE": "Vienna / es: Viena"},
                    "At which airport: Oslo, Lisbon, Helsinki or Vienna?|Which airport do you mean: Oslo, Lisbon, Helsinki or Vienna? / es: ¿En qué aeropuerto: Oslo, Lisboa, Helsinki o Viena?|¿Qué aeropuerto: Oslo, Lisboa, Helsinki o Viena?",
                ),
                "date": day("Day", "For which day?|On which date? / es: ¿Para qué día?|¿En qué fecha?"),
                "people": number(
                    "How many people",
                    [2, 3, 4, 5],
                    "For how many people?|How many of you are there? / es: ¿Para cuántas personas?|¿Cuántos sois?",
                ),
                "quiet?": flag("Only the quiet zone", "in the quiet zone|quiet zone only / es: en la zona tranquila"),
            },
            """
        Are there pods free in {airport} on {date}[ for {people} people][, {quiet}]?
        Find pods for {people} people[ in {airport}] on {date}.
        Free pods in {airport}[ on {date}] for {people} people, please[, {quiet}].
        We are [{people} people|a small group] and want to sleep at the airport of {airport} on {date}. Anything free?
        Show me free pods[ in {airport}] for {people} people[ on {date}].
        es: ¿Hay cápsulas libres en {airport}[ el {date}] para {people} personas?
        es: Busca cápsulas en {airport} el {date}[, para {people} personas][, {quiet}].
        """,
            """
        Free pods on {date}: for {people:1} people in {airport:1} and [for {people:2}|for a bigger group] in {airport:2}. >> For how many people in {airport:2}? Then I look in both places. | How many people need pods in {airport:2}? I'll look for both then.
        For {people} people: pods in {airport:1} on {date:1}, and in {airport:2} [on {date:2}|on the way back]. >> On which day do you need the pods in {airport:2}? Then I look for both. | What is the date in {airport:2}? I'll search both places then.
        """,
        ),
        Job(
            "pods.book",
            "Book one pod.",
            {
                "pod": choice(
                    "Pod",
                    {
                        "single": "single pod / fr: cabine simple",
                        "double": "double pod / fr: cabine double",
                        "family": "family pod / fr: cabine familiale",
                    },
                    "Which pod: single, double or family?|Should it be a single, a double or a family pod? / fr: Quelle cabine : simple, double ou familiale ?|Faut-il une cabine simple, double ou familiale ?",
                ),
                "date": day("Day", "On which day?|For which date? / fr: Quel jour ?|Pour quelle date ?"),
                "check_in": clock(
                    "Start",
                    "From what time?|When do you want to check in? / fr: À partir de quelle heure ?|À quelle heure arrivez-vous ?",
                    (10, 19),
                ),
                "hours": number(
                    "Length in hours",
                    [3, 5, 6, 8],
                    "For how many hours?|How long do you want to stay, in hours? / fr: Pour combien d'heures ?|Combien d'heures restez-vous ?",
                ),
                "name": text(
                    "Name of the guest",
                    ["Vesna Kolar", "Iris Tamm", "Leo Aalto"],
                    "In whose name?|What is the name of the guest? / fr: À quel nom ?|Quel est le nom du client ?",
                ),
            },
            """
        Book a {pod} for {name} on {date} from {check_in}[, {hours} hours].
        {name} needs [a {pod}|a pod] on {date} at {check_in} for {hours} hours.
        A {pod}[ on {date}] from {check_in} for {hours} hours, name {name}.
        Please book a {pod}[ for {name}] on {date}[ from {check_in}], {hours} hours.
        One {pod} for {name}, {date}, {check_in}[, for {hours} hours].
        fr: Une {pod} pour {name} le {date} à {check_in}[, pour {hours} heures].
        fr: Réservez une {pod}[ au nom de {name}], le {date} à {check_in}, pour {hours} heures.
        """,
            """
        Two pods on {date} at {check_in}: a {pod} for {name:1} for {hours:1} hours and a {pod} for {name:2} [for {hours:2} hours|for longer]. >> For how many hours does {name:2} need the pod? Then I book both. | How many hours for {name:2}? I'll book both pods then.
        fr: Le {date} à {check_in} : une {pod} pour {name:1}, {hours:1} heures, et une {pod} pour {name:2}, [{hours:2} heures|plus longtemps]. >> Pendant combien d'heures reste {name:2} ? Je réserve ensuite les deux. | Combien d'heures pour {name:2} ? Je réserverai ensuite les deux.
        """,
        ),
    ),
)

BELL_TOWER = Field(
    "belltower",
    (
        Job(
            "ringBells",
            "Let bells ring once.",
            {
                "bells": choice(
                    "Which bells",
                    {
                        "small": "small bells / de: kleine Glocken",
                        "great": "great bell / de: große Glocke",
                        "all": "full peal / de: Vollgeläut",
                    },
                    "Which bells: the small ones, the great one or the full peal?|What should ring: small bells, great bell or full peal? / de: Welche Glocken: kleine, große oder Vollgeläut?|Was soll läuten: kleine Glocken, große Glocke oder Vollgeläut?",
                ),
                "date": day("Day", "On which day?|For which date? / de: An welchem Tag?|Für welches Datum?"),
                "time": clock(
                    "Start", "At what time?|When should they ring? / de: Um wie viel Uhr?|Wann soll es losgehen?"
                ),
                "minutes": number(
                    "How long, in minutes",
                    [3, 5, 8, 10],
                    "For how many minutes?|How long should they ring, in minutes? / de: Wie viele Minuten lang?|Wie lange, in Minuten?",
                ),
            },
            """
        Ring the {bells} on {date} at {time}[ for {minutes} minutes].
        The {bells}[ on {date}] at {time}, {minutes} minutes.
        On {date}[ at {time}], let the {bells} ring for {minutes} minutes.
        For the wedding on {date} we'd like [the {bells}|some bells] at {time}[, {minutes} minutes].
        Please ring the {bells}[ for {minutes} minutes][ at {time}] on {date}.
        de: Am {date} um {time} läuten: {bells}[, {minutes} Minuten].
        de: {bells}[ am {date}] um {time}, {minutes} Minuten.
        """,
            """
        Two rings on {date}: the {bells:1} at {time:1} for {minutes} minutes and the {bells:2} [at {time:2}|later], {minutes} minutes too. >> At what time should the {bells:2} ring? Then I set both. | When should I let the {bells:2} ring? I'll set both then.
        On {date}, the {bells} at {time:1} for {minutes:1} minutes and again at {time:2}[ for {minutes:2} minutes|, but shorter]. >> For how many minutes should the bells ring at {time:2}? Then I set both. | How many minutes at {time:2}? I'll enter the two then.
        de: Am {date}: {bells} um {time:1} für {minutes:1} Minuten und noch einmal um {time:2}[ für {minutes:2} Minuten|, aber länger]. >> Wie viele Minuten um {time:2}? Dann stelle ich beides ein. | Wie lange soll es um {time:2} läuten, in Minuten? Danach trage ich beide ein.
        """,
        ),
        Job(
            "towerVisit",
            "Book a visit to the tower.",
            {
                "date": day("Day", "For which day?|On which date? / es: ¿Para qué día?|¿En qué fecha?"),
                "group": text(
                    "Name of the group",
                    ["Scouts North", "Class 4b", "Heritage Circle"],
                    "What is the name of the group?|Which group is coming? / es: ¿Cómo se llama el grupo?|¿Qué grupo viene?",
                ),
                "people": number(
                    "How many people",
                    [6, 9, 14, 20],
                    "How many people are in the group?|For how many people? / es: ¿Cuántas personas son?|¿Para cuántas personas?",
                ),
                "tour?": choice("Language of the guide", {"en": "English / es: inglés", "de": "German / es: alemán"}),
            },
            """
        Book a tower visit for {group}[ on {date}], {people} people[, guide in {tour}].
        {group} would like to climb the tower[ on {date}] with {people} people.
        [{group}|A group] comes up the tower on {date}, {people} people[, guide in {tour}].
        Tower visit on {date} for {group}[, {people} people].
        Please put {group} down for the tower[ on {date}][, {people} people].
        es: Visita a la torre para {group}[ el {date}][, {people} personas].
        """,
            """
        Two tower visits: {group:1} with {people:1} people and {group:2} [with {people:2}|with a few more], both on {date}. >> How many people come with {group:2}? Then I book both. | For how many people should I book {group:2}? I'll book both visits then.
        """,
        ),
    ),
)

FIELDS_4 = (WORD_LAB, AUDIOBOOKS, MAIL_ADMIN, SLEEP_PODS, BELL_TOWER)
