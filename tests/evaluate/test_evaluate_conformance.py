"""Cases of the catalog have the expected results in the evaluator; usually one case in three."""

import numpy as np
import pytest

from tests.kernels.case import Case, difference
from tests.kernels.catalog import ALL_CASES, LEFT_OUT
from tests.kernels.launching import launch, to_array, with_tensors
from tests.support.thorough import usually

pytestmark = pytest.mark.usefixtures("free_driver")


def evaluated(case: Case) -> dict[str, np.ndarray]:
    """Return the outputs of a case."""
    arguments = with_tensors(case.inputs)
    launch(case.kernel, case.grid, arguments, case.constexprs)
    return {name: to_array(arguments[name]) for name in case.outputs}


def marked(cases):
    for at, case in enumerate(cases):
        lacking = LEFT_OUT.get(case.name, "")
        marks = [pytest.mark.skipif(bool(lacking), reason=lacking)]
        yield pytest.param(case, marks=[*marks, *[pytest.mark.sweep][: at % 4]])


@pytest.mark.parametrize(
    "case", list(marked(ALL_CASES[:: usually(3, thorough=1)])), ids=lambda case: case.name
)
def test_the_evaluator_gives_the_expected_results(case, record_property):
    record_property("conformance", (case.op, case.dtype, bool(case.undefined)))
    with np.errstate(all="ignore"):
        expected = case.expected(case.inputs)

    for name, got in evaluated(case).items():
        result = difference(got, expected[name], case.bound)
        assert result.within, (name, result)
