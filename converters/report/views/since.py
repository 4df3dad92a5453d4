"""Block `since`: changes since the previous run of the same program, as in `kvtrace diff`.

The previous run is the newest older job in the directory with the same command. Recorded code is
compared; unlike in `kvtrace diff`, nothing is disassembled.
"""

import shlex
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final, TypedDict

from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.sources import Block, BlockSource, Context
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.converters.diff import Difference
    from kvtrace.schema.trace import Run, Trace

__all__ = ["SOURCE", "Since"]

_MOST_ROWS: Final = 12
#: Comparing reads every launch of both sides.
_MOST_LAUNCHES: Final = 1_000_000


class SinceRow(TypedDict):
    """A line of the headline of `kvtrace diff`."""

    kernel: str
    what: str
    values: str
    by: str
    direction: str
    sure: str


class Since(TypedDict):
    """The block "since"; `why` says why nothing was compared, or is ""."""

    why: str
    before: str | None
    summary: str
    rows: tuple[SinceRow, ...]
    more: int
    command: str


def _blocks(context: Context) -> Iterable[Block]:
    if context.runs:
        yield Block("since", partial(_packed, context))


def _packed(context: Context) -> str:
    try:
        return json_block(_since(context))
    except KvtraceError as error:  # in the earlier run; this page is written anyway
        return json_block(_nothing(f"an earlier run cannot be read: {error}"))


def _since(context: Context) -> Since:
    earlier = _run_before(context.trace, context.runs)
    if not earlier:
        return _nothing("this directory has no earlier run of the same command")
    launches = len(context.trace.table("launches", earlier, ["call_id"]))
    if launches + context.report.totals.launches > _MOST_LAUNCHES:
        return _nothing(
            f"both runs together have more than {_MOST_LAUNCHES:,} launches", context, earlier
        )
    from kvtrace.converters.diff import compare
    from kvtrace.schema.trace import Selection

    difference = compare(
        Selection(context.trace, earlier),
        Selection(context.trace, context.runs),
        labels=(earlier[0].run_id, context.runs[0].run_id),
        disassemble=False,
    )
    return _compared(difference, context, earlier)


def _compared(difference: "Difference", context: Context, earlier: "tuple[Run, ...]") -> Since:
    from kvtrace.converters.diff.words import share_text, summary, sure_text, values_text

    shown = difference.headline[:_MOST_ROWS]
    rows = tuple(
        SinceRow(
            kernel=row.kernel,
            # causes may name ops of the code
            what=row.what
            if context.source or row.level not in ("source", "options", "ttir", "glir")
            else row.level,
            values=values_text(row),
            by=share_text(row),
            direction=row.direction,
            sure=sure_text(row),
        )
        for row in shown
    )
    return _nothing("", context, earlier) | {
        "summary": summary(difference),
        "rows": rows,
        "more": len(difference.headline) - len(shown),
    }


def _nothing(why: str, context: Context | None = None, earlier: "tuple[Run, ...]" = ()) -> Since:
    command = ""
    if context is not None and earlier:
        folder = context.trace.path
        sides = (f"{folder}/{runs[0].run_id}" for runs in (earlier, context.runs))
        command = f"kvtrace diff {' '.join(map(shlex.quote, sides))}"
    before = earlier[0].run_id if earlier else None
    return Since(why=why, before=before, summary="", rows=(), more=0, command=command)


def _run_before(trace: "Trace", runs: "tuple[Run, ...]") -> "tuple[Run, ...]":
    """Return the newest job before these runs whose first process has the same command."""
    first = runs[0]
    jobs: dict[str, list[Run]] = {}
    for run in trace.runs:
        jobs.setdefault(run.group_id or run.run_id, []).append(run)
    own_group = first.group_id or first.run_id
    for group, members in reversed(jobs.items()):
        same = members[0].command == first.command and first.command is not None
        if group != own_group and same and members[0].run_id < first.run_id:
            return tuple(members)
    return ()


SOURCE: Final = BlockSource(
    name="since",
    order=4,
    share=0.05,
    noun="comparison with the run before",
    query="FROM runs",
    blocks=_blocks,
)
