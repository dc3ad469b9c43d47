"""Values with their types, for comparing: 1, 1.0 and True are equal but not the same."""

from collections import deque
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel


def seen(value: Any) -> Any:
    if isinstance(value, dict):
        return dict, {key: seen(item) for key, item in value.items()}
    if isinstance(value, list | tuple | deque):
        return type(value), [seen(item) for item in value]
    if isinstance(value, set | frozenset):
        return type(value), {(type(item), item) for item in value}
    if isinstance(value, BaseModel):
        return type(value), {name: seen(getattr(value, name)) for name in type(value).model_fields}, value
    if is_dataclass(value) and not isinstance(value, type):
        return type(value), {field.name: seen(getattr(value, field.name)) for field in fields(value)}
    return type(value), value
