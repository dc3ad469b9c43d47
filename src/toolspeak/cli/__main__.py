"""The entry point of `toolspeak …` and `python -m toolspeak.cli`.

Every mistake of the user is one line on standard error and exit code 2, never a traceback.
"""

import os
import sys


def main() -> None:
    """Run the command line and exit."""
    try:
        from toolspeak.cli.app import run  # not at the top: without the extra `cli` it fails, and the cure is printed
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich", "click"):
            raise
        from toolspeak.values.package import suggest_install

        sys.exit(f"toolspeak: the command line needs {error.name}; install it with: {suggest_install('cli')}")
    sys.exit(run())


def _leave_working_directory() -> None:
    """Take the working directory off the path, where `python -m` puts it first: its files must not shadow modules."""
    if not sys.flags.safe_path and sys.path and sys.path[0] == os.getcwd():  # noqa: PTH109 (as Python wrote it)
        del sys.path[0]


if __name__ == "__main__":
    _leave_working_directory()
    main()
