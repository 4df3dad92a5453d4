"""Recorded contents and views of inputs: sides that had others have no known results."""

import pytest

from kvtrace.converters.diff import compare
from kvtrace.converters.diff.inputs import differing_inputs
from kvtrace.converters.diff.snapshot import take_snapshot
from tests.converters.compared_kernels import OTHER, SCALE
from tests.converters.written_trace import Launches, write_trace
from tests.support.replacing import replace


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        ([(0, "a")], [(0, "a")], "yes"),
        ([(0, "a")], [(0, "b")], "not known"),
        ([(0, "a"), (0, "b")], [(0, "b"), (0, "a")], "yes"),
        ([(0, "a"), (1, "b")], [(0, "a"), (1, "a")], "not known"),
        ([(0, "a")], [], "yes"),  # one side did not record them: nothing differs
    ],
)
def test_results_are_the_same_only_of_inputs_that_do_not_differ(before, after, word, tmp_path):
    a = write_trace(tmp_path / "a", [SCALE, OTHER], contents=before)
    b = write_trace(tmp_path / "b", [replace(SCALE, line=40), OTHER], contents=after)
    results = next(a for a in compare(a, b).answers if a.question == "same results")
    assert results.word == word
    if word == "yes":
        assert results.evidence.startswith("for equal inputs: ")
    else:
        name = "x_ptr" if before[0] != after[0] else "y_ptr"
        assert f"recorded contents of {name} of scale differ" in results.evidence


COPY = """"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.ptr<f32>, !tt.ptr<f32>) -> (), sym_name = "scale"}> ({
  ^bb0(%x_ptr: !tt.ptr<f32>, %y_ptr: !tt.ptr<f32>):
    %0 = "tt.load"(%x_ptr) : (!tt.ptr<f32>) -> f32
    "tt.store"(%y_ptr, %0) : (!tt.ptr<f32>, f32) -> ()
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""
READ = '    %1 = "tt.load"(%y_ptr) : (!tt.ptr<f32>) -> f32\n'
ADDED = '    %1 = "tt.atomic_rmw"(%y_ptr, %0) : (!tt.ptr<f32>, f32) -> f32\n'


@pytest.mark.parametrize(
    ("more", "before", "after", "word"),
    [
        ("", [(0, "a"), (1, "b")], [(0, "a"), (1, "c")], "yes"),
        ("", [(0, "a"), (1, "b")], [(0, "c"), (1, "b")], "not known"),
        (READ, [(0, "a"), (1, "b")], [(0, "a"), (1, "c")], "not known"),
        (ADDED, [(0, "a"), (1, "b")], [(0, "a"), (1, "c")], "not known"),
        (READ, [(0, "a"), (1, "b")], [(0, "a"), (1, "b")], "yes"),
    ],
)
def test_contents_of_an_output_that_is_only_written_are_no_input(
    more, before, after, word, tmp_path
):
    code = COPY.replace('    "tt.return"', f'{more}    "tt.return"')
    kernel = replace(SCALE, later={"ttir_generic": code})
    sides = [
        write_trace(tmp_path / name, [kernel], contents=contents)
        for name, contents in (("a", before), ("b", after))
    ]

    assert compare(*sides).answers[1].word == word


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [([0], [4], (4, 0)), ([0, 4], [0, 8], (8, 4)), ([0, 4], [4, 0], None), ([0], [0, 4], None)],
)
def test_inputs_that_are_other_parts_of_storages_differ(before, after, moved, tmp_path):
    a, b = (
        take_snapshot(_written(tmp_path / name, begins), name)
        for name, begins in (("a", before), ("b", after))
    )
    found = list(differing_inputs([(key, key) for key in a.kernels], a, b))
    names = ("x_ptr", "y_ptr") if moved else ()
    place = "of scale begins at byte {} of its storage, at {} before".format(*moved or (0, 0))
    assert found == [f"{name} {place}" for name in names]


def _written(folder, begins):
    calls = tuple(Launches(offset_bytes=begin) for begin in begins)
    return write_trace(folder, [replace(SCALE, calls=calls)])


def test_a_side_without_kernels_is_not_safe(tmp_path):
    sides = [write_trace(tmp_path / name, kernels) for name, kernels in (("a", [SCALE]), ("b", []))]
    words = {answer.question: answer.word for answer in compare(*sides).answers}
    assert words["safe"] == words["merge"] == "not known"
