"""Plugins: dialects, endpoints and toolboxes that other installed packages offer, by entry points.

A package names what it offers in its `pyproject.toml`:

    [project.entry-points."toolspeak.dialects"]
    one-line = "acme.dialect:ONE_LINE"

Nothing is looked for before somebody uses a name that toolspeak does not have itself, and only the plugin of that name
is imported. A name of toolspeak's own is never looked up here, so no package can replace what it stands for.
"""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from toolspeak.values.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PluginGroup: TypeAlias = Literal["toolspeak.dialects", "toolspeak.endpoints", "toolspeak.toolboxes"]
"""The groups of entry points. Each entry point names:

- `toolspeak.dialects`: a dialect object whose `name` is the name of the entry point.
- `toolspeak.endpoints`: a function that takes the name of a model (the part after `NAME:`) and returns the model.
- `toolspeak.toolboxes`: a `Toolbox`, a module to discover tools in, a function, or a list of functions.
"""


class Plugin:
    """A plugin of an installed package. `load` imports it.

    Attributes:
        name: The name.
        package: The package.
    """

    def __init__(self, group: PluginGroup, point: "EntryPoint") -> None:
        self.name = point.name
        self.package = point.dist.name if point.dist is not None else point.value
        self._group = group
        self._point = point

    def load(self) -> Any:
        """Import the plugin and return it. Raises `UsageError` if it cannot be imported."""
        try:
            return self._point.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit included: a package must not end the program
            raise self.refuse(f"{self._point.value} cannot be imported: {type(error).__name__}: {error}") from error

    def refuse(self, reason: str) -> UsageError:
        """Return the error for a plugin that cannot be used."""
        return UsageError(
            f"{self.name!r} comes from the package {self.package} ({self._group}) and cannot be used: {reason}; "
            f"update {self.package}, or uninstall it"
        )


_found: dict[tuple[PluginGroup, str], Plugin] = {}


def find_plugin(group: PluginGroup, name: str) -> Plugin | None:
    """Return the plugin of that name; None if no installed package offers one.

    Raises `UsageError` if several packages offer one.
    """
    if (group, name) not in _found:
        from importlib.metadata import entry_points  # its own imports take longer than those of toolspeak

        # One package may be found twice, if its folder is on the path twice.
        plugins = {
            plugin.package: plugin for plugin in (Plugin(group, each) for each in entry_points(group=group, name=name))
        }
        if not plugins:
            return None
        if len(plugins) > 1:
            packages = " and ".join(sorted(plugins))
            raise UsageError(f"{name!r} comes from several packages ({group}): {packages}; uninstall all but one")
        _found[group, name] = next(iter(plugins.values()))
    return _found[group, name]


def list_plugin_names(group: PluginGroup) -> tuple[str, ...]:
    """Return the names that installed packages offer. Nothing is imported."""
    from importlib.metadata import entry_points  # see `find_plugin`

    return tuple(sorted(entry_points(group=group).names))
