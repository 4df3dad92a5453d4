"""One side of a difference, read from the tables: compiled variants with sums over their launches.

Ids mean nothing outside their run, so ranks of one job (and repeated compilations of one thing)
are merged here by what they are. Sums over launches run inside DuckDB, not in Python loops.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pyarrow as pa

from kvtrace.converters.compiling import CompilingLaunches
from kvtrace.converters.counted_times import TUNING
from kvtrace.converters.database import database as new_database
from kvtrace.converters.diff.graphs import graph_texts
from kvtrace.converters.diff.model import Totals
from kvtrace.converters.specialization import specialization, without_addresses

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Selection, Trace

KernelKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Call:
    """Calls of a variant that are alike but for addresses and recorded values."""

    run: str
    call_id: int
    launches: int
    tuning_launches: int


@dataclass(slots=True)
class Variant:
    """A compiled variant of a kernel, with sums over every run of its side."""

    key: KernelKey
    facts: dict[str, str]
    row: Mapping[str, Any]
    stages: dict[str, str]
    resources: dict[str, int]
    totals: Totals = field(default_factory=Totals)
    calls: dict[int, Call] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The compile-time constants, which is what tells a kernel's variants apart for people."""
        prefix = "constexpr "
        constants = [
            f"{k.removeprefix(prefix)}={v}" for k, v in self.facts.items() if k.startswith(prefix)
        ]
        return ", ".join(constants)

    @property
    def tuned(self) -> bool:
        """Whether an autotuner tried it."""
        return self.totals.tuning_launches > 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All variants of a side, by kernel, and where they were read.

    `graphs` has the texts of tensor graphs, each under the hash that is its stage `stablehlo`.
    """

    label: str
    trace: "Trace"
    runs: tuple["Run", ...]
    kernels: dict[KernelKey, list[Variant]]
    medians: dict[KernelKey, tuple[float | None, float | None]]
    has_ops: bool
    graphs: dict[str, str]
    _calls: dict[str, pa.Table] = field(default_factory=dict, repr=False)

    def calls_of(self, run: "Run") -> pa.Table:
        """Return the rows of `calls` of a run, read once and only where something differs."""
        if run.run_id not in self._calls:
            self._calls[run.run_id] = self.trace.table("calls", [run])
        return self._calls[run.run_id]

    def kernel_totals(self, key: KernelKey) -> Totals:
        """Sum over a kernel's variants, with the medians over all its launches."""
        host, device = self.medians.get(key, (None, None))
        totals = sum_totals(v.totals for v in self.kernels[key])
        return replace(totals, host_median_ns=host, device_median_ns=device)

    @property
    def totals(self) -> Totals:
        """Sums over all kernels."""
        return sum_totals(v.totals for variants in self.kernels.values() for v in variants)


def take_snapshot(selection: "Selection", label: str) -> Snapshot:
    """Read one side.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    trace, runs = selection.trace, tuple(selection.runs)
    texts = graph_texts(selection)
    variants, members = _variants(trace, runs, texts)
    ops = trace.table("ops", runs, ["call_id", "kind", "bytes", "flops"])
    with new_database() as database:
        _register(database, trace, runs, variants, members, ops)
        _fill_totals(database, variants)
        _fill_calls(database, variants)
        medians = {
            (module, name): (host, device)
            for module, name, host, device in database.execute(_MEDIANS).fetchall()
        }
    kernels: dict[KernelKey, list[Variant]] = {}
    for variant in variants:
        kernels.setdefault(variant.key, []).append(variant)
    graphs = {_hash(text): text for text in texts.values()}
    return Snapshot(label, trace, runs, kernels, medians, ops.num_rows > 0, graphs)


def sum_totals(totals: Iterable[Totals]) -> Totals:
    """Sum what can be summed; a figure that one part lacks is unknown, and medians always are."""
    parts = list(totals)
    launched = [part for part in parts if part.launches]
    return Totals(
        launches=sum(part.launches for part in parts),
        tuning_launches=sum(part.tuning_launches for part in parts),
        host_ns=_sum(part.host_ns for part in launched if part.launches > part.compiling_launches),
        compiling_launches=sum(part.compiling_launches for part in parts),
        compiling_ns=sum(part.compiling_ns or 0 for part in parts),
        device_ns=_sum(part.device_ns for part in launched),
        compile_ns=sum(part.compile_ns or 0 for part in parts),
        bytes=_sum(part.bytes for part in launched),
        flops=_sum(part.flops for part in launched),
    )


def call_rows(side: Snapshot, calls: Sequence[Call]) -> list[dict[str, Any]]:
    """Read the rows of `calls` for these, in their order."""
    wanted = {(call.run, call.call_id): position for position, call in enumerate(calls)}
    rows: list[dict[str, Any] | None] = [None] * len(calls)
    for run in side.runs:
        ids = [call_id for run_id, call_id in wanted if run_id == run.run_id]
        if not ids:
            continue
        table = side.calls_of(run)
        mask = pa.compute.is_in(table["call_id"], pa.array(ids, pa.int64()))
        for row in table.filter(mask).to_pylist():
            rows[wanted[row["run"], row["call_id"]]] = row
    return [row for row in rows if row is not None]


def _variants(
    trace: "Trace", runs: Sequence["Run"], texts: Mapping[tuple[str, int], str]
) -> tuple[list[Variant], list[tuple[str, int, int]]]:
    """Variants merged over runs, and (run, kernel_id, position of the variant) of each row."""
    columns = [
        "kernel_id", "name", "module", "file", "line", "source_artifact", "signature", "target",
        "warp_size", "num_warps", "num_ctas", "num_stages", "options", "shared_bytes", "registers",
        "spills", "origin", "compile_ns", "stages",
    ]  # fmt: skip
    variants: list[Variant] = []
    positions: dict[tuple[Any, ...], int] = {}
    members = []
    for row in trace.table("kernels", runs, columns).to_pylist():
        variant = _variant(row)
        text = texts.get((row["run"], row["kernel_id"]))
        if text is not None:
            variant.stages["stablehlo"] = _hash(text)
        graph = variant.stages.get("stablehlo")
        identity = (variant.key, row["source_artifact"], tuple(variant.facts.items()), graph)
        position = positions.setdefault(identity, len(variants))
        if position == len(variants):
            variants.append(variant)
        else:
            known = variants[position].totals.compile_ns or 0
            variants[position].totals = Totals(compile_ns=known + (row["compile_ns"] or 0))
        members.append((row["run"], row["kernel_id"], position))
    return variants, members


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _variant(row: Mapping[str, Any]) -> Variant:
    return Variant(
        key=(row["module"] or "", row["name"] or ""),
        facts=specialization(row),
        row=row,
        stages={s["stage"]: s["artifact"] for s in row["stages"] or () if s["artifact"]},
        resources={
            name: row[name]
            for name in ("registers", "spills", "shared_bytes")
            if row[name] is not None
        },
        totals=Totals(compile_ns=row["compile_ns"] or 0),
    )


def _register(
    database: duckdb.DuckDBPyConnection,
    trace: "Trace",
    runs: Sequence["Run"],
    variants: Sequence[Variant],
    members: Sequence[tuple[str, int, int]],
    ops: pa.Table,
) -> None:
    columns: tuple[Sequence[Any], ...] = tuple(zip(*members, strict=True)) or ((), (), ())
    member_table = pa.table(
        {
            "run": pa.array(columns[0], pa.string()),
            "kernel_id": pa.array(columns[1], pa.int64()),
            "variant": pa.array(columns[2], pa.int64()),
        }
    )
    kernel_names = pa.table(
        {
            "variant": pa.array(range(len(variants)), pa.int64()),
            "module": pa.array([v.key[0] for v in variants], pa.string()),
            "name": pa.array([v.key[1] for v in variants], pa.string()),
        }
    )
    calls = trace.table(
        "calls", runs, ["call_id", "kernel_id", "grid_x", "grid_y", "grid_z", "args"]
    )
    launches = pa.concat_tables([_launches(trace, run) for run in runs])
    executions = trace.table("gpu_kernels", runs, ["launch_seq", "call_id", "start", "end"])
    for name, table in (
        ("members", member_table),
        ("kernel_names", kernel_names),
        ("all_calls", calls),
        ("launches", launches),
        ("gpu_kernels", executions),
        ("ops", ops),
    ):
        database.register(name, table)
    database.execute(_PREPARE.replace("TUNING", str(TUNING)))


def _launches(trace: "Trace", run: "Run") -> pa.Table:
    """Return the launches of a run, and which of them compiled or loaded their kernel."""
    rows = trace.table("launches", (run,), ["seq", "call_id", "enter", "exit", "phase"])
    compiling = CompilingLaunches(trace, run).among(rows)
    return rows.append_column("compiling", pa.array(compiling))


#: Launches of the phases TUNING are counted apart: an autotuner repeats them as often
#: as time allows; those in which the kernel was compiled or loaded (see compiling.py) have no time
#: of a launch. `place` numbers (run, call_id), so that a million launches join on one small
#: integer. `alike` is a 64-bit hash of all of a call that is the same in another process: no
#: addresses, no recorded values.
_PREPARE: Final = """
    CREATE TABLE place AS
    SELECT row_number() OVER (ORDER BY c.run, c.call_id) AS place, c.run, c.call_id, m.variant,
        hash(c.grid_x, c.grid_y, c.grid_z, list_transform(
            list_filter(c.args, lambda a: a.kind IS DISTINCT FROM 'constexpr'),
            lambda a: {
                'name': a.name, 'kind': a.kind, 'dtype': a.dtype,
                'device': regexp_replace(a.device, ':[0-9]+$', ''), 'shape': a.shape,
                'strides': a.strides, 'offset': a.offset_bytes, 'storage': a.storage_bytes,
                'alias': a.alias_group,
                'scalar': regexp_replace(a.scalar, '0x[0-9a-fA-F]{6,}', '0x…', 'g')
            })) AS alike
    FROM all_calls c JOIN members m ON c.run = m.run AND c.kernel_id = m.kernel_id;

    CREATE TABLE timed AS
    SELECT p.place, epoch_ns(l."exit") - epoch_ns(l."enter") AS host_ns,
        coalesce(l.phase, 'run') IN TUNING AS tuning, l.compiling
    FROM launches l JOIN place p ON l.run = p.run AND l.call_id = p.call_id;

    CREATE TABLE executed AS
    SELECT p.place, epoch_ns(g."end") - epoch_ns(g."start") AS device_ns
    FROM gpu_kernels g
    LEFT JOIN launches l ON g.run = l.run AND g.launch_seq = l.seq
    JOIN place p ON g.run = p.run AND coalesce(g.call_id, l.call_id) = p.call_id
    WHERE coalesce(l.phase, 'run') NOT IN TUNING;

    CREATE TABLE per_call AS
    SELECT p.place, p.variant, p.run, p.call_id, p.alike,
        coalesce(t.launches, 0) AS launches, coalesce(t.tuning, 0) AS tuning, o.bytes, o.flops
    FROM place p
    LEFT JOIN (
        SELECT place, count(*) FILTER (NOT tuning) AS launches, count(*) FILTER (tuning) AS tuning
        FROM timed GROUP BY place
    ) t USING (place)
    LEFT JOIN (
        SELECT run, call_id, coalesce(sum(flops), 0) AS flops,
            CASE WHEN count(*) FILTER (kind IN ('load', 'store', 'atomic') AND bytes IS NULL) = 0
                THEN coalesce(sum(bytes), 0) END AS bytes
        FROM ops GROUP BY run, call_id
    ) o ON p.run = o.run AND p.call_id = o.call_id;
"""

_TOTALS: Final = """
    WITH work AS (
        SELECT variant, sum(launches) AS launches, sum(tuning) AS tuning,
            CASE WHEN count(*) FILTER (launches > 0 AND bytes IS NULL) = 0
                THEN sum(bytes * launches) END AS bytes,
            CASE WHEN count(*) FILTER (launches > 0 AND flops IS NULL) = 0
                THEN sum(flops * launches) END AS flops
        FROM per_call GROUP BY variant
    ), host AS (
        SELECT variant, median(host_ns) FILTER (NOT compiling) AS middle,
            sum(host_ns) FILTER (NOT compiling) AS total,
            count(*) FILTER (compiling) AS compiling, sum(host_ns) FILTER (compiling) AS slow
        FROM timed JOIN place USING (place) WHERE NOT tuning GROUP BY variant
    ), device AS (
        SELECT variant, sum(device_ns) AS total, median(device_ns) AS middle
        FROM executed JOIN place USING (place) GROUP BY variant
    )
    SELECT w.variant, w.launches, w.tuning, h.total, h.middle, d.total, d.middle, w.bytes, w.flops,
        coalesce(h.compiling, 0), h.slow
    FROM work w LEFT JOIN host h USING (variant) LEFT JOIN device d USING (variant)
"""

_MEDIANS: Final = """
    WITH kernel AS (
        SELECT place, module, name FROM place JOIN kernel_names USING (variant)
    ), host AS (
        SELECT module, name, median(host_ns) AS middle
        FROM timed JOIN kernel USING (place) WHERE NOT tuning AND NOT compiling
        GROUP BY module, name
    ), device AS (
        SELECT module, name, median(device_ns) AS middle
        FROM executed JOIN kernel USING (place) GROUP BY module, name
    )
    SELECT module, name, host.middle, device.middle
    FROM host FULL JOIN device USING (module, name)
"""

_CALLS: Final = """
    SELECT variant, alike, arg_min(run, place), arg_min(call_id, place), sum(launches), sum(tuning)
    FROM per_call GROUP BY variant, alike ORDER BY min(place)
"""


def _fill_totals(database: duckdb.DuckDBPyConnection, variants: Sequence[Variant]) -> None:
    for row in database.execute(_TOTALS).fetchall():
        (
            position, launches, tuning, host, host_median, device, device_median, moved, flops,
            compiling, slow,
        ) = row  # fmt: skip
        variant = variants[position]
        variant.totals = Totals(
            launches=int(launches),
            tuning_launches=int(tuning),
            host_ns=_whole(host),
            host_median_ns=host_median,
            compiling_launches=int(compiling),
            compiling_ns=_whole(slow),
            device_ns=_whole(device),
            device_median_ns=device_median,
            compile_ns=variant.totals.compile_ns,
            bytes=_whole(moved),
            flops=_whole(flops),
        )


def _fill_calls(database: duckdb.DuckDBPyConnection, variants: Sequence[Variant]) -> None:
    for position, alike, run, call_id, launches, tuning in database.execute(_CALLS).fetchall():
        variants[position].calls[alike] = Call(run, call_id, int(launches), int(tuning))


def call_facts(row: Mapping[str, Any]) -> dict[str, str]:
    """Return what a call is, as facts that can be compared: grid, shapes, strides, scalars."""
    facts = {"grid": f"({row['grid_x']}, {row['grid_y']}, {row['grid_z']})"}
    for arg in row["args"] or ():
        if arg["kind"] != "constexpr":
            facts.update(_argument_facts(arg))
    return facts


def _argument_facts(arg: Mapping[str, Any]) -> dict[str, str]:
    name = arg["name"]
    if arg["scalar"] is not None:
        return {name: without_addresses(arg["scalar"])}
    facts = {
        "dtype": arg["dtype"],
        "device": (arg["device"] or "").partition(":")[0] or None,
        "shape": arg["shape"],
        "strides": arg["strides"],
        "offset": arg["offset_bytes"],
        "storage bytes": arg["storage_bytes"],
        "alias group": arg["alias_group"],
    }
    return {f"{name} {what}": str(value) for what, value in facts.items() if value is not None}


def _sum(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known or not known else sum(v for v in known if v is not None)


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)
