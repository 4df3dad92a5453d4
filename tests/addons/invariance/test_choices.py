"""Choices by comparisons and extremes: which are the same however they are written."""

import pytest

from tests.addons.invariance.laws import X, Y, are_equal, extreme, minus, number, op, times, where

ZERO, ONE = number(0.0), number(1.0)
QUARTER, MORE = times(X, number(0.25)), times(X, number(1.25))
POSITIVE = (X, ZERO)

HOLDING = {
    "turned around": (where("ogt", POSITIVE, X, QUARTER), where("ole", POSITIVE, QUARTER, X)),
    "exchanged": (where("ogt", POSITIVE, X, QUARTER), where("olt", (ZERO, X), X, QUARTER)),
    "equal at zero": (where("ogt", POSITIVE, X, QUARTER), where("oge", POSITIVE, X, QUARTER)),
    "as a maximum": (where("ogt", POSITIVE, X, QUARTER), extreme("max", X, QUARTER)),
    "of a slope above one": (where("ogt", POSITIVE, MORE, X), extreme("max", MORE, X)),
    "as a minimum": (where("ogt", POSITIVE, QUARTER, X), extreme("min", QUARTER, X)),
    "a clamp": (where("ogt", (X, ONE), ONE, X), where("oge", (X, ONE), ONE, X)),
    "a magnitude": (where("olt", POSITIVE, minus(ZERO, X), X), op("math.absf", X)),
    "a NaN either way": (where("ogt", (X, ONE), times(X, Y), X), where("ugt", (X, ONE),
                         times(X, Y), X)),
}  # fmt: skip

BROKEN = {
    "other values at zero": (
        where("ogt", POSITIVE, Y, QUARTER), where("oge", POSITIVE, Y, QUARTER),
    ),
    "the other extreme": (extreme("max", X, QUARTER), extreme("min", X, QUARTER)),
    "a slope above one": (where("ogt", POSITIVE, X, MORE), extreme("max", X, MORE)),
    "another number's sign": (
        where("ogt", POSITIVE, X, QUARTER), where("ogt", (Y, ZERO), X, QUARTER),
    ),
    "the ways exchanged": (where("ogt", POSITIVE, X, QUARTER), where("ogt", POSITIVE, QUARTER, X)),
    "a NaN that is chosen away": (
        where("ogt", POSITIVE, X, ZERO), where("ole", POSITIVE, ZERO, X),
    ),
    "a magnitude's negative": (where("ogt", POSITIVE, minus(ZERO, X), X), op("math.absf", X)),
    "a step at one": (where("ogt", (X, ONE), ONE, ZERO), where("oge", (X, ONE), ONE, ZERO)),
    "a NaN that passes": (extreme("max", X, Y), extreme("max or NaN", X, Y)),
}  # fmt: skip


@pytest.mark.parametrize("name", HOLDING)
def test_equivalent_forms_of_a_choice_are_equal(name: str) -> None:
    assert are_equal(*HOLDING[name])


@pytest.mark.parametrize("name", BROKEN)
def test_different_choices_are_unequal(name: str) -> None:
    assert not are_equal(*BROKEN[name])
