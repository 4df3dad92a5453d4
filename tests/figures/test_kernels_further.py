"""A figure of a column of launches is one row of the table, and is shown wherever kernels are."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kvtrace.figures import kernels
from kvtrace.figures.sums_building import add_up
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter

ROW = """
    KernelFigure(
        "stream_mean", "count", "mean stream", "measured", _total("steady", "stream"),
        further=True, per="timed_launches", column="stream",
    ),
"""
#: Shows a trace with that row in the table, before anything else has read it.
PROGRAM = """
import json, sys
from types import ModuleType

source, old, new = sys.argv[1], sys.argv[2], sys.argv[3]
table = sys.modules["kvtrace.figures.kernels"] = ModuleType("kvtrace.figures.kernels")
exec(compile(source, "kernels.py", "exec"), vars(table))

from dataclasses import asdict
from kvtrace.converters.info.info import overview_object, read_overview
from kvtrace.converters.info.info_text import overview_text
from kvtrace.converters.diff.compare import compare
from kvtrace.converters.diff.page import comparison_object
from kvtrace.converters.diff.render import difference_text
from kvtrace.converters.info.live import Live, COLUMNS
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.profile.profile_model import profile_object
from kvtrace.converters.profile.profile_text import profile_text
from kvtrace.converters.query.query import connect, query_arrow
from kvtrace.converters.report import report_data
from kvtrace.schema.trace import resolve

sides = [resolve(old), resolve(new)]
trace, runs = sides[0].trace, sides[0].runs
profile = read_profile(trace, runs, calls=True)
(kernel,) = profile_object(profile)["kernels"]
report = report_data(trace, runs, "t", "t")
difference = compare(*sides)
overview = read_overview(trace, runs)
database = connect(trace, runs)
def of(column, view):
    return query_arrow(database, f"SELECT {column} FROM {view}").column(column).to_pylist()
print(json.dumps({
    "kernel": kernel["measured"]["stream_mean"],
    "call": [call["measured"]["stream_mean"] for call in kernel["calls"]],
    "text": profile_text(profile, full=True),
    "report": [[asdict(each) for each in report.further], report.kernels[0].further],
    "diff": comparison_object(difference)["metrics"],
    "diff_text": difference_text(difference),
    "top": COLUMNS["launches"],
    "info": overview_object(overview)["kernels"],
    "info_text": overview_text(overview),
    "call_sums": of("stream_mean", "call_sums"),
    "launched": of("stream", "launched"),
}))
"""


def write(out, name, streams, weight=None):
    writer = RunWriter(out, "r0")
    writer.append_rows("kernels", [{"kernel_id": 0, "name": name, "registers": len(streams)}])
    writer.append_rows("calls", [{"call_id": n, "kernel_id": 0} for n in range(2)])
    # given launches of two calls, the first of them a trial
    rows = [
        {"seq": n, "call_id": n % 2, "enter": 10 * n, "exit": 10 * n + 5, "stream": stream,
         "weight": weight, "phase": "autotune" if n == 0 else "run"}
        for n, stream in enumerate(streams)
    ]  # fmt: skip
    writer.append_rows("launches", rows)
    writer.seal({})
    return str(out)


@pytest.mark.process
def test_figure_added_to_the_table_appears_in_all_outputs(tmp_path):
    text = Path(kernels.__file__).read_text()
    last = '    KernelFigure("compiling_ns"'
    assert text.count(last) == 1
    old = write(tmp_path / "old", "k", [100, 1, 4, 7], weight=2)
    new = write(tmp_path / "new", "k", [100, 1, 4, 19, 8])
    trace = open_trace(old)
    add_up(trace, trace.runs, least_rows=0)  # stored sums lack the column
    command = [sys.executable, "-c", PROGRAM, text.replace(last, ROW + last), old, new]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kernel"] == 4.0
    assert sorted(found["call"]) == [4.0, 4.0]
    assert any("mean stream" in line for line in found["text"])
    kind = {"name": "stream_mean", "unit": "count", "label": "mean stream"}
    kinds, figures = found["report"]
    assert kind in kinds
    assert figures["stream_mean"] == 4.0
    (metric,) = (each for each in found["diff"] if each["name"] == "stream_mean")
    assert (metric["before"], metric["after"], metric["measured"]) == (4.0, 8.0, True)
    assert any("stream_mean (measured)" in line for line in found["diff_text"])
    assert "stream" in found["top"]
    assert [each["stream_mean"] for each in found["info"]] == [4.0]
    assert any("mean stream" in line for line in found["info_text"])
    assert sorted(found["call_sums"]) == [8, 16]
    assert sorted(found["launched"]) == [1, 4, 7, 100]
