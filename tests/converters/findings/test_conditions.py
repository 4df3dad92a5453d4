"""Kernels that were not judged at the sizes of `--at`."""

from kvtrace.converters.findings.conditions import KernelConditions, unjudged_at_sizes
from kvtrace.converters.findings.envelope import AtSizes, SizeVerdict

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
