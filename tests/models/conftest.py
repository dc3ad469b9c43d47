"""What tests ask for: a server, which lives as long as its module's tests; weights, and what stands in for llama.cpp."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolspeak.models import abilities, local_server

from .server import Server, serving

STAND_IN = """
import json
import time
class _Any:
    pass
class _Names:
    def __getitem__(self, name):
        return name
llama_flash_attn_type = llama_load_mode = ggml_type = common_speculative_type = _Names()
CommonAdapterLoraInfo = _Any
def get_device_info():
    return []
class CommonParams:
    def __init__(self):
        self.model, self.cpuparams, self.cpuparams_batch, self.lora_adapters = _Any(), _Any(), _Any(), []
        self.speculative = _Any()
        for kind in ("ngram_simple", "ngram_map_k", "ngram_mod"):
            setattr(self.speculative, kind, _Any())
class Server:
    def __init__(self, params):
        weights = open(params.model.path).read()
        if "slow" in weights:
            time.sleep(1.0)
        if "bad" in weights:
            raise ValueError("these weights are bad")
        loaded = [[each.path, each.scale] for each in params.lora_adapters]
        with open(params.model.path + ".loaded", "w") as file:
            json.dump(loaded, file)
        self.listening_address = "http://127.0.0.1:1"
"""
"""A module in place of llama.cpp. It writes which adapters it has loaded; weights say if they are slow or bad."""


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """The command that starts the real program of the server with the stand-in."""
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "xllamacpp.py").write_text(STAND_IN)
    start = f"import sys; sys.path.insert(0, {str(modules)!r}); import runpy; "
    return [sys.executable, "-c", start + f"runpy.run_path({local_server.__file__!r}, run_name='__main__')"]


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "some.gguf"
    path.write_text("GGUF")
    return path


@pytest.fixture(autouse=True)
def _time_to_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer to say what a model can do than a run waits for it."""
    monkeypatch.setattr(abilities, "MAX_ASKING_SECONDS", 30.0)


@pytest.fixture(scope="module")
def _server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(_server: Server) -> Server:
    _server.plays()
    return _server
