"""Pace of the recording's thread: its share of the time, and who does not wait for it."""

import os
import threading
import time
from pathlib import Path

import pytest

from kvtrace.capture.journal import Journal
from kvtrace.capture.pacing import SHARE, Pace, rest
from kvtrace.capture.records import KernelRecord
from kvtrace.capture.session import Session
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from kvtrace.settings import DEFAULT
from kvtrace.surroundings import Event


class Slept(Event):
    """An event that is never set, and adds up for how long it was waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    def wait(self, seconds: float = -1) -> bool:
        self.seconds += seconds
        return False


def busy(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        rest()


def test_sleep_makes_up_for_the_processor_time_of_the_work() -> None:
    pace = Pace()
    pace._hurried = slept = Slept()
    pace.begin()
    try:
        begin, used = time.monotonic(), time.thread_time()
        busy(0.02)
        rest()
        wall, used = time.monotonic() - begin + slept.seconds, time.thread_time() - used
    finally:
        pace.end()
    assert slept.seconds > 0.1  # in slices, each after one millisecond
    assert used - 0.002 <= SHARE * wall


def test_other_threads_are_not_paced() -> None:
    pace = Pace()
    pace._hurried = slept = Slept()
    thread = threading.Thread(target=pace.begin)
    thread.start()
    thread.join()
    busy(0.005)
    pace.rest()
    assert slept.seconds == 0


def session_with_backlog(folder: Path) -> Session:
    """Return a session whose thread rests within a round, as each submission takes long."""
    session = Session(str(folder / "out"), DEFAULT)
    session.add_kernel(KernelRecord(name="k", origin="jit"))
    journal = session._journal
    assert journal is not None
    while not journal._paces_itself:
        time.sleep(0.01)
    for number in range(40):
        session.later(lambda: busy(0.003))
        session.add_mark(f"mark {number}", 1, 2, {})
    return session


@pytest.mark.process
def test_a_fork_and_the_end_do_not_wait_for_the_pace(tmp_path: Path) -> None:
    session = session_with_backlog(tmp_path)
    time.sleep(0.6)  # within a round
    begin = time.monotonic()
    child = os.fork()
    if not child:
        os._exit(0)
    forked = time.monotonic() - begin
    os.waitpid(child, 0)
    session.stop()
    assert open_trace(session.out).table("marks").num_rows == 40
    assert forked < 40 * 0.003 / SHARE / 2, "a fork waited for the sleeps of a round"


def test_the_first_round_is_not_paced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paced: list[bool] = []
    cycle = Journal._cycle
    monkeypatch.setattr(
        Journal,
        "_cycle",
        lambda self, *p, **n: paced.append(self._paces_itself) or cycle(self, *p, **n),
    )
    session = Session(str(tmp_path / "out"), DEFAULT)
    session.add_kernel(KernelRecord(name="k", origin="jit"))
    while len(paced) < 2:
        time.sleep(0.01)
    session.stop()
    assert paced[:2] == [False, True]


def test_a_long_round_is_a_host_event_with_its_processor_time(tmp_path: Path) -> None:
    session = session_with_backlog(tmp_path)
    time.sleep(1.2)
    session.stop()
    events = plain_rows(open_trace(session.out).table("host_events"))
    rounds = [event for event in events if event["kind"] == "record"]
    assert rounds
    assert len({event["record"] for event in rounds}) == len(rounds)
    assert {event["thread"] for event in rounds} != {threading.get_native_id()}
    assert all(event["processor_ns"] >= 5_000_000 for event in rounds)
    assert all(event["begin"] < event["end"] for event in rounds)
