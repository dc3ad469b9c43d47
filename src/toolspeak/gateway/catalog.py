"""`ModelCatalog`: the models that a gateway serves, the names by which clients may ask for them, and their list."""

from collections.abc import Iterable, Mapping
from typing import Any

from toolspeak.errors import UsageError
from toolspeak.gateway.exchange import ServedModel
from toolspeak.gateway.guard import RequestRefused
from toolspeak.validation import nearest

MAX_QUOTED_CHARS = 80
"""Characters of a name that are quoted in an error."""


class ModelCatalog:
    """The models that are served.

    If there is only one, every name means it: clients come with the names of their vendors (`gpt-4o`, `claude-…`).
    Among several, a model is found by its name or by an alias.
    """

    def __init__(self, served: Iterable[ServedModel], aliases: Mapping[str, str] | None = None) -> None:
        """Create a catalog.

        Args:
            served: The models.
            aliases: Further names for models, each with the name under which the model is served.
        """
        self._served: dict[str, ServedModel] = {}
        for each in served:
            if each.name in self._served:
                raise UsageError(f"two models are served as {each.name!r}; give one of them another name")
            self._served[each.name] = each
        if not self._served:
            raise UsageError("there is no model to serve")
        self._by_name = dict(self._served)
        for alias, name in (aliases or {}).items():
            if alias in self._served:
                raise UsageError(f"the alias {alias!r} is the name of a model that is served")
            if name not in self._served:
                raise UsageError(f"the alias {alias!r} stands for {name!r}, which is not served; {self._cure(name)}")
            self._by_name[alias] = self._served[name]

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which clients may ask: those of the models first, then the aliases."""
        return tuple(self._by_name)

    def find(self, name: str) -> ServedModel:
        """Return the model that a client means. Raises `RequestRefused` if there are several, and none of that name."""
        if name in self._by_name:
            return self._by_name[name]
        if len(self._served) == 1:
            return next(iter(self._served.values()))
        raise self._unknown(name)

    def list_entries(self) -> dict[str, Any]:
        """Return the list of models, with the fields of both APIs."""
        names = self.names
        data = [_entry(name) for name in names]
        return {"object": "list", "data": data, "has_more": False, "first_id": names[0], "last_id": names[-1]}

    def entry(self, name: str) -> dict[str, Any]:
        """Return one model of the list. Raises `RequestRefused` if the name is not in the list."""
        if name not in self._by_name:
            raise self._unknown(name)
        return _entry(name)

    def list_gemini_entries(self) -> dict[str, Any]:
        """Return the list of models, in the form of Gemini's API."""
        return {"models": [_gemini_entry(name) for name in self.names]}

    def gemini_entry(self, name: str) -> dict[str, Any]:
        """Return one model of the list, in the form of Gemini's API. Raises `RequestRefused` if it is not in it."""
        if name not in self._by_name:
            raise self._unknown(name)
        return _gemini_entry(name)

    def _unknown(self, name: str) -> RequestRefused:
        return RequestRefused("model_unknown", f"there is no model {name[:MAX_QUOTED_CHARS]!r}; {self._cure(name)}")

    def _cure(self, name: str) -> str:
        similar = nearest(name, self.names)
        return f"did you mean {similar}?" if similar else f"the models are: {', '.join(self.names)}"


def _gemini_entry(name: str) -> dict[str, Any]:
    methods = ["generateContent", "streamGenerateContent", "countTokens"]
    return {"name": f"models/{name}", "displayName": name, "version": "1", "supportedGenerationMethods": methods}


def _entry(name: str) -> dict[str, Any]:
    openai_fields = {"object": "model", "created": 0, "owned_by": "toolspeak"}
    anthropic_fields = {"type": "model", "created_at": "1970-01-01T00:00:00Z"}
    return {"id": name, "display_name": name, **openai_fields, **anthropic_fields}
