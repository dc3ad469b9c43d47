"""A request is given up at its deadline: the task that waits for a response, or the response."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from toolspeak.models.sender import HttpResponse, RequestDeadline
from toolspeak.testing import FakeClock


class OpenResponse:
    """A response of which only `close` is used."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    def close(self) -> None:
        self.closed.set()


def in_task(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    FakeClock().run(work())


def soon() -> float:
    return asyncio.get_running_loop().time() + 0.01


def test_the_task_that_waits_for_a_response_is_cancelled():
    async def work() -> None:
        deadline = RequestDeadline(soon())
        assert not deadline.has_passed
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(10)
        assert deadline.has_passed
        assert deadline.take_cancellation()
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(0)  # nothing is left of the cancellation
        assert not deadline.take_cancellation()

    in_task(work)


def test_a_cancellation_from_elsewhere_is_not_taken():
    taken: list[bool] = []

    async def wait(at: float | None) -> None:
        deadline = RequestDeadline(at)
        try:
            await asyncio.sleep(10)
        finally:
            taken.append(deadline.take_cancellation())

    async def work() -> None:
        for at in (None, asyncio.get_running_loop().time() + 100):
            task = asyncio.create_task(wait(at))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        late = asyncio.create_task(wait(soon()))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_at(soon() + 0.01, late.cancel)
        late.cancel()
        await asyncio.wait([late])
        assert late.cancelled()

    in_task(work)
    assert taken == [False] * 3


def test_of_two_cancellations_the_other_one_stays():
    async def wait(taken: list[bool]) -> None:
        deadline = RequestDeadline(soon())
        asyncio.get_running_loop().call_at(soon(), cast("asyncio.Task[None]", asyncio.current_task()).cancel)
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            while not deadline.has_passed:
                await asyncio.sleep(0)
            taken.append(deadline.take_cancellation())
            raise

    async def work() -> None:
        taken: list[bool] = []
        task = asyncio.create_task(wait(taken))
        await asyncio.wait([task])
        assert task.cancelled()
        assert task.cancelling() == 1
        assert taken == [False]

    in_task(work)


def test_a_response_is_closed_and_the_task_goes_on():
    async def work() -> None:
        response = OpenResponse()
        deadline = RequestDeadline(soon())
        deadline.watch(cast("HttpResponse", response))
        await response.closed.wait()
        assert deadline.has_passed
        assert not deadline.take_cancellation()

    in_task(work)


def test_nothing_happens_once_it_is_stopped():
    async def work() -> None:
        response = OpenResponse()
        for watched in (None, response):
            deadline = RequestDeadline(soon())
            if watched is not None:
                deadline.watch(cast("HttpResponse", watched))
            deadline.stop()
        RequestDeadline(None).stop()
        await asyncio.sleep(0.05)
        assert not response.closed.is_set()

    in_task(work)
