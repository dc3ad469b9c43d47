"""What a command says if its extra is not installed."""

from pathlib import Path

import pytest

from tests.cases import each_case
from toolspeak.cli.options import explain_missing
from toolspeak.values.errors import UsageError
from toolspeak.values.package import suggest_install


def test_a_missing_package_of_an_extra_is_named_with_its_cure() -> None:
    message = "the page needs uvicorn.config; install it with: pip install 'toolspeak\\[page\\]'"
    with pytest.raises(UsageError, match=message), explain_missing("the page", "page"):
        raise ModuleNotFoundError("No module named 'uvicorn.config'", name="uvicorn.config")


UV_RECEIPT = """[tool]
requirements = [{ name = "toolspeak", extras = ["cli", "local"] }, { name = "numpy" }]
python = "3.13"
"""
PIPX_METADATA = """{
    "main_package": {
        "package": "toolspeak",
        "package_or_url": "toolspeak[cli,local]",
        "pip_args": []
    }
}
"""
INSTALLS = {
    "a virtual environment": ("pyvenv.cfg", "", "pip install 'toolspeak[mcp]'"),
    "uv": ("uv-receipt.toml", UV_RECEIPT, "uv tool install 'toolspeak[cli,local,mcp]'"),
    "uv, without extras": (
        "uv-receipt.toml",
        '[tool]\nrequirements = [{ name = "toolspeak" }]\n',
        "uv tool install 'toolspeak[mcp]'",
    ),
    "uv, with the extra": (
        "uv-receipt.toml",
        UV_RECEIPT.replace('"cli"', '"mcp"'),
        "uv tool install 'toolspeak[mcp,local]'",
    ),
    "pipx": ("pipx_metadata.json", PIPX_METADATA, "pipx install --force 'toolspeak[cli,local,mcp]'"),
    "pipx, from a folder": (
        "pipx_metadata.json",
        PIPX_METADATA.replace("toolspeak[cli,local]", "/home/me/[wheels]"),
        "pipx install --force 'toolspeak[mcp]'",
    ),
}


@each_case("name, text, expected", INSTALLS)
def test_an_extra_is_added_with_the_tool_that_installed_toolspeak(
    name: str, text: str, expected: str, tmp_path: Path
) -> None:
    for each in tmp_path.iterdir():
        each.unlink()
    (tmp_path / name).write_text(text)
    assert suggest_install("mcp", environment=str(tmp_path)) == expected


def test_any_other_missing_module_is_not_explained_away() -> None:
    with pytest.raises(ModuleNotFoundError), explain_missing("the page", "page"):
        raise ModuleNotFoundError("No module named 'toolspeak.nowhere'", name="toolspeak.nowhere")
