"""Docstrings in every style give the same tool; what is annotated wins over them."""

import logging
import threading
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from toolspeak import Tool
from toolspeak.tools.docstring import read_docstring


def google(city: str, days: int = 1) -> str:
    """Get the forecast.

    It is made twice a day.

    Args:
        city: The name of the city,
            such as Oslo.
        days (int): How many days.

    Returns:
        What the weather will be.

    Raises:
        KeyError: If the city is not known.
    """
    return ""


def numpy(city: str, days: int = 1) -> str:
    """Get the forecast.

    It is made twice a day.

    Parameters
    ----------
    city : str
        The name of the city,
        such as Oslo.
    days : int, optional
        How many days.

    Returns
    -------
    str
        What the weather will be.

    Raises
    ------
    KeyError
        If the city is not known.
    """
    return ""


def sphinx(city: str, days: int = 1) -> str:
    """Get the forecast.

    It is made twice a day.

    :param city: The name of the city,
        such as Oslo.
    :type city: str
    :param int days: How many days.
    :returns: What the weather will be.
    :rtype: str
    :raises KeyError: If the city is not known.
    """
    return ""


def annotated(
    city: Annotated[str, "The name of the city, such as Oslo."],
    days: Annotated[int, Field(description="How many days.")] = 1,
) -> str:
    """Get the forecast.

    It is made twice a day.

    Returns:
        What the weather will be.
    """
    return ""


@pytest.mark.parametrize("function", [google, numpy, sphinx, annotated])
def test_every_style_gives_the_same_tool(function: Any):
    spec = Tool(function).spec
    assert spec.description == "Get the forecast.\n\nIt is made twice a day."
    assert spec.parameters["properties"] == {
        "city": {"type": "string", "description": "The name of the city, such as Oslo."},
        "days": {"type": "integer", "description": "How many days.", "default": 1},
    }
    assert spec.returns == {"type": "string", "description": "What the weather will be."}


def untold(city: str) -> str:
    return city


def told_in_one_line(city: str) -> str:
    """Say the city: Oslo, for example."""
    return city


def told_in_prose(city: str) -> str:
    """Say the city.

    The city may be anything; see: the atlas.

        indented(example)
    """
    return city


@pytest.mark.parametrize(
    ("function", "description"),
    [
        (untold, ""),
        (told_in_one_line, "Say the city: Oslo, for example."),
        (told_in_prose, "Say the city.\n\nThe city may be anything; see: the atlas.\n\n    indented(example)"),
    ],
)
def test_a_docstring_without_sections_is_the_description(function: Any, description: str):
    spec = Tool(function).spec
    assert spec.description == description
    assert spec.parameters["properties"] == {"city": {"type": "string"}}
    assert spec.returns == {"type": "string"}


def test_what_is_annotated_wins_over_the_docstring():
    def find(
        text: Annotated[str, "Annotated."],
        field: Annotated[str, Field(description="In the field.")],
        default: str = Field("x", description="In the default."),
        plain: str = "",
    ):
        """Find.

        Args:
            text: Documented.
            field: Documented.
            default: Documented.
            plain: Documented.
        """

    properties = Tool(find).spec.parameters["properties"]
    assert {name: schema["description"] for name, schema in properties.items()} == {
        "text": "Annotated.",
        "field": "In the field.",
        "default": "In the default.",
        "plain": "Documented.",
    }


def test_text_beside_a_field_wins_over_the_field():
    def find(text: Annotated[str, Field(description="In the field."), "Said plainly."]):
        """Find."""

    assert Tool(find).spec.parameters["properties"]["text"]["description"] == "Said plainly."


def test_a_parameter_wins_over_its_type():
    class Address(BaseModel):
        """A place on a street."""

        street: str

    def send(home: Address, work: Address):
        """Send.

        Args:
            home: Where somebody lives.
        """

    properties = Tool(send).spec.parameters["properties"]
    assert properties["home"]["description"] == "Where somebody lives."
    assert properties["work"]["description"] == "A place on a street."


def test_a_documented_name_is_found_under_its_alias():
    def travel(from_: Annotated[str, Field(alias="from")], to_: Annotated[str, Field(alias="to")]):
        """Travel.

        Args:
            from_: The start.
            to: The end.
        """

    properties = Tool(travel).spec.parameters["properties"]
    assert [properties["from"]["description"], properties["to"]["description"]] == ["The start.", "The end."]


def test_wrapped_lines_are_joined_and_lists_stay():
    documented = read_docstring(
        """Sort.

        Args:
            order: How to sort, in a text that
                goes on for more than
                one line:
                - up
                - down
            by: Which column.

                A second paragraph of it.
        """
    )
    assert documented.parameters == {
        "order": "How to sort, in a text that goes on for more than one line:\n- up\n- down",
        "by": "Which column.\n\nA second paragraph of it.",
    }


def test_notes_are_part_of_the_description_and_examples_are_not():
    documented = read_docstring(
        """Delete a file.

        Note:
            It cannot be undone.

        Args:
            path: Which file.

        Example:
            >>> delete("a")
        """
    )
    assert documented.description == "Delete a file.\n\nNote: It cannot be undone."
    assert documented.parameters == {"path": "Which file."}


def test_text_after_the_sections_is_part_of_the_description():
    documented = read_docstring("Sum up.\n\nArgs:\n    a: One.\n    b: Two.\n\nIt never fails.")
    assert documented.parameters == {"a": "One.", "b": "Two."}
    assert documented.description == "Sum up.\n\nIt never fails."


def test_what_looks_like_another_style_inside_a_section_is_text():
    documented = read_docstring(
        """Mix.

        Parameters
        ----------
        template : str
            Lines such as
            :param x: and so on.
        """
    )
    assert documented.parameters == {"template": "Lines such as :param x: and so on."}


def test_the_docstring_of_an_object_is_that_of_its_call():
    class Search:
        """An engine."""

        def __call__(self, words: str):
            """Search the web.

            Args:
                words: What to search for.
            """

    class Silent:
        """Say nothing."""

        def __call__(self):
            pass

    spec = Tool(Search()).spec
    assert spec.description == "Search the web."
    assert spec.parameters["properties"]["words"]["description"] == "What to search for."
    assert Tool(Silent()).spec.description == "Say nothing."


def test_a_given_description_wins():
    assert Tool(google, description="Ask the sky.").spec.description == "Ask the sky."


BROKEN = [
    "Args:\n    nobody: Not a parameter.\n    : no name\n\nReturns:",
    "Parameters\n----------\n\nReturns\n-------",
    "Parameters\n----------\n: : :\n    what",
    ":param\n:param :\n:param x\n:type x:\n:returns",
    ":param x: :raises: :param\n\n:return:",
    "Args:\n",
    "Returns:\n    dict[str: broken\n\nYields:\n  [",
    "Args:\n\tx: with a tab\n  y: less deep\n        z: deeper",
    "\x00 Args:\n    x: \ud800",
]


@pytest.mark.parametrize("docstring", [*BROKEN, *(each.__doc__ for each in (google, numpy, sphinx))])
def test_a_docstring_however_written_neither_warns_nor_logs_nor_prints(
    docstring: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
):
    def function(x: int):
        return x

    function.__doc__ = docstring
    with caplog.at_level(logging.DEBUG):
        spec = Tool(function).spec  # a warning is an error in these tests
    assert list(spec.parameters["properties"]) == ["x"]
    assert [record for record in caplog.records if record.thread == threading.get_ident()] == []
    assert capfd.readouterr() == ("", "")
