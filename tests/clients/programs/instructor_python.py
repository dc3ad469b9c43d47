"""instructor, which asks for an object by a forced call or by a response format."""

from typing import Any

import instructor
import openai
from weather import SCHEMA, Report, Told, api, play, streamed, url

MODES = {"tools": instructor.Mode.TOOLS, "schema": instructor.Mode.JSON_SCHEMA}


def parse(told: Told) -> None:
    plain = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    client: Any = instructor.from_openai(plain, mode=MODES[api])
    request: dict[str, Any] = {"model": "small", "messages": [{"role": "user", "content": SCHEMA}], "max_retries": 0}
    if not streamed:
        told.object = client.chat.completions.create(response_model=Report, **request)
        return
    for partial in client.chat.completions.create_partial(response_model=Report, **request):
        told.object = partial
        told.pieces += 1


play({"schema": parse})
