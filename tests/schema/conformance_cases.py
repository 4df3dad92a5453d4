"""Cases of the conformance suite: rows of small traces, and the answers, counted by hand.

Each case returns the files of a trace and the expected answer; docs/conformance.md has the
questions. Answers are not computed from the rows, so that no reader is its own judge. `CASES` has
them by name, those of conformance_rejected.py, too.
"""

import tests.schema.conformance_rejected  # noqa: F401 - registers its cases
from tests.schema.conformance_rows import (
    CASES,
    PLAIN,
    PLAIN_CALLS,
    PLAIN_RUN,
    RUN,
    SCALE,
    SECOND,
    START,
    Part,
    Trace,
    answer,
    call,
    case,
    changed,
    execution,
    expected_call,
    expected_kernel,
    expected_run,
    kernel,
    launches,
    parts,
    plain,
    run_row,
)

__all__ = ["CASES"]


@case("two calls of one kernel, three launches, no device timeline")
def simple() -> Trace:
    return plain()


@case("a run that launched nothing")
def only_runs() -> Trace:
    return parts(RUN, run_row(source="proton"), {}), answer(expected_run(source="proton"))


@case("two ranks of a job: ids are unique only inside a run, so joins are by run, too")
def ranks() -> Trace:
    job = {"group_id": "job", "world_size": 2}
    first = {
        "kernels": [kernel(0, "scale"), kernel(1, "add")],
        "calls": [call(0, 0, (1, 1, 1)), call(1, 1, (2, 1, 1))],
        "launches": launches(0, 0, 1, 1),
    }
    second = {
        "kernels": [kernel(0, "add"), kernel(1, "scale")],
        "calls": [call(0, 1, (3, 1, 1)), call(1, 0, (4, 1, 1))],
        "launches": launches(0, 1),
    }
    all_parts = parts(SECOND, run_row(SECOND, rank=1, **job), second)
    all_parts += parts(RUN, run_row(rank=0, **job), first)
    figures_of_first = expected_run(
        RUN, [expected_kernel(0, "scale", launches=1), expected_kernel(1, "add", launches=2)],
        [expected_call(0, 0, (1, 1, 1)), expected_call(1, 1, (2, 1, 1))],
        **job, rank=0, launches=3, span_ns=210,
    )  # fmt: skip
    figures_of_second = expected_run(
        SECOND, [expected_kernel(0, "add", launches=1), expected_kernel(1, "scale")],
        [expected_call(0, 1, (3, 1, 1)), expected_call(1, 0, (4, 1, 1))],
        **job, rank=1, launches=1, span_ns=10,
    )  # fmt: skip
    return all_parts, answer(figures_of_first, figures_of_second)


@case("launches with phase autotune or warmup are trials, as are their executions")
def trials() -> Trace:
    tables = {
        "kernels": [kernel(0, "tuned"), kernel(1, "scale")],
        "calls": [call(0, 0, (4, 1, 1)), call(1, 1, (4, 1, 1))],
        "launches": [
            *launches(0, 0, 0, 0, phase="autotune"),
            *launches(3, 1, phase="warmup"),
            *launches(4, 0, 1, phase="run"),
            *launches(6, 1, phase=None),
        ],
        "gpu_kernels": [
            execution(0, 50, 7, launch_seq=0, call_id=0),
            execution(1, 350, 7, launch_seq=3, call_id=1),
            execution(2, 450, 5, launch_seq=4, call_id=0),
            execution(3, 550, 3, launch_seq=5, call_id=1),
            execution(4, 650, 3, launch_seq=6, call_id=1),
        ],
    }
    figures = expected_run(
        RUN, [
            expected_kernel(0, "tuned", launches=1, trials=3, executions=1, trial_executions=1,
                        device_ns=5),
            expected_kernel(1, "scale", launches=2, trials=1, executions=2, trial_executions=1,
                        device_ns=6),
        ],
        [expected_call(0, 0, (4, 1, 1)), expected_call(1, 1, (4, 1, 1))],
        launches=3, trials=4, executions=3, trial_executions=2, device_ns=11, span_ns=653,
    )  # fmt: skip
    return parts(RUN, run_row(required_features=["trials"]), tables), answer(figures)


@case("a sampled run: a row counts weight times; a weight that is null or below 1 counts as 1")
def sampled() -> Trace:
    rows = [
        {**row, "weight": weight}
        for row, weight in zip(launches(4, 0, 0, 1, 1), (5, None, 100, 0), strict=True)
    ]
    trial = [{**row, "weight": 9} for row in launches(20, 1, phase="autotune")]
    tables = {
        "kernels": [kernel(0, "scale"), kernel(1, "add")],
        "calls": [call(0, 0, (4, 1, 1)), call(1, 1, (4, 1, 1))],
        "launches": [*rows, *trial],
        "gpu_kernels": [
            execution(0, 500, 10, launch_seq=4, call_id=0, weight=5),
            execution(1, 600, 20, launch_seq=6, call_id=1, weight=100),
            execution(2, 700, 30, launch_seq=7, call_id=1, weight=None),
            execution(3, 800, 40, launch_seq=20, call_id=1, weight=9),
        ],
    }
    figures = expected_run(
        RUN, [
            expected_kernel(0, "scale", launches=6, executions=5, device_ns=50),
            expected_kernel(1, "add", launches=101, trials=9, executions=101, trial_executions=9,
                        device_ns=2030),
        ],
        [expected_call(0, 0, (4, 1, 1)), expected_call(1, 1, (4, 1, 1))],
        launches=107, trials=9, executions=106, trial_executions=9, device_ns=2080, span_ns=1610,
    )  # fmt: skip
    return parts(RUN, run_row(required_features=["weights", "trials"]), tables), answer(figures)


@case("a launch captured into a graph counts once; each replay is an execution of its call")
def graphs() -> Trace:
    replay = {"call_id": 0, "graph_id": 7, "graph_node_id": 1}
    tables = {
        "kernels": [kernel(0, "scale")],
        "calls": [call(0, 0, (4, 1, 1))],
        "launches": launches(0, 0, phase="graph_capture", graph_id=7),
        "gpu_kernels": [execution(at, 1000 * at + 500, 20, **replay) for at in range(3)],
    }
    figures = expected_run(
        RUN, [expected_kernel(0, "scale", launches=1, executions=3, device_ns=60)],
        [expected_call(0, 0, (4, 1, 1))],
        launches=1, executions=3, device_ns=60, span_ns=2520,
    )  # fmt: skip
    return parts(RUN, run_row(required_features=["graph-replays"]), tables), answer(figures)


@case("an execution has the call that it names, else its launch's; some have no known call")
def call_of_launch() -> Trace:
    tables = {
        **PLAIN,
        "gpu_kernels": [
            execution(0, 1000, 4, launch_seq=2, call_id=None, name="scale_0"),
            execution(1, 1010, 4, launch_seq=None, call_id=0, name="scale_0"),
            execution(2, 1020, 4, launch_seq=0, call_id=0, name="scale_0"),
            execution(3, 1030, 4, launch_seq=None, call_id=None, name="gemm"),
        ],
    }
    figures = expected_run(
        RUN, [{**SCALE, "executions": 3, "device_ns": 12}],
        PLAIN_CALLS,
        launches=3, executions=3, device_ns=12, span_ns=1034,
        other_executions=[{"name": "gemm", "executions": 1, "device_ns": 4}],
    )  # fmt: skip
    return parts(RUN, run_row(), tables), answer(figures)


@case("the newest part of a run: the launch of an execution, and so its call, may be missing")
def partial() -> Trace:
    tables = {
        "kernels": [kernel(0, "scale")],
        "calls": [call(0, 0, (4, 1, 1))],
        "launches": launches(50, 0, 0),
        "gpu_kernels": [
            execution(7, 4000, 5, launch_seq=49, name="scale_0"),
            execution(8, 5010, 5, launch_seq=50, name="scale_0"),
        ],
    }
    figures = expected_run(
        RUN, [expected_kernel(0, "scale", launches=2, executions=1, device_ns=5)],
        [expected_call(0, 0, (4, 1, 1))],
        launches=2, executions=1, device_ns=5, span_ns=1110,
        other_executions=[{"name": "scale_0", "executions": 1, "device_ns": 5}],
    )  # fmt: skip
    row = run_row(required_features=["partial"], settings=[("limit", "ring:1MB")])
    return parts(RUN, row, tables), answer(figures)


@case("imported from another tool: executions without launches; copies are no kernels")
def imported() -> Trace:
    tables = {
        "kernels": [kernel(0, "scale", origin="imported")],
        "calls": [call(0, 0, (4, None, None))],
        "gpu_kernels": [
            execution(0, 0, 10, call_id=0, name="scale"),
            execution(1, 20, 30, name="ncclDevKernel"),
            execution(2, 60, 30, name="ncclDevKernel"),
            execution(3, 100, 500, kind="copy", bytes=4096),
            execution(4, 700, 5, kind="copy", bytes=None),
            execution(5, 800, 5, kind="fill", bytes=64),
        ],
    }
    figures = expected_run(
        RUN, [expected_kernel(0, "scale", executions=1, device_ns=10)],
        [expected_call(0, 0, (4, None, None))],
        source="kineto", executions=1, device_ns=10, span_ns=805,
        other_executions=[{"name": "ncclDevKernel", "executions": 2, "device_ns": 60}],
        memory_operations=[
            {"kind": "copy", "operations": 2, "bytes": 4096},
            {"kind": "fill", "operations": 1, "bytes": 64},
        ],
    )  # fmt: skip
    return parts(RUN, run_row(source="kineto"), tables), answer(figures)


@case("an end before its start counts 0 ns; without both times it is counted, but not timed")
def times() -> Trace:
    tables = {
        **PLAIN,
        "gpu_kernels": [
            execution(0, 1000, 1, call_id=0),
            execution(1, 1100, -50, call_id=0),
            {"record": 2, "start": START + 1200, "end": None, "call_id": 0},
            {"record": 3, "start": None, "end": None, "call_id": 1},
        ],
    }
    figures = expected_run(
        RUN, [{**SCALE, "executions": 4, "device_ns": 1}],
        PLAIN_CALLS,
        launches=3, executions=4, device_ns=1, span_ns=1100,
    )  # fmt: skip
    return parts(RUN, run_row(), tables), answer(figures)


@case("only required columns; absent ones are null, and nothing is known of time")
def needed_columns() -> Trace:
    tables = {
        "kernels": [{"kernel_id": 3, "name": "scale"}],
        "calls": [{"call_id": 8, "kernel_id": 3}],
        "launches": [{"seq": seq, "call_id": 8} for seq in (0, 1, 5)],
    }
    figures = expected_run(
        RUN,
        [expected_kernel(3, "scale", launches=3)],
        [expected_call(8, 3, (None, None, None))],
        launches=3,
    )
    return parts(RUN, {"run_id": RUN}, tables), answer(figures)


@case("columns and tables that a reader does not know, of a newer minor version, are ignored")
def unknown_columns() -> Trace:
    watts = {"watts": ("double", [310.5, 305.0, 298.25])}
    made = changed("launches", columns=watts, version="1.99")
    tables = [Part(t, [], columns=watts, version="1.99") for t in ("client_power", "sensors")]
    return [*tables, *made], answer(PLAIN_RUN)


@case("fields of structs that a reader does not know, of a newer minor version, are ignored")
def grown_structs() -> Trace:
    fields = {"stage": "string", "artifact": "string", "duration_ns": "int64", "tool": "string"}
    stages = [{"stage": stage, "tool": "acme"} for stage in ("ttir", "ttgir")]
    made = changed(
        "kernels",
        rows=[{**PLAIN["kernels"][0], "stages": stages}],
        fields={"stages": fields},
        version="1.99",
    )
    return made, answer(PLAIN_RUN)


@case("fields of structs in another order, and absent ones, which are null: taken by name")
def fewer_fields() -> Trace:
    scalar = {"scalar": "64", "kind": "scalar", "name": "n"}
    made = changed(
        "calls",
        rows=[{**row, "args": [scalar]} for row in PLAIN["calls"]],
        fields={"args": dict.fromkeys(scalar, "string")},
    )
    calls = [expected_call(0, 0, (4, 1, 1)), expected_call(1, 0, (2, 3, 1))]
    return made, answer({**PLAIN_RUN, "calls": calls})


@case("vocabularies are open: a phase that is not known is no trial, a kind is no kernel")
def unknown_words() -> Trace:
    args = [
        {"name": "a", "kind": "tensor", "dtype": "fp3_e1m1", "shape": [16, 0]},
        {"name": "b", "kind": "tensormap", "shape": [4]},
    ]
    tables = {
        "kernels": [kernel(0, "tile", "tileir", "sass9", origin="another_language")],
        "calls": [{**call(0, 0, (1, 1, 1)), "args": args}],
        "launches": launches(0, 0, 0, phase="rehearsal"),
        "gpu_kernels": [execution(0, 0, 5, call_id=0, kind="prefetch", bytes=32)],
    }
    figures = expected_run(
        RUN, [expected_kernel(0, "tile", "tileir", "sass9", launches=2)],
        [expected_call(0, 0, (1, 1, 1), (16, 0))],
        launches=2, span_ns=110,
        memory_operations=[{"kind": "prefetch", "operations": 1, "bytes": 32}],
    )  # fmt: skip
    return parts(RUN, run_row(), tables), answer(figures)


@case("the rows of a table are those of all its parts, captured or of a pass")
def several_parts() -> Trace:
    rows = PLAIN["launches"]
    others = parts(RUN, run_row(), {**PLAIN, "launches": rows[:1]})
    pieces = [
        Part("launches", rows[1:2], name="part-00003.parquet"),
        Part("launches", rows[2:], name="part-100000.parquet"),
        Part(
            "gpu_kernels",
            [execution(0, 40, 2, call_id=1)],
            name="part-join-00000.parquet",
            of_pass="join",
        ),
    ]
    figures = {
        **PLAIN_RUN,
        "executions": 1,
        "device_ns": 2,
        "kernels": [{**SCALE, "executions": 1, "device_ns": 2}],
    }
    return [*pieces, *others], answer(figures)


@case("the folder says whose rows they are, also of files that were copied from another run")
def copied_files() -> Trace:
    return parts(RUN, run_row(SECOND), PLAIN, of_run=SECOND), answer(PLAIN_RUN)


@case("a file of another name is no part; a run without a row of runs is not complete")
def leftover_files() -> Trace:
    left = Part("launches", launches(3, 0), name=".part-00001.parquet.0a1b2c3d-77.tmp")
    notes = Part("launches", launches(3, 0), name="part-00001.parquet.bak")
    return [
        left,
        notes,
        Part("launches", launches(0, 0), SECOND),
        *parts(RUN, run_row(), PLAIN),
    ], answer(PLAIN_RUN)


@case("row groups of 4 rows: the same word has another code in another group's dictionary")
def row_groups() -> Trace:
    phases = ("run", "autotune", None)
    rows = [{**row, "phase": phases[row["seq"] % 3]} for row in launches(0, *([0] * 30))]
    tables = {"kernels": [kernel(0, "scale")], "calls": [call(0, 0, (1, 1, 1))], "launches": rows}
    figures = expected_run(
        RUN, [expected_kernel(0, "scale", launches=20, trials=10)],
        [expected_call(0, 0, (1, 1, 1))],
        launches=20, trials=10, span_ns=2910,
    )  # fmt: skip
    return parts(
        RUN, run_row(required_features=["trials"]), tables, options={"row_group_size": 4}
    ), answer(figures)


@case("no Arrow schema in the footer, no dictionaries, no compression")
def without_arrow_schema() -> Trace:
    options = {"store_schema": False, "use_dictionary": False, "compression": "none"}
    return plain(options=options)


@case("compressed with Snappy, data pages of version 2")
def snappy() -> Trace:
    return plain(options={"compression": "snappy", "data_page_version": "2.0"})


@case("strings and lists with large offsets, as some libraries write them")
def large_offsets() -> Trace:
    return plain(large=True)


@case("bytes of a memory operation count as often as its row stands for operations")
def weighted_bytes() -> Trace:
    tables = {
        "gpu_kernels": [
            execution(0, 0, 10, kind="copy", bytes=100, weight=3),
            execution(1, 50, 10, kind="copy", bytes=7),
            execution(2, 90, 10, kind="copy", bytes=None, weight=5),
        ],
    }
    figures = expected_run(
        RUN, span_ns=100,
        memory_operations=[{"kind": "copy", "operations": 9, "bytes": 307}],
    )  # fmt: skip
    return parts(RUN, run_row(required_features=["weights"]), tables), answer(figures)


@case("executions without a call are known by name, by bytes, and the nameless come last")
def nameless_executions() -> Trace:
    names = ("gemm", None, "Zeta", "\u00e9tude", None)
    tables = {"gpu_kernels": [execution(n, 10 * n, 2, name=name) for n, name in enumerate(names)]}
    others = (("Zeta", 1), ("gemm", 1), ("\u00e9tude", 1), (None, 2))
    figures = expected_run(
        RUN, span_ns=42,
        other_executions=[
            {"name": name, "executions": number, "device_ns": 2 * number}
            for name, number in others
        ],
    )  # fmt: skip
    return parts(RUN, run_row(), tables), answer(figures)


@case("an execution has the call that it names, also if its launch is not recorded: no trial")
def call_of_unrecorded_launch() -> Trace:
    tables = {
        "kernels": [kernel(0, "scale")],
        "calls": [call(0, 0, (4, 1, 1))],
        "launches": launches(50, 0, phase="autotune"),
        "gpu_kernels": [
            execution(7, 4000, 5, launch_seq=49, call_id=0),
            execution(8, 5010, 3, launch_seq=50, call_id=0),
        ],
    }
    figures = expected_run(
        RUN, [expected_kernel(0, "scale", trials=1, executions=1, trial_executions=1, device_ns=5)],
        [expected_call(0, 0, (4, 1, 1))],
        trials=1, executions=1, trial_executions=1, device_ns=5, span_ns=1013,
    )  # fmt: skip
    return parts(RUN, run_row(required_features=["trials", "partial"]), tables), answer(figures)


@case("files of other names are no parts; a run without a row is not complete, of any version")
def other_names() -> Trace:
    names = ("part-007.parquet", "part-00000.copy.parquet")
    others = [Part("launches", launches(3, 0), name=name) for name in names]
    newer = [Part("launches", launches(0, 0), SECOND, version="2.0")]
    return [*others, *newer, *parts(RUN, run_row(), PLAIN)], answer(PLAIN_RUN)


@case("ids out of order over parts, a descriptor, a shape that is not known, names beyond 16 bits")
def unordered_parts() -> Trace:
    args = [{"name": "x", "kind": "tensor"}, {"name": "d", "kind": "descriptor", "shape": [4]}]
    tables = {
        "kernels": [kernel(1, "add")],
        "calls": [{**call(1, 1, (1, 1, 1)), "args": args}],
        "launches": launches(0, 0, phase="warmup"),
        "gpu_kernels": [
            execution(0, 10, 2, launch_seq=0, call_id=0),
            execution(1, 20, 2, name="\U0001f680"),
            execution(2, 30, 2, name="\uff5e"),
            execution(3, 40, 2, kind="fill"),
        ],
    }
    later = [
        Part("kernels", [kernel(0, "scale")], name="part-00001.parquet"),
        Part("calls", [call(0, 0, (4, 1, 1), (64,))], name="part-00001.parquet"),
    ]
    figures = expected_run(
        RUN, [expected_kernel(0, "scale", trials=1, trial_executions=1), expected_kernel(1, "add")],
        [
            expected_call(0, 0, (4, 1, 1), (64,)),
            {**expected_call(1, 1, (1, 1, 1)), "tensors": [None]},
        ],
        trials=1, trial_executions=1, span_ns=42,
        other_executions=[{"name": n, "executions": 1, "device_ns": 2} for n in "\uff5e\U0001f680"],
        memory_operations=[{"kind": "fill", "operations": 1, "bytes": None}],
    )  # fmt: skip
    row = run_row(required_features=["trials", "total-times"])
    return [*later, *parts(RUN, row, tables)], answer(figures)
