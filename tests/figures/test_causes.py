"""Launches in order, the graphs that they were captured into, and requests by number."""

import numpy as np

from kvtrace.figures.causes import (
    NONE,
    Launches,
    RequestRows,
    by_place,
    device_look,
    places,
    share_request,
)


def integers(*values):
    return np.asarray(values, np.int64)


def launches(seq, leave, graph):
    same = np.zeros(len(seq), np.int64)
    return Launches(
        integers(*seq), same, same, integers(*leave), same, integers(*graph), integers(*seq)
    )


def test_a_stream_runs_launches_in_the_order_in_which_they_returned():
    # The first tried the second out before it launched.
    assert launches([0, 1, 2], [9, 5, 9], [NONE] * 3).in_order().seq.tolist() == [1, 0, 2]


def test_graphs_come_in_the_order_of_their_captures():
    both = launches([0, 1, 2, 3], [1, 2, 3, 4], [8, 3, NONE, 8])
    assert [(graph, own.seq.tolist()) for graph, own in both.of_graphs()] == [(8, [0, 3]), (3, [1])]


def test_no_graph_is_yielded_without_launches():
    assert list(Launches.joined([]).of_graphs()) == []


def test_clusters_multiply_the_first_axis_of_the_grid():
    assert device_look("add_0d1", "add", 2, (3, 4, 1)) == ("add_0d1", (6, 4, 1))
    assert device_look(None, "add", None, (3, 4, 1)) == ("add", (3, 4, 1))


def test_call_with_an_empty_or_unknown_grid_has_no_executions():
    assert device_look("add", None, 1, (3, 0, 1)) is None
    assert device_look("add", None, 1, (3, None, 1)) is None


def test_equal_stream_handles_of_two_devices_have_different_places():
    place = places(integers(0, 1, 0), integers(7, 7, NONE))
    assert [rows.tolist() for _, rows in by_place(place)] == [
        [True, False, False], [False, False, True], [False, True, False],
    ]  # fmt: skip


def test_first_of_several_requests_with_one_number_is_found():
    rows = RequestRows(integers(5, 3, 5))
    assert rows.of(integers(3, 5, 4, 9)).tolist() == [1, 0, NONE, NONE]
    assert RequestRows(integers()).of(integers(1)).tolist() == [NONE]


def test_executions_of_a_replay_share_their_request():
    assert share_request(integers(4, 5, 4)).tolist() == [True, False, True]
