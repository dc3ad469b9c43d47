"""Names of models, and where they lead."""

import re
from pathlib import Path
from typing import Any

import pytest

from toolspeak.dialects import DIALECTS
from toolspeak.models import DIALECTS_BY_NAME, SERVERS, EmbeddedModel, HttpModel, RetryPolicy, connect, resolve_model
from toolspeak.models.endpoint import Endpoint
from toolspeak.models.profiles import choose_dialect
from toolspeak.run import Agent
from toolspeak.run.model_lookup import find_model
from toolspeak.settings import load, save_calibrated_dialect
from toolspeak.values.errors import ProviderError, UsageError

KEYS = {
    "OPENAI_API_KEY": "sk-o",
    "ANTHROPIC_API_KEY": "sk-a",
    "TOOLSPEAK_API_KEY": "sk-t",
    "MISTRAL_API_KEY": " sk-m\n",
}

NAMES: list[tuple[str, str, str, str, str | None, str]] = [
    # name, what it is called, address, API, key, dialect
    ("openai:gpt-5.1", "openai:gpt-5.1", "https://api.openai.com/v1", "openai", "sk-o", "native"),
    ("anthropic:claude-x", "anthropic:claude-x", "https://api.anthropic.com/v1", "anthropic", "sk-a", "native"),
    ("mistral:m", "mistral:m", "https://api.mistral.ai/v1", "openai", "sk-m", "native"),
    ("ollama:qwen3:8b", "ollama:qwen3:8b", "http://127.0.0.1:11434/v1", "ollama", None, "native"),
    ("ollama:gemma3", "ollama:gemma3", "http://127.0.0.1:11434/v1", "ollama", None, "python"),
    # Ollama has both APIs: an address with a path names OpenAI's.
    ("http://127.0.0.1:11434#gemma3", "127.0.0.1:11434:gemma3", "http://127.0.0.1:11434/v1", "ollama", "sk-t", "python"),
    ("http://127.0.0.1:11434/v1#gemma3", "127.0.0.1:11434:gemma3", "http://127.0.0.1:11434/v1", "openai", "sk-t", "python"),
    ("lmstudio:google/gemma-3n-e4b", "lmstudio:google/gemma-3n-e4b", "http://127.0.0.1:1234/v1", "openai", None, "python"),
    ("llamacpp:x", "llamacpp:x", "http://127.0.0.1:8080/v1", "openai", None, "python"),
    ("vllm:Qwen/Qwen3-8B", "vllm:Qwen/Qwen3-8B", "http://127.0.0.1:8000/v1", "openai", None, "native"),
    ("openrouter:a/b:free", "openrouter:a/b:free", "https://openrouter.ai/api/v1", "openai", None, "native"),
    ("http://10.0.0.7:9000/v1#m", "10.0.0.7:9000:m", "http://10.0.0.7:9000/v1", "openai", "sk-t", "python"),
    ("https://x.example/api/v2/#a/b#c", "x.example:a/b#c", "https://x.example/api/v2", "openai", "sk-t", "python"),
    ("https://x.example#m", "x.example:m", "https://x.example/v1", "openai", "sk-t", "python"),
    ("https://x.example/v1", "x.example:default", "https://x.example/v1", "openai", "sk-t", "python"),
    ("http://[::1]:9000/v1#m", "[::1]:9000:m", "http://[::1]:9000/v1", "openai", "sk-t", "python"),
    ("https://api.openai.com/v1#gpt", "api.openai.com:gpt", "https://api.openai.com/v1", "openai", "sk-o", "native"),
    ("https://api.anthropic.com/v1#c", "api.anthropic.com:c", "https://api.anthropic.com/v1", "anthropic", "sk-a", "native"),
    # Not theirs: neither their key nor their API.
    ("http://api.openai.com/v1#gpt", "api.openai.com:gpt", "http://api.openai.com/v1", "openai", "sk-t", "python"),
    ("https://evil-anthropic.com/v1#c", "evil-anthropic.com:c", "https://evil-anthropic.com/v1", "openai", "sk-t", "python"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "called", "address", "api", "key", "dialect"), NAMES, ids=[row[0] for row in NAMES])
def test_names(name: str, called: str, address: str, api: str, key: str | None, dialect: str):
    found = resolve_model(name, environ=KEYS)
    endpoint = found.endpoint
    assert (found.name, endpoint.base_url, endpoint.api, endpoint.key) == (called, address, api, key)
    assert found.dialect == dialect
    assert "sk-" not in repr(found) + repr(endpoint)


ADDRESSES = [
    ("OLLAMA_HOST", "", "http://127.0.0.1:11434/v1"),
    ("OLLAMA_HOST", "127.0.0.1", "http://127.0.0.1:11434/v1"),
    ("OLLAMA_HOST", "127.0.0.1:8999", "http://127.0.0.1:8999/v1"),
    ("OLLAMA_HOST", "0.0.0.0", "http://127.0.0.1:11434/v1"),
    ("OLLAMA_HOST", "0.0.0.0:8999", "http://127.0.0.1:8999/v1"),
    ("OLLAMA_HOST", ":8999", "http://127.0.0.1:8999/v1"),
    ("OLLAMA_HOST", "gpu-box", "http://gpu-box:11434/v1"),
    ("OLLAMA_HOST", " gpu-box:8999/ ", "http://gpu-box:8999/v1"),
    ("OLLAMA_HOST", "gpu-box/ollama", "http://gpu-box:11434/ollama/v1"),
    ("OLLAMA_HOST", "http://gpu-box", "http://gpu-box/v1"),
    ("OLLAMA_HOST", "http://gpu-box:8999", "http://gpu-box:8999/v1"),
    ("OLLAMA_HOST", "https://gpu-box/ollama/", "https://gpu-box/ollama/v1"),
    ("OLLAMA_HOST", "https://gpu-box/v1", "https://gpu-box/v1"),
    ("OLLAMA_HOST", "[::1]:8999", "http://[::1]:8999/v1"),
    ("OLLAMA_HOST", "[::]", "http://[::1]:11434/v1"),
    ("OLLAMA_HOST", "::1", "http://[::1]:11434/v1"),
    ("OPENAI_BASE_URL", "https://gateway.example/v1/", "https://gateway.example/v1"),
    ("OPENAI_BASE_URL", "https://gateway.example/openai", "https://gateway.example/openai"),
    ("OPENAI_BASE_URL", "https://gateway.example", "https://gateway.example/v1"),
    ("ANTHROPIC_BASE_URL", "https://gateway.example", "https://gateway.example/v1"),
    ("ANTHROPIC_BASE_URL", "https://gateway.example/anthropic", "https://gateway.example/anthropic/v1"),
    ("ANTHROPIC_BASE_URL", "https://gateway.example/anthropic/v1", "https://gateway.example/anthropic/v1"),
    ("LMSTUDIO_BASE_URL", "http://10.0.0.7:1234/v1", "http://10.0.0.7:1234/v1"),
    ("LMSTUDIO_BASE_URL", "10.0.0.7", "http://10.0.0.7:1234/v1"),
    ("LLAMACPP_BASE_URL", "10.0.0.7:80", "http://10.0.0.7:80/v1"),
    ("VLLM_BASE_URL", "http://10.0.0.7", "http://10.0.0.7/v1"),
]


@pytest.mark.parametrize(("variable", "said", "address"), ADDRESSES)
def test_addresses_of_the_environment(variable: str, said: str, address: str):
    where = variable.partition("_")[0].lower()
    assert resolve_model(f"{where}:m", environ={variable: said}).endpoint.base_url == address


def test_every_server_is_found_by_its_name():
    for where, server in SERVERS.items():
        found = resolve_model(f"{where}:some-model", environ={server.key_variable or "": "secret-key"})
        assert found.endpoint.base_url == server.base_url
        assert found.endpoint.key == ("secret-key" if server.key_variable else None)
        assert found.endpoint.vendor == where
        assert found.dialect in DIALECTS


WRONG = {
    "": "has no known endpoint",
    "gpt-5.1": "'gpt-5.1' has no known endpoint; did you mean openai:gpt-5.1?",
    "claude-sonnet-5": "did you mean anthropic:claude-sonnet-5?",
    "lokal": "did you mean local?",
    "olama": "did you mean ollama:NAME?",
    "banana": "'banana' has no known endpoint; write openai:NAME, openai-responses:NAME, anthropic:NAME",
    "openai": "'openai' names an endpoint but no model; write openai:NAME",
    "openai:": "names an endpoint but no model",
    "opnai:gpt-5.1": "did you mean openai:gpt-5.1?",
    "OpenAI:gpt-5.1": "did you mean openai:gpt-5.1?",
    "lm-studio:x": "did you mean lmstudio:x?",
    "llama.cpp:x": "did you mean llamacpp:x?",
    "qqq:x": "there are openai, openai-responses, anthropic, openrouter, ",
    "localhost:8000/v1#m": "an address begins with http:// or https://, as in http://HOST:PORT/v1#MODEL",
    "localhost:8000": "an address begins with http://",
    "example.com/v1#m": "an address begins with http://",
    "nope:x": "vllm; write openai:NAME for example",
    "ftp://me:canary@x/v1#m": "'ftp://…' is not an address of a model; write https://HOST/v1#MODEL",
    "HTTPS://me:canary@x/v1#m": "'HTTPS://…@x/v1' is not an address of a model",
    "opnai://me:canary@x": "is not an address of a model",
    "http://#m": "is not an address; write https://HOST/v1",
    "http://[::1/v1#m": "is not an address",
    "http://x:99999/v1#m": "is not an address",
    "http://x/v1/chat/completions#m": "ends in /chat/completions, which toolspeak adds to each request; leave it out",
    "http://x:port/v1#m": "is not an address",
    "https://me:canary@x/v1#m": "contains a password",
    "https://x/v1?key=canary#m": "contains a password or a query",
    "https://me:canary#x@x/v1#m": "'https://…' is not an address",
    "https://me:canary/x@x/v1#m": "'https://…' is not an address",
    "https://me:canary?x@x/v1#m": "'https://…' is not an address",
}


@pytest.mark.parametrize("name", WRONG)
def test_names_that_lead_nowhere(name: str):
    for find in (lambda: resolve_model(name, environ={}), lambda: find_model(name)):
        with pytest.raises(UsageError, match=re.escape(WRONG[name])) as caught:
            find()
        assert "canary" not in str(caught.value)


def test_an_address_of_the_environment_that_is_none():
    with pytest.raises(UsageError, match=r"'OLLAMA_HOST=http://…' is not an address"):  # the port may be a password
        resolve_model("ollama:m", environ={"OLLAMA_HOST": "http://x:y"})


def test_an_endpoint_is_shown_without_a_password():
    endpoint = Endpoint(name="lab", base_url="http://me:canary@x/v1", key="canary", headers={"a": "canary"})
    assert repr(endpoint) == "Endpoint(name='lab', base_url='http://…@x/v1', api='openai', key_variable=None)"
    assert endpoint.label == "lab at http://…@x/v1"
    assert Endpoint(name="lab", base_url="http://lab.example/v1").label == "lab at http://lab.example/v1"
    assert Endpoint(name="lab:80", base_url="http://lab:80/v1").label == "http://lab:80/v1"
    assert "canary" not in repr(HttpModel(endpoint, "m"))


# Said in full


def test_a_model_said_in_full():
    retry = RetryPolicy(attempts=1)
    made = connect(
        "m", at="http://127.0.0.1:9/v1", api="anthropic", key=" k\n", headers={"X-A": "b"}, dialect="json", retry=retry
    )  # fmt: skip
    endpoint = made.endpoint
    assert (made.model, made.dialect, endpoint.api, endpoint.key) == ("m", "json", "anthropic", "k")
    assert (endpoint.headers, endpoint.retry) == ({"X-A": "b"}, retry)
    assert connect("openai:gpt-5.1", key="k").endpoint.base_url == "https://api.openai.com/v1"
    assert connect("ollama:gemma3").dialect == "python"
    assert connect("a/b#c", at="http://127.0.0.1:9/v1").model == "a/b#c"


def test_a_name_with_its_endpoint_says_the_api_and_the_key_of_an_address(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret-key")
    made = connect("anthropic:claude-x", at="http://127.0.0.1:9")
    endpoint = made.endpoint
    assert (made.model, endpoint.api, endpoint.key) == ("claude-x", "anthropic", "secret-key")
    assert (endpoint.base_url, endpoint.leaks_calls) == ("http://127.0.0.1:9/v1", True)
    assert connect("gemma3:4b", at="http://127.0.0.1:9/v1").model == "gemma3:4b"


@pytest.mark.parametrize("name", ["openai:gpt-5.1", "anthropic:claude-x", "https://api.openai.com/v1#gpt-5.1"])
def test_a_hosted_model_without_a_key_is_not_asked(name: str, monkeypatch: pytest.MonkeyPatch):
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ProviderError, match=r"needs a key; set (OPENAI|ANTHROPIC)_API_KEY \(nothing was sent\)"):
        Agent(name).run("Hi.")
    assert not connect("openai:x", headers={"Authorization": "Bearer k"}).endpoint.lacks_key
    assert not connect("openai:x", at="http://127.0.0.1:9/v1").endpoint.lacks_key


# What the user has configured


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TOOLSPEAK_CONFIG_FOLDER", str(tmp_path / "config"))
    monkeypatch.setenv("TOOLSPEAK_CACHE_FOLDER", str(tmp_path / "cache"))
    monkeypatch.setenv("WORK_KEY", " sk-work ")
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(home: Path, text: str) -> None:
    (home / "config").mkdir(exist_ok=True)
    (home / "config" / "config.toml").write_text(text)


WORK = """
model = "work"
[endpoints.work]
base_url = "https://models.work.example/v1"
api = "anthropic"
key_env = "WORK_KEY"
model = "big"
[endpoints.spoken]
base_url = "http://127.0.0.1:11434/v1"
dialect = "typescript"
[endpoints.ollama]
base_url = "http://gpu-box:11434/v1"
"""


def http(found: Any) -> HttpModel:
    assert isinstance(found, HttpModel)
    return found


def test_configured_endpoints(home: Path):
    configure(home, WORK)
    for found in (
        find_model(),
        find_model("work"),
        find_model("work:big"),
        Agent().model,
        find_model(configured=load()),
    ):
        endpoint = http(found).endpoint
        assert (found.name, endpoint.base_url, endpoint.api) == (
            "work:big",
            "https://models.work.example/v1",
            "anthropic",
        )
        assert (endpoint.key, endpoint.key_variable, endpoint.vendor) == ("sk-work", "WORK_KEY", "work")
        assert "sk-work" not in repr(found) + repr(endpoint)
    assert http(find_model("work:small:1")).model == "small:1"
    spoken = http(find_model("spoken:gemma3"))
    assert spoken.dialect == "typescript"
    assert spoken.endpoint.quirks == SERVERS["ollama"].quirks


def test_a_configured_endpoint_comes_before_one_that_is_known(home: Path):
    configure(home, WORK)
    assert http(find_model("ollama:gemma3")).endpoint.base_url == "http://gpu-box:11434/v1"
    assert http(find_model("openai:x")).endpoint.base_url == "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("name", "told"),
    [("spoken", "write spoken:MODEL, or set endpoints.spoken.model"), ("wrok:big", "did you mean work:big?")],
)
def test_configured_endpoints_that_are_not_meant(home: Path, name: str, told: str):
    configure(home, WORK)
    with pytest.raises(UsageError, match=re.escape(told)):
        find_model(name)


def test_a_calibrated_dialect_comes_before_a_profile(home: Path):
    configure(home, WORK)
    for name in ("lmstudio:gemma3", "http://127.0.0.1:1234/v1#gemma4", "ollama:gemma3", "work"):
        found = http(find_model(name))
        assert found.dialect != "json"
        save_calibrated_dialect(found.endpoint.base_url, found.model, "json")
        assert find_model(name).dialect == "json"
        assert Agent(name).dialect.name == "json"
        assert Agent(name, dialect="native").dialect.name == "native"
    assert find_model("lmstudio:gemma3n").dialect == "python"


def test_what_somebody_decided_comes_before_what_was_measured(home: Path):
    configure(home, WORK)
    save_calibrated_dialect("http://127.0.0.1:11434/v1", "gemma3", "json")
    assert find_model("spoken:gemma3").dialect == "typescript"


def test_weights_by_their_path(home: Path):
    weights = home / "tiny.gguf"
    weights.write_bytes(b"GGUF")
    for name in (f"local:{weights}", "local:~/tiny.gguf", "local:tiny.gguf"):
        found = find_model(name)
        assert isinstance(found, EmbeddedModel)
        assert found.weights.resolve() == weights.resolve()
        assert found.dialect == "python"
    with pytest.raises(UsageError, match="there is no such file"):
        find_model("local:nothing.gguf")
    with pytest.raises(UsageError, match="toolspeak pull"):
        find_model("local")
    save_calibrated_dialect("local", "tiny.gguf", "typescript")
    assert find_model("local:tiny.gguf").dialect == "typescript"


# Profiles


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("gpt-oss:20b", "native"),
        ("openai/gpt-oss-120b", "native"),
        ("o3", "native"),
        ("solo4-x", "python"),
        ("qwen3:8b", "native"),
        ("Qwen/Qwen3-Coder-30B", "native"),
        ("qwen2.5-coder:1.5b", "python"),
        ("Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf", "python"),
        ("gemma-3n-e4b", "python"),
        ("llama3.2", "python"),
        ("mistral-small", "native"),
        ("nobody-knows", "python"),
        ("", "python"),
    ],
)
def test_families(name: str, dialect: str):
    assert choose_dialect(SERVERS["lmstudio"], name).name == dialect
    assert choose_dialect(SERVERS["openai"], name).name == "native"


def test_profiles_are_whole():
    assert all(family.dialect in DIALECTS for family in DIALECTS_BY_NAME)
    assert all(re.compile(family.pattern) for family in DIALECTS_BY_NAME)
    for where, server in SERVERS.items():
        assert re.fullmatch(r"[a-z-]+", where)
        assert server.base_url.startswith("https://" if server.reliable_tool_calls else "http://127.0.0.1:")
        assert server.key_variable or where == "ollama"
        assert server.url_variable or server.reliable_tool_calls


@pytest.mark.parametrize(
    ("name", "environ", "leaks"),
    [
        ("openai:gpt-5.1", {}, False),
        ("anthropic:claude-x", {}, False),
        ("https://api.openai.com/v1#gpt", {}, False),
        ("openai:x", {"OPENAI_BASE_URL": "http://127.0.0.1:9000/v1"}, True),
        ("http://127.0.0.1:9000/v1#m", {}, True),
        ("ollama:qwen3", {}, True),
        ("llamacpp:x", {}, True),
        ("vllm:x", {}, True),
        ("lmstudio:x", {}, True),
        ("openrouter:a/b", {}, True),
    ],
)
def test_which_endpoints_leak_calls_into_their_text(name: str, environ: dict[str, str], leaks: bool):
    model = resolve_model(name, environ=environ)
    assert model.leaks_calls is leaks
    found = Agent(model, dialect="native").dialect
    assert (found.name, found is DIALECTS["native"]) == ("native", leaks)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"api": "grpc"}, "api is one of openai, anthropic, openai-responses, gemini, ollama, not 'grpc'"),
        ({"retry": 3}, "retry is RetryPolicy(attempts=…, read_timeout=…, …), not 3"),
    ],
)
def test_options_of_an_endpoint_that_cannot_be_are_refused_at_once(options: dict[str, Any], message: str):
    with pytest.raises(UsageError, match=re.escape(message)):
        connect("openai:m", **options)
