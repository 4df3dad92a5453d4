"""All that devices did, ranked by time: kernels of every library, copies, fills, and idleness."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kvtrace.converters.counted_times import device_times
from kvtrace.converters.database import database
from kvtrace.converters.device_busy import Busy, Steps, busy_of, stepping
from kvtrace.schema.symbols import readable, titled

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Whose a kernel is, by its name as people write it; the first that fits.
_MAKERS: Final = tuple(
    (maker, re.compile(pattern))
    for maker, pattern in (
        ("NCCL", r"nccl"),
        ("cuDNN", r"cudnn"),
        ("cuBLAS", r"cublas|nvjet_|gemmk1_|gemv|.*[a-z]gemm_|gemm_|.*_gemm_"),
        ("CUTLASS", r"cutlass"),
        ("FlashAttention", r"flash::|flash_fwd|flash_bwd"),
        ("torch", r"at::|at_cuda_detail|c10::|\(anonymous\)::"),
    )
)

#: Kernels by module and name, and the calls of each.
_PREPARE: Final = """
    CREATE TABLE variant AS
    SELECT dense_rank() OVER (ORDER BY coalesce(module, ''), coalesce(name, '')) AS kernel,
        run, kernel_id, name, module, file, line
    FROM kernels;

    CREATE TABLE kernel AS
    SELECT kernel, any_value(name) AS name, any_value(module) AS module, any_value(file) AS file,
        min(line) AS line
    FROM variant GROUP BY kernel;

    CREATE TABLE call AS
    SELECT c.run, c.call_id, v.kernel
    FROM calls c JOIN variant v ON c.run = v.run AND c.kernel_id = v.kernel_id;
"""

#: Symbols as they are shown, and whose they are; of kernels that a launch is known for, the kernel.
_ON_DEVICE: Final = """
    WITH named AS (
        SELECT p.kernel, CASE WHEN p.kernel IS NULL THEN s.title END AS name,
            CASE WHEN p.kernel IS NULL THEN s.maker ELSE 'Triton' END AS kind,
            e.ns, e.bytes, e.stepped, e.times
        FROM executed e LEFT JOIN call p ON e.run = p.run AND e.call_id = p.call_id
        JOIN symbol s ON e.name IS NOT DISTINCT FROM s.name AND e.kind IS NOT DISTINCT FROM s.kind
        WHERE NOT e.tuning AND e.ns IS NOT NULL
    ), ranked AS (
        SELECT kernel, name, kind, ns, sum(times) AS times FROM named GROUP BY ALL
    ), counted AS (
        SELECT *, sum(times) OVER (PARTITION BY kernel, name, kind) AS total,
            sum(times) OVER (PARTITION BY kernel, name, kind ORDER BY ns) AS reached
        FROM ranked
    ), middle AS (
        SELECT kernel, name, kind, min(ns) FILTER (2 * reached >= total)::DOUBLE AS low,
            min(ns) FILTER (2 * reached > total)::DOUBLE AS high
        FROM counted GROUP BY ALL
    ), summed AS (
        SELECT kernel, name, kind, sum(times)::BIGINT AS executions, sum(ns::HUGEINT * times) AS ns,
            sum(bytes::HUGEINT * times) AS bytes,
            sum(ns::HUGEINT * times) FILTER (stepped) AS stepped_ns
        FROM named GROUP BY ALL
    )
    SELECT coalesce(k.name, s.name, '') AS name, s.kind, s.executions, s.ns, s.bytes, s.stepped_ns,
        m.low + (m.high - m.low) / 2 AS median, k.module, k.file, k.line
    FROM summed s
    JOIN middle m ON s.kernel IS NOT DISTINCT FROM m.kernel AND s.name IS NOT DISTINCT FROM m.name
        AND s.kind = m.kind
    LEFT JOIN kernel k ON s.kernel = k.kernel
"""

_TUNED: Final = """
    SELECT coalesce(sum(times), 0)::BIGINT, coalesce(sum(ns::HUGEINT * times), 0)
    FROM executed WHERE tuning AND ns IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """What ran on devices under one name.

    `kind` says whose it is: Triton, a library's name, copy, fill or other. `share` is that of all
    rows. `bytes` are those copied or filled. `step_ns` is the mean time in one step of one run,
    where there are steps. `module`, `file` and `line` are a Triton kernel's.
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


@dataclass(frozen=True, slots=True)
class DeviceTime:
    """Rows by time, and when devices were idle; all measured.

    Executions of autotuners and warm-ups are in no row: they are `tuning_ns`. The rows and those
    add up to `busy.busy_ns` + `busy.overlapped_ns`, over runs.
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
    def step_ns(self) -> float | None:
        """Device time of one step; None without steps."""
        return None if self.steps is None else sum(row.step_ns or 0.0 for row in self.rows)


def kind_of(name: str, of_memory: str | None = None) -> str:
    """Return whose a kernel is that no launch is known for; `of_memory`: copy or fill."""
    if of_memory is not None:
        return of_memory
    written = readable(name)
    return next((maker for maker, found in _MAKERS if found.match(written)), "other")


def read_device_time(
    trace: "Trace",
    runs: Sequence["Run"],
    steps: Steps | None = None,
    executed: pa.Table | None = None,
) -> DeviceTime | None:
    """Read all that devices did in some runs; None where no execution was timed.

    `steps` and `executed` are what `stepping` and `device_times` gave of these runs, where a caller
    has them. Errors as `Trace.table`.
    """
    found = [busy for run in runs if (busy := busy_of(trace, run)) is not None]
    if not found:
        return None
    if executed is None:
        steps, windows = stepping(trace, runs)
        executed = device_times(trace, runs, windows)
    with database() as connection:
        columns = ["kernel_id", "name", "module", "file", "line"]
        connection.register("kernels", trace.table("kernels", runs, columns))
        connection.register("calls", trace.table("calls", runs, ["call_id", "kernel_id"]))
        connection.register("executed", executed)
        connection.execute(_PREPARE)
        connection.register("symbol", _symbols(connection))
        sums = connection.sql(_ON_DEVICE).to_arrow_table().to_pylist()
        ((tuned, tuning_ns),) = connection.execute(_TUNED).fetchall()
    total = sum(int(row["ns"]) for row in sums)
    number = steps.total if steps else 0
    rows = [_row(row, total, number) for row in sums]
    rows.sort(key=lambda row: (-row.device_ns, row.name))
    return DeviceTime(
        rows=tuple(rows),
        executions=sum(row.executions for row in rows),
        device_ns=total,
        tuning_executions=int(tuned),
        tuning_ns=int(tuning_ns),
        devices=len(found),
        busy=sum(found, Busy()),
        steps=steps,
    )


def _symbols(connection: Any) -> pa.Table:
    """Return the names of device functions as they are shown, and whose they are."""
    rows = connection.execute("SELECT DISTINCT name, kind FROM executed").fetchall()
    shown = [
        (titled(name or "(unknown)"), kind_of(name or "(unknown)", kind)) for name, kind in rows
    ]
    columns = [*zip(*rows, strict=True), *zip(*shown, strict=True)] or [()] * 4
    texts = [pa.array(column, pa.string()) for column in columns]
    return pa.table(texts, ["name", "kind", "title", "maker"])


def _row(row: Mapping[str, Any], total: int, steps: int) -> DeviceRow:
    taken = int(row["ns"])
    return DeviceRow(
        name=row["name"],
        kind=row["kind"],
        executions=int(row["executions"]),
        device_ns=taken,
        median_ns=row["median"],
        share=taken / total if total else 0.0,
        bytes=None if row["bytes"] is None else int(row["bytes"]),
        step_ns=int(row["stepped_ns"] or 0) / steps if steps else None,
        module=row["module"],
        file=row["file"],
        line=row["line"],
    )
