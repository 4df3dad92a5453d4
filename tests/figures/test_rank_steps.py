"""Splits of steps of ranks, compared with a simulation that looks at each unit of time."""

import random

import numpy as np
import pytest

from kvtrace.figures.collectives import matched_collectives
from kvtrace.figures.rank_steps import PARTS, read_rank_steps
from tests.support.replacing import replace
from tests.support.simulated_ranks import (
    Step,
    changed,
    planned,
    simulated,
    true_parts,
    write_ranks,
)


def rank_steps(selection):
    collectives = matched_collectives(selection.trace, selection.runs)
    return list(read_rank_steps(selection.trace, collectives))


def drawn_plans(seed):
    chance = random.Random(seed)
    return [
        [
            Step(
                pause=chance.choice([0, 0, 3, 30]),
                collect=chance.choice([0, 0, 25]),
                recording=chance.choice([0, 0, 15]),
                launch=chance.choice([1, 2, 8]),
                work=chance.choice([1, 12, 20]),
                transfer=3,
            )
            for _ in range(5)
        ]
        for _ in range(3)
    ]


@pytest.mark.parametrize("seed", range(6))
def test_each_part_of_each_step_is_as_a_simulation_counts_it(tmp_path, seed):
    # given three ranks that pause, collect garbage, launch and compute at random
    ranks = simulated(drawn_plans(seed))
    # when their steps are split
    steps_of_ranks = rank_steps(write_ranks(tmp_path, ranks))
    # then each part is that of the simulation, and all parts add up to the step
    for index, steps in enumerate(steps_of_ranks):
        truth = true_parts(ranks, index)
        for name in ("compute", "transfer", "waiting", "recording", "collect", "wait"):
            assert steps.part(name).tolist() == [step.get(name, 0) for step in truth], name
        rest = [step.get("", 0) for step in truth]
        assert steps.part("pause", "launch", "unknown", "unmatched").tolist() == rest
        assert (steps.parts.sum(axis=0) == steps.duration).all()
        assert not steps.part("unmatched", "unknown").any()


def test_pause_belongs_to_the_step_whose_mark_came_before_it(tmp_path):
    # given a rank that pauses after the marks of steps 2 and 5
    plans = changed(planned(2, 8), 1, range(2, 3), pause=500)
    ranks = simulated(changed(plans, 1, range(5, 6), pause=500))
    steps = rank_steps(write_ranks(tmp_path, ranks))[1]
    # then these steps have the pauses, which end with the first request
    assert np.flatnonzero(steps.part("pause")).tolist() == [2, 5]
    assert steps.part("pause")[2] == 502 * 100_000


def test_waiting_is_counted_for_the_rank_that_came_last(tmp_path):
    # given a rank with more device work than both others
    ranks = simulated(changed(planned(3, 6), 2, range(6), work=20))
    steps = rank_steps(write_ranks(tmp_path, ranks))
    # then the others waited for it alone, and it for none
    for index in range(2):
        waited = steps[index].waited_for
        assert waited[2] == steps[index].part("waiting").sum() > 0 == waited[:2].sum()
    assert not steps[2].waited_for.any()


def test_collectives_that_are_not_matched_are_neither_transfer_nor_waiting(tmp_path):
    # given a rank whose collectives are of another name from the third on
    ranks = simulated(planned(2, 4))
    selection = write_ranks(tmp_path, ranks[:1], world=2)
    steps = rank_steps(selection)[0]
    # then their time is a part of its own, and the parts still add up
    assert steps.part("unmatched").sum() > 0 == steps.part("transfer", "waiting").sum()
    assert (steps.parts.sum(axis=0) == steps.duration).all()


def test_idle_time_whose_request_is_not_recorded_has_no_cause(tmp_path):
    ranks = simulated(planned(2, 4))
    for rank in ranks:
        rank.kernels = [(begin, end, None) for begin, end, _ in rank.kernels]
        rank.collectives = [(begin, end, None) for begin, end, _ in rank.collectives]
        rank.waits.clear()
    steps = rank_steps(write_ranks(tmp_path, ranks))[0]
    assert steps.part("unknown").sum() > 0 == steps.part("launch", "pause").sum()


def test_steps_are_those_that_all_ranks_have(tmp_path):
    # given a rank that was killed two steps before the others ended
    ranks = simulated(planned(2, 8))
    ranks[1].steps = ranks[1].steps[:-2]
    steps = rank_steps(write_ranks(tmp_path, ranks))
    assert [rank.duration.size for rank in steps] == [6, 6]


def test_whole_time_is_one_step_where_no_steps_are_known(tmp_path):
    ranks = simulated([[replace(step, work=30) for step in plan] for plan in planned(2, 2)])
    (first, _) = rank_steps(write_ranks(tmp_path, ranks, marked=False))
    assert first.duration.size == 1
    assert first.parts.shape == (len(PARTS), 1)
    assert first.parts.sum() == first.duration[0]
