"""The projects whose settings the user trusts or refuses, with the fingerprint of the settings at that time.

Each project has one small file in the user's config folder, which only the user may read, and which is replaced as a
whole. Trust ends when the fingerprint changes.
"""

import hashlib
from pathlib import Path

from toolspeak.settings.files import Environ, config_folder, read_object, write_object
from toolspeak.settings.project_file import PROJECT_FILES, ProjectFile
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen

TRUST_VARIABLE = "TOOLSPEAK_TRUST_PROJECT"
"""The environment variable that names the folder of a project to trust, for machines without a user to ask."""


@frozen
class TrustDecision:
    """What the user decided about a project.

    Attributes:
        path: The settings file.
        fingerprint: The fingerprint of the settings that the user saw.
        is_trusted: Whether the user trusts the settings; False if the user refused them.
    """

    path: Path
    fingerprint: str
    is_trusted: bool


def find_decision(project: ProjectFile, *, environ: Environ | None = None) -> TrustDecision | None:
    """Return the user's decision about a project's settings as they are now, or None if there is none."""
    try:
        decision = _read(_decision_file(project.path, environ))
    except UsageError:  # without a home folder nothing was decided
        return None
    is_same = decision is not None and (decision.path, decision.fingerprint) == (project.path, project.fingerprint)
    return decision if is_same and project.listing.is_complete else None


def is_named_by_variable(project: ProjectFile, environ: Environ) -> bool:
    """Whether `TOOLSPEAK_TRUST_PROJECT` names the project's folder.

    Raises `UsageError` if the variable is not the path of a folder.
    """
    value = environ.get(TRUST_VARIABLE, "").strip()
    if not value:
        return False
    folder = Path(value)
    if not folder.is_absolute() or not folder.is_dir():
        raise UsageError(f"environment variable {TRUST_VARIABLE} takes the folder of the project to trust, as a path")
    return folder.resolve() == project.path.parent


def save_decision(project: ProjectFile, *, trusted: bool, environ: Environ | None = None) -> Path:
    """Save the user's decision about a project's settings, and return the path of the file that holds it.

    Raises `UsageError` if the file cannot be written.
    """
    file = _decision_file(project.path, environ)
    content = {"path": str(project.path), "fingerprint": project.fingerprint, "trusted": trusted}
    write_object(file, content)
    return file


def remove_decision(path: Path, *, environ: Environ | None = None) -> TrustDecision | None:
    """Remove the decision about a settings file, or about the nearest project in or above a folder, and return it.

    The project itself need not exist any more. Returns None if there was no decision.
    """
    start = path.resolve()
    for candidate in (start, *(folder / name for folder in (start, *start.parents) for name in PROJECT_FILES)):
        file = _decision_file(candidate, environ)
        if (decision := _read(file)) is not None:
            file.unlink(missing_ok=True)
            return decision
    return None


def list_decisions(*, environ: Environ | None = None) -> list[TrustDecision]:
    """Return all decisions, by path."""
    found = map(_read, _decision_file(Path(), environ).parent.glob("*.json"))
    return sorted((each for each in found if each is not None), key=lambda each: each.path)


def _decision_file(path: Path, environ: Environ | None) -> Path:
    name = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return config_folder(environ) / "trust" / f"{name}.json"


def _read(file: Path) -> TrustDecision | None:
    content = read_object(file) or {}
    path, fingerprint, trusted = content.get("path"), content.get("fingerprint"), content.get("trusted")
    if not isinstance(path, str) or not isinstance(fingerprint, str) or not isinstance(trusted, bool):
        return None
    return TrustDecision(path=Path(path), fingerprint=fingerprint, is_trusted=trusted)
