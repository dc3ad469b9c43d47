"""What is known of servers and of model families, as data.

A server says which parts of its API it honours; a family says in which dialect a model calls best where its server's
own tool support cannot be relied upon. What is not known here can be measured: a calibration wins over a profile.
"""

import re

from toolspeak._frozen import frozen
from toolspeak.models.endpoint import Api
from toolspeak.wire.quirks import Quirks
from toolspeak.wire.schemas import SchemaRules


@frozen
class ServerProfile:
    """A sort of server.

    Attributes:
        base_url: Where it is, if nothing else is said.
        url_variable: The environment variable that says otherwise.
        url_has_no_version: Whether that variable is written without the `/v1` at the end.
        key_variable: The environment variable with its key.
        api: The API that it speaks.
        native: Whether its own tool calls can be relied upon for any model that it serves.
        quirks: What it honours of the API.
        rules: What it wants of schemas.
    """

    base_url: str
    url_variable: str | None = None
    url_has_no_version: bool = False
    key_variable: str | None = None
    api: Api = "openai"
    native: bool = True
    quirks: Quirks = Quirks()
    rules: SchemaRules = SchemaRules()


@frozen
class ModelFamily:
    """Models that are alike. `names` is looked for in the name of a model, in small letters."""

    names: str
    dialect: str


COMPATIBLE = Quirks(allowed_tools=False)
"""A hosted API that speaks OpenAI's, but not its latest."""

SERVERS: dict[str, ServerProfile] = {
    "openai": ServerProfile(
        base_url="https://api.openai.com/v1",
        url_variable="OPENAI_BASE_URL",
        key_variable="OPENAI_API_KEY",
        quirks=Quirks(max_completion_tokens=True, developer_role=True),
    ),
    "anthropic": ServerProfile(
        base_url="https://api.anthropic.com/v1",
        url_variable="ANTHROPIC_BASE_URL",
        url_has_no_version=True,
        key_variable="ANTHROPIC_API_KEY",
        api="anthropic",
    ),
    "openrouter": ServerProfile(
        base_url="https://openrouter.ai/api/v1", key_variable="OPENROUTER_API_KEY", quirks=COMPATIBLE
    ),
    "groq": ServerProfile(base_url="https://api.groq.com/openai/v1", key_variable="GROQ_API_KEY", quirks=COMPATIBLE),
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
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_variable="GEMINI_API_KEY",
        quirks=Quirks(allowed_tools=False, parallel_tool_calls=False, seed=False),
        rules=SchemaRules(inline_refs=True, no_any_of=True),
    ),
    "xai": ServerProfile(base_url="https://api.x.ai/v1", key_variable="XAI_API_KEY", quirks=COMPATIBLE),
    "together": ServerProfile(
        base_url="https://api.together.xyz/v1", key_variable="TOGETHER_API_KEY", quirks=COMPATIBLE
    ),
    "lmstudio": ServerProfile(
        base_url="http://127.0.0.1:1234/v1",
        url_variable="LMSTUDIO_BASE_URL",
        key_variable="LM_API_TOKEN",
        native=False,
        quirks=Quirks(named_choice=False, allowed_tools=False, parallel_tool_calls=False),
    ),
    "ollama": ServerProfile(
        base_url="http://127.0.0.1:11434/v1",
        url_variable="OLLAMA_HOST",
        url_has_no_version=True,
        native=False,
        quirks=Quirks(tool_choice=False, allowed_tools=False, parallel_tool_calls=False),
    ),
    "llamacpp": ServerProfile(
        base_url="http://127.0.0.1:8080/v1",
        url_variable="LLAMACPP_BASE_URL",
        key_variable="LLAMA_API_KEY",
        native=False,
        quirks=Quirks(named_choice=False, allowed_tools=False, parallel_said_always=True, grammar=True),
    ),
    "vllm": ServerProfile(
        base_url="http://127.0.0.1:8000/v1",
        url_variable="VLLM_BASE_URL",
        key_variable="VLLM_API_KEY",
        native=False,
        quirks=Quirks(allowed_tools=False),
    ),
}

ELSEWHERE = ServerProfile(base_url="", native=False, quirks=Quirks(allowed_tools=False))
"""A server of which only the address is known."""

FAMILIES: tuple[ModelFamily, ...] = (
    ModelFamily(names=r"gpt-oss|gpt-[45]|\bo[134]\b|claude|gemini", dialect="native"),
    ModelFamily(
        names=r"qwen-?3|glm-?4\.[5-9]|glm-?5|kimi-k2|minimax-m|deepseek-(v3|chat|reasoner)|devstral", dialect="native"
    ),
    ModelFamily(
        names=r"mistral-(small|medium|large)|command-(r|a)|granite-?[34]|hermes|firefunction", dialect="native"
    ),
    ModelFamily(names=r"qwen-?2\.5-coder|coder|codestral|starcoder|codegemma", dialect="python"),
    ModelFamily(names=r"gemma|phi-?[34]|smollm|olmo|llama|qwen-?2|mistral|yi-|falcon", dialect="python"),
)

UNKNOWN = "python"
"""The dialect of a model that nothing is known of, on a server whose tool support cannot be relied upon."""


def best_dialect(server: ServerProfile, model: str) -> str:
    """In which dialect a model on this server calls best, as far as is known."""
    if server.native:
        return "native"
    name = model.lower()
    return next((family.dialect for family in FAMILIES if re.search(family.names, name)), UNKNOWN)
