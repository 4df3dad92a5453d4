"""Kernels and copies between the last equal result of two traces and the first one that differs.

Something that changed the inputs of the latter has no digest: a launch that was not compared, a
kernel of a library, a copy, or the host. Named is what the host launched, or asked the device for,
between the two launches, and what only one of the traces has there.
"""

from collections import Counter
from collections.abc import Container, Sequence
from typing import Final

from msgspec import Struct

from kvtrace.figures.names import readable
from kvtrace.figures.tables import scratch
from kvtrace.schema.trace import Run, Trace

#: Most names in a sentence.
_NAMED: Final = 4
_MEMORY: Final = " of memory"
_COLUMNS: Final = {
    "launches": ["seq", "call_id", "enter", "exit"],
    "calls": ["call_id", "kernel_id", "stack_id"],
    "kernels": ["kernel_id", "name"],
    "stacks": ["stack_id", "frames"],
    "gpu_kernels": ["launch_seq", "name", "kind", "requested"],
}
_LAUNCHED: Final = """
    SELECT kernels.name, seq FROM launches JOIN calls USING (call_id)
        JOIN kernels USING (kernel_id)
    WHERE seq > $first AND seq < $last ORDER BY seq
"""
_ASKED_FOR: Final = """
    SELECT coalesce(kind, name), kind IS NOT NULL, count(*) FROM gpu_kernels
    WHERE launch_seq IS NULL AND requested < (SELECT enter FROM launches WHERE seq = $last)
        AND ($first < 0 OR requested > (SELECT exit FROM launches WHERE seq = $first))
    GROUP BY ALL
"""
_LINES: Final = """
    SELECT list_transform(frames, lambda frame: (frame.file, frame.line)) FROM launches
        JOIN calls USING (call_id) JOIN stacks USING (stack_id)
    WHERE seq IN ($first, $last) AND len(frames) > 0 ORDER BY seq
"""


class Between(Struct, frozen=True):
    """Kernels and copies between two launches of a run that were compared, one after the other.

    Attributes:
        lines: the program's lines that launched the two, as "model.py:88 to 91"; "" if ran.
        launched: kernels that were launched and not compared.
        others: what else the host asked the device for: names of kernels, and copies and fills of
            memory; None if the trace has no timeline.
    """

    lines: str
    launched: Counter[str]
    others: Counter[str] | None


def between(
    trace: Trace, run: Run, first: int | None, last: int, compared: Container[int] = ()
) -> Between:
    """Return what ran from launch `first` (None: the begin of the run) to launch `last`.

    `compared` launches between the two are left out.
    """
    values = {"first": -1 if first is None else first, "last": last}
    with scratch() as database:
        for name, columns in _COLUMNS.items():
            database.register(name, trace.table(name, (run,), columns))
        launched = database.execute(_LAUNCHED, values).fetchall()
        asked_for = database.execute(_ASKED_FOR, values).fetchall()
        places = database.execute(_LINES, values).fetchall()
        has_timeline = database.sql("SELECT count(*) FROM gpu_kernels").fetchall()[0][0] > 0
    others = Counter[str]()
    for name, is_transfer, count in asked_for:
        others[f"a {name}{_MEMORY}" if is_transfer else readable(name)] += count
    uncompared = Counter(name for name, seq in launched if seq not in compared)
    return Between(_lines_text(places), uncompared, others if has_timeline else None)


def between_text(
    before: Between,
    after: Between,
    since: str,
    writers: Sequence[str] = (),
    names: tuple[str, str] = ("before", "now"),
) -> str:
    """Return a sentence on what ran `since` a launch, on the side AFTER, and what BEFORE ran.

    `writers` are sentences on the operators that wrote what differs, `names` those of the sides.
    """
    since = f"since {since}, {after.lines}," if after.lines else f"since {since}"
    ran = [f"{_listed(after.launched)} without a digest"] if after.launched else []
    if after.others is None or before.others is None:
        if not ran and writers:
            return "; ".join(writers)
        if not ran:
            return (
                f"{since} no launch without a digest ran: the host, a copy or a kernel of a "
                "library changed bytes, or other tensors are handed over (KVTRACE_MODE=timeline "
                "records copies and kernels, KVTRACE_MEMORY=on operators)"
            )
        return "; ".join((*writers, f"{since} ran {ran[0]}"))
    ran += [_listed(after.others)] if after.others else []
    text = f"{since} ran {' and '.join(ran) or 'nothing on the device'}"
    new = after.launched + after.others - before.launched - before.others
    gone = before.launched + before.others - after.launched - after.others
    has_kernels = all(any(not name.endswith(_MEMORY) for name in side) for side in (new, gone))
    if has_kernels and after.launched == before.launched:
        text += f"; a library ran another kernel: {_listed(new)}, {names[0]} {_listed(gone)}"
        return "; ".join((*writers, text))
    text += f"; only {names[1]} {_listed(new)}" if new else ""
    text += f"; only {names[0]} {_listed(gone)}" if gone else ""
    return "; ".join((*writers, text))


def _listed(counts: Counter[str]) -> str:
    names = [f"{name} × {count}" if count > 1 else name for name, count in counts.most_common()]
    rest = len(names) - _NAMED
    return ", ".join([*names[:_NAMED], *([f"{rest} others"] if rest > 0 else [])])


def _lines_text(stacks: list[tuple[list[tuple[str, int]]]]) -> str:
    """Return the lines at which the stacks of the launches part, innermost frames first."""
    if not stacks:
        return ""
    first, last = stacks[0][0], stacks[-1][0]
    for (path, line), (file, number) in zip(reversed(first), reversed(last), strict=False):
        if path == file and line != number:
            return f"{file}:{min(line, number)} to {max(line, number)}"
        if path != file:
            break
    return f"{last[0][0]}:{last[0][1]}"
