"""A finding's message says the stage at fault, and it is found there again."""

from typing import get_args

import pytest

from kvtrace.addons.check.stage_faults import Fault, Stage, fault_in, message_with_fault

MESSAGE = "4 of 1,000 elements of out are not what the IR means (1 program, warp 0 alone)"


@pytest.mark.parametrize("stage", get_args(Stage))
def test_fault_in_returns_the_fault_appended_to_a_message(stage):
    fault = Fault(stage, "its TTGIR could not be computed: no op 'a'; at k.py:3: none")

    assert fault_in(message_with_fault(MESSAGE, fault)) == fault


@pytest.mark.parametrize("message", [None, "redacted", message_with_fault(MESSAGE, None)])
def test_fault_in_is_none_for_a_message_without_fault(message):
    assert fault_in(message) is None
