"""Kernels and device times of an overview, for a part of the runs."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Final

import pyarrow as pa

from kvtrace.converters.info.info import KernelOverview, Message, RunOverview
from kvtrace.converters.notes import unevaluated_notes
from kvtrace.figures.device_time import KERNEL_NUMBER, DeviceTime
from kvtrace.figures.identity import KernelKey
from kvtrace.figures.kernels import FURTHER, KERNEL_FIGURES, LAUNCHED, added_up
from kvtrace.figures.launch_costs import LaunchCost
from kvtrace.figures.part_figures import PartFigures, open_figures
from kvtrace.figures.ranks import RanksFigures
from kvtrace.figures.requested_part import RequestedPart
from kvtrace.figures.stored import kept_value
from kvtrace.figures.tables import known_rows, row_dicts, scratch
from kvtrace.figures.window import Window
from kvtrace.schema.trace import Run, Trace

_FIELDS: Final = frozenset(field.name for field in fields(KernelOverview))
#: Numbers that are 0 for a kernel without calls.
_COUNTS: Final = ("calls", *(figure.name for figure in LAUNCHED if figure.unit == "count"))
#: What variants and calls of several runs are equal by, as their ids are not comparable. The device
#: is left out: ranks launch the same call on different ones. Equal ones of one run, such as a
#: variant that was compiled again, are numbered, and count as in a run that is alone.
_VARIANT: Final = (
    "source_artifact", "signature", "target", "num_warps", "num_ctas", "num_stages", "options",
)  # fmt: skip
_CALL: Final = ("grid_x", "grid_y", "grid_z", "args")
_ARGUMENT: Final = (
    "name", "kind", "dtype", "shape", "strides", "offset_bytes", "storage_bytes", "alias_group",
    "alignment", "scalar",
)  # fmt: skip
_ARGUMENTS: Final = f"[({', '.join(f'a.{name}' for name in _ARGUMENT)}) for a in args]"


def _numbered(content: str, run: str, row_id: str) -> str:
    """Return SQL of an id that equal rows of several runs share.

    Of args: hash(args, row_number() OVER (PARTITION BY c.run, args ORDER BY c.call_id)).
    """
    return f"hash({content}, row_number() OVER (PARTITION BY {run}, {content} ORDER BY {row_id}))"


def _kernels_query(variant: str, call: str) -> str:
    """Return the query of the kernels' overviews, given SQL of the ids of variants and calls."""
    return f"""
    WITH named AS (
        SELECT *, {variant} AS variant, {KERNEL_NUMBER} AS kernel FROM kernels
    ), called AS (
        SELECT kernel, count(DISTINCT call) AS calls, {added_up(LAUNCHED)} FROM (
            SELECT n.kernel, {call} AS call, t.*
            FROM calls c JOIN named n ON n.run = c.run AND n.kernel_id = c.kernel_id
            LEFT JOIN times t ON t.run = c.run AND t.call_id = c.call_id
        ) GROUP BY kernel
    ), defined AS (
        SELECT kernel, coalesce(any_value(name), '') AS name, any_value(module) AS module,
            any_value(source) AS source, arg_min_null(file, place) AS file,
            arg_min_null(line, place) AS line, arg_min_null(origin, place) AS origin,
            count(DISTINCT variant) AS variants, min(place) AS place
        FROM named GROUP BY kernel
    )
    SELECT * FROM defined LEFT JOIN called USING (kernel) ORDER BY place
    """  # noqa: S608


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """The fields of `Overview` that depend on the files of the runs alone."""

    runs: tuple[RunOverview, ...]
    messages: tuple[Message, ...]
    kernels: tuple[KernelOverview, ...]
    device_time: DeviceTime | None
    ranks: RanksFigures | None
    launch_costs: tuple[LaunchCost, ...]
    window: Window | None
    notes: tuple[str, ...]


def first_screen(
    trace: Trace,
    runs: Sequence[Run],
    part: RequestedPart,
    read: Callable[[], tuple[tuple[RunOverview, ...], tuple[Message, ...]]],
) -> FirstScreen:
    """Return the first screen of a part of the runs; `read` returns their rows and messages.

    That of long runs is kept (`figures/stored.py`).

    Raises:
        BadSetting: there is no such part.
    """

    def built() -> FirstScreen:
        figures = open_figures(trace, runs, part)
        return FirstScreen(
            *read(),
            kernels=_kernels(trace, runs, figures),
            device_time=figures.device_time,
            ranks=figures.ranks,
            launch_costs=figures.launch_costs,
            window=figures.window,
            notes=unevaluated_notes(trace, runs),
        )

    facts = [asdict(part), sorted(KERNEL_FIGURES)]
    return kept_value(trace, runs, "info", facts, FirstScreen, built)


def _kernels(trace: Trace, runs: Sequence[Run], figures: PartFigures) -> tuple[KernelOverview, ...]:
    are_several = len(runs) > 1
    variant, call = "kernel_id", "c.call_id"
    if are_several:
        content = f"hash(n.variant, {', '.join(_CALL).replace('args', _ARGUMENTS)})"
        variant = _numbered(f"hash({', '.join(_VARIANT)})", "run", variant)
        call = _numbered(content, "c.run", call)
    columns = ("kernel_id", "name", "module", "source", "file", "line", "origin")
    kernels = known_rows(trace, runs, "kernels", (*columns, *(_VARIANT if are_several else ())))
    columns = ("call_id", "kernel_id", *(_CALL if are_several else ()))
    kernels = kernels.append_column("place", pa.array(range(kernels.num_rows), pa.int64()))
    with scratch() as database:
        database.register("kernels", kernels)
        database.register("calls", known_rows(trace, runs, "calls", columns))
        database.register("times", figures.launched.calls)
        rows = row_dicts(database, _kernels_query(variant, call))
    time = figures.device_time
    on_device = {} if time is None else time.kernel_rows
    overviews = []
    for row in rows:
        row |= {name: row[name] or 0 for name in _COUNTS}
        executed = on_device.get(KernelKey.of(row["module"], row["name"], row["source"]))
        overviews.append(
            KernelOverview(
                device_ns=None if executed is None else executed.device_ns,
                further={figure.name: figure.shown(row) for figure in FURTHER},
                **{name: value for name, value in row.items() if name in _FIELDS},
            )
        )
    overviews.sort(key=lambda k: (-(k.device_ns or 0), -(k.host_ns or 0), -k.launches, k.name))
    return tuple(overviews)
