"""Effects of the catalog's launches are those that marking every lane's bytes gives."""

from collections import Counter
from itertools import combinations

import pytest

from kvtrace.addons.memory.effects import effects_of
from kvtrace.evaluate import TensorArgument
from kvtrace.schema.errors import KvtraceError
from tests.addons.memory.brute_force import assert_bounds, call_of_case, marked
from tests.kernels.catalog import CASES
from tests.support.replacing import replace
from tests.support.thorough import THOROUGH, usually

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


def with_common_storages(call):
    """The call with one tensor an element behind another, for each pair of elements of a width."""
    tensors = [a for a in call.arguments if isinstance(a, TensorArgument)]
    for first, second in combinations(tensors, 2):
        width = first.element.bytes
        if first.storage is second.storage or width != second.element.bytes:
            continue
        moved = replace(second, storage=first.storage, offset_bytes=first.offset_bytes + width)
        yield replace(call, arguments=tuple(moved if a is second else a for a in call.arguments))


@pytest.mark.parametrize("part", range(PARTS))
def test_effects_are_those_marked_lane_by_lane(part):
    counts = Counter()

    for case in list(some_cases())[part::PARTS]:
        effects = effects_of(call := call_of_case(case))
        assert_bounds(effects, marked(call))
        counts.update(not effect.reason for effect in effects.storages)
        counts["calls"] += 1

    assert counts["calls"] >= 100 / PARTS
    assert not counts[False]


@pytest.mark.parametrize("part", range(PARTS))
def test_effects_of_tensors_in_one_storage_are_those_marked_lane_by_lane(part):
    counts = Counter()

    for case in list(some_cases())[part :: PARTS * usually(3, thorough=1)]:
        for call in with_common_storages(call_of_case(case)):
            try:
                truth = marked(call)
            except (KvtraceError, IndexError):  # another tensor's values became its indices
                continue
            effects = effects_of(call)
            assert_bounds(effects, truth)
            counts.update(not effect.reason for effect in effects.storages)

    assert counts[True] > 20 * counts[False]
