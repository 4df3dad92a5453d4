"""Kernels whose launches take the host much longer than those of most kernels.

The time of a launch is that inside the launching function, from entering it to its return; what the
program does between launches is no part of it. The usual time is the median of the kernels'
medians, so that one kernel with many launches does not set it.

Example: 30 kernels have medians of about 20 µs, and one, launched 12 times a step, has 69 µs: its
launches take 12 * 49 µs = 588 µs a step more than usual.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median, mode
from typing import Any, Final

import pyarrow.compute as pc

from kvtrace.figures.identity import Keyed
from kvtrace.figures.kernels import HOST_MEDIAN
from kvtrace.figures.lines import Place, places_by_stack
from kvtrace.figures.tables import known_rows, row_dicts, scratch
from kvtrace.figures.times import Times
from kvtrace.figures.window import Window
from kvtrace.schema.trace import Run, Trace
from kvtrace.text import count, duration, printable

#: A launch that takes so many times as long as usual stands out.
_STANDS_OUT: Final = 2.0
#: What all launches of a kernel take more than usual counts from this share of the window on.
_LEAST_SHARE: Final = 0.01
_LEAST_LAUNCHES: Final = 10
_LEAST_KERNELS: Final = 4
_MOST_KERNELS: Final = 3
#: What launches a kernel, by its origin.
_LAUNCHERS: Final = {
    "jit": "kernel[grid]",
    "gluon": "kernel[grid]",
    "autotune": "kernel[grid] through an autotuner",
    "inductor": "Inductor's generated code",
}
#: DuckDB would otherwise join `times` with `kernels` by run alone: for 64 runs with 1,000 kernels
#: and 2,000 calls each, 128 million rows.
_KERNELS: Final = f"""
    WITH launched AS MATERIALIZED (
        SELECT c.run, c.kernel_id, c.stack_id, t.timed_launches
        FROM times t JOIN calls c ON c.run = t.run AND c.call_id = t.call_id
    )
    SELECT m.module, m.name, m.source, any_value(k.origin) AS origin,
        min({{'run': k.run, 'kernel_id': k.kernel_id}}) AS variant,
        sum(l.timed_launches)::BIGINT AS launches,
        arg_max(l.stack_id, l.timed_launches) AS stack_id,
        any_value(m.{HOST_MEDIAN.name}) AS median_ns
    FROM launched l JOIN kernels k ON k.run = l.run AND k.kernel_id = l.kernel_id
    JOIN medians m ON m.module = coalesce(k.module, '') AND m.name = coalesce(k.name, '')
        AND m.source = coalesce(k.source, '')
    WHERE m.{HOST_MEDIAN.name} IS NOT NULL
    GROUP BY m.module, m.name, m.source ORDER BY m.name, m.module, m.source
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class LaunchCost(Keyed):
    """The launches of a kernel that take longer than usual, in a window; times in ns.

    `median_ns` is of the kernel's launches, `usual_ns` of all `kernels`. `launches` and `more_ns`,
    what they take more than usual, are of one step if `per_step`, else of the window. `facts` say
    what is recorded of how it is launched and sets it apart from most kernels.
    """

    name: str
    module: str | None
    source: str | None
    median_ns: float
    usual_ns: float
    kernels: int
    launches: float
    more_ns: float
    per_step: bool
    facts: tuple[str, ...]
    place: Place | None

    @property
    def times_usual(self) -> float:
        """Time of a launch over the usual time."""
        return self.median_ns / self.usual_ns

    @property
    def sentence(self) -> str:
        """The kernel, its time and its price, and what sets it apart."""
        at_line = f" at {self.place.short}" if self.place else ""
        launches = f"{self.launches:.3g}" if self.launches < 100 else count(round(self.launches))
        of_what = "a step" if self.per_step else "of the window"
        facts = ", ".join(self.facts) or "why is not recorded"
        return (
            f"a launch of {printable(self.name)}{at_line} takes {duration(self.median_ns)} on "
            f"the host, {self.times_usual:.1f} times the usual "
            f"{duration(self.usual_ns)} (medians, of {self.kernels} kernels): {launches} launches "
            f"{of_what} take {duration(self.more_ns)} more than usual; {facts}"
        )


def read_launch_costs(
    trace: Trace, runs: Sequence[Run], times: Times, window: Window | None
) -> tuple[LaunchCost, ...]:
    """Return the kernels whose launches stand out, at most three, the most costly first.

    `times` are `host_times` of the window. () if nothing was timed, or launches ran kernels on the
    host. Errors as `Trace.table`.
    """
    if window is None or not any(run.devices for run in runs):
        return ()
    medians = times.kernels[HOST_MEDIAN.name].drop_null().to_pylist()
    if len(medians) < _LEAST_KERNELS or max(medians) < _STANDS_OUT * median(medians):
        return ()  # without reading calls
    rows = _kernel_rows(trace, runs, times)
    if len(rows) < _LEAST_KERNELS:
        return ()
    usual_ns = median(row["median_ns"] for row in rows)
    if usual_ns <= 0:  # clocks were set back
        return ()
    least_ns = _LEAST_SHARE * (window.end - window.begin) * window.runs
    costly_rows = sorted(
        (
            row
            for row in rows
            if row["launches"] >= _LEAST_LAUNCHES
            and row["median_ns"] >= _STANDS_OUT * usual_ns
            and row["launches"] * (row["median_ns"] - usual_ns) >= least_ns
        ),
        key=lambda row: row["launches"] * (usual_ns - row["median_ns"]),
    )[:_MOST_KERNELS]
    if not costly_rows:
        return ()
    _add_arguments(trace, runs, rows)
    places = places_by_stack(trace, runs, {row["stack_id"] for row in costly_rows})
    steps = window.steps or 1
    return tuple(
        LaunchCost(
            name=row["name"],
            module=row["module"] or None,
            source=row["source"] or None,
            median_ns=row["median_ns"],
            usual_ns=usual_ns,
            kernels=len(rows),
            launches=row["launches"] / steps,
            more_ns=row["launches"] * (row["median_ns"] - usual_ns) / steps,
            per_step=window.steps is not None,
            facts=tuple(_facts(row, [other for other in rows if other is not row])),
            place=places.get(row["stack_id"]),
        )
        for row in costly_rows
    )


def _kernel_rows(trace: Trace, runs: Sequence[Run], times: Times) -> list[dict[str, Any]]:
    columns = ("kernel_id", "module", "name", "source", "origin")
    kernels = known_rows(trace, runs, "kernels", columns)
    with scratch() as database:
        database.register("kernels", kernels)
        database.register(
            "calls", known_rows(trace, runs, "calls", ("call_id", "kernel_id", "stack_id"))
        )
        database.register("times", times.calls)
        database.register("medians", times.kernels)
        return row_dicts(database, _KERNELS)


def _add_arguments(trace: Trace, runs: Sequence[Run], rows: Sequence[dict[str, Any]]) -> None:
    """Set `arguments` of each row to the number of the kernel's parameters, or None."""
    variant_runs = {row["variant"]["run"] for row in rows}  # few: kernels are alike on all ranks
    chosen_runs = [run for run in runs if run.run_id in variant_runs]
    kernels = trace.table("kernels", chosen_runs, ["kernel_id", "signature"])
    lengths = pc.list_value_length(kernels["signature"]).to_pylist()
    ids = zip(kernels["run"].to_pylist(), kernels["kernel_id"].to_pylist(), strict=True)
    arguments = dict(zip(ids, lengths, strict=True))
    for row in rows:
        row["arguments"] = arguments.get((row["variant"]["run"], row["variant"]["kernel_id"]))


def _facts(row: dict[str, Any], others: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield what is recorded of a kernel's launches that differs from most of the others."""
    launcher = _LAUNCHERS.get(row["origin"])
    launchers = [_LAUNCHERS.get(other["origin"]) for other in others]
    usual_launcher = mode(launchers)
    has_usual = usual_launcher is not None and 2 * launchers.count(usual_launcher) > len(launchers)
    arguments = row["arguments"] or 0
    if launcher and has_usual and launcher != usual_launcher:
        yield f"it is launched by {launcher} with {count(arguments)} arguments"
        yield f"most kernels by {usual_launcher}"
        return
    usual_arguments = median(other["arguments"] or 0 for other in others)
    if usual_arguments and arguments >= _STANDS_OUT * usual_arguments:
        yield f"it has {count(arguments)} arguments, others {usual_arguments:g} (median)"
