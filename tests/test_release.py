"""What makes a release: the script, the lowest versions, the workflows and the image."""

import importlib.util
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
import typer.main
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from tests.cases import each_case
from toolspeak.cli.app import app

ROOT = Path(__file__).parent.parent


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    sys.modules[name] = script
    spec.loader.exec_module(script)
    return script


release, readme, assets = load_script("release"), load_script("readme"), load_script("assets")

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
EPOCH = "1700000000"

SMALL = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "small"
version = "1.0"
description = "A project of the tests."
readme = "README.md"
requires-python = ">=3.11"
license = "Apache-2.0"
dependencies = []
urls = {Source = "https://example.com"}
[tool.hatch.build.targets.wheel]
packages = ["src/small"]
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return a small project."""
    folder = tmp_path / "project"
    (folder / "src" / "small").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(SMALL)
    (folder / "README.md").write_text("# small\n")
    (folder / "src" / "small" / "__init__.py").write_text("x = 1\n")
    return folder


# Built twice


def test_a_project_is_built_twice_with_the_same_bytes(small: Path, tmp_path: Path) -> None:
    with (small / "pyproject.toml").open("a") as file:
        file.write('[tool.hatch.build.targets.sdist]\nexclude = ["/PKG-INFO"]\n')
    sdist, wheel = sorted(release.build_twice(small, tmp_path / "out", EPOCH), key=lambda path: path.suffix)
    assert (sdist.name, wheel.name) == ("small-1.0.tar.gz", "small-1.0-py3-none-any.whl")
    assert release.check_wheel(wheel, small) == []


def test_bytes_that_differ_are_a_fault(small: Path, tmp_path: Path) -> None:
    with (small / "pyproject.toml").open("a") as file:  # the metadata of the first sdist gets into the second one
        file.write('[tool.hatch.build.targets.sdist]\ninclude = ["*"]\n')
    with pytest.raises(release.ReleaseFault, match=r"built twice, other bytes: small-1\.0\.tar\.gz"):
        release.build_twice(small, tmp_path / "out", EPOCH)


def test_what_is_wrong_with_a_wheel_is_named(small: Path, tmp_path: Path) -> None:
    text = (small / "pyproject.toml").read_text()
    text = text.replace("dependencies = []", 'dependencies = ["other @ file:///tmp/other"]')
    text = text.replace('urls = {Source = "https://example.com"}\n', "")
    (small / "README.md").write_text(
        "# small\n\n[A guide](docs/guide.md), [a page](https://example.com), [below](#below)\n"
    )
    (small / "pyproject.toml").write_text(f"{text}[tool.hatch.metadata]\nallow-direct-references = true\n")
    [wheel] = [path for path in release.build(small, tmp_path / "out", EPOCH) if path.suffix == ".whl"]
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("small/weights.gguf", b"GGUF")
    (small / "src" / "small" / "py.typed").touch()
    faults = "\n".join(release.check_wheel(wheel, small))
    assert "small/py.typed is not in the wheel" in faults
    assert "small/weights.gguf is in the wheel, and not in" in faults
    assert "the metadata has no Project-URL" in faults
    assert "needs an address, which an index refuses" in faults
    assert "the README links to docs/guide.md, which an index does not have" in faults
    assert "https://example.com" not in faults


def test_the_wheel_has_the_scripts_and_styles_of_the_page_without_their_comments(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.iterdir()
    assert release.check_wheel(wheel, ROOT) == []
    with zipfile.ZipFile(wheel) as archive:
        assert len(set(archive.namelist())) == len(archive.namelist())
        inside = {Path(name).name: archive.read(name).decode() for name in archive.namelist() if "/static/" in name}
    assert inside["index.html"] == (ROOT / assets.FOLDER / "index.html").read_text(encoding="utf-8")
    assert inside["types.js"].strip() == "export {};"
    for path in (ROOT / assets.FOLDER).glob("*.[cj]s*"):
        text = path.read_text(encoding="utf-8")
        assert inside[path.name] == assets.COMMENT.sub("", text)
        for line in assets.COMMENT.sub("", text).splitlines():  # a template of several lines could hold such a line
            is_whole = line.count("`") % 2 == 0 or re.search(r'"`+"|/.*`.*/', line)  # quoted, or in an expression
            assert is_whole, f"{path}: a template goes on after {line}"


def test_only_comments_with_lines_of_their_own_are_left_out() -> None:
    text = "// a\nlet b = 1; // b\n  /* c\n   * d */\n/** @type {E} */ (b).f();\nconst url = 'https://g';\n"
    assert assets.COMMENT.sub("", text) == ("let b = 1; // b\n/** @type {E} */ (b).f();\nconst url = 'https://g';\n")


@each_case("given", ["", "1600000000"])
def test_files_have_the_time_of_the_last_commit_of_their_project(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / given / "repository"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", given)
    (root / "packages" / "small").mkdir(parents=True)
    assert release.find_epoch(root) == (given or release.DEFAULT_EPOCH)  # an sdist has no history
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    person = ["-c", "user.email=a@b.c", "-c", "user.name=A"]
    for day, file in ((17, "packages/small/a"), (18, "b")):
        (root / file).touch()
        subprocess.run(["git", "add", "."], cwd=root, check=True)
        committing = ["git", *person, "commit", "--quiet", "--message", file]
        subprocess.run(
            committing, cwd=root, check=True, env={**os.environ, "GIT_COMMITTER_DATE": f"{day}00000000 +0000"}
        )
    assert release.find_epoch(root) == (given or "1800000000")
    assert release.find_epoch(root, "packages/small") == (given or "1700000000")


# The address of the repository


def test_the_readme_gets_whole_addresses_at_the_tag() -> None:
    text = (
        "![A b](docs/a.svg) [c](docs/c.md#d) [examples](examples) [e](https://example.com/e) [f](#f) [g](mailto:g@h.i)"
    )
    assert readme.complete_links(text, "https://host/owner/name", "0.2.0") == (
        "![A b](https://host/owner/name/raw/v0.2.0/docs/a.svg) [c](https://host/owner/name/blob/v0.2.0/docs/c.md#d) "
        "[examples](https://host/owner/name/blob/v0.2.0/examples) [e](https://example.com/e) [f](#f) [g](mailto:g@h.i)"
    )


@pytest.fixture
def addressed(tmp_path: Path) -> Path:
    """Return a folder with the files that name the repository, and the placeholder in them."""
    current = release.read_address()
    for name in release.ADDRESSED:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            (ROOT / name).read_text(encoding="utf-8").replace(current, release.PLACEHOLDER), encoding="utf-8"
        )
    return tmp_path


def test_the_address_of_the_repository_is_set_wherever_it_is_named(addressed: Path) -> None:
    assert release.read_address(addressed) == release.PLACEHOLDER
    lines = release.set_address("https://github.com/somebody/toolspeak", addressed)
    assert lines[0].startswith(
        f"{release.PLACEHOLDER} is now https://github.com/somebody/toolspeak in pyproject.toml, "
    )
    texts = [(addressed / name).read_text(encoding="utf-8") for name in release.ADDRESSED]
    assert all("https://github.com/somebody/toolspeak" in text for text in texts)
    assert not any(release.PLACEHOLDER in text for text in texts)
    urls = tomllib.loads(texts[0])["project"]["urls"]
    assert urls["Issues"] == "https://github.com/somebody/toolspeak/issues"


@each_case(
    "address",
    [
        "github.com/a/b",
        "http://github.com/a/b",
        "https://github.com",
        "https://github.com/a/b/",
        "https://github.com/a/b.git",
        "",
    ],
)
def test_an_address_is_written_as_the_page_of_the_repository_has_it(address: str, addressed: Path) -> None:
    with pytest.raises(release.ReleaseFault, match="is not the address of a repository; write it as its page has it"):
        release.set_address(address, addressed)
    assert release.read_address(addressed) == release.PLACEHOLDER


def test_all_that_names_the_repository_is_in_the_list() -> None:
    """Only the page that explains it, and what replaces it, name the placeholder as well."""
    host = release.read_address().removeprefix("https://").encode()
    folders = (".github", "docker", "docs", "examples", "packages", "scripts", "src")
    files = [path for path in ROOT.iterdir() if path.is_file()]
    files += [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    naming = {
        path.relative_to(ROOT).as_posix()
        for path in files
        if path.suffix in (".md", ".toml", ".py", ".yml", ".yaml", ".js", ".html") and host in path.read_bytes()
    }
    assert naming - {"scripts/release.py", "CONTRIBUTING.md"} == set(release.ADDRESSED)


@each_case("obstacles", [[], ["there is a reason", "and another one"]])
def test_how_to_upload_is_printed_only_if_nothing_speaks_against_it(
    obstacles: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "small-1.0.tar.gz").write_bytes(b"small")
    release.print_upload(tmp_path, obstacles)
    printed = capsys.readouterr().out
    assert ("twine upload" in printed) == (not obstacles)
    assert re.findall(r"^NOT FOR UPLOAD: (.+)$", printed, re.M) == obstacles
    assert (
        tmp_path / "SHA256SUMS"
    ).read_text() == f"{release.hash_file(tmp_path / 'small-1.0.tar.gz')}  small-1.0.tar.gz\n"


# Cut


def test_the_changelog_is_cut_below_the_heading_of_what_is_unreleased() -> None:
    text = "# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.1: the first release\n\n- Old.\n"
    cut = release.cut_changelog(text, "0.2.0", "2026-12-01")
    assert cut == text.replace("## Unreleased\n", "## Unreleased\n\n## 0.2.0 (2026-12-01)\n")
    promised = text.replace("- New.", "This will be 0.2.0. If you come from 0.1, read.\n\n- New.")
    assert "(2026-12-01)\n\nIf you come from 0.1, read.\n" in release.cut_changelog(promised, "0.2.0", "2026-12-01")
    with pytest.raises(release.ReleaseFault, match="says nothing under ## Unreleased"):
        release.cut_changelog(cut, "0.3.0", "2026-12-02")
    with pytest.raises(release.ReleaseFault, match="has no heading ## Unreleased"):
        release.cut_changelog("# Changelog\n", "0.3.0", "2026-12-02")


@each_case("version", ["0.2", "v0.2.0", "0.2.0rc1", ""])
def test_a_version_has_three_numbers(version: str) -> None:
    with pytest.raises(release.ReleaseFault, match="is not a version; write three numbers"):
        release.parse_version(version)


@pytest.mark.slow  # it copies the repository and saves a file of each kind
def test_a_release_is_cut_committed_and_tagged_once(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a git repository, but an sdist: there is nothing to cut")
    root = tmp_path / "repository"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", str(root)], check=True)
    for path in ("scripts", "src/toolspeak/values", "pyproject.toml", "CHANGELOG.md"):  # as they are, committed or not
        source, target = ROOT / path, root / path
        shutil.copytree(source, target, dirs_exist_ok=True) if source.is_dir() else shutil.copy(source, target)
    changelog = root / "CHANGELOG.md"  # which says nothing of what is unreleased right after a release
    changelog.write_text(changelog.read_text().replace("## Unreleased\n", "## Unreleased\n\n- New.\n", 1))
    for words in (["config", "user.email", "a@b.c"], ["config", "user.name", "A"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    subprocess.run(["git", "commit", "--quiet", "--allow-empty", "-m", "As it is"], cwd=root, check=True)
    with pytest.raises(release.ReleaseFault, match=r"0\.0\.9 is older than"):
        release.cut("0.0.9", root)
    lines = release.cut("9.0.0", root)
    assert lines[0] == "committed and tagged v9.0.0; nothing was pushed"
    assert release.read_version(root) == "9.0.0"
    assert re.search(r"^## Unreleased\n\n## 9\.0\.0 \(\d{4}-\d\d-\d\d\)\n", changelog.read_text(), re.M)
    assert (root / "tests" / "saved" / "9.0.0" / "run.jsonl").is_file()
    assert release.run("git", "describe", "--tags", cwd=root).strip() == "v9.0.0"
    assert release.run("git", "status", "--porcelain", cwd=root) == ""
    with pytest.raises(release.ReleaseFault, match=r"the tag v9\.0\.0 exists"):
        release.cut("9.0.0", root)
    (root / "README.md").write_text("changed")
    with pytest.raises(release.ReleaseFault, match="not committed"):
        release.cut("9.0.1", root)


def test_a_python_that_is_not_there_is_none() -> None:
    assert release.find_python("3.99") is None
    assert release.find_python(f"{sys.version_info[0]}.{sys.version_info[1]}") == sys.executable


def test_an_sbom_has_the_version_and_neither_installers_nor_paths_of_the_machine() -> None:
    digest = {"alg": "SHA-256", "content": "ab" * 32}
    page = {"type": "website", "url": "https://example.com"}
    wheel = {"type": "distribution", "url": "file:///home/me/dist/small-1.0-py3-none-any.whl", "hashes": [digest]}
    environment = {
        "metadata": {"component": {"name": "toolspeak", "bom-ref": "root"}, "tools": {}},
        "components": [
            {"name": "pip", "version": "26.3", "bom-ref": "pip==26.3"},
            {"name": "small", "version": "1.0", "bom-ref": "small==1.0", "externalReferences": [wheel, page]},
        ],
        "dependencies": [{"ref": "pip==26.3"}, {"ref": "root", "dependsOn": ["small==1.0"]}, {"ref": "small==1.0"}],
    }
    described = release.complete_sbom(environment, "0.2.0")
    assert described["metadata"]["component"]["version"] == "0.2.0"
    assert described["metadata"]["component"]["purl"] == "pkg:pypi/toolspeak@0.2.0"
    [small] = described["components"]
    assert (small["externalReferences"], small["hashes"], small["purl"]) == ([page], [digest], "pkg:pypi/small@1.0")
    assert [each["ref"] for each in described["dependencies"]] == ["root", "small==1.0"]


# Versions


def test_the_lowest_versions_are_those_that_are_declared() -> None:
    lines = (ROOT / "constraints-lowest.txt").read_text().splitlines()
    pins = {line.partition("==")[0].replace("_", "-").lower(): line.partition("==")[2] for line in lines}
    extras = {
        name: each for name, each in PROJECT["optional-dependencies"].items() if name not in ("clients", "dev", "docs")
    }
    declared = [
        Requirement(text) for text in (*PROJECT["dependencies"], *(text for each in extras.values() for text in each))
    ]
    for each in declared:
        if each.name == "toolspeak-trained":
            continue
        [lowest] = [spec.version for spec in each.specifier if spec.operator in (">=", "==")]
        release_numbers = Version(lowest).release
        assert Version(pins[each.name.replace("_", "-").lower()]).release[: len(release_numbers)] == release_numbers, (
            each
        )


def test_the_image_and_the_metadata_name_the_same_pythons() -> None:
    versions = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)]
    assert tuple(versions) == release.PYTHONS
    text = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    assert text.count('python: ["3.11", "3.12", "3.13"]') == 2


def test_the_names_to_which_the_upgrade_guide_leads_exist() -> None:
    rows = [line.split(" | ") for line in (ROOT / "docs" / "upgrading.md").read_text().splitlines() if " | " in line]
    paths = [path for row in rows for path in re.findall(r"`(toolspeak(?:\.\w+)+)", row[-1])]
    assert len(paths) > 15
    assert [path for path in paths if not exists(path)] == []


def exists(path: str) -> bool:
    """Return whether a module or a name of one can be imported."""
    try:
        pkgutil.resolve_name(path)
    except (ImportError, AttributeError):
        return False
    return True


# Workflows, image and compose file


def test_actions_are_pinned_by_commit_with_their_version_beside() -> None:
    uses = [line for path in WORKFLOWS for line in path.read_text().splitlines() if "uses:" in line]
    assert len(uses) > 10
    assert [line for line in uses if not re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line)] == []


@each_case("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_no_more_rights_than_it_needs(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    writes = {
        (name, right)
        for name, job in workflow["jobs"].items()
        for right, level in job.get("permissions", {}).items()
        if level == "write"
    }
    expected = {
        ("build", "id-token"),
        ("build", "attestations"),
        ("publish", "id-token"),
        ("announce", "contents"),
    }
    assert writes == (expected if path.name == "release.yml" else set())
    assert "secrets." not in path.read_text()
    for command in re.findall(r"\bmake (?:-C \S+ )?([a-z-]+)", path.read_text()):
        assert re.search(rf"^{command}:", (ROOT / "Makefile").read_text(), re.M), command


def test_the_image_has_all_that_it_copies_and_no_rights() -> None:
    lines = (ROOT / "docker" / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    copied = [
        word for line in lines if line.startswith("COPY ") and "--from" not in line for word in line.split()[1:-1]
    ]
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
    hooks = {each["hooks"]["custom"]["path"] for each in (build["metadata"], build["build"]["targets"]["wheel"])}
    assert hooks | {"README.md", "src"} <= set(copied)  # what builds the wheel
    assert [name for name in copied if not (ROOT / name).exists() or f"!{name}" not in ignored] == []
    assert [line for line in lines if line.startswith("USER ")] == ["USER 10001"]
    [installed] = re.findall(r"\[([a-z,]+)\]\"", "\n".join(lines))
    assert set(installed.split(",")) <= PROJECT["optional-dependencies"].keys()


def test_the_compose_file_starts_commands_that_exist_and_three_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docker" / "compose.yaml").read_text()
    services = yaml.safe_load(text)["services"]
    assert services["worker"]["deploy"]["replicas"] == 3
    commands = typer.main.get_command(app).commands  # pyright: ignore[reportAttributeAccessIssue] (it is a group)
    for name in ("gateway", "worker"):
        monkeypatch.setenv("TOOLSPEAK_STORE", services[name]["environment"]["TOOLSPEAK_STORE"])
        word, *arguments = services[name]["command"]
        commands[word].make_context(word, arguments)  # raises for an option that does not exist
        assert services[name]["read_only"]
    assert services["gateway"]["ports"] == ["127.0.0.1:8765:8765"]
    assert "password" not in re.sub(r"\$\{\w+:\?set it\}", "", text).lower().replace("postgres_password", "")
