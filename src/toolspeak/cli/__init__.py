"""The command line. Imports every room; no room imports it.

Start reading in `app.py`, which puts the commands together and builds only those that the command line names. Each
group of commands is a module `…_commands.py`, which declares them and imports their work when they are called, so that
`toolspeak --help` is fast. `options.py` declares the options, and `server_options.py` those of commands that serve;
they import nothing but typer.

    chat and run     conversation_commands.py, chat.py, run.py; agent_config.py (the agent of options and settings),
                     prompt.py (prompt, templates, attachments), conversations.py (what the log keeps), user_input.py
    the terminal     transcript.py (draws events), markdown.py, format.py (calls and results as text), safe_text.py
    the log          log.py (`toolspeak log`), record.py (`--record`)
    tools            tool_commands.py, tools.py (`tools`, `call`, `parse`, `trace`), graph.py
    models           model_commands.py, eval.py (`eval`, `calibrate`, `conformance`), embedded.py (`pull`, `local`)
    servers          server_commands.py, serve.py, mcp.py, page.py, runs.py (durable runs), http_server.py (shared)
    settings         config.py (`config`, `doctor`), trust.py (asks before a project counts)

Every text that is not toolspeak's own passes through `safe_text.py` before a terminal shows it.

To add a command: declare it in the module of its group and in `COMMANDS` of `app.py`; its work is a module of its own
that is imported when the command runs. To add an option of a command with many: a field of its class in `options.py` or
`server_options.py`, and its name under a heading in `GROUPS`, if the class has them; `chat` and `run` share
`ConversationOptions`, of which `agent_config.py` builds the agent. An option of sampling: `_SAMPLING` in
`agent_config.py`, and `complete_sampling`. To add a command within a chat: `COMMANDS` in `chat.py`. To change how an
event looks: `transcript.py`, and `graph.py` for the drawing of a run. What is pasted for another client:
`format_client_lines` in `serve.py`. A file that a command writes: `write_text` in `settings/files.py`, which makes no
folders. A form of tool definitions: `Form` in `options.py` and `as_form` in `tools.py`.
"""
