"""`AnswerFormat`: the form that a client asks of an answer, and how the APIs write it."""

from toolspeak._frozen import frozen
from toolspeak.spec import Schema
from toolspeak.wire.fields import Fields


@frozen
class AnswerFormat:
    """The form that a client asks of an answer: JSON, by itself and without other words.

    Attributes:
        schema: The schema of the answer. None stands for any JSON object.
        is_strict: Whether the answer must match the schema. Otherwise it should, and any JSON object is accepted.
        path: The field of the request with the schema, for errors.
    """

    schema: Schema | None = None
    is_strict: bool = True
    path: str = ""


def read_answer_format(given: Fields | None, *, nested: str = "") -> AnswerFormat | None:
    """Read the object that describes the form of an answer; None if any text will do.

    Args:
        given: The object: `type` is `text`, `json_object` or `json_schema`.
        nested: The field of the object that holds schema and strictness; empty if the object itself holds them.
    """
    if given is None:
        return None
    match given.text("type"):
        case "text":
            return None
        case "json_object":
            return AnswerFormat()
        case "json_schema":
            holder = given.object(nested) if nested else given
            schema = holder.optional_object("schema")
            if schema is None:
                return AnswerFormat()
            return AnswerFormat(schema=schema.data, is_strict=holder.flag("strict", True), path=schema.path)
        case other:
            raise given.error("type", f"{other!r} is none of text, json_object, json_schema")
