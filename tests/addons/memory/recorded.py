"""Programs of cases, each within a mark, recorded with what happens to memory, and judged."""

from pathlib import Path
from typing import Any

from kvtrace.addons.memory.findings import ADDED
from kvtrace.addons.memory.judged import findings_of
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.support.triton_versions import INSTALLED, run_with


def recorded_cases(
    program: str | Path, how: str, folder: Path, **settings: str
) -> tuple[dict[str, set[int]], list[dict[str, Any]]]:
    """Run a program with one argument; return the calls within each mark, and the findings."""
    out = folder / how
    run_with(
        INSTALLED, [str(program), how], folder / "cache", fresh=True,
        KVTRACE=str(out), KVTRACE_MEMORY="on", KVTRACE_DEVICE="cpu",
        **settings,
    )  # fmt: skip
    trace = open_trace(out)
    (run,) = trace.runs
    launches = plain_rows(trace.table("launches", (run,), ["call_id", "enter"]))
    calls = {
        mark["name"]: {
            launch["call_id"]
            for launch in launches
            if mark["begin"] <= launch["enter"] <= mark["end"]
        }
        for mark in plain_rows(trace.table("marks", (run,), ["name", "begin", "end"]))
    }
    assert set().union(*calls.values()) == {launch["call_id"] for launch in launches}
    assert ADDED.missing(trace, run) == {}
    tables = findings_of(trace, run, named=False)
    assert tables is not None, "what happened to memory was not recorded"
    return calls, tables["findings"].to_pylist()
