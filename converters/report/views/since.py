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

_MOST_ROWS: Final = 12
#: Most launches of both runs together, since a comparison reads all of them.
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
    """The block "since"; `why` is the reason why nothing was compared, or "".

    `more` counts further rows, which `command` shows.
    """

    why: str
    before: str | None
    summary: str
    rows: tuple[SinceRow, ...]
    more: int
    command: str


def _blocks(context: Context) -> Iterable[Block]:
    earlier = _previous_runs(context.trace, context.runs) if context.runs else ()
    if earlier:
        yield Block("since", partial(_since_block, context, earlier))


def _since_block(context: Context, earlier: "tuple[Run, ...]") -> str:
    try:
        return json_block(_since(context, earlier))
    except KvtraceError as error:  # damage in the earlier run does not prevent this page
        return json_block(_not_compared(f"an earlier run cannot be read: {error}"))


def _since(context: Context, earlier: "tuple[Run, ...]") -> Since:
    launches = len(context.trace.table("launches", earlier, ["call_id"]))
    if launches + context.report.totals.launches > _MOST_LAUNCHES:
        return _not_compared(
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

    shown_changes = difference.headline[:_MOST_ROWS]
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
        for row in shown_changes
    )
    return _not_compared("", context, earlier) | {
        "summary": summary(difference),
        "rows": rows,
        "more": len(difference.headline) - len(shown_changes),
    }


def _not_compared(
    why: str, context: Context | None = None, earlier: "tuple[Run, ...]" = ()
) -> Since:
    command = ""
    if context is not None and earlier:
        folder = context.trace.path
        sides = (f"{folder}/{runs[0].run_id}" for runs in (earlier, context.runs))
        command = f"kvtrace diff {' '.join(map(shlex.quote, sides))}"
    before = earlier[0].run_id if earlier else None
    return Since(why=why, before=before, summary="", rows=(), more=0, command=command)


def _previous_runs(trace: "Trace", runs: "tuple[Run, ...]") -> "tuple[Run, ...]":
    """Return the runs of the newest earlier job whose first process has the same command.

    () if there is no such job, or the command is not recorded.
    """
    first_run = runs[0]
    jobs: dict[str, list[Run]] = {}
    for run in trace.runs:
        jobs.setdefault(run.group_id or run.run_id, []).append(run)
    own_group = first_run.group_id or first_run.run_id
    for group, members in reversed(jobs.items()):
        has_same_command = members[0].command == first_run.command and first_run.command is not None
        if group != own_group and has_same_command and members[0].run_id < first_run.run_id:
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
