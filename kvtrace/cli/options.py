"""Arguments and options that several commands share, worded equally in all of them."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol

from kvtrace import registry
from kvtrace.cli import complain, erase_progress, is_quiet, note
from kvtrace.cli.parsing import Argument, Option

if TYPE_CHECKING:
    import pyarrow as pa

    from kvtrace.clients.recorded import Engine as Evaluation
    from kvtrace.converters.findings.conditions import KernelConditions
    from kvtrace.figures.requested_part import RequestedPart
    from kvtrace.schema.trace import Run, Selection, Trace
    from kvtrace.settings import Settings

TracePath = Annotated[
    Path,
    Argument(metavar="TRACE", help="Trace directory, or DIRECTORY/@COMMIT, or DIRECTORY/RUN"),
]
RunOption = Annotated[
    str | None,
    Option(
        "--run",
        metavar="RUN",
        help="Run id, its beginning, or @COMMIT; without it the newest group of runs",
    ),
]
#: The name of this process as an engine.
_HERE: Final = "here"
_ENGINES: Final = [entry.name for entry in registry.own_entries("engines")]
EngineOption = Annotated[
    str,
    Option(
        "--engine",
        metavar="|".join((_HERE, *_ENGINES)),
        help="The engine that computes the figures: docs/fleet.md",
    ),
]
MasterOption = Annotated[
    str | None,
    Option(
        "--master",
        metavar="URL",
        help="Where --engine runs, such as spark://HOST:7077  [default: as configured]",
    ),
]
SinceOption = Annotated[
    str | None,
    Option(
        "--since",
        metavar="TIME",
        help="Start of the figures: 2s or 300ms after the runs began, 50% of their duration, or a "
        "point in time",
    ),
]
UntilOption = Annotated[
    str | None,
    Option("--until", metavar="TIME", help="End of the figures; TIME as for --since"),
]
MarkOption = Annotated[
    str | None,
    Option("--mark", metavar="NAME", help="Only figures of the time that the mark NAME covers"),
]
StepsOption = Annotated[
    str | None,
    Option(
        "--steps",
        metavar="FROM:TO",
        help="Only figures of the steps FROM to TO - 1, counted from 0",
    ),
]
WholeOption = Annotated[
    bool, Option("--whole", help="Figures of the whole run, not only of its steady part")
]
KernelOption = Annotated[
    list[str] | None,
    Option(
        "--kernel",
        metavar="GLOB",
        help="Only kernels with such a name, as 'softmax*'; the exit code, too; repeatable",
    ),
]
JsonOption = Annotated[bool, Option("--json", help="Print JSON instead of text")]
#: --json of commands whose --json took a file up to 0.3, and that file.
JsonOnceFile = Annotated[
    bool, Option("--json", help="Print JSON instead of text", old_value="json_file")
]
JsonFile = Annotated[str | None, Option("--json-file", hidden=True)]
MeaningOption = Annotated[
    float | None,
    Option(
        "--meaning",
        metavar="SECONDS",
        min=0,
        help="Processor time for comparing what changed kernels compute; 0: no comparison  "
        "[default: 30]",
    ),
]
StrictOption = Annotated[
    bool, Option("--strict", help="Exit with 1 also if it is unknown whether AFTER may be merged")
]
MarkdownFile = Annotated[
    str | None,
    Option("--markdown", metavar="FILE", help="Write Markdown, as for a review comment"),
]
JunitFile = Annotated[str | None, Option("--junit", metavar="FILE", help="Write JUnit XML")]
OutputOption = Annotated[
    Path | None,
    Option("--output", "-o", metavar="FILE", help="Write here (-: print it)"),
]


@contextmanager
def written_to(output: Path | None, default: str) -> Iterator[tuple[Path, Callable[[str], object]]]:
    """Yield the path to write a file to, and a function that prints messages about the file.

    `output` None is the path `default`. For `-` the path is temporary, the file is copied to
    standard output when the context ends, and messages go to standard error.

    Raises:
        BadSetting: The output is `-`, but a folder was written; or no output was named, and a file
            of another maker has the default's name.

    """
    if output in (None, Path(default)):
        _refuse_foreign(Path(default))
    if str(output) != "-":
        yield output or Path(default), tell
        return
    from kvtrace.schema.errors import BadSetting

    with tempfile.TemporaryDirectory(prefix="kvtrace-") as folder:
        path = Path(folder) / Path(default).name
        yield path, note
        if path.is_dir():
            raise BadSetting(
                "several files were written, which cannot go to standard output; name a folder "
                "instead of -."
            )
        sys.stdout.flush()
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _refuse_foreign(path: Path) -> None:
    """Refuse to replace a script or a page without the name of kvtrace, which each of ours has."""
    from kvtrace.schema.errors import BadSetting

    if path.suffix in (".py", ".html") and path.is_file() and b"kvtrace" not in path.read_bytes():
        raise BadSetting(f"{path} is there and is not kvtrace's: name the file to write with -o.")


def leave_pandas() -> None:
    """Keep pyarrow from importing pandas and dateutil at its first array: 0.2 s of a command.

    pyarrow tries the imports once, and again where pandas is needed, as in `Table.to_pandas`.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    refusal = _PandasRefusal()
    sys.meta_path.insert(0, refusal)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(refusal)


class _PandasRefusal:
    """A finder of modules that refuses pandas, and dateutil."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname in ("pandas", "dateutil"):
            raise ModuleNotFoundError(f"kvtrace's commands need no {fullname}", name=fullname)


def select(trace: Path, run: str | None = None, *, every: bool = False) -> Selection:
    """Open the trace and return the runs that a TRACE argument and a --run option name.

    With `every`, the remaining runs of the directory are used too. What `Trace.tell` receives is
    printed to standard error.

    Raises:
        TraceNotFound, EmptyTrace, UnknownRun, NewerFormat, DamagedFile: See `kvtrace.schema.trace`.

    """
    from kvtrace.schema.trace import select_runs

    leave_pandas()
    selection = select_runs(trace, run, every=every)
    selection.trace.tell = note
    return selection


def chosen_part(
    since: str | None, until: str | None, mark: str | None, steps: str | None, *, whole: bool
) -> RequestedPart:
    """Return the part of the runs that --since, --until, --mark, --steps and --whole select.

    Raises:
        BadSetting: Two options exclude each other.

    """
    from kvtrace.figures.requested_part import RequestedPart
    from kvtrace.schema.errors import BadSetting

    values = {"--since or --until": since or until, "--whole": whole}
    values["--mark or --steps"] = mark or steps
    names = [name for name, value in values.items() if value]
    if len(names) > 1:
        raise BadSetting(f"{' and '.join(names)} cannot be combined; give one.")
    return RequestedPart(since, until, mark, steps, whole)


def chosen_kernels(globs: Sequence[str] | None, names: Iterable[str]) -> frozenset[str] | None:
    """Return the names that match one of --kernel's globs, and print how many do.

    None, which is all kernels, without globs and without names.

    Raises:
        BadSetting: A glob matches no name.

    """
    from difflib import get_close_matches
    from fnmatch import fnmatchcase

    from kvtrace.schema.errors import BadSetting
    from kvtrace.text import plural

    all_names = sorted(set(names)) if globs else []
    if not globs or not all_names:
        return None
    number, chosen = plural(len(all_names), "kernel"), set[str]()
    for glob in globs:
        matches = {name for name in all_names if name == glob or fnmatchcase(name, glob)}
        if not matches:
            names = ", ".join(get_close_matches(glob, all_names, cutoff=0.3) or all_names[:3])
            raise BadSetting(f"--kernel {glob!r} matches none of {number}; the closest: {names}.")
        chosen |= matches
    are, option = "is" if len(chosen) == 1 else "are", " ".join(map(repr, globs))
    note(f"{len(chosen):,} of {number} {are} shown (--kernel {option})")
    return frozenset(chosen)


class QueriedTables(Protocol):
    """The tables and views of some runs, queried in SQL of DuckDB's dialect."""

    def rows(self, text: str) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Run one statement, and return column names and rows."""

    def table(self, text: str) -> pa.Table:
        """Run one statement, and return a table; points in time are BIGINT, ns since 1970."""


class Engine(Protocol):
    """An engine, such as Spark, that queries tables and evaluates calls: `kvtrace.engines`.

    `master` is its address, None: default.
    """

    def tables(self, trace: Trace, runs: Sequence[Run], master: str | None) -> QueriedTables:
        """Return the tables of the given runs."""

    def evaluation(self, master: str | None) -> Evaluation:
        """Return the function that evaluates calls for clients."""


def chosen_engine(name: str, master: str | None) -> Engine | None:
    """Return the engine that --engine names; None for `here`: commands compute in this process.

    Raises:
        BadSetting: No engine has that name, or --master is given without an engine.

    """
    from kvtrace.schema.errors import BadSetting

    if name == _HERE:
        if master is not None:
            raise BadSetting(f"--master needs --engine {' or '.join(_ENGINES) or 'NAME'}.")
        return None
    entry = registry.entry("engines", name)
    if entry is None:
        names = dict.fromkeys((_HERE, *(entry.name for entry in registry.entries("engines"))))
        raise BadSetting(f"there is no engine {name!r}; choose one of {', '.join(names)}.")
    engine: Engine = entry.load()
    return engine


def print_lines(lines: Iterable[str], *, raw: bool = False) -> None:
    """Print lines to standard output, with control characters escaped unless `raw`.

    Lines with colors, and output that a program reads, are printed raw.
    """
    text = "\n".join(lines)
    if not raw:
        text = "\n".join(shown for line in text.split("\n") for shown in _shown(line))
    erase_progress()
    if sys.stdout.isatty():
        from kvtrace.cli.links import for_stream

        text = for_stream(text, sys.stdout)
    print(text)


def say(line: str) -> None:
    """Print one line to standard output, with control characters escaped."""
    erase_progress()
    print("\n".join(_shown(line)))


def _shown(line: str) -> list[str]:
    """Return a printable line, wrapped if it is too wide for the terminal; never in a pipe."""
    from kvtrace.text import WIDTH, narrowed, printable, terminal_width

    width = terminal_width()
    wraps = width < WIDTH or sys.stdout.isatty()
    return narrowed(printable(line), width) if wraps else [printable(line)]


def tell(line: str) -> None:
    """Print a line on what was done, as on a file that was written, unless --quiet was given."""
    if not is_quiet():
        say(line)


def complain_of(trace: Trace) -> None:
    """Print the trace's notes, as on a torn journal, to standard error."""
    for text in trace.notes:
        note(text)


def settings_in_force() -> Settings:
    """Return the settings in force; print invalid values to standard error."""
    from kvtrace.settings import settings_in_force as read_settings

    settings, problems = read_settings(os.environ)
    for problem in problems:
        complain(problem)
    return settings


# Conditions on sizes of both sides of a comparison, with progress and error messages.


def conditions_of(
    sides: tuple[Selection, Selection], chosen: frozenset[str] | None = None
) -> tuple[list[KernelConditions], list[KernelConditions]]:
    """Return the kernels' conditions on sizes, of both sides; print messages on omitted calls."""
    from kvtrace.analysis.conditions import kernel_conditions

    conditions = [kernel_conditions(side, chosen=chosen) for side in sides]
    for _, failures in conditions:
        for failure in failures:
            complain(failure)
    return conditions[0][0], conditions[1][0]
