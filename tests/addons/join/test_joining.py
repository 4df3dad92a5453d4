"""Joins of kvtrace's own timelines without their launches: all that can be found, none wrong."""

from pathlib import Path

import pytest

from kvtrace.addons.join.joining import JoinedExecutions
from kvtrace.addons.join.results import join
from kvtrace.schema.trace import select_runs
from tests.addons.join.times import NONE, Known, known

HOUR = 3_600_000_000_000
FIXTURES = ("device", "decoding", "inductor", "llama_graphs")


def joined(made: Known, *, by_order: bool = False) -> JoinedExecutions:
    """Join the one run of both."""
    (done,) = join(select_runs(made.recording), select_runs(made.times), by_order=by_order)
    return done.joined


def wrong(made: Known, found: JoinedExecutions) -> int:
    """Count executions with another launch or call than the one that kvtrace's timeline says."""
    seq, call = found.matches.seq, found.matches.call
    differs = (seq != NONE) & (made.seq != NONE) & (seq != made.seq)
    differs |= (call != NONE) & (made.call != NONE) & (call != made.call)
    return int(differs.sum())


def share(made: Known, found: JoinedExecutions) -> float:
    """Return the share of executions with a known call whose call was found."""
    has_call = made.call != NONE
    return float((found.matches.call[has_call] != NONE).mean())


@pytest.mark.parametrize("name", FIXTURES)
def test_host_times_match_all_executions(name: str, tmp_path: Path) -> None:
    made = known(name, tmp_path)
    found = joined(made)
    assert wrong(made, found) == 0
    assert share(made, found) == 1
    assert found.by_time
    assert found.shift_ns == 0


@pytest.mark.parametrize("name", FIXTURES)
def test_order_alone_agrees_with_host_times(name: str, tmp_path: Path) -> None:
    made = known(name, tmp_path)
    found = joined(made, by_order=True)
    assert not found.by_time
    assert wrong(made, found) == 0
    assert share(made, found) > 0.99


@pytest.mark.parametrize("name", FIXTURES)
def test_times_of_another_run_are_joined_by_order(name: str, tmp_path: Path) -> None:
    made = known(name, tmp_path, requested=False, same_process=False, later_ns=HOUR)
    found = joined(made)
    assert wrong(made, found) == 0
    assert share(made, found) > 0.99
    # No execution begins before its launch, and the clocks were an hour apart.
    assert abs(found.shift_ns + HOUR) < 1_000_000_000


@pytest.mark.parametrize("name", FIXTURES)
def test_part_of_another_run_is_matched_without_wrong_launches(name: str, tmp_path: Path) -> None:
    made = known(name, tmp_path, requested=False, same_process=False, rows=slice(100, 200))
    assert wrong(made, joined(made)) == 0
