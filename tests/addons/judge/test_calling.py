"""What hands over calls, with a process on the other side that answers as a test says."""

import os
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest

from kvtrace.addons.judge.calling import array_of, fork_worker, hand_over, read_answered
from kvtrace.addons.judge.comparing import count_differences
from kvtrace.addons.judge.inputs import Case, TensorInput, write_cases
from kvtrace.addons.judge.messages import receive, send

SIZE = 40


@contextmanager
def calling(folder, cases=3):
    """Give what a candidate's process has: a function that receives, and one that answers."""
    inputs = folder / "inputs"
    inputs.mkdir()
    made = []
    for number in range(cases):
        np.full(SIZE, number + 1, np.float32).tofile(inputs / f"{number}.bin")
        tensor = TensorInput("x", "float32", (SIZE,), (1,), 0, SIZE, f"{number}.bin")
        made.append(Case(f"case {number}", "given" if not number else "sizes", (tensor,)))
    write_cases(inputs, made)
    (folder / "seed").write_text("7")
    told, telling = os.pipe()
    hearing, answering = os.pipe()

    def work():
        os.close(told)
        os.close(answering)
        hand_over(
            inputs,
            folder / "seed",
            folder / "answered",
            telling,
            hearing,
            seconds=60,
            most_bytes=1 << 20,
        )

    caller = fork_worker(os.getpid(), work)
    os.close(telling)
    os.close(hearing)
    try:
        yield partial(receive, told, 1 << 20), partial(send, answering)
    finally:
        os.close(told)
        os.close(answering)
        os.waitpid(caller, 0)


def result(content, **more):
    described = {"dtype": "float32", "shape": [len(content) // 4]}
    return {"results": [described], "odd": [], "drew": [], **more}, content


def answer_all(folder, changed=lambda header, content: content, **more):
    """Answer each call with its inputs, changed; return what is left of it, and the calls."""
    headers, held = [], {}
    with calling(folder) as (hear, answer):
        while (message := hear()) is not None:
            header, content = message
            headers.append(header)
            if "call" in header:
                held[header["call"]] = bytes(content)
                answer(*result(changed(header, content), **more))
            elif "again" in header:
                answer(*result(changed(header, held[header["again"]])))
            else:
                answer({"results": [], "running": False})
    return read_answered(folder / "answered"), headers


def test_each_case_is_called_and_some_again_in_an_order_of_the_seed(tmp_path):
    answered, headers = answer_all(tmp_path)

    assert answered.whole
    assert (answered.differences, answered.malformed) == ([], "")
    assert answered.order[0] == 0
    assert set(answered.order) == {0, 1, 2}
    assert len(answered.order) > 65
    for number, (only,) in answered.results.items():
        assert (array_of(only, tmp_path / "answered") == number + 1).all()
    assert any("again" in each for each in headers)
    calls = [each for each in headers if "call" in each]
    assert {key for each in calls for key in each} == {
        "call", "keep", "inputs", "weights", "overwrite", "gradients", "tracked", "cotangents"
    }  # fmt: skip
    assert "file" not in calls[0]["inputs"][0]


def test_no_input_is_handed_over_before_the_call_before_is_answered(tmp_path):
    with calling(tmp_path) as (hear, answer):
        _, content = hear()
        os.set_blocking(hear.args[0], False)
        with pytest.raises(BlockingIOError):
            hear()
        os.set_blocking(hear.args[0], True)
        answer(*result(content))
        assert hear()[0]["call"] == 1
    assert not read_answered(tmp_path / "answered").whole


def test_a_call_that_is_unlike_the_first_of_its_case_is_noted(tmp_path):
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


def test_what_is_odd_and_draws_is_noted_in_short(tmp_path):
    answered, _ = answer_all(tmp_path, odd=["x" * 1000, "y"], drew=["random"])
    assert answered.odd == ["x" * 200, "y"]
    assert answered.drew == ["random"]


@pytest.mark.parametrize(
    ("header", "content", "said"),
    [
        ({}, b"", "without results"),
        ({"results": [{}] * 65}, b"", "too many"),
        ({"results": [3]}, b"", "not an object"),
        ({"results": [{"value": "3"}]}, b"", "not a number"),
        ({"results": [{"dtype": "O", "shape": [1]}]}, b"x" * 8, "of the type O"),
        ({"results": [{"dtype": "float32", "shape": [1] * 17}]}, b"x" * 4, "of the type"),
        ({"results": [{"dtype": "float32", "shape": [-1]}]}, b"", "no shape"),
        ({"results": [{"dtype": "float32", "shape": [True]}]}, b"x" * 4, "no shape"),
        ({"results": [{"dtype": "float32", "shape": [1 << 30] * 9}]}, b"", "without all"),
        ({"results": []}, b"x", "no result"),
    ],
)
def test_an_answer_that_is_none_ends_the_calls(tmp_path, header, content, said):
    with calling(tmp_path) as (hear, answer):
        assert hear() is not None
        answer(header, content)
        assert hear() is None
    answered = read_answered(tmp_path / "answered")
    assert said in answered.malformed
    assert not answered.whole


def test_floats_of_two_orders_of_a_sum_are_alike_and_zeros_are_not():
    one = np.asarray([1.0, -2.0, 1e-4, np.nan, np.inf], np.float16)
    other = one.copy()
    other[0] += np.float16(2.0**-10)
    assert count_differences(one, other) == 0
    assert count_differences(one, np.zeros_like(one)) == 4
    assert count_differences(np.arange(3), np.asarray([0, 1, 3])) == 1
