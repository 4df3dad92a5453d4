"""A function in a fork of this process: its result, its errors, and its end."""

import os
import time

import pytest

from kvtrace.candidates.beside import Beside
from kvtrace.candidates.request import CannotJudge
from kvtrace.schema.errors import BadSetting


def test_it_runs_elsewhere_while_this_process_goes_on():
    with Beside(lambda: (os.getpid(), os.getppid())) as beside:
        own, parent = beside.result()

    assert parent == os.getpid() != own


def test_its_sentence_is_raised_here():
    def refuse():
        raise BadSetting("no such thing.")

    with Beside(refuse) as beside, pytest.raises(BadSetting, match=r"^no such thing\.$"):
        beside.result()


def test_an_error_of_ours_is_named():
    with (
        Beside(lambda: 1 // 0) as beside,
        pytest.raises(CannotJudge, match="ZeroDivisionError: integer division"),
    ):
        beside.result()


def test_a_process_that_dies_is_said():
    with Beside(lambda: os._exit(3)) as beside, pytest.raises(CannotJudge, match="before it was"):
        beside.result()


def test_it_ends_with_the_block():
    with Beside(lambda: time.sleep(60)) as beside:
        child = beside._child

    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
