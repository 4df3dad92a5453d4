"""The order of launches is compared piece by piece."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.converters.diff import compare
from kvtrace.converters.diff.launch_order import _pairs
from tests.converters.written_trace import Kernel, Launches, write_trace


@pytest.fixture(params=[2, 131_072])
def piece(request, monkeypatch):
    """Read launches in pieces of two rows, and in one piece."""
    monkeypatch.setattr("kvtrace.schema.parts.ROW_GROUP_ROWS", request.param)


def notes_on_order(difference):
    return [note for note in difference.notes if note.startswith("the same launches")]


def test_other_numbers_of_launches_have_no_order(tmp_path, piece):
    kernels = [Kernel(calls=(Launches(number=3),)), Kernel(name="other", calls=(Launches(),))]
    more = [kernels[1], Kernel(calls=(Launches(number=4),))]
    a, b = write_trace(tmp_path / "a", kernels), write_trace(tmp_path / "b", more)

    assert notes_on_order(compare(a, b)) == []


def results_answer(difference):
    (answer,) = [answer for answer in difference.answers if answer.question == "same results"]
    return answer.word, answer.evidence


@pytest.mark.filterwarnings("error")
def test_results_are_not_known_where_kernels_change_places(tmp_path, piece):
    kernels = [Kernel(calls=(Launches(number=3),)), Kernel(name="other")]
    a, b = write_trace(tmp_path / "a", kernels), write_trace(tmp_path / "b", kernels[::-1])
    difference = compare(a, b)

    note = "the same launches come in another order from number 1 on: scale before, other after"
    assert difference.empty
    assert notes_on_order(difference) == [note]
    assert results_answer(difference) == ("not known", note)
    assert results_answer(compare(a, a))[0] == "yes"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("other", [Launches(scalar="2000"), Launches(shape=(500,))])
def test_results_are_not_known_where_calls_of_a_kernel_change_places(tmp_path, piece, other):
    calls = (Launches(number=3), other)
    a = write_trace(tmp_path / "a", [Kernel(calls=calls)])
    b = write_trace(tmp_path / "b", [Kernel(calls=calls[::-1])])
    note = (
        "the same launches come in another order from number 1 on: "
        "scale before, scale with other arguments after"
    )

    assert results_answer(compare(a, b)) == ("not known", note)
    assert notes_on_order(compare(a, a)) == []


def test_calls_that_are_others_have_no_order(tmp_path, piece):
    a, b = (
        write_trace(tmp_path / scalar, [Kernel(calls=(Launches(), Launches(scalar=scalar)))])
        for scalar in ("2000", "3000")
    )

    assert notes_on_order(compare(a, b)) == []


PIECES = st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=6)


@given(PIECES, PIECES, st.booleans())
def test_pieces_of_any_sizes_are_compared_in_pairs(before, after, with_none):
    sides = [[np.array(piece, np.int64) for piece in pieces] for pieces in (before, after)]
    if with_none:
        sides[1].append(None)
    lists = [[item for piece in pieces for item in piece] for pieces in (before, after)]

    pairs = list(_pairs(*map(iter, sides)))

    shorter = min(map(len, lists))
    ends_with_none = pairs[-1:] == [None]
    assert ends_with_none == (with_none or len(lists[0]) != len(lists[1]))
    paired = [np.concatenate([np.zeros(0, np.int64), *(p[n] for p in pairs if p)]) for n in (0, 1)]
    assert [of_side.tolist() for of_side in paired] == [items[:shorter] for items in lists]
