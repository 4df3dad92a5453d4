"""Judgments whose reference is killed, or that run on a busy machine."""

import os
import sys
from contextlib import ExitStack
from subprocess import Popen

import pytest

from kvtrace.addons.judge.judge_file import judge_file
from kvtrace.addons.judge.request import Place, Request
from tests.addons.judge.labeled import FOLDER

RELU = FOLDER / "kernels" / "right" / "relu.py"
SEED = 7

KILLED = """
import os

import torch


def relu(x):
    if CONDITION:
        os._exit(1)
    return torch.relu(x)
"""


def judged(folder, condition, shapes="x=f32[300]"):
    """Return the verdict, the cases with results, and the messages on the reference.

    The reference ends its process where the condition on `x` holds.
    """
    file = folder / "reference.py"
    file.write_text(KILLED.replace("CONDITION", condition))
    request = Request(Place(RELU, "relu"), Place(file, "relu"), (shapes,), views=False)
    judgment = judge_file(request, SEED).object
    messages = [e["message"] for e in judgment["findings"] if e["rule"] == "reference"]
    return judgment["verdict"], {case["case"] for case in judgment["cases"]}, messages


@pytest.mark.costly("two judgments, each with one more process")
@pytest.mark.process
@pytest.mark.parametrize(
    "condition",
    ["x.shape[0] == 1", "x.dtype == torch.float64 and x.shape[0] == 1"],
    ids=["inputs", "answers"],
)
def test_a_reference_killed_on_one_case_leaves_the_others_results(tmp_path, condition):
    verdict, cases, (text,) = judged(tmp_path, condition)

    assert verdict == "unjudged"
    assert text.endswith("ended before it was done on a case: 300 → 1")
    assert len(cases) > 5
    assert "300 → 1" not in cases


@pytest.mark.costly("a judgment with three processes of the reference")
@pytest.mark.process
def test_a_reference_killed_on_the_given_inputs_names_them(tmp_path):
    verdict, cases, messages = judged(tmp_path, "x.shape[0] == 300")

    assert (verdict, cases) == ("unjudged", set())
    assert any(text.endswith("on a case: x=f32[300]") for text in messages)


@pytest.mark.costly("two judgments, one of them beside busy processes")
@pytest.mark.process
def test_a_seed_repeats_a_judgment_on_a_busy_machine():
    request = Request(Place(RELU, "relu"), Place(FOLDER / "references.py", "relu"))
    quiet = judge_file(request, SEED).object
    with ExitStack() as stack:
        for _ in range(2 * (os.cpu_count() or 1)):
            busy = Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
            stack.callback(busy.wait)
            stack.callback(busy.kill)
        loaded = judge_file(request, SEED).object

    for part in ("verdict", "findings", "cases", "verdicts", "all_sizes"):
        assert loaded[part] == quiet[part]
