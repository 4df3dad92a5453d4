"""Findings of a trace that are confirmed: the program is run for each line that they name."""

import json
import os
from pathlib import Path

import pytest

from kvtrace.addons.memory.confirmations import evidence_by_line
from kvtrace.addons.memory.rules import READ, RESULT
from kvtrace.cli import main
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.support.json_outputs import assert_as_schema
from tests.support.warm_python import warm_python

pytest.importorskip("triton")
pytestmark = pytest.mark.process

WITHOUT_MEMORY = Path(__file__).parents[2] / "fixtures" / "missing_mask"
PROGRAM = """
import random, sys
import torch, triton, triton.language as tl

@triton.jit
def doubled(x, y, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)

x = torch.ones(100, device="cuda")
printed = torch.empty_like(x)
unprinted = torch.empty_like(x)
unread = torch.empty_like(x)
for y in (printed, unprinted, unread):
    doubled[(1,)](x, y, 90, BLOCK=128)
result = torch.zeros_like(x)
for _ in range(3):
    doubled[(1,)](unprinted, result, 100, BLOCK=128)
print("sum", float(printed.sum()), random.random() if "random" in sys.argv else "")
"""


def line_of(name):
    """The line that makes a tensor of the program."""
    lines = PROGRAM.splitlines()
    return f"prog.py:{1 + next(n for n, text in enumerate(lines) if text.startswith(name))}"


PRINTED, UNPRINTED, UNREAD = map(line_of, ("printed =", "unprinted =", "unread ="))


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Record the program; return its file, beside which is the trace `out`."""
    file = tmp_path / "prog.py"
    file.write_text(PROGRAM, encoding="utf-8")
    monkeypatch.setenv("KVTRACE_DEVICE", "cpu")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    with monkeypatch.context() as recording:
        recording.setenv("KVTRACE", str(tmp_path / "out"))
        recording.setenv("KVTRACE_MEMORY", "on")
        done = warm_python().run(file, folder=tmp_path, environment=os.environ)
    assert done.returncode == 0, done.stderr
    return file


def severities(trace):
    """The severity and message of each violation, by rule and the line that it names."""
    rows = plain_rows(trace.table("findings"))
    return {
        (row["rule"], line): (row["severity"], row["message"])
        for row in rows
        for line in (PRINTED, UNPRINTED, UNREAD)
        if row["verdict"] == "violation" and f"{line} made it" in row["message"]
    }


def test_a_confirmed_finding_is_an_error_and_others_stay_as_they_are(program, capsys):
    out = program.parent / "out"
    code = main(["confirm", "--trace", str(out), "--", *warm_python().command, str(program)])
    shown = capsys.readouterr().out
    assert code == 1
    assert [line.split(" ")[0] for line in shown.splitlines()][:1] == [UNPRINTED]  # read most often
    assert f"{PRINTED} ({READ} in doubled): confirmed: line 1 is “sum nan" in shown
    assert f"{UNPRINTED} ({READ} in doubled): not seen" in shown
    assert f"{UNREAD} ({RESULT} in doubled): not seen" in shown
    assert "1 of 3 lines confirmed." in shown

    assert main(["sanitize", str(out), "--rule", f"{READ},{RESULT}"]) == 1  # judged again
    text = capsys.readouterr().out
    assert "error[uninitialized-read]" in text
    assert "confirmed: what the program prints depends on it" in " ".join(text.split())
    found = severities(open_trace(out))
    assert {key: severity for key, (severity, _) in found.items()} == {
        (READ, PRINTED): "error", (READ, UNPRINTED): "warning", (RESULT, UNREAD): "note",
    }  # fmt: skip
    assert [key for key, (_, message) in found.items() if "confirmed" in message] == [
        (READ, PRINTED)
    ]
    assert main(["trace", "validate", str(out)]) == 0
    capsys.readouterr()

    redacted = program.parent / "redacted"
    assert main(["trace", "redact", str(out), "-o", str(redacted), "--all"]) == 0
    assert "sum nan" not in "".join(map(str, plain_rows(open_trace(redacted).table("findings"))))
    assert not open_trace(redacted).client_tables


@pytest.mark.night("7 s; test_a_confirmed_finding_is_an_error_and_others_stay_as_they_are stays")
def test_most_lines_are_asked_first_and_later_answers_are_added(program, capsys):
    out = program.parent / "out"
    asked = ["confirm", "--trace", str(out), "--json", "--most", "1"]
    assert main([*asked, "--", *warm_python().command, str(program)]) == 0
    content = json.loads(capsys.readouterr().out)
    assert_as_schema(content, "confirmed")
    first, *others = content["lines"]
    assert (first["line"], first["confirmation"]["answer"]) == (UNPRINTED, "same")
    assert first["findings"] == [{"rule": READ, "kernel": "doubled"}]
    assert [other["confirmation"] for other in others] == [None, None]
    trace = open_trace(out)
    assert evidence_by_line(trace, trace.runs[0]) == {}


def test_a_program_whose_output_varies_confirms_nothing(program, capsys):
    out = program.parent / "out"
    command = ["confirm", "--trace", str(out), "--", *warm_python().command, str(program), "random"]
    assert main(command) == 2
    shown = capsys.readouterr().out
    assert shown.count("not known: the output also varies") == 3
    assert "0 of 3 lines confirmed; 3 not known." in shown
    assert {severity for severity, _ in severities(open_trace(out)).values()} == {"warning", "note"}


@pytest.mark.night("6 s; test_confirming.py asks of a line that allocates nothing")
def test_a_program_that_allocates_elsewhere_confirms_nothing(program, capsys):
    out = program.parent / "out"
    moved = program.with_name("moved.py")
    moved.write_text(PROGRAM, encoding="utf-8")
    assert main(["confirm", "--trace", str(out), "--", *warm_python().command, str(moved)]) == 2
    assert capsys.readouterr().out.count("the program allocated nothing there") == 3


def test_a_trace_without_memory_is_one_sentence(capsys):
    assert main(["confirm", "--trace", str(WITHOUT_MEMORY), "--", "true"]) == 2
    assert "record it with KVTRACE_MEMORY=on" in capsys.readouterr().err


def test_two_questions_at_once_are_refused(tmp_path, capsys):
    assert main(["confirm", "--trace", str(tmp_path), "--at", "a.py:1", "--", "true"]) == 2
    assert "--at and --trace cannot be combined" in capsys.readouterr().err
