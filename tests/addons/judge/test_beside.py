"""A process of kvtrace's own code beside this one: its answers, its errors, its end."""

import operator
import os
import time
from pathlib import Path

import pytest

from kvtrace.addons.judge.beside import HelperProcess, helper_process
from kvtrace.addons.judge.request import CannotJudge, read_file


def answer(function, *arguments):
    with helper_process() as other:
        other.ask(function, *arguments)
        return other.answer()


@pytest.mark.process
def test_it_runs_elsewhere_and_is_kept():
    first = answer(os.getpid)
    assert first != os.getpid()
    assert answer(os.getppid) == os.getpid()
    assert answer(os.getpid) == first


@pytest.mark.process
def test_two_at_a_time_are_two():
    with helper_process() as one, helper_process() as other:
        assert one.pid != other.pid


@pytest.mark.process
def test_it_has_no_secret_of_the_environment(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "the-secret")
    other = HelperProcess()
    try:
        other.ask(os.getenv, "HF_TOKEN")
        assert other.answer() is None
        assert b"the-secret" not in Path(f"/proc/{other.pid}/environ").read_bytes()
    finally:
        other.end()


@pytest.mark.process
def test_its_sentence_is_raised_here(tmp_path):
    with pytest.raises(CannotJudge, match=r"gone\.py cannot be read"):
        answer(read_file, tmp_path / "gone.py")


def test_an_error_is_named():
    with pytest.raises(CannotJudge, match="ZeroDivisionError: integer division"):
        answer(operator.floordiv, 1, 0)


@pytest.mark.process
def test_a_process_that_dies_is_said_and_not_asked_again():
    with pytest.raises(CannotJudge, match="before it was done"):
        answer(os._exit, 3)
    assert answer(operator.add, 1, 2) == 3


def test_one_that_owes_an_answer_ends_with_the_block():
    with helper_process() as other:
        other.ask(time.sleep, 60)

    with pytest.raises(ProcessLookupError):
        os.kill(other.pid, 0)
