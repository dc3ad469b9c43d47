"""Makes a release ready: everything but the upload, which needs an account.

    python scripts/release.py address https://…   # once: where the repository is, in all that names it
    python scripts/release.py cut 0.2.0           # version, changelog, what later releases are compared with; tag
    python scripts/release.py build dist          # build, compare, check, install, try; print what to upload

`build` makes wheel and sdist of toolspeak and of `packages/toolspeak-trained` twice, the second time from the unpacked
sdist, and compares every byte. It checks metadata and contents, installs the wheels in a fresh environment of each
Python that toolspeak supports, runs `scripts/smoke.py` there, and describes that environment in an SBOM (CycloneDX). A
Python that is not on this machine is named. What must not be uploaded is built and tried as well, and at the end the
reason is printed instead of how to upload it. With `--strict`, both end with the exit status 1.

Times in the files are those of the last commit of the project (SOURCE_DATE_EPOCH), so whoever builds a commit gets the
same bytes, and toolspeak-trained keeps its bytes from one release of toolspeak to the next.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from datetime import UTC, datetime
from email.parser import Parser
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VERSION_FILE = Path("src/toolspeak/values/package.py")
PROJECTS = (".", "packages/toolspeak-trained")
PYTHONS = ("3.11", "3.12", "3.13")
INSTALLED_EXTRAS = "cli,local,meaning,sandbox,gateway,page,otel,prices,mcp"
MAX_WHEEL_BYTES = 1_500_000
"""The limit for the library, without what was trained."""
PLACEHOLDER = "https://toolspeak.example/repository"
"""Stands for the address of the repository until it has one; nobody can own a name under .example."""
HOW_TO_ADDRESS = (
    f"{PLACEHOLDER} stands for the address of the repository; run make address REPOSITORY=https://…, commit, and move "
    "the tag (CONTRIBUTING.md)"
)
ADDRESSED = ("pyproject.toml", "packages/toolspeak-trained/pyproject.toml", "packages/toolspeak-trained/README.md")
INSTALLERS = frozenset({"pip", "setuptools", "wheel"})
"""Are in a fresh environment, and nothing that toolspeak needs."""
DEFAULT_EPOCH = "1580601600"  # where there is no history to take a time from; the one of hatchling


class ReleaseFault(Exception):
    """Something is wrong with the release. The message says what, and what to do."""


def run(*command: str | Path, cwd: Path = ROOT, **variables: str) -> str:
    """Run a command and return its output. Raises `ReleaseFault` with the output if it fails."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise ReleaseFault(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def read_version(root: Path = ROOT) -> str:
    """Return the version that the package says of itself."""
    found = re.search(r'^__version__ = "(.+)"$', (root / VERSION_FILE).read_text(encoding="utf-8"), re.M)
    if found is None:
        raise ReleaseFault(f'{VERSION_FILE} has no line __version__ = "…"')
    return found[1]


def parse_version(text: str) -> tuple[int, ...]:
    """Return the numbers of a version, such as 0.2.0. Raises `ReleaseFault` for other forms."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", text):
        raise ReleaseFault(f"{text!r} is not a version; write three numbers, such as 0.2.0")
    return tuple(map(int, text.split(".")))


# address


def read_address(root: Path = ROOT) -> str:
    """Return the address of the repository that the metadata names."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Source"]


def set_address(address: str, root: Path = ROOT) -> list[str]:
    """Replace the address of the repository in all files that name it. Returns the lines to print."""
    if not re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", address) or address.endswith(".git"):
        raise ReleaseFault(
            f"{address!r} is not the address of a repository; write it as its page has it, without a slash or .git at "
            "the end, such as https://github.com/OWNER/toolspeak"
        )
    current = read_address(root)
    for name in ADDRESSED:
        path = root / name
        path.write_text(path.read_text(encoding="utf-8").replace(current, address), encoding="utf-8")
    return [f"{current} is now {address} in {', '.join(ADDRESSED)}", "now commit that, then: make cut VERSION=…"]


# cut


def cut_changelog(text: str, version: str, day: str) -> str:
    """Return the changelog with what is unreleased under the heading of a version. Raises `ReleaseFault` if empty."""
    heading = "## Unreleased\n"
    before, found, after = text.partition(heading)
    if not found:
        raise ReleaseFault("CHANGELOG.md has no heading ## Unreleased; write one above the last release")
    if not after.partition("\n## ")[0].strip():
        raise ReleaseFault("CHANGELOG.md says nothing under ## Unreleased; write what users notice")
    after = after.replace(f"This will be {version}. ", "", 1)  # it is now
    return f"{before}{heading}\n## {version} ({day})\n{after}"


def cut(version: str, root: Path = ROOT, *, python: str = sys.executable) -> list[str]:
    """Set the version, cut the changelog, save what later releases are compared with, commit and tag.

    Nothing is pushed. Returns the lines to print.
    """
    if run("git", "status", "--porcelain", cwd=root).strip():
        raise ReleaseFault("there are changes that are not committed; commit them, or put them aside, and cut again")
    current = read_version(root)
    if parse_version(version) < parse_version(current):
        raise ReleaseFault(f"{version} is older than {current}; give the next version")
    tag = f"v{version}"
    if run("git", "tag", "--list", tag, cwd=root).strip():
        raise ReleaseFault(f"the tag {tag} exists; a release is never made twice: give the next version")
    path = root / VERSION_FILE
    source = path.read_text(encoding="utf-8")
    path.write_text(source.replace(f'__version__ = "{current}"', f'__version__ = "{version}"'), encoding="utf-8")
    changelog = root / "CHANGELOG.md"
    day = datetime.now(UTC).date().isoformat()
    changelog.write_text(cut_changelog(changelog.read_text(encoding="utf-8"), version, day), encoding="utf-8")
    run(python, "scripts/api.py", "save", cwd=root)
    run(python, "scripts/saved_formats.py", version, cwd=root)
    run("git", "add", "--all", cwd=root)
    run("git", "commit", "--quiet", "--message", f"Release {version}", cwd=root)
    run("git", "tag", "--annotate", tag, "--message", f"toolspeak {version}", cwd=root)
    return [
        f"committed and tagged {tag}; nothing was pushed",
        *([f"not yet for upload: {HOW_TO_ADDRESS}"] if read_address(root) == PLACEHOLDER else ()),
        "now: make release",
        f"then, to publish through the workflow: git push origin main {tag}",
        f"to take it back: git tag --delete {tag} && git reset --hard HEAD~1",
    ]


# build


def find_epoch(root: Path = ROOT, project: str = ".") -> str:
    """Return the time that all files of a project get: of the environment, or else of its last commit."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return given
    if (root / ".git").exists():
        folder = () if project == "." else ("--", project)  # of a path, git leaves out merges
        return run("git", "log", "-1", "--format=%ct", *folder, cwd=root).strip()
    return DEFAULT_EPOCH


def build(project: Path, out: Path, epoch: str) -> list[Path]:
    """Build the sdist and the wheel of a project into a folder, and return both."""
    before = set(out.iterdir()) if out.exists() else set[Path]()
    command = (sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--target", "wheel", "--directory")
    run(*command, str(out.resolve()), cwd=project, SOURCE_DATE_EPOCH=epoch)
    return sorted(set(out.iterdir()) - before)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def build_twice(project: Path, out: Path, epoch: str) -> list[Path]:
    """Build a project, and again from its sdist in another folder. Raises `ReleaseFault` if a byte differs."""
    built = build(project, out, epoch)
    [sdist] = [path for path in built if path.name.endswith(".tar.gz")]
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        unpacked = Path(folder) / sdist.name.removesuffix(".tar.gz")
        again = build(unpacked, Path(folder) / "again", epoch)
        different = [path.name for path, other in zip(built, again, strict=True) if hash_file(path) != hash_file(other)]
    if different:
        raise ReleaseFault(f"built twice, other bytes: {', '.join(different)}; compare their contents with diffoscope")
    return built


# checks


def check_wheel(wheel: Path, project: Path) -> list[str]:
    """Return what is wrong with a wheel: metadata that is missing or untrue, files that are missing or too many."""
    declared = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    source = project / declared["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"][0]
    faults: list[str] = []
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [metadata_name] = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = archive.read(metadata_name).decode()
        entry_points = [archive.read(name).decode() for name in names if name.endswith("entry_points.txt")]
    inside = {name for name in names if ".dist-info/" not in name}
    wanted = {
        path.relative_to(source.parent).as_posix()
        for path in source.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    faults += [f"{name} is not in the wheel" for name in sorted(wanted - inside)]
    faults += [f"{name} is in the wheel, and not in {source}" for name in sorted(inside - wanted)]
    faults += check_metadata(metadata, declared["project"])
    if declared["project"]["name"] == "toolspeak":
        if wheel.stat().st_size > MAX_WHEEL_BYTES:
            faults.append(f"the wheel has {wheel.stat().st_size:,} bytes; the limit is {MAX_WHEEL_BYTES:,}")
        if not any("toolspeak = toolspeak.cli.__main__:main" in text for text in entry_points):
            faults.append("the command toolspeak is not declared")
    return [f"{wheel.name}: {fault}" for fault in faults]


def check_metadata(text: str, project: dict[str, object]) -> list[str]:
    """Return what is wrong with the metadata of a distribution."""
    from packaging.metadata import Metadata, RawMetadata, parse_email
    from packaging.requirements import Requirement

    raw: RawMetadata
    raw, unknown = parse_email(text)
    faults = [f"the metadata has an unknown field {name}" for name in unknown]
    try:
        Metadata.from_raw(raw)
    except ExceptionGroup as group:
        faults += [f"metadata: {error}" for error in group.exceptions]
    fields = Parser().parsestr(text, headersonly=True)
    version = project.get("version") or read_version()
    if (fields["Name"], fields["Version"]) != (project["name"], version):
        faults.append(f"it is {fields['Name']} {fields['Version']}, not {project['name']} {version}")
    faults += [
        f"the metadata has no {name}"
        for name in ("Summary", "License-Expression", "Requires-Python", "Project-URL", "Description-Content-Type")
        if not fields[name]
    ]
    addressed = [each for each in fields.get_all("Requires-Dist", []) if Requirement(each).url]
    faults += [f"{each} needs an address, which an index refuses" for each in addressed]
    paths = re.findall(r"\]\(((?![a-z]+:|#)[^)]*)\)", raw.get("description", ""))
    return faults + [
        f"the README links to {path}, which an index does not have; see scripts/readme.py" for path in paths
    ]


def check_sdist(sdist: Path, root: Path = ROOT) -> list[str]:
    """Return what is wrong with an sdist of toolspeak: files that git has and it lacks, and the other way round."""
    if not (root / ".git").exists():
        return []
    tracked = set(run("git", "ls-files", "-z", cwd=root).split("\0")) - {""}
    with tarfile.open(sdist) as archive:
        top = sdist.name.removesuffix(".tar.gz")
        inside = {each.name.removeprefix(f"{top}/") for each in archive.getmembers() if each.isfile()} - {"PKG-INFO"}
    faults = [f"{name} is not in the sdist" for name in sorted(tracked - inside)]
    return faults + [f"{name} is in the sdist, and git does not know it" for name in sorted(inside - tracked)]


# environments


def find_python(version: str) -> str | None:
    """Return the path of a Python of this version on this machine, or None."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    candidates = [shutil.which(f"python{version}")]
    if pyenv := shutil.which("pyenv"):
        root = Path(run(pyenv, "root").strip()) / "versions"
        candidates += [str(path / "bin" / "python") for path in sorted(root.glob(f"{version}.*"))]
    for each in filter(None, candidates):
        asked = subprocess.run(
            [each, "-c", "import sys; print(*sys.version_info[:2], sep='.')"],
            capture_output=True,
            text=True,
            check=False,
        )
        if asked.stdout.strip() == version:
            return each
    return None


def install(python: str, folder: Path, wheels: list[Path], constraints: Path) -> Path:
    """Make an environment, install the wheels with their extras into it, and return its Python."""
    run(python, "-m", "venv", "--clear", folder)
    own = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    [library] = [wheel for wheel in wheels if wheel.name.startswith("toolspeak-")]
    others = [wheel for wheel in wheels if wheel != library]
    pip = (own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, *others, f"{library}[{INSTALLED_EXTRAS}]", PIP_CONSTRAINT=str(constraints))
    return own


def complete_sbom(described: dict[str, Any], version: str) -> dict[str, Any]:
    """Return the description of an environment as that of toolspeak: with its version, and what it needs only.

    What installs packages goes. So do paths of this machine: of a wheel that was built here, the hash stays.
    """
    components: list[dict[str, Any]] = []
    for each in described.get("components", []):
        references = each.get("externalReferences", [])
        built = [reference for reference in references if reference["url"].startswith("file:")]
        component = {**each, "externalReferences": [reference for reference in references if reference not in built]}
        if built:
            component["hashes"] = [digest for reference in built for digest in reference.get("hashes", [])]
            component["purl"] = f"pkg:pypi/{each['name']}@{each['version']}"
        components.append(component)
    left_out = {each["bom-ref"] for each in components if each["name"] in INSTALLERS}
    own = {**described["metadata"]["component"], "version": version, "purl": f"pkg:pypi/toolspeak@{version}"}
    return {
        **described,
        "metadata": {**described["metadata"], "component": own},
        "components": [each for each in components if each["bom-ref"] not in left_out],
        "dependencies": [each for each in described.get("dependencies", []) if each["ref"] not in left_out],
    }


def write_sbom(python: Path, target: Path) -> None:
    """Describe an environment as CycloneDX JSON, without what differs from one time to the next."""
    program = shutil.which("cyclonedx-py") or shutil.which("cyclonedx-py", path=str(ROOT / ".venv-release" / "bin"))
    if program is None:
        raise ReleaseFault("there is no cyclonedx-py; make release installs it (scripts/release-requirements.txt)")
    project = ("--pyproject", ROOT / "pyproject.toml", "--mc-type", "library")
    run(program, "environment", python, *project, "--output-reproducible", "--output-file", target)
    described = complete_sbom(json.loads(target.read_text(encoding="utf-8")), read_version())
    target.write_text(json.dumps(described, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    names = {each["name"] for each in described.get("components", ())}
    if not {"pydantic", "aiohttp", "griffelib"} <= names:
        raise ReleaseFault(f"{target.name} does not name the dependencies of toolspeak; it names {sorted(names)}")


def find_weights() -> bool:
    """Whether the weights of the embedded model are on this machine."""
    from toolspeak.models.weights import QWEN_CODER
    from toolspeak.settings import cache_folder

    return (cache_folder() / "models" / QWEN_CODER.filename).is_file()


def make_release(out: Path, pythons: list[str], *, embedded: bool) -> list[str]:
    """Build, check, install and try. Returns what is missing for an upload that everything was tried for."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    is_clean = not (ROOT / ".git").exists() or not run("git", "status", "--porcelain").strip()
    faults: list[str] = []
    built: list[Path] = []
    for name in PROJECTS:
        pair = build_twice(ROOT / name, out, find_epoch(project=name))
        built += pair
        faults += [fault for path in pair if path.suffix == ".whl" for fault in check_wheel(path, ROOT / name)]
        print(f"built twice, same bytes: {', '.join(path.name for path in pair)}", flush=True)
    [sdist] = [path for path in built if path.name == f"toolspeak-{read_version()}.tar.gz"]
    faults += check_sdist(sdist) if is_clean else []
    if faults:
        raise ReleaseFault("\n".join(faults))
    print("metadata and contents are right", flush=True)
    wheels = [path for path in built if path.suffix == ".whl"]
    missing: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        described = False
        for version in pythons:
            python = find_python(version)
            if python is None:
                missing.append(f"Python {version} is not on this machine: not tried (install it, and run this again)")
                print(missing[-1], flush=True)
                continue
            own = install(python, Path(folder) / version, wheels, ROOT / "constraints.txt")
            print(f"Python {version}: installed", flush=True)
            smoke = (own, "-P", ROOT / "scripts" / "smoke.py", *(["--embedded"] if embedded else []))
            print(run(*smoke, cwd=Path(folder)), end="", flush=True)
            if not described:
                write_sbom(own, out / f"toolspeak-{read_version()}.cdx.json")
                described = True
            shutil.rmtree(Path(folder) / version)
    if not embedded:
        print("the embedded demo was not tried: its weights are not on this machine (toolspeak pull), or --no-embedded")
    obstacles: list[str] = []
    if not is_clean:
        obstacles.append("there are changes that are not committed, so nobody can build this again")
    if read_address() == PLACEHOLDER:
        obstacles.append(HOW_TO_ADDRESS)
    print_upload(out, obstacles)
    return missing + obstacles


def print_upload(out: Path, obstacles: list[str]) -> None:
    """Print the files with their sizes and hashes, and how to upload them, or why not to."""
    files = sorted(path for path in out.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    sums = "".join(f"{hash_file(path)}  {path.name}\n" for path in files)
    (out / "SHA256SUMS").write_text(sums, encoding="utf-8")
    print()
    for path in files:
        print(f"{path.stat().st_size:>12,}  {hash_file(path)}  {path.name}")
    if obstacles:
        print("\n" + "\n".join(f"NOT FOR UPLOAD: {obstacle}" for obstacle in obstacles))
        return
    uploaded = " ".join(str(path) for path in files if path.suffix in (".whl", ".gz"))
    print("\nto publish, push the tag (the workflow release.yml uploads these bytes, with attestations), or by hand:")
    print(f"  twine upload {uploaded}")


def main(arguments: list[str]) -> int:
    """Run a command; return the exit status."""
    parser = argparse.ArgumentParser(description="Make a release ready.")
    commands = parser.add_subparsers(dest="command", required=True)
    cutting = commands.add_parser("cut", help="set the version, cut the changelog, commit and tag")
    cutting.add_argument("version")
    addressing = commands.add_parser("address", help="set the address of the repository")
    addressing.add_argument("address")
    building = commands.add_parser("build", help="build, check, install and try; print what to upload")
    building.add_argument("out", type=Path, nargs="?", default=ROOT / "dist")
    building.add_argument("--pythons", default=",".join(PYTHONS), help="the versions to try, with commas")
    building.add_argument(
        "--strict", action="store_true", help="fail if a Python is missing, or if it must not be uploaded"
    )
    building.add_argument("--no-embedded", action="store_true", help="do not ask the embedded model")
    options = parser.parse_args(arguments)
    try:
        if options.command == "cut":
            print("\n".join(cut(options.version)))
            return 0
        if options.command == "address":
            print("\n".join(set_address(options.address)))
            return 0
        pythons = [each for each in options.pythons.split(",") if each]
        missing = make_release(options.out, pythons, embedded=not options.no_embedded and find_weights())
        return 1 if missing and options.strict else 0
    except ReleaseFault as fault:
        print(f"release: {fault}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
