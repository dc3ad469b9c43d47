"""Addresses are shown without what is or may be a secret, and say truly where they lead."""

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each_case
from toolspeak.settings.values import hide_password
from toolspeak.values.address import LONG_CODE, hide_secrets


@each_case("address, shown", [
    ("postgresql://ann:secret@db:5432/runs", "postgresql://ann@db:5432/runs"),
    ("postgresql://ann:se#c?r:et@db/runs", "postgresql://ann@db/runs"),
    ("postgresql://ann@db/runs?password=secret&sslmode=require", "postgresql://ann@db/runs?sslmode=require"),
    ("postgresql://db?pass%77ord=secret&sslpassword=secret&passfile=secret&options=secret", "postgresql://db"),
    ("postgresql:///runs?host=/tmp&user=ann@lab", "postgresql:///runs?host=/tmp&user=ann@lab"),
    ("postgresql://ann:secret@[::1]:5,two:6/runs", "postgresql://ann@[::1]:5,two:6/runs"),
    ("postgresql://%2Frun%2Fpg/runs", "postgresql://%2Frun%2Fpg/runs"),
    ("postgresql://ann:secret/x@db/runs", "postgresql://…"),
    ("postgresql://ann:se@cret@db/runs", "postgresql://…"),
    ("postgresql://ann:secret/runs", "postgresql://…"),
    ("mysql://ann:secret@db/runs", "mysql://…"),
    ("host=db password=secret", "…"),
    ("ann:secret@db/runs", "…"),
    ("runs.db", "runs.db"),
    ("sqlite:///tmp/runs.db", "sqlite:///tmp/runs.db"),
    ("https://ann:secret@example.com:8443/v1?key=secret#secret", "https://…@example.com:8443/v1"),
    ("https://secret@example.com/v1", "https://…@example.com/v1"),
    ("http://ann:secret#x@example.com/v1", "http://…"),
    ("http://ann:secret?x@example.com/v1", "http://…"),
    ("http://ann:secret/x@example.com/v1", "http://…"),
    ("http://[::1/v1", "http://…"),
    ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ("https://evil.example?x=@good.example/v1", "https://evil.example"),
    ("https://good.example@evil.example/v1", "https://…@evil.example/v1"),
    ("https://example.com/@scope/server/mcp", "https://example.com/@scope/server/mcp"),
    ("https://example.com/s/0a1b2c3d4e5f6a7b8c9d0e1f/mcp", "https://example.com/s/…/mcp"),
    ("https://${HOST}:${PORT}/mcp?key=${KEY}", "https://${HOST}:${PORT}/mcp"),
    ("https://${USER}:${PASSWORD}@example.com/mcp", "https://…@example.com/mcp"),
])  # fmt: skip
def test_secrets_are_hidden(address: str, shown: str):
    assert hide_secrets(address) == shown


@each_case("name, shown", [
    ("http://ann:secret@127.0.0.1:9/v1#m", "http://…@127.0.0.1:9/v1#m"),
    ("http://ann:secret#secret@127.0.0.1:9/v1#m", "http://…"),
    ("https://127.0.0.1:9/v1?key=secret#@cf/meta/llama", "https://127.0.0.1:9/v1#@cf/meta/llama"),
    ("openai:gpt-5", "openai:gpt-5"),
    ("local:/tmp/some@file.gguf", "local:/tmp/some@file.gguf"),
])  # fmt: skip
def test_names_of_models_keep_the_model(name: str, shown: str):
    assert hide_password(name) == shown


ODD = st.text(st.sampled_from("ab1:/?#@%[],= &\\\n"), max_size=8)


@given(
    st.sampled_from(["postgresql", "postgres", "http", "https", "mysql"]),
    st.tuples(ODD, ODD).filter(lambda pair: "@" not in "".join(pair)),
    st.sampled_from(["db", "db:5432", "[::1]:5432", "one:1,two:2"]),
)
def test_no_password_is_shown_whatever_it_is_written_with(scheme: str, around: tuple[str, str], host: str):
    """A password that begins with letters is never taken for a port, whatever else stands in it."""
    before, after = around
    shown = hide_secrets(f"{scheme}://ann:x{before}S3CRET{after}@{host}/runs")
    assert "S3CRET" not in shown


@given(st.text(st.sampled_from("aB1_-/. "), max_size=60))
def test_a_long_code_has_letters_and_digits(text: str):
    runs = re.findall("[A-Za-z0-9_-]+", text)
    codes = [each for each in runs if len(each) > 19 and re.search("[0-9]", each) and re.search("[A-Za-z]", each)]
    assert LONG_CODE.findall(text) == codes
