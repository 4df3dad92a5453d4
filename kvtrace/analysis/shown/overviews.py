"""HTML of an overview of a trace: its runs and kernels."""

from datetime import UTC, datetime
from typing import Final

from kvtrace.analysis.shown import markup
from kvtrace.analysis.shown.markup import Column
from kvtrace.converters.info.info import KernelOverview, Overview, RunOverview
from kvtrace.converters.info.info_text import overview_text
from kvtrace.text import count, distinct, duration, plural, shorten

_SHOWN: Final = 15
_WIDTH: Final = 60
_COMMAND: Final = 34
_SECOND_NS: Final = 1_000_000_000


def overview_html(overview: Overview) -> str:
    """Return HTML with tables of runs and kernels, warnings, and the command's whole text."""
    others = f"; {plural(overview.other_runs, 'more run')} there" if overview.other_runs else ""
    runs = f"trace <small>{markup.words(overview.path)}{others}</small>"
    more_kernels = len(overview.kernels) - _SHOWN
    limit_note = f", the first {_SHOWN} by time" if more_kernels > 0 else ""
    kernels = f"{plural(len(overview.kernels), 'kernel')}{limit_note}"
    parts = [
        markup.table(_runs(overview), overview.runs[:_SHOWN], runs),
        markup.table(_kernels(overview), overview.kernels[:_SHOWN], kernels),
        *(
            markup.paragraph(message.text, message.level)
            for message in overview.messages
            if message.level != "info"
        ),
        *(markup.paragraph(note, "note") for note in overview.notes),
    ]
    command_output = markup.code(overview_text(overview, full=True, width=120))
    return markup.shown(*parts, markup.folded("as kvtrace info --all prints it", command_output))


def _runs(overview: Overview) -> list[Column[RunOverview]]:
    ranks: list[Column[RunOverview]] = [Column("rank", lambda run: run.rank, kind="number")]
    commits: list[Column[RunOverview]] = [
        Column("commit", lambda run: run.git_commit and run.git_commit[:12], kind="code")
    ]
    return [
        Column("run", lambda run: run.run_id, kind="code"),
        Column("command", lambda run: _command(run.command), kind="code"),
        Column("started", lambda run: _moment(run.started), "UTC"),
        *(ranks if any(run.rank is not None for run in overview.runs) else ()),
        *(commits if any(run.git_commit for run in overview.runs) else ()),
        Column("kernels", lambda run: count(run.kernels), "variants", kind="number"),
        Column("calls", lambda run: count(run.calls), "distinct", kind="number"),
        Column("launches", lambda run: count(run.launches), kind="number"),
        Column("passes", lambda run: ", ".join(run.passes) or "none"),
    ]


def _kernels(overview: Overview) -> list[Column[KernelOverview]]:
    timed = any(kernel.device_ns is not None for kernel in overview.kernels)
    device: list[Column[KernelOverview]] = [
        Column("device", lambda k: duration(k.device_ns), "", "measured", "", "number")
    ]
    names = distinct((kernel.name for kernel in overview.kernels), _WIDTH)
    return [
        Column("kernel", lambda k: names[k.name], kind="code"),
        Column("defined at", lambda k: k.file and f"{k.file}:{k.line}", kind="code"),
        Column("variants", lambda k: count(k.variants), kind="number"),
        Column("calls", lambda k: count(k.calls), "distinct", kind="number"),
        Column("launches", lambda k: count(k.launches), kind="number"),
        *(device if timed else ()),
        Column(
            "host", lambda k: duration(k.host_ns), "", "measured",
            "time in launching functions, without compiling", "number",
        ),
        Column("compiling", lambda k: duration(k.compiling_ns), "", "measured", "", "number"),
    ]  # fmt: skip


def _command(command: str | None) -> str | None:
    """Return a command line without the folder of its program."""
    if command is None:
        return None
    program, space, rest = command.partition(" ")
    return shorten(program.rpartition("/")[2] + space + rest, _COMMAND)


def _moment(nanoseconds: int | None) -> str | None:
    if nanoseconds is None:
        return None
    return f"{datetime.fromtimestamp(nanoseconds / _SECOND_NS, UTC):%Y-%m-%d %H:%M:%S}"
