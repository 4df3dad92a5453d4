"""Integers that wrap in regions, in what atomics store, or below zero."""

import numpy as np
import pytest
import triton
import triton.language as tl

from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.rules import overflow
from tests.verdicts.calls import call, tensor


@triton.jit
def _scaled(factor, number, next_factor, next_number):
    return factor * next_factor, number * next_factor + next_number


@triton.jit
def combined(x, out, step, FORM: tl.constexpr):
    lanes = tl.arange(0, 8)
    numbers = lanes * step
    if FORM == "scan":
        _, numbers = tl.associative_scan((lanes * 0 + step, lanes), 0, _scaled)
        tl.store(out + lanes, 1, mask=numbers < 5)
    elif FORM == "reverse":
        _, numbers = tl.associative_scan((lanes * 0 + step, lanes), 0, _scaled, reverse=True)
        tl.store(out + lanes, 1, mask=numbers < 5)
    elif FORM == "reduce":
        _, number = tl.reduce((lanes * 0 + step, lanes), 0, _scaled)
        tl.store(out, 1, mask=number < 5)
    elif FORM == "argmax":
        tl.store(out, tl.load(x + tl.argmax(numbers, 0)))
    elif FORM == "sum by lane":
        tl.store(out, tl.sum(tl.where(lanes > 0, step, 0)))
    elif FORM == "exchanged":
        tl.atomic_xchg(out + lanes, numbers)
    elif FORM == "largest":
        tl.atomic_max(out + lanes, numbers)
    else:
        tl.atomic_add(out + lanes, numbers)


@pytest.mark.parametrize(
    ("form", "small", "large", "wraps"),
    [
        ("scan", 34, 36, "in scan"),  # 36^6 + 2 * 36^5 + … is past 2^31; 34^8 is, too, and unused
        ("reverse", 20, 60, "in scan"),
        ("reduce", 20, 60, "in reduce"),
        ("argmax", 306_783_378, 306_783_379, "lanes * step"),
        ("sum by lane", 306_783_378, 306_783_379, "reduce("),
        ("exchanged", 306_783_378, 306_783_379, "lanes * step"),
        ("largest", 306_783_378, 306_783_379, "lanes * step"),
    ],
)
def test_wraps_inside_of_regions_and_of_numbers_that_atomics_store_are_seen(
    form, small, large, wraps
):
    x = tensor(8, dtype="i32", data=np.arange(8, dtype=np.int32))
    tensors = {"x": x, "out": tensor(8, dtype="i32")}
    fine, bad = (
        list(overflow.judge(BoundCall(call(combined, (1,), **tensors, step=step, FORM=form))))
        for step in (small, large)
    )

    assert {verdict.verdict for verdict in fine} == {"proven"}
    (found,) = (verdict for verdict in bad if verdict.verdict == "violation")
    assert wraps in found.message


def test_sums_in_memory_may_wrap_as_data_may():
    tensors = {"x": tensor(8, dtype="i32"), "out": tensor(8, dtype="i32")}
    made = call(combined, (1,), **tensors, step=2**30, FORM="added")

    assert not list(overflow.judge(BoundCall(made)))


@triton.jit
def added(x, out, first, n, K: tl.constexpr, HALVES: tl.constexpr):
    places = (tl.arange(0, 8) + first).to(tl.uint32)
    moved = (places + K) // 2 if HALVES else places + K
    tl.store(out + tl.arange(0, 8), tl.load(x + tl.arange(0, 8), mask=moved < n))


@pytest.mark.parametrize(
    ("first", "constant", "halves", "answer"),
    [
        (0, 2**32 - 6, False, "unknown"),  # a range check of 6 to 10, or a sum that wraps around
        (0, 2**32 - 6, True, "violation"),
        (6, 2**32 - 6, False, "proven"),  # 6 to 13, of which 6 is subtracted
        (0, 2**32 - 8, True, "proven"),  # a sum that fits
        (0, 6, False, "proven"),
    ],
)
def test_a_negative_constant_added_to_an_unsigned_number_subtracts(first, constant, halves, answer):
    tensors = {"x": tensor(8), "out": tensor(8)}
    made = call(added, (1,), **tensors, first=first, n=5, K=constant, HALVES=halves)
    found = {verdict.verdict for verdict in overflow.judge(BoundCall(made))}

    assert found <= {"proven"} if answer == "proven" else found == {answer}


@triton.jit
def remaining(x, out, n, end, FORM: tl.constexpr):
    lanes = tl.arange(0, 64)
    left = n.to(tl.uint32) - lanes.to(tl.uint32)
    if FORM == "signed":
        left = left.to(tl.int32)
    elif FORM == "cut":
        left = left.to(tl.uint8).to(tl.uint32)
    tl.store(out + lanes, tl.load(x + lanes, mask=left > end if FORM == "mask" else left < end))


@pytest.mark.parametrize(
    ("form", "n", "end", "answer"),
    [
        ("mask", 63, 0, "proven"),
        ("mask", 40, 0, "violation"),  # true in lanes from 41 on
        ("mask", 40, -1, "proven"),  # more than 2^32 - 1, in no lane
        ("mask", 40, -(2**31), "proven"),  # a question for the sign
        ("below", 62, 65, "unknown"),  # false in lane 63, as range checks mean to
        ("cut", 62, 65, "proven"),
        ("signed", 40, 65, "proven"),
    ],
)
def test_an_unsigned_difference_below_zero_that_decides_a_mask_is_a_finding(form, n, end, answer):
    tensors = {"x": tensor(64), "out": tensor(64)}
    made = call(remaining, (1,), **tensors, n=n, end=end, FORM=form)
    found = {verdict.verdict for verdict in overflow.judge(BoundCall(made))}

    assert found <= {"proven"} if answer == "proven" else found == {answer}


@triton.jit
def ring(x, out, head, n, FORM: tl.constexpr, TYPE: tl.constexpr):
    lanes = tl.arange(0, 64)
    size = n.to(TYPE)
    back = head.to(TYPE) - lanes.to(TYPE) - 1
    if FORM == "raised":
        back += size
    if FORM == "constant":
        place = back % 128
    elif FORM == "bits":
        place = (back >> 3) & 15
    elif FORM == "upper":
        place = back >> 26
    elif FORM == "hash":
        place = (back * 2654435761) >> 26
    elif FORM == "half":
        place = tl.umulhi(back, size + lanes.to(TYPE) * 0)
    elif FORM == "mixed":
        place = (back ^ (back >> 3)) % size
    else:
        place = back % size
    mask = place < size if FORM != "mask" else place < 50
    tl.store(out + lanes, tl.load(x + (lanes if FORM == "mask" else place), mask=mask))


@pytest.mark.parametrize("type_", [tl.uint8, tl.uint32, tl.uint64], ids=str)
@pytest.mark.parametrize(
    ("form", "head", "n", "answer"),
    [
        ("rest", 64, 100, "proven"),
        ("rest", 5, 100, "violation"),  # 2^32 is no multiple of 100
        ("rest", 5, 64, "proven"),
        ("constant", 5, 100, "proven"),
        ("mask", 5, 100, "violation"),
        ("raised", 5, 100, "proven"),
    ],
)
def test_an_unsigned_number_below_zero_has_another_remainder(form, head, n, answer, type_):
    made = call(ring, (1,), x=tensor(128), out=tensor(64), head=head, n=n, FORM=form, TYPE=type_)
    found = {verdict.verdict for verdict in overflow.judge(BoundCall(made))}

    assert found <= {"proven"} if answer == "proven" else answer in found


@pytest.mark.parametrize(
    ("form", "head", "answer"),
    [
        ("upper", 5, "violation"),
        ("upper", 64, "proven"),
        ("half", 5, "violation"),
        ("bits", 5, "proven"),  # 4 bits of the difference, as they would be in any width
        ("hash", 5, "proven"),
        ("mixed", 5, "proven"),
    ],
)
def test_upper_bits_of_an_unsigned_number_below_zero_are_no_numbers(form, head, answer):
    made = call(ring, (1,), x=tensor(128), out=tensor(64), head=head, n=100, FORM=form,
                TYPE=tl.uint32)  # fmt: skip
    found = {verdict.verdict for verdict in overflow.judge(BoundCall(made))}

    assert found <= {"proven"} if answer == "proven" else answer in found


@triton.jit
def flagged(x, out, n, k, FORM: tl.constexpr):
    lanes = tl.arange(0, 64)
    below, above = lanes < n, lanes >= k
    if FORM == "product":
        flags = below * above
    elif FORM == "either":
        flags = below | above
    elif FORM == "loop":
        flags = lanes < 0
        for trip in range(4):
            flags = flags + ((lanes % 4 == trip) & below & above)
            flags = flags + ((lanes == trip) & below & above)
    elif FORM == "scan":
        flags = tl.cumsum(below & (lanes >= k), 0, dtype=tl.int1)
    else:
        flags = below + above
    if FORM == "three":
        counts = (flags + (lanes == k)).to(tl.int32)
        tl.store(out + lanes, tl.load(x + counts))
    elif FORM == "index" or FORM == "scan":
        tl.store(out + lanes, tl.load(x + flags.to(tl.int32)))
    elif FORM == "branch":
        if tl.max(flags.to(tl.int32), 0) == 0:
            tl.store(out + lanes, 1.0)
    else:
        tl.store(out + lanes, tl.load(x + lanes, mask=flags))


@pytest.mark.parametrize(
    ("form", "n", "k", "answer"),
    [
        ("mask", 50, 20, "violation"),
        ("mask", 20, 50, "proven"),  # no lane is both
        ("index", 50, 20, "violation"),
        ("index", 20, 50, "proven"),
        ("three", 20, 15, "violation"),  # 3 in lane 15, of which 1 is left
        ("three", 16, 15, "violation"),
        ("branch", 64, 0, "violation"),
        ("loop", 4, 1, "violation"),
        ("loop", 1, 1, "proven"),
        ("scan", 50, 20, "violation"),
        ("scan", 21, 20, "proven"),
        ("product", 50, 20, "proven"),
        ("either", 50, 20, "proven"),
    ],
)
def test_a_sum_of_two_true_booleans_is_zero(form, n, k, answer):
    made = call(flagged, (1,), x=tensor(64), out=tensor(64), n=n, k=k, FORM=form)
    found = list(overflow.judge(BoundCall(made)))

    assert {verdict.verdict for verdict in found} <= {answer}
    if answer == "violation":
        assert "more than one bit holds, and wraps around to" in found[0].message


@triton.jit
def packed(scores, x, out, BITS: tl.constexpr, FORM: tl.constexpr):
    lanes = tl.arange(0, 16)
    high = tl.load(scores + lanes).to(tl.uint32, bitcast=True).to(tl.uint64)
    key = (high << BITS) | (0xFFFFFFFF - lanes.to(tl.uint64))
    if FORM == "sorted":
        place = 0xFFFFFFFF - (tl.sort(key, descending=True) & 0xFFFFFFFF)
    elif FORM == "signed":
        place = tl.sort(key.to(tl.int64, bitcast=True)) & 15
    elif FORM == "carried":
        for trip in range(3):
            key = key | (tl.load(x + trip) > 0).to(tl.uint64)
        place = key >> 60
    else:
        place = key >> 60
    tl.store(out + lanes, tl.load(x + place))


@pytest.mark.parametrize(
    ("form", "bits", "answers"),
    [
        ("sorted", 32, {"proven"}),
        ("parts", 32, {"proven"}),
        ("carried", 32, {"proven"}),
        ("parts", 33, {"unknown"}),  # a bit may be lost
        ("signed", 32, {"unknown"}),  # the highest bit is a sign
    ],
)
def test_packing_bits_into_an_unsigned_integer_that_holds_them_all_is_no_wrap(form, bits, answers):
    tensors = {"scores": tensor(16), "x": tensor(16), "out": tensor(16)}
    made = call(packed, (1,), **tensors, BITS=bits, FORM=form)
    found = {v.verdict for v in overflow.judge(BoundCall(made)) if "<<" in v.message}

    assert found == answers or (answers == {"proven"} and not found)
