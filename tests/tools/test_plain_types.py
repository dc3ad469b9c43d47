"""A plain type is read and validated as pydantic reads and validates it, and without importing pydantic."""

import json
import subprocess
import sys
from typing import Any, Literal, Optional, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from toolspeak.tools.pydantic_types import read_pydantic_return_schema, read_pydantic_type
from toolspeak.tools.schema import ValueValidator
from toolspeak.tools.types import PlainValidator, find_plain_type

SCALARS: list[Any] = [str, int, float, bool, None, Literal["a"], Literal["a", "b", "é"]]


def combine(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        inner.map(lambda each: list[each]),
        inner.map(lambda each: dict[str, each]),
        inner.map(lambda each: Optional[each]),  # noqa: UP045 (the type is known only now)
        st.tuples(inner, inner).map(lambda pair: Union[pair]),  # noqa: UP007 (the same)
    )


annotations = st.recursive(st.sampled_from(SCALARS), combine, max_leaves=4)
scalars = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False)),
    st.sampled_from(["a", "b", "é", "", "1", "true", "\ud800"]),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "\ud800"]), inner)
)


def validate(validator: ValueValidator, value: Any) -> Any:
    """Return the value, or the text of the error."""
    try:
        return validator.validate_python(value)
    except ValidationError as error:
        return error.errors(include_url=False)


def find(annotation: Any) -> Any:
    plain = find_plain_type(annotation)
    assert plain is not None
    return plain


@given(annotations)
def test_the_schema_is_that_of_pydantic(annotation: Any):
    schema = find(annotation).schema
    info = read_pydantic_type(annotation)
    assert json.dumps(schema) == json.dumps(info.schema)
    assert schema == read_pydantic_return_schema(annotation)
    assert not info.defs


@given(annotations, values)
def test_a_value_is_validated_as_by_pydantic(annotation: Any, value: Any):
    ours = PlainValidator(annotation, find(annotation).take)
    theirs = read_pydantic_type(annotation).validator
    found = validate(ours, value)
    assert repr(found) == repr(validate(theirs, value))  # 1 and True, or 1 and 1.0, are equal but not alike
    if isinstance(value, list | dict):
        assert found is not value


@given(annotations, values)
def test_a_value_of_the_type_is_written_as_by_pydantic(annotation: Any, value: Any):
    info = read_pydantic_type(annotation)
    plain = find(annotation)
    try:
        expected = info.dump(info.validator.validate_python(value))
    except Exception:  # not of the type, or half of a surrogate pair
        return
    assert PlainValidator(annotation, plain.take).dump(info.validator.validate_python(value)) == expected


@pytest.mark.parametrize(
    "annotation", [Any, bytes, tuple[int], set[str], list[Any], dict[int, str], Literal["a", 1], list]
)
def test_other_types_are_left_to_pydantic(annotation: Any):
    assert find_plain_type(annotation) is None


def test_a_tool_of_plain_types_needs_no_pydantic():
    code = """
import sys
from toolspeak import tool

@tool
def look(x: int, names: list[str] | None = None, rate: float = 0.5) -> str:
    '''Look something up.

    Args:
        x: which of them
        names: what they are called
    '''
    return "found"

look.bind({"x": 1, "names": ["a"]})
print(*{name.partition(".")[0] for name in sys.modules} & {"pydantic", "pydantic_core", "griffe"})
look.bind({"x": "1"})
print(*{name.partition(".")[0] for name in sys.modules} & {"pydantic"})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\npydantic\n"
