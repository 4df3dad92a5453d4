"""Recorded calls of kernels in Gluon, edits of their TTGIR, and the source lines of findings."""

import re
from collections.abc import Callable
from pathlib import Path

import kvtrace
from kvtrace.ir import parse
from kvtrace.ir.model import Op, source_stack
from kvtrace.recorded_calls.reading import calls_of, stage_artifact
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from kvtrace.verdicts.pipeline.rule import OrderVerdict, judge_order
from tests.support.replacing import replace


def recorded_by(launch: Callable[[], object], out: Path, **settings: str) -> tuple[Call, str]:
    """Record one launch, and return its call and the generic form of its TTGIR."""
    with kvtrace.capture(out, **settings):
        launch()
    trace = open_trace(out)
    (call,) = calls_of(trace, trace.runs[0])
    (row,) = plain_rows(trace.table("kernels"))
    return call, trace.artifact(stage_artifact(row, "ttgir_generic")).decode()


def of_text(call: Call, text: str) -> Call:
    """Return the call with the kernel of another text."""
    return replace(call, module=parse(text, call.module.target))


def judged(call: Call, text: str) -> OrderVerdict:
    """Return the answer about a call with the kernel of another text."""
    mutant = of_text(call, text)
    return judge_order(mutant.module, call.kernel, [mutant])


def changed(text: str, name: str, number: int, pattern: str = "", by: str = "") -> str:
    """Return the text with the op of a number among those of a name changed, or left out."""
    line = [line for line in text.splitlines() if f'.{name}"' in line][number]
    mutated = re.sub(pattern, by, line, count=1) if pattern else ""
    assert mutated != line
    return text.replace(line, mutated)


def line_of(op: Op, folder: Path = Path(__file__).parent) -> str:
    """Return the line of an op in its file, which Triton may have cached from another folder."""
    frame = source_stack(op)[0]
    return (folder / Path(frame.file).name).read_text().splitlines()[frame.line - 1].strip()
