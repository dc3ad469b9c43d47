"""The way in: `toolspeak …` and `python -m toolspeak.cli`.

Whatever goes wrong by the user's hand is one line on standard error and exit code 2, never a traceback.
"""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from toolspeak.cli.app import run  # not at the top: without the extra it fails, and says how to mend it
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich", "click"):
            raise
        sys.exit(f"toolspeak: the command line needs {error.name}; install it with: pip install 'toolspeak[cli]'")
    sys.exit(run())


if __name__ == "__main__":
    main()
