"""What is known of servers and of model families, as data.

A server's profile says which parts of its API it supports. A family's profile says in which dialect its models call
tools best, for servers whose own tool calls are not reliable. What is not known here can be measured: a calibration
overrides a profile.

Only a guess is asked about. A dialect that somebody named, that was measured, or that suits a known family is never
replaced by what a server says: a server that accepts tool calls does not say how well the model makes them. The reason
of a choice is made with the choice (`DialectChoice`), so that what is explained cannot differ from what is done.
"""

import re

from toolspeak.models.endpoint import AbilityApiName
from toolspeak.models.model import DialectChoice
from toolspeak.values.frozen import frozen
from toolspeak.wire.api import ApiName
from toolspeak.wire.chat_request import Quirks
from toolspeak.wire.schemas import SchemaRules


@frozen
class ServerProfile:
    """What is known of a kind of server. The fields without a comment are those of `Endpoint`."""

    base_url: str  # its usual address
    url_variable: str | None = None  # the environment variable with another address
    url_has_no_version: bool = False  # whether that address lacks the path of the usual one, such as `/v1`
    key_variable: str | None = None
    other_key_variable: str | None = None  # is read where the first is not set
    api: ApiName = "openai"
    reliable_tool_calls: bool = True  # whether the API's own tool calls are reliable for every model that it serves
    # Servers of open weights find calls in the text of the model themselves, and miss some; vendors who serve only
    # models of their own do not.
    leaks_calls: bool = True
    quirks: Quirks = Quirks()
    rules: SchemaRules = SchemaRules()
    # Whether it tokenises the text of messages together with its chat template, so that a control token counts as one.
    reads_control_tokens: bool = False
    ability_apis: tuple[AbilityApiName, ...] = ()
    cuts_silently: bool = False


@frozen
class ModelFamily:
    """Models that call tools best in the same dialect."""

    pattern: str  # a regular expression that is searched in the lower-case name of a model
    dialect: str


OPENAI_COMPATIBLE = Quirks(allowed_tools=False)
"""A hosted server with OpenAI's API, without its latest additions."""

SERVERS: dict[str, ServerProfile] = {
    "openai": ServerProfile(
        base_url="https://api.openai.com/v1",
        url_variable="OPENAI_BASE_URL",
        key_variable="OPENAI_API_KEY",
        leaks_calls=False,
        quirks=Quirks(max_completion_tokens=True, developer_role=True),
    ),
    "openai-responses": ServerProfile(
        base_url="https://api.openai.com/v1",
        url_variable="OPENAI_BASE_URL",
        key_variable="OPENAI_API_KEY",
        api="openai-responses",
        leaks_calls=False,
        quirks=Quirks(developer_role=True),
    ),
    "anthropic": ServerProfile(
        base_url="https://api.anthropic.com/v1",
        url_variable="ANTHROPIC_BASE_URL",
        url_has_no_version=True,
        key_variable="ANTHROPIC_API_KEY",
        api="anthropic",
        leaks_calls=False,
    ),
    "openrouter": ServerProfile(
        base_url="https://openrouter.ai/api/v1", key_variable="OPENROUTER_API_KEY", quirks=OPENAI_COMPATIBLE
    ),
    "groq": ServerProfile(
        base_url="https://api.groq.com/openai/v1", key_variable="GROQ_API_KEY", quirks=OPENAI_COMPATIBLE
    ),
    "mistral": ServerProfile(
        base_url="https://api.mistral.ai/v1",
        key_variable="MISTRAL_API_KEY",
        quirks=Quirks(allowed_tools=False, stream_options=False, seed=False, echo_reasoning=False),
    ),
    "deepseek": ServerProfile(
        base_url="https://api.deepseek.com/v1",
        key_variable="DEEPSEEK_API_KEY",
        quirks=Quirks(allowed_tools=False, response_format=False),  # it refuses a JSON schema
    ),
    "gemini": ServerProfile(
        base_url="https://generativelanguage.googleapis.com/v1beta",
        url_variable="GOOGLE_GEMINI_BASE_URL",
        url_has_no_version=True,
        key_variable="GEMINI_API_KEY",
        other_key_variable="GOOGLE_API_KEY",
        api="gemini",
        leaks_calls=False,
    ),
    "gemini-openai": ServerProfile(
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_variable="GEMINI_API_KEY",
        other_key_variable="GOOGLE_API_KEY",
        leaks_calls=False,
        quirks=Quirks(allowed_tools=False, parallel_tool_calls=False, seed=False),
        rules=SchemaRules(inline_refs=True, no_any_of=True),
    ),
    "xai": ServerProfile(
        base_url="https://api.x.ai/v1", key_variable="XAI_API_KEY", leaks_calls=False, quirks=OPENAI_COMPATIBLE
    ),
    "together": ServerProfile(
        base_url="https://api.together.xyz/v1", key_variable="TOGETHER_API_KEY", quirks=OPENAI_COMPATIBLE
    ),
    "lmstudio": ServerProfile(
        base_url="http://127.0.0.1:1234/v1",
        url_variable="LMSTUDIO_BASE_URL",
        ability_apis=("lmstudio",),
        key_variable="LM_API_TOKEN",
        reliable_tool_calls=False,
        reads_control_tokens=True,
        quirks=Quirks(named_choice=False, allowed_tools=False, parallel_tool_calls=False),
    ),
    "ollama": ServerProfile(
        base_url="http://127.0.0.1:11434/v1",
        url_variable="OLLAMA_HOST",
        api="ollama",
        ability_apis=("ollama",),
        cuts_silently=True,
        url_has_no_version=True,
        reliable_tool_calls=False,
        reads_control_tokens=True,
        quirks=Quirks(tool_choice=False, allowed_tools=False, parallel_tool_calls=False),
    ),
    "llamacpp": ServerProfile(
        base_url="http://127.0.0.1:8080/v1",
        url_variable="LLAMACPP_BASE_URL",
        ability_apis=("llamacpp",),
        cuts_silently=True,
        key_variable="LLAMA_API_KEY",
        reliable_tool_calls=False,
        reads_control_tokens=True,
        quirks=Quirks(named_choice=False, allowed_tools=False, parallel_always_sent=True, grammar=True),
    ),
    "vllm": ServerProfile(
        base_url="http://127.0.0.1:8000/v1",
        url_variable="VLLM_BASE_URL",
        ability_apis=("models",),
        key_variable="VLLM_API_KEY",
        reliable_tool_calls=False,
        reads_control_tokens=True,
        quirks=Quirks(allowed_tools=False),
    ),
}

UNKNOWN_SERVER = ServerProfile(
    base_url="",
    reliable_tool_calls=False,
    reads_control_tokens=True,
    quirks=Quirks(allowed_tools=False),
    ability_apis=("llamacpp", "ollama", "lmstudio", "models"),
)
"""A server of which only the address is known. It may be any local server, so the careful assumptions hold."""

DIALECTS_BY_NAME: tuple[ModelFamily, ...] = (
    ModelFamily(pattern=r"gpt-oss|gpt-[45]|\bo[134]\b|claude|gemini", dialect="native"),
    ModelFamily(
        pattern=r"qwen-?3|glm-?4\.[5-9]|glm-?5|kimi-k2|minimax-m|deepseek-(v3|chat|reasoner)|devstral", dialect="native"
    ),
    ModelFamily(
        pattern=r"mistral-(small|medium|large)|command-(r|a)|granite-?[34]|hermes|firefunction", dialect="native"
    ),
    ModelFamily(pattern=r"qwen-?2\.5-coder|coder|codestral|starcoder|codegemma", dialect="python"),
    ModelFamily(pattern=r"gemma|phi-?[34]|smollm|olmo|llama|qwen-?2|mistral|yi-|falcon", dialect="python"),
)
"""The families by the names of their models; the first that matches decides."""

TEXT_ONLY_NAMES = re.compile(
    r"gpt-3\.5|gpt-oss|\bo[13]-mini|deepseek-(chat|reasoner|v3|r1|coder)|llama-?3\.[13]\b"
    r"|qwen-?(2\.5|3)-coder|codestral|codellama|codegemma|starcoder"
)
"""What the names of models contain that take no images, sounds or documents. Of other names nothing is known."""


def is_text_only(model: str) -> bool:
    """Whether a model is known to take text only, by its name."""
    return TEXT_ONLY_NAMES.search(model.lower()) is not None


def choose_dialect(server: ServerProfile, model: str) -> DialectChoice:
    """Return the dialect in which a model on this server calls tools best, as far as is known without asking."""
    if server.reliable_tool_calls:
        known = next((name for name, each in SERVERS.items() if each is server), "the server")
        return DialectChoice(name="native", reason=f"the profile of {known}")
    name = model.lower()
    for family in DIALECTS_BY_NAME:
        if found := re.search(family.pattern, name):
            return DialectChoice(name=family.dialect, reason=f"the family of the model, by {found[0]!r} in its name")
    where = " on an unknown server" if server is UNKNOWN_SERVER else ""
    return DialectChoice(name="python", reason=f"the default for an unknown model{where}", is_guess=True)
