"""The helper process: its answers, its errors, its end."""

import operator
import os
import time
from pathlib import Path

import pytest

from kvtrace.addons.judge.beside import HelperProcess, helper_process
from kvtrace.addons.judge.request import CannotJudge, read_file


def answer(function, *arguments):
    with helper_process() as helper:
        helper.ask(function, *arguments)
        return helper.answer()


@pytest.mark.process
def test_helper_is_a_child_process_and_is_reused():
    first = answer(os.getpid)
    assert first != os.getpid()
    assert answer(os.getppid) == os.getpid()
    assert answer(os.getpid) == first


@pytest.mark.process
def test_nested_helper_contexts_get_different_processes():
    with helper_process() as one, helper_process() as helper:
        assert one.pid != helper.pid


@pytest.mark.process
def test_helper_environment_has_no_secret(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "the-secret")
    helper = HelperProcess()
    try:
        helper.ask(os.getenv, "HF_TOKEN")
        assert helper.answer() is None
        assert b"the-secret" not in Path(f"/proc/{helper.pid}/environ").read_bytes()
    finally:
        helper.end()


@pytest.mark.process
def test_kvtrace_error_of_a_function_is_raised_by_answer(tmp_path):
    with pytest.raises(CannotJudge, match=r"gone\.py cannot be read"):
        answer(read_file, tmp_path / "gone.py")


def test_other_error_becomes_cannot_judge_with_its_type():
    with pytest.raises(CannotJudge, match="ZeroDivisionError: integer division"):
        answer(operator.floordiv, 1, 0)


@pytest.mark.process
def test_helper_that_dies_is_reported_and_not_reused():
    with pytest.raises(CannotJudge, match="before it was done"):
        answer(os._exit, 3)
    assert answer(operator.add, 1, 2) == 3


def test_helper_that_owes_an_answer_is_killed_after_the_block():
    with helper_process() as helper:
        helper.ask(time.sleep, 60)

    with pytest.raises(ProcessLookupError):
        os.kill(helper.pid, 0)
