"""Time on devices, ranked: kernels of every library, copies, fills, and idle time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kvtrace.figures.columns import integers
from kvtrace.figures.executions import Busy
from kvtrace.figures.identity import NOT_OWN, KernelKey, Keyed, is_own
from kvtrace.figures.libraries import LibraryTime, lines_by_time
from kvtrace.figures.tables import known_rows, row_dicts, scratch
from kvtrace.figures.times import Times
from kvtrace.figures.window import Window
from kvtrace.schema.trace import Run, Trace

#: SQL of the number of a kernel, by which its variants, rows of `kernels`, are grouped.
KERNEL_NUMBER: Final = """
    dense_rank() OVER (ORDER BY coalesce(module, ''), coalesce(name, ''), coalesce(source, ''))
"""
#: SQL columns of what variants of one number have in common, and where the first is defined.
KERNEL_FACTS: Final = """
    kernel, any_value(name) AS name, any_value(module) AS module, any_value(source) AS source,
    min(file) AS file, min(line) AS line
"""
#: Executions by name. Those of a known call have the name of its kernel, others their own.
_ON_DEVICE: Final = f"""
    WITH variant AS MATERIALIZED (
        SELECT {KERNEL_NUMBER} AS kernel, * FROM kernels
    ), kernel AS (
        SELECT {KERNEL_FACTS} FROM variant GROUP BY kernel
    ), call AS (
        SELECT c.run, c.call_id, v.kernel
        FROM calls c JOIN variant v ON c.run = v.run AND c.kernel_id = v.kernel_id
    ), summed AS (
        SELECT c.kernel, e.name, e.kind,
            sum(e.device_executions)::BIGINT AS executions, sum(e.device_ns) AS ns,
            sum(e.bytes) AS bytes
        FROM executed e LEFT JOIN call c ON e.run = c.run AND e.call_id = c.call_id
        WHERE e.device_executions > 0 GROUP BY ALL
    )
    SELECT coalesce(k.name, s.name, '') AS name, m.kind, s.executions, s.ns, s.bytes,
        m.device_median_ns AS median, k.module, k.source, k.file, k.line
    FROM summed s LEFT JOIN kernel k ON s.kernel = k.kernel
    JOIN medians m ON m.module = coalesce(k.module, '') AND m.name = coalesce(k.name, s.name, '')
        AND m.source = coalesce(k.source, '') AND (m.kind = s.kind
            OR s.kind IS NULL AND m.kind NOT IN {NOT_OWN})
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class DeviceRow(Keyed):
    """All executions on devices under one name.

    `kind` is the maker: Triton or another origin, a library's name, copy, fill, other, or custom in
    imported traces
    (`figures/identity.py`). `share` is the share in the device time of all rows. `bytes` are those
    copied or filled. `step_ns` is the mean time in one step of one run, None without steps.
    `module` and `source` are a Triton kernel's (`identity.py`). `file` and `line` are a Triton
    kernel's definition, and for a library's kernel the line with most of its time.
    """

    name: str
    kind: str
    executions: int
    device_ns: int
    median_ns: float
    share: float
    bytes: int | None = None
    step_ns: float | None = None
    module: str | None = None
    file: str | None = None
    line: int | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Steps:
    """Number and total time of the steps of a window, over all runs.

    `name` is the mark that separates steps; None if they were found by what repeats.
    `number` counts the steps of each of the `runs` that have steps. `span_ns` includes the
    devices' idle time, and is the mean of a run's devices.
    """

    name: str | None
    number: int
    span_ns: int
    runs: int = 1


@dataclass(frozen=True, slots=True)
class DeviceTime:
    """Measured device time by name, and the devices' idle time.

    `tuning_ns` is the time of autotuners and warm-ups, which no row includes. The rows and
    `tuning_ns` add up to `busy.busy_ns` + `busy.overlapped_ns`, over runs.
    """

    rows: tuple[DeviceRow, ...]
    executions: int
    device_ns: int
    tuning_executions: int
    tuning_ns: int
    devices: int
    busy: Busy
    steps: Steps | None = None

    @property
    def kernel_rows(self) -> dict[KernelKey, DeviceRow]:
        """The rows of kernels with rows of `kernels`, by key; libraries' keys say nothing."""
        return {row.key: row for row in self.rows if is_own(row.kind)}

    @property
    def step_ns(self) -> float | None:
        """Device time of one step, or None without steps."""
        return None if self.steps is None else self.device_ns / self.steps.number


def read_device_time(
    trace: Trace,
    runs: Sequence[Run],
    window: Window | None,
    times: Times,
    busy_times: Sequence[Busy],
    libraries: Sequence[LibraryTime],
) -> DeviceTime:
    """Return the device time of some runs by name, most time first.

    Args:
        trace: The trace, limited to `window` if one is passed.
        runs: The runs.
        window: The part of the runs that `trace` covers; its steps give times per step.
        times: `device_times(trace, runs)`.
        busy_times: The busy and idle time of each run that has some.
        libraries: `library_times(trace, runs)`.

    Errors as `Trace.table`.
    """
    with scratch() as connection:
        columns = ("kernel_id", "name", "module", "source", "file", "line")
        connection.register("kernels", known_rows(trace, runs, "kernels", columns))
        calls = known_rows(trace, runs, "calls", ("call_id", "kernel_id"))
        connection.register("calls", calls)
        connection.register("executed", times.calls)
        connection.register("medians", times.kernels)
        rows_by_name = row_dicts(connection, _ON_DEVICE)
    total_ns = sum(int(row["ns"]) for row in rows_by_name)
    busy = sum(busy_times, Busy())
    step_count = window.steps or 0 if window is not None else 0
    steps = None
    if window is not None and step_count:
        spans_ns = sum(of_run.length_ns for of_run in busy_times)
        steps = Steps(window.name, step_count, spans_ns, window.runs)
    lines = lines_by_time(libraries)
    rows = [_row(row, total_ns, step_count, lines) for row in rows_by_name]
    rows.sort(key=lambda row: (-row.device_ns, row.name))
    return DeviceTime(
        rows=tuple(rows),
        executions=sum(row.executions for row in rows),
        device_ns=total_ns,
        tuning_executions=int(integers(times.calls["tuning_executions"], 0).sum()),
        tuning_ns=int(integers(times.calls["tuning_ns"], 0).sum()),
        devices=busy.devices,
        busy=busy,
        steps=steps,
    )


def _row(
    row: Mapping[str, Any],
    total_ns: int,
    steps: int,
    lines: Mapping[tuple[str, str], tuple[str, int | None]],
) -> DeviceRow:
    device_ns = int(row["ns"])
    location = lines.get((row["name"], row["kind"]), (None, None))
    return DeviceRow(
        name=row["name"],
        kind=row["kind"],
        executions=int(row["executions"]),
        device_ns=device_ns,
        median_ns=row["median"],
        share=device_ns / total_ns if total_ns else 0.0,
        bytes=None if row["bytes"] is None else int(row["bytes"]),
        step_ns=device_ns / steps if steps else None,
        module=row["module"],
        file=row["file"] or location[0],
        line=row["line"] or location[1],
        source=row["source"],
    )
