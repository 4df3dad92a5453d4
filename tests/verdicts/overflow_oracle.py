"""Judge random kernels and compare with Python's integers: no proof, no finding may be false.

`python -m tests.verdicts.overflow_oracle SEED CASES [patient]` runs by hand; a case is one memory
op of one call, judged with the contents of its index tensors recorded and without.
"""

import random
import sys
import time
from collections import Counter
from collections.abc import Iterator

import numpy as np

from kvtrace.evaluate import ScalarArgument, Storage, TensorArgument
from kvtrace.ir import Module, parse
from kvtrace.ir.ops import MEMORY
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.binding import Budget
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.verdict import Verdict
from tests.verdicts.random_kernels import LANES, Kernel, Type, judged_exactly

BUDGET = Budget(solver_seconds=0.02, solver_seconds_a_call=0.1, seconds_a_call=0.5)
PATIENT = Budget(solver_seconds=0.5, solver_seconds_a_call=3, seconds_a_call=20)
"""What is proven depends on time: this is enough on slow machines too."""
RULES = ("overflow", "out-of-bounds")
CALLS = 8
"""Calls of each kernel."""
_INTERESTING = (0, 1, 2, 3, 7, 100, 1000, 46_341, 65_536, 2**20, 2**24 + 1, 2**31 - 1)


def number_of(rng: random.Random, type_: Type) -> int:
    number = rng.choice([*_INTERESTING, rng.randrange(1 << (type_.bits - 1)), 2**33, 2**62])
    number = min(number, (1 << (type_.bits - 1)) - 1)
    if type_.signed:
        return -number if rng.random() < 0.15 else number
    return number + (1 << (type_.bits - 1)) if rng.random() < 0.1 else number


def failures(seed: int, counts: Counter[str], budget: Budget = BUDGET) -> Iterator[str]:
    """Judge the calls of one kernel; give what is wrong in words."""
    kernel = Kernel(seed)
    module = parse(kernel.text)
    case_of = _cases_by_op(module, len(kernel.TENSORS))
    rng = random.Random(seed)
    for number in range(CALLS):
        small = number % 2 == 0
        scalars = {
            name: rng.randrange(8) if small and rng.random() < 0.8 else number_of(rng, type_)
            for name, type_ in kernel.SCALARS.items()
        }
        contents = {
            name: [
                rng.randrange(50) if small and rng.random() < 0.9 else number_of(rng, type_)
                for _ in range(LANES)
            ]
            for name, type_ in kernel.TENSORS.items()
        }
        room = rng.choice([64, 1000, 2**20, 2**31, 2**33])
        programs = rng.choice([1, 2, 3])
        exact = [judged_exactly(case, programs, scalars, contents, room) for case in kernel.cases]
        for recorded in (True, False):
            call = _call(kernel, module, programs, scalars, contents, room, recorded=recorded)
            verdicts = judge(call, RULES, budget)
            told: dict[int, list[Verdict]] = {}
            for verdict in verdicts:
                told.setdefault(case_of.get(verdict.op.index, -1), []).append(verdict)
            for position, truth in enumerate(exact):
                of_case = told.get(position, [])
                answers = {(v.rule, v.verdict) for v in of_case}
                counts["cases"] += 1
                counts["ambiguous"] += truth.ambiguous
                counts["shows"] += truth.shows
                counts["outside"] += truth.outside
                if any(answer == "unknown" for _, answer in answers):
                    counts["unknown"] += 1
                elif answers:
                    counts["decided"] += 1
                where = f"seed {seed} call {number} case {position} recorded {recorded}"
                proven = all(answer == "proven" for _, answer in answers)
                if ("out-of-bounds", "proven") in answers and truth.outside:
                    yield f"{where}: an access is outside, proven to be inside"
                if ("out-of-bounds", "violation") in answers and not truth.outside:
                    yield f"{where}: an access is inside, said to be outside"
                if truth.ambiguous:
                    continue
                if not answers and not truth.active:
                    continue  # no access is left, of which something could be said
                if proven and truth.shows:
                    yield f"{where}: a wrap shows, and all is proven: {sorted(answers)}"
                if ("overflow", "violation") in answers and not truth.shows:
                    yield f"{where}: no wrap shows, and one is said to"


def _cases_by_op(module: Module, loads_before: int) -> dict[int, int]:
    """Give the case that each op of the kernel belongs to: that of the memory op that follows."""
    found: dict[int, int] = {}
    waiting: list[int] = []
    position = -loads_before
    ops = [op for op in module.ops if _function(op) == "k"]
    for op in ops:
        waiting.append(op.index)
        if op.name in MEMORY:
            found.update(dict.fromkeys(waiting, position))
            waiting = []
            position += 1
    others = [op for op in module.ops if _function(op) not in ("k", "")]
    callers = {
        str(op.attributes["callee"].value): found.get(op.index, -1)
        for op in ops
        if op.name == "tt.call"
    }
    found.update({op.index: callers.get(_function(op), -1) for op in others})
    return found


def _function(op) -> str:
    while op is not None and op.name != "tt.func":
        op = op.parent
    return "" if op is None else str(op.attributes["sym_name"].value)


def _call(kernel, module, programs, scalars, contents, room, *, recorded) -> Call:
    arguments = [
        TensorArgument(case.argument, Storage(room), 0, "i8", (room,), (1,))
        for case in kernel.cases
    ]
    for name, type_ in kernel.TENSORS.items():
        dtype = f"{'i' if type_.signed else 'u'}{type_.bits}"
        held = np.array(contents[name], np.dtype(f"{dtype[0]}{type_.bits // 8}")).view(np.uint8)
        storage = Storage(held.nbytes, held.copy() if recorded else None)
        arguments.append(TensorArgument(name, storage, 0, dtype, (LANES,), (1,)))
    arguments += [ScalarArgument(name, number) for name, number in scalars.items()]
    names = tuple(kernel.TENSORS) if recorded else ()
    return Call(1, "k", (programs, 1, 1), module, tuple(arguments), names)


def main(seed: int, cases: int, budget: Budget = BUDGET) -> int:
    """Judge cases from a seed on; 1 where a verdict is wrong."""
    counts: Counter[str] = Counter()
    wrong = 0
    began = time.monotonic()
    while counts["cases"] < cases:
        for text in failures(seed, counts, budget):
            wrong += 1
            print(text, flush=True)
        seed += 1
        if seed % 50 == 0:
            print(f"{counts['cases']:,} cases before seed {seed}, {wrong} wrong", flush=True)
    taken = time.monotonic() - began
    print(f"{wrong} wrong; {dict(counts)}; next seed {seed}; {taken:.0f} s")
    return int(bool(wrong))


if __name__ == "__main__":
    given = PATIENT if sys.argv[3:] == ["patient"] else BUDGET
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), given))
