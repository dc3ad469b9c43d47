"""Tools are found by meaning: in other words and languages, by the vectors of toolspeak-trained."""

import hashlib
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolspeak.dialects import PYTHON
from toolspeak.dialects.slim_tools import make_help_tool
from toolspeak.dialects.tool_index import ToolIndex, list_parts
from toolspeak.dialects.tool_selection import find_names, make_find_tool, select_tools
from toolspeak.dialects.word_vectors import SHA256, WORD_VECTORS, divide, load_word_vectors
from toolspeak.values.messages import user
from toolspeak.values.spec import ToolSpec

VECTORS = load_word_vectors()
MAX_BYTES = 8_000_000


def tool(name: str, about: str) -> ToolSpec:
    return ToolSpec(name=name, description=about, parameters={"type": "object", "properties": {}})


TOOLS = [
    tool("get_forecast", "Returns the weather of the coming days."),
    tool("transfer_money", "Sends an amount from one bank account to another."),
    tool("list_trains", "Lists departures at a railway station."),
    tool("cancel_booking", "Cancels a hotel reservation."),
    tool("create_reminder", "Creates a reminder."),
    tool("play_song", "Plays a song of an artist."),
    tool("find_recipes", "Finds recipes with an ingredient."),
    tool("book_doctor", "Makes an appointment with a doctor."),
]


def test_the_file_is_the_one_that_was_published():
    data = WORD_VECTORS.read_bytes()
    assert hashlib.sha256(data).hexdigest() == SHA256
    assert len(data) <= MAX_BYTES


@pytest.mark.parametrize(
    ("request_text", "name"),
    [
        ("Will it rain at the weekend?", "get_forecast"),
        ("Wie wird das Wetter morgen?", "get_forecast"),
        ("明天天气怎么样", "get_forecast"),
        ("Überweise Anna 50 Euro", "transfer_money"),
        ("À quelle heure part le train pour Lyon ?", "list_trains"),
        ("Wann fährt der nächste Zug?", "list_trains"),
        ("Storniere mein Zimmer", "cancel_booking"),
        ("Pon una canción de Shakira", "play_song"),
        ("Ein Rezept mit Kartoffeln", "find_recipes"),
    ],
)
def test_a_tool_is_found_by_meaning(request_text: str, name: str):
    assert ToolIndex(TOOLS, VECTORS).rank(request_text)[0] == name


def test_a_long_message_is_near_a_tool_of_which_it_has_most():
    message = (
        "I need help with the wedding of my sister, for which ninety guests arrive in the harbour on Friday evening: "
        "order white flowers and candles for eleven tables from the market, remind me to call the photographer, and "
        "tell the musicians that the large hall beside the church is open from five"
    )
    assert VECTORS is not None
    near = VECTORS.index([list_parts(spec) for spec in TOOLS]).measure([message])[0]
    assert TOOLS[int(near.argmax())].name == "create_reminder"  # a tenth of what is asked for
    short = VECTORS.index([list_parts(spec) for spec in TOOLS]).measure(["remind me to call the photographer"])[0]
    assert TOOLS[int(short.argmax())].name == "create_reminder"


def test_words_alone_do_not_find_them():
    assert ToolIndex(TOOLS).rank("Wie wird das Wetter morgen?") == []


def test_why_a_tool_was_found_is_told():
    first, *_ = ToolIndex(TOOLS, VECTORS).explain("the weather in the coming days")
    assert (first.name, first.word_place, first.meaning_place) == ("get_forecast", 1, 1)
    assert set(first.words) == {"weathe", "com", "day"}
    assert first.likeness is not None
    assert 0.3 < first.likeness <= 1.001
    [alone] = ToolIndex(TOOLS[:1]).explain("weather")
    assert (alone.likeness, alone.meaning_place) == (None, None)


def test_tools_that_hardly_a_word_tells_apart():
    tools = [
        tool("get_user", "Returns the profile of a user by the id."),
        tool("fetch_user", "Returns the profile of a user by the id."),
        tool("open_door", "Moves the door of the garage."),
        tool("close_door", "Moves the door of the garage."),
        tool("report_1", "Writes the report 1."),
        tool("report_2", "Writes the report 2."),
    ]
    assert ToolIndex(tools).find_twins() == [("get_user", "fetch_user")]


def test_a_budget_shows_what_a_message_means_and_a_search_finds_it():
    others = [
        tool(f"archive_folder_{number}", f"Archives folder number {number} of the office.") for number in range(300)
    ]
    tools = [*others, *TOOLS]
    selection = select_tools(
        tools,
        PYTHON,
        600,
        [user("Überweise Anna 50 Euro")],
        help_tool=make_help_tool(tools),
        find_tool=make_find_tool(tools),
    )
    assert "transfer_money" in [spec.name for spec in selection.listed]
    assert "get_forecast" in find_names(tools, "Wettervorhersage")


def test_words_that_mean_nothing_find_nothing():
    assert find_names(TOOLS, "xqzzk") == ()
    assert ToolIndex(TOOLS, VECTORS).rank("") == []


def test_a_word_is_divided_into_the_longest_known_ones():
    vocabulary = {word: place for place, word in enumerate(("wetter", "wett", "vorhersage", "天气", "预报", "天"))}
    names = list(vocabulary)
    assert [names[place] for place in divide("wettervorhersage", vocabulary)] == ["wetter", "vorhersage"]
    assert [names[place] for place in divide("wettervorhersagen", vocabulary)] == ["wetter", "vorhersage"]
    assert [names[place] for place in divide("天气预报", vocabulary)] == ["天气", "预报"]
    assert list(divide("xyz", vocabulary)) == []


@given(st.lists(st.tuples(st.text(), st.integers(1, 3)), max_size=3), st.text())
def test_any_text_can_be_found_by_any_query(parts: list[tuple[str, int]], query: str):
    assert VECTORS is not None
    index = VECTORS.index([parts, [("weather", 1)]])
    [[near, _]] = index.measure([query]).tolist()
    assert -1 <= near <= 3
    assert VECTORS.index([]).measure([query]).shape == (1, 0)


def test_a_text_is_nearest_to_its_own_words():
    assert VECTORS is not None
    texts = ["book a table", "Regen am Abend", "明天天气", "transfer money"]
    found = VECTORS.index([[(text, 1)] for text in texts]).measure(texts)
    assert found.argmax(axis=1).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("package", ["numpy", "toolspeak_trained"])
def test_without_what_the_extra_brings_tools_are_ranked_by_words(package: str):
    code = (
        "import sys\n"
        "from importlib.machinery import PathFinder\n"
        "class Finder(PathFinder):\n"
        "    @classmethod\n"
        "    def find_spec(cls, name, path=None, target=None):\n"
        f"        return None if name == {package!r} else super().find_spec(name, path, target)\n"
        "sys.meta_path = [Finder if each is PathFinder else each for each in sys.meta_path]\n"
        "from toolspeak.dialects.tool_selection import find_names\n"
        "from toolspeak.values.spec import ToolSpec\n"
        "tools = [ToolSpec(name='get_weather', description='The weather.', parameters={})]\n"
        "print(find_names(tools, 'weather'), find_names(tools, 'Wetter'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "('get_weather',) ()\n"
