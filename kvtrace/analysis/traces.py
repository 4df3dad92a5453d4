"""The Python API over recorded traces: `kvtrace.open` and `kvtrace.diff`.

Each method implements the command of its name, by the same functions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace as replaced
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvtrace import registry
from kvtrace.analysis.judging import environment_rules, judge_runs
from kvtrace.analysis.results import CommandResult, Rows
from kvtrace.analysis.shown import ShownPage, finding_text, row_text
from kvtrace.analysis.sides import resolve_side
from kvtrace.clients.recorded import DEFAULT, Outcome, replay_runs
from kvtrace.converters.findings import (
    Finding,
    Findings,
    findings_object,
    findings_text,
    without_proven,
)
from kvtrace.converters.info.info import Overview, RunOverview, overview_object, read_overview
from kvtrace.converters.info.info_text import overview_text
from kvtrace.converters.profile.one_table import TableRow, table_rows
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.profile.profile_model import Profile, profile_object
from kvtrace.converters.profile.profile_text import profile_text
from kvtrace.converters.query.query import connect, query_arrow
from kvtrace.schema.layout import results_beside
from kvtrace.schema.trace import Run, Selection, select_runs
from kvtrace.text import plural, printable

if TYPE_CHECKING:  # imported by the methods that need them
    from kvtrace.converters.diff import Difference
    from kvtrace.converters.diff.model import HeadlineRow
    from kvtrace.converters.registry import Conversion
    from kvtrace.schema.row_types import (
        CallsRow,
        FindingsRow,
        GpuKernelsRow,
        KernelsRow,
        LaunchesRow,
        RunsRow,
    )

__all__ = ["OpenedTrace", "diff", "open"]


class OpenedTrace:
    """Runs of a recorded trace, as `kvtrace.open` returns them.

    Tables and figures are read at each request, so that they include results of `sanitize` and
    `replay`.
    """

    def __init__(self, selection: Selection) -> None:
        self.selection = selection

    @property
    def path(self) -> Path:
        """The trace's directory."""
        return self.selection.trace.path

    @property
    def run_ids(self) -> tuple[str, ...]:
        """Ids of the selected runs, oldest first."""
        return tuple(run.run_id for run in self._runs)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of reading the trace so far, such as on a torn journal."""
        return tuple(self.selection.trace.notes)

    @property
    def runs(self) -> Rows[RunsRow]:
        """A row for each recorded process."""
        return self.table("runs")

    @property
    def kernels(self) -> Rows[KernelsRow]:
        """A row for each compiled variant of a kernel."""
        return self.table("kernels")

    @property
    def calls(self) -> Rows[CallsRow]:
        """A row for each unique call: kernel variant, grid and recorded facts of the arguments."""
        return self.table("calls")

    @property
    def launches(self) -> Rows[LaunchesRow]:
        """A row for each launch."""
        return self.table("launches")

    @property
    def executions(self) -> Rows[GpuKernelsRow]:
        """A row for each execution on the device, of a kernel, a copy or a fill (`gpu_kernels`)."""
        return self.table("gpu_kernels")

    @property
    def findings(self) -> Rows[FindingsRow]:
        """A row for each verdict on an access; empty before `sanitize` has judged the runs."""
        return self.table("findings")

    def table(self, name: str, columns: Sequence[str] | None = None) -> Rows[Any]:
        """Return a table of docs/format.md, or a table that a client has written.

        Raises:
            SchemaMismatch: The table or column does not exist.
            DamagedFile, NewerFormat: a file cannot be read.

        """
        return Rows(name, self.selection.table(name, columns))

    def sql(
        self, statement: str, most: int | None = None, *, memory: str | None = None
    ) -> Rows[Any]:
        """Return the rows of one reading statement in DuckDB's SQL, as `kvtrace sql`.

        Args:
            statement: The statement.
            most: The most rows to return; None for all.
            memory: The most memory for DuckDB, as "2GB"; None for most of the machine's.

        Raises:
            BadQuery: The statement is not correct, or does not only read.

        """
        with connect(self.selection.trace, self._runs, statement, memory=memory) as database:
            return Rows("sql", query_arrow(database, statement, most))

    def info(self) -> CommandResult[Overview, RunOverview]:
        """Return an overview of the runs; its rows are the runs."""
        overview = read_overview(self.selection.trace, self._runs)
        text = overview_text(overview)
        return CommandResult(
            "info", overview, overview_object, RunOverview, overview.runs, text, notes=self.notes
        )

    def profile(
        self, *, calls: bool = False, lines: bool = False, device: str | None = None
    ) -> CommandResult[Profile, TableRow]:
        """Return times, bytes and FLOPs; the result's rows are those of the printed table.

        With a device timeline these are also kernels of libraries, copies and fills. A row's
        `kernel` has all figures of a kernel that Triton compiled.

        Args:
            calls: Include each kernel's unique calls.
            lines: Fill `data.lines` with the source lines.
            device: The device whose limits rooflines use, as "H100 PCIe"; None: the recorded one.

        Raises:
            BadSetting: No known device has that name.

        """
        profile = read_profile(
            self.selection.trace, self._runs, calls=calls, lines=lines, device=device
        )
        return CommandResult(
            "profile", profile, profile_object, TableRow, table_rows(profile),
            profile_text(profile), partial(row_text, profile), self.notes,
        )  # fmt: skip

    def sanitize(self, *rules: str, proven: bool = False) -> CommandResult[Findings, Finding]:
        """Judge every memory access of each unique call; the result's rows are the findings.

        Fills the table findings of the trace, unless git tracks it.

        Args:
            rules: Rules by id, `default` or `all`; a leading `-` excludes a rule. Without
                any, the rules of KVTRACE_RULES.
            proven: Also list proven accesses.

        Raises:
            BadSetting: No rule has a given name.
            TraceWriteError: The trace cannot be written.

        """
        with results_beside(self.selection.trace.path):
            judged = judge_runs(self.selection, rules or (environment_rules(),), proven=proven)
        findings = judged if proven else without_proven(judged)
        text = findings_text(findings, base=str(Path.cwd()))
        return CommandResult(
            "findings", findings, findings_object, Finding, findings.listed, text,
            partial(finding_text, findings), (*judged.not_evaluated, *self.notes), "sanitize",
        )  # fmt: skip

    def replay(self, *clients: str) -> tuple[Outcome, ...]:
        """Evaluate each unique call for clients, which fill derived tables of the trace.

        Args:
            clients: tracer, profiler, sanitizer or another package's; by default the first two.

        Raises:
            BadSetting: No client has a given name.
            KvtraceError: A client failed; the other clients' rows are written.

        """
        outcomes = tuple(replay_runs(self.selection, clients or DEFAULT))
        for error in (error for outcome in outcomes for error in outcome.errors):
            raise error
        return outcomes

    def report(
        self, output: str | os.PathLike[str], *, replay: bool | None = None,
        budget: float | None = None, source: bool = True, max_mb: float = 20.0,
    ) -> Conversion:  # fmt: skip
        """Write one self-contained HTML page.

        Args:
            output: The file.
            replay: Replay and judge first what has not been; None: within the budget.
            budget: Seconds of processor time for that, the cheapest calls first; None: 30.
            source: Include sources, IR and addresses as expressions.
            max_mb: Largest size of the page, in MiB.

        Raises:
            BadSetting: `max_mb` is too small, or the file cannot be written.

        """
        from kvtrace.analysis.writing import write_report

        messages: list[str] = []
        conversion = write_report(
            self.selection,
            Path(output),
            messages.append,
            replay=replay,
            seconds=budget,
            source=source,
            max_mb=max_mb,
        )
        return replaced(conversion, notes=(*messages, *conversion.notes, *self.notes))

    def page(
        self, kernel: str | None = None, *, address: str = "", height: int = 720,
        replay: bool | None = None, source: bool = True, max_mb: float = 4.0,
    ) -> ShownPage:  # fmt: skip
        """Return the report, or a kernel's page in it, for a notebook to show.

        Args:
            kernel: The name of the kernel whose page is shown first.
            address: The view shown first, as behind `#/` in the report: "findings", "launches".
            height: The page's height in the notebook, in CSS pixels.
            replay: See `report`.
            source: See `report`.
            max_mb: Largest size of the page, in MiB; blocks that do not fit are left out, least
                needed first, and reported in the notes and on the page.

        Raises:
            BadSetting: No kernel has that name, or `max_mb` is too small.

        """
        from kvtrace.analysis.writing import page_html

        messages: list[str] = []
        html = page_html(
            self.selection, messages.append, kernel=kernel, address=address, replay=replay,
            source=source, max_mb=max_mb,
        )  # fmt: skip
        title = f"report of {self.path}" + ("" if kernel is None else f", kernel {kernel}")
        return ShownPage(printable(title), html, height, (*messages, *self.notes))

    def convert(
        self, name: str, output: str | os.PathLike[str] | None = None, **settings: object
    ) -> Conversion:
        """Write a file for another tool.

        Args:
            name: perfetto, chrome, csv, or an add-on's or a plugin's.
            output: The file; None: the converter's default name in the current directory.
            settings: The converter's settings; `_` in a name represents `-`.

        Raises:
            BadSetting: No converter or setting has that name.

        """
        from kvtrace.analysis.writing import convert

        messages: list[str] = []
        setting_texts = {key.replace("_", "-"): str(value) for key, value in settings.items()}
        target = None if output is None else Path(output)
        _, conversion = convert(self.selection, name, target, setting_texts, messages.append)
        return replaced(conversion, notes=(*messages, *conversion.notes, *self.notes))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a method of an add-on, from the registry's group `trace_methods`."""
        entry = None if name.startswith("_") else registry.entry("trace_methods", name)
        if entry is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return partial(entry.load(), self)

    def __dir__(self) -> Iterable[str]:
        addon_methods = (entry.name for entry in registry.entries("trace_methods"))
        return [*super().__dir__(), *addon_methods]

    def __repr__(self) -> str:
        other_runs = len(self.selection.trace.run_ids) - len(self._runs)
        more = f" ({other_runs} more in the directory)" if other_runs else ""
        commands = "; ".join(dict.fromkeys(run.command for run in self._runs if run.command))
        return f"kvtrace.open({str(self.path)!r}): {plural(len(self._runs), 'run')}{more}" + (
            f" of {printable(commands)}" if commands else ""
        )

    @property
    def _runs(self) -> tuple[Run, ...]:
        return self.selection.runs


def open(path: str | os.PathLike[str], *, run: str | None = None) -> OpenedTrace:  # noqa: A001
    """Open runs of a recorded trace.

        trace = kvtrace.open("out/")
        trace.sql("SELECT kernel, sum(host_ns) FROM launched GROUP BY 1").df()

    Args:
        path: Trace directory, DIRECTORY/@COMMIT, or DIRECTORY/RUN.
        run: Run id, its beginning, or @COMMIT; None: the newest group of runs.

    Raises:
        TraceNotFound, EmptyTrace, UnknownRun: there is no such trace, or no such run.
        DamagedFile, NewerFormat: a file cannot be read.

    """
    return OpenedTrace(select_runs(path, run))


def diff(
    before: OpenedTrace | str | os.PathLike[str],
    after: OpenedTrace | str | os.PathLike[str],
    *,
    replay: bool | None = None,
    time_threshold: float | None = None,
) -> CommandResult[Difference, HeadlineRow]:
    """Compare two traces, runs or commits; the result's rows are the headline, worst first.

    Args:
        before: An opened trace, or a side of `kvtrace diff`: a directory, DIRECTORY/@COMMIT (or
            tag, or branch), or DIRECTORY/RUN.
        after: The same for the other side.
        replay: Replay and judge first what has not been; None: if that takes seconds.
        time_threshold: Share (0.1 is 10 %) from which a change of median times is a difference;
            None: changes from 5 % on are reported, but are no difference.

    Raises:
        TraceNotFound, EmptyTrace, UnknownRun: there is no such trace, or no such run.

    """
    from kvtrace.analysis.completing import complete
    from kvtrace.converters.diff import compare, difference_object, headline_text
    from kvtrace.converters.diff.model import HeadlineRow

    before_runs, after_runs = _side(before), _side(after)
    messages = list(complete((before_runs, after_runs), replay=replay))
    labels = _label(before), _label(after)
    difference = compare(before_runs, after_runs, labels=labels, time_threshold=time_threshold)
    headline, text = difference.headline, headline_text(difference)
    return CommandResult(
        "diff", difference, difference_object, HeadlineRow, headline, text, notes=messages
    )


def _side(trace_or_path: OpenedTrace | str | os.PathLike[str]) -> Selection:
    return (
        trace_or_path.selection
        if isinstance(trace_or_path, OpenedTrace)
        else resolve_side(os.fspath(trace_or_path), None)
    )


def _label(trace_or_path: OpenedTrace | str | os.PathLike[str]) -> str:
    return (
        str(trace_or_path.path)
        if isinstance(trace_or_path, OpenedTrace)
        else os.fspath(trace_or_path)
    )
