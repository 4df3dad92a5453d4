"""Integers that leave their width are found where it shows, and only there."""

import re
from itertools import product

import numpy as np
import pytest
import triton
import triton.language as tl

from kvtrace.backends.compiled_kernels.call_judge import CallJudge, NewCall
from kvtrace.evaluate import Observer, evaluate
from kvtrace.ir import parse
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.replaying import read_only_arguments
from kvtrace.verdicts.rules import overflow
from kvtrace.verdicts.rules.overflow import wraps
from tests.support.compile_ttir import compile_generic
from tests.support.tiers import some
from tests.verdicts.calls import call, tensor


def answers(of_call):
    return [verdict.verdict for verdict in overflow.judge(BoundCall(of_call))]


@triton.jit
def rows(x, out, stride, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    start = tl.program_id(0) * stride
    tl.store(out + lanes, tl.load(x + start + lanes))


def big(programs):
    x = tensor(70_000, 65_536, dtype="fp16")  # 9 GB that nobody allocates
    return call(rows, (programs,), x=x, out=tensor(64), stride=65_536, BLOCK=64)


def test_a_product_past_32_bits_has_a_witness_and_its_numbers():
    bound = BoundCall(big(70_000))

    found = [v for v in overflow.judge(bound) if v.verdict == "violation"]

    assert len(found) == 1
    verdict = found[0]
    assert verdict.op.name == "arith.muli"
    assert verdict.expression == "program_id(0) * stride"
    assert verdict.program is not None
    assert verdict.program[0] * 65_536 >= 2**31
    assert "2,147,483,648" in verdict.message
    assert verdict.arg == "x"


def test_an_access_that_no_program_reaches_is_proven_for_any_grid():
    assert set(answers(big(32_767))) == {"proven"}
    assert set(answers(big(10))) == {"proven"}


def test_wraps_is_true_only_of_accesses_that_depend_on_the_wrap():
    bound = BoundCall(big(70_000))
    load, store = bound.summary.accesses

    assert wraps(bound, load)
    assert not wraps(bound, store)
    assert not wraps(BoundCall(big(100)), load)


@triton.jit(noinline=True)
def _place(row, stride):
    return row * stride


@triton.jit
def through_a_call(x, out, stride, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + _place(tl.program_id(0), stride) + lanes))


def test_uses_of_a_functions_result_are_evaluated_or_unknown():
    x, out = tensor(10_000), tensor(64)
    small = call(through_a_call, (9,), x=x, out=out, stride=100, BLOCK=64)
    large = call(through_a_call, (9,), x=x, out=out, stride=2**30, BLOCK=64)

    assert "violation" not in answers(small)
    assert "proven" not in answers(large)


@triton.jit
def searched(x, wanted, out, n):
    low = 0
    high = n
    while low < high:
        middle = (low + high) // 2
        if tl.load(x + middle) < wanted:
            low = middle + 1
        else:
            high = middle
    tl.store(out + low, 1)


def test_untracked_values_are_evaluated_with_the_recorded_contents():
    x = tensor(100, dtype="i32", data=np.arange(100, dtype=np.int32))
    known = call(searched, (1,), x=x, wanted=60, out=tensor(101), n=100)
    unknown = call(searched, (1,), x=tensor(100, dtype="i32"), wanted=60, out=tensor(101), n=100)

    assert set(answers(known)) <= {"proven"}
    assert "violation" not in answers(unknown)


@triton.jit
def neighbors(x, places, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    low = tl.floor(tl.load(places + lanes)).to(tl.int32)
    high = tl.maximum(0, tl.minimum(low + 256, n - 1))
    inside = (low >= 0) & (low < n)
    values = tl.load(x + high) + tl.load(x + low, mask=inside, other=0.0)
    tl.store(out + lanes, values)


@pytest.mark.parametrize(
    ("place", "answer"), [(None, "unknown"), (99.5, "proven"), (2.0**31 - 128, "violation")]
)
def test_integers_made_of_floats_are_evaluated_with_the_recorded_contents(place, answer):
    data = None if place is None else np.full(32, place, np.float32)
    places = tensor(32, data=data)
    one = call(neighbors, (1,), x=tensor(100), places=places, out=tensor(32), n=100, BLOCK=32)
    assert {*answers(one)} - {"proven"} == {answer} - {"proven"}


# -- soundness: against the same kernels with integers of 64 bits -------------------------------


@triton.jit
def sums(x, out, a, b, c):
    lanes = tl.arange(0, 8)
    place = lanes * a + b - c * 3
    tl.store(out + place, 1, mask=lanes < 7)


@triton.jit
def masked(x, out, a, b, c):
    lanes = tl.program_id(0) * 4 + tl.arange(0, 8)
    place = lanes * a
    tl.store(out + place, 1, mask=(place < b) & (lanes >= 0))


@triton.jit
def square(x, out, a, b, c):
    r = tl.arange(0, 4) + b
    k = tl.arange(0, 8)
    place = r[:, None] * a + k[None, :] * c
    tl.store(out + place, 1, mask=(r[:, None] < c) & (k[None, :] < 5))


@triton.jit
def looping(x, out, a, b, c):
    lanes = tl.arange(0, 4)
    place = lanes
    for i in range(tl.minimum(b, 5)):
        tl.store(out + place + i * c, 1)
        place += a


@triton.jit
def branching(x, out, a, b, c):
    lanes = tl.arange(0, 4)
    if a + b > c:
        tl.store(out + lanes + (a - c).to(tl.int64), 1)
    else:
        tl.store(out + lanes * b, 1)


NUMBERS = (0, 1, -7, 1000, 46_341, 2**24, 2**29 + 3, 2**31 - 1, -(2**31) + 1)


class Touches(Observer):
    def __init__(self):
        self.found = []

    def access(self, access):
        offsets, programs = access.elements()
        self.found += [(access.op.index, *pair) for pair in zip(offsets, programs, strict=True)]


def touched(module, of_call):
    seen = Touches()
    arguments = read_only_arguments(of_call.arguments, "none")
    try:
        evaluate(module, arguments, of_call.grid, observers=[seen])
    except OverflowError:  # byte offsets past 64 bits: nothing that 32 bits could have given
        return None
    return sorted(seen.found)


def widened(kernel):
    types = {"x": "*fp32", "out": "*i32", "a": "i32", "b": "i32", "c": "i32"}
    text = compile_generic(kernel, types).replace("!tt.ptr<i32>", "!tt.ptr<KEEP>")
    text = re.sub(r"(?<=[x (<])i32\b", "i64", text)
    return parse(text.replace("KEEP", "i32"))


@pytest.mark.parametrize("kernel", [sums, masked, square, looping, branching])
def test_verdicts_agree_with_64_bit_arithmetic(kernel):
    wide = widened(kernel)
    rng = np.random.default_rng(5)
    triples = list(product(NUMBERS, repeat=3))
    counts = {"same": 0, "different": 0}

    for index in rng.choice(len(triples), 40, replace=False):
        a, b, c = triples[index]
        made = call(kernel, (2,), x=tensor(8), out=tensor(8, dtype="i32"), a=a, b=b, c=c)
        found = set(answers(made))
        differs = touched(made.module, made) != touched(wide, made)

        # after a branch that went wrong, what ideal numbers say of the rest need not show
        assert "unknown" not in found or "violation" in found, (a, b, c)
        assert ("violation" in found) == differs, (a, b, c)
        counts["different" if differs else "same"] += 1

    assert min(counts.values()) >= 3


# -- exact numbers, through every op --------------------------------------------------------------


@triton.jit
def paged(x, pages, out, stride, n, FORM: tl.constexpr, BLOCK: tl.constexpr):
    program, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    page = tl.load(pages + program)
    if FORM == "outermost is a sum":
        place = page * stride + lanes
    elif FORM == "seen as bits":
        place = ((page * stride) | lanes) ^ 1
    elif FORM == "through a loop":
        place = lanes
        for _ in range(page):
            place += stride
    elif FORM == "through a sum of lanes":
        place = lanes + tl.sum(tl.zeros((BLOCK,), tl.int32) + page * (stride // BLOCK), 0)
    elif FORM == "through a function":
        place = _place(page, stride) + lanes
    elif FORM == "narrow":
        place = (page.to(tl.int16) * 16).to(tl.int64) + lanes
    elif FORM == "back again":
        place = page * stride - (page - 1) * stride + lanes
    else:
        place = page.to(tl.int64) * stride + lanes
    tl.store(out + program * BLOCK + lanes, tl.load(x + place))


def of_pages(form, page, stride=262_144):
    held = tensor(2, dtype="i32", data=np.array([1, page], np.int32))
    return call(
        paged, (2,), x=tensor(2**33, dtype="i8"), pages=held, out=tensor(2, 64, dtype="i8"),
        stride=stride, n=100, FORM=form, BLOCK=64,
    )  # fmt: skip


FORMS = (
    "outermost is a sum", "seen as bits", "through a loop", "through a sum of lanes",
    "through a function", "narrow",
)  # fmt: skip


@pytest.mark.parametrize("form", some(FORMS, 5))
def test_a_wrap_of_a_loaded_number_shows_wherever_it_is(form):
    found = [v for v in judge(of_pages(form, 16_400), ("overflow",)) if v.verdict != "proven"]

    assert [verdict.verdict for verdict in found] == ["violation"]
    assert found[0].op.name in ("arith.muli", "arith.addi", "tt.reduce")
    assert found[0].program == (1, 0, 0)
    assert {v.verdict for v in judge(of_pages(form, 2), ("overflow",))} <= {"proven"}


@pytest.mark.parametrize("form", ["back again", "wide"])
def test_wraps_that_cancel_and_64_bit_arithmetic_are_no_findings(form):
    assert {v.verdict for v in judge(of_pages(form, 16_400))} == {"proven"}


@triton.jit
def unequal(x, out, step, number, EVALUATED: tl.constexpr):
    lanes = tl.arange(0, 8)
    if EVALUATED:
        step = step.to(tl.float32).to(tl.int32)  # no formula has its number
    tl.store(out + lanes, 1, mask=lanes * step != number)


@pytest.mark.parametrize(
    ("evaluated", "step", "message"),
    [
        (False, 5, "lanes * step stays within 32 bits wherever that decides an access"),
        (False, 2**29, "no access depends on whether lanes * step stays within 32 bits"),
        (True, 5, "stays within its width"),
        (True, 2**29, "wraps around where no access depends on it"),
    ],
)
def test_a_proof_says_that_a_number_stays_only_where_that_was_shown(evaluated, step, message):
    x, out = tensor(8), tensor(8)
    one = call(unequal, (1,), x=x, out=out, step=step, number=9, EVALUATED=evaluated)
    (verdict,) = overflow.judge(BoundCall(one))
    assert verdict.verdict == "proven"
    assert verdict.message.endswith(message)


def test_the_op_that_wraps_is_named_and_not_one_that_cannot():
    verdicts = judge(of_pages("seen as bits", 16_400))

    assert not any("xori" in verdict.message for verdict in verdicts)
    assert [v.expression for v in verdicts if v.rule == "overflow" and v.verdict != "proven"] == [
        "page * stride"
    ]


@triton.jit
def never(x, pages, out, stride, BLOCK: tl.constexpr):
    """The mask is never true of ideal numbers: of wrapped ones it is, far outside of `x`."""
    lanes = tl.arange(0, BLOCK)
    far = tl.load(pages) * stride
    tl.store(out + lanes, tl.load(x + (lanes + 1_000_000), mask=far + lanes < 0, other=0))


def test_an_access_is_not_unreached_if_only_ideal_integers_exclude_it():
    held = tensor(1, dtype="i32", data=np.array([8_192], np.int32))
    made = call(never, (1,), x=tensor(100), pages=held, out=tensor(64), stride=262_144, BLOCK=64)

    found = {v.rule for v in judge(made) if v.verdict == "violation"}

    assert {"overflow", "out-of-bounds"} <= found


@triton.jit
def indices(pages, out, stride, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(pages) * stride + lanes)


@triton.jit
def products(x, y, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes) * tl.load(y + lanes))


def test_a_wrapped_index_that_is_stored_is_a_finding_and_wrapped_data_are_not():
    held = tensor(1, dtype="i32", data=np.array([65_536], np.int32))
    stored = call(indices, (1,), pages=held, out=tensor(8, dtype="i32"), stride=65_536, BLOCK=8)
    large = tensor(8, dtype="i32", data=np.full(8, 2**30, np.int32))
    data = call(products, (1,), x=large, y=large, out=tensor(8, dtype="i32"), BLOCK=8)

    assert "violation" in answers(stored)
    assert answers(data) == []


@triton.jit
def late(out, stride, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, (lanes * stride).to(tl.int64))


@pytest.mark.parametrize(
    ("stride", "dtype", "answer"),
    [
        (10**9, "i64", "violation"),  # 7 * 10^9 fits 64 bits, which come too late
        (500_000_000, "i64", "violation"),  # 3.5 * 10^9 is negative there
        (300_000_000, "i64", "proven"),
        (500_000_000, "i32", "violation"),
        (500_000_000, "u32", "proven"),
        (300_000_000, "i32", "proven"),
        (10**9, "i32", "violation"),
    ],
)
def test_an_index_that_is_widened_after_it_wrapped_is_a_finding(stride, dtype, answer):
    stored = call(late, (1,), out=tensor(8, dtype=dtype), stride=stride, BLOCK=8)

    assert set(answers(stored)) == {answer}


@triton.jit
def hashed(keys, table, out, slots, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mixed = tl.load(keys + lanes).to(tl.uint32) * 2654435761
    mixed = (mixed ^ (mixed >> 16)) * 2246822519
    slot = (mixed % slots.to(tl.uint32)).to(tl.int32)
    tl.store(out + lanes, tl.load(table + slot))


def test_a_hash_is_meant_to_wrap_around():
    held = tensor(128, dtype="i32", data=np.arange(1000, 1128, dtype=np.int32))
    made = call(hashed, (2,), keys=held, table=tensor(100), out=tensor(128), slots=100, BLOCK=64)

    assert {v.verdict for v in judge(made)} == {"proven"}


@triton.jit
def far_read(x, out, stride, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    first = tl.load(x + lanes)
    place = tl.program_id(0) * stride + lanes
    tl.store(out + tl.program_id(0) + lanes, first + tl.load(x + place))


def test_live_judging_names_the_overflow_and_what_to_do():
    made = call(
        far_read, (70_000,), x=tensor(70_000, 65_536, dtype="fp16"), out=tensor(80_000),
        stride=65_536, BLOCK=64,
    )  # fmt: skip

    found = {
        f.rule: f for f in CallJudge(("out-of-bounds", "overflow"), False).judge(NewCall(made, ()))
    }

    assert "wraps around to -2,147,483,648" in found["overflow"].message
    assert "program_id(0) * stride wraps around" in found["out-of-bounds"].message
    assert "widen an operand" in found["out-of-bounds"].hint


@triton.jit
def doubled_bytes(x, out, FIRST: tl.constexpr, FACTOR: tl.constexpr, TYPE: tl.constexpr):
    cut = (tl.arange(0, 32) + FIRST).to(TYPE)
    tl.store(out + (cut * FACTOR).to(tl.int32), tl.load(x + tl.arange(0, 32)))


@pytest.mark.parametrize(
    ("first", "factor", "type_", "expected"),
    [
        (200, 2, tl.uint8, "unknown"),  # 400, of which -56 * 2 says nothing
        (40, 2, tl.uint8, "proven"),
        (40, 2, tl.int8, "violation"),  # 128
        (50_000, 2, tl.uint16, "unknown"),
        (-20, 2, tl.int8, "proven"),
    ],
)
def test_what_a_cast_cuts_off_may_be_signed_or_not(first, factor, type_, expected):
    tensors = {"x": tensor(32), "out": tensor(100_000)}
    found = answers(call(doubled_bytes, (1,), **tensors, FIRST=first, FACTOR=factor, TYPE=type_))

    assert expected in found or (not found and expected == "proven")


@triton.jit
def block_row(out, rows, factor, at, LOADS: tl.constexpr):
    tile = tl.make_tensor_descriptor(out, [rows * factor, 64], [64, 1], [8, 16])
    if LOADS:
        tl.store(out + tl.arange(0, 16), tl.sum(tile.load([at * factor, 0]), 0))
    else:
        tile.store([at * factor, 0], tl.full((8, 16), 1, tl.float32))


@triton.jit
def head_row(x, out, head, factor, rows):
    tile = tl.make_tensor_descriptor(x + head * factor, [rows, 64], [64, 1], [8, 16])
    tl.store(out + tl.arange(0, 16), tl.sum(tile.load([0, 0]), 0))


@pytest.mark.parametrize(
    ("changed", "answer"),
    [
        ({"head": 65, "rows": 0}, "proven"),  # nothing is read
        ({"head": 65}, "violation"),  # 2^26 in place of 65 * 2^26
        ({"head": 3}, "proven"),
        ({"head": 33}, "violation"),  # before the tensor
    ],
)
def test_a_wrap_in_a_descriptors_base_is_found_where_the_descriptor_reads(changed, answer):
    tensors = {"x": tensor(70, 2**26), "out": tensor(16)}
    found = answers(call(head_row, (1,), **tensors, **{"factor": 2**26, "rows": 64} | changed))

    assert max(found, key=["proven", "unknown", "violation"].index) == answer


@triton.jit
def block_rows(out, at, factor):
    rows = (tl.arange(0, 8) + at) * factor
    tile = tl.make_tensor_descriptor(out, [64, 64], [64, 1], [1, 16])
    tl.store(out + tl.arange(0, 16), tl.sum(tile.gather(rows, 0), 0))


BLOCK = {"factor": 1, "rows": 64, "at": 16, "LOADS": False}


@pytest.mark.parametrize(
    ("changed", "answer"),
    [
        ({"at": 16}, "proven"),
        ({"at": 16, "factor": 268_435_457, "rows": 0}, "proven"),  # inside by neither number
        ({"at": 4, "factor": 2**30, "rows": 1}, "violation"),  # row 0
        ({"at": 4, "factor": 2**30, "rows": 1, "LOADS": True}, "violation"),
        ({"at": 0, "factor": 2**30, "rows": 3}, "unknown"),  # of the extent
        ({"at": 0, "factor": 2**30, "rows": 1}, "proven"),
    ],
)
def test_a_position_in_a_descriptors_tensor_decides_what_is_inside(changed, answer):
    found = answers(call(block_row, (1,), out=tensor(64, 64), **BLOCK | changed))

    assert max(found, key=["proven", "unknown", "violation"].index) == answer


def test_a_row_that_is_gathered_by_a_wrapped_number_is_a_finding():
    gathered = [call(block_rows, (1,), out=tensor(64, 64), at=0, factor=f) for f in (1, 2**30)]

    assert [set(answers(of_call)) for of_call in gathered] == [{"proven"}, {"violation"}]
