"""Loops that count near the ends of int32: verdicts and ranges against following every trip."""

from collections import Counter

import pytest

from kvtrace.evaluate import ScalarArgument, TensorArgument
from kvtrace.verdicts.binding import Budget
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.sizes.envelope import envelope
from kvtrace.verdicts.sizes.launch_numbers import call_with, launch_at
from kvtrace.verdicts.sizes.relations import Relations
from tests.support.thorough import usually
from tests.verdicts.calls import call, tensor
from tests.verdicts.counted_kernels import Kernel, drawn_kernel
from tests.verdicts.sized_kernels import module_of

SECTION = "loops near the ends of int32"
_BOUNDS = ("out-of-bounds", "out-of-view")


def recorded(kernel: Kernel, module, extent: int):
    n, s, grid = kernel.sizes["n"], kernel.sizes["s"], kernel.sizes["grid"]
    return call(getattr(module, kernel.name), (grid,), x=tensor(extent), y=tensor(grid), n=n, s=s)


def has_load(one):
    """MLIR deletes loops of constant bounds that are more than 2**31 apart, as of no trips."""
    return any(op.name == "tt.load" for op in one.module.ops)


def followed(kernel: Kernel, one):
    numbers = {a.name: a.value for a in one.arguments if isinstance(a, ScalarArgument)}
    extents = [a.shape[0] for a in one.arguments if isinstance(a, TensorArgument)]
    return kernel.done(numbers["n"], numbers["s"], one.grid[0], tuple(extents))


def contradictions(kernel: Kernel, one):
    """What verdicts on a launch say that following it does not, or the other way round."""
    verdicts = judge(one, None, Budget(lanes=0))
    seen = followed(kernel, one)
    for rules, found, what in (
        (("overflow",), seen.wraps, "a wrap"), (_BOUNDS, seen.outside, "an access outside"),
    ):  # fmt: skip
        said = {v.verdict for v in verdicts if v.rule in rules}
        if found and said <= {"proven"}:
            yield f"{what} is proven not to be"
        if "violation" in said and not found and not seen.cut:
            yield f"{what} is reported that is not there"


def tried(low, high, recorded):
    near = (low, low + 1, low + 2, high, high - 1, high - 2, recorded, 0, 1, -1)
    between = (low + (high - low) * i // 9 for i in range(10))
    return sorted({value for value in (*near, *between) if low <= value <= high})


def launched(relations, sizes):
    """Return the launches at a size."""
    return [launch_at(relations, sizes)[0]]


def broken_promises(kernel: Kernel, one, counts):
    """Values of which a row says what following the launch does not."""
    relations = Relations(one)
    for row in envelope(relations):
        size = relations.number(row.quantity)
        counts["rows"] += 1
        counts["rows with a range"] += row.fine is not None
        for value in tried(*row.fine, row.recorded) if row.fine else ():
            for numbers in launched(relations, {size: value}):
                seen = followed(kernel, call_with(one, numbers))
                counts["launches in ranges"] += 1
                if seen.outside or seen.wraps or seen.undefined:
                    yield row.quantity, value, row.contract, seen
        for value, kind in ((row.first_bad, row.kind), (row.last_bad, row.below_kind)):
            if value is None or kind not in ("overflow", "tensor"):
                continue
            counts["bad values"] += 1
            for numbers in launched(relations, {size: value}):
                seen = followed(kernel, call_with(one, numbers))
                if not (seen.outside or seen.wraps or seen.cut):
                    yield row.quantity, value, f"bad: {row.what} {row.below}", seen


def extent_of(kernel: Kernel, draw: int) -> int:
    """As many elements as the launch needs, if it may: else some."""
    fits = [e for e in (1, 8, 100, 1000, 1 << 20, 1 << 31) if not _leaves(kernel, e)]
    return fits[0] + (draw % 3 == 0) if fits and draw % 5 else 1000


def _leaves(kernel: Kernel, extent: int) -> bool:
    n, s, grid = kernel.sizes["n"], kernel.sizes["s"], kernel.sizes["grid"]
    return kernel.done(n, s, grid, (extent, grid)).outside


@pytest.mark.sweep
@pytest.mark.timeout(7200)
def test_no_verdict_contradicts_an_evaluation_of_every_trip(tmp_path, say):
    kernels = [drawn_kernel(number) for number in range(usually(15, thorough=2000))]
    module = module_of(kernels, tmp_path)
    counts, wrong = Counter(kernels=len(kernels)), []
    for number, kernel in enumerate(kernels):
        one = recorded(kernel, module, extent_of(kernel, number))
        if not has_load(one):
            counts["whose loop MLIR deletes"] += 1
            continue
        seen = followed(kernel, one)
        counts["that wrap"] += seen.wraps
        counts["that leave a tensor"] += seen.outside
        counts["whose shifts are undefined"] += seen.undefined
        counts["of several programs"] += one.grid[0] > 1
        counts["with stages"] += any(loop.stages for loop in kernel.loops)
        wrong += [(kernel.source, kernel.sizes, each) for each in contradictions(kernel, one)]
        wrong += [(kernel.source, kernel.sizes, *e) for e in broken_promises(kernel, one, counts)]
    say(SECTION, ", ".join(f"{number:,} {what}" for what, number in counts.items()))

    assert wrong == []
    assert counts["that wrap"] >= len(kernels) / 10
    assert counts["rows with a range"] >= len(kernels) / 10
