"""Verdicts of the rule `race` on the catalog, on the corpus of defects, and on mutants of both.

What is proven must never meet byte by byte, and what is shown to race must.
"""

import math
from collections import Counter
from itertools import islice, permutations

import pytest

from kvtrace.evaluate import ScalarArgument, TensorArgument
from kvtrace.schema.errors import KvtraceError
from tests.kernels.catalog import CASES
from tests.kernels.launching import with_tensors
from tests.support.defects import CORPUS
from tests.support.replacing import replace
from tests.support.thorough import in_turn, usually
from tests.verdicts.brute_force import TooMany
from tests.verdicts.racing import call_of, clashes, judged

pytestmark = [pytest.mark.sweep, pytest.mark.usefixtures("free_driver")]

MOST_MUTANTS = 9
#: How many tests share the corpus, which processes run side by side.
PARTS = 4
#: Mutants of each sample of the corpus, and of how many samples one is taken.
OF_A_SAMPLE = usually(2, thorough=4)
EACH = usually(6, thorough=1)
ALLOWED = ("all programs write the same value", "a lock lets", "atomics order the programs")
"""Why programs may meet and yet not race: clashes byte by byte do not know of it."""


def mutants(call):
    """The call, with an axis of its grid doubled, a scalar one off, or tensors in one storage."""
    yield call
    x, y, z = call.grid
    for grid in ((2 * x, y, z), (x, 2 * y, z), (x, y, 2 * z)):
        yield replace(call, grid=grid)
    arguments = call.arguments
    for position, argument in enumerate(arguments):
        whole = isinstance(argument, ScalarArgument) and type(argument.value) is int
        for step in (-1, 1) if whole else ():
            changed = ScalarArgument(argument.name, argument.value + step)
            yield with_argument(call, position, changed)
    tensors = [p for p, a in enumerate(arguments) if isinstance(a, TensorArgument)]
    for one, other in permutations(tensors, 2):
        first, second = arguments[one], arguments[other]
        if first.element.bytes == second.element.bytes:
            offset = first.offset_bytes + first.element.bytes
            moved = replace(second, storage=first.storage, offset_bytes=offset)
            yield with_argument(call, other, moved)
            yield replace(with_argument(call, other, moved), grid=(2 * x, y, z))


def with_argument(call, position, argument):
    arguments = (*call.arguments[:position], argument, *call.arguments[position + 1 :])
    return replace(call, arguments=arguments)


def check(call):
    """Judge a call and hold it against its bytes; give what was said."""
    found = judged(call)
    try:
        truth, all_known = clashes(call)
    except (KvtraceError, TooMany, MemoryError):
        return Counter()
    for verdict in found:
        index = verdict.op.index
        if verdict.verdict == "violation":
            pair = tuple(sorted((index, verdict.other_op.index)))
            assert pair in truth or not all_known, (call.kernel, call.grid, verdict)
        elif verdict.verdict == "proven" and not any(why in verdict.message for why in ALLOWED):
            assert not any(index in pair for pair in truth), (call.kernel, call.grid, verdict)
    return Counter(verdict.verdict for verdict in found)


def cases():
    """One case of each kernel of the catalog."""
    return list({id(case.kernel): case for case in CASES}.values())


def test_verdicts_on_the_catalog_and_its_mutants_agree_with_brute_force(say):
    answers, calls = Counter(), 0
    for case in cases():
        arguments = with_tensors(case.inputs)
        call = call_of(case.kernel, case.grid, arguments, case.constexprs, recorded=True)
        for mutant in islice(mutants(call), MOST_MUTANTS):
            answers += check(mutant)
            calls += 1
    say("races", f"catalog and mutants, {calls} calls: {dict(answers)}, none of them wrong")
    assert answers["proven"] > 300
    assert answers["violation"] > 100


@pytest.mark.parametrize("part", in_turn(range(PARTS), 2))
def test_verdicts_on_mutants_of_the_defects_agree_with_brute_force(say, part):
    answers, calls = Counter(), 0
    for sample in CORPUS[part :: PARTS * EACH]:
        call = sample.call()
        if sample.look_at or math.prod(call.grid) > 4096:
            continue
        for mutant in islice(mutants(call), 1, 1 + OF_A_SAMPLE):
            answers += check(mutant)
            calls += 1
    say("races", f"mutants of the corpus, {calls} calls: {dict(answers)}, none of them wrong")
    assert answers["proven"] > 300 / PARTS / EACH
    assert answers["violation"] > 100 / PARTS / EACH
