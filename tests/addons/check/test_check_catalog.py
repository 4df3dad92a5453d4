"""Every case of the catalog: a device that does exactly what the evaluator does agrees."""

import numpy as np
import pytest

from tests.addons.check.launched import Launched
from tests.kernels.catalog import CASES
from tests.support.thorough import usually

pytestmark = pytest.mark.usefixtures("free_driver")

#: One case in so many.
EACH = usually(6, thorough=1)
PARTS = 4

#: Ops of which nothing can be said: what the IR leaves open, what depends on an order, what is made
#: in steps of the compiler's choice, functions whose accuracy nobody states.
UNDECIDED = (
    "//", "%", "<<", ">>", "to", "cat", "atomic_cas", "atomic_xchg", "dot_scaled", "sum",
    "libdevice.fast_", "libdevice.cyl_", "libdevice.j", "libdevice.y", "libdevice.lgamma",
    "libdevice.rcp64h",
)  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(PARTS))
def test_results_of_the_evaluator_agree_with_the_ir(part, say):
    answers = {"agrees": [], "undecided": []}
    for case in CASES[part * EACH :: PARTS * EACH]:
        launched = Launched(case.kernel, case.inputs, case.outputs, case.constexprs, case.grid)
        with np.errstate(all="ignore"):
            found = launched.checked(launched.meant())
        wrong = [(each.argument, each.worst) for each in found.tensors if len(each.differing)]
        assert found.answer != "differs", (case.name, wrong)
        assert found.answer == "agrees" or case.op.startswith(UNDECIDED), (case.name, found.reason)
        answers[found.answer].append((case.name, found.reason))
    counts = {answer: len(cases) for answer, cases in answers.items()}
    say("oracle", f"catalog, part {part}: {counts}", *map(str, answers["undecided"]))
    assert len(answers["undecided"]) < len(answers["agrees"]) / 10
