"""Where time, bytes and FLOPs go: per kernel, per distinct call, per source line.

Times are *measured* while recording. Bytes, FLOPs and lanes are *derived*: `kvtrace replay`
evaluates the IR over the whole grid and fills the table `ops`, and the sums here weigh each call by
its launches. Launches of autotuners and warm-ups are left out of all sums and counted apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pyarrow as pa

from kvtrace.converters.source_lines import SourceLines

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


@dataclass(frozen=True, slots=True)
class Measured:
    """Times taken while recording, in nanoseconds; None where nothing was timed."""

    host_ns: int | None
    host_median_ns: float | None
    device_ns: int | None
    device_median_ns: float | None
    device_executions: int


@dataclass(frozen=True, slots=True)
class Derived:
    """What evaluating the IR gave, summed over launches; None where it is not known.

    `bytes` counts active lanes of loads, stores and atomics; where a mask hangs on data that was
    not recorded, that access is left out and counted in `unknown_accesses`, so `bytes` is a lower
    bound. `intensity` is FLOPs per byte, `mask_efficiency` the share of lanes that were active.
    `bytes_per_second` and `flops_per_second` divide by the measured device time.
    """

    bytes: int | None
    flops: int | None
    bytes_per_launch: float | None
    flops_per_launch: float | None
    intensity: float | None
    mask_efficiency: float | None
    bytes_per_second: float | None
    flops_per_second: float | None
    unknown_accesses: int


@dataclass(frozen=True, slots=True)
class CallProfile:
    """A distinct call of a kernel: its grid and the shapes of its tensors."""

    run: str
    call_id: int
    grid: tuple[int, int, int]
    tensors: tuple[str, ...]
    launches: int
    measured: Measured
    derived: Derived


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """A kernel, by module and name, over all chosen runs."""

    name: str
    module: str | None
    file: str | None
    line: int | None
    launches: int
    tuning_launches: int
    compilations: int
    compile_ns: int | None
    measured: Measured
    derived: Derived
    calls: tuple[CallProfile, ...] = ()


@dataclass(frozen=True, slots=True)
class LineProfile:
    """A source line and what the ops on it did, over all launches (derived)."""

    file: str
    line: int
    source: str | None
    kernels: tuple[str, ...]
    accesses: str
    bytes: int | None
    flops: int | None
    mask_efficiency: float | None
    unknown_accesses: int


@dataclass(frozen=True, slots=True)
class Profile:
    """Kernels by time (device time where there is any), and lines by bytes.

    `replayed` says whether the table `ops` has rows; `missing_calls` counts launched calls that it
    lacks.
    """

    path: str
    runs: tuple[str, ...]
    kernels: tuple[KernelProfile, ...]
    replayed: bool
    missing_calls: int
    lines: tuple[LineProfile, ...] = ()


def read_profile(
    trace: "Trace", runs: Sequence["Run"], *, calls: bool = False, lines: bool = False
) -> Profile:
    """Read the profile of the runs; `calls` and `lines` add those levels.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    with duckdb.connect() as database:
        _register(database, trace, runs)
        database.execute(_PREPARE)
        by_kernel = _records(database, _SUMS.format(key="kernel"))
        kernels = _records(database, _KERNELS)
        by_call = _records(database, _SUMS.format(key="place")) if calls else []
        places = _records(database, _PLACES) if calls else []
        by_line = _records(database, _LINES) if lines else []
        replayed, missing = database.execute(_COVERAGE).fetchall()[0]
    call_profiles = _call_profiles(places, by_call)
    sums = {row["key"]: row for row in by_kernel}
    found = [
        _kernel(row, sums.get(row["kernel"], {}), call_profiles.get(row["kernel"], ()))
        for row in kernels
    ]
    source = SourceLines(trace, runs) if lines else None
    return Profile(
        path=str(trace.path),
        runs=tuple(run.run_id for run in runs),
        kernels=tuple(sorted(found, key=_cost, reverse=True)),
        replayed=bool(replayed),
        missing_calls=int(missing),
        lines=tuple(_line(row, source) for row in by_line if source is not None),
    )


def profile_object(profile: Profile) -> dict[str, Any]:
    """Return the JSON form: the fields of `Profile`; `measured` and `derived` hold the figures."""
    return asdict(profile)


def _register(database: duckdb.DuckDBPyConnection, trace: "Trace", runs: Sequence["Run"]) -> None:
    wanted = {
        "kernels": ["kernel_id", "name", "module", "file", "line", "compile_ns"],
        "calls": ["call_id", "kernel_id", "grid_x", "grid_y", "grid_z", "args"],
        "launches": ["seq", "call_id", "enter", "exit", "phase"],
        "gpu_kernels": ["launch_seq", "call_id", "start", "end"],
        "ops": [
            "call_id", "op", "kind", "stack_id", "elements", "masked_off", "bytes", "flops",
        ],
        "stacks": ["stack_id", "frames"],
    }  # fmt: skip
    for name, names in wanted.items():
        table: pa.Table = trace.table(name, runs, names)
        database.register(name, table)


#: `place` numbers (run, call_id) and `kernel` numbers (module, name). An access whose active lanes
#: are not known has null bytes.
_PREPARE: Final = """
    CREATE TABLE kernel AS
    SELECT dense_rank() OVER (ORDER BY coalesce(module, ''), coalesce(name, '')) AS kernel,
        run, kernel_id, name, module, file, line, compile_ns
    FROM kernels;

    CREATE TABLE place AS
    SELECT row_number() OVER (ORDER BY c.run, c.call_id) AS place, k.kernel, c.run, c.call_id,
        [c.grid_x, c.grid_y, c.grid_z] AS grid,
        list_transform(list_filter(c.args, lambda a: a.kind = 'tensor'),
            lambda a: a.name || ' ' || coalesce(a.dtype, '?') || coalesce(a.shape::VARCHAR, ''))
            AS tensors
    FROM calls c JOIN kernel k ON c.run = k.run AND c.kernel_id = k.kernel_id;

    CREATE TABLE host AS
    SELECT p.place, p.kernel, epoch_ns(l."exit") - epoch_ns(l."enter") AS ns,
        coalesce(l.phase, 'run') IN ('autotune', 'warmup') AS tuning
    FROM launches l JOIN place p ON l.run = p.run AND l.call_id = p.call_id;

    CREATE TABLE device AS
    SELECT p.place, p.kernel, epoch_ns(g."end") - epoch_ns(g."start") AS ns
    FROM gpu_kernels g
    LEFT JOIN launches l ON g.run = l.run AND g.launch_seq = l.seq
    JOIN place p ON g.run = p.run AND coalesce(g.call_id, l.call_id) = p.call_id
    WHERE coalesce(l.phase, 'run') NOT IN ('autotune', 'warmup');

    CREATE TABLE launched AS
    SELECT place, count(*) FILTER (NOT tuning) AS launches, count(*) FILTER (tuning) AS tuning
    FROM host GROUP BY place;

    CREATE TABLE work AS
    SELECT p.place, p.kernel, coalesce(l.launches, 0) AS launches,
        sum(o.bytes) AS bytes, coalesce(sum(o.flops), 0) AS flops,
        sum(o.elements) FILTER (o.masked_off IS NOT NULL) AS lanes,
        sum(o.masked_off) AS masked,
        count(*) FILTER (o.kind IN ('load', 'store', 'atomic') AND o.bytes IS NULL) AS unknown
    FROM ops o JOIN place p ON o.run = p.run AND o.call_id = p.call_id
    LEFT JOIN launched l USING (place)
    GROUP BY ALL;
"""

_KERNELS: Final = """
    SELECT kernel, any_value(name) AS name, any_value(module) AS module, any_value(file) AS file,
        min(line) AS line, count(*) AS compilations, sum(compile_ns) AS compile_ns
    FROM kernel GROUP BY kernel ORDER BY kernel
"""

_SUMS: Final = """
    WITH timed AS (
        SELECT {key} AS key, count(*) FILTER (NOT tuning) AS launches,
            count(*) FILTER (tuning) AS tuning, sum(ns) FILTER (NOT tuning) AS host,
            median(ns) FILTER (NOT tuning) AS host_median
        FROM host GROUP BY ALL
    ), executed AS (
        SELECT {key} AS key, count(*) AS executions, sum(ns) AS device, median(ns) AS device_median
        FROM device GROUP BY ALL
    ), done AS (
        SELECT {key} AS key, sum(bytes * launches) AS bytes, sum(flops * launches) AS flops,
            sum(lanes * launches) AS lanes, sum(masked * launches) AS masked,
            sum(unknown) FILTER (launches > 0) AS unknown, sum(launches) AS replayed_launches
        FROM work GROUP BY ALL
    )
    SELECT * FROM timed FULL JOIN executed USING (key) LEFT JOIN done USING (key)
"""

_PLACES: Final = "SELECT place, kernel, run, call_id, grid, tensors FROM place ORDER BY place"

_COVERAGE: Final = """
    SELECT (SELECT count(*) > 0 FROM ops),
        (SELECT count(*) FROM launched WHERE launches > 0 AND place NOT IN (SELECT place FROM work))
"""

_LINES: Final = """
    WITH located AS (
        SELECT DISTINCT stack_id, frames[1].file AS file, frames[1].line AS line FROM stacks
    )
    SELECT s.file, s.line, list_sort(list(DISTINCT k.name)) AS kernels,
        string_agg(DISTINCT o.kind, ', ' ORDER BY o.kind)
            FILTER (o.kind NOT IN ('other', 'elementwise')) AS accesses,
        sum(o.bytes * l.launches) AS bytes, sum(o.flops * l.launches) AS flops,
        sum(o.elements * l.launches) FILTER (o.masked_off IS NOT NULL) AS lanes,
        sum(o.masked_off * l.launches) AS masked,
        count(*) FILTER (o.kind IN ('load', 'store', 'atomic') AND o.bytes IS NULL) AS unknown
    FROM ops o JOIN located s USING (stack_id)
    JOIN place p ON o.run = p.run AND o.call_id = p.call_id
    JOIN launched l USING (place) JOIN (SELECT DISTINCT kernel, name FROM kernel) k USING (kernel)
    WHERE l.launches > 0 AND s.file IS NOT NULL AND s.line IS NOT NULL
    GROUP BY s.file, s.line
    ORDER BY bytes DESC NULLS LAST, flops DESC NULLS LAST, s.file, s.line
"""


def _records(database: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    cursor = database.execute(query)
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _kernel(
    row: Mapping[str, Any], sums: Mapping[str, Any], calls: Sequence[CallProfile]
) -> KernelProfile:
    return KernelProfile(
        name=row["name"] or "",
        module=row["module"],
        file=row["file"],
        line=row["line"],
        launches=sums.get("launches") or 0,
        tuning_launches=sums.get("tuning") or 0,
        compilations=row["compilations"],
        compile_ns=_whole(row["compile_ns"]),
        measured=_measured(sums),
        derived=_derived(sums),
        calls=tuple(calls),
    )


def _call_profiles(
    places: Sequence[Mapping[str, Any]], sums: Sequence[Mapping[str, Any]]
) -> dict[int, list[CallProfile]]:
    """Profiles of launched calls by kernel, those that took longest first."""
    by_place = {row["key"]: row for row in sums}
    found: dict[int, list[CallProfile]] = {}
    for row in places:
        figures = by_place.get(row["place"], {})
        if not figures.get("launches"):
            continue
        profile = CallProfile(
            run=row["run"],
            call_id=row["call_id"],
            grid=tuple(row["grid"]),
            tensors=tuple(row["tensors"] or ()),
            launches=figures["launches"],
            measured=_measured(figures),
            derived=_derived(figures),
        )
        found.setdefault(row["kernel"], []).append(profile)
    for calls in found.values():
        calls.sort(key=_cost, reverse=True)
    return found


def _measured(sums: Mapping[str, Any]) -> Measured:
    return Measured(
        host_ns=_whole(sums.get("host")),
        host_median_ns=sums.get("host_median"),
        device_ns=_whole(sums.get("device")),
        device_median_ns=sums.get("device_median"),
        device_executions=sums.get("executions") or 0,
    )


def _derived(sums: Mapping[str, Any]) -> Derived:
    launches = _whole(sums.get("replayed_launches"))
    known = bool(launches)
    moved = (_whole(sums.get("bytes")) or 0) if known else None
    flops = (_whole(sums.get("flops")) or 0) if known else None
    whole = launches == sums.get("launches")
    seconds = (sums.get("device") or 0) / 1e9 if whole else 0
    return Derived(
        bytes=moved,
        flops=flops,
        bytes_per_launch=_ratio(moved, launches),
        flops_per_launch=_ratio(flops, launches),
        intensity=_ratio(flops, moved),
        mask_efficiency=_efficiency(sums),
        bytes_per_second=_ratio(moved, seconds),
        flops_per_second=_ratio(flops, seconds),
        unknown_accesses=_whole(sums.get("unknown")) or 0,
    )


def _line(row: Mapping[str, Any], source: SourceLines) -> LineProfile:
    return LineProfile(
        file=row["file"],
        line=row["line"],
        source=source.text(row["file"], row["line"]),
        kernels=tuple(name or "" for name in row["kernels"] or ()),
        accesses=row["accesses"] or "",
        bytes=_whole(row["bytes"]),
        flops=_whole(row["flops"]),
        mask_efficiency=_efficiency(row),
        unknown_accesses=row["unknown"],
    )


def _efficiency(sums: Mapping[str, Any]) -> float | None:
    lanes, masked = _whole(sums.get("lanes")), _whole(sums.get("masked"))
    return None if not lanes or masked is None else 1 - masked / lanes


def _ratio(value: float | None, by: float | None) -> float | None:
    return None if value is None or not by else value / by


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _cost(profile: KernelProfile | CallProfile) -> tuple[int, int, int]:
    """Device time first, since host time says how long a launch took, not its kernel."""
    measured = profile.measured
    return (measured.device_ns or 0, measured.host_ns or 0, profile.launches)
