"""Google's SDK for Python: a chat that runs tools by itself, and answers in a schema."""

from itertools import groupby
from typing import Any

from google import genai
from weather import SCHEMA, TOOLS, Report, Told, calculator, get_weather, play, streamed, url

client = genai.Client(api_key="none", http_options={"base_url": url})


def run(told: Told, question: str, **config: Any) -> None:
    chat = client.chats.create(model="small", config=config)
    if streamed:
        chunks = list(chat.send_message_stream(question))
        told.pieces = sum(bool(read_text(chunk.candidates[0].content)) for chunk in chunks)
    else:
        told.object = chat.send_message(question).parsed
    # A streamed message is in the history as its chunks.
    for role, contents in groupby(chat.get_history(), lambda content: content.role):
        if role == "model":
            told.add("".join(map(read_text, contents)))
    if streamed and "response_schema" in config:
        told.object = Report.model_validate_json(told.text[-1])


def read_text(content: Any) -> str:
    return "".join(part.text or "" for part in content.parts or ())


tools = {"tools": [get_weather, calculator]}
schema = {"response_mime_type": "application/json", "response_schema": Report}
play(
    {
        "tools": lambda told: run(told, TOOLS, **tools),
        "schema": lambda told: run(told, SCHEMA, **schema),
        "both": lambda told: run(told, SCHEMA, **tools, **schema),
    }
)
