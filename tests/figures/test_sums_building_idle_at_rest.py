"""Steps, parts and idle times are the same at rest as those made of launches and executions."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.figures.gaps import read_gaps
from kvtrace.figures.requested_part import STEADY, WHOLE, RequestedPart
from kvtrace.figures.run_parts import run_parts
from kvtrace.figures.steps import program_steps
from kvtrace.figures.stored import PASS, forget, settings_of, sums_stored
from kvtrace.figures.sums_building import tables_at_rest
from kvtrace.figures.window import windowed
from kvtrace.schema.content import stack_row
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.reading import run_pieces
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from tests.support.thorough import usually
from tests.support.tiers import some

FIXTURES = Path(__file__).parents[1] / "fixtures"
TIMED = sorted(runs.parent.relative_to(FIXTURES) for runs in FIXTURES.glob("h200/**/runs"))
EPOCH = 1_767_323_045_000_000_000
STORED = (STEADY, WHOLE)
#: Parts of which launches and executions have to be read.
OTHERS = (
    RequestedPart(since="13%", until="71%"),
    RequestedPart(since="40%"),
    RequestedPart(steps="1:3"),
    RequestedPart(mark="step"),
)


def store(trace):
    """Store the tables of all sealed runs, as the pass does."""
    for run in trace.runs:
        if run.sealed:
            tables = tables_at_rest(trace, run)
            tables["launch_sums"] = TABLES["launch_sums"].schema.empty_table()
            trace.add_derived(run.run_id, PASS, tables, settings_of(trace, run))
            forget(trace, run.run_id)
            assert sums_stored(trace, run)


def figures(path, part):
    """What is shown of a part, in order, or the error of a part that is not there."""
    trace = open_trace(path)
    try:
        narrowed, window = windowed(trace, trace.runs, part)
    except BadSetting as error:
        return str(error)
    steps = [program_steps(trace, run) for run in trace.runs]
    marked = [step and (step.name, step.bounds.tolist()) for step in steps]
    parts = run_parts(narrowed, trace.runs)
    times = [part.busy for part in parts], read_gaps(narrowed, parts)
    return repr((window, getattr(narrowed, "windows", None), marked, times))


def refuse_leaves(monkeypatch):
    """Have reading of launches and executions fail, but for the times before a part.

    Gaps in which a compiler's code was loaded are found in them, since no sum has their bounds.
    """

    def pieces(out, table, run_id, names, *others):
        is_of_start_up = table.name == "gpu_kernels" and list(names) == ["start", "end"]
        assert is_of_start_up or table.name not in ("launches", "gpu_kernels")
        return run_pieces(out, table, run_id, names, *others)

    for module in ("trace", "window", "reading"):
        monkeypatch.setattr(f"kvtrace.schema.{module}.run_pieces", pieces)


@pytest.mark.costly("recorded runs; causes of idle time at rest stay by day")
@pytest.mark.parametrize("name", some(TIMED, 5), ids=str)
def test_figures_at_rest_of_recorded_runs_are_those_of_their_rows(name, tmp_path, monkeypatch):
    shutil.copytree(FIXTURES / name, tmp_path / "rest")
    store(open_trace(tmp_path / "rest"))
    for part in OTHERS:
        assert figures(tmp_path / "rest", part) == figures(FIXTURES / name, part)
    expected = [figures(FIXTURES / name, part) for part in STORED]
    if all(run.sealed for run in open_trace(FIXTURES / name).runs):
        refuse_leaves(monkeypatch)
    assert [figures(tmp_path / "rest", part) for part in STORED] == expected


def test_steps_at_rest_are_shown_of_runs_with_more_rows_than_are_searched(tmp_path, monkeypatch):
    shutil.copytree(FIXTURES / "h200" / "llama", tmp_path / "rest")
    monkeypatch.setattr("kvtrace.figures.window._MOST_ROWS", 10)
    trace = open_trace(tmp_path / "rest")
    assert windowed(trace, trace.runs)[1].how == "whole"
    store(trace)
    assert windowed(trace, trace.runs)[1].steps == 10


#: Times in units of `UNIT`, which is about that of short gaps and of launches.
UNIT = 3_000
MOMENT = st.integers(0, 1_000)
STACKS = [
    stack_row([{"file": f"/home/{name}.py", "line": 3, "column": None, "function": "run"}])
    for name in ("train", "model")
] + [stack_row([{"file": "/x/torch/nn/a.py", "line": 3, "column": None, "function": "run"}])]
STACK = st.one_of(st.none(), st.sampled_from([row["stack_id"] for row in STACKS]))
#: Name, kind, delay, duration, whether the request is recorded, of a graph, or of a launch; stack.
EXECUTION = st.tuples(
    st.sampled_from(["a", "a.kd", "b", "memcpy device to host", None]),
    st.sampled_from([None, None, "copy"]),
    st.integers(0, 60),
    st.sampled_from([0, 1, 1, 2, 9, 500]),
    st.sampled_from(["requested", "launch", "launch", "graph", "none"]),
    STACK,
)
HOST_EVENT = st.tuples(
    st.sampled_from(["collect", "allocate", "free", "synchronize"]),
    MOMENT,
    st.sampled_from([1, 30, 400]),
    STACK,
)
#: Pause, duration on the host, call, phase, and executions of a launch.
LAUNCH = st.tuples(
    st.sampled_from([1, 1, 2, 40, 500]),
    st.sampled_from([1, 3, 400, None]),
    st.integers(0, 2),
    st.sampled_from([None, None, None, "run", "autotune", "graph_capture"]),
    st.lists(EXECUTION, max_size=3),
)
#: Launches of a step, and how often they repeat; host events, compiles, and marks.
RUN = st.fixed_dictionaries(
    {
        "launches": st.lists(LAUNCH, max_size=12),
        "repeats": st.sampled_from([1, 2, 7, 30, 60]),
        "marked": st.sampled_from(["step", "work", None]),
        "events": st.lists(HOST_EVENT, max_size=8),
        "compiles": st.lists(st.one_of(st.none(), MOMENT), min_size=3, max_size=3),
        "sealed": st.sampled_from([True, True, True, False]),
    }
)


def moment(units):
    return EPOCH + units * UNIT


def write(folder, run_id, run):
    """Write a run of repeated steps."""
    writer = RunWriter(folder, run_id)
    origins = ("jit", "inductor", "jit")
    kernels = [
        {"kernel_id": number, "name": f"k{number}", "origin": origin}
        | ({} if begin is None else {"compile_begin": moment(begin), "compile_ns": 60 * UNIT})
        for number, (begin, origin) in enumerate(zip(run["compiles"], origins, strict=True))
    ]
    calls = [{"call_id": n, "kernel_id": n, "stack_id": STACKS[n]["stack_id"]} for n in range(3)]
    launches, executions, marks, now = [], [], [], 0
    for step in range(run["repeats"]):
        begin = now
        for pause, took, call, phase, ran in run["launches"]:
            enter = now + pause
            now = enter + (took or 0)
            row = {"seq": len(launches), "call_id": call, "thread": 1, "phase": phase}
            left = None if took is None else moment(now)
            launches.append(row | {"enter": moment(enter), "exit": left})
            for name, kind, delay, length, asked, stack in ran:
                start = moment(enter + delay)
                row = {"record": len(executions), "name": name, "kind": kind, "start": start}
                row |= {"end": start + length * UNIT, "stack_id": stack}
                row |= {"requested": moment(enter)} if asked == "requested" else {}
                row |= {"graph_id": 1} if asked == "graph" else {}
                row |= {"launch_seq": len(launches) - 1} if asked in ("graph", "launch") else {}
                row |= {"call_id": call} if asked == "launch" else {}
                executions.append(row)
        mark = {"mark_id": step, "name": run["marked"], "begin": moment(begin), "end": moment(now)}
        marks.append(mark)
    events = [
        {"record": n, "kind": kind, "begin": moment(begin), "end": moment(begin + took)}
        | {"stack_id": stack}
        for n, (kind, begin, took, stack) in enumerate(run["events"])
    ]
    rows = {"stacks": STACKS, "kernels": kernels, "calls": calls, "launches": launches}
    rows |= {"gpu_kernels": executions, "host_events": events}
    rows |= {"marks": marks} if run["marked"] else {}
    for name, of_table in rows.items():
        writer.append_rows(name, of_table)
    if run["sealed"]:
        writer.seal({"ending": "exit"})
    else:
        writer.close()


def with_single_requests(run):
    """Return a run without requests of several executions, of which a block may see one."""
    launches = []
    for *launch, ran in run["launches"]:
        asked = [execution for execution in ran if execution[4] == "requested"]
        launches.append((*launch, [e for e in ran if e not in asked] + asked[:1]))
    return run | {"launches": launches}


@pytest.mark.costly("figures of twelve traces; those at rest stay by day")
@settings(max_examples=usually(6, thorough=120), deadline=None)
@given(
    runs=st.lists(RUN, min_size=1, max_size=2),
    rows=st.integers(1, 40),
    kept=st.sampled_from([0, 1_000_000]),
)
def test_figures_found_in_many_blocks_are_those_of_one(tmp_path_factory, runs, rows, kept):
    few, many = (tmp_path_factory.mktemp("traces") for _ in range(2))
    runs = [with_single_requests(run) for run in runs]
    for number, run in enumerate(runs):
        write(few, f"r{number}", run | {"sealed": True})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("kvtrace.schema.parts.ROW_GROUP_ROWS", 7)
        for number, run in enumerate(runs):
            write(many, f"r{number}", run | {"sealed": True})
        patched.setattr("kvtrace.figures.executions._ROWS", rows)
        patched.setattr("kvtrace.figures.executions._MOST_READS", 100)
        patched.setattr("kvtrace.figures.executions._MOST_KEPT", kept)
        patched.setattr("kvtrace.figures.executions._LEAST_SKIPPED", 3)
        patched.setattr("kvtrace.figures.gap_groups._MOST_UNGROUPED_ROWS", 5)
        in_blocks = [figures(many, part) for part in (*STORED, *OTHERS)]
    assert in_blocks == [figures(few, part) for part in (*STORED, *OTHERS)]


@pytest.mark.costly("random runs; a recorded one stays by day")
@settings(max_examples=usually(6, thorough=120), deadline=None)
@given(
    runs=st.lists(RUN, min_size=1, max_size=3),
    cuts=st.tuples(st.integers(0, 60), st.integers(61, 100)),
)
def test_figures_at_rest_of_random_runs_are_those_of_their_rows(tmp_path_factory, runs, cuts):
    leaves, rest = (tmp_path_factory.mktemp("traces") for _ in range(2))
    for number, run in enumerate(runs):
        write(leaves, f"r{number}", run)
    shutil.copytree(leaves, rest, dirs_exist_ok=True)
    store(open_trace(rest))
    random = RequestedPart(since=f"{cuts[0]}%", until=f"{cuts[1]}%")
    for part in (*STORED, random, *OTHERS):
        assert figures(rest, part) == figures(leaves, part)
