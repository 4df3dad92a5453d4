"""The Python API over recorded traces: `kvtrace.open` and `kvtrace.diff`.

Each method does what the command of its name does, by the same functions.
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
from kvtrace.analysis.replaying import replay_runs
from kvtrace.analysis.results import Presentation, Rows, Told, record_html, record_text
from kvtrace.analysis.shown.findings import finding_html, finding_text, findings_html
from kvtrace.analysis.shown.overviews import overview_html
from kvtrace.analysis.shown.pages import ShownPage
from kvtrace.analysis.shown.profiles import kernel_html, kernel_text, profile_html
from kvtrace.analysis.sides import side
from kvtrace.clients.recorded import DEFAULT, Outcome
from kvtrace.converters.findings import (
    Finding,
    Findings,
    finding_objects,
    findings_text,
    without_proven,
)
from kvtrace.converters.info.info import Overview, RunOverview, overview_object, read_overview
from kvtrace.converters.info.info_text import overview_text
from kvtrace.converters.profile.profile import KernelProfile, Profile, profile_object, read_profile
from kvtrace.converters.profile.profile_text import profile_text
from kvtrace.converters.query.query import connect, query_arrow
from kvtrace.schema.trace import Run, Selection, select_runs
from kvtrace.text import plural, printable

if TYPE_CHECKING:  # what one method takes is imported by it
    from kvtrace.converters.diff import Difference
    from kvtrace.converters.registry import Conversion

__all__ = ["OpenedTrace", "diff", "open"]


class OpenedTrace:
    """Runs of a recorded trace; `kvtrace.open` makes one.

    Tables and figures are read whenever they are asked for, so that they show what `sanitize` and
    `replay` have added.
    """

    def __init__(self, selection: Selection) -> None:
        self.selection = selection

    @property
    def path(self) -> Path:
        """The trace's directory."""
        return self.selection.trace.path

    @property
    def run_ids(self) -> tuple[str, ...]:
        """Ids of the runs that were chosen, oldest first."""
        return tuple(run.run_id for run in self._runs)

    @property
    def notes(self) -> tuple[str, ...]:
        """What reading found so far that is worth saying, such as a torn journal."""
        return tuple(self.selection.trace.notes)

    @property
    def runs(self) -> Rows:
        """A row for each recorded process."""
        return self.table("runs")

    @property
    def kernels(self) -> Rows:
        """A row for each compiled variant of a kernel."""
        return self.table("kernels")

    @property
    def calls(self) -> Rows:
        """A row for each unique call: kernel variant, grid and what is known of the arguments."""
        return self.table("calls")

    @property
    def launches(self) -> Rows:
        """A row for each launch."""
        return self.table("launches")

    @property
    def executions(self) -> Rows:
        """A row for each execution on the device, of a kernel, a copy or a fill (`gpu_kernels`)."""
        return self.table("gpu_kernels")

    @property
    def findings(self) -> Rows:
        """A row for each verdict on an access; none before `sanitize` has judged the runs."""
        return self.table("findings")

    def table(self, name: str, columns: Sequence[str] | None = None) -> Rows:
        """Return any table of docs/format.md, or one that a client has written.

        Raises:
            SchemaMismatch: there is no such table or column.
            DamagedFile, NewerFormat: a file cannot be read.

        """
        return Rows(name, self.selection.table(name, columns))

    def sql(self, statement: str, most: int | None = None, *, memory: str | None = None) -> Rows:
        """Return what one statement of DuckDB's SQL gives that only reads; as `kvtrace sql`.

        Args:
            statement: The statement.
            most: How many rows to make at most; None: all.
            memory: What DuckDB may take, as "2GB"; None: most of what the machine has.

        Raises:
            BadQuery: it is not correct, or does not only read.

        """
        with connect(self.selection.trace, self._runs, statement, memory=memory) as database:
            return Rows("sql", query_arrow(database, statement, most))

    def info(self) -> Told[Overview]:
        """Return what the runs hold; its rows are the runs."""
        overview = read_overview(self.selection.trace, self._runs)
        shown = Presentation(overview_text(overview), overview_html, record_text, record_html)
        return Told(
            "info", overview, overview_object, RunOverview, overview.runs, shown, self.notes
        )

    def profile(
        self, *, calls: bool = False, lines: bool = False, device: str | None = None
    ) -> Told[Profile]:
        """Return where time, bytes and FLOPs go; its rows are the kernels.

        Args:
            calls: Whether each kernel's unique calls are in its row.
            lines: Whether `data.lines` has the source lines.
            device: Whose limits rooflines take, as "H100 PCIe"; None: the recorded device's.

        Raises:
            BadSetting: no device of that name is known.

        """
        profile = read_profile(
            self.selection.trace, self._runs, calls=calls, lines=lines, device=device
        )
        shown = Presentation(profile_text(profile), profile_html, kernel_text, kernel_html)
        return Told(
            "profile", profile, profile_object, KernelProfile, profile.kernels, shown, self.notes
        )

    def sanitize(self, *rules: str, proven: bool = False) -> Told[Findings]:
        """Judge every memory access of each unique call; its rows are the findings.

        Fills the table findings of the trace.

        Args:
            rules: Rules by id, `default` or `all`; one that begins with `-` is left out. Without
                any, those that KVTRACE_RULES names.
            proven: Whether proven accesses are listed, too.

        Raises:
            BadSetting: there is no such rule.
            TraceWriteError: the trace cannot be written on.

        """
        judged = judge_runs(self.selection, rules or (environment_rules(),), proven=proven)
        found = judged.findings if proven else without_proven(judged.findings)
        text = findings_text(found, base=str(Path.cwd()))
        shown = Presentation(text, findings_html, finding_text, finding_html)
        notes = (*judged.failures, *self.notes)
        return Told("findings", found, _finding_objects, Finding, found.listed, shown, notes)

    def replay(self, *clients: str) -> tuple[Outcome, ...]:
        """Evaluate each unique call for clients, which fill derived tables of the trace.

        Args:
            clients: tracer, profiler, sanitizer or another package's; none: tracer and profiler.

        Raises:
            BadSetting: there is no such client.
            KvtraceError: a client failed; the others' rows are kept.

        """
        outcomes = tuple(replay_runs(self.selection, clients or DEFAULT))
        for error in (error for outcome in outcomes for error in outcome.errors):
            raise error
        return outcomes

    def report(
        self, output: str | os.PathLike[str], *, replay: bool | None = None, source: bool = True,
        max_mb: float = 20.0,
    ) -> Conversion:  # fmt: skip
        """Write one self-contained HTML page.

        Args:
            output: The file.
            replay: Whether what has not been replayed and judged is, first; None: where that takes
                seconds.
            source: Whether sources, IR and addresses as expressions are in it.
            max_mb: Largest size of the page, in MiB.

        Raises:
            BadSetting: `max_mb` is too small, or the file cannot be written.

        """
        from kvtrace.analysis.writing import write_report

        said: list[str] = []
        written = write_report(
            self.selection, Path(output), said.append, replay=replay, source=source, max_mb=max_mb
        )
        return replaced(written, notes=(*said, *written.notes, *self.notes))

    def page(
        self, kernel: str | None = None, *, address: str = "", height: int = 720,
        replay: bool | None = None, source: bool = True, max_mb: float = 4.0,
    ) -> ShownPage:  # fmt: skip
        """Return the report, or a kernel's page in it, for a notebook to show.

        Args:
            kernel: The kernel whose page it begins with, by name.
            address: What it begins with, as the report has it behind `#/`: "findings", "launches".
            height: Of the page in the notebook, in CSS pixels.
            replay: As `report`.
            source: As `report`.
            max_mb: Largest size of the page, in MiB; what does not fit is left out, least needed
                first, and reported in the notes and on the page.

        Raises:
            BadSetting: there is no such kernel, or `max_mb` is too small.

        """
        from kvtrace.analysis.writing import page_html

        said: list[str] = []
        html = page_html(
            self.selection, said.append, kernel=kernel, address=address, replay=replay,
            source=source, max_mb=max_mb,
        )  # fmt: skip
        title = f"report of {self.path}" + ("" if kernel is None else f", kernel {kernel}")
        return ShownPage(printable(title), html, height, (*said, *self.notes))

    def convert(
        self, name: str, output: str | os.PathLike[str] | None = None, **settings: object
    ) -> Conversion:
        """Write a file for another tool.

        Args:
            name: perfetto, chrome, csv, or an add-on's or a plugin's.
            output: The file; None: one of the converter's own name in the current directory.
            settings: Those of the converter; `_` in a name represents `-`.

        Raises:
            BadSetting: there is no such converter, or it has no such setting.

        """
        from kvtrace.analysis.writing import convert

        said: list[str] = []
        texts = {key.replace("_", "-"): str(value) for key, value in settings.items()}
        target = None if output is None else Path(output)
        _, written = convert(self.selection, name, target, texts, said.append)
        return replaced(written, notes=(*said, *written.notes, *self.notes))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a method that an add-on adds: the registry's group `trace_methods`."""
        entry = None if name.startswith("_") else registry.entry("trace_methods", name)
        if entry is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return partial(entry.load(), self)

    def __dir__(self) -> Iterable[str]:
        added = (entry.name for entry in registry.entries("trace_methods"))
        return [*super().__dir__(), *added]

    def __repr__(self) -> str:
        others = len(self.selection.trace.run_ids) - len(self._runs)
        more = f" ({others} more in the directory)" if others else ""
        commands = "; ".join(dict.fromkeys(run.command for run in self._runs if run.command))
        return f"kvtrace.open({str(self.path)!r}): {plural(len(self._runs), 'run')}{more}" + (
            f" of {printable(commands)}" if commands else ""
        )

    def _repr_html_(self) -> str:
        return overview_html(read_overview(self.selection.trace, self._runs))

    @property
    def _runs(self) -> tuple[Run, ...]:
        return self.selection.runs


def open(path: str | os.PathLike[str], *, run: str | None = None) -> OpenedTrace:  # noqa: A001
    """Open runs of a recorded trace.

        trace = kvtrace.open("out/")
        trace.sql("SELECT kernel, sum(host_ns) FROM launched GROUP BY 1").to_pandas()

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
) -> Told[Difference]:
    """Compare two traces, runs or commits; its rows are the headline, worst first.

    Args:
        before: An opened trace, or what `kvtrace diff` takes: a directory, DIRECTORY/@COMMIT (or
            tag, or branch), or DIRECTORY/RUN.
        after: The same for the other side.
        replay: Whether what has not been replayed and judged is, first; None: where that takes
            seconds.
        time_threshold: Share (0.1 is 10 %) from which a change of median times is a difference;
            None: from 5 % on it is claimed, and no difference.

    Raises:
        TraceNotFound, EmptyTrace, UnknownRun: there is no such trace, or no such run.

    """
    from kvtrace.analysis.completing import complete
    from kvtrace.analysis.shown.differences import difference_html
    from kvtrace.converters.diff import compare, difference_object, headline_text
    from kvtrace.converters.diff.model import HeadlineRow

    first, second = _side(before), _side(after)
    said = list(complete((first, second), replay=replay))
    labels = _label(before), _label(after)
    difference = compare(first, second, labels=labels, time_threshold=time_threshold)
    shown = Presentation(headline_text(difference), difference_html, record_text, record_html)
    headline = difference.headline
    return Told("diff", difference, difference_object, HeadlineRow, headline, shown, said)


def _side(given: OpenedTrace | str | os.PathLike[str]) -> Selection:
    return given.selection if isinstance(given, OpenedTrace) else side(os.fspath(given), None)


def _label(given: OpenedTrace | str | os.PathLike[str]) -> str:
    return str(given.path) if isinstance(given, OpenedTrace) else os.fspath(given)


def _finding_objects(findings: Findings) -> list[dict[str, Any]]:
    return finding_objects(findings.listed)
