"""Pairs of versions that were once answered falsely, and their neighbors."""

import pytest

from corpus import load
from corpus.case import Answer
from tests.support.tiers import some


def answers(name: str) -> list[Answer]:
    """Return kvtrace's answers about a pair."""
    found = [case.ask() for case in load("versions") if case.name.partition(":")[0] == name]
    assert found
    return found


@pytest.mark.parametrize(
    "name",
    some(
        (
            "max_flipped",
            "max_builtin",
            "max_plus_min",
            "distance",
            "least_of_chunks",
            "one_of_both",
            "multiple",
        ),
        2,
    ),
)
def test_inputs_include_numbers_for_which_versions_differ(name: str) -> None:
    assert answers(name) == [Answer.NO]


@pytest.mark.parametrize(
    "name", some(("max_less", "not_equal", "half", "floored", "bounded_label"), 2)
)
def test_rewritten_comparisons_and_quotients_are_equal(name: str) -> None:
    assert answers(name) == [Answer.YES]


@pytest.mark.costly("compares two kernels on drawn inputs")
def test_zero_times_nan_differs_from_zero() -> None:
    assert answers("2 of_floats plus nothing") == [Answer.NO]


def test_single_element_with_another_value_is_found() -> None:
    assert answers("pointer_of_while") == [Answer.YES]
