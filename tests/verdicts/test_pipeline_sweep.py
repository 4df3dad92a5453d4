"""Many kernels, and many mutations of them: proofs and faults against evaluations of the TTGIR.

The evaluation knows nothing of the exploration: whatever it sees has to be found without it.
"""

from collections import Counter

import pytest
from triton.compiler.errors import CompilationError

from kvtrace.evaluate.errors import UNFIT
from kvtrace.ir import parse
from kvtrace.ir.asynchronous import Act, act_of, may_be_asynchronous
from kvtrace.schema.errors import KvtraceError
from kvtrace.verdicts.pipeline import rule
from kvtrace.verdicts.pipeline.explore import explore
from kvtrace.verdicts.pipeline.views import Fault
from tests.kernels.catalog import CASES
from tests.kernels.launched import Launched
from tests.kernels.staged import (
    KERNELS,
    TARGETS,
    described,
)
from tests.support.replacing import replace
from tests.support.thorough import in_turn, usually
from tests.verdicts.pipelined import call_of

pytestmark = pytest.mark.usefixtures("free_driver")

EACH = usually(40, thorough=1)
STAGES = (2, 3, 4, 5)[:: usually(3, thorough=1)]
WARPS = (4, 8)[: usually(1, thorough=2)]
MADE = {**KERNELS, "product by descriptors": described}


def seen(module):
    """What an evaluation sees; None: it does not get to the end, or not for certain."""
    nothing = Fault("reads early", module.op, module.op, None, (), (), "")
    call = call_of(module)
    replay = rule._Replay(nothing)
    try:
        replay.run(module, call, call.arguments)
    except (KvtraceError, *UNFIT):
        return None
    shared = replay.shared
    return shared.faults if shared.faults or shared.complete else None


@pytest.mark.sweep
@pytest.mark.parametrize("target", in_turn(TARGETS, 2))
def test_the_catalog_has_no_fault(target, say):
    found = Counter()
    for case in CASES[::EACH]:
        options = {"target": TARGETS[target]}
        launched = Launched(
            case.kernel, case.inputs, case.outputs, case.constexprs, case.grid, options=options
        )
        try:
            text = launched.ttgir()
        except (CompilationError, RuntimeError):
            found["refused by Triton"] += 1  # Ampere has not all types
            continue
        if not may_be_asynchronous(text):
            found["nothing goes on"] += 1
            continue
        came = explore(parse(text))
        assert (came.fault, came.possible, came.endless_wait) == (None, [], None), case.name
        found["proven"] += 1
    say("ttgir", f"catalog, {target}: {dict(found)}")


def mutants(text):
    """Modules in which one wait waits for less, or one copy comes before all that it can."""
    for op in parse(text).ops:
        if act_of(op) in (Act.WAIT_COPIES, Act.WAIT_PRODUCTS):
            for more in (1, 99):
                module = parse(text)
                other = module.ops[op.index]
                name = "num" if act_of(op) is Act.WAIT_COPIES else "pendings"
                left = replace(op.attributes[name], value=op.attributes[name].value + more)
                other.attributes = {**other.attributes, name: left}
                yield f"{op.name} +{more}", module
        elif act_of(op) is Act.COPY and op.parent.name == "scf.for":
            module = parse(text)
            hoist(module.ops[op.index])
            yield f"{op.name} earlier", module


def hoist(op):
    """Have an op, and what it is made of, come first in its block."""
    first, wanted = {id(op)}, {value.id for value in op.operands}
    for each in reversed(op.block.ops):
        if any(value.id in wanted for value in each.results):
            first.add(id(each))
            wanted |= {value.id for value in each.operands}
    op.block.ops = tuple(sorted(op.block.ops, key=lambda each: id(each) not in first))


@pytest.mark.sweep
@pytest.mark.parametrize("target", in_turn(TARGETS, 2))
def test_faults_that_an_evaluation_shows_are_found(target, say):
    found = Counter()
    for name, make in MADE.items():
        for stages in STAGES:
            for warps in WARPS:
                launched = make(target=TARGETS[target], num_stages=stages, num_warps=warps)
                text = launched.ttgir()
                if not may_be_asynchronous(text):
                    continue
                came = explore(parse(text))
                assert (came.fault, came.possible, came.endless_wait) == (None, [], None), name
                for what, module in mutants(text):
                    fault, shown = explore(module).fault, seen(module)
                    told = "proven" if fault is None else "found"
                    found[f"{told}, {'seen' if shown else 'not seen'}"] += 1
                    if shown:
                        assert fault is not None, (name, stages, what, shown)
                    if fault is not None and shown == {}:
                        call = call_of(module)
                        assert rule.occurs_in(fault, module, call) is None, (name, stages, what)
    say("ttgir", f"mutations, {target}: {dict(found)}")
    assert found["found, seen"] > found.total() / 3
