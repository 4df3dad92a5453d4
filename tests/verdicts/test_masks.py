"""Masks that are the same everywhere."""

import pytest

from kvtrace.verdicts.judge import judge
from tests.verdicts import definedness_kernels as kernels
from tests.verdicts.calls import call, tensor

RULES = ("mask-always-false", "mask-always-true")


def guarded(side, n=1024, programs=4):
    return call(kernels.guarded, (programs,), x=tensor(n), out=tensor(n), n=n, SIDE=side, BLOCK=256)


def found(one, rules=RULES):
    return [(v.rule, v.verdict, v.access) for v in judge(one, rules)]


def test_a_mask_that_nothing_fulfils_is_found_for_load_and_store():
    assert found(guarded("far")) == [
        ("mask-always-false", "violation", "load"),
        ("mask-always-false", "violation", "store"),
    ]


@pytest.mark.parametrize("programs", [4, 10**6])
def test_it_does_not_hang_on_the_size_of_the_grid(programs):
    assert len(found(guarded("far", programs=programs))) == 2


def test_what_is_never_reached_is_not_told():
    assert found(guarded("never reached")) == []


def test_a_mask_of_round_shapes_is_a_note_where_it_is_asked_for():
    assert found(guarded("near")) == [
        ("mask-always-true", "violation", "load"),
        ("mask-always-true", "violation", "store"),
    ]
    assert found(guarded("near"), None) != []
    assert not [rule for rule, *_ in found(guarded("near"), None) if rule in RULES]


def test_a_mask_that_cuts_the_tail_is_neither():
    assert found(guarded("near", n=1000)) == []
