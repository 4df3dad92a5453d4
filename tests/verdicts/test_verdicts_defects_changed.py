"""The corpus of defects with one number changed: a scalar by one, an axis of the grid by one.

Nobody labeled these calls. Brute force says what is true of them, and verdicts may not differ:
what is proven holds, what is a violation is one, and what is wrong is not passed over in silence.
"""

from collections.abc import Iterator

import pytest

from corpus.questions.defects import Sample
from kvtrace.verdicts.judge import judge
from tests.support.defects import CORPUS
from tests.support.replacing import replace
from tests.support.thorough import usually
from tests.support.tiers import some
from tests.verdicts import brute_force

BOUNDS = ("out-of-bounds", "out-of-view")
MOST_PROGRAMS = 600
EVERY = usually(36, thorough=12)
"""All 1,203 of them take two minutes; this many apart are looked at."""


def changed() -> Iterator[Sample]:
    for sample in CORPUS:
        if sample.look_at or sample.programs > MOST_PROGRAMS:
            continue
        for name, value in sample.arguments.items():
            if type(value) is not int:
                continue
            for other in (value - 1, value + 1):
                if other >= 0:
                    arguments = {**sample.arguments, name: other}
                    text = f"{sample.name}, {name} = {other}"
                    yield replace(sample, name=text, arguments=arguments)
        for axis, extent in enumerate(sample.grid):
            grid = (*sample.grid[:axis], extent + 1, *sample.grid[axis + 1 :])
            yield replace(sample, name=f"{sample.name}, grid {grid}", grid=grid)


@pytest.mark.parametrize(
    "sample", some(list(changed())[::EVERY], 10, 2), ids=lambda s: f"{s.theme}: {s.name}"
)
def test_verdicts_agree_with_the_accesses_of_every_program(sample):
    watcher = brute_force.watched(sample)
    broken = brute_force.bounds_broken(sample, watcher)
    misaligned = brute_force.misaligned(sample, watcher)
    met = brute_force.meetings(sample, watcher)

    verdicts = judge(sample.call())

    places = {
        answer: {(v.rule, sample.mark_of(v.op)) for v in verdicts if v.verdict == answer}
        for answer in ("violation", "unknown")
    }
    found = {place for place in places["violation"] if place[0] in BOUNDS}
    undecided = {mark for rule, mark in places["unknown"] if rule == "out-of-bounds"}
    assert {place for place in broken if place[1] not in undecided} <= found
    if watcher.assertion is None:  # else the launch ended before some of them
        assert found <= broken
    assert {mark for rule, mark in places["violation"] if rule == "misaligned"} == misaligned
    races = [place for place in places["violation"] if place[0] == "race"]
    if not watcher.unknown:
        assert met or not races
    undecided_races = [place for place in places["unknown"] if place[0] == "race"]
    alike = any(v.rule == "race" and "write the same value" in v.message for v in verdicts)
    assert races or undecided_races or sample.meets or alike or not met
