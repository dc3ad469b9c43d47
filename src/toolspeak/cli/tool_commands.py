"""The commands `tools`, `call`, `parse`, `graph`, `trace`, `trust`, `config`, `doctor`. Work is imported later."""

from pathlib import Path
from typing import Annotated

import typer

from toolspeak.cli.options import AdapterOption, Form, TargetArgument, TrustProjectOption, complete_model, option
from toolspeak.values.errors import UsageError


def trust_command(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="The project's folder or settings file; this folder if left out."),
    ] = None,
    yes: Annotated[bool, option("--yes", "Trust the settings without asking.")] = False,
    list_projects: Annotated[bool, option("--list", "List the projects that you have trusted or refused.")] = False,
    remove: Annotated[bool, option("--remove", "Forget that you trusted or refused this project.")] = False,
) -> None:
    """Trust the settings of a project.

    Shows the settings in toolspeak.toml or pyproject.toml, in this folder or above it, with what they do, and asks
    whether to trust them. Trust ends when the settings change, or a file that they name as tools. Your own settings
    file needs no trust.
    """
    from toolspeak.cli import trust

    start = path or Path()
    if list_projects:
        trust.print_decisions()
    elif remove:
        trust.remove_trust(start)
    else:
        raise typer.Exit(trust.trust(start, yes=yes))


def config_command(
    model: Annotated[
        str | None,
        option(
            "--model -m NAME",
            "Show the endpoint and the dialect of this model instead, and why they were chosen.",
            autocompletion=complete_model,
        ),
    ] = None,
    as_json: Annotated[bool, option("--json", "Print the settings as JSON.")] = False,
    adapter: AdapterOption = None,
    trust_project: TrustProjectOption = False,
) -> None:
    """Show the settings and where each came from.

    Also shows which settings of a project are ignored because you have not trusted it (see toolspeak trust).

    With --model, shows which endpoint and dialect a model has, and why. If nothing is known about the model, the
    command asks its server whether it supports tool calls.
    """
    from toolspeak.cli.config import ModelExplanation, SettingsReport, print_report
    from toolspeak.cli.trust import load_settings

    loaded = load_settings(trust_project=trust_project, adapter=adapter, quiet=True)
    print_report(SettingsReport(loaded) if model is None else ModelExplanation(model, loaded), as_json=as_json)


def doctor_command(
    model: Annotated[
        str | None,
        option(
            "--model -m NAME", "Check this model instead of the one in the settings.", autocompletion=complete_model
        ),
    ] = None,
    offline: Annotated[bool, option("--offline", "Contact no endpoint and no database.")] = False,
    as_json: Annotated[bool, option("--json", "Print the findings as JSON.")] = False,
    trust_project: TrustProjectOption = False,
) -> None:
    """Check this installation, and suggest a fix for each fault.

    Checks versions, extras, the model with its key and endpoint, the sandbox, the store of durable runs, folders, the
    browser and the terminal. It requests the endpoint's list of models, but sends no prompt. The exit code is 1 if
    something that you asked for cannot work.
    """
    from toolspeak.cli.config import examine, print_report
    from toolspeak.cli.trust import load_settings

    report = examine(model, load_settings(trust_project=trust_project, quiet=True), offline=offline)
    print_report(report, as_json=as_json)
    if report.has_faults:
        raise typer.Exit(1)


def tools_command(
    target: TargetArgument,
    form: Annotated[Form | None, option("--as", "Print the tools as this API or dialect sends them.")] = None,
    strict: Annotated[
        bool, option("--strict", "Print strict schemas: every property required, optional ones nullable.")
    ] = False,
    skipped: Annotated[bool, option("--skipped", "List what is not a tool, and why.")] = False,
    tool_budget: Annotated[
        int | None,
        option(
            "--tool-budget TOKENS",
            "Show how many tokens the tools take, estimated, and what this budget would cut.",
            min=1,
        ),
    ] = None,
    prompt: Annotated[str, option("--prompt TEXT", "With --tool-budget: the message that selects tools.")] = "",
    find: Annotated[
        str | None,
        option(
            "--find WORDS", "Rank the tools by how well they fit a request, explain why, and warn about similar tools."
        ),
    ] = None,
) -> None:
    """Show the tools in TARGET as a model sees them."""
    from toolspeak.cli.agent_config import discover_targets
    from toolspeak.cli.format import SafeConsole
    from toolspeak.cli.safe_text import write_output
    from toolspeak.cli.tools import (
        as_form,
        render_budget_costs,
        render_costs,
        render_found,
        render_skipped,
        render_tools,
    )
    from toolspeak.mcp.config import is_server_target

    box = discover_targets(target, may_be_empty=skipped)
    console = SafeConsole()
    if tool_budget is not None:
        console.print(render_budget_costs(box.specs, tool_budget, prompt), soft_wrap=True)
    elif find is not None:
        console.print(render_found(box.specs, find), soft_wrap=True)
    elif skipped:
        console.print(render_skipped(box), soft_wrap=not console.is_terminal)
    elif form is None:
        console.print(render_tools(box, target), soft_wrap=not console.is_terminal)
        if is_server_target(target):
            console.print(render_costs(box), soft_wrap=not console.is_terminal)
    else:
        write_output(as_form(box, form, strict=strict) + "\n")


def call_command(
    target: TargetArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the tool.")],
    pairs: Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Arguments of the call.")] = None,
    json_text: Annotated[str | None, option("--json OBJECT", "Arguments of the call as a JSON object.")] = None,
) -> None:
    """Call a tool yourself and print what a model would get.

    The arguments are checked like those of a model's call. If the call fails, the error that a model would get is
    printed, and the exit code is 1.
    """
    from toolspeak.cli.agent_config import discover_targets
    from toolspeak.cli.safe_text import reserve_stdout, write_output
    from toolspeak.cli.tools import call_tool, parse_arguments

    box = discover_targets(target, may_be_empty=True)  # an error below says why this function is none
    arguments = parse_arguments(pairs or [], json_text)
    for skipped in box.skipped:
        if skipped.name == name:
            raise UsageError(f"{name} cannot be a tool: {skipped.reason}")
    tool = box[name]
    with reserve_stdout():
        succeeded, answer = call_tool(tool, arguments)
    write_output(answer + "\n")
    if not succeeded:
        raise typer.Exit(1)


def parse_command(
    path: Annotated[
        str | None, typer.Argument(metavar="TEXTFILE", help="The text; - or none reads standard input.")
    ] = None,
    tools: Annotated[
        str | None,
        option(
            "--tools TARGET",
            "The tools that the model had: functions, as for toolspeak tools, or a .json file of schemas.",
        ),
    ] = None,
    dialect: Annotated[
        str,
        option(
            "--dialect NAME", "The dialect of the text: native, json, typescript, python, or code for either language."
        ),
    ] = "json",
    batch: Annotated[
        str | None, option("--batch FILE", "Read many texts: a .jsonl file of records with id, tools and text.")
    ] = None,
    why: Annotated[
        bool,
        option("--why", "Show the annotated text: what each part was parsed as, by which rule, what was repaired."),
    ] = False,
    as_json: Annotated[bool, option("--json", "Print the result as JSON.")] = False,
) -> None:
    """Show the tool calls in a model's text.

    Prints the calls, with references to the results of others, the malformed calls, and the rest of the text. With
    --why, prints the annotated text, which shows how it was parsed; with --why --json, the same as data: spans
    with offsets in the text.
    """
    import json

    from toolspeak.cli import tools as parse
    from toolspeak.cli.format import SafeConsole
    from toolspeak.cli.safe_text import reserve_stdout, write_output
    from toolspeak.dialects import read
    from toolspeak.reading.emitter import encode_content

    text_dialect = parse.find_dialect(dialect)
    if why and (batch is not None or not text_dialect.in_text):
        raise UsageError("--why explains one text in a text dialect: leave out --batch and --dialect native")
    if batch is not None:
        for line in parse.read_batch(batch, tools):
            write_output(line + "\n")
        return
    with reserve_stdout():
        specs = parse.load_tools(tools)
    if why:
        parse.print_explanation(parse.read_input(path), specs, as_json=as_json)
        return
    content = read(parse.read_input(path), specs, dialect=text_dialect)
    if as_json:
        write_output(json.dumps(encode_content(content), ensure_ascii=False) + "\n")
    else:
        SafeConsole(soft_wrap=True).print(parse.render_content(content))


def graph_command(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET_OR_FILE",
            help="Functions, as for toolspeak tools; or a file that toolspeak run --record wrote.",
        ),
    ],
    svg: Annotated[Path | None, option("--svg FILE", "Also write a picture to a file.")] = None,
    model: Annotated[str | None, option("--model NAME", "The name of the agent's model in the drawing.")] = None,
    trust_project: TrustProjectOption = False,
) -> None:
    """Draw an agent or a recorded run, in mermaid.

    Given functions, draws an agent with them as its tools. Given a record, draws that run with its timings.
    """
    from toolspeak.cli.graph import draw
    from toolspeak.cli.safe_text import write_output
    from toolspeak.cli.trust import load_settings

    write_output(draw(target, lambda: model or load_settings(trust_project=trust_project).model, svg))


def trace_command(
    record: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A file that toolspeak run --record wrote, or the exchanges of toolspeak serve --show."
        ),
    ],
    otlp: Annotated[
        str | None,
        option("--otlp URL", "Send the spans to this OpenTelemetry collector, such as http://127.0.0.1:4318."),
    ] = None,
    content: Annotated[
        bool, option("--content", "With --otlp: send prompts, answers, arguments and results, too.")
    ] = False,
    agent: Annotated[str, option("--agent NAME", "The name of the agent in spans.")] = "",
) -> None:
    """Show a recorded run as a tree of spans, or send them to an OpenTelemetry collector.

    Headers for the collector, such as a key, are read from OTEL_EXPORTER_OTLP_HEADERS, and the name of the service from
    OTEL_SERVICE_NAME.
    """
    import os

    from toolspeak.cli.safe_text import write_output
    from toolspeak.cli.tools import draw_spans, load_spans, send_spans

    if content and otlp is None:
        raise UsageError("--content is about what is sent; say where to: --otlp http://127.0.0.1:4318")
    spans = load_spans(record, content=content, agent=agent)
    write_output(draw_spans(spans) if otlp is None else send_spans(spans, otlp, os.environ))
