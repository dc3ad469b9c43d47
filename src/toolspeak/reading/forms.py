"""The tokens by which model families mark calls, results and reasoning, as data; and finding a token in a text.

A family is a few lines; everything else follows from them. Case does not matter. Three rules:

1. A token begins with a symbol that prose rarely has: no letter, digit, blank or quote, and none of `` {}]):`>/-*# ``,
   which mean something else. A result may begin with `#`: such a token counts only at the beginning of a line. A mark
   may begin with `]`, and so do the tokens that begin with the mark.
2. An opener that ends with a blank or `=` is the beginning of a tag, whose name and attributes follow. Any other opener
   is whole, and calls follow it.
3. Right after code, or after an object whose brackets the model forgot to close, only a token that begins with `<` is
   recognised. After code, any other closer needs a line of its own.

What stands between an opener and a closer is read by one grammar for all families (`calls.py`), since models borrow
each other's forms: an object, a list, `name{…}`, `name(…)`, or nested tags. Tokens that begin a result are listed so
that a result which the model made up is recognised.
"""

from typing import Literal, TypeAlias

from toolspeak.reading.source import Reading, Source
from toolspeak.values.frozen import frozen


@frozen
class TokenFamily:
    """The tokens of a model family.

    Attributes:
        name: The models that use the tokens.
        openers: Tokens that announce calls.
        unclosed: Those of the openers after which a call need not be closed: the message ends with it.
        closers: Tokens that end calls, or the message.
        separators: Tokens between the name of a call and its arguments.
        results: Tokens that begin the result of a call, made up if the model writes it.
        thinking: Pairs of tokens that open and close reasoning.
        answers: A token that opens text for the user, then the tokens that end the text. Nothing in it is a call.
        headers: Tokens that begin the header of a message: its sender, its recipient or its channel.
        mark: The token before every tag of the family.
    """

    name: str
    openers: tuple[str, ...] = ()
    unclosed: tuple[str, ...] = ()
    closers: tuple[str, ...] = ()
    separators: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    thinking: tuple[tuple[str, str], ...] = ()
    answers: tuple[tuple[str, ...], ...] = ()
    headers: tuple[str, ...] = ()
    mark: str = ""


MINIMAX_MARK = "]<]minimax[>["
"""The namespace before every tag of MiniMax M3, which no text of a parameter holds."""

CLAUDE = "ant" + "ml:"
"""The prefix of Claude's own tags, written in two halves so that no tool takes this file for a message."""

SPACE_MARK, LINE_MARK = "\u0120", "\u010a"
"""What the tokenizers of GPT-2's kind have for a blank and a line end. Models leak the marks into tags."""

# fmt: off
FAMILIES = (
    TokenFamily(
        name="hermes, qwen",
        openers=(
            "<tool_call>", "<tool_calls>", "<functioncall>", "<function_call>", "<tool>", "<tool ", "<tool_call ",
            "<function_call ",
        ),
        closers=("</tool_call>", "</tool_calls>", "</functioncall>", "</function_call>", "</tool>"),
        results=("<tool_response>", "<tool_responses>", "<tool_result>", "<tool_results>", "<tool_output>"),
        thinking=(("<think>", "</think>"), ("<scratch_pad>", "</scratch_pad>"), ("<scratchpad>", "</scratchpad>")),
    ),
    TokenFamily(
        name="qwen coder, minicpm",
        openers=("<function=", "<function ", "<functionname=", f"<function{SPACE_MARK}name="),
        closers=("</function>",),
    ),
    TokenFamily(
        name="qwen agent",
        openers=("✿FUNCTION✿:", "✿FUNCTION✿："),
        separators=("✿ARGS✿:", "✿ARGS✿："),
        results=("✿RESULT✿",),
    ),
    TokenFamily(
        name="lm studio",
        openers=("[TOOL_REQUEST]", "[tool_call]"),
        closers=("[END_TOOL_REQUEST]", "[/tool_call]"),
        results=("[TOOL_RESULT]",),
    ),
    TokenFamily(
        name="llama",
        openers=("<|python_tag|>", "<|python_start|>"),
        closers=("<|eom_id|>", "<|eot_id|>", "<|eom|>", "<|eot|>", "<|python_end|>"),
        results=("<|start_header_id|>ipython", "<|start_header_id|>tool"),
    ),
    TokenFamily(
        name="mistral",
        openers=("[TOOL_CALLS]",),
        unclosed=("[TOOL_CALLS]",),
        closers=("[/TOOL_CALLS]", "</s>"),
        separators=("[ARGS]", "[CALL_ID]"),
        results=("[TOOL_RESULTS]",),
        thinking=(("[THINK]", "[/THINK]"),),
    ),
    TokenFamily(
        name="deepseek",
        openers=("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<|tool▁calls▁begin|>", "<|tool▁call▁begin|>"),
        closers=(
            "<|tool▁call▁end|>", "<|tool▁calls▁end|>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>",
            "<｜end▁of▁sentence｜>",
        ),
        separators=("<｜tool▁sep｜>", "<|tool▁sep|>"),
        results=("<｜tool▁outputs▁begin｜>", "<｜tool▁output▁begin｜>"),
    ),
    TokenFamily(
        name="deepseek dsml",
        openers=tuple(
            f"<{bar}DSML{bar}{tag}" for bar in "｜|" for tag in ("function_calls>", "tool_calls>", "invoke ")
        ),
        closers=tuple(f"</{bar}DSML{bar}{tag}>" for bar in "｜|" for tag in ("function_calls", "tool_calls", "invoke")),
    ),
    TokenFamily(
        name="kimi",
        openers=("<|tool_calls_section_begin|>", "<|tool_call_begin|>"),
        closers=("<|tool_call_end|>", "<|tool_calls_section_end|>"),
        separators=("<|tool_call_argument_begin|>",),
        results=("## Return of ", "<|im_system|>"),
        thinking=(("◁think▷", "◁/think▷"),),
    ),
    TokenFamily(
        name="kimi k3",
        openers=("<|open|>tools<|sep|>", "<|open|>call "),
        closers=(
            "<|close|>tools<|sep|>", "<|close|>call<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>",
            "<|end_of_msg|>",
        ),
        separators=('<|open|>message role="assistant"<|sep|>',),
        results=('<|open|>message role="tool" ',),
        thinking=(("<|open|>think<|sep|>", "<|close|>think<|sep|>"),),
        answers=(
            ("<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|open|>tools<|sep|>", "<|close|>message<|sep|>"),
        ),
    ),
    TokenFamily(name="glm", closers=("<|assistant|>", "<|user|>"), results=("<|observation|>",)),
    TokenFamily(
        name="harmony, muse glimmer",
        closers=("<|call|>", "<|return|>", "<|end|>"),
        separators=("<|constrain|>json", "<|constrain|>", "<|message|>"),
        headers=("<|channel|>", "<|start|>"),
    ),
    TokenFamily(
        name="inkling",
        openers=("<|content_invoke_tool_json|>",),
        closers=("<|end_message|>", "<|content_model_end_sampling|>"),
        results=("<|message_tool|>",),
        thinking=(("<|content_thinking|>", "<|end_message|>"),),
        answers=tuple(
            (f"<|content_{kind}|>", "<|end_message|>", "<|content_model_end_sampling|>")
            for kind in ("text", "invoke_tool_text", "tool_error")
        ),
        headers=("<|message_model|>",),
    ),
    TokenFamily(
        name="gemma",
        openers=("<|tool_call>", "<start_function_call>"),
        closers=("<tool_call|>", "<end_function_call>", "<end_of_turn>", "<turn|>"),
        results=("<|tool_response>", "<start_function_response>"),
        thinking=(("<|channel>thought", "<channel|>"),),
    ),
    TokenFamily(
        name="granite, phi",
        openers=("<|tool_call|>", "<|tool_calls|>", "<|function_call|>"),
        closers=("<|/tool_call|>", "<|end_of_text|>", "<|end|>"),
        results=("<|tool_response|>", "<|start_of_role|>tool_response"),
    ),
    TokenFamily(
        name="cohere",
        openers=("<|START_ACTION|>",),
        closers=("<|END_ACTION|>", "<|END_OF_TURN_TOKEN|>"),
        results=("<|START_TOOL_RESULT|>",),
        thinking=(("<|START_THINKING|>", "<|END_THINKING|>"),),
    ),
    TokenFamily(
        name="minimax, claude, seed",
        openers=(
            "<minimax:tool_call>", "<seed:tool_call>", "<function_calls>", "<invoke ", f"<{CLAUDE}function_calls>",
            f"<{CLAUDE}invoke ", "<atem:function_calls>", "<atem:invoke ",
        ),
        closers=(
            "</minimax:tool_call>", "</seed:tool_call>", "</function_calls>", "</invoke>",
            f"</{CLAUDE}function_calls>", f"</{CLAUDE}invoke>", "</atem:function_calls>", "</atem:invoke>",
        ),
        results=("<function_results>", "<function_response>"),
        thinking=(
            ("<seed:think>", "</seed:think>"), ("<mm:think>", "</mm:think>"),
            (f"<{CLAUDE}thinking>", f"</{CLAUDE}thinking>"),
        ),
    ),
    TokenFamily(
        name="minimax m3",
        openers=(f"{MINIMAX_MARK}<tool_call>", f"{MINIMAX_MARK}<invoke "),
        closers=(f"{MINIMAX_MARK}</tool_call>", f"{MINIMAX_MARK}</invoke>"),
        mark=MINIMAX_MARK,
    ),
    TokenFamily(
        name="internlm",
        openers=("<|action_start|><|plugin|>", "<|action_start|><|interpreter|>", "<|action_start|>", "<|plugin|>"),
        closers=("<|action_end|>",),
        results=("<|im_start|>environment",),
    ),
    TokenFamily(
        name="lfm",
        openers=("<|tool_call_start|>",),
        closers=("<|tool_call_end|>",),
        results=("<|tool_response_start|>",),
    ),
    TokenFamily(name="nemotron", openers=("<TOOLCALL>",), closers=("</TOOLCALL>",), results=("<TOOL_RESPONSE>",)),
    TokenFamily(
        name="apertus",
        openers=("<|tools_prefix|>",),
        closers=("<|tools_suffix|>",),
        results=("<|tool_outputs|>", "<|tools_suffix|>["),
        thinking=(("<|inner_prefix|>", "<|inner_suffix|>"),),
    ),
    TokenFamily(name="functionary", openers=("<|recipient|>",), closers=("<|stop|>",), separators=("<|content|>",)),
    TokenFamily(
        name="longcat, hunyuan, step",
        openers=("<longcat_tool_call>", "<｜tool_call_begin｜>", "<steptml:invoke ", "<｜tool_calls_begin｜>"),
        closers=("</longcat_tool_call>", "<｜tool_call_end｜>", "</steptml:invoke>", "<｜tool_calls_end｜>"),
        separators=("<tool_sep>", "<｜tool_sep｜>"),
        thinking=(("<longcat_think>", "</longcat_think>"), ("<think:opensource>", "</think:opensource>")),
    ),
    TokenFamily(name="dots", openers=("<dots_function_call>",), closers=("</dots_function_call>",)),
    TokenFamily(
        name="exaone, solar",
        openers=("<|tool_call:begin|>",),
        closers=("<|tool_call:end|>", "[|endofturn|]"),
        separators=("<|tool_call:name|>", "<|tool_call:args|>"),
        results=("<|tool_response:begin|>",),
    ),
    TokenFamily(name="codeact", openers=("<execute>",), closers=("</execute>",), results=("<execution>",)),
    TokenFamily(
        name="chatml",
        closers=("<|im_end|>", "<|endoftext|>", "<end_code>", "<END_OF_PLAN>"),
        results=("<|im_start|>tool", "<|im_start|>user"),
    ),
    TokenFamily(
        name="prose",
        thinking=(
            ("<thinking>", "</thinking>"), ("<thought>", "</thought>"), ("<reasoning>", "</reasoning>"),
            ("<reflection>", "</reflection>"), ("<|begin_of_thought|>", "<|end_of_thought|>"),
            ("<|thought_start|>", "<|thought_end|>"), ("<|think|>", "<|end|>"), ("<ifm|think>", "</ifm|think>"),
        ),
    ),
)
# fmt: on

# Labels of fenced blocks. A block with any other label is plain text.

CODE_LABELS = frozenset("python python3 py py3 ipython tool_code js javascript mjs ts typescript tsx jsx code".split())
"""Labels of blocks of code, which may hold calls."""

DATA_LABELS = frozenset(
    "json json5 jsonc jsonl ndjson tool_call tool_calls tool_use tool tools function function_call xml action".split()
)
"""Labels of blocks of data, which may be calls."""

RESULT_LABELS = frozenset("output tool_output result tool_result stdout observation tool_response".split())
"""Labels of blocks that hold results, which are made up if the model writes them."""

RESULTS_LABEL = "Results of your calls"
"""The label under which the text dialects show results."""


TokenRole: TypeAlias = Literal["open", "close", "separate", "result", "think", "thought", "answer", "header", "inert"]
"""What a token does.

`open` announces calls and `close` ends them; `separate` stands between the name of a call and its arguments; `result`
begins a result; `think` begins reasoning and `thought` ends it; `answer` begins text for the user, in which nothing is
a call; `header` begins the header of a message; `inert` begins a list of tools, in which nothing is a call.
"""


def _roles() -> dict[str, TokenRole]:
    """Return the role of every token of every family, by the token in lower case."""
    roles: dict[str, TokenRole] = {"<tools>": "inert"}  # of no family: it begins a list of tools in many prompts
    for family in FAMILIES:
        roles |= dict.fromkeys(map(str.lower, family.openers), "open")
        roles |= dict.fromkeys(map(str.lower, family.closers), "close")
        roles |= dict.fromkeys(map(str.lower, family.separators), "separate")
        roles |= dict.fromkeys(map(str.lower, family.results), "result")
        roles |= dict.fromkeys(map(str.lower, family.headers), "header")
        roles |= {opener.lower(): "think" for opener, _ in family.thinking}
        roles |= {opener.lower(): "answer" for opener, *_ in family.answers}
    for family in FAMILIES:
        for _, closer in family.thinking:
            roles.setdefault(closer.lower(), "thought")  # a token that also closes other things keeps that role
    return roles


ROLES = _roles()
UNCLOSED_OPENERS = frozenset(opener.lower() for family in FAMILIES for opener in family.unclosed)
"""Openers after which a call need not be closed."""

THINKING_CLOSERS = {opener.lower(): closer for family in FAMILIES for opener, closer in family.thinking}
"""The token that closes reasoning, by the token that opened it."""

THINKING_ENDS = frozenset(map(str.lower, THINKING_CLOSERS.values()))
"""All tokens that close reasoning, in lower case."""

ANSWER_ENDS = {
    opener.lower(): frozenset(map(str.lower, ends)) for family in FAMILIES for opener, *ends in family.answers
}
"""The tokens that end text for the user, by the token that opened it."""

TOKENS = sorted(ROLES, key=len, reverse=True)
MAX_TOKEN_CHARS = len(TOKENS[0])
FIRST_CHARS = frozenset(token[0] for token in TOKENS)
"""The characters with which tokens begin."""

INLINE_FIRST_CHARS = FIRST_CHARS - {"#"}
"""The characters with which tokens begin in the middle of a line, where a `#` begins no heading."""

TOKENS_BY_START = {
    start: [token for token in TOKENS if token[:2] == start] for start in {token[:2] for token in TOKENS}
}
"""Tokens by their first two characters, the longest first."""


def is_tag_start(opener: str) -> bool:
    """Whether an opener is only the beginning of a tag (`<invoke `, `<function=`), which is then read as a whole."""
    return opener[-1] in " ="


def next_token(source: Source) -> Reading[tuple[TokenRole, str] | None]:
    """Return the role and the text of the token that comes next, if one does. The token is not read."""
    while True:
        if source.pos >= len(source.text):
            if source.ended:
                return None
            yield
            continue
        rest = source.text[source.pos : source.pos + MAX_TOKEN_CHARS].lower()
        if rest[0] not in FIRST_CHARS or (len(rest) == 1 and source.ended):
            return None
        if len(rest) == 1:
            yield
            continue
        candidates = TOKENS_BY_START.get(rest[:2])
        if candidates is None:
            return None
        found = next((token for token in candidates if rest.startswith(token)), None)
        if source.ended or not any(
            len(token) > len(rest) and token.startswith(rest) for token in candidates if token != found
        ):
            return (ROLES[found], source.text[source.pos : source.pos + len(found)]) if found else None
        yield
