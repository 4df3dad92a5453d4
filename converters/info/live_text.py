"""Text of a `LivePage` for a terminal."""

import time
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from kvtrace.converters.info.live import EVENT_SECONDS, RATE_SECONDS, Event, LivePage, ProcessLine
from kvtrace.figures.identity import names_apart
from kvtrace.text import columns, count, duration, percent, plural, printable, shorten, wrapped

_MOST_PROCESSES = 16
_MOST_EVENTS = 5
#: Most lines of one event.
_MOST_LINES = 3
_FEWEST_KERNELS = 5
#: Share of the time that each other rank spends in collectives more than the one to name.
_LEAST_WAITING: Final = 0.1
#: A rank has done its part if its device was busy for so much of what the others' were.
_AS_BUSY: Final = 0.9


def page_lines(
    page: LivePage, out: str, now: int, width: int, height: int, ended: int = 0
) -> list[str]:
    """Return the lines of a page of the trace `out`, at most `width` columns, about `height` lines.

    `now` is the time to show, in ns since 1970; `ended` counts the runs of the trace before.
    """
    clock = time.strftime("%H:%M:%S", time.localtime(now / 1e9))
    running = sum(process.state.startswith("recording") for process in page.processes)
    rate = sum(process.launches_per_second for process in page.processes)
    facts = f"{clock}  {plural(running, 'process')} recording, {_rate_text(rate)} launches/s"
    lines = [f"{shorten(printable(out), max(width - len(facts) - 2, 12))}  {facts}", ""]
    lines += _process_lines(page, width)
    if not page.processes and ended:
        text = f"{plural(ended, 'run')} of {printable(out)} ended before and can be shown by"
        lines += wrapped(f"{text} kvtrace info and kvtrace profile", width)
    events = [
        *_event_lines(f"new variants (recompiles: {page.recompiles})", page.variants, width),
        *_event_lines("findings", page.findings, width),
        *_event_lines("warnings", page.warnings, width),
    ]
    room = max(_FEWEST_KERNELS, height - len(lines) - len(events) - 4)
    return [*lines, *_kernel_lines(page, room, width), *events]


def _process_lines(page: LivePage, width: int) -> Iterator[str]:
    if not page.processes:
        yield "no process that is being recorded here has launched a kernel yet"
    else:
        header = ["process", "launches", "a second", "device busy", "variants", "state"]
        rows = [
            [
                process.name,
                count(process.launches),
                _rate_text(process.launches_per_second),
                percent(process.device_share),
                count(process.variants),
                process.state,
            ]
            for process in page.processes[:_MOST_PROCESSES]
        ]
        if any(process.collective_share for process in page.processes):
            header.insert(4, "collectives")
            for row, process in zip(rows, page.processes, strict=False):
                row.insert(4, percent(process.collective_share))
        yield from columns(header, rows, width)
    hidden = len(page.processes) - _MOST_PROCESSES
    if hidden > 0:
        yield f"… {plural(hidden, 'more process')}"
    if page.idle:
        yield f"{plural(page.idle, 'more process')} launched no kernels"
    late = _late_rank(page.processes)
    if late is not None:
        yield from wrapped(late, width)
    if not page.whole:
        yield "rows sealed before kvtrace top started are not counted: kvtrace info counts all"


def _late_rank(processes: Sequence[ProcessLine]) -> str | None:
    """Return a sentence on the rank that a job's others wait for; None unless one stands out.

    The ranks of a collective end it together: what one spends less in it than another, the other
    waited. A rank that was busy for less than the others may only be read later than they are.
    """
    ranks = sorted(
        (process.collective_share, process.rank, process.device_share or 0.0)
        for process in processes
        if process.rank is not None and process.collective_share is not None
    )
    groups = {process.group for process in processes if process.rank is not None}
    if len(ranks) < 2 or len(groups) > 1 or ranks[1][0] - ranks[0][0] < _LEAST_WAITING:
        return None
    (least, rank, busy), *others = ranks
    if busy < _AS_BUSY * median(other for _, _, other in others):
        return None
    usual = median(share for share, _, _ in others)
    return (
        f"rank {rank} is in collectives for {percent(least)} of the time, the others for "
        f"{percent(usual)} (median): where all call the same ones, they wait for it"
    )


def _kernel_lines(page: LivePage, most: int, width: int) -> Iterator[str]:
    if not page.kernels:
        return
    yield ""
    kernels_and_names = zip(page.kernels[:most], names_apart(page.kernels), strict=False)
    period = "since the beginning" if page.seconds is None else f"of the last {page.seconds} s"
    if page.on_device:
        yield f"kernels {period}, by GPU time (measured)"
        header = ["kernel", "library", "launches", "time", "share"]
        rows = [
            [name, k.of, count(k.launches or None), duration(k.device_ns), percent(k.share)]
            for k, name in kernels_and_names
        ]
    else:
        yield f"kernels {period}, by launches"
        header = ["kernel", "library", "launches", "host time", "per launch"]
        rows = [
            [
                name,
                k.of,
                count(k.launches),
                duration(k.host_ns),
                duration(k.host_ns / k.launches) if k.launches else "-",
            ]
            for k, name in kernels_and_names
        ]
    if page.seconds is not None:
        header.append("in all")
        for row, kernel in zip(rows, page.kernels, strict=False):
            row.append(duration(kernel.in_all_ns or None))
    yield from columns(header, rows, width, optional=(1, len(header) - 1))
    if len(page.kernels) > most:
        yield f"… {plural(len(page.kernels) - most, 'more kernel')}"


def _event_lines(what: str, events: Sequence[Event], width: int) -> Iterator[str]:
    if not events:
        return
    yield ""
    yield f"{what} of the last {EVENT_SECONDS} s: {len(events)}"
    for event in events[:_MOST_EVENTS]:
        clock = time.strftime("%H:%M:%S", time.localtime(event.time / 1e9))
        lines = wrapped(f"{clock}  {event.text}", width, 2)
        yield from (shorten(line, width) for line in lines[:_MOST_LINES])


def _rate_text(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= RATE_SECONDS or not rate else f"{rate:.1f}"
