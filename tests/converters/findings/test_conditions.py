"""Text of `kvtrace sizes`: the answer first, each finding once; kernels not judged at sizes."""

import re

import pytest

from kvtrace.converters.findings.conditions import (
    AccessLine,
    KernelConditions,
    OutsideCall,
    conditions_text,
    unjudged_at_sizes,
)
from kvtrace.converters.findings.envelope import AtSizes, EnvelopeRow, SizeVerdict

UNKNOWN = AtSizes("n = 9", reason="m was 3, which may be 3 or n")
NOT_LAUNCHED = AtSizes("n = 9", limit="n is a multiple of 16 in this variant")
PROVEN = AtSizes("n = 9", proven=2)
UNDECIDED = AtSizes("n = 9", verdicts=(SizeVerdict("overflow", "unknown", "?", None, None),))


def unjudged(*variants):
    return unjudged_at_sizes([KernelConditions("scale", None, None, (), at=at) for at in variants])


def test_a_kernel_of_which_a_variant_was_judged_is_judged():
    assert unjudged(NOT_LAUNCHED, PROVEN) == unjudged(UNDECIDED) == unjudged(None) == {}


def test_the_reason_of_a_variant_that_may_be_launched_comes_first():
    assert unjudged(NOT_LAUNCHED, UNKNOWN) == {"scale": UNKNOWN}
    assert unjudged(NOT_LAUNCHED) == {"scale": NOT_LAUNCHED}


# -- text -----------------------------------------------------------------------------------------

PAST_END = "load ends 4 bytes past the end of x"


def row(quantity, kind="unknown", first_bad=None, **more):
    what = "" if kind == "unknown" else kind
    fields = {"contract": f"0 <= {quantity} <= 7", "low": 0, "high": 7, "reason": "?"}
    return EnvelopeRow(quantity, 7, kind, first_bad, what, **{**fields, **more})


def already_bad(quantity):
    return EnvelopeRow(quantity, 7, "tensor", 7, f"as recorded, {PAST_END} (out-of-bounds)")


def kernel(name, *rows, others=(), at=None):
    access = AccessLine("load", "x", None, 3, "n <= extent(x)", exact=True)
    return KernelConditions(name, None, None, (access,), calls=1, inside=1 - len(others),
                            envelope=rows, others=others, at=at)  # fmt: skip


def printed(*kernels, **options):
    return conditions_text(kernels, **options)


def violation(message=PAST_END):
    return OutsideCall("run", 1, "scale[(1,)](x=fp32[7], n=8)", True, "violation", message)


def test_the_answer_comes_first_on_one_screen_and_the_gravest_kernel_above_all():
    kernels = [kernel(f"kernel_{number}", row("n")) for number in range(40)]
    kernels += [kernel("wrapping", row("n", "overflow", 8))]
    kernels += [kernel("broken", already_bad("n"), others=(violation(),))]

    lines = printed(*kernels)

    assert len(lines) <= 24
    assert lines[0].startswith("42 unique calls of 42 kernel variants: 1 outside (judged alone: a")
    text = "\n".join(lines)
    assert f"broken: violation: {PAST_END}" in text
    ends = ("bad", "overflow  not tried", "unknown  not tried")
    names = [line.split()[0] for line in lines if re.sub(" {2,}", "  ", line).endswith(ends)]
    assert names[:3] == ["broken", "wrapping", "kernel_0"]
    assert "… 30 more (--full shows them)" in lines


def test_the_answer_fits_narrow_terminals():
    lines = printed(kernel("a_kernel_of_a_long_name" * 3, row("scores.shape[0]")), width=40)
    assert max(map(len, lines)) <= 40


def test_full_text_has_every_kernel_and_its_conditions():
    text = "\n".join(printed(*(kernel(f"kernel_{n}", row("n")) for n in range(40)), full=True))
    assert text.count("n <= extent(x)") == 40
    assert "more" not in text


def test_the_verdicts_at_asked_sizes_are_in_the_short_answer():
    lines = printed(kernel("scale", at=UNKNOWN), kernel("half", at=PROVEN))
    assert "scale at n = 9: not judged: m was 3, which may be 3 or n" in lines
    assert "half at n = 9: 2 proven" in lines


def test_a_violation_as_recorded_is_printed_once_for_all_sizes():
    rows = [already_bad("n"), already_bad("x.shape[0]"), already_bad("grid_x")]
    text = " ".join(" ".join(printed(kernel("scale", *rows), full=True)).split())
    assert text.count(PAST_END) == 1
    assert "n (was 7), x.shape[0] (was 7), grid_x (was 7): already bad: as recorded" in text


def test_what_is_unknown_of_sizes_that_were_always_equal_is_printed_once():
    stride = row("stride", contract="stride = 7", low=7, equal=("n",))
    text = " ".join(
        " ".join(printed(kernel("scale", stride, row("n", equal=("stride",))), full=True)).split()
    )
    assert text.count("unknown: ?") == 1
    assert "n (was 7), stride (was 7): proven for 0 <= n <= 7" in text


def test_sizes_that_differ_or_end_differently_keep_their_own_rows():
    bad = row("stride", "overflow", 8, equal=("n",))
    apart = printed(kernel("scale", bad, row("n", equal=("stride",)), row("m")), full=True)
    assert sum(" (was 7): " in line for line in apart) == 3


@pytest.mark.parametrize(
    ("written", "cell"), [((), "not tried"), ((3,), "1 size"), ((3, 65), "2 sizes")]
)
def test_it_is_said_where_all_elements_were_written_and_that_this_is_not_proven(written, cell):
    tried = kernel("scale", row("n", "none", written=written))

    text = "\n".join(printed(tried))

    assert "all written at" in text
    assert cell in text
    assert "That all is written is tried, not proven." in text
    full = "\n".join(printed(tried, full=True, width=200))
    assert ("every element is written at the sizes tried: 3" in full) == bool(written)
