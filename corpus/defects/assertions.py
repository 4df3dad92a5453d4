"""The kernel's own assertions."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("assertions")


@triton.jit(debug=True)
def limited(x, out, n, BLOCK: tl.constexpr):
    tl.device_assert(n <= BLOCK, "the row is too long")  # [assert]
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n), mask=lanes < n)


def row(n):
    return {"x": tensor(n), "out": tensor(n), "n": n}


CASES.good("assertion on a number that holds", limited, row(64), {"BLOCK": 64}, (1,))
CASES.bad(
    "assertion on a number that fails", limited, row(65), {"BLOCK": 64}, (1,),
    device_assert="assert",
)  # fmt: skip


@triton.jit(debug=True)
def in_program(out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.device_assert(lanes < n, "too many programs")  # [assert]
    tl.store(out + lanes, lanes, mask=lanes < n)


CASES.good("assertion on lanes that holds", in_program,
             {"out": tensor(256, dtype="i32"), "n": 256}, {"BLOCK": 64}, (4,))  # fmt: skip
CASES.bad("assertion on lanes that fails in the last program", in_program,
            {"out": tensor(250, dtype="i32"), "n": 250}, {"BLOCK": 64}, (4,),
            device_assert="assert")  # fmt: skip


@triton.jit(debug=True)
def checked_gather(x, chosen, out, n, rows, BLOCK: tl.constexpr):
    """What comes after an assertion may rely on it."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    where = tl.load(chosen + lanes, mask=lanes < n, other=0)
    tl.device_assert((where >= 0) & (where < rows), "no such row")  # [assert]
    tl.store(out + lanes, tl.load(x + where), mask=lanes < n)  # [load]


def chosen(index):
    return {"x": tensor(50), "chosen": index, "out": tensor(6), "n": 6, "rows": 50}


CASES.good("assertion on recorded data that holds", checked_gather,
             chosen(holding([3, 49, 0, 7, 7, 2])), {"BLOCK": 8}, (1,))  # fmt: skip
CASES.bad("assertion on recorded data that fails", checked_gather,
            chosen(holding([3, 50, 0, 7, 7, 2])), {"BLOCK": 8}, (1,),
            device_assert="assert", follows={"out_of_bounds": "load"})  # fmt: skip
CASES.undecided("assertion on data that was not recorded", checked_gather,
                  chosen(tensor(6, dtype="i32")), {"BLOCK": 8}, (1,), because="chosen",
                  device_assert="assert", follows={"out_of_bounds": "load"})  # fmt: skip
