"""Lanes without a value: where they go, and what is said of them."""

import numpy as np
import pytest
import triton
import triton.language as tl

from kvtrace.symbolic.undefined.flow import sinks_of
from kvtrace.verdicts.judge import judge
from tests.verdicts import definedness_kernels as kernels
from tests.verdicts.calls import call, tensor

RULES = ("undefined-lanes", "undefined-use")


def answers(one):
    return [(v.rule, v.verdict) for v in judge(one, RULES)]


def test_an_undefined_lane_times_zero_is_reported_as_weak():
    weighed = call(
        kernels.weighed, (1,), x=tensor(50), weight=tensor(50), out=tensor(1), n=50, BLOCK=64
    )

    (verdict,) = judge(weighed, RULES)

    assert verdict.verdict == "violation"
    assert "multiplied by zero" in verdict.message


def test_an_undefined_integer_times_zero_is_zero_in_matrix_products_too():
    matrices = {"a": tensor(16, 40, dtype="i8"), "b": tensor(40, 16, dtype="i8")}
    product = call(
        kernels.product, (1,), **matrices, c=tensor(16, 16, dtype="i32"), depth=40, LEFT=True,
        BLOCK=32,
    )  # fmt: skip

    assert answers(product) == [("undefined-lanes", "proven")]


@pytest.mark.parametrize("left", [True, False])
def test_an_undefined_factor_of_a_matrix_product_with_zeros_is_reported_as_weak(left):
    matrices = {"a": tensor(16, 40), "b": tensor(40, 16), "c": tensor(16, 16)}
    (verdict,) = judge(
        call(kernels.product, (1,), **matrices, depth=40, LEFT=left, BLOCK=16), RULES
    )

    assert verdict.verdict == "violation"
    assert ("multiplied by zero" in verdict.message) == left
    assert ("the load of a" in verdict.message) == (not left)


def test_round_shapes_are_no_finding_and_the_proof_says_why():
    matrices = {"a": tensor(16, 48), "b": tensor(48, 16), "c": tensor(16, 16)}
    (verdict,) = judge(
        call(kernels.product, (1,), **matrices, depth=48, LEFT=False, BLOCK=16), RULES
    )

    assert verdict.verdict == "proven"
    assert "true in all lanes" in verdict.message


@pytest.mark.parametrize(("n", "verdict"), [(640, "proven"), (600, "violation")])
def test_a_value_loaded_for_the_next_trip_is_used_in_that_trip(n, verdict):
    prefetched = call(
        kernels.prefetched, (1,), x=tensor(640), out=tensor(640), n=n, steps=10, BLOCK=64
    )

    (found,) = judge(prefetched, RULES)

    assert found.verdict == verdict
    if verdict == "violation":
        assert (found.iteration, found.lane) == (9, (600 - 9 * 64,))


@pytest.mark.parametrize(
    ("n", "m", "masked", "verdict"),
    [
        (50, 50, True, "proven"),
        (50, 49, True, "proven"),
        (50, 51, True, "violation"),
        (50, 50, False, "violation"),
        (64, 64, False, "proven"),
    ],
)
def test_elements_that_a_histogram_leaves_out_need_no_value(n, m, masked, verdict):
    x = tensor(64, dtype="i32")
    counted = call(
        kernels.counted, (1,), x=x, out=tensor(8, dtype="i32"), n=n, m=m, MASKED=masked, BINS=8,
        BLOCK=64,
    )  # fmt: skip

    assert {found for _, found in answers(counted)} == {verdict}


@pytest.mark.parametrize(
    ("form", "verdicts"),
    [
        ("and mask", {"proven"}),
        ("and more", {"violation"}),
        ("added", {"violation"}),
        ("added to some", set()),
    ],
)
def test_lanes_that_a_mask_of_bits_removes_need_no_value_and_those_of_atomics_do(form, verdicts):
    tensors = {"x": tensor(64, dtype="i32"), "out": tensor(64, dtype="i32")}
    found = judge(call(kernels.remainders, (1,), **tensors, n=50, FORM=form, BLOCK=64), RULES)

    assert {verdict.verdict for verdict in found} == verdicts
    if form == "added":
        assert "a lane that the atomic of x" in found[0].message


@pytest.mark.parametrize(
    ("axis", "first", "verdict"),
    [(1, 14, "proven"), (1, 13, "violation"), (0, 14, "violation")],
)
def test_undefined_lanes_are_at_the_other_end_after_a_flip(axis, first, verdict):
    flipped = call(
        kernels.reversed_rows, (1,), x=tensor(4, 64), out=tensor(4, 64), n=50, first=first,
        AXIS=axis, ROWS=4, BLOCK=64,
    )  # fmt: skip

    assert {found for _, found in answers(flipped)} == {verdict}


@pytest.mark.parametrize(
    ("m", "counts", "named"),
    [
        (64, True, "a number in line"),
        (50, True, "a number in line"),
        (40, False, "the load of y in line"),
        (40, True, "the load of y in line"),
    ],
)
def test_the_source_is_named_that_changes_what_is_stored(m, counts, named):
    (verdict,) = judge(
        call(
            kernels.two_sources, (1,), x=tensor(64), y=tensor(64), out=tensor(64), n=50, m=m,
            COUNTS=counts, BLOCK=64,
        ),
        RULES,
    )  # fmt: skip

    assert verdict.verdict == "violation"
    assert named in verdict.message
    assert "the load of x" not in verdict.message


def test_masks_are_followed_through_a_transposition():
    transposed = call(
        kernels.transposed, (1,), x=tensor(10, 14), out=tensor(14, 10), rows=10, columns=14,
        BLOCK=16,
    )  # fmt: skip

    assert all(sink.undefined.is_nowhere for sink in sinks_of(transposed.module))
    assert judge(transposed, RULES) == []


@pytest.mark.parametrize(("m", "verdict"), [(50, "proven"), (49, "violation")])
def test_carried_values_that_are_swapped_in_a_loop_are_traced(m, verdict):
    by_turns = call(
        kernels.by_turns, (1,), x=tensor(50), y=tensor(50), out=tensor(50), n=50, m=m, steps=3,
        BLOCK=64,
    )  # fmt: skip

    assert answers(by_turns) == [("undefined-lanes", verdict)]


def test_an_undefined_mask_is_a_use():
    def judged(other):
        wanted = tensor(50, dtype="i32")
        vectors = {"x": tensor(64), "wanted": wanted, "out": tensor(50)}
        return answers(call(kernels.mask_from_memory, (1,), **vectors, n=50, OTHER=other, BLOCK=64))

    assert judged(other=False) == [("undefined-use", "violation")]
    assert judged(other=True) == []


def test_a_condition_of_a_loop_is_a_use():
    until = call(
        kernels.until, (1,), x=tensor(50), out=tensor(1, dtype="i32"), n=50, limit=200, BLOCK=64
    )

    found = judge(until, RULES)

    assert ("undefined-use", "violation") in [(v.rule, v.verdict) for v in found]


@pytest.mark.parametrize("whole", [True, False])
def test_undefined_lanes_are_followed_through_a_function_called_twice(whole):
    by_function = call(kernels.by_function, (64,), x=tensor(50), out=tensor(64), n=50, WHOLE=whole)

    assert answers(by_function) == [("undefined-lanes", "violation")] * whole


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize(("first", "second"), [(51, 0), (0, 51)])
def test_uses_and_loops_in_a_function_are_those_of_each_call(first, second, masks):
    x, out = tensor(64, dtype="i32"), tensor(2, dtype="i32")
    sums = call(kernels.sums, (1,), x=x, out=out, n=50, first=first, second=second, MASKS=masks)

    assert "violation" in {verdict for _, verdict in answers(sums)}


@pytest.mark.parametrize(
    ("flags", "verdict"),
    [([1] * 50 + [0] * 14, "unknown"), ([0] * 63 + [1], "violation"), (None, "unknown")],
)
def test_a_sink_that_depends_on_contents_is_decided_by_a_run_if_they_were_recorded(flags, verdict):
    data = None if flags is None else np.array(flags, np.int32)
    chosen = call(
        kernels.chosen_by_data, (1,), x=tensor(50), wanted=tensor(64, dtype="i32", data=data),
        out=tensor(64), n=50, BLOCK=64,
    )  # fmt: skip

    (found,) = judge(chosen, RULES)

    assert (found.rule, found.verdict) == ("undefined-lanes", verdict)
    if verdict == "violation":
        assert found.lane == (63,)
    else:
        names = "x" if flags else "x, wanted"
        hint = "(KVTRACE_TENSORS=all records them)"
        assert f", and made-up contents of {names} {hint}, do not differ" in found.reason


@pytest.mark.parametrize("data", [None, np.arange(16, dtype=np.int32)])
@pytest.mark.parametrize(
    ("decides", "n", "lanes"),
    [
        ("address", 10, {(10,)}),
        ("mask", 10, {(10,)}),
        ("address", 16, set()),
        ("nothing", 10, set()),
    ],
)
def test_two_loads_out_of_bounds_that_cancel_are_still_decided(decides, n, lanes, data):
    canceling = call(
        kernels.canceling, (1,), first=tensor(16, dtype="i32", data=data),
        second=tensor(16, dtype="i32", data=data), x=tensor(16), out=tensor(16), n=n,
        DECIDES=decides, BLOCK=16,
    )  # fmt: skip

    found = [each for each in judge(canceling, RULES[1:]) if each.verdict != "proven"]

    assert {each.lane for each in found if each.verdict == "violation"} == lanes
    assert len(found) == len(lanes)


@pytest.mark.parametrize("form", ["below", "sum below", "magnitude"])
def test_undefined_lanes_that_only_negative_numbers_show_are_found(form):
    one = call(kernels.limited, (1,), x=tensor(16), out=tensor(16), n=9, BLOCK=16, FORM=form)

    assert answers(one)[0][1] == "violation"


@pytest.mark.parametrize("kernel", [kernels.cancelling_itself, kernels.cancelling_lanes])
def test_substituted_zeros_that_cancel_within_one_load_are_found(kernel):
    one = call(kernel, (1,), first=tensor(16, dtype="i32"), x=tensor(16), out=tensor(16), n=0,
               BLOCK=16)  # fmt: skip

    (found,) = judge(one, RULES[1:])

    assert found.verdict == "violation"


@pytest.mark.parametrize(
    ("kernel", "arguments", "cause"),
    [
        (kernels.counter_after_loop, {"n": 3, "KEPT": False}, "a loop's counter has none after"),
        (kernels.counter_after_loop, {"n": 3, "KEPT": True}, None),
        (kernels.shifted, {"n": 3, "BITS": 32, "BLOCK": 8}, "a shift by 32 of 32 bits has none"),
        (kernels.shifted, {"n": 0, "BITS": 32, "BLOCK": 8}, "proven"),
        (kernels.shifted, {"n": 3, "BITS": 31, "BLOCK": 8}, None),
        (kernels.constant_as_integer, {"NUMBER": 3e9, "BLOCK": 8}, "3e+09 has none in 32 bits"),
        (kernels.constant_as_integer, {"NUMBER": 2e9, "BLOCK": 8}, None),
    ],
)
def test_numbers_without_a_value_are_as_undefined_as_lanes_of_loads(kernel, arguments, cause):
    """Compiled code stores what a register happens to hold; the language says nothing of it."""
    x, out = tensor(8, dtype="i32"), tensor(8, dtype="i32")

    verdicts = judge(call(kernel, (1,), x=x, out=out, **arguments), RULES)

    assert [v.verdict for v in verdicts] == [cause if cause == "proven" else "violation"] * bool(
        cause
    )
    assert cause in (None, "proven") or cause in verdicts[0].message


FITTING, BEYOND = (np.array([0, 1, 2, 3, 4, 5, 6, last], np.int32) for last in (7, 40))


def of_data(kernel, numbers, **arguments):
    """A call with numbers from 0 to 7 in `x`, and other integers as its first indices."""
    tensors = {name: tensor(1 << 16, dtype="i32") for name in kernel.arg_names if len(name) > 2}
    indices = tensor(8, dtype="i32", data=numbers)
    x = tensor(1 << 16, dtype="i32", data=np.arange(1 << 16, dtype=np.int32) % 8)
    given = {**tensors, "x": x, "amounts": indices, "index": indices, "y": tensor(64, dtype="i32")}
    given |= {"out": tensor(8, dtype="i32"), **arguments}
    return call(kernel, (1,), **{name: given[name] for name in kernel.arg_names})


def verdict_of(one):
    verdicts = {verdict for _, verdict in answers(one)}
    return next((each for each in ("violation", "unknown") if each in verdicts), "proven")


@pytest.mark.parametrize(
    ("form", "n", "beyond", "unrecorded"),
    [
        ("left", 8, "violation", "unknown"),
        ("left", 7, "proven", "unknown"),
        ("right of unsigned", 8, "violation", "unknown"),
        ("wide", 8, "proven", "unknown"),
        ("chosen", 8, "proven", "proven"),
        ("of bits", 8, "proven", "proven"),
        ("address", 8, "violation", "unknown"),
        ("address of few", 8, "proven", "unknown"),
    ],
)
def test_shifts_by_data_have_a_value_below_the_width(form, n, beyond, unrecorded):
    def judged(numbers):
        return of_data(kernels.shifted_by_data, numbers, n=n, FORM=form, BLOCK=8)

    assert verdict_of(judged(FITTING)) == "proven"
    assert verdict_of(judged(BEYOND)) == beyond
    assert verdict_of(judged(-BEYOND)) == (
        "proven" if form in ("chosen", "of bits") else "violation"
    )
    assert verdict_of(judged(None)) == unrecorded
    for verdict in judge(judged(None), RULES):
        assert verdict.verdict == "proven" or "set KVTRACE_TENSORS=int" in verdict.reason


@pytest.mark.parametrize("amount", [-1, 0, 3, 31, 32, 40])
@pytest.mark.parametrize("form", ["address", "index", "rotation", "bit of a mask", "counted"])
def test_shifts_by_arguments_have_a_value_below_the_width(form, amount):
    x, out = tensor(64, dtype="i32"), tensor(32, dtype="i32")
    one = call(kernels.shifted_by_argument, (1,), x=x, out=out, n=1, amount=amount, FORM=form,
               BLOCK=8)  # fmt: skip

    fits = {
        "rotation": 0 < amount < 32,
        "bit of a mask": 0 <= amount < 25,
        "counted": amount <= 32,
    }.get(form, 0 <= amount < 32)
    assert verdict_of(one) == ("proven" if fits else "violation")


@pytest.mark.parametrize(
    ("form", "undecided"),
    [
        ("address", {("overflow", None), ("out-of-bounds", "load")}),
        ("index", {("overflow", None)}),
        ("bit of a mask", {("out-of-bounds", "load"), ("mask-always-false", "load")}),
    ],
)
def test_no_rule_takes_a_shift_beyond_the_width_for_zero(form, undecided):
    def judged(amount):
        x, out = tensor(64, dtype="i32"), tensor(8, dtype="i32")
        return judge(call(kernels.shifted_by_argument, (1,), x=x, out=out, n=3, amount=amount,
                          FORM=form, BLOCK=8))  # fmt: skip

    assert all(verdict.verdict != "unknown" for verdict in judged(2))
    unknown = [verdict for verdict in judged(40) if verdict.verdict == "unknown"]
    assert {(verdict.rule, verdict.access) for verdict in unknown} == undecided
    assert all("without a value (a shift by" in verdict.reason for verdict in unknown)


def test_a_reason_names_the_violation_that_a_number_without_a_value_hides():
    def reason_for(elements):
        x, out = tensor(elements, dtype="i32"), tensor(8, dtype="i32")
        judged = judge(call(kernels.shifted_by_argument, (1,), x=x, out=out, n=3, amount=40,
                            FORM="address", BLOCK=8))  # fmt: skip
        (reason,) = [v.reason for v in judged if (v.rule, v.access) == ("out-of-bounds", "load")]
        return reason

    assert "load ends 4 bytes past the end of x" in reason_for(4)
    assert "past the end" not in reason_for(64)


@pytest.mark.parametrize(
    ("kernel", "arguments", "beyond", "unrecorded"),
    [
        (kernels.gathered_by_data, {"n": 8, "FORM": "as it is"}, "violation", "unknown"),
        (kernels.gathered_by_data, {"n": 7, "FORM": "as it is"}, "proven", "unknown"),
        (kernels.gathered_by_data, {"n": 8, "FORM": "address"}, "violation", "unknown"),
        (kernels.gathered_by_data, {"n": 8, "FORM": "chosen"}, "proven", "proven"),
        (kernels.counted_in_bins, {"n": 8, "MASKED": False, "BINS": 8}, "violation", "unknown"),
        (kernels.counted_in_bins, {"n": 8, "MASKED": True, "BINS": 8}, "proven", "proven"),
        (kernels.counted_in_bins, {"n": 8, "MASKED": False, "BINS": 64}, "proven", "unknown"),
    ],
)
def test_indices_of_gathers_and_histograms_have_limits(kernel, arguments, beyond, unrecorded):
    def judged(numbers):
        given = dict(arguments)
        if kernel is kernels.counted_in_bins:
            given["x"] = tensor(8, dtype="i32", data=numbers)
        return verdict_of(of_data(kernel, numbers, BLOCK=8, **given))

    assert [judged(numbers) for numbers in (FITTING, BEYOND, None)] == [
        "proven",
        beyond,
        unrecorded,
    ]


@triton.jit
def chosen_by_sign(x, out, SHIFT: tl.constexpr):
    """Lanes from 8 on have no value, and are replaced as long as no bit is shifted out."""
    lanes = tl.arange(0, 16)
    numbers = tl.load(x + lanes, mask=lanes < 8)
    tl.store(out + lanes, tl.where((lanes << SHIFT) >> SHIFT == lanes, 0.0, numbers))


def test_a_choice_by_integers_that_wrap_around_proves_nothing():
    tensors = {"x": tensor(16), "out": tensor(16)}

    assert judge(call(chosen_by_sign, (1,), **tensors, SHIFT=27), RULES) == []
    (found,) = judge(call(chosen_by_sign, (1,), **tensors, SHIFT=28), RULES)
    assert found.verdict == "unknown"
    assert "may wrap around" in found.reason


@triton.jit
def compared(x, out, n, limit, FORM: tl.constexpr, BLOCK: tl.constexpr):
    """Only some numbers in the lanes from n on change what is stored."""
    lanes = tl.arange(0, BLOCK)
    numbers = tl.load(x + lanes, mask=lanes < n)
    if FORM == "count above":
        tl.store(out, tl.sum((numbers > limit).to(tl.int32), axis=0))
    elif FORM == "first equal":
        tl.store(out, tl.min(tl.where(numbers == limit, lanes, BLOCK), axis=0))
    elif FORM == "between":
        tl.store(out, tl.sum(((numbers > 0.25) & (numbers < 0.5)).to(tl.int32), axis=0))
    elif FORM == "greatest":
        tl.store(out, tl.max(numbers, axis=0).to(tl.int32))
    elif FORM == "place":
        tl.store(out, tl.argmax(numbers, axis=0))
    elif FORM == "mask":
        tl.store(out + lanes, lanes, mask=numbers > limit)


def test_numbers_in_undefined_lanes_are_tried_until_one_shows_a_difference():
    def message_of(form, dtype="fp32", limit=2000, data=None):
        x, out = tensor(50, dtype=dtype, data=data), tensor(64, dtype="i32")
        tensors = {"x": x, "out": out, "n": 50, "limit": limit}
        (one,) = judge(call(compared, (1,), **tensors, FORM=form, BLOCK=64), RULES)
        return one.message if one.verdict == "violation" else one.verdict

    thousands = np.full(50, 1000, np.int32)
    assert message_of("count above").endswith("; the result differs between 0 and inf there")
    assert message_of("count above", "i32").endswith("between 0 and 2147483647 there")
    assert message_of("count above", "i8", limit=127) == "unknown"  # no number is above 127
    assert message_of("first equal").endswith("between 0 and 2000.0 there")
    assert message_of("first equal", "i16").endswith("between 0 and 2000 there")
    assert message_of("between").endswith("between 0 and 0.46875 there")
    assert message_of("between", "bf16").endswith("between 0 and 0.46875 there")
    assert message_of("mask", "i32").endswith("between 0 and 2147483647 there")
    assert message_of("greatest", "i32", data=thousands).endswith("between 0 and 2147483647 there")
    assert message_of("place", "i32", data=thousands).endswith("between 0 and 2147483647 there")
