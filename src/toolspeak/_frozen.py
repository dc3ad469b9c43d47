"""`frozen`: the decorator of all value classes. They are frozen, slotted, keyword-only dataclasses.

One decorator instead of thirty repetitions of the same three flags. A class whose values are saved or sent (a part, a
message, an event) has a `kind`: a class variable, which costs nothing to construct and names the class in saved JSON.
"""

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def frozen(cls: type[T]) -> type[T]:
    """Make `cls` a frozen, slotted, keyword-only dataclass."""
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)
