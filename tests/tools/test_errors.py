"""What cannot be a tool: each refusal is a `UsageError` that names the place and the cure."""

import threading
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from pydantic import AfterValidator, Field

from toolspeak import Context, Media, Tool, Toolbox, ToolspeakError, UsageError, tool
from toolspeak.values.origin import Origin

if TYPE_CHECKING:
    from decimal import Decimal as OnlyForTypeCheckers


class Thing:
    def method(self, x: int):
        return x

    def unhinted(self, x):
        return x


class Hostile:
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any):
        raise RuntimeError("not today")


def wrap(function: Any) -> Any:
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def takes_args(*words: str): ...
def takes_kwargs(**options: int): ...
def takes_unhinted(city, day: str): ...
def takes_unhinted_default(day: str = "x", count=3): ...
def takes_lock(lock: threading.Lock): ...
def takes_own_class(thing: Thing): ...
def takes_callable(then: "type(lambda: 0)"): ...
def takes_hostile(thing: list[Hostile]): ...
def takes_impossible_bound(count: Annotated[int, Field(ge="one")]): ...
def takes_broken_pattern(code: Annotated[str, Field(pattern="(")]): ...
def takes_unknown(day: "OnlyForTypeCheckers"): ...
def takes_broken_hint(day: "1 / 0"): ...
def takes_two_of_a_name(a: Annotated[int, Field(alias="x")], x: int): ...
def takes_two_contexts(a: Context, b: Context): ...


@pytest.mark.parametrize(
    ("function", "named", "cure"),
    [
        (takes_args, "takes_args: *words", "words: list[str]"),
        (wrap(takes_unknown), "wrapper: *args", "put @functools.wraps on it"),
        (takes_kwargs, "takes_kwargs: **options", "options: dict[str, int]"),
        (takes_unhinted, "takes_unhinted: the parameter 'city'", "write city: str"),
        (takes_unhinted_default, "takes_unhinted_default: the parameter 'count'", "write count: str"),
        (Thing.method, "method: the parameter 'self'", "give the bound method: object.method, or Tool(object.method"),
        (Thing().unhinted, "unhinted: the parameter 'x'", "write x: str"),
        (lambda x: x, "'<lambda>' cannot be the name", "tool(function, name=…)"),
        (Thing, "Thing is a class", "write a function"),
        (int, "int is a class", "write a function"),
        (max, "max has no signature to read", "wrap it in a function with type hints"),
        (len, "len: the parameter 'obj'", "write obj: str"),
        (takes_lock, "takes_lock: the parameter 'lock'", "use a type that pydantic can validate, or Context"),
        (takes_own_class, "takes_own_class: the parameter 'thing'", "use a type that pydantic can validate"),
        (takes_callable, "takes_callable: the parameter 'then'", "use a type that pydantic can validate"),
        (takes_hostile, "takes_hostile: the parameter 'thing'", "use a type that pydantic can validate"),
        (takes_impossible_bound, "takes_impossible_bound: the parameter 'count'", "use a type that pydantic"),
        (takes_broken_pattern, "takes_broken_pattern: the parameter 'code'", "use a type that pydantic"),
        (takes_unknown, "takes_unknown: the type hint 'OnlyForTypeCheckers'", "import or define it"),
        (takes_broken_hint, "takes_broken_hint: its type hints cannot be read", "ZeroDivisionError"),
        (takes_two_of_a_name, "takes_two_of_a_name: two parameters are called 'x'", "change the alias of one"),
        (takes_two_contexts, "takes_two_contexts: 'b' is a second Context", "a tool can have only one"),
        (3, "not from int", "a tool is made from a function"),
        ("os.getcwd", "not from str", "a tool is made from a function"),
    ],
)
def test_a_refusal_names_the_place_and_the_cure(function: Any, named: str, cure: str):
    with pytest.raises(UsageError) as caught:
        Tool(function)
    assert named in str(caught.value)
    assert cure in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_hint_that_breaks_once_its_names_are_found_is_refused_too():
    class Local:
        pass

    def takes_local(x: "Local[int]"): ...

    with pytest.raises(UsageError, match="takes_local: its type hints cannot be read"):
        Tool(takes_local)


def test_a_lambda_without_parameters_needs_only_a_name():
    made = tool(lambda: "noon", name="now")
    assert (made.name, made()) == ("now", "noon")


def test_a_name_that_was_chosen_is_not_asked_for_again():
    with pytest.raises(UsageError, match=r"'two words' cannot be the name of a tool \(.*\); choose another$"):
        tool(lambda: "noon", name="two words")


@pytest.mark.parametrize("name", ["", "two words", "a" * 65, "naïve", "a/b", "a\n"])
def test_a_name_no_api_takes_is_refused(name: str):
    def now() -> str:
        return "noon"

    now.__name__ = name or "(nameless)"
    with pytest.raises(UsageError, match=r"cannot be the name of a tool \(ASCII letters, digits, _ . -, at most 64\)"):
        Tool(now)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"effect": "write"}, "effect is 'read', 'idempotent' or 'once', not 'write'"),
        ({"effect": None}, "not None"),
        ({"timeout": 0}, "timeout is a number of seconds above 0, not 0"),
        ({"timeout": -1.5}, "not -1.5"),
        ({"timeout": float("nan")}, "not nan"),
        ({"max_output": 0}, "max_output is a number of characters above 0, not 0"),
    ],
)
def test_a_wrong_option_is_refused_with_the_right_ones(options: dict[str, Any], message: str):
    with pytest.raises(UsageError) as caught:
        tool(**options)(lambda: None)
    assert message in str(caught.value)


def write_page(text: str, title: str = "", day: date = date.min, size: Annotated[int, Field(alias="Size")] = 1) -> None:
    """Write a page."""


@pytest.mark.parametrize(
    ("function", "raw", "message"),
    [
        (write_page, "page", "write_page: raw='page' names no parameter; the parameters are: text, title, day, Size"),
        (write_page, "day", "write_page: raw='day' names a parameter that is not a str; annotate it with str"),
        (write_page, "size", "write_page: raw='Size' names a parameter that is not a str; annotate it with str"),
        (write_page, "title", "write_page: raw='title' must be the only required parameter, beside text; give"),
        (lambda: None, "text", "names no parameter; the parameters are: none"),
    ],
)
def test_a_parameter_that_cannot_take_a_raw_text_is_refused(function: Any, raw: str, message: str):
    with pytest.raises(UsageError) as caught:
        Tool(function, name=None if function is write_page else "f", raw=raw)
    assert message in str(caught.value)


def test_a_raw_text_with_a_default_is_refused():
    def search(text: str = "") -> None: ...

    with pytest.raises(UsageError, match="search: raw='text' names a parameter with a default"):
        Tool(search, raw="text")


def test_a_raw_text_is_named_as_the_model_is_shown_it():
    @tool(raw="text")
    def run(text: Annotated[str, Field(alias="Program", min_length=1)], context: Context[None]) -> str:
        """Run a program."""
        return text

    assert run.spec.raw == "Program"
    assert Tool(run, effect="read").spec.raw == "Program"
    assert Tool(run, raw=None).spec.raw is None
    assert run.bind({"Program": "x"}).kwargs["text"] == "x"


def test_options_reach_the_spec():
    @tool(name="n", description="d", effect="read", approve=True, sequential=True, timeout=1.5, max_output=10)
    def function(x: int):
        """Not shown."""

    spec = function.spec
    assert (spec.name, spec.description, spec.effect, spec.approve) == ("n", "d", "read", True)
    assert (spec.sequential, spec.timeout, spec.max_output) == (True, 1.5, 10)


def twin(x: int): ...


def test_two_tools_of_one_name_are_refused_and_both_are_named():
    with pytest.raises(UsageError) as caught:
        Toolbox([twin, tool(takes_own_copy, name="twin")])
    message = str(caught.value)
    assert "two tools are called 'twin'" in message
    assert f"{__name__}.twin and {__name__}.takes_own_copy" in message
    assert "give one another name" in message


def takes_own_copy(x: int): ...


def test_a_toolbox_keeps_its_order_and_finds_by_name():
    box = Toolbox([takes_own_copy, twin])
    assert box.names == ("takes_own_copy", "twin")
    assert [each.name for each in box] == list(box.names)
    assert [spec.name for spec in box.specs] == list(box.names)
    assert len(box) == 2
    assert "twin" in box
    assert "nobody" not in box
    assert box["twin"].function is twin
    assert repr(box) == "Toolbox(takes_own_copy, twin)"


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("Twin", "did you mean twin?"),
        ("takesOwnCopy", "did you mean takes_own_copy?"),
        ("zzz", "the tools are: takes_own_copy, twin"),
    ],
)
def test_an_unknown_tool_is_answered_with_the_nearest(name: str, cure: str):
    with pytest.raises(UsageError) as caught:
        Toolbox([takes_own_copy, twin])[name]
    assert str(caught.value) == f"there is no tool {name!r}; {cure}"


def test_an_empty_toolbox_says_so():
    with pytest.raises(UsageError, match="the tools are: none"):
        Toolbox()["anything"]


def test_a_usage_error_is_an_error_of_this_library():
    assert issubclass(UsageError, ToolspeakError)


def test_a_validator_in_the_annotation_is_no_reason_to_refuse():
    def takes_even(x: Annotated[int, AfterValidator(lambda x: x)]): ...

    assert Tool(takes_even).spec.parameters["properties"] == {"x": {"type": "integer"}}


def test_a_tool_can_be_made_anew_under_another_name():
    def double(x: int) -> int:
        "Double a number."
        return 2 * x

    renamed = Tool(Tool(double, effect="read"), name="twice")
    assert (renamed.name, renamed(4), renamed.bind({"x": "4"}).kwargs) == ("twice", 8, {"x": 4})


def test_a_default_factory_is_not_asked_when_the_tool_is_made():
    made: list[int] = []

    def number() -> int:
        made.append(len(made))
        return made[-1]

    def take(
        x: Annotated[int, Field(default_factory=number)], y: Annotated[list[int], Field(default_factory=list)]
    ) -> None:
        "Take a number."

    tool = Tool(take)
    assert made == []
    assert tool.spec.parameters["properties"] == {
        "x": {"type": "integer"},
        "y": {"type": "array", "items": {"type": "integer"}, "default": []},
    }
    assert tool.bind({}).kwargs == {"x": 0, "y": []}


def test_a_tool_made_anew_keeps_what_is_not_said_again():
    @tool(effect="read", timeout=5, name="people")
    def population(city: str) -> int:
        "How many people live in a city."
        return len(city)

    again = Tool(population, max_output=10)
    assert (again.name, again.spec.effect, again.spec.timeout, again.spec.max_output) == ("people", "read", 5, 10)


@tool(name="n", description="d", effect="read", approve=True, sequential=True, timeout=1.5, max_output=10)
def decorated(x: int) -> int:
    "Take a number."
    return x


@pytest.mark.parametrize("make", [Tool, tool])
@pytest.mark.parametrize(
    ("option", "given", "kept"),
    [
        ("name", "m", "m"),
        ("name", None, "decorated"),
        ("description", "", ""),
        ("description", None, "Take a number."),
        ("effect", "once", "once"),
        ("effect", "idempotent", "idempotent"),
        ("approve", False, False),
        ("sequential", False, False),
        ("timeout", 9, 9),
        ("timeout", None, None),
        ("max_output", 9, 9),
        ("max_output", None, None),
    ],
)
def test_an_option_that_is_given_wins_over_the_decorator(make: Any, option: str, given: Any, kept: Any):
    is_docstring = option == "description" and given is None
    origin = Origin.PROGRAM if is_docstring else decorated.spec.origin
    assert make(decorated, **{option: given}).spec == replace(decorated.spec, **{option: kept}, origin=origin)


def test_options_that_are_not_given_are_the_careful_ones():
    def plain(x: int) -> int:
        "Take a number."
        return x

    assert Tool(plain).spec == tool(plain).spec == tool()(plain).spec
    assert Tool(plain).spec == replace(
        decorated.spec,
        name="plain",
        description="Take a number.",
        effect="once",
        approve=False,
        sequential=False,
        timeout=None,
        max_output=None,
        origin=Origin.PROGRAM,
    )


def test_keys_that_are_no_texts_are_told():
    with pytest.raises(ToolspeakError, match="1: a key must be a text"):
        Tool(len_of).bind({1: 2})


def len_of(text: str) -> int:
    "How long a text is."
    return len(text)


def test_of_many_tools_the_first_ones_are_named():
    tools = [tool(lambda: "", name=f"thing_{number}", description="A thing.") for number in range(100)]

    with pytest.raises(UsageError, match=r"the tools are: thing_0, .*, thing_39 and 60 more$"):
        Toolbox(tools)["weather"]


@pytest.mark.parametrize(
    "returns", [Media, Media | None, list[Media], list[Media | str], Annotated[Media, "A picture."]]
)
def test_how_a_picture_is_held_is_not_shown_as_what_a_tool_returns(returns: Any):
    def look(): ...

    look.__annotations__["return"] = returns
    assert Tool(look).spec.returns is None
