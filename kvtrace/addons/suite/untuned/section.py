"""Calls whose configuration was not tuned for their sizes: a section of the profile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kvtrace.addons.suite.untuned.reasons import Reasons, State
from kvtrace.converters.profile.profile_sections import ProfileSection
from kvtrace.figures.sums_reading import has_executions
from kvtrace.figures.times import device_times, host_times
from kvtrace.schema.window import whole_trace
from kvtrace.text import columns, count, duration, percent, plural, printable, wrapped

if TYPE_CHECKING:
    from kvtrace.addons.suite.untuned.reasons import Reason
    from kvtrace.figures.identity import KernelKey
    from kvtrace.schema.trace import Run, Trace

#: Rows with smaller shares are summed in the text.
_LEAST_SHARE: Final = 0.001


@dataclass(frozen=True, slots=True)
class Untuned:
    """Calls of one kernel in one run that are not tuned for their sizes for one reason.

    Attributes:
        run: id of the run.
        kernel: the kernel's name.
        module: its module; None: generated.
        state: whether the trace proves that they are not tuned, or does not tell.
        why: what proves it, or why it is not known; for the call with the largest weight.
        configuration: constants and options of that call that configurations differ in, as
            "BLOCK=128 num_warps=4".
        slowdown: measured at the sizes that were tried: the median of this configuration over that
            of the fastest, minus 1; None: not measured.
        call: `calls.call_id` of the call with the largest weight.
        calls: how many there are.
        launches: of these calls.
        device_ns: their time on the device, ns; None: not recorded.
        share: of the time on the device of all that ran there, or else of all launches, 0 to 1.
    """

    run: str
    kernel: str
    module: str | None
    state: State
    why: str
    configuration: str
    slowdown: float | None
    call: int
    calls: int
    launches: int
    device_ns: int | None
    share: float


def read_untuned(trace: Trace, runs: Sequence[Run]) -> tuple[Untuned, ...]:
    """Return calls that are not tuned, then those not known to be, by time or launches.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.
    """
    launches = _launches(trace, runs)
    reasons = Reasons(whole_trace(trace), runs)
    rows: dict[tuple[str, KernelKey, str], list[tuple[Reason, list[int]]]] = {}
    for run in runs:
        for call, reason, call_ids in reasons.of(run, launches[run.run_id]):
            row = rows.setdefault((run.run_id, call.key, reason.kind), [])
            row.append((reason, call_ids))
    if not rows:
        return ()
    times, all_ns = _device_ns(trace, runs)
    all_launches = sum(sum(counts.values()) for counts in launches.values())
    untuned = []
    for (run_id, key, _), row in rows.items():
        counts = launches[run_id]
        weights = times[run_id] if all_ns else counts
        calls = sorted(call for _, of_reason in row for call in of_reason)
        largest = max(calls, key=weights.__getitem__)
        reason = next(reason for reason, of_reason in row if largest in of_reason)
        weight = sum(map(weights.__getitem__, calls))
        untuned.append(
            Untuned(
                run=run_id,
                kernel=key.name,
                module=key.module or None,
                state=reason.state,
                why=reason.why,
                configuration=reason.configuration,
                slowdown=reason.slowdown,
                call=largest,
                calls=len(calls),
                launches=sum(map(counts.__getitem__, calls)) if all_ns else weight,
                device_ns=weight if all_ns else None,
                share=weight / (all_ns or all_launches),
            )
        )
    return tuple(
        sorted(untuned, key=lambda row: (row.state == "not known", -row.share, row.kernel))
    )


#: Numbers of calls by run id and call id; 0 for others.
_ByCall = dict[str, defaultdict[int, int]]


def _launches(trace: Trace, runs: Sequence[Run]) -> _ByCall:
    """Return the launches of each call, without trials and warm-ups."""
    counts: _ByCall = {run.run_id: defaultdict(int) for run in runs}
    by_phase = host_times(trace, runs, with_medians=False).by_phase
    assert by_phase is not None  # of launches they are always there
    columns_read = (by_phase[name].to_pylist() for name in ("run", "call_id", "phase", "launches"))
    for run, call, phase, launches in zip(*columns_read, strict=True):
        if phase in ("run", "graph_capture") and launches:
            counts[run][call] += launches
    return counts


def _device_ns(trace: Trace, runs: Sequence[Run]) -> tuple[_ByCall, int]:
    """Return the time of each call on the device, and that of all executions, ns; 0: none."""
    times: _ByCall = {run.run_id: defaultdict(int) for run in runs}
    timed = [run for run in runs if has_executions(trace, run)]
    if not timed:
        return times, 0
    rows = device_times(trace, timed, with_medians=False).calls
    columns_read = (rows[name].to_pylist() for name in ("run", "call_id", "device_ns"))
    total = 0
    for run, call, ns in zip(*columns_read, strict=True):
        total += ns or 0
        if call is not None:
            times[run][call] = ns or 0
    return times, total


def untuned_text(rows: Sequence[Untuned], width: int) -> list[str]:
    """Return a terminal table of calls that are not tuned, and a sentence on each."""
    shown = [row for row in rows if row.share >= _LEAST_SHARE] or list(rows)
    header = ("configuration not tuned for its sizes", "calls", "launches", "device", "share")
    lines = columns(
        header,
        [
            (
                row.kernel,
                count(row.calls),
                count(row.launches),
                "-" if row.device_ns is None else duration(row.device_ns),
                percent(row.share),
            )
            for row in shown
        ],
        width,
        optional=(1, 2),
    )
    if len(shown) < len(rows):
        lines.append(f"… {plural(len(rows) - len(shown), 'more row')} of less than 0.1 % each")
    kernels: dict[str, list[str]] = defaultdict(list)
    for row in shown:
        chosen = f" ({row.configuration})" if row.configuration else ""
        state = "" if row.state == "not tuned" else "not known: "
        kernels[f"{state}{row.why}{_slowdown_text(row.slowdown)}"].append(f"{row.kernel}{chosen}")
    for why, names in kernels.items():
        lines += wrapped(printable(f"{why}: {', '.join(names)}"), width, 2)
    return lines


def _slowdown_text(slowdown: float | None) -> str:
    if slowdown is None:
        return ""
    if slowdown <= 0:
        return "; there it was the fastest"
    return f"; there it took {percent(slowdown)} longer than the fastest (measured)"


SECTION: Final = ProfileSection(read_untuned, untuned_text)
