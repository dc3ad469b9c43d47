"""The sentences around the words of a domain, in four languages, for `selections.py`."""

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any

DEED_LEADS = {
    "en": (
        "{}.",
        "Please {}.",
        "Could you {}?",
        "Can you {}?",
        "I'd like you to {}.",
        "I need you to {}, please.",
        "hey, {}",
    ),
    "de": ("Bitte {}.", "Kannst du {}?", "Könntest du bitte {}?", "Ich möchte {}.", "Wir müssen {}."),
    "fr": ("Peux-tu {} ?", "Pourriez-vous {} ?", "Merci de bien vouloir {}.", "J'aimerais {}.", "Il faudrait {}."),
    "es": ("¿Puedes {}?", "¿Podrías {}, por favor?", "Quiero {}.", "Necesito {}.", "Hay que {}."),
}

LIST_LEADS = {
    "en": (
        "Look at {those} {scope} and {deed}.",
        "Go through {those} {scope} and {deed}.",
        "Check {those} {scope}, then {deed}.",
        "Get me the list of {those} {scope}. Then {deed}.",
        "Pull up {those} {scope}, please, and {deed}.",
    ),
    "de": (
        "Sieh dir {those} {scope} an. Dann bitte {deed}.",
        "Zeig mir {those} {scope}. Kannst du dann {deed}?",
        "Such {those} {scope} heraus. Danach bitte {deed}.",
    ),
    "fr": (
        "Regarde {those} {scope}. Ensuite, peux-tu {deed} ?",
        "Affiche {those} {scope}, puis merci de bien vouloir {deed}.",
        "Cherche {those} {scope}. Il faudrait ensuite {deed}.",
    ),
    "es": (
        "Mira {those} {scope}. Después, ¿puedes {deed}?",
        "Busca {those} {scope}. Luego hay que {deed}.",
        "Saca la lista de {those} {scope}. Después quiero {deed}.",
    ),
}

FOLLOW_LEADS = {
    "en": ("OK, {}.", "Good. Now {}.", "Thanks. Please {}.", "Then {}, please.", "Great, could you {}?"),
    "de": ("Gut, dann bitte {}.", "Danke. Kannst du jetzt {}?", "Okay, bitte {}."),
    "fr": ("Merci. Peux-tu maintenant {} ?", "D'accord, il faudrait donc {}.", "Bien, merci de bien vouloir {}."),
    "es": ("Gracias. ¿Puedes ahora {}?", "Vale, entonces quiero {}.", "Bien, hay que {}."),
}

WHICH_LEADS = {
    "en": (
        "Which one is {}?",
        "Can you tell me which one is {}?",
        "I'd like to know which one is {}.",
        "Please tell me which one is {}.",
        "Find {} and tell me what it's called.",
        "What is {}?",
    ),
    "de": (
        "Welche ist {}?",
        "Kannst du mir {} nennen?",
        "Ich wüsste gern, welche {} ist.",
        "Nenn mir bitte {}.",
        "Weißt du, welche {} ist?",
    ),
    "fr": (
        "Quelle est {} ?",
        "Peux-tu me dire quelle est {} ?",
        "J'aimerais savoir quelle est {}.",
        "Trouve {}, s'il te plaît.",
        "Dis-moi quelle est {}.",
    ),
    "es": (
        "¿Cuál es {}?",
        "¿Me dices cuál es {}?",
        "Quiero saber cuál es {}.",
        "Busca {}, por favor.",
        "Dime cuál es {}.",
    ),
}

COUNT_LEADS = {
    "en": (
        "How many {} are there?",
        "Count the {}, please.",
        "I'd like to know how many {} there are.",
        "Can you count the {} for me?",
        "Are there any {}?",
    ),
    "de": (
        "Wie viele {} gibt es?",
        "Kannst du zählen, wie viele {} es gibt?",
        "Ich wüsste gern, wie viele {} es gibt.",
        "Gibt es {}?",
    ),
    "fr": (
        "Combien y a-t-il de {} ?",
        "Peux-tu compter les {} ?",
        "J'aimerais savoir combien il y a de {}.",
        "Y a-t-il des {} ?",
    ),
    "es": ("¿Cuántas {} hay?", "¿Puedes contar las {}?", "Quiero saber cuántas {} hay.", "¿Hay {}?"),
}

WHICH_REPLY = {
    "en": "{np} is {label} ({ident}), {value}.",
    "de": "{np} ist {label} ({ident}), {value}.",
    "fr": "{np} est {label} ({ident}), {value}.",
    "es": "{np} es {label} ({ident}), {value}.",
}

COUNT_REPLY = {
    "en": ("There is one {one}: {labels}.", "There are {count} {several}: {labels}."),
    "de": ("Es gibt eine {one}: {labels}.", "Es gibt {count} {several}: {labels}."),
    "fr": ("Il y a une {one} : {labels}.", "Il y a {count} {several} : {labels}."),
    "es": ("Hay una {one}: {labels}.", "Hay {count} {several}: {labels}."),
}

NONE_REPLY = {
    "en": (
        "There is {none}, so I didn't do anything.",
        "I found {none}, so nothing was done.",
        "There is {none} on the list, so I left everything as it is.",
    ),
    "de": (
        "Es gibt {none}, deshalb habe ich nichts unternommen.",
        "Ich habe {none} gefunden und deshalb nichts getan.",
    ),
    "fr": ("Il n'y a {none}, je n'ai donc rien fait.", "Je n'ai trouvé {none} ; je n'ai donc rien fait."),
    "es": ("No hay {none}, así que no he hecho nada.", "No he encontrado {none}, así que no he hecho nada."),
}

NONE_ANSWER = {"en": "There is {none}.", "de": "Es gibt {none}.", "fr": "Il n'y a {none}.", "es": "No hay {none}."}

UNKNOWN_REPLY = {
    "en": (
        "I can't find {named} there, so I didn't do anything. The list has {labels}.",
        "{named} isn't on the list, so nothing was done. The list has {labels}.",
    ),
    "de": ("Ich finde {named} nicht und habe deshalb nichts unternommen. Auf der Liste stehen {labels}.",),
    "fr": ("Je ne trouve pas {named}, je n'ai donc rien fait. La liste contient {labels}.",),
    "es": ("No encuentro {named}, así que no he hecho nada. En la lista hay {labels}.",),
}

TEXT_LEADS = (
    'Text the {role} of {np}: "{text}"',
    'Send the {role} of {np} a text that says "{text}"',
    'Please text "{text}" to the {role} of {np}.',
    'Could you message the {role} of {np}? The text is "{text}"',
    'The {role} of {np} should get this text: "{text}"',
    'Let the {role} of {np} know by text: "{text}"',
)

HISTORY_LEADS = (
    (
        "Show me the last {limit} {kind} on {np}.",
        "What are the {limit} latest {kind} on {np}?",
        "I need the newest {limit} {kind} on record for {np}.",
        "Could you fetch the {limit} most recent {kind} on {np}?",
        "Pull the last {limit} {kind} for {np}, please.",
    ),
    (
        "Which {kind} are on record for {np}?",
        "Show me the {kind} on {np}.",
        "Are there any {kind} on {np}?",
        "What {kind} do we have on {np}?",
        "Look up the {kind} on {np}, please.",
    ),
    (
        "Show me the history of {np}.",
        "What is on record for {np}?",
        "I'd like to see the history of {np}.",
        "Can you pull the history of {np}?",
        "Get me the history of {np}, please.",
    ),
)
"""How the history of a record is asked for: with a kind and a number of entries, with a kind, without either."""

LIMITS = (("two", 2), ("3", 3), ("three", 3), ("4", 4), ("five", 5), ("6", 6))
"""Words for numbers of entries."""

NUMBER_LEADS = (
    "Please repeat {ident} {number} of {who}, but {change}.",
    "{who}: the same as in {ident} {number}, but {change}, please.",
    "Could you repeat {ident} {number} for {who}, only {change}?",
    "{who} wants {ident} {number} again, but {change}.",
    "Take {ident} {number} of {who} and make the same again, {change} this time.",
)

TEXTS = (
    "Please call the office today.",
    "We come at nine.",
    "Inspection on Friday.",
    "Your invoice is ready.",
    "The gate stays closed tomorrow.",
    "Please bring the papers.",
)

NAMES = ("Runa Falk", "Ed Marsh", "Lucia Prado", "Kofi Mensah", "Anders Boe", "Hanne Vik", "Piet Claes", "Zoe Lane")

JOINED = {"en": ("and", "or"), "de": ("und", "oder"), "fr": ("et", "ou"), "es": ("y", "o")}

OTHER_THAN = {"en": 'other than "{}"', "de": "außer „{}“", "fr": "sauf « {} »", "es": "aparte de «{}»"}

MONTHS = {
    "en": "January February March April May June July August September October November December".split(),
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
}


def say_value(value: Any, lang: str, *, is_price: bool = False) -> str:
    """Write a value as people of a language do: dates in words, decimals with their sign."""
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        date = datetime.date.fromisoformat(value)
        month = MONTHS[lang][date.month - 1]
        first = "1er" if lang == "fr" and date.day == 1 else str(date.day)
        joints = {"de": f"{date.day}. {month} {date.year}", "es": f"{date.day} de {month} de {date.year}"}
        return joints.get(lang, f"{first} {month} {date.year}")
    if isinstance(value, float):
        text = f"{value:.2f}" if is_price else str(value)
        return text if lang == "en" else text.replace(".", ",")
    return str(value)


def join_words(parts: Sequence[str], lang: str, place: int = 0) -> str:
    """Join parts with `and`, or with `or` if `place` is 1."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {JOINED[lang][place]} {parts[-1]}"


def begin(sentence: str) -> str:
    """Write the first letter of a sentence large, unless the sentence begins in lower case on purpose."""
    return sentence if sentence.startswith("hey") else sentence[:1].upper() + sentence[1:]


def end(sentence: str) -> str:
    """Write one full stop where a quoted sentence ends with one already."""
    return sentence.replace('.".', '."').replace("..", ".")


def bare_scope(scope: str) -> str:
    """Return a scope without its article."""
    return re.sub(r"^(the |des |du |de la |de |d')", "", scope)


def fill(words: str, said: Mapping[str, str]) -> str:
    """Fill the named places of a text, and leave the place for the records."""
    for name, value in said.items():
        words = words.replace(f"{{{name}}}", value)
    return words
