"""Verdicts on undefined lanes compared with runs with other numbers in them.

The kernels of the catalog have their loads' `other` taken away. Where runs of the whole grid then
store something else for another number in these lanes, that must have been found, or be unknown.
"""

import math
from collections import Counter
from copy import deepcopy
from itertools import islice

import pytest

from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.errors import DeviceAssertion
from kvtrace.ir import Module
from kvtrace.ir.attributes import DenseArrayAttribute
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.taint import leaves_lanes
from kvtrace.verdicts.judge import judge
from tests.kernels.catalog import CASES
from tests.kernels.launching import with_tensors
from tests.support.defects import CORPUS
from tests.support.replacing import replace
from tests.support.thorough import in_turn, usually
from tests.verdicts.brute_force import stored_by, with_contents
from tests.verdicts.mutants import mutants
from tests.verdicts.racing import call_of

pytestmark = pytest.mark.usefixtures("free_driver")

RULES = ("undefined-lanes", "undefined-use")
MOST_MUTANTS = 7
#: How many tests share the corpus, which processes run side by side.
PARTS = 4
#: Mutants of each sample of the corpus, and of how many samples one is taken.
OF_A_SAMPLE = usually(1, thorough=3)
EACH = usually(3, thorough=1)


def without_other(module: Module) -> Module:
    """A copy of a module whose loads leave masked lanes without a value."""
    copy = deepcopy(module)
    for op in copy.ops:
        sizes = op.attributes.get("operandSegmentSizes")
        if op.name == "tt.load" and sizes is not None and list(sizes.values)[:3] == [1, 1, 1]:
            op.operands = op.operands[:2]
            rest = DenseArrayAttribute(sizes.element, (1, 1, 0, *sizes.values[3:]))
            op.attributes = {**op.attributes, "operandSegmentSizes": rest}
    return copy


def check(call: Call) -> Counter:
    """Judge a call and hold it against its runs; give what was said."""
    found = judge(call, RULES)
    answers = Counter(verdict.verdict for verdict in found)
    try:
        runs = [
            stored_by(call.module, call.arguments, call.grid, fill)
            for fill in (0, 100, float("nan"))
        ]
    except (KvtraceError, DeviceAssertion, MemoryError, ValueError):
        return answers
    if runs[0] != runs[1]:
        answers["changed"] += 1
        assert answers["violation"] or answers["unknown"], (call.kernel, call.grid)
    elif runs[0] == runs[2]:
        answers["the same"] += 1
    if runs[0] != runs[2]:
        assert answers["violation"] or answers["unknown"], (call.kernel, call.grid)
    for verdict in found:
        answers[verdict.reason] += verdict.verdict == "unknown"
    return answers


def cases():
    """One case of each kernel of the catalog."""
    return list({id(case.kernel): case for case in CASES}.values())


@pytest.mark.sweep
def test_verdicts_on_mutants_of_the_catalog_without_other_agree_with_brute_force(say):
    answers, calls = Counter(), 0
    for case in cases():
        arguments = with_tensors(case.inputs)
        call = call_of(case.kernel, case.grid, arguments, case.constexprs, recorded=True)
        if all(verdict.verdict == "proven" for verdict in judge(call, RULES)):
            answers["nothing as it is"] += 1
        bare = replace(call, module=without_other(call.module))
        if not any(leaves_lanes(op) for op in bare.module.ops):
            continue
        for _, mutant in islice(mutants(bare), MOST_MUTANTS):
            answers += check(mutant)
            calls += 1
    say("undefined lanes", f"catalog without other, {calls} calls: {dict(answers)}")
    assert answers["violation"]
    assert answers["changed"]
    assert answers["nothing as it is"] == len(cases())


@pytest.mark.sweep
@pytest.mark.parametrize("part", in_turn(range(PARTS), 2))
def test_verdicts_on_mutants_of_defects_without_other_agree_with_brute_force(say, part):
    answers, calls = Counter(), 0
    for sample in CORPUS[part :: PARTS * EACH]:
        if sample.look_at or math.prod(sample.grid) > 512:
            continue
        arguments = tuple(with_contents(sample))
        names = tuple(a.name for a in arguments if isinstance(a, TensorArgument))
        call = replace(sample.call(), arguments=arguments, recorded=names)
        bare = replace(call, module=without_other(call.module))
        if not any(leaves_lanes(op) for op in bare.module.ops):
            continue
        for _, mutant in islice(mutants(bare), OF_A_SAMPLE):
            answers += check(mutant)
            calls += 1
    say("undefined lanes", f"corpus without other, {calls} calls: {dict(answers)}")
    assert answers["violation"] > 100 / PARTS / EACH
    assert answers["changed"] > 50 / PARTS / EACH
