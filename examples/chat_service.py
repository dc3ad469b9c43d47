"""A chat service with FastAPI: one agent for all users, a saved conversation for each, answers that are streamed.

The token of a request says who asks. The conversation and the orders are those of that user, whatever the model writes.

$ python examples/chat_service.py
$ curl -N 127.0.0.1:8000/chat -H 'authorization: Bearer ada-secret' --json '{"prompt": "Where is my order?"}'
Your teapot is on its way.
$ curl 127.0.0.1:8000/chat -H 'authorization: Bearer ada-secret'
[{"role":"user","text":"Where is my order?"},{"role":"assistant","text":"Your teapot is on its way."}]
"""

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import AsyncGenerator, Generator
from contextlib import closing, contextmanager
from typing import Annotated

import uvicorn
from fastapi import Body, Depends, FastAPI, HTTPException
from fastapi.responses import StreamingResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from toolspeak import Agent, Chat, Context, Model, ModelError

USERS = {
    "ada-secret": "ada",
    "bob-secret": "bob",
}  # in your service: sessions, or an identity provider
ORDERS = {"ada": ["a teapot, on its way"], "bob": ["two cups, delivered"]}


def list_orders(context: Context[str]) -> list[str]:
    """List the orders of the user, and where they are."""
    return ORDERS[context.deps]


def find_user(
    given: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())],
) -> str:
    if given.credentials not in USERS:
        raise HTTPException(401, "this token is unknown")
    return USERS[given.credentials]


User = Annotated[str, Depends(find_user)]


@contextmanager
def open_database(path: str) -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(path)) as database, database:  # commits, and closes
        database.execute(
            "CREATE TABLE IF NOT EXISTS chats (user TEXT PRIMARY KEY, saved TEXT NOT NULL)"
        )
        yield database


def build_app(model: str | Model = "local", path: str = "chats.db") -> FastAPI:
    agent: Agent[None, str] = Agent(
        model, [list_orders], system="You help the customers of a tea shop."
    )
    locks = defaultdict[str, asyncio.Lock](asyncio.Lock)
    app = FastAPI()

    def load_chat(user: str) -> Chat[None, str]:
        with open_database(path) as database:
            row = database.execute(
                "SELECT saved FROM chats WHERE user = ?", [user]
            ).fetchone()
        return Chat.load(agent, row and row[0])

    async def answer(user: str, prompt: str) -> AsyncGenerator[str]:
        async with locks[user]:  # the runs of a conversation happen one after the other
            chat = load_chat(user)
            try:
                async with chat.astream(
                    prompt, deps=user
                ) as stream:  # ends the run if the client goes away
                    async for event in stream:
                        if event.kind == "text_delta":
                            yield event.text
            except ModelError:
                yield "The model cannot be reached; try again."
            finally:
                with open_database(path) as database:
                    database.execute(
                        "INSERT OR REPLACE INTO chats VALUES (?, ?)",
                        [user, chat.save()],
                    )

    @app.post("/chat")
    async def ask(
        prompt: Annotated[str, Body(embed=True)], user: User
    ) -> StreamingResponse:
        return StreamingResponse(answer(user, prompt), media_type="text/plain")

    @app.get("/chat")
    async def show(user: User) -> list[dict[str, str]]:
        shown = [
            each
            for each in load_chat(user).messages
            if each.role in ("user", "assistant") and each.text
        ]
        return [{"role": each.role, "text": each.text} for each in shown]

    return app


if __name__ == "__main__":
    uvicorn.run(build_app())
