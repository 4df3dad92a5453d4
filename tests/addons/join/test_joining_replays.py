"""Replays of graphs, by the kernels that were captured into them."""

import numpy as np

from kvtrace.addons.join.joining import are_replayed, join_replays
from kvtrace.addons.join.orders import Grade, Matches
from kvtrace.addons.join.sides import RecordedLaunches, TimedExecutions
from kvtrace.figures.causes import NONE
from tests.addons.join.arrays import executed, launched


def joined(own: RecordedLaunches, theirs: TimedExecutions) -> Matches:
    """Join all executions as replays."""
    found = Matches.none(theirs.look.size)
    join_replays(own, theirs, np.ones(theirs.look.size, bool), found, same_clock=True)
    return found


def captured(looks: list[int], graph: list[int], call: list[int] | None = None) -> RecordedLaunches:
    """Return launches that were captured one after another."""
    times = list(range(len(looks)))
    return launched(looks, times, times, graph=graph, call=call)


def test_executions_of_one_request_are_a_replay() -> None:
    theirs = executed([1, 2, 3, 4], correlation=[7, 7, 8, 9], graph=[NONE, NONE, NONE, 5])
    assert are_replayed(theirs).tolist() == [True, True, False, True]


def test_a_replay_is_of_the_graph_with_its_kernels() -> None:
    own = captured([1, 2, 2, 1, 3], graph=[4, 4, 4, 9, 9])
    theirs = executed([2, 1, 2, 3, 1], correlation=[7, 7, 7, 8, 8])
    found = joined(own, theirs)
    assert found.seq.tolist() == [1, 0, 2, 4, 3]
    assert found.graph.tolist() == [4, 4, 4, 9, 9]
    assert set(found.grade.tolist()) == {Grade.ORDERED}


def test_replayed_kernels_of_one_look_on_two_streams_have_no_launch() -> None:
    own = captured([1, 1], graph=[4, 4], call=[0, 1])
    found = joined(own, executed([1, 1], correlation=[7, 7], place=[0, 1]))
    assert found.call.tolist() == [NONE, NONE]


def test_similar_graphs_with_the_same_calls_give_calls_without_launches() -> None:
    own = captured([1, 2, 1, 2], graph=[4, 4, 9, 9])
    found = joined(own, executed([1, 2], correlation=[7, 7]))
    assert found.seq.tolist() == [NONE, NONE]
    assert found.call.tolist() == [1, 2]
    assert found.graph.tolist() == [NONE, NONE]


def test_similar_graphs_are_matched_in_turn_within_marked_steps() -> None:
    own = captured([5, 1, 1], graph=[2, 4, 9], call=[0, 1, 2])
    theirs = executed([5, 1, 1, 5, 1, 1])
    found = joined(own, theirs)
    assert found.seq.tolist() == [0, 1, 2, 0, 1, 2]
    ordered, inferred = Grade.ORDERED, Grade.INFERRED
    assert found.grade.tolist() == [ordered, inferred, inferred] * 2


def test_irregular_steps_do_not_match_similar_graphs() -> None:
    own = captured([5, 1, 1], graph=[2, 4, 9], call=[0, 1, 2])
    found = joined(own, executed([5, 1, 1, 5, 1]))
    assert found.seq.tolist() == [0, NONE, NONE, 0, NONE]


def test_replay_before_the_capture_is_not_matched() -> None:
    own = captured([1], graph=[4])
    assert joined(own, executed([1], start=[NONE])).seq.tolist() == [NONE]
    assert joined(own, executed([1])).seq.tolist() == [0]
