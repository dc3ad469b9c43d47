# Written by scripts/api.py: the public names of the last release, which the next ones are compared with.

# module toolspeak
class Agent:
    def __init__(
        self,
        model=None,
        tools=(),
        *,
        output=None,
        dialect="auto",
        system=None,
        choose_tools=None,
        tool_choice="auto",
        parallel_tool_calls=True,
        limits=...,
        sampling=...,
        approve=None,
        summarize=None,
        deps=None,
        tool_timeout=300.0,
        on_tool_error=None,
        tool_budget=None,
        escalate=(),
        code=False,
        tracer=None,
        settings=None,
    ): ...
    async def aresume(
        self,
        facts,
        *,
        output=None,
        approvals=...,
        deps=...,
        record=...,
        limits=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    async def arun(
        self,
        prompt=None,
        *,
        output=None,
        messages=...,
        tool_choice=...,
        limits=...,
        deps=...,
        record=...,
        compacted=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    def as_handoff(self, name, description="", *, approve=False): ...
    def as_tool(self, name, description="", *, prompt=None, effect="idempotent", approve=False, timeout=3600.0): ...
    def astream(
        self,
        prompt=None,
        *,
        output=None,
        messages=...,
        tool_choice=...,
        limits=...,
        deps=...,
        record=...,
        compacted=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    def astream_resume(
        self,
        facts,
        *,
        output=None,
        approvals=...,
        deps=...,
        record=...,
        limits=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    async def build_speaker(self, context, run, handed=None): ...
    def chat(self, messages=(), *, compacted=None): ...
    async def choose_dialect(self): ...
    choose_tools: object
    code: object
    deps: object
    dialect: object
    dialect_choice: object
    dialects: object
    escalation: object
    def graph(self): ...
    limits: object
    model: object
    models: object
    output: object
    def override(
        self,
        *,
        dialect=...,
        system=...,
        choose_tools=...,
        tool_choice=...,
        parallel_tool_calls=...,
        limits=...,
        sampling=...,
        approve=...,
        summarize=...,
        tool_timeout=...,
        on_tool_error=...,
        tool_budget=...,
        escalate=...,
        code=...,
        tracer=...,
        settings=...,
        deps=...,
        model=...,
        tools=...,
    ): ...
    own_tools: object
    parallel_tool_calls: object
    def prepare(
        self,
        prompt,
        options,
        *,
        output=...,
        output_optional=...,
        watched=...,
        on_end=...,
        outer=...,
        earlier=...,
        durability=...,
    ): ...
    def prepare_resume(
        self,
        facts,
        options,
        *,
        output=...,
        output_optional=...,
        watched=...,
        on_end=...,
        outer=...,
        earlier=...,
        durability=...,
    ): ...
    def replace(
        self,
        *,
        dialect=...,
        system=...,
        choose_tools=...,
        tool_choice=...,
        parallel_tool_calls=...,
        limits=...,
        sampling=...,
        approve=...,
        summarize=...,
        tool_timeout=...,
        on_tool_error=...,
        tool_budget=...,
        escalate=...,
        code=...,
        tracer=...,
        settings=...,
        deps=...,
        model=...,
        tools=...,
    ): ...
    def resume(
        self,
        facts,
        *,
        output=None,
        approvals=...,
        deps=...,
        record=...,
        limits=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    def run(
        self,
        prompt=None,
        *,
        output=None,
        messages=...,
        tool_choice=...,
        limits=...,
        deps=...,
        record=...,
        compacted=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    def stream(
        self,
        prompt=None,
        *,
        output=None,
        messages=...,
        tool_choice=...,
        limits=...,
        deps=...,
        record=...,
        compacted=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    def stream_resume(
        self,
        facts,
        *,
        output=None,
        approvals=...,
        deps=...,
        record=...,
        limits=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    system: object
    tool_budget: object
    tool_choice: object
    tool_timeout: object
    toolbox: object

class AsyncStream:
    def __init__(self, run): ...
    async def aclose(self): ...
    def cancel(self): ...
    outcome: object
    partial: object
    def partials(self): ...

class Chain:
    def __init__(self, prompt=""): ...
    @classmethod
    def agent(cls, prompt, model=None): ...
    async def arun(self, **values): ...
    def astream(self, **values): ...
    def graph(self): ...
    def llm(
        self,
        model=None,
        *,
        tool_choice="auto",
        dialect="auto",
        parallel_tool_calls=True,
        output=None,
        approve=None,
        sampling=...,
    ): ...
    def prompt(self, template): ...
    def run(self, **values): ...
    def stream(self, **values): ...
    def system(self, text): ...
    def tool(self, name, /, **arguments): ...
    def transform(self, function): ...
    def with_limits(self, limits): ...
    def with_max_iterations(self, turns): ...
    def with_model(self, model): ...
    def with_tools(self, tools): ...

class Chat:
    def __init__(self, agent, messages=(), compacted=None): ...
    async def aresume(
        self,
        facts,
        *,
        output=None,
        approvals=...,
        deps=...,
        record=...,
        limits=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    async def arun(
        self,
        prompt=None,
        *,
        output=None,
        messages=...,
        tool_choice=...,
        limits=...,
        deps=...,
        record=...,
        compacted=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    def astream(
        self,
        prompt=None,
        *,
        output=None,
        messages=...,
        tool_choice=...,
        limits=...,
        deps=...,
        record=...,
        compacted=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    def astream_resume(
        self,
        facts,
        *,
        output=None,
        approvals=...,
        deps=...,
        record=...,
        limits=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    @staticmethod
    def load(agent, saved): ...
    def prepare(
        self,
        prompt,
        options,
        *,
        output=...,
        output_optional=...,
        watched=...,
        on_end=...,
        outer=...,
        earlier=...,
        durability=...,
    ): ...
    def prepare_resume(
        self,
        facts,
        options,
        *,
        output=...,
        output_optional=...,
        watched=...,
        on_end=...,
        outer=...,
        earlier=...,
        durability=...,
    ): ...
    def resume(
        self,
        facts,
        *,
        output=None,
        approvals=...,
        deps=...,
        record=...,
        limits=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    def run(
        self,
        prompt=None,
        *,
        output=None,
        messages=...,
        tool_choice=...,
        limits=...,
        deps=...,
        record=...,
        compacted=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    def save(self, path=None): ...
    def stream(
        self,
        prompt=None,
        *,
        output=None,
        messages=...,
        tool_choice=...,
        limits=...,
        deps=...,
        record=...,
        compacted=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    def stream_resume(
        self,
        facts,
        *,
        output=None,
        approvals=...,
        deps=...,
        record=...,
        limits=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...

class Context:
    def __init__(self, *, deps, run_id="", call_id="", turn=0, data=..., on_progress=None, on_wait=None): ...
    call_id: object
    data: object
    deps: object
    idempotency_key: object
    on_progress: object
    on_wait: object
    def report_progress(self, done, total=None, text=""): ...
    run_id: object
    async def sleep(self, seconds=0.0, *, minutes=0.0, hours=0.0, days=0.0): ...
    turn: object
    async def wait_for(self, signal, timeout=None): ...

class EndpointDown(ProviderError, ModelError, ToolspeakError, Exception):
    def __init__(self, message="", *, status=None, retry_after=None): ...
    outcome: object
    def with_message(self, message): ...

Event: object

class Happened:
    def __init__(self, output=None): ...
    output: object

class InvalidArguments(ToolError, ToolspeakError, Exception):
    def __init__(self, tool, problems): ...
    outcome: object

class Limits:
    def __init__(
        self,
        *,
        turns=10,
        calls=None,
        tokens=None,
        seconds=None,
        repeats=3,
        concurrent=8,
        cost=None,
        depth=3,
        context=None,
        result_tokens=None,
    ): ...
    calls: object
    concurrent: object
    context: object
    cost: object
    depth: object
    repeats: object
    result_tokens: object
    seconds: object
    tokens: object
    turns: object

class Media:
    def __init__(self, *, mime, data=None, url=None, extra=None, name=None): ...
    data: object
    extra: object
    kind: object
    mime: object
    name: object
    url: object

class Message:
    def __init__(self, *, role, parts, raw=None): ...
    calls: object
    kind: object
    parts: object
    raw: object
    role: object
    text: object

class Model:
    def ask(self, request): ...
    dialect: object
    name: object

class ModelError(ToolspeakError, Exception):
    def __init__(self, message="", *, status=None, retry_after=None): ...
    outcome: object
    def with_message(self, message): ...

class Outcome:
    def __init__(
        self,
        *,
        text,
        calls,
        messages,
        facts,
        usage,
        stop_reason,
        detail,
        output,
        cost=None,
        agent="",
        run_id="",
        compacted=None,
    ): ...
    agent: object
    calls: object
    compacted: object
    cost: object
    detail: object
    errors: object
    facts: object
    guidance: object
    messages: object
    models: object
    output: object
    run_id: object
    stop_reason: object
    text: object
    usage: object

class OutputMissing(ToolspeakError, Exception):
    def __init__(self, outcome): ...
    outcome: object
    stop_reason: object

class ProviderError(ModelError, ToolspeakError, Exception):
    def __init__(self, message="", *, status=None, retry_after=None): ...
    outcome: object
    def with_message(self, message): ...

class RateLimited(ModelError, ToolspeakError, Exception):
    def __init__(self, message="", *, status=None, retry_after=None): ...
    outcome: object
    def with_message(self, message): ...

class ReplayMiss(UsageError, ToolspeakError, Exception):
    outcome: object

class RetryPolicy:
    def __init__(
        self,
        *,
        connect_timeout=10.0,
        read_timeout=300.0,
        total_timeout=1800.0,
        attempts=4,
        first_wait=0.5,
        max_wait=60.0,
    ): ...
    attempts: object
    connect_timeout: object
    first_wait: object
    max_wait: object
    read_timeout: object
    total_timeout: object

class RunPaused(ToolspeakError, Exception):
    def __init__(self, message, calls=(), facts=()): ...
    outcome: object

class Sampling:
    def __init__(self, *, max_tokens=None, temperature=None, top_p=None, seed=None, stop=(), extra=None): ...
    extra: object
    max_tokens: object
    seed: object
    stop: object
    temperature: object
    top_p: object

class Stream:
    def __init__(self, run): ...
    def cancel(self): ...
    def close(self): ...
    outcome: object
    partial: object
    def partials(self): ...

class StreamInterrupted(ModelError, ToolspeakError, Exception):
    def __init__(self, message="", *, status=None, retry_after=None): ...
    outcome: object
    def with_message(self, message): ...

class Tool:
    def __init__(
        self,
        function,
        *,
        name=...,
        description=...,
        effect=...,
        approve=...,
        sequential=...,
        timeout=...,
        max_output=...,
        raw=...,
        own_results=...,
        reconcile=...,
    ): ...
    approval_rule: object
    def bind(self, arguments, context=None): ...
    def complete(self, arguments): ...
    deps_type: object
    function: object
    is_async: object
    is_quick: object
    name: object
    reconciler: object
    spec: object
    takes_context: object
    def validate(self, arguments): ...

class ToolCall:
    def __init__(self, *, id, name, arguments): ...
    arguments: object
    id: object
    name: object

class ToolChoice:
    def __init__(self, *, mode="auto", names=()): ...
    mode: object
    names: object

class ToolError(ToolspeakError, Exception):
    outcome: object

class ToolResult:
    def __init__(self, *, call_id, output=None, error=None, ran=True, media=(), reason=""): ...
    call_id: object
    error: object
    media: object
    output: object
    ran: object
    reason: object

class ToolSpec:
    def __init__(
        self,
        *,
        name,
        description,
        parameters,
        returns=None,
        effect="once",
        approve=False,
        sequential=False,
        timeout=None,
        max_output=None,
        raw=None,
        origin=...,
        spans=(),
        own_results=False,
        reconcile=False,
    ): ...
    approve: object
    description: object
    effect: object
    max_output: object
    name: object
    origin: object
    own_results: object
    parameters: object
    raw: object
    reconcile: object
    returns: object
    sequential: object
    spans: object
    timeout: object

class Toolbox:
    def __init__(self, tools=(), *, skipped=()): ...
    names: object
    specs: object

class ToolspeakError(Exception):
    outcome: object

class UsageError(ToolspeakError, Exception):
    outcome: object

def connect(name, *, at=None, api=None, key=None, headers=None, dialect=None, retry=None, extra=None, cost=None): ...
def discover(target): ...
def file(source, *, name=None, mime=None): ...
def image(source, *, mime=None): ...

previous: object

def system(text): ...
def tool(
    function=None,
    /,
    *,
    name=...,
    description=...,
    effect=...,
    approve=...,
    sequential=...,
    timeout=...,
    max_output=...,
    raw=...,
    own_results=...,
    reconcile=...,
): ...
def user(text, *attachments): ...

# module toolspeak.builtin.files
class FileTools(Toolbox):
    def __init__(self, root=".", *, approve=True, read_only=False): ...
    names: object
    specs: object

# module toolspeak.builtin.python
class PythonTool(Tool):
    def __init__(self, *, mode="auto", limits=None, unsafe_local=False, name="run_python", approve=False): ...
    approval_rule: object
    def bind(self, arguments, context=None): ...
    def complete(self, arguments): ...
    deps_type: object
    function: object
    is_async: object
    is_quick: object
    name: object
    reconciler: object
    spec: object
    takes_context: object
    def validate(self, arguments): ...

# module toolspeak.builtin.shell
class ShellTool(Tool):
    def __init__(self, root=".", *, seconds=60.0, output=20000, env=None, keep=(), approve=True): ...
    approval_rule: object
    def bind(self, arguments, context=None): ...
    def complete(self, arguments): ...
    deps_type: object
    function: object
    is_async: object
    is_quick: object
    name: object
    reconciler: object
    spec: object
    takes_context: object
    def validate(self, arguments): ...

# module toolspeak.dialects
class Constraint:
    def __init__(self, *, json_schema=None, grammar=None): ...
    grammar: object
    json_schema: object

class Dialect:
    in_text: object
    name: object
    def parser(self, specs, *, prefix="call"): ...
    def render(self, specs, history, *, choice=..., parallel=True): ...

class Explanation:
    def __init__(self, *, text, spans, content): ...
    content: object
    spans: object
    text: object

class MessageContent:
    def __init__(self, *, text="", thinking="", calls=(), malformed=()): ...
    calls: object
    malformed: object
    text: object
    thinking: object

class MessageSpan:
    def __init__(
        self,
        *,
        start,
        end,
        kind,
        rule=None,
        detail="",
        family="",
        calls=(),
        refusals=(),
        repairs=(),
        unknown_tools=(),
        near_tools=(),
        problems=(),
    ): ...
    calls: object
    detail: object
    end: object
    family: object
    kind: object
    near_tools: object
    problems: object
    refusals: object
    repairs: object
    rule: object
    start: object
    unknown_tools: object

class Parser:
    def close(self, finish="stop"): ...
    def feed(self, text): ...

class Refusal:
    def __init__(self, *, name, reason, hint=""): ...
    hint: object
    name: object
    reason: object

class RepairPlace:
    def __init__(self, *, repair, at): ...
    at: object
    repair: object

class Shown:
    def __init__(self, *, messages, tools=(), choice=..., parallel=True, constraint=None, has_tools=False): ...
    choice: object
    constraint: object
    has_tools: object
    messages: object
    parallel: object
    tools: object

def explain(text, specs, *, strict=False, finish="stop"): ...
def fold(events): ...
def read(text, specs, *, dialect=..., finish="stop"): ...

# module toolspeak.dialects.text
class TextDialect:
    def __init__(self, *, name, format_tools, format_calls, format_call, constrain, in_text=True): ...
    constrain: object
    format_call: object
    format_calls: object
    format_tools: object
    in_text: object
    name: object
    def parser(self, specs, *, strict=False, thinking=False, prefix="call"): ...
    def prompt(self, specs): ...
    def render(self, specs, history, *, choice=..., parallel=True): ...

# module toolspeak.durable
class ApprovalRefused(UsageError, ToolspeakError, Exception):
    outcome: object

class Lane:
    def __init__(self, *, concurrency=None, rate=None, period=60.0, waiting=10000): ...
    concurrency: object
    period: object
    rate: object
    waiting: object

class OutcomeUnknown(StoreUnavailable, ToolspeakError, Exception):
    outcome: object

class RunEvent:
    event: object
    id: object

class RunHandle:
    def __init__(self, runs, run_id, *, is_new=False): ...
    async def approve(self, call_id, approved=True, *, by="", digest=None): ...
    def approve_sync(self, call_id, approved=True, *, by="", digest=None): ...
    async def cancel(self): ...
    def cancel_sync(self): ...
    def events(self, after=None): ...
    def events_sync(self, after=None): ...
    async def facts(self): ...
    def facts_sync(self): ...
    async def outcome(self, output=None, *, timeout=None): ...
    def outcome_sync(self, output=None, *, timeout=None): ...
    async def retry(self, *, deadline=None): ...
    def retry_sync(self, *, deadline=None): ...
    async def row(self): ...
    def row_sync(self): ...
    async def status(self): ...
    def status_sync(self): ...
    async def waiting(self): ...
    def waiting_sync(self): ...
    async def waits(self): ...
    def waits_sync(self): ...

class RunRow:
    def __init__(
        self,
        *,
        run_id,
        agent,
        request,
        request_digest,
        key,
        format,
        priority,
        lane,
        chat,
        parent,
        status,
        stop_reason,
        epoch,
        owner,
        next_seq,
        deaths,
        takeovers,
        deadline,
        ready,
        dispatched,
        created,
        updated,
    ): ...
    agent: object
    chat: object
    created: object
    data: object
    deadline: object
    deaths: object
    dispatched: object
    epoch: object
    format: object
    key: object
    lane: object
    next_seq: object
    owner: object
    parent: object
    priority: object
    ready: object
    request: object
    request_digest: object
    run_id: object
    status: object
    stop_reason: object
    takeovers: object
    updated: object

RunStatus: object

class RunUnknown(UsageError, ToolspeakError, Exception):
    outcome: object

class Runs:
    def __init__(self, url, *, lanes=None, agents=None): ...
    def close(self): ...
    async def count(self): ...
    def count_sync(self): ...
    def handle(self, run_id): ...
    async def list(
        self, *, statuses=(), agent="", chat="", stop_reasons=(), data=None, limit=100, since=None, before=0
    ): ...
    def list_sync(
        self, *, statuses=(), agent="", chat="", stop_reasons=(), data=None, limit=100, since=None, before=0
    ): ...
    async def prepare(self): ...
    async def prune(self, older_than): ...
    def prune_sync(self, older_than): ...
    async def read(self, job): ...
    async def schedule(
        self,
        name,
        agent,
        prompt=None,
        *,
        cron="",
        timezone="UTC",
        every=None,
        catch_up=1,
        messages=...,
        tool_choice=...,
        limits=...,
        deps=...,
        record=...,
        compacted=...,
        model=...,
        approve=...,
        data=...,
        key=...,
        priority=...,
        lane=...,
        concurrency=...,
        delay=...,
        deadline=...,
        chat=...,
        webhook=...,
    ): ...
    def schedule_sync(
        self,
        name,
        agent,
        prompt=None,
        *,
        cron="",
        timezone="UTC",
        every=None,
        catch_up=1,
        messages=...,
        tool_choice=...,
        limits=...,
        deps=...,
        record=...,
        compacted=...,
        model=...,
        approve=...,
        data=...,
        key=...,
        priority=...,
        lane=...,
        concurrency=...,
        delay=...,
        deadline=...,
        chat=...,
        webhook=...,
    ): ...
    async def schedules(self): ...
    def schedules_sync(self): ...
    async def signal(self, name, value=None): ...
    def signal_sync(self, name, value=None): ...
    async def start(
        self,
        agent,
        prompt=None,
        *,
        messages=...,
        tool_choice=...,
        limits=...,
        deps=...,
        record=...,
        compacted=...,
        model=...,
        approve=...,
        data=...,
        key=...,
        priority=...,
        lane=...,
        concurrency=...,
        delay=...,
        deadline=...,
        chat=...,
        webhook=...,
    ): ...
    def start_sync(
        self,
        agent,
        prompt=None,
        *,
        messages=...,
        tool_choice=...,
        limits=...,
        deps=...,
        record=...,
        compacted=...,
        model=...,
        approve=...,
        data=...,
        key=...,
        priority=...,
        lane=...,
        concurrency=...,
        delay=...,
        deadline=...,
        chat=...,
        webhook=...,
    ): ...
    async def stats(self, *, since=None): ...
    def stats_sync(self, *, since=None): ...
    async def unschedule(self, name): ...
    def unschedule_sync(self, name): ...
    async def workers(self): ...
    def workers_sync(self): ...
    async def write(self, job): ...

class StartRefused(UsageError, ToolspeakError, Exception):
    outcome: object

class WaitRow:
    call: object
    call_id: object
    number: object
    signal: object
    until: object
    value: object

class WaitingCall:
    call: object
    command: object
    digest: object
    id: object
    path: object
    question: object

class Worker:
    def __init__(
        self, runs, agents, *, slots=8, lease=30.0, deps=None, grace=30.0, dispatcher=None, webhook_secret=None
    ): ...
    async def arun(self, on_ready=None): ...
    async def drive(self, run_id, epoch): ...
    async def drive_claimed(self, run): ...
    async def read(self, job): ...
    def run(self): ...
    async def write(self, job): ...

class WorkerRow:
    beat: object
    expires: object
    info: object
    worker: object

# module toolspeak.durable.log
class ConversationEntry:
    def __init__(self, *, id, created, updated, title, model, options, runs, turns): ...
    created: object
    id: object
    model: object
    options: object
    runs: object
    title: object
    turns: object
    updated: object

class ConversationLock:
    def __init__(self, log): ...
    def acquire(self, conversation): ...
    def close(self): ...

class ConversationStore:
    def __init__(self, path): ...
    def append(self, run_id, facts): ...
    def close(self): ...
    def delete(self, conversations): ...
    def find(self, id_start): ...
    def find_excerpt(self, conversation, word, width): ...
    def has_ended(self, run_id): ...
    def list_latest_runs(self, count): ...
    def list_newest(self, count=None, words=()): ...
    def list_older(self, than): ...
    def list_runs(self, conversation): ...
    def load_compaction(self, run_id): ...
    def load_conversation(self, conversation): ...
    def load_facts(self, run_id): ...
    def load_messages(self, run_id): ...
    def start(self, started, at, link=None): ...

class RunLink:
    def __init__(self, *, conversation, parent=None, messages=(), options=None): ...
    conversation: object
    messages: object
    options: object
    parent: object

class StoredFact:
    at: object
    fact: object

# module toolspeak.execution.sandbox
class CodeResult:
    def __init__(self, *, mode, value=None, stdout="", error=None, stopped=False): ...
    error: object
    mode: object
    stdout: object
    stopped: object
    value: object

class SandboxLimits:
    def __init__(
        self, *, seconds=5.0, memory=268435456, output=10000, recursion=1000, disk=33554432, transfer=16777216
    ): ...
    disk: object
    memory: object
    output: object
    recursion: object
    seconds: object
    transfer: object

def run_code(code, *, mode="auto", limits=None, unsafe_local=False): ...

# module toolspeak.gateway
class AccessRules:
    def __init__(self, *, key=None, hosts=..., origins=...): ...
    hosts: object
    key: object
    origins: object

class ServedModel:
    def __init__(self, *, name, model, dialect, max_repairs=2, thinks=False, tool_budget=None, context_check=...): ...
    context_check: object
    dialect: object
    max_repairs: object
    model: object
    name: object
    thinks: object
    tool_budget: object

# module toolspeak.gateway.app
def app(
    served,
    rules=...,
    *,
    aliases=None,
    strict=False,
    on_exchange=None,
    watch=False,
    tracer=None,
    mounted=None,
    routes=(),
): ...

# module toolspeak.gateway.run_routes
def run_routes(runs, rules): ...

# module toolspeak.lab.conformance
class ReaderProcess:
    def __init__(self, target, *, timeout_s=5.0): ...
    def ask(self, record): ...

class ReaderReport:
    def __init__(self, *, name, target, results): ...
    def count(self, group_of, group=None): ...
    name: object
    results: object
    target: object

class RecordResult:
    def __init__(self, *, record, judgement, got=None, error=""): ...
    error: object
    got: object
    judgement: object
    record: object

class SpokenRecord:
    def __init__(self, *, id, family, kind, tools, specs, text, expected, note=""): ...
    expected: object
    family: object
    id: object
    kind: object
    note: object
    specs: object
    text: object
    tools: object

def build_record(data): ...
def build_table(reports, title, group_of): ...
def check_reader(reader, records): ...
def encode_failure(result): ...
def encode_report(report): ...
def family_of(record): ...
def find_family(text, *, is_code): ...
def find_kind(note, expected): ...
def has_reference(value): ...
def judge(record, got): ...
def kind_of(record): ...
def load_records(lines=None): ...

# module toolspeak.mcp
class ElicitationRequest:
    def __init__(self, *, server, text, schema, url): ...
    schema: object
    server: object
    text: object
    url: object

class SamplingRequest:
    def __init__(self, *, server, messages, system, max_tokens): ...
    max_tokens: object
    messages: object
    server: object
    system: object

class ServerTools:
    def __init__(self, configs, check=...): ...
    async def aload(self): ...
    async def astart(self): ...
    def close(self): ...
    is_loaded: object
    def load(self): ...
    def pick_server(self, name): ...
    skipped: object
    def start(self): ...

class ToolServer:
    def __init__(self, tools, *, name="toolspeak", deps=None, timeout=None, approve="ask"): ...

def prompt(servers, name, arguments=None, *, server=None): ...
def resources(servers, *uris, server=None): ...
def serve_stdio(server): ...
def tools(
    *servers,
    name=None,
    env=None,
    cwd=None,
    headers=None,
    approve=None,
    trust_hints=False,
    pinned=True,
    instructions=True,
    resources=False,
    prompts=False,
    required=True,
    start_timeout=30.0,
    call_timeout=None,
    on_progress=None,
    on_sampling=None,
    on_elicitation=None,
): ...

# module toolspeak.models
class DialectChoice:
    def __init__(self, *, name, reason, is_guess=False): ...
    is_guess: object
    name: object
    reason: object

class EmbeddedModel:
    def __init__(
        self,
        weights,
        *,
        name=None,
        dialect=None,
        threads=None,
        context=8192,
        slots=1,
        adapter=None,
        warm=None,
        sender=None,
    ): ...
    def ask(self, request): ...
    async def choose_dialect(self): ...
    context_tokens: object
    def cost(self, usage): ...
    dialect: object
    dialect_choice: object
    def explain_unsupported(self, media): ...
    async def find_endpoint(self): ...
    is_ready: object
    def load(self, on_progress=None): ...
    name: object

class Endpoint:
    def __init__(
        self,
        *,
        name,
        base_url,
        api="openai",
        key=None,
        key_variable=None,
        needs_key=False,
        headers=...,
        quirks=...,
        rules=...,
        reads_control_tokens=False,
        retry=...,
        vendor=None,
        leaks_calls=True,
        ability_apis=(),
        cuts_silently=False,
        extra=...,
        origin="",
    ): ...
    ability_apis: object
    api: object
    base_url: object
    cuts_silently: object
    extra: object
    headers: object
    key: object
    key_variable: object
    label: object
    lacks_key: object
    leaks_calls: object
    name: object
    needs_key: object
    origin: object
    quirks: object
    reads_control_tokens: object
    def redact(self, text): ...
    retry: object
    root_url: object
    rules: object
    vendor: object

class HttpModel:
    def __init__(self, endpoint, model, dialect="native", *, sender=None, context=None, cost=None): ...
    def ask(self, request): ...
    async def ask_context(self): ...
    asks_context: object
    async def choose_dialect(self): ...
    context_tokens: object
    def cost(self, usage): ...
    dialect: object
    dialect_choice: object
    def explain_unsupported(self, media): ...
    def find_context(self, sampling=None): ...
    leaks_calls: object
    name: object
    own_dialect_choice: object

class Model:
    def ask(self, request): ...
    dialect: object
    name: object

class Request:
    def __init__(self, *, shown, dialect="native", stream=True, sampling=..., sent=None): ...
    dialect: object
    sampling: object
    sent: object
    shown: object
    stream: object

# module toolspeak.models.adapters
class Adapter:
    def __init__(self, *, path, sha256=None): ...
    name: object
    path: object
    sha256: object

# module toolspeak.run
class AsyncStream:
    def __init__(self, run): ...
    async def aclose(self): ...
    def cancel(self): ...
    outcome: object
    partial: object
    def partials(self): ...

class CallRecord:
    def __init__(self, *, call, result, exception=None): ...
    arguments: object
    call: object
    error: object
    exception: object
    name: object
    output: object
    result: object

class ChainOutcome:
    def __init__(self, *, output, text, steps, stop_reason="answered", detail=""): ...
    calls: object
    cost: object
    detail: object
    messages: object
    output: object
    steps: object
    stop_reason: object
    text: object
    usage: object

class Chat:
    def __init__(self, agent, messages=(), compacted=None): ...
    async def aresume(
        self,
        facts,
        *,
        output=None,
        approvals=...,
        deps=...,
        record=...,
        limits=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    async def arun(
        self,
        prompt=None,
        *,
        output=None,
        messages=...,
        tool_choice=...,
        limits=...,
        deps=...,
        record=...,
        compacted=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    def astream(
        self,
        prompt=None,
        *,
        output=None,
        messages=...,
        tool_choice=...,
        limits=...,
        deps=...,
        record=...,
        compacted=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    def astream_resume(
        self,
        facts,
        *,
        output=None,
        approvals=...,
        deps=...,
        record=...,
        limits=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    @staticmethod
    def load(agent, saved): ...
    def prepare(
        self,
        prompt,
        options,
        *,
        output=...,
        output_optional=...,
        watched=...,
        on_end=...,
        outer=...,
        earlier=...,
        durability=...,
    ): ...
    def prepare_resume(
        self,
        facts,
        options,
        *,
        output=...,
        output_optional=...,
        watched=...,
        on_end=...,
        outer=...,
        earlier=...,
        durability=...,
    ): ...
    def resume(
        self,
        facts,
        *,
        output=None,
        approvals=...,
        deps=...,
        record=...,
        limits=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    def run(
        self,
        prompt=None,
        *,
        output=None,
        messages=...,
        tool_choice=...,
        limits=...,
        deps=...,
        record=...,
        compacted=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    def save(self, path=None): ...
    def stream(
        self,
        prompt=None,
        *,
        output=None,
        messages=...,
        tool_choice=...,
        limits=...,
        deps=...,
        record=...,
        compacted=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...
    def stream_resume(
        self,
        facts,
        *,
        output=None,
        approvals=...,
        deps=...,
        record=...,
        limits=...,
        model=...,
        approve=...,
        data=...,
        output_optional=...,
    ): ...

class Partial:
    def __init__(self, *, value, attempt=1, is_complete=False): ...
    attempt: object
    is_complete: object
    value: object

class Stream:
    def __init__(self, run): ...
    def cancel(self): ...
    def close(self): ...
    outcome: object
    partial: object
    def partials(self): ...

Summarizer: object

# module toolspeak.run.inputs
class AgentOptions:
    approve: object
    choose_tools: object
    code: object
    deps: object
    dialect: object
    escalate: object
    limits: object
    on_tool_error: object
    parallel_tool_calls: object
    sampling: object
    settings: object
    summarize: object
    system: object
    tool_budget: object
    tool_choice: object
    tool_timeout: object
    tracer: object

# module toolspeak.run.runnable
class ResumeOptions:
    approvals: object
    approve: object
    data: object
    deps: object
    limits: object
    model: object
    record: object

class RunOptions:
    approve: object
    compacted: object
    data: object
    deps: object
    limits: object
    messages: object
    model: object
    record: object
    tool_choice: object

# module toolspeak.settings
class EndpointSettings:
    def __init__(
        self,
        *,
        name,
        base_url,
        api="openai",
        key_env=None,
        key_set=False,
        dialect=None,
        model=None,
        num_ctx=None,
        think=None,
    ): ...
    api: object
    base_url: object
    dialect: object
    def key(self, environ=None): ...
    key_env: object
    key_set: object
    model: object
    name: object
    num_ctx: object
    think: object

class LocalSettings:
    def __init__(self, *, threads=None, context=8192, slots=1, keep_minutes=5.0, adapter="built-in"): ...
    adapter: object
    context: object
    keep_minutes: object
    slots: object
    threads: object

class Settings:
    def __init__(
        self,
        *,
        model="local",
        dialect=None,
        tools=(),
        tool_budget=None,
        code=False,
        approve="ask",
        log=True,
        limits=...,
        local=...,
        endpoints=...,
        origins=...,
        ignored=(),
        listing=None,
    ): ...
    approve: object
    code: object
    dialect: object
    endpoints: object
    ignored: object
    limits: object
    listing: object
    local: object
    log: object
    model: object
    def origin(self, setting): ...
    origins: object
    def rows(self): ...
    tool_budget: object
    tools: object
    def values(self, names=None): ...

def load(path=None, *, environ=None): ...

# module toolspeak.settings.plugins
class Plugin:
    def __init__(self, group, point): ...
    def load(self): ...
    def refuse(self, reason): ...

PluginGroup: object

def find_plugin(group, name): ...
def list_plugin_names(group): ...

# module toolspeak.telemetry
class SpanEvent:
    def __init__(self, *, name, at, attributes=...): ...
    at: object
    attributes: object
    name: object

class SpanExporter:
    def __init__(self, sender, *, content=False): ...
    def export(self, spans): ...

class SpanFold:
    def __init__(self, *, content=False, agent=""): ...
    def add(self, fact, at): ...
    def close(self, at=0): ...
    def find_call(self, path): ...
    def forget_spans(self): ...
    def listen(self, on_start, on_end=None): ...

class SpanSender:
    def __init__(self, url, environment): ...
    def send(self, spans): ...

class TraceSpan:
    def __init__(
        self,
        *,
        id,
        trace_id,
        parent_id,
        name,
        kind,
        start,
        end=None,
        attributes=...,
        events=...,
        is_error=False,
        description="",
    ): ...
    attributes: object
    description: object
    end: object
    events: object
    def fail(self, error_type, description=""): ...
    id: object
    is_error: object
    kind: object
    name: object
    parent_id: object
    seconds: object
    start: object
    trace_id: object

Tracer: object

class Tracing:
    def __init__(self, tracer, *, content=False, agent=""): ...
    def begin_run(self, facts=()): ...
    def export(self, spans): ...
    def start_span(self, span, parent): ...

def build_spans(facts, *, content=False, agent=""): ...

# module toolspeak.testing
CassetteMode: object

class DialectContract(Contract):
    def make_dialect(self): ...
    messages: object
    def run(self): ...
    seed: object
    def test_a_choice_changes_only_the_last_message(self): ...
    def test_a_longer_history_begins_with_the_shorter_one(self): ...
    def test_any_text_can_be_read(self): ...
    def test_calls_are_read(self): ...
    def test_chunks_do_not_matter(self): ...
    def test_every_tool_is_shown(self): ...
    def test_ids_begin_with_the_prefix_and_differ(self): ...
    def test_the_conversation_is_shown(self): ...
    def test_the_name_stays_the_same(self): ...

class FactStore:
    def load(self): ...
    def record(self, fact): ...

class FakeClock:
    def __init__(self): ...
    def run(self, coroutine): ...

class ModelContract(Contract):
    def make_failing_model(self): ...
    def make_model(self): ...
    prompt: object
    def run(self): ...
    def test_a_failure_is_a_model_error(self): ...
    def test_an_agent_can_use_it(self): ...
    def test_an_answer_ends_with_its_answer(self): ...
    def test_closing_early_leaves_nothing_running(self): ...
    def test_it_is_a_model(self): ...
    def test_it_works_in_one_event_loop_after_another(self): ...
    def test_the_pieces_are_the_answer(self): ...
    def test_two_answers_at_once(self): ...

class Replay:
    def __init__(self, facts): ...

class ReplayedModel:
    def __init__(self, facts, started): ...
    def ask(self, request): ...
    dialect: object
    name: object

class ScriptedModel:
    def __init__(
        self,
        script,
        *,
        dialect="native",
        chunk=None,
        pace=0.0,
        name="scripted",
        price=None,
        seed=None,
        on_tool_error="raise",
    ): ...
    def ask(self, request): ...
    def cost(self, usage): ...
    dialect: object
    def make_run_id(self): ...
    name: object

class ScriptedReply:
    def __init__(
        self,
        *,
        text="",
        calls=(),
        thinking="",
        finish=None,
        after=0.0,
        pauses=(),
        lingers=0.0,
        error=None,
        error_after=0,
        usage=None,
    ): ...
    after: object
    calls: object
    error: object
    error_after: object
    finish: object
    lingers: object
    pauses: object
    text: object
    thinking: object
    usage: object

class StoreContract(Contract):
    def make_store(self): ...
    def reopen(self, store): ...
    def run(self): ...
    def test_a_fact_is_safe_when_record_returns(self): ...
    def test_a_new_store_is_empty(self): ...
    def test_a_run_is_resumed(self): ...
    def test_facts_come_back_as_they_were(self): ...
    def test_two_stores_do_not_mix(self): ...

def breaks(error, *, text="", after=None): ...
def calls(*named, text="", finish=None, pauses=(), lingers=0.0, usage=None): ...
def cassette(model, path, *, mode=None, realtime=False): ...
def gives(value): ...
def replay(facts): ...
def says(text, *, thinking="", finish=None, usage=None): ...

# module toolspeak.testing.contracts
class Contract:
    def run(self): ...

# module toolspeak.values.codec
class IncompleteLineWarning(Warning, Exception): ...

def decode(data): ...
def decode_argument(value): ...
def decode_delta(data): ...
def drop_incomplete_line(text): ...
def dump_facts(facts): ...
def dump_items(items): ...
def dump_messages(messages): ...
def encode(item): ...
def encode_argument(value): ...
def encode_event(item): ...
def load_facts(text): ...
def load_items(text): ...
def load_messages(text): ...
def read_seconds(value): ...

# module toolspeak.values.errors
class ContextExceeded(ProviderError, ModelError, ToolspeakError, Exception):
    def __init__(self, message="", *, status=None, retry_after=None): ...
    outcome: object
    def with_message(self, message): ...

class EndpointTimeout(EndpointDown, ProviderError, ModelError, ToolspeakError, Exception):
    def __init__(self, message="", *, status=None, retry_after=None): ...
    outcome: object
    def with_message(self, message): ...

class LimitReached(ToolspeakError, Exception):
    outcome: object

class ServerFailed(ToolError, ToolspeakError, Exception):
    outcome: object

class SpansNotSent(ToolspeakError, Exception):
    outcome: object

class StoreUnavailable(ToolspeakError, Exception):
    outcome: object

class ToolsChanged(UsageError, ToolspeakError, Exception):
    def __init__(self, message, *, server=None): ...
    outcome: object

# module toolspeak.values.events
AUTO: object

class ApprovalGiven:
    def __init__(self, *, call_id, approved, reason="", by=""): ...
    approved: object
    by: object
    call_id: object
    kind: object
    reason: object

class ApprovalNeeded:
    def __init__(self, *, call, digest=""): ...
    call: object
    digest: object
    kind: object

class ArgsDelta:
    def __init__(self, *, call_id, text): ...
    call_id: object
    kind: object
    text: object

class CallMalformed:
    def __init__(self, *, call_id, name, raw, reason, hint=""): ...
    call_id: object
    hint: object
    kind: object
    name: object
    raw: object
    reason: object
    reply: object

class CallQuoted:
    def __init__(self, *, call_id, result_id="", tool="", origin=None): ...
    call_id: object
    kind: object
    origin: object
    result_id: object
    tool: object

class CallReady:
    def __init__(self, *, call, repair="none", written=""): ...
    call: object
    kind: object
    repair: object
    written: object

class CallStarted:
    def __init__(self, *, call_id, name): ...
    call_id: object
    kind: object
    name: object

class Compacted:
    def __init__(
        self, *, through, summary="", dropped=0, rounds=0, prompt=None, shortened=0, failure="", usage=..., cost=0.0
    ): ...
    cost: object
    dropped: object
    failure: object
    kind: object
    prompt: object
    rounds: object
    shortened: object
    summary: object
    through: object
    usage: object

class Escalation:
    def __init__(self, *, causes, models): ...
    causes: object
    models: object

class Guided:
    def __init__(self, *, cause, step, tools=(), note=None, model=""): ...
    cause: object
    kind: object
    model: object
    note: object
    step: object
    summary: object
    tools: object

class HandedOver:
    def __init__(
        self,
        *,
        call_id,
        agent,
        model,
        dialect,
        system=None,
        choice=...,
        parallel=True,
        in_text=False,
        has_approver=False,
        tools=(),
        tool_budget=None,
        search_tools=(),
        escalation=None,
    ): ...
    agent: object
    call_id: object
    choice: object
    dialect: object
    escalation: object
    has_approver: object
    in_text: object
    kind: object
    model: object
    parallel: object
    search_tools: object
    system: object
    tool_budget: object
    tools: object

class Interrupted:
    def __init__(self, *, cause, detail=""): ...
    cause: object
    detail: object
    kind: object

class NestedDelta:
    def __init__(self, *, path, event): ...
    event: object
    kind: object
    path: object

class NestedFact:
    def __init__(self, *, path, event): ...
    event: object
    kind: object
    path: object

class RunEnded:
    def __init__(self, *, reason, detail=""): ...
    detail: object
    kind: object
    reason: object

class RunResumed:
    def __init__(self, *, limits=None): ...
    kind: object
    limits: object

class RunStarted:
    def __init__(
        self,
        *,
        run_id,
        model,
        dialect,
        messages,
        choice=...,
        parallel=True,
        limits=...,
        output=None,
        in_text=False,
        has_approver=False,
        tools=(),
        compacted=None,
        tool_budget=None,
        search_tools=(),
        guided=False,
        escalation=None,
    ): ...
    choice: object
    compacted: object
    dialect: object
    escalation: object
    guided: object
    has_approver: object
    in_text: object
    kind: object
    limits: object
    messages: object
    model: object
    output: object
    parallel: object
    run_id: object
    search_tools: object
    tool_budget: object
    tools: object

class SaidInThought:
    def __init__(self): ...
    kind: object

class TextDelta:
    def __init__(self, *, text): ...
    kind: object
    text: object

class ThinkingDelta:
    def __init__(self, *, text): ...
    kind: object
    text: object

class ToolChoice:
    def __init__(self, *, mode="auto", names=()): ...
    mode: object
    names: object

class ToolFinished:
    def __init__(self, *, result): ...
    kind: object
    result: object

class ToolProgress:
    def __init__(self, *, call_id, done, total=None, text=""): ...
    call_id: object
    done: object
    kind: object
    summary: object
    text: object
    total: object

class ToolStarted:
    def __init__(self, *, call_id): ...
    call_id: object
    kind: object

class ToolSuspended:
    def __init__(self, *, call_id, number, signal="", seconds=None): ...
    call_id: object
    kind: object
    number: object
    seconds: object
    signal: object
    summary: object

class TurnEnded:
    def __init__(self, *, message, finish, usage=..., cost=None, stop_text="", thought_calls=()): ...
    cost: object
    finish: object
    kind: object
    message: object
    stop_text: object
    thought_calls: object
    usage: object

class TurnRestarted:
    def __init__(self, *, turn, failed, reason, model): ...
    failed: object
    kind: object
    model: object
    reason: object
    turn: object

class TurnStarted:
    def __init__(self, *, turn, model="", dialect="", in_text=None, context=None): ...
    context: object
    dialect: object
    in_text: object
    kind: object
    model: object
    turn: object

class WaitOver:
    def __init__(self, *, call_id, number, signal="", came=False, value=None): ...
    call_id: object
    came: object
    kind: object
    number: object
    signal: object
    summary: object
    value: object

def join_ids(path, call_id): ...

# module toolspeak.values.limits
class Limits:
    def __init__(
        self,
        *,
        turns=10,
        calls=None,
        tokens=None,
        seconds=None,
        repeats=3,
        concurrent=8,
        cost=None,
        depth=3,
        context=None,
        result_tokens=None,
    ): ...
    calls: object
    concurrent: object
    context: object
    cost: object
    depth: object
    repeats: object
    result_tokens: object
    seconds: object
    tokens: object
    turns: object

class Usage:
    def __init__(
        self,
        *,
        input_tokens=0,
        output_tokens=0,
        cached_tokens=0,
        estimated=False,
        cache_write_tokens=0,
        reasoning_tokens=0,
    ): ...
    cache_write_tokens: object
    cached_tokens: object
    estimated: object
    input_tokens: object
    output_tokens: object
    reasoning_tokens: object

def estimate_tokens(chars): ...

# module toolspeak.values.outcome
class ModelUse:
    def __init__(self, *, messages=0, usage=..., cost=0.0): ...
    cost: object
    messages: object
    usage: object
