"""Divisors that are zero."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, holding, tensor

CASES = Samples("division")


@triton.jit
def unfold(x, out, n, columns, KIND: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    if KIND == "rest":
        place = lanes % columns  # [rest]
    elif KIND == "guarded":
        place = lanes
        if columns > 0:
            place = lanes // columns
    elif KIND == "select":
        place = lanes // tl.where(columns == 0, 1, columns)
    else:
        place = lanes // columns  # [quotient]
    tl.store(out + lanes, place, mask=mask)


def columns(number):
    return {"x": tensor(1000), "out": tensor(1000, dtype="i32"), "n": 1000, "columns": number}


for kind, mark in (("", "quotient"), ("rest", "rest")):
    CASES.bad(
        f"{mark} by an argument that is zero", unfold, columns(0), {"KIND": kind, "BLOCK": 256},
        (4,), division_by_zero=mark,
    )  # fmt: skip
    CASES.good(f"{mark} by an argument", unfold, columns(50), {"KIND": kind, "BLOCK": 256}, (4,))
CASES.good("quotient by zero on a branch that is not taken", unfold, columns(0),
             {"KIND": "guarded", "BLOCK": 256}, (4,))  # fmt: skip
CASES.good("quotient by a select that is never zero", unfold, columns(0),
             {"KIND": "select", "BLOCK": 256}, (4,))  # fmt: skip


@triton.jit
def by_lane(out, first, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, 1000 // (lanes - first))  # [quotient]


CASES.bad("quotient by lanes, one of them zero", by_lane,
            {"out": tensor(64, dtype="i32"), "first": 5}, {"BLOCK": 64}, (1,),
            division_by_zero="quotient")  # fmt: skip
CASES.good("quotient by lanes that begin after zero", by_lane,
             {"out": tensor(64, dtype="i32"), "first": -1}, {"BLOCK": 64}, (1,))  # fmt: skip


@triton.jit
def by_program(out, groups):
    program = tl.program_id(0)
    tl.store(out + program, 100 % (groups - program))  # [rest]


CASES.bad("remainder by what is zero in the last program", by_program,
            {"out": tensor(9, dtype="i32"), "groups": 8}, {}, (9,),
            division_by_zero="rest")  # fmt: skip
CASES.good("remainder by what would be zero in the next program", by_program,
             {"out": tensor(9, dtype="i32"), "groups": 8}, {}, (8,))  # fmt: skip


@triton.jit
def by_content(counts, out, n, GUARD: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    count = tl.load(counts + lanes, mask=lanes < n, other=1)
    if GUARD:
        count = tl.maximum(count, 1)
    tl.store(out + lanes, 1000 // count, mask=lanes < n)  # [quotient]


BY_CONTENT = {"out": tensor(5, dtype="i32"), "n": 5}
FIVE = {"GUARD": False, "BLOCK": 8}
CASES.bad("quotient by a recorded zero", by_content,
            BY_CONTENT | {"counts": holding([3, 1, 0, 2, 9])}, FIVE, (1,),
            division_by_zero="quotient")  # fmt: skip
CASES.good("quotient by recorded numbers", by_content,
             BY_CONTENT | {"counts": holding([3, 1, 4, 2, 9])}, FIVE, (1,))  # fmt: skip
CASES.undecided("quotient by numbers that were not recorded", by_content,
                  BY_CONTENT | {"counts": tensor(5, dtype="i32")}, FIVE, (1,),
                  because="counts", division_by_zero="quotient")  # fmt: skip
CASES.good("quotient by numbers that were not recorded, but at least one", by_content,
             BY_CONTENT | {"counts": tensor(5, dtype="i32")}, {"GUARD": True, "BLOCK": 8},
             (1,))  # fmt: skip


@triton.jit
def of_floats(x, out, scale, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes) / scale)


CASES.good("quotient of floats by zero: infinite, and defined", of_floats,
             {"x": tensor(64), "out": tensor(64), "scale": 0.0}, {"BLOCK": 64}, (1,))  # fmt: skip
