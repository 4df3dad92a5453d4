"""Which marks of a program are its steps, in traces of several tools; a collective's never are."""

import gzip
import json
import sqlite3

import pytest

from kvtrace.cli import main
from kvtrace.converters.importers.importing import import_files
from kvtrace.figures.requested_part import STEADY, RequestedPart
from kvtrace.figures.step_marks import ProgramMarks, names_step
from kvtrace.figures.window import windowed
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from tests.support.foreign_traces import write_nsys_sqlite

MS = 1000  # µs, as in torch.profiler's JSON
#: Kernels of a layer, and layers of a step.
LAYER = ("norm", "attention", "merge", "mlp")
LAYERS = 16


def kineto_trace(folder, steps, step_name, inner=(), lead=0):
    """Write and import a profile: `steps` steps of 16 layers, and ranges within each step.

    `step_name` is called with a step's number, and returns its range's name or None; `inner` has
    (name, begin, duration) within a step, in ms; `lead` is the number of executions before all,
    which were requested before the profile began.
    """
    events = []

    def add(cat, name, ts, dur, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts,
                       "dur": dur, "args": args})  # fmt: skip

    for number in range(lead):
        add("kernel", "earlier", 1000 + number * MS, 900, device=0, stream=7)
    correlation = 0
    for step in range(steps):
        begin = 1000 + step * 10 * MS
        name = step_name(step)
        if name:
            add("user_annotation", name, begin, 10 * MS - 10)
        for title, offset, duration in inner:
            add("user_annotation", title, begin + offset * MS, duration * MS)
        for index in range(LAYERS * len(LAYER)):
            correlation += 1
            at = begin + 100 + 150 * index
            add("cuda_runtime", "cudaLaunchKernel", at, 5, correlation=correlation)
            add("kernel", LAYER[index % len(LAYER)], lead * MS + at + 10, 50, device=0, stream=7,
                correlation=correlation, grid=[1, 1, 1], block=[128, 1, 1])  # fmt: skip
    path = folder / "rank0.pt.trace.json.gz"
    content = {"deviceProperties": [], "traceEvents": events}
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    import_files([path], folder / "out")
    return open_trace(folder / "out")


def window_of(trace, asked=STEADY):
    return windowed(trace, trace.runs, asked)[1]


@pytest.mark.parametrize(
    ("name", "is_step"),
    [
        ("step", True), ("ProfilerStep", True), ("train_step", True), ("Training Step 12", True),
        ("step[DECODE bs=32]", True), ("iteration 7", True), ("trainStep", True),
        ("execute_32_context_0(sq0)_generation_32(sq32)", True),
        ("execute_context_1(888_788544)_generation_0(0)", True),
        ("nccl:all_to_all", False), ("Optimizer.step#SGD.step", False), ("optimizer_step", False),
        ("lr_scheduler.step", False), ("timestep embedding", False), ("forward", False),
        ("## encoder fp8 None ##", False), ("nccl:step", False), ("execute_model", False),
    ],
)  # fmt: skip
def test_names_that_say_step(name, is_step):
    assert names_step(name) is is_step


def test_steps_of_the_schedule_come_before_collectives_and_periods(tmp_path):
    collectives = [("nccl:all_to_all", offset, 2) for offset in (1, 3, 5, 7)]
    trace = kineto_trace(tmp_path, 2, "ProfilerStep#{}".format, collectives)
    window = window_of(trace)
    assert (window.how, window.name, window.steps) == ("mark", "ProfilerStep", 2)


def test_collectives_alone_are_no_steps(tmp_path):
    trace = kineto_trace(tmp_path, 8, lambda step: None, [("nccl:all_to_all", 0, 9.9)])
    window = window_of(trace)
    assert (window.how, window.name) == ("period", None)
    assert ProgramMarks(trace, trace.runs[0]).steps() is None


def test_layers_of_a_single_marked_step_are_no_steps(tmp_path):
    trace = kineto_trace(tmp_path, 1, "ProfilerStep#{}".format)
    assert window_of(trace).sentence.startswith("the whole run")


def test_layers_count_where_nothing_says_what_a_step_is(tmp_path):
    window = window_of(kineto_trace(tmp_path, 1, lambda step: None))
    assert (window.how, window.steps) == ("period", LAYERS - 1)


def test_work_of_an_earlier_step_is_not_called_start_up(tmp_path):
    sentence = window_of(kineto_trace(tmp_path, 3, "ProfilerStep#{}".format, lead=5)).sentence
    assert "start-up" not in sentence
    assert "; before it: 4.9" in sentence


def test_numbered_ranges_of_one_kind_are_one_mark_that_can_be_asked_for(tmp_path):
    trace = kineto_trace(tmp_path, 4, "step[DECODE bs={}]".format, [("sampling", 1, 8)])
    window = window_of(trace)
    assert (window.name, window.steps) == ("step", 4)
    assert window_of(trace, RequestedPart(mark="step")).steps == 4
    assert window_of(trace, RequestedPart(mark="sampling")).steps == 4


def test_another_mark_counts_if_it_repeats_and_takes_most_of_its_time(tmp_path):
    window = window_of(kineto_trace(tmp_path, 5, lambda step: "work", [("part", 1, 2)]))
    assert (window.how, window.name, window.steps) == ("mark", "work", 5)


@pytest.mark.parametrize(
    ("name", "steps", "expected"),
    [
        ("image", 3, ("mark", "image", 2)), ("image {}", 4, ("mark", "image #", 3)),
        ("image", 2, ("period", None, 2 * LAYERS - 1)),
        ("step", 2, ("stepless", "step", None)),
    ],
)  # fmt: skip
def test_marks_of_the_recorded_program_come_before_what_repeats(tmp_path, name, steps, expected):
    requests = [step * 10_000 + 100 * n for step in range(steps) for n in range(16 * 4)]
    writer = RunWriter(tmp_path / "out", run := "20260102T030405-0001")
    columns = {"requested": 0, "start": 10, "end": 90}
    writer.append("gpu_kernels", {
        "record": list(range(len(requests))), "name": [LAYER[n % 4] for n in range(len(requests))],
        **{column: [1 + time + later for time in requests] for column, later in columns.items()},
    })  # fmt: skip
    marks = [{"mark_id": n, "name": name.format(n), "begin": n * 10_000} for n in range(steps)]
    writer.append_rows("marks", marks)
    writer.seal({"run_id": run, "started": 0, "ended": 10**9, "producer": "kvtrace"})
    window = window_of(open_trace(tmp_path / "out"))
    assert (window.how, window.name, window.steps) == expected


def test_a_short_or_rare_mark_does_not_stand_for_the_run(tmp_path):
    def rare(step):
        return "rare" if step < 3 else None

    trace = kineto_trace(tmp_path, 20, rare, [("## encoder ##", 1, 2)])
    assert window_of(trace).how == "period"
    assert ProgramMarks(trace, trace.runs[0]).steps() is None


def test_nvtx_ranges_that_name_steps_are_steps_of_an_nsys_trace(tmp_path):
    path = write_nsys_sqlite(tmp_path)
    with sqlite3.connect(path) as database:
        thread = (100 << 24) | 101
        database.executemany(
            "INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?, NULL)",
            [(9_000, 29_000, thread, "step 1"), (29_500, 69_000, thread, "step 2"),
             (69_500, 120_000, thread, "step 3"),
             *((10_000 + n, 90_000, thread, "ncclAllReduce") for n in range(4))],
        )  # fmt: skip
    database.close()
    import_files([path], tmp_path / "out")
    window = window_of(open_trace(tmp_path / "out"))
    assert (window.how, window.name, window.steps) == ("mark", "step #", 3)


def test_a_single_instant_that_names_a_step_is_none(tmp_path):
    path = write_nsys_sqlite(tmp_path)
    with sqlite3.connect(path) as database:
        thread = (100 << 24) | 101
        database.execute(
            "INSERT INTO NVTX_EVENTS VALUES (9000, NULL, 34, ?, 'step', NULL)", (thread,)
        )
    database.close()
    out = tmp_path / "out"
    import_files([path], out)
    assert window_of(open_trace(out)).how == "whole"
    assert main(["convert", "chrome", str(out), "-o", str(tmp_path / "out.json")]) == 0
