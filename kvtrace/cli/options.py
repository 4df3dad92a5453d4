"""Arguments and options that several commands share, so that they read the same everywhere."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from kvtrace.cli import complain
from kvtrace.cli.parsing import Argument, Option
from kvtrace.registry import own_entries

if TYPE_CHECKING:
    from kvtrace.analysis.engines import Engine
    from kvtrace.figures.asked import Asked
    from kvtrace.schema.trace import Selection, Trace
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
        show_default=False,
    ),
]
_ENGINES: Final = [entry.name for entry in own_entries("engines")]
EngineOption = Annotated[
    str,
    Option(
        "--engine",
        metavar="|".join(("here", *_ENGINES)),
        help="The engine that computes it: docs/fleet.md",
    ),
]
MasterOption = Annotated[
    str | None,
    Option(
        "--master",
        metavar="URL",
        help="Where --engine runs, such as local[4]  [default: as configured]",
        show_default=False,
    ),
]
SinceOption = Annotated[
    str | None,
    Option(
        "--since",
        metavar="TIME",
        help="Start the figures there: 2s or 300ms after the runs began, at 50% of them, or at a "
        "time",
        show_default=False,
    ),
]
UntilOption = Annotated[
    str | None,
    Option(
        "--until",
        metavar="TIME",
        help="End the figures there; TIME as for --since",
        show_default=False,
    ),
]
MarkOption = Annotated[
    str | None,
    Option(
        "--mark",
        metavar="NAME",
        help="Figures of the time that the mark NAME covers",
        show_default=False,
    ),
]
StepsOption = Annotated[
    str | None,
    Option(
        "--steps",
        metavar="FROM:TO",
        help="Figures of the steps FROM to TO - 1, counted from 0",
        show_default=False,
    ),
]
WholeOption = Annotated[
    bool, Option("--whole", help="Figures of the whole run, not only of its steady part")
]
JsonOption = Annotated[bool, Option("--json", help="Print JSON instead of text")]
MeaningOption = Annotated[
    float | None,
    Option(
        "--meaning",
        metavar="SECONDS",
        min=0,
        help="Compare what changed kernels compute for so long (processor time); 0: not at all  "
        "[default: 30]",
        show_default=False,
    ),
]
StrictOption = Annotated[
    bool, Option("--strict", help="Exit with 1 also where it is not known whether it may be merged")
]
MarkdownFile = Annotated[
    str | None,
    Option("--markdown", metavar="FILE", help="Write Markdown, as for a review comment"),
]
JunitFile = Annotated[str | None, Option("--junit", metavar="FILE", help="Write JUnit XML")]
OutputOption = Annotated[
    Path | None,
    Option("--output", "-o", metavar="FILE", help="Write here (-: print it)", show_default=False),
]


@contextmanager
def written_to(output: Path | None, default: str) -> Iterator[tuple[Path, Callable[[str], object]]]:
    """Give where to write a file, and what to tell about it with.

    `-` is standard output: the file is written beside first, and reported on standard error.

    Raises:
        BadSetting: it is `-`, and what was written is a folder.

    """
    if str(output) != "-":
        yield output or Path(default), say
        return
    from kvtrace.schema.errors import BadSetting

    with tempfile.TemporaryDirectory(prefix="kvtrace-") as folder:
        path = Path(folder) / Path(default).name
        yield path, complain
        if path.is_dir():
            raise BadSetting("this is several files, and standard output is one; name a folder.")
        sys.stdout.flush()
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def select(trace: Path, run: str | None = None, *, every: bool = False) -> "Selection":
    """Open the trace and choose the runs that a TRACE argument and a --run option name.

    `every`: the others are shown, too.

    Raises:
        TraceNotFound, EmptyTrace, UnknownRun, NewerFormat, DamagedFile: as `kvtrace.schema.trace`.

    """
    from kvtrace.schema.trace import select_runs

    return select_runs(trace, run, every=every)


def asked_part(
    since: str | None, until: str | None, mark: str | None, steps: str | None, *, whole: bool
) -> "Asked":
    """Return the part of the runs that these options mean.

    Raises:
        BadSetting: two of them exclude each other.

    """
    from kvtrace.figures.asked import Asked
    from kvtrace.schema.errors import BadSetting

    given = {"--since or --until": since or until, "--whole": whole}
    given["--mark or --steps"] = mark or steps
    names = [name for name, value in given.items() if value]
    if len(names) > 1:
        raise BadSetting(f"{' and '.join(names)} exclude each other; give one.")
    return Asked(since, until, mark, steps, whole)


def chosen_engine(name: str, master: str | None) -> "Engine | None":
    """Return the engine that --engine names; None: this process.

    Raises:
        BadSetting: there is none of that name, or --master is given without one.

    """
    from kvtrace.analysis.engines import load_engine
    from kvtrace.schema.errors import BadSetting

    engine = load_engine(name)
    if master is not None and engine is None:
        raise BadSetting(f"--master goes with --engine {' or '.join(_ENGINES) or 'NAME'}.")
    return engine


def print_lines(lines: Iterable[str], *, raw: bool = False) -> None:
    """Print lines to standard output at once, so that a terminal obeys nothing in them.

    `raw`: as they are, where colors are in them or a program reads them.
    """
    from kvtrace.text import printable

    whole = "\n".join(lines)
    if not raw:
        whole = "\n".join(map(printable, whole.split("\n")))
    print(whole)


def say(line: str) -> None:
    """Print one line to standard output; names in it may come from files that others wrote."""
    from kvtrace.text import printable

    print(printable(line))


def complain_of(trace: "Trace") -> None:
    """Print on standard error what reading a trace found that is worth saying, but no error."""
    for note in trace.notes:
        complain(note)


def settings_in_force() -> "Settings":
    """Return the settings of the environment; what is wrong with them is printed."""
    from kvtrace.settings import settings_from_environment

    settings, problems = settings_from_environment(os.environ)
    for problem in problems:
        complain(problem)
    return settings
