"""Settings: their sources, which source wins, and the errors about unknown names and wrong values."""

from pathlib import Path
from typing import Any

import pytest

from toolspeak.settings import EndpointSettings, LocalSettings, Settings, load, user_file
from toolspeak.values.errors import UsageError
from toolspeak.values.limits import Limits

SECRET = "sk-very-secret-0123456789"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def environ(home: Path, **more: str) -> dict[str, str]:
    return {"TOOLSPEAK_CONFIG_FOLDER": str(home / "config"), "HOME": str(home), **more}


def project(home: Path, text: str, name: str = "toolspeak.toml") -> Path:
    folder = home / "project"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def user(home: Path, text: str) -> Path:
    path = user_file(environ(home))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def error_text(folder: Path, variables: dict[str, str]) -> str:
    with pytest.raises(UsageError) as caught:
        load(folder, environ=variables)
    return str(caught.value)


def test_without_any_file_every_setting_is_a_default(home: Path):
    found = load(home, environ=environ(home))
    assert found == Settings()
    assert (found.model, found.approve, found.limits, found.local) == ("local", "ask", Limits(), LocalSettings())
    assert {row.origin for row in found.rows()} == {"default"}


def test_settings_load_without_a_home_folder(home: Path):
    assert load(home, environ={}) == Settings()


def test_a_project_file_can_set_every_setting(home: Path):
    folder = project(
        home,
        """
        model = "work:big"
        dialect = "typescript"
        tools = ["toolspeak.builtin.files", "tools.py", "sub/"]
        tool_budget = 1500
        code = true
        approve = "never"
        log = false
        limits = {turns = 3, calls = 20, tokens = 5000, seconds = 2.5, repeats = "none", concurrent = 2, cost = 1, context = 9, result_tokens = 7}
        local = {threads = 4, context = 4096, slots = 2, keep_minutes = "none", keep_prompts_mb = 50, adapter = "lora.gguf"}

        [endpoints.work]
        base_url = "https://models.example/v1/"
        api = "anthropic"
        key_env = "WORK_KEY"
        dialect = "native"
        model = "big"

        [endpoints.bare]
        base_url = "http://127.0.0.1:8000/v1"

        [endpoints.big]
        base_url = "http://127.0.0.1:11434"
        api = "ollama"
        num_ctx = 32768
        think = "low"
        """,
    )
    found = load(folder, environ=environ(home, WORK_KEY=SECRET))
    assert (found.model, found.dialect, found.approve) == ("work:big", "typescript", "never")
    assert (found.tool_budget, found.code, found.log) == (1500, True, False)
    assert found.tools == ("toolspeak.builtin.files", str(folder / "tools.py"), str(folder / "sub"))
    assert found.limits == Limits(
        turns=3, calls=20, tokens=5000, seconds=2.5, repeats=None, concurrent=2, cost=1, context=9, result_tokens=7
    )
    assert found.local == LocalSettings(
        threads=4, context=4096, slots=2, keep_minutes=None, keep_prompts_mb=50.0, adapter=str(folder / "lora.gguf")
    )
    assert found.endpoints["work"] == EndpointSettings(
        name="work",
        base_url="https://models.example/v1",
        api="anthropic",
        key_env="WORK_KEY",
        key_set=True,
        dialect="native",
        model="big",
    )
    assert found.endpoints["bare"] == EndpointSettings(name="bare", base_url="http://127.0.0.1:8000/v1")
    assert found.endpoints["big"] == EndpointSettings(
        name="big", base_url="http://127.0.0.1:11434", api="ollama", num_ctx=32768, think="low"
    )
    rows = {row.setting: row.value for row in found.rows()}
    assert rows["endpoints.big"] == 'http://127.0.0.1:11434, ollama, num_ctx 32768, think "low"'
    assert {row.origin for row in found.rows()} == {str(folder / "toolspeak.toml")}


def test_a_project_file_is_found_from_folders_below_it(home: Path):
    folder = project(home, 'model = "a"\ntools = ["x/y.py", "x.py:f", "module:f"]')
    deep = folder / "one" / "two"
    deep.mkdir(parents=True)
    found = load(deep, environ=environ(home))
    assert found.model == "a"
    assert found.tools == (str(folder / "x/y.py"), str(folder / "x.py:f"), "module:f")


def test_only_the_nearest_project_file_is_read(home: Path):
    folder = project(home, 'model = "far"\ndialect = "json"')
    near = folder / "near"
    near.mkdir()
    (near / "toolspeak.toml").write_text('model = "near"')
    found = load(near, environ=environ(home))
    assert (found.model, found.dialect) == ("near", None)


def test_the_table_in_pyproject_is_read(home: Path):
    folder = project(home, '[tool.toolspeak]\nmodel = "a"\n[tool.toolspeak.limits]\nturns = 2', "pyproject.toml")
    found = load(folder, environ=environ(home))
    assert (found.model, found.limits.turns) == ("a", 2)
    assert found.origin("limits.turns") == f"{folder / 'pyproject.toml'} [tool.toolspeak]"


@pytest.mark.parametrize(
    "text", ['[project]\nname = "x"', '[project]\nname = "toolspeak"', "this is not even TOML", "tool = 3 # toolspeak"]
)
def test_a_pyproject_without_a_toolspeak_table_is_skipped(home: Path, text: str):
    folder = project(home, 'model = "a"')
    below = folder / "below"
    below.mkdir()
    (below / "pyproject.toml").write_text(text)
    assert load(below, environ=environ(home)).model == "a"


def test_toolspeak_toml_comes_before_pyproject(home: Path):
    project(home, '[tool.toolspeak]\nmodel = "pyproject"', "pyproject.toml")
    assert load(project(home, 'model = "own"'), environ=environ(home)).model == "own"


def test_environment_beats_project_beats_user_beats_default(home: Path):
    path = user(home, 'model = "user"\ndialect = "json"\napprove = "always"\nlimits.turns = 7')
    folder = project(home, 'model = "project"\ndialect = "python"')
    found = load(folder, environ=environ(home, TOOLSPEAK_MODEL="variable"))
    assert (found.model, found.dialect, found.approve, found.limits.turns) == ("variable", "python", "always", 7)
    assert [found.origin(name) for name in ("model", "dialect", "approve", "limits.calls")] == [
        "environment variable TOOLSPEAK_MODEL",
        str(folder / "toolspeak.toml"),
        str(path),
        "default",
    ]


def test_endpoints_of_both_files_are_merged(home: Path):
    user(home, 'endpoints.a.base_url = "http://user/v1"\nendpoints.b.base_url = "http://user/v1"')
    found = load(project(home, 'endpoints.b.base_url = "http://project/v1"'), environ=environ(home))
    assert {name: each.base_url for name, each in found.endpoints.items()} == {
        "a": "http://user/v1",
        "b": "http://project/v1",
    }


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("TOOLSPEAK_MODEL", " openai:x ", "model", "openai:x"),
        ("TOOLSPEAK_TOOLS", "a.py, b:f ,", "tools", ("a.py", "b:f")),
        ("TOOLSPEAK_APPROVE", "always", "approve", "always"),
        ("TOOLSPEAK_CODE", "on", "code", True),
        ("TOOLSPEAK_LOG", "off", "log", False),
        ("TOOLSPEAK_LOG", "0", "log", False),
        ("TOOLSPEAK_LOG", "True", "log", True),
    ],
)
def test_variables_set_texts(home: Path, variable: str, text: str, name: str, value: Any):
    assert getattr(load(home, environ=environ(home, **{variable: text})), name) == value


def test_variables_set_numbers(home: Path):
    variables = environ(
        home, TOOLSPEAK_LIMITS_TURNS="none", TOOLSPEAK_LIMITS_SECONDS="1.5", TOOLSPEAK_LOCAL_THREADS="3"
    )
    found = load(home, environ=variables | {"TOOLSPEAK_TOOL_BUDGET": "800"})
    assert (found.limits.turns, found.limits.seconds, found.local.threads) == (None, 1.5, 3)
    assert found.tool_budget == 800


def test_a_variable_takes_the_budget_of_a_file_away(home: Path):
    folder = project(home, "tool_budget = 1500")
    assert load(folder, environ=environ(home)).tool_budget == 1500
    assert load(folder, environ=environ(home, TOOLSPEAK_TOOL_BUDGET="none")).tool_budget is None


@pytest.mark.parametrize("variables", [{"TOOLSPEAK_MODEL": ""}, {"TOOLSPEAK_OF_ANOTHER_PROGRAM": "1"}])
def test_empty_and_foreign_variables_are_ignored(home: Path, variables: dict[str, str]):
    assert load(home, environ=environ(home, **variables)) == Settings()


def test_a_key_variable_may_look_like_a_misspelt_setting(home: Path):
    folder = project(home, 'endpoints.a = {base_url = "http://h/v1", key_env = "TOOLSPEAK_MODELS"}')
    assert load(folder, environ=environ(home, TOOLSPEAK_MODELS=SECRET)).endpoints["a"].key_set


def test_a_misspelt_variable_is_an_error_with_a_suggestion(home: Path):
    assert error_text(home, environ(home, TOOLSPEAK_MODLE="x")) == (
        "environment variable TOOLSPEAK_MODLE: no such setting; did you mean TOOLSPEAK_MODEL?"
    )


def test_a_local_model_path_is_relative_to_the_settings_file(home: Path):
    folder = project(home, 'model = "local:weights/x.gguf"')
    assert load(folder, environ=environ(home)).model == f"local:{folder / 'weights/x.gguf'}"
    project(home, 'model = "local:~/x.gguf"')
    assert load(folder, environ=environ(home)).model == f"local:{home / 'x.gguf'}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'modle = "x"',
            "there is no setting modle; did you mean model? There are: model, dialect, tools, tool_budget, ",
        ),
        ("limits.turn = 3", "there is no setting limits.turn; did you mean limits.turns? There are: limits.turns, "),
        ("qqq = 1", "there is no setting qqq. There are: model"),
        ('"limits.turns" = 3', "there is no setting limits.turns"),
        ("model = 3", "model takes a string, not 3"),
        ('model = " "', 'model takes a string, not " "'),
        ('tools = "a.py"', 'tools takes a list of targets (separated by commas in the environment), not "a.py"'),
        ("tools = [1]", "tools takes a list of targets"),
        ("tool_budget = 0", 'tool_budget takes a whole number, at least 1, or "none", not 0'),
        ("code = 1", "code takes true or false, not 1"),
        ('approve = "maybe"', 'approve takes one of never, ask, always, not "maybe"'),
        ('log = "off"', 'log takes true or false, not "off"'),
        ("limits.turns = 0", 'limits.turns takes a whole number, at least 1, or "none", not 0'),
        ("limits.turns = true", "limits.turns takes a whole number"),
        ("limits.seconds = inf", "limits.seconds takes a number above 0"),
        ("limits.concurrent = 'none'", 'limits.concurrent takes a whole number, at least 1, not "none"'),
        ("limits = 3", "limits is a table, written as [limits], not 3"),
        ("local.slots = 1.5", "local.slots takes a whole number, at least 1, not 1.5"),
        ("endpoints.a = 1", "endpoints.a is a table, written as [endpoints.a], not 1"),
        ("[endpoints.a]", "endpoints.a has no base_url; it takes an address such as"),
        ('[endpoints."a b"]', 'an endpoint cannot be named "a b": a name begins with a letter'),
        ("[endpoints.local]", 'an endpoint cannot be named "local"'),
        ('[endpoints.a]\nbase_url="ftp://x"', "endpoints.a.base_url takes an address such as"),
        ('[endpoints.a]\nbase_url="http://[x"', "endpoints.a.base_url takes an address such as"),
        (
            '[endpoints.a]\nbaseurl="http://x"',
            "there is no setting endpoints.a.baseurl; did you mean endpoints.a.base_url?",
        ),
        ('[endpoints.a]\nbase_url="http://x"\napi="other"', "endpoints.a.api takes one of openai, anthropic"),
        ('[endpoints.a]\nbase_url="http://x"\napi="ollama"\nnum_ctx=0', "endpoints.a.num_ctx takes a whole number"),
        ('[endpoints.a]\nbase_url="http://x"\napi="ollama"\nthink="much"', "endpoints.a.think takes true, false,"),
        ('[endpoints.a]\nbase_url="http://x"\nnum_ctx=9', "endpoints.a.num_ctx is an option of Ollama's API; set api"),
    ],
)
def test_wrong_settings_are_errors_that_name_the_file(home: Path, text: str, message: str):
    folder = project(home, text)
    error = error_text(folder, environ(home))
    assert error.startswith(f"{folder / 'toolspeak.toml'}: {message}")


def test_a_wrong_value_in_a_variable_is_an_error(home: Path):
    assert error_text(home, environ(home, TOOLSPEAK_LIMITS_TURNS="ten")) == (
        "environment variable TOOLSPEAK_LIMITS_TURNS: limits.turns takes a whole number, at least 1, or "
        '"none", not "ten"'
    )


def test_an_unreadable_file_is_an_error(home: Path):
    folder = project(home, "model =")
    assert "toolspeak.toml is not TOML: " in error_text(folder, environ(home))
    (folder / "toolspeak.toml").write_bytes(b'model = "\xff"')
    assert "it is not UTF-8 text" in error_text(folder, environ(home))
    (folder / "toolspeak.toml").unlink()
    (folder / "toolspeak.toml").mkdir()
    assert error_text(folder, environ(home)).startswith(f"cannot read {folder / 'toolspeak.toml'}: ")
    (folder / "toolspeak.toml").rmdir()
    project(home, "tool.toolspeak = 3", "pyproject.toml")
    assert error_text(folder, environ(home)).endswith("tool.toolspeak is a table, written as [tool.toolspeak]")


@pytest.mark.parametrize(
    "line",
    [
        f'key_env = "{SECRET}"',
        'key_env = "AKIA0123456789ABCDEF01"',
        f'api_key = "{SECRET}"',
        f'key = "{SECRET}"',
        f'tokens = "{SECRET}"',
        f'base_url = "http://user:{SECRET}@h/v1"',
        f'base_url = "http://h/v1?key={SECRET}"',
    ],
)
def test_a_key_in_the_wrong_place_is_refused_and_not_repeated(home: Path, line: str):
    start = "" if line.startswith("base_url") else 'base_url = "http://h/v1"\n'
    folder = project(home, f"[endpoints.a]\n{start}{line}")
    error = error_text(folder, environ(home))
    assert SECRET not in error
    assert "AKIA" not in error


def test_keys_are_never_shown(home: Path):
    folder = project(
        home,
        'model = "http://me:hidden@h/v1#x"\n[endpoints]\na = {base_url = "http://a/v1", key_env = "A_KEY"}\n'
        'b = {base_url = "http://b/v1", key_env = "B_KEY"}',
    )
    variables = environ(home, A_KEY=SECRET)
    found = load(folder, environ=variables)
    rows = {row.setting: row.value for row in found.rows()}
    assert rows["endpoints.a"] == "http://a/v1, openai, key in A_KEY (set)"
    assert rows["endpoints.b"] == "http://b/v1, openai, key in B_KEY (not set)"
    assert rows["model"] == "http://…@h/v1#x"
    assert SECRET not in repr(found) + repr(found.endpoints)
    assert "hidden" not in repr(found)
    assert found.endpoints["a"].key(variables) == SECRET
    assert found.endpoints["b"].key(variables) is None
    assert EndpointSettings(name="c", base_url="http://c").key(variables) is None


def test_a_project_file_cannot_approve_every_call(tmp_path: Path):
    (tmp_path / "toolspeak.toml").write_text('approve = "always"')
    with pytest.raises(UsageError, match="cannot be set by a project"):
        load(tmp_path, environ={})
