"""What was read of prompts, kept on disk: what is found, what is deleted, and what a server is asked for.

A small program stands in for the process of the embedded model, and a server on loopback for llama.cpp; `tests/local/`
has the real ones.
"""

import os
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path

import pytest

from toolspeak.dialects import NATIVE, PYTHON
from toolspeak.models import EmbeddedModel, Request, Sampling
from toolspeak.models.adapters import Adapter
from toolspeak.models.embedded import cut_to_beginning
from toolspeak.models.local import LocalServer, ServerOptions, get_shared_server, start_server, stop_all
from toolspeak.models.prompt_store import PromptStore, make_key
from toolspeak.tools import Tool
from toolspeak.values.messages import Call, Message, Result, Text, ToolCall, assistant, system, user
from toolspeak.values.pieces import Answer

from .asking import run_within
from .server import Act, Connection, Post, Server, answers, streams

READY = """
import json, sys
sys.stdin.readline()
print(json.dumps({"address": sys.argv[1]}), flush=True)
sys.stdin.read()
"""
TOKENS = 40
STATE = b"the state of forty tokens"


@pytest.fixture(autouse=True)
def _none_left() -> Generator[None]:
    yield
    stop_all()


@pytest.fixture
def store(tmp_path: Path) -> PromptStore:
    made = PromptStore(tmp_path / "prompts", max_bytes=1000)
    assert made.open()
    return made


def write(store: PromptStore, key: str, state: bytes = STATE) -> Path:
    name = store.make_name(key)
    (store.folder / name).write_bytes(state)
    assert store.keep(key, name)
    return store.folder / f"{key}.state"


def list_names(store: PromptStore) -> list[str]:
    return sorted(path.name for path in store.folder.iterdir())


# The files


def test_what_was_kept_is_found_and_nothing_else(store: PromptStore):
    path = write(store, "a")
    assert store.find("a") == path.name
    assert path.read_bytes().startswith(STATE)
    assert store.find("b") is None
    assert list_names(store) == ["a.state"]


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[:-1],
    "shorter than a digest": lambda data: data[:10],
    "empty": lambda data: b"",
    "another byte": lambda data: b"T" + data[1:],
    "longer": lambda data: data + b"x",
    "never completed": lambda data: STATE,
}


@pytest.mark.parametrize("kind", SPOILT)
def test_a_broken_file_is_not_found_but_deleted(store: PromptStore, kind: str):
    path = write(store, "a")
    path.write_bytes(SPOILT[kind](path.read_bytes()))
    assert store.find("a") is None
    assert list_names(store) == []


def test_a_file_that_was_not_written_is_not_kept(store: PromptStore):
    assert not store.keep("a", "a.0.new")
    assert list_names(store) == []


def test_the_folder_is_bounded_and_keeps_what_was_used_last(store: PromptStore):
    for place, key in enumerate("abc"):
        os.utime(write(store, key, bytes(300)), (place, place))
    assert store.find("a")  # so it was used after the others
    write(store, "d", bytes(300))
    assert list_names(store) == ["a.state", "c.state", "d.state"]  # of 332 bytes, so a fourth is too much


def test_a_state_that_alone_is_too_large_is_not_kept(store: PromptStore):
    write(store, "a", bytes(2000))
    assert list_names(store) == []


def test_a_file_that_its_server_never_completed_is_deleted_later(store: PromptStore):
    for name, age in (("old.1.new", 7200), ("young.1.new", 0)):
        (store.folder / name).write_bytes(b"half")
        os.utime(store.folder / name, (time.time() - age, time.time() - age))
    (store.folder / "notes.txt").write_text("a file of somebody")
    write(store, "a")
    assert list_names(store) == ["a.state", "notes.txt", "young.1.new"]


def test_a_folder_that_others_may_enter_is_not_used(tmp_path: Path):
    tmp_path.chmod(0o755)
    assert not PromptStore(tmp_path).open()
    (tmp_path / "own").mkdir(mode=0o700)
    assert PromptStore(tmp_path / "own").open()
    (tmp_path / "link").symlink_to(tmp_path / "own")
    assert not PromptStore(tmp_path / "link").open()
    (tmp_path / "file").touch()
    assert not PromptStore(tmp_path / "file").open()
    assert not PromptStore(tmp_path / "file" / "below").open()


def test_the_folder_is_made_for_the_user_alone(tmp_path: Path):
    assert PromptStore(tmp_path / "a" / "b").open()
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


def test_a_key_names_the_weights_the_adapter_and_the_request(weights: Path, tmp_path: Path):
    lora = tmp_path / "lora.gguf"
    lora.write_bytes(b"GGUF")
    plain = ServerOptions(weights=weights)
    adapted = replace(plain, adapter=Adapter(path=lora))
    keys = [make_key(plain, b"one"), make_key(plain, b"two"), make_key(adapted, b"one")]
    assert make_key(replace(plain, threads=3), b"one") == keys[0]
    lora.write_bytes(b"GGUF, trained again")
    keys.append(make_key(adapted, b"one"))
    weights.write_bytes(b"GGUF and something else")
    keys.append(make_key(plain, b"one"))
    assert len(set(keys)) == 5


# What is the beginning of a prompt


def get_weather(city: str) -> str:
    """Get the weather.

    Args:
        city: The city.
    """
    return city


SPEC = Tool(get_weather).spec


def make_request(question: str, *, dialect: str = "python", rules: str = "Be brief.") -> Request:
    shown = {"python": PYTHON, "native": NATIVE}[dialect].render((SPEC,), [system(rules), user(question)])
    return Request(shown=shown, dialect=dialect)


def test_the_beginning_ends_before_the_first_question():
    for dialect in ("python", "native"):
        one, two = (cut_to_beginning(make_request(each, dialect=dialect)) for each in ("How is Oslo?", "And Rome?"))
        assert one is not None
        assert one == two
        whole = make_request("How is Oslo?", dialect=dialect).shown
        assert one.shown.messages[:-1] == whole.messages[:-1]
        assert one.shown.tools == whole.tools
        assert "Oslo" not in str(one)


def test_a_later_turn_has_the_beginning_of_the_first():
    messages = [system("Be brief."), user("How is Oslo?"), assistant("Cold."), user("And Rome?")]
    later = Request(shown=PYTHON.render((SPEC,), messages), dialect="python")
    assert cut_to_beginning(later) == cut_to_beginning(make_request("How is Oslo?"))


def test_other_instructions_have_another_beginning():
    assert cut_to_beginning(make_request("Hi.")) != cut_to_beginning(make_request("Hi.", rules="Be wordy."))


def test_without_tools_there_is_no_beginning_to_keep():
    shown = PYTHON.render((), [system("Be brief."), user("Hi.")])
    assert cut_to_beginning(Request(shown=shown, dialect="python")) is None


# What a server is asked for


class Llama:
    """What llama.cpp does with states, over HTTP: it reads, saves and restores."""

    def __init__(self, server: Server, store: PromptStore) -> None:
        self._server, self._store = server, store
        self.refuses_restore = self.hangs_up_once = False
        self.saves_tokens = TOKENS
        server.plays(self.act)

    async def act(self, post: Post, connection: Connection) -> None:
        if self.hangs_up_once and post.path == SAVE:
            self.hangs_up_once = False
            connection.close()
        else:
            await self._choose(post)(post, connection)

    def _choose(self, post: Post) -> Act:
        match post.path:
            case "/slots/0?action=save" | "/slots/1?action=save":
                (self._store.folder / post.body["filename"]).write_bytes(STATE)
                return answers(body={"n_saved": self.saves_tokens})
            case "/slots/0?action=restore" | "/slots/1?action=restore":
                return answers(400) if self.refuses_restore else answers(body={"n_restored": TOKENS})
            case "/completion":
                return answers(body={"content": ""})
            case _:
                delta = '"choices":[{"index":0,"delta":{"role":"assistant","content":"Cold."},"finish_reason":"stop"}]'
                usage = f'"choices":[],"usage":{{"prompt_tokens":{TOKENS},"completion_tokens":1}}'
                return streams(*(f"data: {{{each}}}\n\n".encode() for each in (delta, usage)), b"data: [DONE]\n\n")

    @property
    def paths(self) -> list[str]:
        """What it was asked for since the last look."""
        found = [post.path for post in self._server.posts]
        self._server.posts.clear()
        return found


READ = ASK = "/v1/chat/completions"
SAVE, RESTORE = "/slots/0?action=save", "/slots/0?action=restore"


class SmallModel(EmbeddedModel):
    """An embedded model whose process is a small program, which a new model starts anew."""

    address = ""

    def load(self, on_progress: Callable[[float], None] | None = None) -> LocalServer:
        if not isinstance(self._server, LocalServer):
            self._server = start_server(self._options, command=[sys.executable, "-c", READY, self.address])
        return self._server

    def share(self, other: "SmallModel") -> None:
        """Use the process of another model."""
        self._server = other.load()


@pytest.fixture
def llama(server: Server, store: PromptStore) -> Llama:
    return Llama(server, store)


@pytest.fixture
def new_model(server: Server, weights: Path, store: PromptStore) -> Generator[Callable[..., SmallModel]]:
    made: list[SmallModel] = []

    def make(**options: object) -> SmallModel:
        made.append(SmallModel(weights, **{"prompts": store, **options}))  # pyright: ignore[reportArgumentType] (options of tests)
        made[-1].address = server.url
        return made[-1]

    yield make
    for model in made:
        model.load().stop()


def ask(model: EmbeddedModel, request: Request) -> Answer:
    async def collect() -> list[object]:
        return [piece async for pieces in model.ask(request) for piece in pieces]

    answer = run_within(collect())[-1]
    assert isinstance(answer, Answer)
    return answer


def test_tools_are_read_once_and_kept_then_taken_from_the_disk(llama: Llama, new_model: Callable[..., SmallModel]):
    first = new_model()
    ask(first, make_request("How is Oslo?"))
    assert llama.paths == [READ, SAVE, ASK]
    ask(first, make_request("And Rome?"))
    assert llama.paths == [ASK]
    ask(new_model(), make_request("And Bergen?"))
    assert llama.paths == ["/completion", RESTORE, ASK]


def test_a_connection_that_llama_cpp_closes_meanwhile_costs_nothing(
    llama: Llama, store: PromptStore, new_model: Callable[..., SmallModel]
):
    llama.hangs_up_once = True
    ask(new_model(), make_request("How is Oslo?"))
    assert llama.paths == [READ, SAVE, SAVE, ASK]
    assert len(list_names(store)) == 1


def test_nothing_of_a_question_is_kept(llama: Llama, server: Server, new_model: Callable[..., SmallModel]):
    ask(new_model(), make_request("How is Oslo?"))
    read, _, asked = server.posts
    assert "Oslo" not in str(read.body)
    assert read.body["messages"][0] == asked.body["messages"][0]
    assert read.body["max_tokens"] == 1


def test_other_tools_are_read_for_themselves(llama: Llama, new_model: Callable[..., SmallModel]):
    model = new_model()
    ask(model, make_request("How is Oslo?"))
    ask(model, make_request("How is Oslo?", dialect="native"))
    assert llama.paths == [READ, SAVE, ASK] * 2


def test_a_state_that_the_server_refuses_is_deleted_and_read_again(
    llama: Llama, store: PromptStore, new_model: Callable[..., SmallModel]
):
    ask(new_model(), make_request("How is Oslo?"))
    llama.refuses_restore = True
    ask(new_model(), make_request("How is Oslo?"))
    assert llama.paths == [READ, SAVE, ASK, "/completion", RESTORE, RESTORE, READ, SAVE, ASK]
    assert len(list_names(store)) == 1


def test_a_broken_state_never_reaches_the_server(
    llama: Llama, store: PromptStore, new_model: Callable[..., SmallModel]
):
    ask(new_model(), make_request("How is Oslo?"))
    (name,) = list_names(store)
    (store.folder / name).write_bytes(b"GGSQ")
    ask(new_model(), make_request("How is Oslo?"))
    assert llama.paths == [READ, SAVE, ASK] * 2
    assert store.find(name.removesuffix(".state"))


def test_the_state_of_another_prompt_is_not_kept(
    llama: Llama, store: PromptStore, new_model: Callable[..., SmallModel]
):
    llama.saves_tokens = TOKENS + 1  # another program has asked something before the state was saved
    ask(new_model(), make_request("How is Oslo?"))
    assert list_names(store) == []


def test_the_adapter_is_in_use_before_a_state_is_taken_up(
    llama: Llama, server: Server, weights: Path, tmp_path: Path, new_model: Callable[..., SmallModel]
):
    lora = tmp_path / "lora.gguf"
    lora.write_bytes(b"GGUF")
    for _ in range(2):
        ask(new_model(adapter=Adapter(path=lora)), make_request("How is Oslo?"))
    used = [{"id": 0, "scale": 1.0}]
    assert [post.body.get("lora") for post in server.posts] == [used, None, used, used, None, used]


def test_each_adapter_has_a_place_of_its_own(
    llama: Llama, server: Server, tmp_path: Path, new_model: Callable[..., SmallModel]
):
    paths = [tmp_path / "calls.gguf", tmp_path / "results.gguf"]
    for path in paths:
        path.write_bytes(b"GGUF")
    model = new_model(adapter=Adapter(path=paths[0], after_results=Adapter(path=paths[1])))
    call = Call(call=ToolCall(id="1", name=SPEC.name, arguments={}))
    result = Result(call_id="1", content=(Text(text="4 °C"),))
    asking = Message(role="assistant", parts=(call,)), Message(role="tool", parts=(result,))
    history = [system("Be brief."), user("How is Oslo?")]
    requests: list[Request] = []
    for more in ((), asking, (assistant("4 °C."), user("And Rome?")), asking):
        history += more
        requests.append(Request(shown=PYTHON.render((SPEC,), history), dialect="python"))
    for request in requests:
        ask(model, request)
    used = [(post.body["lora"][0]["id"], post.body["id_slot"]) for post in server.posts if "lora" in post.body]
    assert llama.paths == [READ, SAVE, ASK, READ, SAVE.replace("0", "1"), ASK, ASK, ASK]
    assert used == [(0, 0), (0, 0), (1, 1), (1, 1), (0, 0), (1, 1)]
    ask(model, Request(shown=PYTHON.render((), [user("Hi.")]), dialect="python"))  # in the first place, without it
    ask(model, requests[1])
    assert llama.paths == [ASK, ASK]
    ask(model, requests[0])
    assert llama.paths == ["/completion", RESTORE, ASK]
    ask(new_model(adapter=model.adapter), requests[1])
    assert llama.paths == ["/completion", RESTORE.replace("0", "1"), ASK]


@pytest.mark.parametrize("files", [1, 2])
def test_with_two_adapters_a_place_has_only_what_it_has_read_last(
    llama: Llama, tmp_path: Path, new_model: Callable[..., SmallModel], files: int
):
    adapters = [Adapter(path=tmp_path / name) for name in ("calls.gguf", "results.gguf")]
    for each in adapters:
        each.path.write_bytes(b"GGUF")
    model = new_model(adapter=replace(adapters[0], after_results=adapters[1] if files == 2 else None))
    one, two = make_request("How is Oslo?"), make_request("How is Oslo?", rules="Be wordy.")
    ask(model, one)
    ask(model, two)
    assert llama.paths == [READ, SAVE, ASK] * 2
    ask(model, one)
    assert llama.paths == ([ASK] if files == 1 else ["/completion", RESTORE, ASK])


def test_a_user_may_choose_the_place(llama: Llama, server: Server, new_model: Callable[..., SmallModel]):
    request = replace(make_request("How is Oslo?"), sampling=Sampling(extra={"id_slot": 1}))
    for _ in range(2):
        ask(new_model(), request)
    assert [post.body.get("id_slot") for post in server.posts] == [1, None, 1, 1, None, 1]
    assert llama.paths == [READ, SAVE.replace("0", "1"), ASK, "/completion", RESTORE.replace("0", "1"), ASK]


def test_what_a_server_has_read_is_known_to_all_models_that_use_it(
    llama: Llama, server: Server, weights: Path, tmp_path: Path, store: PromptStore
):
    (tmp_path / "lora.gguf").write_bytes(b"GGUF")
    first, second = (SmallModel(weights, prompts=store, adapter=Adapter(path=tmp_path / "lora.gguf")) for _ in range(2))
    first.address = server.url
    second.share(first)
    ask(first, make_request("How is Oslo?"))
    ask(second, make_request("And Rome?"))
    assert llama.paths == [READ, SAVE, ASK, ASK]
    first.load().stop()


@pytest.mark.parametrize("options", [{"prompts": None}, {"slots": 2}])
def test_without_a_store_or_with_several_places_nothing_is_kept(
    llama: Llama, store: PromptStore, new_model: Callable[..., SmallModel], options: dict[str, object]
):
    ask(new_model(**options), make_request("How is Oslo?"))
    assert llama.paths == [ASK]
    assert list_names(store) == []


def test_a_folder_that_cannot_be_used_only_costs_time(
    llama: Llama, tmp_path: Path, new_model: Callable[..., SmallModel]
):
    (tmp_path / "file").touch()
    ask(new_model(prompts=PromptStore(tmp_path / "file")), make_request("How is Oslo?"))
    assert llama.paths == [ASK]


def test_how_far_the_tools_are_read_is_reported(llama: Llama, server: Server, new_model: Callable[..., SmallModel]):
    model = new_model()
    model.on_prompt_read = lambda done, total: None
    ask(model, make_request("How is Oslo?"))
    assert [post.body.get("return_progress") for post in server.posts] == [True, None, True]


def test_a_process_is_told_the_folder(weights: Path, store: PromptStore):
    shown = "import json, sys\noptions = json.loads(sys.stdin.readline())\nsys.exit(options['prompts'])"
    with pytest.raises(Exception, match=str(store.folder)):
        get_shared_server(ServerOptions(weights=weights, prompts=store.folder), command=[sys.executable, "-c", shown])
