"""What summaries say of the catalog's launches is what the evaluator sees them touch.

A part of the catalog is looked at; `KVTRACE_TEST_THOROUGH=1` looks at all of it (a minute;
4,724 of 4,749 memory ops the same, 25 unknown: masks made of a float's bits, and a spin lock).
"""

from collections import Counter

import pytest

from kvtrace.symbolic.walk import summarize
from tests.kernels.catalog import CASES
from tests.kernels.launching import bind, compile_for, with_tensors
from tests.support.thorough import THOROUGH
from tests.symbolic.predicting import compared

HONEST = {"unknown: the bits of a float", "unknown: the trips of a while loop"}


def some_cases():
    """Every case, or one of each op and variant."""
    seen = set()
    for case in CASES:
        kind = (case.op.split("-")[0], case.variant)
        if THOROUGH or kind not in seen:
            seen.add(kind)
            yield case


def outcome_of(case):
    arguments = with_tensors(case.inputs)
    module = compile_for(case.kernel, arguments, case.constexprs)
    return compared(summarize(module), bind(case.kernel, arguments), case.grid)


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(8))
def test_summary_predicts_the_evaluators_accesses(part):
    cases = list(some_cases())[part::8]
    outcomes = Counter()

    for case in cases:
        outcome = outcome_of(case)
        assert not [o for o in outcome.values() if o.startswith("differs")], (case.name, outcome)
        assert outcome, case.name
        outcomes.update(outcome.values())

    assert set(outcomes) <= {"same", *HONEST}
    assert outcomes["same"] > 0.9 * outcomes.total()
