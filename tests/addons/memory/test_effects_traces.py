"""Effects of recorded calls, most of them Inductor's, are those that marking lane by lane gives."""

from collections import Counter
from pathlib import Path

import pytest

from kvtrace.addons.memory.effects import effects_of
from kvtrace.recorded_calls.reading import calls_of
from kvtrace.schema.trace import open_trace
from kvtrace.verdicts.binding import BoundCall
from tests.addons.memory.brute_force import NotMarked, assert_bounds, marked
from tests.support.thorough import usually

FIXTURES = Path(__file__).parents[2] / "fixtures"
MOST_LANES = usually(1 << 13, thorough=1 << 14)


@pytest.mark.sweep
def test_effects_of_recorded_calls_are_those_marked_lane_by_lane():
    trace = open_trace(FIXTURES / "h200" / "inductor")
    counts = Counter()

    for call in calls_of(trace, trace.runs[0]):
        if BoundCall(call).lanes > MOST_LANES:
            continue
        try:
            truth = marked(call)
        except NotMarked:
            counts["not marked"] += 1
            continue
        assert_bounds(effects_of(call), truth)
        counts["marked"] += 1

    assert counts["marked"] > 2 * counts["not marked"]
