"""A pass that ends at a time: its calls in order, and no trace of the rest in the trace."""

import shutil
from types import SimpleNamespace

import pytest

from kvtrace.clients import Client, recorded
from kvtrace.clients.recorded import InTime, replay
from kvtrace.recorded_calls.reading import evaluable_calls
from kvtrace.schema.layout import PARTIAL, results_beside
from kvtrace.schema.trace import select_runs
from tests.support.tree import ROOT

LATE, NOW = float("inf"), 0.0


class Noting(Client):
    """A client that notes which calls it is shown."""

    name = "noting"

    def __init__(self):
        self.seen = []

    def pre_run(self, call):
        self.seen.append(call.call_id)

    def programs(self, extents):
        return ()


@pytest.fixture
def selection(tmp_path):
    """A trace of 13 unique calls that no pass has analyzed."""
    fixture = ROOT / "tests" / "fixtures" / "h200" / "device"
    derived = shutil.ignore_patterns("part-[a-z]*")
    return select_runs(shutil.copytree(fixture, tmp_path / "out", ignore=derived))


@pytest.fixture
def order(selection):
    """All calls, the last one first."""
    return sorted(evaluable_calls(selection.trace, selection.runs[0]), reverse=True)


def test_calls_are_evaluated_in_the_order_that_is_given(selection, order):
    noting = Noting()
    outcome = replay(selection.trace, selection.runs[0], None, [noting], InTime(order, LATE))
    assert noting.seen == order
    assert (outcome.calls, outcome.remaining) == (13, 0)


def test_rows_do_not_depend_on_the_order(selection, order):
    trace, (run,) = selection.trace, selection.runs
    replay(trace, run)
    rows = [trace.table(name).to_pylist() for name in ("ops", "loops", "accesses")]
    replay(trace, run, in_time=InTime(order, LATE))
    assert [trace.table(name).to_pylist() for name in ("ops", "loops", "accesses")] == rows


def test_a_pass_ends_after_the_call_during_which_its_time_is_used_up(selection, order):
    trace, (run,) = selection.trace, selection.runs
    with results_beside(trace.path):
        outcome = replay(trace, run, None, ["profiler"], InTime(order, NOW))
        assert set(trace.table("ops")["call_id"].to_pylist()) == {order[0]}
        facts = trace.passes(run.run_id)["profiler"][PARTIAL]
    assert (outcome.calls, outcome.remaining) == (1, 12)
    assert facts["remaining"] == sorted(order[1:])
    assert trace.passes(run.run_id) == {}


def test_time_that_is_used_up_by_the_last_call_leaves_no_rest(selection, order, monkeypatch):
    trace, (run,) = selection.trace, selection.runs
    clock = SimpleNamespace(process_time=lambda: float(len(finished)))
    finished: list[int] = []
    monkeypatch.setattr(recorded, "time", clock)
    monkeypatch.setattr(InTime, "end_of", lambda *_: LATE)
    outcome = replay(
        trace, run, lambda done, _: finished.append(done), ["profiler"], InTime(order, 13.0)
    )
    assert (outcome.calls, outcome.remaining) == (13, 0)
    assert PARTIAL not in trace.passes(run.run_id)["profiler"]


def test_a_call_that_takes_its_share_of_the_time_is_ended_and_has_no_rows(
    selection, order, monkeypatch
):
    trace, (run,) = selection.trace, selection.runs
    noting = Noting()
    monkeypatch.setattr(InTime, "end_of", lambda _, call_id, *__: LATE if call_id % 2 else NOW)
    even = [call_id for call_id in order if not call_id % 2]
    with results_beside(trace.path):
        outcome = replay(trace, run, None, ["profiler", noting], InTime(order, LATE))
        assert not set(trace.table("ops")["call_id"].to_pylist()) & set(even)
        facts = trace.passes(run.run_id)["profiler"][PARTIAL]
    assert noting.seen == order  # clients that need no evaluation have seen each call
    assert facts["remaining"] == sorted(even)
    assert (outcome.calls, outcome.remaining, outcome.ended_early) == (
        13 - len(even), len(even), len(even)
    )  # fmt: skip
    assert outcome.failures == ()


def test_a_call_gets_half_of_the_time_or_what_the_rest_does_not_need():
    in_time = InTime((0, 1, 2), 40.0, {0: 1, 1: 4, 2: 45})
    assert in_time.end_of(0, 0.0, 0.0, 50) == 20.0
    assert in_time.end_of(2, 0.0, 0.0, 50) == pytest.approx(36.0)
    assert in_time.end_of(2, 0.0, 30.0, 45) == 40.0
    assert in_time.end_of(0, 0.0, 39.0, 50) == 42.0  # long enough for most calls
    assert in_time.end_of(2, 0.0, 50.0, 45) == 80.0  # the rest costs less than what was spent


def test_a_pass_goes_on_while_the_rest_costs_less_than_what_was_spent():
    in_time = InTime((0, 1, 2), 10.0, {0: 1, 1: 4, 2: 3})
    assert not in_time.is_over(0.0, 9.0, 8)
    assert in_time.is_over(0.0, 10.0, 7)
    assert not in_time.is_over(0.0, 10.0, 3)
    assert in_time.is_over(0.0, 20.0, 3)  # twice its time is the end
    assert InTime((0, 1), 10.0).is_over(0.0, 10.0, 0)  # without an estimate
