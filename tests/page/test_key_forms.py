"""Keys, tokens and passwords in texts: what is replaced, what stays, and that the work is linear in the text."""

import json
import re
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import each_case
from toolspeak.page import key_forms
from toolspeak.page.key_forms import TOKENS, hide_keys, is_secret_name
from toolspeak.page.redaction import HIDDEN, FactRedactor, WordReplacer
from toolspeak.values.events import Fact, ToolFinished
from toolspeak.values.messages import ToolResult

SECRET = "q7ZkP2mV9xR4tB6nL8wD3sF5"
WORD = "correcthorse"  # a password may be a word
HEX = "0123456789abcdef" * 4

TOKEN_EXAMPLES = {
    "OpenAI, Anthropic, OpenRouter, DeepSeek, Stripe": f"sk-proj-{SECRET} sk-ant-api03-{SECRET} sk_live_{SECRET}",
    "Groq": f"gsk_{SECRET}",
    "xAI": f"xai-{SECRET}",
    "Cerebras": f"csk-{SECRET}",
    "Hugging Face": f"hf_{SECRET}",
    "Replicate": f"r8_{SECRET}",
    "NVIDIA": f"nvapi-{SECRET}",
    "Perplexity": f"pplx-{SECRET}",
    "Tavily": f"tvly-{SECRET}",
    "Firecrawl": f"fc-{HEX[:32]}",
    "Fireworks": f"fw_{SECRET}",
    "Together": f"tgp_v1_{SECRET}",
    "Jina": f"jina_{SECRET}",
    "Pinecone": f"pcsk_{SECRET}",
    "E2B": f"e2b_{SECRET}",
    "RunPod": f"rpa_{SECRET}",
    "LangSmith": f"lsv2_pt_{SECRET}",
    "GitHub": f"ghp_{SECRET} gho_{SECRET} ghu_{SECRET} ghs_{SECRET} ghr_{SECRET}",
    "GitHub, fine-grained": f"github_pat_{SECRET}",
    "GitLab": f"glpat-{SECRET} glrt-{SECRET} gldt-{SECRET}",
    "Slack": f"xoxb-1234-{SECRET} xoxp-{SECRET}",
    "Slack, apps": f"xapp-1-{SECRET} xoxe.xoxp-1-{SECRET}",
    "Slack, webhooks": f"https://hooks.slack.com/services/T000/B000/{SECRET}",
    "Discord, webhooks": f"https://discord.com/api/webhooks/123/{SECRET}",
    "Discord": f"M{SECRET}.Ab3_x9.{SECRET}abc",
    "Telegram": f"123456789:AA{SECRET}abcdefghi",
    "Stripe, webhooks": f"whsec_{SECRET}",
    "AWS": "AKIAIOSFODNN7EXAMPLE ASIAIOSFODNN7EXAMPLE",
    "Google": f"AIza{SECRET}abcdefghijk",
    "Google, OAuth": f"ya29.{SECRET}",
    "Google, refresh": f"1//0{SECRET}",
    "Google, clients": f"GOCSPX-{SECRET}",
    "Azure": f"abc8Q~{SECRET}abcdefghij",
    "DigitalOcean": f"dop_v1_{HEX}",
    "Databricks": f"dapi{HEX[:32]}",
    "npm": f"npm_{SECRET}",
    "PyPI": f"pypi-AgEI{SECRET}",
    "RubyGems": f"rubygems_{HEX}",
    "Docker": f"dckr_pat_{SECRET}",
    "SendGrid": f"SG.{SECRET}.{SECRET}",
    "Mailgun": f"key-{HEX[:32]}",
    "Twilio": f"SK{HEX[:32]}",
    "Shopify": f"shpat_{HEX[:32]}",
    "Square": f"sq0atp-{SECRET}",
    "Notion": f"ntn_{SECRET}abcdefgh secret_{SECRET}abcdefgh",
    "Linear": f"lin_api_{SECRET}",
    "Airtable": f"patAbCdEf12345678.{HEX}",
    "Figma": f"figd_{SECRET}",
    "Postman": f"PMAK-{SECRET}",
    "Atlassian": f"ATATT3{SECRET}",
    "Supabase": f"sbp_{SECRET}",
    "Sentry": f"sntrys_{SECRET}",
    "Grafana": f"glsa_{SECRET}",
    "New Relic": f"NRAK-{SECRET}",
    "Vault": f"hvs.{SECRET}",
    "Terraform": f"AbCdEf12345678.atlasv1.{SECRET}",
    "Doppler": f"dp.pt.{SECRET}",
    "1Password": f"ops_{SECRET}abcdefghij",
    "age": "AGE-SECRET-KEY-1QQQQ2222333344445555",
}

FORMS = {
    "header": f"X-Api-Key: {SECRET}",
    "header in capitals": f"AUTHORIZATION: token {SECRET}",
    "header of curl": f"> Authorization: Bearer {SECRET}\n< HTTP/1.1 200",
    "header as an option": f"curl -H 'X-API-Key: {SECRET}' https://a.org",
    "cookies": f"Cookie: a=1; session={SECRET}; b=2",
    "a cookie that is set": f"Set-Cookie: sid={SECRET}; HttpOnly",
    "bearer": f"use bearer {SECRET} here",
    "basic": "Proxy says Basic dXNlcjpxN1prUDJtVjl4UjR0QjZuTDh3RDNzRjU=",
    "query": f"GET https://a.org/x?api_key={SECRET}&page=2",
    "query with a short name": f"https://a.org/x?key={SECRET}&page=2",
    "query of a store": f"https://a.org/x?X-Amz-Signature={SECRET}&sig={SECRET}",
    "query, encoded": f"redirect=https%3A%2F%2Fa.org%2F%3Ftoken%3D{SECRET}",
    "form": f"user=ann&password={SECRET}",
    "form in parts": f'Content-Disposition: form-data; name="password"\r\n\r\n{SECRET}\r\n--x',
    "environment": f"export OPENAI_API_KEY={SECRET}",
    "environment, a word": f"DB_PASSWORD={WORD}\n",
    "environment with marks": f"A=1\nSECRET_KEY=a&b;c({SECRET}\nB=2",
    "toml": f'[x]\nclient_secret = "{SECRET}"',
    "toml, three quotes": f'client_secret = """{SECRET}\n{SECRET}"""',
    "yaml": f"db:\n  password: {WORD}\n  port: 1",
    "yaml, a list": f"- token: {SECRET}",
    "json": f'{{"user": "ann", "password": "{WORD}"',
    "json, with quotes": f'"password": "a\\"{SECRET}", "b": 1',
    "json in json": json.dumps(json.dumps({"password": f'a"{SECRET}', "b": 1})),
    "json in json in json": "log: " + json.dumps(json.dumps(json.dumps({"access_token": f'a"{SECRET}', "b": 1}))),
    "python": f"connect(user='ann', password='{WORD}')",
    "python, bytes": f"token = b'{SECRET}'",
    "javascript": f"const apiKey = `{SECRET}`;",
    "ruby": f":password => '{WORD}'",
    "xml": f"<user>ann</user><password>{WORD}</password>",
    "option": f"mysql --user ann --password {SECRET}",
    "option with a sign": f"login --token={SECRET}",
    "user option": f"curl -u ann:{WORD} https://a.org",
    "netrc": f"machine a.org login ann password {WORD}",
    "sql": f"CREATE ROLE ann LOGIN PASSWORD '{WORD}'",
    "address": f"postgresql://app:{WORD}@db/x",
    "address with marks": f"postgresql://app:a#b?c{SECRET}@db/x",
    "address with a slash": f"redis://:a/{SECRET}@cache:6379/0",
    "address with two signs": f"amqp://app:a@{SECRET}@mq/x",
    "address without a password": f"https://{SECRET}@a.org/repo.git",
    "address of a driver": f"root:{WORD}@tcp(127.0.0.1:3306)/db",
    "connection string": f"Server=a;Database=b;User Id=c;Password={WORD};Encrypt=true",
    "account key": f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={SECRET}==;EndpointSuffix=b",
    "markdown": f"**Password**: {SECRET}",
    "web token": f"eyJhbGciOiJIUzI1NiJ9.{SECRET}.{SECRET}",
    "private key": f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY-----",
    "private key without an end": f"-----BEGIN OPENSSH PRIVATE KEY-----\\n{SECRET}\\n",
    "private key of PGP": f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{SECRET}\n-----END PGP PRIVATE KEY BLOCK-----",
    "in the middle of prose": f"Hello Ann, the password: {SECRET}. Do not tell.",
}

PROSE = [
    "the token was invalid",
    "password must have 8 characters",
    "Password: must have 8 characters",
    "Your token has expired; ask for a new token.",
    "It read 1,200 tokens, max_tokens=4096, and input_tokens: 1200.",
    "def connect(user: str, password: str, token: str | None = None) -> None: ...",
    "client = OpenAI(api_key=api_key, token=settings.token)",
    'api_key = os.environ["OPENAI_API_KEY"]',
    "Set api_key=$OPENAI_API_KEY or token=${{ secrets.TOKEN }}.",
    "error: password: required",
    "The basic authentication of a bearer authentication scheme",
    "See https://docs.python.org:8080/3/library/re.html@x and mailto:ann@example.org",
    "git@github.com:org/repo.git, nginx:1.25.3@sha256:abcd, 10:30@home",
    "sk-learn-compatible-estimator-names and pk_constraint_of_the_orders_table",
    "npm_config_registry_of_this_project, hf_hub_download_with_all_files",
    "A key is a value: key=value, primary_key: id, keyboard: qwerty12345",
    "base64 eyJhIjogMSwgImIiOiBbMSwgMiwgM119 is JSON",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "secretary: Ann1234567, tokenizer: cl100k_base, monkey: George12",
    "use --token to pass it, or --password with care",
    "the user logs in and the password is changed",
]

SECRET_NAMES = (
    "password DB_PASSWORD passwd pwd passphrase db_pass userPass api_key apiKey API-Key X-API-Key x-api-key apikey "
    "access_token accessToken Auth-Token bearer_token apiToken token refresh_token secret client_secret clientSecret "
    "secret_key secretKey SECRET_KEY access_key AWS_SECRET_ACCESS_KEY AccountKey private-key privateKey encryption_key "
    "signing_key cookie Set-Cookie authorization Proxy-Authorization credentials connection_string jwt session_id otp auth"
)
PLAIN_NAMES = (
    "key pin name user id tokens max_tokens token_count tokenizer secretary author monkey keyboard primary_key "
    "pass compass bypass passed passenger authors cookie_policy_url password_hint_shown"
)


def test_every_vendor_has_an_example():
    assert set(TOKEN_EXAMPLES) == set(TOKENS)


@each_case("example", TOKEN_EXAMPLES)
def test_tokens_of_vendors_are_replaced(example: str):
    for token in example.split():
        for text in (token, f"a {token}, b", f'"{token}"', f"({token})", f"x={token}&y", f"a:{token}\n"):
            hidden = hide_keys(text)
            assert not {SECRET, HEX[:32], "IOSFODNN7EXAMPLE", "QQQQ2222333344445555"} & set(
                re.findall(r"\w+", hidden)
            ), text
            assert "<key>" in hidden


@each_case("text", FORMS)
def test_values_are_replaced_in_every_form(text: str):
    for around in (text, f"Before.\n{text}\nAfter.", json.dumps({"log": f"line\n{text}"})[1:]):
        hidden = hide_keys(around)
        assert SECRET not in hidden
        assert WORD not in hidden
        assert "dXNlcjpxN1prUDJtVjl4" not in hidden
        assert ("After." in hidden) == ("After." in around)
        assert hide_keys(hidden) == hidden


@each_case("text", PROSE)
def test_prose_and_code_stay(text: str):
    assert hide_keys(text) == text


@each_case("name", SECRET_NAMES.split())
def test_names_of_secrets(name: str):
    assert is_secret_name(name)


@each_case("name", PLAIN_NAMES.split())
def test_other_names(name: str):
    assert not is_secret_name(name)


def redact(output: Any, hidden: tuple[str, ...] = (), answer: str = "") -> tuple[Any, str]:
    redactor = FactRedactor([], hidden)
    facts: list[Fact] = [ToolFinished(result=ToolResult(call_id="call_1", output=output))]
    [fact] = redactor.redact(facts)
    assert isinstance(fact, ToolFinished)
    return fact.result.output, redactor.redact_text(answer)


@each_case(
    "output",
    [
        {"headers": [{"name": "X-API-Key", "value": SECRET}]},
        {"env": [{"key": "DB_PASSWORD", "value": WORD}]},
        {"a": [json.dumps({"b": json.dumps({"secret_key": SECRET})})]},
        {"credentials": {"user": "ann1", "more": [SECRET, {"x": WORD}]}},
        f'[{{"token": "{SECRET}"}}]',
    ],
)
def test_fields_are_hidden_in_data(output: Any):
    text = json.dumps(redact(output)[0])
    assert SECRET not in text
    assert WORD not in text


def test_a_word_in_a_field_called_token_stays_elsewhere():
    output, answer = redact({"token": "weather", "password": "sunshine"}, answer="weather and sunshine")
    assert output == {"token": HIDDEN, "password": HIDDEN}
    assert answer == f"weather and {HIDDEN}"


def test_deep_data_is_searched_as_text():
    deep = "[" * 500 + f'{{"password": "{WORD}"}}' + "]" * 500
    assert WORD not in redact(deep)[0]


def list_patterns() -> dict[str, re.Pattern[str]]:
    return {name: each for name, each in vars(key_forms).items() if isinstance(each, re.Pattern)}


def list_endless(items: Any, *, is_last: bool) -> Iterator[bool]:
    """Yield for each repetition without a limit in a parsed pattern whether something may follow it."""
    for number, (kind, value) in enumerate(items):
        last = is_last and number == len(items) - 1
        match str(kind):
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, inner = value
                del least
                if most > 1_000:
                    yield not last or any(list_endless(inner, is_last=False))
                else:
                    yield from list_endless(inner, is_last=False)
            case "SUBPATTERN":
                yield from list_endless(value[-1], is_last=last)
            case "BRANCH":
                for branch in value[1]:
                    yield from list_endless(branch, is_last=last)
            case "ASSERT" | "ASSERT_NOT":
                yield from list_endless(value[1], is_last=False)
            case _:
                pass


@each_case("pattern", list_patterns())
def test_only_the_last_part_of_a_pattern_repeats_without_a_limit(pattern: re.Pattern[str]):
    parsed = re._parser.parse(pattern.pattern, pattern.flags)  # type: ignore[attr-defined]  # it is private to re
    assert not any(list_endless(parsed, is_last=True))


PIECES = [
    *("eyJ", "-", ".", "sk-", "a", "A1", "-----BEGIN PRIVATE KEY-----", "\n", " ", "token", "password", "=", ":", '"'),
    *(
        "\\",
        '\\"',
        "'",
        "$",
        "<token>",
        "<",
        "://",
        "@",
        "Bearer ",
        "basic ",
        "--token ",
        "&",
        "?key=",
        "name=",
        "(",
        ",",
    ),
]


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join), st.sampled_from(PIECES))
@settings(max_examples=40)
def test_long_texts_are_searched_in_parts(again: str, last: str):
    # What is not linear runs into the time limit of the test.
    text = again * (60_000 // len(again)) + last
    assert len(hide_keys(text)) <= len(text) + 5 * text.count("://") + 5 * text.count("-") + 100_000


def test_hidden_values_are_found_with_few_steps_however_many_they_are():
    words = {f"a{number:05}" for number in range(5_000)} | {"b " * count + "c" for count in range(100, 200)}
    replacer = WordReplacer(words)
    assert replacer.replace("a00000 xa00001 a049999 (a04999)") == f"{HIDDEN} xa00001 a049999 ({HIDDEN})"
    assert replacer.replace("b " * 150 + "c.") == f"{HIDDEN}."
    assert replacer.replace("b " * 300 + "d").endswith(HIDDEN)  # beyond the steps, the rest is hidden
