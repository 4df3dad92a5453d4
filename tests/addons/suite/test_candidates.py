"""Candidates: which functions a file has, which calls they are for, and what they leave."""

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.addons.suite.candidates import (
    BadArgument,
    Function,
    candidate_launch,
    candidates_of,
    chosen,
    difference,
    digests,
)
from kvtrace.converters.scripts.launching import Storage

KERNELS = """
from math import sqrt
from os.path import join
import triton, triton.language as tl

@triton.jit
def rows(x, n, BLOCK: tl.constexpr):
    pass

@triton.autotune([triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def tuned(x, n, BLOCK: tl.constexpr):
    pass

def plain(x, scale=2):
    x.mul_(scale)

def grid(meta):
    return (meta["n"],)
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "mine.py").write_text(KERNELS)
    return tmp_path / "mine.py"


def test_a_file_has_the_functions_that_it_defines(file):
    assert [one.name for one in candidates_of(str(file))] == ["rows", "tuned", "plain"]
    (one,) = candidates_of(f"{file}:tuned")
    assert (one.label, one.name, one.grid({"n": 3})) == ("mine.py:tuned", "tuned", (3,))


def test_a_folder_has_the_functions_of_its_files(file):
    (file.parent / "more.py").write_text("def other(x):\n    pass\n")
    assert [one.label for one in candidates_of(str(file.parent))][-1] == "more.py:other"


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("none.py", "there is no such file"),
        ("none.py:rows", "there is no such file"),
        ("mine.py:none", "has no function none; it has rows, tuned, plain"),
        ("bad.py", "cannot be imported: ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("empty", "there is no such file, or no .py file in it"),
        ("", "there is no such file"),
    ],
)
def test_a_bad_place_is_refused_in_a_sentence(file, place, message, monkeypatch):
    monkeypatch.chdir(file.parent)
    (file.parent / "bad.py").write_text("import nothing_like_it")
    (file.parent / "empty").mkdir()
    with pytest.raises(BadArgument, match=message):
        candidates_of(place)


ENTRIES = [
    {"name": "1-rows", "kernel": "rows", "share": 0.5},
    {"name": "2-cols", "kernel": "cols", "share": 0.3},
    {"name": "3-rows", "kernel": "rows", "share": 0.2},
]


def names(pairs):
    return [(entry["name"], None if one is None else one.name) for entry, one in pairs]


def test_a_candidate_is_for_the_calls_of_the_kernel_of_its_name():
    pairs = chosen(ENTRIES, [], [Function("f", "rows", print), Function("f", "other", print)])
    assert names(pairs) == [("1-rows", "rows"), ("2-cols", None), ("3-rows", "rows")]


def test_a_candidate_of_another_name_is_for_the_calls_that_are_named():
    assert names(chosen(ENTRIES, ["1-*"], [Function("f", "mine", print)])) == [("1-rows", "mine")]
    with pytest.raises(BadArgument, match=r"no candidate is named as a kernel .*rows, cols"):
        chosen(ENTRIES, [], [Function("f", "mine", print)])


def test_a_pattern_without_calls_is_refused():
    with pytest.raises(BadArgument, match=r"no call matches \*none\*; there are 1-rows, 2-cols"):
        chosen(ENTRIES, ["*none*"], [])


CALL = SimpleNamespace(grid=(7, 1, 1), options={"num_warps": 8, "maxnreg": 64})


def test_a_function_gets_the_arguments_that_it_names(file):
    (plain,) = candidates_of(f"{file}:plain")
    x = torch.ones(3)
    candidate_launch(plain, CALL, {"x": x, "n": 3, "scale": 4})()
    assert x.tolist() == [4, 4, 4]
    candidate_launch(plain, CALL, {"x": x, "n": 3})()
    assert x.tolist() == [8, 8, 8]


def test_a_parameter_that_was_not_recorded_is_named(file):
    (rows,) = candidates_of(f"{file}:rows")
    with pytest.raises(BadArgument, match="no recorded arguments: BLOCK; give them defaults"):
        candidate_launch(rows, CALL, {"x": 1, "n": 3})
    (tuned,) = candidates_of(f"{file}:tuned")
    candidate_launch(tuned, CALL, {"x": 1, "n": 3})  # BLOCK is the autotuner's


def told(dtype, expected, found):
    def stored(values):
        return {"x": torch.tensor(values, dtype=getattr(torch, dtype)).view(torch.uint8)}

    pair = [stored(values) for values in (expected, found)]
    call = SimpleNamespace(storages={"x": Storage(len(pair[0]["x"]), dtype)})
    return difference(call, *pair)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("dtype", "expected", "found"),
    [
        ("float32", [1.0, 2.0], [1.00001, 2.0]),
        ("float32", [1000.0, 0.0], [1000.0, 0.001]),  # near to what the others are
        ("bfloat16", [1.0, NAN, INF], [1.0078125, NAN, INF]),
        ("int32", [1, 2], [1, 2]),
        ("bool", [True], [True]),
    ],
)
def test_results_within_the_tolerance_are_right(dtype, expected, found):
    assert told(dtype, expected, found) is None


@pytest.mark.parametrize(
    ("dtype", "expected", "found", "text"),
    [
        ("float32", [1.0, 2.0], [1.0, 2.01], "x: 1 of 2 elements differ, the first at 1"),
        ("float32", [1.0, 2.0], [NAN, 2.0], "nan in place of 1.0"),
        ("float32", [NAN, 2.0], [1.0, 2.0], "1.0 in place of nan"),
        ("float32", [INF, 2.0], [-INF, 2.0], "-inf in place of inf"),
        ("float32", [INF, 2.0], [3.0, 2.0], "3.0 in place of inf"),
        ("int32", [5, 5], [5, 6], "6 in place of 5"),
        ("float16", [1.0], [1.05], "1 of 1 elements differ"),
    ],
)
def test_other_results_are_wrong(dtype, expected, found, text):
    assert text in told(dtype, expected, found)


def test_a_bfloat16_intermediate_is_wrong_in_float32():
    exact = torch.randn(100, generator=torch.Generator().manual_seed(1))
    assert told("float32", exact.tolist(), exact.bfloat16().float().tolist()) is not None


@given(st.binary(max_size=40), st.integers(0, 39), st.integers(1, 255))
def test_a_digest_changes_with_each_byte_and_with_nothing_else(content, at, change):
    def digest(value):
        return digests({"x": torch.tensor(list(value), dtype=torch.uint8)})["x"]

    other = bytearray(content)
    assert digest(other) == digest(content)
    if at < len(other):
        other[at] ^= change
        assert digest(other) != digest(content)


@given(st.permutations(range(4)))
def test_a_digest_depends_on_the_order(order):
    words = [bytes([number + 1] * 8) for number in range(4)]
    one, other = b"".join(words), b"".join(words[at] for at in order)
    stored = [torch.tensor(list(value), dtype=torch.uint8) for value in (one, other)]
    first, second = (digests({"x": value})["x"] for value in stored)
    assert (first == second) == (one == other)
