"""Settings: read when `load` is called, never at import.

Four sources, of which a later one overrides those before it: defaults, the user's file, the file of a project that was
named or is trusted, the environment. Each setting knows which source it came from. A file never holds the key of an
endpoint, only the name of the environment variable that does. A project may be a stranger's, so the library reads no
project's file by itself, and the command line only what the user trusts.

This room imports `values/` and nothing else of toolspeak. Begin with `loader.py`.

    loader.py           `load`: reads the sources and merges them
    values.py           `Settings`: what they say, each with its origin
    schema.py           which settings there are, and the values that each takes
    project_file.py     the file of a project: where it is, what no project may set, its fingerprint
    resolver.py         what targets run, and where they send: files, commands, variables and addresses
    trust.py            the projects that the user trusts or refuses
    files.py            the folders of toolspeak, and small files in them
    user_files.py       what is kept for the user: dialects, pins and logins of MCP servers
    server_targets.py   what the targets of MCP servers name: servers, what their commands run, and perhaps keys
    plugins.py          dialects, endpoints and toolboxes of other installed packages

To add a setting: a row in `SETTINGS` (`schema.py`), a field of `Settings` and its line in `_all_values` (`values.py`);
its environment variable follows from its name. If a project that is not trusted may make it: `_is_harmless`
(`project_file.py`). To add an option of endpoints: `ENDPOINT_SETTINGS` and `EndpointSettings`. To add a built-in
endpoint: its name and the variable of its key in `project_file.py`, so that no project takes them over. A setting that
runs something is listed in `resolver.py`: what is not listed there is not asked about, and the loader refuses it.
"""

from typing import TYPE_CHECKING

from toolspeak.values.package import export_lazily

if TYPE_CHECKING:
    from toolspeak.settings.files import cache_folder, config_folder, data_folder
    from toolspeak.settings.loader import load, user_file
    from toolspeak.settings.user_files import (
        forget_calibrated_dialect,
        load_calibrated_dialect,
        save_calibrated_dialect,
    )
    from toolspeak.settings.values import (
        ApprovalPolicy,
        EndpointSettings,
        IgnoredSettings,
        LocalSettings,
        SettingRow,
        Settings,
    )
else:  # an agent that is given a model object needs no settings
    __getattr__ = export_lazily(
        __name__,
        files=("cache_folder", "config_folder", "data_folder"),
        loader=("load", "user_file"),
        user_files=("forget_calibrated_dialect", "load_calibrated_dialect", "save_calibrated_dialect"),
        values=("ApprovalPolicy", "EndpointSettings", "IgnoredSettings", "LocalSettings", "SettingRow", "Settings"),
    )

__all__ = [
    "ApprovalPolicy",
    "EndpointSettings",
    "IgnoredSettings",
    "LocalSettings",
    "SettingRow",
    "Settings",
    "cache_folder",
    "config_folder",
    "data_folder",
    "forget_calibrated_dialect",
    "load",
    "load_calibrated_dialect",
    "save_calibrated_dialect",
    "user_file",
]
