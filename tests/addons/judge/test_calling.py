"""Calls of the candidate, with a process on the other side that answers as a test says."""

import os
import time
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest

from kvtrace.addons.judge.calling import array_of, call_candidate, fork_worker, read_call_results
from kvtrace.addons.judge.comparing import count_differences
from kvtrace.addons.judge.messages import receive, send
from kvtrace.inputs.cases import Case, TensorInput, write_cases

SIZE = 40


@contextmanager
def calling(folder, sizes=(SIZE,) * 3, seconds=60):
    """Yield the functions of a candidate's process that receive a call and send an answer.

    There is a case for each of the sizes.
    """
    inputs = folder / "inputs"
    inputs.mkdir()
    cases_ = []
    for number, size in enumerate(sizes):
        np.full(size, number + 1, np.float32).tofile(inputs / f"{number}.bin")
        tensor = TensorInput("x", "float32", (size,), (1,), 0, size, f"{number}.bin")
        cases_.append(Case(f"case {number}", "given" if not number else "sizes", (tensor,)))
    write_cases(inputs, cases_)
    (folder / "seed").write_text("7")
    calls, calls_end = os.pipe()
    answers_end, answers = os.pipe()

    def work():
        os.close(calls)
        os.close(answers)
        call_candidate(
            inputs,
            folder / "seed",
            folder / "answered",
            calls_end,
            answers_end,
            seconds=seconds,
            most_bytes=1 << 20,
        )

    caller = fork_worker(os.getpid(), work)
    os.close(calls_end)
    os.close(answers_end)
    try:
        yield partial(receive, calls, 1 << 20), partial(send, answers)
    finally:
        os.close(calls)
        os.close(answers)
        os.waitpid(caller, 0)


def result(content, **more):
    described = {"dtype": "float32", "shape": [len(content) // 4]}
    return {"results": [described], "odd": [], "drew": [], **more}, content


def answer_all(folder, change=lambda header, content: content, **more):
    """Answer each call with its inputs, changed; return the results and all headers."""
    headers, contents = [], {}
    with calling(folder) as (hear, answer):
        while (message := hear()) is not None:
            header, content = message
            headers.append(header)
            if "call" in header:
                contents[header["call"]] = bytes(content)
                answer(*result(change(header, content), **more))
            elif "again" in header:
                answer(*result(change(header, contents[header["again"]])))
            else:
                answer({"results": [], "running": False})
    return read_call_results(folder / "answered"), headers


def test_every_case_is_called_and_some_are_repeated_in_seeded_order(tmp_path):
    answered, headers = answer_all(tmp_path)

    assert answered.whole
    assert (answered.differences, answered.malformed) == ([], "")
    assert answered.order[0] == 0
    assert set(answered.order) == {0, 1, 2}
    assert len(answered.order) > 65
    for number, (only,) in answered.results.items():
        assert (array_of(only, tmp_path / "answered") == number + 1).all()
    assert any("again" in header for header in headers)
    calls = [header for header in headers if "call" in header]
    assert {key for header in calls for key in header} == {
        "call", "keep", "inputs", "weights", "overwrite", "gradients", "tracked", "cotangents"
    }  # fmt: skip
    assert "file" not in calls[0]["inputs"][0]


def test_inputs_are_sent_only_after_the_previous_answer(tmp_path):
    with calling(tmp_path) as (hear, answer):
        _, content = hear()
        os.set_blocking(hear.args[0], False)
        with pytest.raises(BlockingIOError):
            hear()
        os.set_blocking(hear.args[0], True)
        answer(*result(content))
        assert hear()[0]["call"] == 1
    assert not read_call_results(tmp_path / "answered").whole


def test_other_cases_are_not_called_when_a_share_of_the_time_is_over(tmp_path, monkeypatch):
    monkeypatch.setattr("kvtrace.addons.judge.calling._CALLING_SHARE", 0.0)
    answered, _ = answer_all(tmp_path)
    assert answered.whole
    assert answered.order[0] == 0
    assert set(answered.results) == {0}


def answer_sizes(folder, sizes, duration, last=None):
    """Answer first calls on sizes after `duration(size)` s; end at a case of size `last`."""
    known_sizes = set()
    with calling(folder, sizes, seconds=3) as (hear, answer):
        while (message := hear()) is not None:
            header, content = message
            size = len(content) // 4
            if "call" not in header:
                answer({"results": [], "running": False})
            elif size == last:
                break
            else:
                time.sleep(0.0 if size in known_sizes else duration(size))
                known_sizes.add(size)
                answer(*result(bytes(content)))
    return read_call_results(folder / "answered")


@pytest.mark.parametrize(
    ("sizes", "called"), [((40, 100, 1000), {0, 1}), ((40, 100, 1000, 120), {0, 1, 2, 3})]
)
def test_case_is_not_called_whose_time_would_be_over_by_the_largest_before(tmp_path, sizes, called):
    answered = answer_sizes(tmp_path, sizes, lambda size: 0.4 if size == 100 else 0.0)
    assert answered.whole
    assert set(answered.results) == called


def test_larger_cases_are_called_after_quick_ones(tmp_path):
    answered = answer_sizes(tmp_path, (40, 100, 100_000), lambda size: 0.0)
    assert set(answered.results) == {0, 1, 2}


@pytest.mark.parametrize(("size", "outgrown"), [(100_000, "case 2"), (101, "")])
def test_end_on_a_much_larger_case_is_told_from_a_loop_without_an_end(tmp_path, size, outgrown):
    answered = answer_sizes(tmp_path, (40, 100, size), lambda size: 0.01, last=size)
    assert not answered.whole
    assert answered.outgrown == outgrown


def test_end_on_the_given_inputs_is_no_matter_of_size(tmp_path):
    assert answer_sizes(tmp_path, (40, 100), lambda size: 0.01, last=40).outgrown == ""


def test_processor_time_that_an_answer_states_counts_at_most_its_duration(tmp_path):
    answered, _ = answer_all(tmp_path, seconds=1e9)
    assert answered.whole
    assert set(answered.results) == {0, 1, 2}


def test_call_that_differs_from_the_first_of_its_case_is_noted(tmp_path):
    def changed(header, content):
        return bytes(len(content)) if header.get("call", 0) > 60 else content

    answered, _ = answer_all(tmp_path, changed)
    assert answered.differences[0][0] == "call"
    assert f"{SIZE} of {SIZE} elements of result 0 differ, call 62" in answered.differences[0][1]


def test_a_result_that_changes_later_is_noted(tmp_path):
    def changed(header, content):
        return bytes(len(content)) if "again" in header else content

    answered, _ = answer_all(tmp_path, changed)
    assert {rule for rule, _ in answered.differences} == {"later"}


def test_notes_on_odd_results_and_random_generators_are_cut(tmp_path):
    answered, _ = answer_all(tmp_path, odd=["x" * 1000, "y"], drew=["random"])
    assert answered.odd == ["x" * 200, "y"]
    assert answered.drew == ["random"]


@pytest.mark.parametrize(
    ("header", "content", "message"),
    [
        ({}, b"", "has no results"),
        ({"results": [{}] * 65}, b"", "too many"),
        ({"results": [3]}, b"", "not a JSON object"),
        ({"results": [{"value": "3"}]}, b"", "not a number"),
        ({"results": [{"dtype": "O", "shape": [1]}]}, b"x" * 8, "an invalid type (O)"),
        ({"results": [{"dtype": "float32", "shape": [1] * 17}]}, b"x" * 4, "too many axes"),
        ({"results": [{"dtype": "float32", "shape": [-1]}]}, b"", "an invalid shape"),
        ({"results": [{"dtype": "float32", "shape": [True]}]}, b"x" * 4, "an invalid shape"),
        (
            {"results": [{"dtype": "float32", "shape": [1 << 30] * 9}]},
            b"",
            "fewer bytes than its shape needs",
        ),
        ({"results": []}, b"x", "belong to no result"),
    ],
)
def test_malformed_answer_ends_the_calls(tmp_path, header, content, message):
    with calling(tmp_path) as (hear, answer):
        assert hear() is not None
        answer(header, content)
        assert hear() is None
    answered = read_call_results(tmp_path / "answered")
    assert message in answered.malformed
    assert not answered.whole


def test_floats_that_differ_by_rounding_count_as_equal():
    one = np.asarray([1.0, -2.0, 1e-4, np.nan, np.inf], np.float16)
    other = one.copy()
    other[0] += np.float16(2.0**-10)
    assert count_differences(one, other) == 0
    assert count_differences(one, np.zeros_like(one)) == 4
    assert count_differences(np.arange(3), np.asarray([0, 1, 3])) == 1
