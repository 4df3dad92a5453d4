"""Files, rows and answers of which the cases of the conformance suite are made."""

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
