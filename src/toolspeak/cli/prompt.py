"""The prompt of `toolspeak run`, the user's templates, and the attachments of `run` and `chat`.

A template is `templates/NAME.toml` in the config folder. A project has none: a template names code and models, and only
what the user wrote may do so.

The prompt is the argument, followed by the text that is piped in. A pipe may also be one that nobody writes to: some
programs leave one open. Its text cannot be told from the text of a slow command, so the run waits for it, as other
commands do, and after a few seconds says so on standard error.
"""

import json
import os
import queue
import re
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from string import Template
from typing import Any, cast

from toolspeak.cli.agent_config import parse_sampling
from toolspeak.cli.options import ConversationOptions
from toolspeak.cli.safe_text import escape_line, print_error
from toolspeak.settings.files import list_templates, templates_folder
from toolspeak.settings.project_file import parse_toml, read_text, resolve_target
from toolspeak.values.attachments import attach
from toolspeak.values.errors import UsageError
from toolspeak.values.frozen import frozen
from toolspeak.values.messages import Media, Message, compose, user
from toolspeak.values.origin import Origin, Stretch
from toolspeak.values.validation import nearest

INPUT = "input"  # the parameter that stands for the prompt of the command

_KEYS = ("prompt", "system", "model", "dialect", "tools", "options", "defaults")


@frozen
class PromptTemplate:
    """A prompt with its options, in which `$name` stands for a parameter.

    Attributes:
        prompt: The prompt; None if the user's own is used.
        tools: The targets of tools, with full paths.
        options: Options of sampling as `NAME=VALUE`.
        defaults: The values of parameters that the user leaves out.
    """

    name: str
    prompt: str | None = None
    system: str | None = None
    model: str | None = None
    dialect: str | None = None
    tools: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    defaults: Mapping[str, str] | None = None

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters, in the order in which they occur; without `input`."""
        names = [name for text in (self.system, self.prompt) if text for name in Template(text).get_identifiers()]
        return [name for name in dict.fromkeys(names) if name != INPUT]

    @property
    def takes_input(self) -> bool:
        """Whether the prompt says where the user's own text goes."""
        return self.prompt is not None and INPUT in Template(self.prompt).get_identifiers()

    def fill(self, pairs: Iterable[str]) -> "PromptTemplate":
        """Return the template with its parameters replaced by the values in `NAME=VALUE` texts.

        Raises:
            UsageError: A parameter has no value, or a value no parameter.
        """
        values = dict(self.defaults or {})
        for pair in pairs:
            name, equals, value = pair.partition("=")
            if not equals:
                raise UsageError(f"-p takes NAME=VALUE, not {pair!r}")
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise UsageError(f"the template {self.name} has no parameter {name!r}; its parameters: {known}")
            values[name] = value
        if missing := [name for name in self.parameters if name not in values]:
            wanted = " ".join(f"-p {name}=…" for name in missing)
            raise UsageError(f"the template {self.name} needs {', '.join(missing)}; write {wanted}")
        system = None if self.system is None else Template(self.system).safe_substitute(values)
        return replace(self, system=system, defaults=values)

    def render_prompt(self, text: Sequence[Stretch] = ()) -> list[Stretch]:
        """Return the prompt of a filled template, with the user's text in its place."""
        mark = "\0"  # no template and no parameter holds it
        filled = Template(self.prompt or f"${INPUT}").safe_substitute({**(self.defaults or {}), INPUT: mark})
        first, *others = filled.split(mark)
        rendered = [Stretch(first, Origin.USER)]
        for each in others:
            rendered += [*text, Stretch(each, Origin.USER)]
        return rendered

    def apply_to(self, options: ConversationOptions) -> ConversationOptions:
        """Return the options of a command with those of the template where the command has none."""
        return replace(
            options,
            system=self.system if options.system is None else options.system,
            model=options.model or self.model,
            dialect=options.dialect or self.dialect,
            tools=options.tools or self.tools,
            sampling=(*self.options, *options.sampling),
        )


def find_file(name: str) -> Path:
    """Return the file of a template. Raises `UsageError` if there is none."""
    file = templates_folder() / f"{name}.toml"
    if not re.fullmatch(r"[\w-][\w.-]*", name) or not file.is_file():
        names = list_templates()
        hint = f"did you mean {similar}? " if (similar := nearest(name, names)) else ""
        there = f"there are: {', '.join(names)}" if names else f"there are none in {templates_folder()}"
        raise UsageError(f"there is no template {name!r}; {hint}{there}")
    return file


def load_template(name: str) -> PromptTemplate:
    """Read a template. Raises `UsageError` if there is none, or its file is wrong."""
    file = find_file(name)
    table = parse_toml(read_text(file) or "", file)
    for key in table:
        if key not in _KEYS:
            hint = f"did you mean {similar}? " if (similar := nearest(key, _KEYS)) else ""
            raise UsageError(f"{file}: a template has no {key!r}; {hint}it may have {', '.join(_KEYS)}")
    template = PromptTemplate(
        name=name,
        prompt=_read_text(table, "prompt", file),
        system=_read_text(table, "system", file),
        model=_read_text(table, "model", file),
        dialect=_read_text(table, "dialect", file),
        tools=tuple(resolve_target(each, file.parent, None) for each in _read_texts(table, "tools", file)),
        options=tuple(_read_options(table, file)),
        defaults={key: str(value) for key, value in _read_table(table, "defaults", file).items()},
    )
    for text in (template.prompt, template.system):
        if text is not None and not Template(text).is_valid():
            raise UsageError(f"{file}: a $ is followed by the name of a parameter; for the sign itself, write $$")
    parse_sampling(template.options)
    return template


def _read_text(table: Mapping[str, Any], key: str, file: Path) -> str | None:
    value = table.get(key)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise UsageError(f"{file}: {key} must be a string")
    return value


def _read_texts(table: Mapping[str, Any], key: str, file: Path) -> Sequence[str]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in cast("list[Any]", value)):
        raise UsageError(f"{file}: {key} must be a list of strings")
    return cast("list[str]", value)


def _read_table(table: Mapping[str, Any], key: str, file: Path) -> dict[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise UsageError(f"{file}: {key} is a table, written as [{key}]")
    return cast("dict[str, Any]", value)


def _read_options(table: Mapping[str, Any], file: Path) -> Iterable[str]:
    """Yield the options as the command line takes them."""
    for name, value in _read_table(table, "options", file).items():
        if isinstance(value, dict):
            yield from (f"{name}.{key}={json.dumps(each)}" for key, each in cast("dict[str, Any]", value).items())
        else:
            yield from (f"{name}={each}" for each in (cast("list[Any]", value) if isinstance(value, list) else [value]))


FIRST_BYTE_SECONDS = 3.0
"""How long a pipe beside a prompt may stay silent before the user is told that the run waits for it."""

CHUNK_BYTES = 65_536


def read_prompt(argument: str | None, *, takes_input: bool = True, template: str | None = None) -> list[Stretch]:
    """Return the prompt: the argument, a blank line and the piped text; without an argument or with `-`, that text.

    Text that is piped beside a prompt, or into a template, is what the prompt is about: the user has not written it.

    Without `takes_input`, standard input is an attachment. `template` is the name of the one the prompt is put into.
    """
    if not takes_input and argument in (None, "-"):
        raise UsageError("standard input is an attachment here, so give the prompt as an argument")
    is_piped = takes_input and sys.stdin is not None and not sys.stdin.isatty()
    if argument is None or argument == "-":
        if argument is None and not is_piped:
            raise UsageError(
                _explain_missing_input(template)
                if template
                else 'there is no prompt; write toolspeak run "PROMPT", or - to read the prompt from standard input'
            )
        parts = [Stretch(_decode(PipeReader().read()), Origin.ATTACHMENT if template else Origin.USER)]
    else:
        piped = _decode(_read_beside_prompt()) if is_piped else ""
        parts = [Stretch(argument, Origin.USER), Stretch(piped, Origin.ATTACHMENT)]
    prompt: list[Stretch] = []
    for part in parts:
        if part.text.strip():
            prompt += [Stretch("\n\n", Origin.USER), part] if prompt else [part]
    if not prompt:
        empty = 'the prompt is empty; write toolspeak run "PROMPT"'
        raise UsageError(_explain_missing_input(template) if template else empty)
    return prompt


def build_prompt(text: Sequence[Stretch], attachments: Sequence[Media] = ()) -> str | Message:
    """Return the prompt for a run, with its origins if not all of it is the user's."""
    if any(stretch.origin is not Origin.USER for stretch in text):
        return Message(role="user", parts=(compose(text), *attachments))
    written = "".join(stretch.text for stretch in text)
    return user(written, *attachments) if attachments else written


def _explain_missing_input(template: str) -> str:
    return f"the template {template} needs input; give it as the prompt, or pipe it into the command"


def _read_beside_prompt() -> bytes:
    """Return the piped bytes. Say that the run waits for them, if they are late."""
    reader = PipeReader()
    if not reader.wait(FIRST_BYTE_SECONDS):
        print_error("waiting for standard input, which belongs to the prompt; < /dev/null avoids it")
    return reader.read()


def _decode(data: bytes) -> str:
    """Return the piped text without the line ends at its end."""
    try:
        return data.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8 text (byte {error.start:,}); convert it first") from None


class PipeReader:
    """Reads standard input in a thread, so that the caller can stop waiting for it.

    The thread reads the descriptor itself: a thread that waits in `sys.stdin` would hold a lock that Python needs in
    order to exit.
    """

    def __init__(self) -> None:
        self._chunks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._first: bytes | None = None
        threading.Thread(target=self._work, daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Return whether the first byte, or the end, arrived within so many seconds."""
        try:
            self._first = self._chunks.get(timeout=seconds)
        except queue.Empty:
            return False
        return True

    def read(self) -> bytes:
        """Return everything up to the end."""
        chunks: list[bytes] = []
        chunk = self._chunks.get() if self._first is None else self._first
        while chunk:
            chunks.append(chunk)
            chunk = self._chunks.get()
        return b"".join(chunks)

    def _work(self) -> None:
        while True:
            try:
                chunk = os.read(0, CHUNK_BYTES)
            except OSError:  # standard input is closed, or cannot be read by a process in the background
                chunk = b""
            self._chunks.put(chunk)
            if not chunk:
                return


STANDARD_INPUT = "-"


def load_attachments(sources: Iterable[str]) -> tuple[Media, ...]:
    """Load attachments from paths and addresses, and from standard input for `-`."""
    return tuple(
        attach(PipeReader().read(), label="-a -") if each == STANDARD_INPUT else load_attachment(each, f"-a {each}")
        for each in sources
    )


def load_attachment(source: str, label: str) -> Media:
    """Load an attachment from a path, in which `~` is the home folder, or an address; `label` names it in errors."""
    return attach(str(Path(source).expanduser()) if source.startswith("~") else source, label=label)


def describe_attachment(media: Media) -> str:
    """Describe an attachment in a few words: its name, its type and its size."""
    size = "by its address" if media.data is None else _format_size(len(media.data))
    return f"{escape_line(media.name or 'standard input')} ({media.mime}, {size})"


def _format_size(size: int) -> str:
    if size < 1000:
        return f"{size} byte{'' if size == 1 else 's'}"
    return f"{size / 1e3:.0f} KB" if size < 1e6 else f"{size / 1e6:.1f} MB"
