"""Every case of the catalog: evaluated results are within the bounds around exact results."""

import numpy as np
import pytest

from kvtrace.evaluate import evaluate
from kvtrace.evaluate.errors import Undecided
from kvtrace.evaluate.rounding import from_memory
from kvtrace.evaluate.shadows.errors.analysis import Deviations
from kvtrace.evaluate.shadows.errors.roundings import GrantedRoundings
from tests.kernels.catalog import CASES
from tests.kernels.launched import Launched
from tests.support.thorough import usually

pytestmark = pytest.mark.usefixtures("free_driver")

#: One case in so many.
EACH = usually(6, thorough=1)
PARTS = 4


def count_outside_bounds(case):
    """Return how many results of a case lie outside their bounds, and how many have bounds."""
    launched = Launched(case.kernel, case.inputs, case.outputs, case.constexprs, case.grid)
    call = launched.call()
    result = Deviations(call.module, granted=GrantedRoundings(narrow=True))
    with np.errstate(all="ignore"):
        evaluate(call.module, call.arguments, call.grid, kernel=call.kernel, instrument=result)
        result.memory.finish()
        wrong = known = 0
        for tensor in call.arguments:
            storage_planes = result.memory.planes.by_storage.get(
                id(getattr(tensor, "storage", None))
            )
            if (
                storage_planes is None
                or storage_planes[0] != tensor.element.bytes
                or tensor.element.kind != "f"
            ):
                continue
            size, phase, planes = storage_planes
            held = tensor.storage.data[phase : phase + len(planes) * size]
            values = from_memory(held.view(tensor.element.memory), tensor.element)
            near, worst = planes["near"], planes["worst"]
            bounded = np.isfinite(near) & np.isfinite(values.astype(np.float64))
            wrong += int((np.abs(planes["off"][bounded]) > near[bounded]).sum())
            wrong += int((near > worst).sum())
            known += int(bounded.sum())
    return wrong, known


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(PARTS))
def test_evaluated_results_of_the_catalog_are_within_their_bounds(part, say):
    wrong, known, undecided = [], 0, []
    for case in CASES[part * EACH :: PARTS * EACH]:
        try:
            result, bounded = count_outside_bounds(case)
        except Undecided as error:
            undecided.append((case.name, str(error)))
            continue
        known += bounded
        if result:
            wrong.append((case.name, result))
    say("deviation", f"part {part}: {known} elements bounded", *map(str, undecided))
    assert wrong == []
    assert known
    assert len(undecided) < len(CASES) / EACH / PARTS / 10
