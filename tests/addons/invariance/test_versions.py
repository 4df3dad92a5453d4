"""Two versions of a kernel: refactorings that change no bit, and those that subtly do."""

from collections.abc import Callable

import pytest

from kvtrace.addons.invariance.versions import OutputMeaning, same_meaning
from kvtrace.recorded_calls.reading import calls_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.trace import Selection
from tests.addons.invariance.refactored import REFACTORED, Refactored
from tests.support.tiers import some

Recorded = Callable[[Callable[[], object]], Selection]

#: Equal by construction, and not shown to be: rows or lanes are split between programs otherwise.
NOT_SHOWN = {"four rows a program", "a persistent loop over rows", "two stores of disjoint lanes"}


def call_of(selection: Selection) -> Call:
    (call,) = calls_of(selection.trace, selection.runs[0])
    assert isinstance(call, Call)
    return call


def compared(pair: Refactored, recorded: Recorded) -> tuple[OutputMeaning, ...]:
    before, after = (
        call_of(recorded(lambda kernel=kernel: pair.launch(kernel)))  # type: ignore[misc]
        for kernel in (pair.before, pair.after)
    )
    return same_meaning(before, after)


@pytest.mark.parametrize("pair", some(REFACTORED, 5), ids=lambda pair: pair.name)
def test_answers_about_refactored_kernels_are_right(pair: Refactored, recorded: Recorded) -> None:
    meanings = {each.meaning for each in compared(pair, recorded)}

    assert meanings
    if pair.equal:
        assert "violation" not in meanings
        assert meanings <= {"same", "equal"} or pair.name in NOT_SHOWN
    else:
        assert meanings.isdisjoint({"same", "equal"})


@pytest.mark.parametrize(
    "name", ["a maximum by tiles", "loop reversed", "tiles summed each", "BLOCK_K halved"]
)
def test_reordered_sums_and_maxima_are_called_reassociated(name: str, recorded: Recorded) -> None:
    (pair,) = (each for each in REFACTORED if each.name == name)

    assert {each.meaning for each in compared(pair, recorded)} == {"reassociated"}


@pytest.mark.parametrize("name", ["a maximum with zero", "steeper where negative"])
def test_difference_that_depends_on_data_is_found(name: str, recorded: Recorded) -> None:
    (pair,) = (each for each in REFACTORED if each.name == name)

    assert {each.meaning for each in compared(pair, recorded)} <= {"different", "violation"}
