"""Effects of the catalog's launches are those that marking every lane's bytes gives."""

from collections import Counter

import pytest

from kvtrace.addons.memory.effects import effects_of
from kvtrace.schema.errors import KvtraceError
from tests.addons.memory.brute_force import assert_bounds, call_of_case, marked
from tests.kernels.catalog import CASES
from tests.support.thorough import THOROUGH

PARTS = 4
pytestmark = [pytest.mark.sweep, pytest.mark.usefixtures("free_driver")]


def some_cases():
    """Every case, or one of each kernel and variant."""
    seen = set()
    for case in CASES:
        kind = (case.kernel, case.variant, case.op.split("-")[0])
        if THOROUGH or kind not in seen:
            seen.add(kind)
            yield case


@pytest.mark.parametrize("part", range(PARTS))
def test_effects_are_those_marked_lane_by_lane(part):
    counts = Counter()

    for case in list(some_cases())[part::PARTS]:
        call = call_of_case(case)
        try:
            truth = marked(call)
        except (KvtraceError, AssertionError):
            counts["not marked"] += 1
            continue
        effects = effects_of(call)
        assert_bounds(effects, truth)
        counts.update("exact" if effect.exact else effect.reason for effect in effects.storages)
        counts["calls"] += 1

    print(counts)
    assert counts["calls"] >= 100 / PARTS
