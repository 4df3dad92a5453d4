"""Cases of the conformance suite: rows of small traces, and the answers, counted by hand.

Each case returns the files of a trace and the expected answer; docs/conformance.md has the
questions. Answers are not computed from the rows, so that no reader is its own judge.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

Row = Mapping[str, Any]

#: 2026-01-02 03:04:05 UTC, in ns: beyond 2^53, so that a float loses nanoseconds.
START: Final = 1_767_323_045_000_000_001
RUN: Final = "20260102-030405-000-0000000a"
SECOND: Final = "20260102-030405-000-0000000b"
COUNTS: Final = {"launches": 0, "trials": 0, "executions": 0, "trial_executions": 0}
#: The version of the format that files of cases name.
VERSION: Final = "1.12"


@dataclass(frozen=True)
class Part:
    """One Parquet file of a case.

    `columns` are added as they are, with their Arrow type by name; `fields` are those of columns
    that are lists of structs, in place of the format's; `options` go to the writer of Parquet.
    Metadata have `of_table` and `of_run`, unless they are "", in place of `table` and `run`.
    `torn` keeps that many bytes; with `large`, strings and lists have offsets of 64 bits.
    """

    table: str
    rows: Sequence[Row]
    run: str = RUN
    name: str = "part-00000.parquet"
    version: str | None = VERSION
    of_table: str | None = None
    of_run: str | None = None
    of_pass: str | None = None
    columns: Mapping[str, tuple[str, Sequence[Any]]] = field(default_factory=dict)
    fields: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    torn: int | None = None
    large: bool = False


#: The parts of a trace, and the expected answer, or None if readers have to reject the trace.
Trace = tuple[Sequence[Part], Mapping[str, Any] | None]
#: Each case by name: what it is about, and the function that returns the trace.
CASES: Final[dict[str, tuple[str, Callable[[], Trace]]]] = {}


def case(about: str) -> Callable[[Callable[[], Trace]], Callable[[], Trace]]:
    """Register a function as the case of its name."""

    def register(function: Callable[[], Trace]) -> Callable[[], Trace]:
        CASES[function.__name__.replace("_", "-")] = (about, function)
        return function

    return register


def kernel(number: int, name: str, *stages: str, **more: Any) -> Row:
    """Return a row of `kernels`."""
    return {"kernel_id": number, "name": name, "stages": [{"stage": s} for s in stages], **more}


def call(number: int, kernel_id: int, grid: Sequence[int | None], *shapes: Sequence[int]) -> Row:
    """Return a row of `calls` whose arguments are tensors of these shapes, and one scalar."""
    args = [{"name": f"x{at}", "kind": "tensor", "shape": s} for at, s in enumerate(shapes)]
    scalar = {"name": "n", "kind": "scalar", "scalar": "64"}
    x, y, z = grid
    row = {"call_id": number, "kernel_id": kernel_id, "grid_x": x, "grid_y": y, "grid_z": z}
    return {**row, "args": [*args, scalar]}


def launches(first: int, *calls: int, **more: Any) -> list[Row]:
    """Return rows of `launches`, 10 ns each, one begun every 100 ns."""
    return [
        {"seq": seq, "call_id": c, "enter": START + 100 * seq, "exit": START + 100 * seq + 10}
        | more
        for seq, c in enumerate(calls, first)
    ]


def execution(record: int, start: int, ns: int, **more: Any) -> Row:
    """Return a row of `gpu_kernels` that starts `start` ns after START."""
    return {"record": record, "start": START + start, "end": START + start + ns, **more}


def run_row(run: str = RUN, **more: Any) -> Row:
    """Return a row of `runs`."""
    return {"run_id": run, "producer": "conformance", **more}


def parts(run: str, row: Row, tables: Mapping[str, Sequence[Row]], **options: Any) -> list[Part]:
    """Return one part for each table of a run, `runs` last."""
    return [Part(t, rows, run, **options) for t, rows in {**tables, "runs": [row]}.items()]


def expected_run(
    run: str = RUN, kernels: Iterable[Row] = (), calls: Iterable[Row] = (), **more: Any
) -> dict[str, Any]:
    """Return the expected answer for a run; what is not named is 0, null or empty."""
    unknown = {"group_id": None, "rank": None, "world_size": None, "source": None}
    lists: dict[str, Any] = {"other_executions": [], "memory_operations": []}
    answer = {"run_id": run, **unknown, **COUNTS, "device_ns": None, "span_ns": None, **lists}
    return {**answer, **more, "kernels": [*kernels], "calls": [*calls]}


def expected_kernel(number: int, name: str | None, *stages: str, **more: Any) -> Row:
    """Return the expected figures of a kernel; those not named are 0 or null."""
    row = {"kernel_id": number, "name": name, "stages": [*stages], **COUNTS, "device_ns": None}
    return {**row, **more}


def expected_call(number: int, kernel_id: int, grid: Sequence[int | None], *shapes: Any) -> Row:
    """Return the expected row of a call."""
    tensors = [[*shape] for shape in shapes]
    return {"call_id": number, "kernel_id": kernel_id, "grid": [*grid], "tensors": tensors}


def answer(*runs: Row) -> dict[str, Any]:
    """Return the expected answer for a trace."""
    return {"runs": [*runs]}


#: Two calls of one kernel, three launches; many cases are these rows, stored in another way.
PLAIN: Final[dict[str, list[Row]]] = {
    "kernels": [kernel(0, "scale", "ttir", "ttgir")],
    "calls": [call(0, 0, (4, 1, 1), (64,), (64,)), call(1, 0, (2, 3, 1), (8, 4))],
    "launches": launches(0, 0, 0, 1),
}
WITHOUT_CALLS: Final = [
    {name: row[name] for name in row if name != "call_id"} for row in PLAIN["launches"]
]
SCALE: Final = expected_kernel(0, "scale", "ttir", "ttgir", launches=3)
PLAIN_CALLS: Final = [
    expected_call(0, 0, (4, 1, 1), (64,), (64,)),
    expected_call(1, 0, (2, 3, 1), (8, 4)),
]
PLAIN_RUN: Final = expected_run(RUN, [SCALE], PLAIN_CALLS, launches=3, span_ns=210)


def plain(**options: Any) -> Trace:
    """Return the trace of PLAIN's rows, stored with these options of a part."""
    return parts(RUN, run_row(), PLAIN, **options), answer(PLAIN_RUN)


def changed(table: str, **change: Any) -> list[Part]:
    """Return PLAIN's parts, the one of `table` with other fields."""
    made = parts(RUN, run_row(), PLAIN)
    return [Part(**{**vars(p), **change}) if p.table == table else p for p in made]


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


@case("the file of launches does not say which table it has rows of")
def reject_no_table() -> Trace:
    return changed("launches", of_table=""), None


@case("format version 2.0")
def reject_newer_major() -> Trace:
    return changed("launches", version="2.0"), None


@case("the run requires a feature that the reader does not know")
def reject_unknown_feature() -> Trace:
    return parts(RUN, run_row(required_features=["weights", "furlongs"]), PLAIN), None


@case("the file of launches was cut")
def reject_torn() -> Trace:
    return changed("launches", torn=700), None


@case("the required column launches.call_id is missing")
def reject_missing_column() -> Trace:
    return changed("launches", rows=WITHOUT_CALLS), None


@case("launches.call_id is a string, and the format says int64")
def reject_wrong_type() -> Trace:
    texts = {"call_id": ("string", ["zero", "zero", "one"])}
    return changed("launches", rows=WITHOUT_CALLS, columns=texts), None


@case("the file in the folder launches says that it has rows of marks")
def reject_other_table() -> Trace:
    return changed("launches", of_table="marks"), None


@case("the file of launches does not say which version of the format it has")
def reject_no_version() -> Trace:
    return changed("launches", version=None), None


@case("format version 10.0")
def reject_version_ten() -> Trace:
    return changed("launches", version="10.0"), None


@case("1x is no version of the format")
def reject_no_number() -> Trace:
    return changed("launches", version="1x"), None


@case("launches.enter is in microseconds, without a zone")
def reject_microseconds() -> Trace:
    rows = [{n: v for n, v in row.items() if n != "enter"} for row in PLAIN["launches"]]
    return changed("launches", rows=rows, columns={"enter": ("timestamp[us]", [1, 2, 3])}), None


@case("the kind of an argument, a field of a struct, is an integer")
def reject_wrong_field() -> Trace:
    rows = [{**row, "args": [{"kind": 1}]} for row in PLAIN["calls"]]
    return changed("calls", rows=rows, fields={"args": {"kind": "int64"}}), None
