"""What operators do to memory: recorded with torch, and judged."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from kvtrace.addons.memory.judged import findings_of
from kvtrace.addons.memory.operator_effects import OperatorTensor, operator_effects
from kvtrace.addons.memory.rules import READ
from kvtrace.capture.arguments import short_dtype
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace

ROOT = Path(__file__).parents[3]
PROGRAM = Path(__file__).with_name("operator_cases.py")
DTYPES = sorted(
    {value for value in vars(torch).values() if isinstance(value, torch.dtype)}, key=str
)


def case_at(frames):
    """The mark of the case in whose lines of the program one of some frames is."""
    inner = next(f for f in frames if f["function"].endswith(("<lambda>", "failing")))
    if inner["function"] == "failing":
        return "failing right"
    above = reversed(PROGRAM.read_text().splitlines()[: inner["line"]])
    texts = "\n".join(above)
    name = re.search(r'^ {8}"(\w+)": ', texts, re.MULTILINE)[1]
    return f"{name} {re.search(r'^ {4}([a-z]+) = {$', texts, re.MULTILINE)[1]}"


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """The verdicts on reads in each case of the program, by its mark."""
    out = tmp_path_factory.mktemp("operators") / "out"
    environment = os.environ | {
        "KVTRACE": str(out), "KVTRACE_MEMORY": "on", "KVTRACE_DEVICE": "cpu",
        "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, PROGRAM], env=environment, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    trace = open_trace(out)
    (run,) = trace.runs
    marks = plain_rows(trace.table("marks", (run,), ["name", "begin", "end"]))
    launches = plain_rows(trace.table("launches", (run,), ["call_id", "enter"]))
    tables = {
        name: table.to_pylist() for name, table in findings_of(trace, run, named=False).items()
    }
    frames = {row["stack_id"]: row["frames"] for row in tables["stacks"]}
    case_of = {
        launch["call_id"]: mark["name"]
        for mark in marks
        for launch in launches
        if mark["begin"] <= launch["enter"] <= mark["end"]
    }
    by_case = {mark["name"]: set() for mark in marks}
    for finding in tables["findings"]:
        if finding["message"].startswith("all that operators of PyTorch read of "):
            by_case.setdefault("operators proven", set()).add(finding["verdict"])
        elif finding["rule"] == READ:
            case = case_of.get(finding["call_id"]) or case_at(frames[finding["stack_id"]])
            by_case[case].add(finding["verdict"])
    return by_case


@pytest.mark.process
def test_operators_are_judged_by_what_they_read_and_write(verdicts):
    unexpected = {}
    for mark, found in verdicts.items():
        expected = mark.split()[1]
        as_expected = {
            "proven": found == {"proven"},
            "right": "violation" not in found,
            "wrong": "violation" in found,
            "unknown": "unknown" in found and "violation" not in found,
        }
        if not as_expected[expected]:
            unexpected[mark] = found
    assert len(verdicts) == 80
    assert not unexpected


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_elements_of_all_types_have_their_size(dtype):
    tensor = OperatorTensor("read", short_dtype(dtype), False, (3,), (1,), 0, 1024)

    assert tensor.element_bytes == dtype.itemsize


@pytest.mark.parametrize(
    ("name", "may_read"),
    [
        ("aten::index_put_", True),
        ("aten::index_add_", True),
        ("aten::scatter_.reduce", True),
        ("aten::scatter_.src", False),
        ("aten::masked_fill_.Scalar", False),
    ],
)
def test_what_data_chooses_to_change_may_be_read_where_it_accumulates(name, may_read):
    changed = OperatorTensor("written", "fp32", False, (8,), (1,), 0, 32)

    (effect,) = operator_effects(name, [changed]).effects

    assert bool(effect.may_read) == may_read
    assert not effect.reads
    assert not effect.writes


@pytest.mark.parametrize("shape", [(0, 1), (3, 1)])
def test_an_operator_whose_result_has_no_elements_reads_all_the_same(shape):
    read = OperatorTensor("read", "i32", False, (8,), (1,), 0, 32)
    result = OperatorTensor("created", "i64", False, shape, (1, 1), 0, 8 * shape[0])

    effect, _ = operator_effects("aten::nonzero", [read, result]).effects

    assert list(effect.reads) == [(0, 32)]


def test_effects_on_scattered_elements_are_bounds():
    scattered = OperatorTensor("written", "fp32", False, (1 << 21,), (2,), 8, 1 << 24)

    (effect,) = operator_effects("aten::add_.Tensor", [scattered]).effects

    assert not effect.reads
    assert not effect.writes
    assert effect.may_write == effect.may_read == scattered.span
    assert list(scattered.span) == [(8, 8 + 4 * ((1 << 22) - 1))]


@pytest.mark.parametrize("name", ["aten::add.Tensor", "aten::clone"])
def test_elements_of_an_unknown_size_may_be_anywhere_in_their_storage(name):
    tensors = [
        OperatorTensor("read", "new8", False, (4,), (1,), 0, 64),
        OperatorTensor("created", "new8", False, (4,), (1,), 0, 64),
    ]
    effects = operator_effects(name, tensors)
    read, made = effects.effects
    assert (list(read.reads), list(read.may_read), list(read.may_write)) == ([], [(0, 64)], [])
    assert (list(made.writes), list(made.may_write)) == ([], [(0, 64)])
    assert read.reason == made.reason == "the size of an element of dtype new8 is not known"
    assert not effects.moves
