"""What every journal must do. Derive a test class from `JournalContract`, and give it a fixture `journal`."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from toolspeak.durable.journal import Fenced, Journal, JournalSession, StartRefused
from toolspeak.durable.rows import (
    STORED_FORMAT,
    DeltaRow,
    Hold,
    Lane,
    NewRun,
    NewWait,
    RunRow,
    Schedule,
    Started,
    WaitRow,
    Wanted,
    Webhook,
)

ODD_TEXT = "é 😀 \u2028 \\ \" ' {} % $1 ? \r\n\tend"
LEASE_MS = 60_000
ANY = Wanted(agents=("helper",), count=100)


def new_run(run_id: str = "r1", **changes: Any) -> NewRun:
    return replace(NewRun(run_id=run_id, agent="helper", request="{}", request_digest="d"), **changes)


def hold_of(run: RunRow | None) -> Hold:
    assert run is not None
    return Hold(run.run_id, run.epoch, run.owner, run.next_seq)


def start_and_claim(session: JournalSession, run_id: str = "r1", owner: str = "w1", **changes: Any) -> Hold:
    session.beat(owner, LEASE_MS)
    started = session.start(new_run(run_id, **changes)).run
    return hold_of(session.claim(run_id, started.epoch, owner))


def make_due(session: JournalSession, name: str, ms_ago: int, back_to: RunRow | None = None) -> None:
    """Let a schedule be due since a while, or at the time for which it has started a run."""
    schedule = session.find_schedule(name)
    assert schedule is not None
    due = session.read_clock() - ms_ago
    if back_to is not None:
        stamp = datetime.fromisoformat(back_to.key.split()[-1])
        due = round(stamp.timestamp() * 1000)
    session.set_schedule(replace(schedule, due=due))


def end(session: JournalSession, hold: Hold) -> None:
    session.append(hold, ['{"end": 1}'], stop_reason="answered")


def pause(session: JournalSession, *waits: NewWait, run_id: str = "r1") -> str:
    """Start a run of which calls wait, and return its status after it was released."""
    hold = session.append(start_and_claim(session, run_id), ['"waits"'], waits=waits)
    return session.release(hold, "paused")


def read_status(session: JournalSession, run_id: str = "r1") -> tuple[str, int]:
    run = session.read_run(run_id)
    assert run is not None
    return run.status, run.epoch


class JournalContract:
    """The tests. `journal` must be an empty journal; `session` is one of its sessions, `other` another one."""

    @pytest.fixture
    def journal(self) -> Journal:
        raise NotImplementedError("give the class a fixture `journal` that returns an empty journal")

    @pytest.fixture
    def session(self, journal: Journal) -> Iterator[JournalSession]:
        session = journal.connect()
        yield session
        session.close()

    @pytest.fixture
    def other(self, journal: Journal) -> Iterator[JournalSession]:
        session = journal.connect()
        yield session
        session.close()

    # Starting

    def test_an_annotation_is_replaced_and_goes_with_its_run(self, session: JournalSession) -> None:
        end(session, start_and_claim(session))
        assert session.annotate("r1", ODD_TEXT)
        assert session.annotate("r1", "second")
        assert not session.annotate("unknown", "nothing")
        assert session.read_annotations() == {"r1": "second"}
        assert session.prune(session.read_clock() + 1000, 10) == ["r1"]
        assert session.read_annotations() == {}

    def test_a_new_run_is_queued_without_facts(self, session: JournalSession) -> None:
        started = session.start(new_run(request=ODD_TEXT, priority=3, key="k", deadline_ms=5000))
        run = started.run
        assert started.is_new
        assert (run.status, run.epoch, run.next_seq, run.owner, run.stop_reason) == ("queued", 1, 0, "", "")
        assert (run.request, run.priority, run.key, run.format) == (ODD_TEXT, 3, "k", STORED_FORMAT)
        assert run.deadline == run.created + 5000
        assert session.read_run("r1") == run
        assert session.read_run("r2") is None
        assert session.read_facts("r1") == []

    def test_the_same_request_starts_once(self, session: JournalSession, other: JournalSession) -> None:
        first = session.start(new_run())
        again = other.start(new_run())
        assert (first.is_new, again.is_new) == (True, False)
        assert again.run == first.run

    def test_another_request_under_the_same_id_is_refused(self, session: JournalSession) -> None:
        session.start(new_run(key="ticket-7"))
        with pytest.raises(StartRefused, match="ticket-7"):
            session.start(new_run(key="ticket-7", request_digest="another"))

    def test_many_starts_at_once_give_one_run(self, journal: Journal) -> None:
        barrier, results = threading.Barrier(8), list[bool]()

        def start() -> None:
            session = journal.connect()
            barrier.wait()
            results.append(session.start(new_run()).is_new)
            session.close()

        threads = [threading.Thread(target=start) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert sorted(results) == [False] * 7 + [True]

    def test_runs_are_listed_from_the_last_started(self, session: JournalSession) -> None:
        for number in range(3):
            session.start(new_run(f"r{number}", agent="other" if number == 1 else "helper"))
        assert [run.run_id for run in session.list_runs()] == ["r2", "r1", "r0"]
        assert [run.run_id for run in session.list_runs(agent="helper", limit=1)] == ["r2"]
        session.claim("r0", 1, "w1")
        assert [run.run_id for run in session.list_runs(statuses=["running", "paused"])] == ["r0"]
        assert session.count_runs() == {("", "queued"): 2, ("", "running"): 1}
        figures = session.read_figures()
        waiting = session.list_runs(statuses=["queued"])
        assert (figures.takeovers, figures.queued_since) == (0, min(run.updated for run in waiting))

    # Chats

    def test_runs_are_found_by_their_labels(self, session: JournalSession) -> None:
        for name, labels in {
            "a": (("tenant", "acme"), ("user", "7")),
            "b": (("tenant", "acme"), ("note", ODD_TEXT)),
            "c": (("tenant", ""),),
            "d": (),
        }.items():
            session.start(new_run(name, labels=labels))

        def find(*labels: tuple[str, str], limit: int = 9) -> str:
            return "".join(run.run_id for run in session.list_runs(labels=labels, limit=limit))

        assert find(("tenant", "acme")) == "ba"
        assert find(("tenant", "acme"), limit=1) == "b"
        assert find(("tenant", "acme"), ("user", "7")) == "a"
        assert find(("note", ODD_TEXT)) == "b"
        assert find(("tenant", "")) == "c"
        assert find(("acme", "tenant")) == ""

    def test_a_run_of_a_chat_goes_on_from_the_last_one(self, session: JournalSession) -> None:
        first = session.start(new_run("r1", chat="c")).run
        assert first.parent == ""
        assert session.start(new_run("r2", chat="c")).run.parent == "r1"
        assert session.start(new_run("r3", chat="d")).run.parent == ""
        assert session.start(new_run("r4")).run.parent == ""
        assert [run.run_id for run in session.list_runs(chat="c")] == ["r2", "r1"]

    def test_the_runs_of_a_chat_happen_one_after_the_other(self, session: JournalSession) -> None:
        for number in range(1, 4):
            session.start(new_run(f"r{number}", chat="c", priority=number))
        session.start(new_run("other"))
        assert [run.run_id for run in session.list_undispatched(9)] == ["r1", "other"]
        first, _ = session.claim_next("w1", ANY)
        assert session.claim_next("w1", ANY) == []
        end(session, hold_of(session.claim("r2", 1, "w1")))  # it was cancelled while it waited
        assert session.claim_next("w1", ANY) == []
        end(session, hold_of(first))
        assert [run.run_id for run in session.claim_next("w1", ANY)] == ["r3"]

    def test_a_run_with_a_delay_begins_later(self, session: JournalSession) -> None:
        session.start(new_run("r1", delay_ms=3_600_000))
        assert session.claim_next("w1", ANY) == []
        assert session.read_figures().queued_since is None
        [run] = session.list_runs()
        assert run.ready == run.created + 3_600_000

    def test_runs_are_found_by_their_end_and_by_time(self, session: JournalSession) -> None:
        end(session, start_and_claim(session, "r1"))
        session.start(new_run("r2"))
        assert [run.run_id for run in session.list_runs(stop_reasons=["answered", "error"])] == ["r1"]
        now = session.read_clock()
        assert len(session.list_runs(since=now - 60_000)) == 2
        assert session.list_runs(since=now + 60_000) == []

    # Schedules and webhooks

    def test_a_time_of_a_schedule_starts_one_run(self, session: JournalSession, other: JournalSession) -> None:
        made = session.set_schedule(Schedule(name="report", run=new_run("", lane="x (1 at once)"), seconds=3600))
        assert made.due == pytest.approx(session.read_clock() + 3_600_000, abs=60_000)
        assert session.start_due() == []
        make_due(session, "report", 0)
        started = [*session.start_due(), *other.start_due()]
        [run] = session.list_runs()
        assert [each.run.run_id for each in started if isinstance(each, Started)] == [run.run_id]
        assert run.key.startswith("report 2")
        assert run.lane == "x (1 at once)"
        make_due(session, "report", 0, back_to=run)
        assert all(not each.is_new for each in session.start_due() if isinstance(each, Started))
        assert len(session.list_runs()) == 1

    def test_missed_times_of_a_schedule_are_made_up_for(self, session: JournalSession) -> None:
        for name, times, expected in (("one", 1, 1), ("three", 3, 3), ("none", 0, 0)):
            session.set_schedule(Schedule(name=name, run=new_run(""), seconds=60, catch_up=times))
            make_due(session, name, 600_500)
            assert len(session.start_due()) == expected
        session.set_schedule(Schedule(name="cron", run=new_run(""), cron="* * * * *", catch_up=5))
        make_due(session, "cron", 400 * 24 * 3_600_000)
        started = session.start_due()
        assert len(started) == 5
        schedule = session.find_schedule("cron")
        assert schedule is not None
        assert schedule.due > session.read_clock()

    def test_a_schedule_that_is_set_again_is_not_put_off(self, session: JournalSession) -> None:
        first = session.set_schedule(Schedule(name="a", run=new_run(""), seconds=60))
        make_due(session, "a", -5_000)
        again = session.set_schedule(Schedule(name="a", run=new_run("", priority=3), seconds=60))
        assert again.due != first.due
        assert session.list_schedules() == [again]
        assert session.set_schedule(replace(again, seconds=120.0, due=0)).due > again.due
        assert session.drop_schedule("a")
        assert not session.drop_schedule("a")

    def test_a_schedule_whose_start_is_refused_goes_on(self, session: JournalSession) -> None:
        session.set_schedule(Schedule(name="a", run=new_run("", lane="unknown"), seconds=60))
        make_due(session, "a", 0)
        [refused] = session.start_due()
        assert str(refused).startswith("the schedule 'a' has started no run for 20")
        assert "no lane 'unknown'" in str(refused)
        assert session.start_due() == []

    def test_a_webhook_is_taken_when_its_run_has_ended(self, session: JournalSession, other: JournalSession) -> None:
        hold = start_and_claim(session, "r1", webhook="http://localhost/x")
        assert session.has_webhooks()
        assert session.take_webhooks(5, 60_000) == []
        end(session, hold)
        assert session.take_webhooks(5, 60_000) == [Webhook("r1", "http://localhost/x", 0)]
        assert other.take_webhooks(5, 60_000) == []
        session.delay_webhook("r1", 0)
        assert other.take_webhooks(5, 60_000) == [Webhook("r1", "http://localhost/x", 1)]
        session.drop_webhook("r1")
        assert not session.has_webhooks()

    # Waits and signals

    def test_a_signal_wakes_the_runs_that_wait_for_it(self, session: JournalSession, other: JournalSession) -> None:
        paid = NewWait('["c1"]', 1, "paid", None)
        assert pause(session, paid) == pause(session, paid, run_id="r2") == "paused"
        assert pause(session, NewWait('["c1"]', 1, "another", 3600), run_id="r3") == "paused"
        session.wake_due()
        assert session.list_waits("r1") == [WaitRow('["c1"]', 1, "paid", None, None)]
        assert other.add_signal("paid", "[1]")
        other.wake_due()
        assert [read_status(session, name)[0] for name in ("r1", "r2", "r3")] == ["queued", "queued", "paused"]
        assert read_status(session) == ("queued", 3)
        assert session.list_waits("r1") == [WaitRow('["c1"]', 1, "paid", None, "[1]")]
        for each in (session, other):
            assert not each.add_signal("paid", "[2]")
            each.wake_due()
        assert read_status(session) == ("queued", 3)

    def test_a_signal_that_came_before_the_wait_counts(self, session: JournalSession) -> None:
        assert session.add_signal("paid", "null")
        session.wake_due()
        assert pause(session, NewWait('["c1"]', 1, "paid", None)) == "queued"
        assert session.list_waits("r1")[0].value == "null"

    def test_a_run_is_woken_when_a_call_has_waited_long_enough(self, session: JournalSession) -> None:
        assert pause(session, NewWait('["c1"]', 1, "", 3600), NewWait('["c2", "c1"]', 1, "paid", 3)) == "paused"
        waits = {wait.call_id: wait for wait in session.list_waits("r1")}
        times = [wait.until for wait in (waits["c2/c1"], waits["c1"])]
        assert times[0] is not None
        assert times[1] is not None
        assert 3_590_000 < times[1] - times[0] < 3_600_000
        session.wake_due()
        while session.read_clock() < times[0]:
            assert read_status(session)[0] == "paused"
            session.wake_due()
        session.wake_due()
        assert read_status(session) == ("queued", 3)

    def test_a_call_waits_for_one_thing_at_a_time(self, session: JournalSession) -> None:
        one, other = NewWait('["c1"]', 1, "one", None), NewWait('["c2"]', 1, "other", None)
        hold = session.append(start_and_claim(session), ['"w"'], waits=[one, other])
        hold = session.append(hold, ['"w"'], waits=[NewWait('["c1"]', 2, "", 60)], waits_over=['["c2"]'])
        assert [(wait.call, wait.number, wait.signal) for wait in session.list_waits("r1")] == [('["c1"]', 2, "")]
        with pytest.raises(Fenced):
            session.append(hold._replace(owner="w2"), ['"w"'], waits_over=['["c1"]'])
        assert len(session.list_waits("r1")) == 1
        assert session.release(hold, "paused") == "paused"

    def test_no_wake_up_is_lost(self, journal: Journal) -> None:
        """Let runs wait while their signals are sent: each of them is queued, whichever is first."""
        count = 12

        def send() -> None:
            session = journal.connect()
            for number in range(count):
                barrier.wait()
                session.add_signal(f"s{number}", "1")
                session.wake_due()
            session.close()

        barrier, session = threading.Barrier(2), journal.connect()
        sending = threading.Thread(target=send)
        sending.start()
        for number in range(count):
            hold = start_and_claim(session, f"r{number}")
            barrier.wait()
            hold = session.append(hold, ['"w"'], waits=[NewWait('["c"]', 1, f"s{number}", None)])
            session.release(hold, "paused")
        sending.join()
        session.wake_due()  # as a worker does again and again
        assert {read_status(session, f"r{number}")[0] for number in range(count)} == {"queued"}
        session.close()

    # Claiming and writing

    def test_a_run_is_claimed_once(self, session: JournalSession, other: JournalSession) -> None:
        session.start(new_run())
        run = session.claim("r1", 1, "w1")
        assert run is not None
        assert (run.status, run.owner, run.epoch) == ("running", "w1", 1)
        assert other.claim("r1", 1, "w2") is None
        assert other.claim_next("w2", ANY) == []

    def test_a_run_is_claimed_with_its_epoch_only(self, session: JournalSession) -> None:
        session.start(new_run())
        assert session.claim("r1", 2, "w1") is None
        assert session.claim("r2", 1, "w1") is None

    def test_facts_are_dense_and_come_back_as_they_were(self, session: JournalSession, other: JournalSession) -> None:
        hold = start_and_claim(session)
        hold = session.append(hold, [ODD_TEXT, "b"])
        hold = session.append(hold, [])
        hold = session.append(hold, ["c"])
        assert hold.next_seq == 3
        assert [(row.seq, row.data) for row in other.read_facts("r1")] == [(0, ODD_TEXT), (1, "b"), (2, "c")]
        assert [row.seq for row in other.read_facts("r1", after=0)] == [1, 2]
        assert [row.seq for row in other.read_facts("r1", after=0, limit=1)] == [1]

    @pytest.mark.parametrize(
        "change", [{"epoch": 2}, {"owner": "w2"}, {"next_seq": 0}, {"next_seq": 2}, {"run_id": "r2"}]
    )
    def test_whoever_does_not_hold_the_run_writes_nothing(
        self, session: JournalSession, change: dict[str, Any]
    ) -> None:
        hold = session.append(start_and_claim(session), ["a"])
        before = session.read_run("r1")
        wrong = hold._replace(**change)
        with pytest.raises(Fenced):
            session.append(wrong, ["b"], blobs={"x": "y"}, stop_reason="answered")
        with pytest.raises(Fenced):
            session.release(wrong, "queued")
        assert session.read_run("r1") == before
        assert len(session.read_facts("r1")) == 1
        assert session.read_blob("r1", "x") is None

    def test_a_refusal_leaves_the_rest_of_its_transaction(self, session: JournalSession, other: JournalSession) -> None:
        hold, second = start_and_claim(session), start_and_claim(session, "r2")
        with session.transaction():
            session.append(hold, ["a"])
            with suppress(Fenced):
                session.append(second._replace(epoch=9), ["b"])
            with suppress(StartRefused):
                session.start(new_run("r1", request_digest="another"))
            session.append(second, ["c"])
        assert [row.data for row in other.read_facts("r1")] == ["a"]
        assert [row.data for row in other.read_facts("r2")] == ["c"]

    def test_an_exception_rolls_the_transaction_back(self, session: JournalSession, other: JournalSession) -> None:
        hold = start_and_claim(session)
        with suppress(ZeroDivisionError), session.transaction():
            session.append(hold, ["a"])
            raise ZeroDivisionError
        assert other.read_facts("r1") == []
        assert session.append(hold, ["b"]).next_seq == 1

    def test_a_run_that_has_ended_takes_nothing_more(self, session: JournalSession) -> None:
        hold = session.append(start_and_claim(session), ["a"], stop_reason="answered")
        run = session.read_run("r1")
        assert run is not None
        assert (run.status, run.stop_reason, run.owner) == ("done", "answered", "")
        with pytest.raises(Fenced):
            session.append(hold, ["b"])
        assert not session.add_command("r1", "cancel", "{}")
        assert session.claim_next("w1", ANY) == []

    def test_blobs_belong_to_their_run(self, session: JournalSession) -> None:
        hold = start_and_claim(session)
        hold = session.append(hold, ["a"], blobs={"digest": ODD_TEXT})
        session.append(hold, ["b"], blobs={"digest": ODD_TEXT})
        assert session.read_blob("r1", "digest") == ODD_TEXT
        assert session.read_blob("r2", "digest") is None

    # Giving a run up

    def test_a_paused_run_is_woken_by_a_command(self, session: JournalSession) -> None:
        hold = start_and_claim(session)
        assert session.release(hold, "paused") == "paused"
        assert session.claim_next("w1", ANY) == []
        assert session.add_command("r1", "approve:1", ODD_TEXT)
        run = session.claim_next("w2", ANY)[0]
        assert (run.status, run.owner, run.epoch) == ("running", "w2", 3)
        assert [(each.name, each.data) for each in session.read_commands(["r1"])] == [("approve:1", ODD_TEXT)]

    def test_a_command_that_came_before_the_pause_is_not_missed(self, session: JournalSession) -> None:
        hold = start_and_claim(session)
        session.add_command("r1", "approve:1", "yes")
        assert session.release(hold, "paused") == "queued"
        hold = hold_of(session.claim("r1", 2, "w1"))
        hold = session.append(hold, ["given"], handled=["approve:1"])
        assert session.read_commands(["r1"]) == []
        assert session.release(hold, "paused") == "paused"

    def test_the_first_command_of_a_name_wins(self, session: JournalSession, other: JournalSession) -> None:
        start_and_claim(session)
        assert session.add_command("r1", "approve:1", "yes")
        assert not other.add_command("r1", "approve:1", "no")
        assert not other.add_command("r2", "approve:1", "no")
        found = session.find_command("r1", "approve:1")
        assert found is not None
        assert (found.data, found.is_handled) == ("yes", False)
        assert session.find_command("r1", "cancel") is None
        session.add_command("r1", "cancel", "{}")
        assert [each.name for each in session.read_commands(["r1", "r2"])] == ["approve:1", "cancel"]
        assert [each.name for each in session.read_commands(["r1"], names=["cancel"])] == ["cancel"]
        assert session.read_commands([]) == []

    def test_runs_with_a_command_are_found_whatever_their_lane_and_agent(self, session: JournalSession) -> None:
        session.set_lanes({"gpt": Lane(concurrency=1)})
        start_and_claim(session, "running", lane="gpt")
        for run_id in ("ends", "waits", "asked"):
            session.start(new_run(run_id, lane="gpt"))
        session.start(new_run("foreign", agent="other"))
        session.start(new_run("newer", format=STORED_FORMAT + 1))
        ended = ("running", "ends", "foreign", "newer")
        for run_id, name in (*((run_id, "cancel") for run_id in ended), ("asked", "approve:1")):
            session.add_command(run_id, name, "{}")
        assert [run.run_id for run in session.list_commanded(["cancel", "deadline"], 10)] == ["ends", "foreign"]
        assert session.list_commanded(["cancel"], 0) == []
        assert session.list_commanded(["deadline"], 10) == []

    def test_a_command_makes_a_queued_run_ready(self, session: JournalSession) -> None:
        start_and_claim(session)
        session.fail("r1", 1, "w1", delay_ms=60_000)
        session.add_command("r1", "cancel", "{}")
        assert [(run.run_id, run.epoch) for run in session.list_commanded(["cancel"], 10)] == [("r1", 2)]

    def test_a_hold_ends_when_the_run_goes_on_without_its_owner(self, session: JournalSession) -> None:
        before = start_and_claim(session)
        hold = session.append(before, ["a"])
        assert session.is_held(hold)
        assert not session.is_held(before)
        session.fail("r1", 1, "w1")
        assert not session.is_held(hold)

    def test_a_run_that_was_given_up_has_another_epoch(self, session: JournalSession) -> None:
        hold = start_and_claim(session)
        assert session.release(hold, "queued") == "queued"
        with pytest.raises(Fenced):
            session.append(hold, ["a"])
        run = session.claim_next("w2", ANY)[0]
        assert (run.epoch, run.deaths, run.takeovers) == (2, 0, 0)

    def test_a_failed_run_waits_a_while(self, session: JournalSession) -> None:
        start_and_claim(session)
        assert session.fail("r1", 1, "w1", delay_ms=60_000)
        assert not session.fail("r1", 1, "w1")
        assert session.claim_next("w1", ANY) == []
        run = session.read_run("r1")
        assert run is not None
        assert (run.status, run.epoch, run.deaths) == ("queued", 2, 1)

    def test_a_run_that_was_not_driven_counts_no_death(self, session: JournalSession) -> None:
        start_and_claim(session)
        assert session.fail("r1", 1, "w1", is_death=False)
        run = session.claim_next("w1", ANY)[0]
        assert (run.epoch, run.deaths) == (2, 0)

    # Who may claim what

    def test_the_highest_priority_is_claimed_first_then_the_oldest(self, session: JournalSession) -> None:
        for run_id, priority in (("low", -1), ("first", 0), ("second", 0), ("high", 5)):
            session.start(new_run(run_id, priority=priority))
        claimed = session.claim_next("w1", replace(ANY, count=3))
        assert [run.run_id for run in claimed] == ["high", "first", "second"]

    def test_a_worker_takes_only_what_it_can_read_and_has_agents_for(self, session: JournalSession) -> None:
        session.start(new_run("newer", format=STORED_FORMAT + 1))
        session.start(new_run("foreign", agent="other"))
        assert session.claim_next("w1", ANY) == []
        assert session.claim_next("w1", Wanted(agents=())) == []
        wide = Wanted(agents=("other", "helper"), format=STORED_FORMAT + 1, count=2)
        assert {run.run_id for run in session.claim_next("w1", wide)} == {"newer", "foreign"}

    def test_runs_with_deaths_can_be_left_alone(self, session: JournalSession) -> None:
        start_and_claim(session)
        session.fail("r1", 1, "w1")
        assert session.claim_next("w1", replace(ANY, max_deaths=0)) == []
        assert len(session.claim_next("w1", replace(ANY, max_deaths=1))) == 1

    # Lanes

    def test_a_lane_limits_how_many_run_at_once(self, session: JournalSession) -> None:
        session.set_lanes({"gpt": Lane(concurrency=2)})
        for number in range(4):
            session.start(new_run(f"r{number}", lane="gpt"))
        session.start(new_run("free"))
        claimed = session.claim_next("w1", ANY)
        assert [run.run_id for run in claimed] == ["r0", "r1", "free"]
        session.release(hold_of(claimed[0]), "paused")
        assert [run.run_id for run in session.claim_next("w2", ANY)] == ["r2"]

    def test_runs_with_a_limit_of_their_own_need_no_lane(self, session: JournalSession) -> None:
        for number in range(3):
            session.start(new_run(f"a{number}", lane="acme (2 at once)"))
            session.start(new_run(f"b{number}", lane="globex (1 at once)"))
        claimed = session.claim_next("w1", ANY)
        assert sorted(run.run_id for run in claimed) == ["a0", "a1", "b0"]
        assert session.claim_next("w1", ANY) == []
        end(session, hold_of(next(run for run in claimed if run.run_id == "a0")))
        assert [run.run_id for run in session.claim_next("w1", replace(ANY, count=1))] == ["a2"]

    def test_a_lane_limits_how_many_are_claimed_in_a_time(self, session: JournalSession) -> None:
        session.set_lanes({"gpt": Lane(rate=2, period=3600)})
        for number in range(3):
            session.start(new_run(f"r{number}", lane="gpt"))
        claimed = session.claim_next("w1", ANY)
        assert len(claimed) == 2
        for run in claimed:
            end(session, hold_of(run))
        assert session.claim_next("w1", ANY) == []
        session.set_lanes({"gpt": Lane(rate=2, period=0.001)})
        assert len(session.claim_next("w1", ANY)) == 1

    def test_a_full_lane_refuses_a_start_in_words(self, session: JournalSession) -> None:
        session.set_lanes({"gpt": Lane(waiting=1)})
        session.start(new_run("r1", lane="gpt"))
        with pytest.raises(StartRefused, match=r"gpt.*is full \(runs that wait: 1\)"):
            session.start(new_run("r2", lane="gpt"))
        assert not session.start(new_run("r1", lane="gpt")).is_new
        session.claim("r1", 1, "w1")
        assert session.start(new_run("r2", lane="gpt")).is_new

    def test_an_unknown_lane_is_refused_in_words(self, session: JournalSession) -> None:
        session.set_lanes({"gpt": Lane(concurrency=1, rate=3, period=2.5, waiting=None)})
        with pytest.raises(StartRefused, match=r"no lane 'other'.*gpt"):
            session.start(new_run(lane="other"))
        assert session.read_lanes() == {"gpt": Lane(concurrency=1, rate=3, period=2.5, waiting=None)}

    # Workers

    def test_a_run_is_taken_from_a_worker_that_does_not_beat(
        self, session: JournalSession, other: JournalSession
    ) -> None:
        hold = start_and_claim(session)
        assert other.sweep().taken == ()
        session.beat("w1", 0)
        session.beat("w2", LEASE_MS)
        swept = other.sweep()
        assert swept.taken == (("r1", 1),)
        assert "w2" in swept.alive
        assert "w1" not in swept.alive
        with pytest.raises(Fenced):
            session.append(hold, ["a"])
        run = other.claim_next("w2", ANY)[0]
        assert (run.epoch, run.deaths, run.takeovers) == (2, 1, 1)

    def test_a_worker_that_leaves_gives_its_runs_back(self, session: JournalSession) -> None:
        hold = start_and_claim(session)
        start_and_claim(session, "r2", owner="w2")
        session.leave("w1")
        with pytest.raises(Fenced):
            session.append(hold, ["a"])
        assert session.sweep().taken == ()
        run = session.claim_next("w3", ANY)[0]
        assert (run.run_id, run.epoch, run.deaths, run.takeovers) == ("r1", 2, 0, 0)

    def test_a_worker_sees_what_it_owns(self, session: JournalSession) -> None:
        hold = start_and_claim(session)
        start_and_claim(session, "r2", owner="w2")
        session.start(new_run("r3"))
        assert session.list_held("w1") == [("r1", 1)]
        session.release(hold, "queued")
        assert session.list_held("w1") == []

    def test_progress_forgives_deaths(self, session: JournalSession) -> None:
        start_and_claim(session)
        session.fail("r1", 1, "w1")
        hold = session.append(hold_of(session.claim("r1", 2, "w1")), ["a"])
        assert getattr(session.read_run("r1"), "deaths", None) == 1
        session.append(hold, ["b"], has_progress=True)
        assert getattr(session.read_run("r1"), "deaths", None) == 0

    def test_the_sweep_wakes_runs_whose_deadline_is_over(self, session: JournalSession) -> None:
        session.start(new_run("waits", deadline_ms=0))
        session.start(new_run("later", deadline_ms=600_000))
        hold = start_and_claim(session, "paused", deadline_ms=0)
        session.release(hold, "paused")
        session.sweep()
        session.sweep()
        found = session.read_commands(["waits", "later", "paused"])
        assert sorted((each.run_id, each.name) for each in found) == [("paused", "deadline"), ("waits", "deadline")]
        assert getattr(session.read_run("paused"), "status", None) == "queued"

    def test_a_run_that_is_only_to_be_ended_waits_for_nothing(self, session: JournalSession) -> None:
        """A worker that gave the run back does not know that it was cancelled meanwhile."""
        start_and_claim(session, "r1")
        session.start(new_run("r2"))
        for run_id in ("r1", "r2"):
            session.add_command(run_id, "cancel", "{}")
        assert session.fail("r1", 1, "w1", delay_ms=600_000, is_death=False)
        assert session.requeue("r2", 1, delay_ms=600_000)
        assert [run.run_id for run in session.list_commanded(["cancel"], 9)] == ["r1", "r2"]

    def test_workers_are_listed_with_what_they_say_of_themselves(self, session: JournalSession) -> None:
        at = session.beat("w1", LEASE_MS, '{"slots": 8}')
        rows = session.list_workers()
        assert [(row.worker, row.beat, row.expires, row.info) for row in rows] == [
            ("w1", at, at + LEASE_MS, '{"slots": 8}')
        ]
        session.leave("w1")
        assert session.list_workers() == []

    # Deltas

    def test_deltas_come_in_their_order_and_not_beyond_the_known_facts(
        self, session: JournalSession, other: JournalSession
    ) -> None:
        session.add_deltas(
            [DeltaRow("r1", 1, 1, "d"), DeltaRow("r1", 0, 2, "b"), DeltaRow("r1", 0, 1, "a"), DeltaRow("r2", 0, 1, "x")]
        )
        session.add_deltas([DeltaRow("r1", 0, 10, ODD_TEXT), DeltaRow("r1", 0, 1, "changed")])
        assert [row.data for row in other.read_deltas("r1", (-1, 0), 5)] == ["a", "b", ODD_TEXT, "d"]
        assert [row.data for row in other.read_deltas("r1", (0, 1), 0)] == ["b", ODD_TEXT]
        assert [row.data for row in other.read_deltas("r1", (0, 10), 1)] == ["d"]

    def test_whoever_sees_a_fact_sees_the_deltas_before_it(
        self, session: JournalSession, other: JournalSession
    ) -> None:
        hold = session.append(start_and_claim(session), ["a"])
        with session.transaction():
            session.add_deltas([DeltaRow("r1", 0, 1, "x")])
            session.append(hold, ["b"])
        assert len(other.read_facts("r1")) == 2
        assert len(other.read_deltas("r1", (-1, 0), 1)) == 1

    def test_deltas_of_ended_runs_are_dropped(self, session: JournalSession) -> None:
        end(session, start_and_claim(session, "r1"))
        start_and_claim(session, "r2")
        session.add_deltas([DeltaRow(run_id, 0, 1, "x") for run_id in ("r1", "r2", "gone")])
        assert session.drop_deltas(session.read_clock() + 1000) == 2
        assert session.read_deltas("r1", (-1, 0), 9) == []
        assert len(session.read_deltas("r2", (-1, 0), 9)) == 1

    # Engines

    def test_a_run_is_dispatched_once_for_each_epoch(self, session: JournalSession) -> None:
        session.start(new_run("low"))
        session.start(new_run("high", priority=1))
        assert [run.run_id for run in session.list_undispatched(10)] == ["high", "low"]
        session.mark_dispatched([("high", 1)])
        assert [run.run_id for run in session.list_undispatched(10)] == ["low"]
        assert session.requeue("high", 1)
        assert not session.requeue("high", 1)
        assert [(run.run_id, run.epoch) for run in session.list_undispatched(1)] == [("high", 2)]
        assert session.claim("high", 1, "w1") is None
        assert session.requeue("high", 2, delay_ms=60_000)
        assert [run.run_id for run in session.list_undispatched(10)] == ["low"]

    def test_runs_that_an_engine_has_are_listed_page_by_page(self, session: JournalSession) -> None:
        for run_id in ("c", "a", "b", "new"):
            session.start(new_run(run_id))
        for run_id in "abc":
            session.mark_dispatched([(run_id, 1)])
        later = session.read_clock() + 1000
        assert [run.run_id for run in session.list_dispatched(later, limit=2)] == ["a", "b"]
        assert [run.run_id for run in session.list_dispatched(later, after="b", limit=2)] == ["c"]
        assert session.list_dispatched(1) == []
        session.claim("a", 1, "w1")
        session.requeue("b", 1)
        assert [run.run_id for run in session.list_dispatched(later)] == ["c"]

    # Retention

    def test_old_runs_are_deleted_with_all_that_belongs_to_them(self, session: JournalSession) -> None:
        hold = start_and_claim(session, labels=(("tenant", "acme"),))
        session.add_command("r1", "cancel", "{}")
        session.add_deltas([DeltaRow("r1", 0, 1, "x")])
        session.append(hold, ["a"], blobs={"x": "y"}, stop_reason="cancelled")
        session.start(new_run("r2"))
        session.add_signal("paid", "1")
        assert session.prune(1) == []
        assert not session.add_signal("paid", "1")
        assert session.prune(session.read_clock() + 1000) == ["r1"]
        assert session.add_signal("paid", "1")
        assert session.read_run("r1") is None
        assert session.read_facts("r1") == []
        assert session.read_blob("r1", "x") is None
        assert session.find_command("r1", "cancel") is None
        assert session.read_deltas("r1", (-1, 0), 9) == []
        assert session.read_run("r2") is not None
        assert session.start(new_run("r1", labels=(("tenant", "acme"),))).is_new

    def test_a_chat_is_deleted_as_a_whole(self, session: JournalSession) -> None:
        end(session, start_and_claim(session, "r1", chat="c"))
        hold = start_and_claim(session, "r2", chat="c")
        assert session.prune(session.read_clock() + 1000) == []
        end(session, hold)
        assert sorted(session.prune(session.read_clock() + 1000, limit=1)) == ["r1", "r2"]

    # Watching

    def test_a_watch_notices_what_another_session_commits(self, journal: Journal, session: JournalSession) -> None:
        watch = journal.watch()
        while watch.wait(0):
            pass
        assert not watch.wait(0.02)
        hold = start_and_claim(session)
        assert watch.wait(60)
        while watch.wait(0):
            pass
        session.append(hold, ["a"])
        assert watch.wait(60)
        while watch.wait(0):
            pass
        session.add_deltas([DeltaRow("r1", 0, 1, "x")])
        assert watch.wait(60)
        watch.close()
