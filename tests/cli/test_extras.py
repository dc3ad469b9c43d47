"""What a command says if its extra is not installed."""

import pytest

from toolspeak.cli.options import explain_missing
from toolspeak.values.errors import UsageError


def test_a_missing_package_of_an_extra_is_named_with_its_cure() -> None:
    message = "the page needs uvicorn.config; install it with: pip install 'toolspeak\\[page\\]'"
    with pytest.raises(UsageError, match=message), explain_missing("the page", "page"):
        raise ModuleNotFoundError("No module named 'uvicorn.config'", name="uvicorn.config")


def test_any_other_missing_module_is_not_explained_away() -> None:
    with pytest.raises(ModuleNotFoundError), explain_missing("the page", "page"):
        raise ModuleNotFoundError("No module named 'toolspeak.nowhere'", name="toolspeak.nowhere")
