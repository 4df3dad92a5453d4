"""`kvtrace import`: another tool's files as runs of a trace."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Protocol

from kvtrace.cli import note
from kvtrace.cli.options import JsonOption, leave_pandas, say, select, tell
from kvtrace.cli.parsing import Argument, Option
from kvtrace.registry import loaded, own_entries
from kvtrace.schema.errors import KvtraceError
from kvtrace.text import json_text

if TYPE_CHECKING:
    from kvtrace.converters.importers.importing import ImportedRunFile
    from kvtrace.schema.trace import Selection

_MEGABYTE = 1_000_000


class TooMuchMemory(KvtraceError):
    """Raised when importing a file takes more memory than --memory allows."""

    slug = "too-much-memory"


class Adding(Protocol):
    """A function that adds what files hold to recorded runs: `kvtrace.import_into`."""

    def __call__(
        self, recording: "Selection", files: Sequence[Path], source: str | None, *,
        by_order: bool, dry_run: bool, as_json: bool,
    ) -> None:  # fmt: skip
        """Add it, or with `dry_run` only print how."""


_SOURCES: Final = [entry.name for entry in own_entries("importers")]
_CANNOT_ADD: Final = not own_entries("import_into")


def command(
    files: Annotated[
        list[Path],
        Argument(
            metavar="[SOURCE] FILE…",
            help=f"Files of one job, or folders of them; SOURCE is {', '.join(_SOURCES)}, or a "
            "plugin's name, and without SOURCE recognized by each file's content",
        ),
    ],
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="The trace to add the runs to  [default: imported]",
        ),
    ] = None,
    into: Annotated[
        Path | None,
        Option(
            "--into",
            metavar="TRACE",
            help="Add device times, or DebugMode's operators, to this recording of the same "
            "program, or to TRACE/RUN, instead",
            hidden=_CANNOT_ADD,
        ),
    ] = None,
    by_order: Annotated[
        bool,
        Option(
            "--by-order",
            help="With --into, match launches by their order even if both clocks agree",
            hidden=_CANNOT_ADD,
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        Option(
            "--dry-run",
            help="With --into, show the matches without writing them",
            hidden=_CANNOT_ADD,
        ),
    ] = False,
    memory: Annotated[int, Option("--memory", help="Most memory to use, in MB", min=64)] = 4000,
    as_json: JsonOption = False,
) -> None:
    """Read other tools' traces, as those of torch.profiler, into runs of a trace.

    Data that a tool does not record is null, and reported as missing. All files of one command
    form one group of runs, like the ranks of a job; second files of the same rank form another.

    With --into, executions are matched with recorded launches by host times if both are of one
    process, else by the order on their streams; replays of CUDA graphs by the kernels that were
    captured. Each match has a grade of certainty; executions without a match are counted by reason.
    Afterwards profile, report, diff and convert show the times like kvtrace's own. A second call
    replaces the first.

    Example:
        kvtrace import rank0.pt.trace.json.gz rank1.pt.trace.json.gz -o imported/
        kvtrace import nsys profile.sqlite -o imported/
        kvtrace import rank0.pt.trace.json --into out/

    """
    from kvtrace.converters.importers.folders import source_files
    from kvtrace.converters.importers.importing import import_files
    from kvtrace.converters.importers.registry import importer_names, left_out_sentence
    from kvtrace.schema.errors import BadSetting
    from kvtrace.text import plural

    leave_pandas()
    source = None
    if str(files[0]) in importer_names() and (len(files) > 1 or not files[0].exists()):
        source, files = str(files[0]), files[1:]
    if not files:
        raise BadSetting(f"no file of {source} is named; kvtrace import {source} FILE -o FOLDER")
    named = ", ".join(map(str, files))
    if into is not None:
        if output is not None:
            raise BadSetting("--into and -o cannot be combined; choose one.")
        adding, recording = _adding(), select(into)
        with _limits(named, memory):
            adding(recording, files, source, by_order=by_order, dry_run=dry_run, as_json=as_json)
        return
    if by_order or dry_run:
        raise BadSetting("--by-order and --dry-run need --into TRACE.")
    output = output or Path("imported")
    found = source_files(files, source)
    with _limits(named, memory):
        runs = import_files(found.files, output, source)
    missing = list(dict.fromkeys(text for run in runs for text in run.lacks))
    if as_json:
        print(json_text("import", _runs_object(output, runs, missing)))
    else:
        _print_runs(output, runs, missing, len(found.files))
    for in_events in (False, True):
        counts = (Counter(run.left_out) for run in runs if run.has_all_events == in_events)
        left_out = left_out_sentence(sum(counts, Counter()), in_events=in_events)
        if left_out is not None:
            note(left_out)
    for skipped, reason in ((found.unknown, "of no known tool"), (found.repeated, "repeated")):
        if skipped:
            note(f"skipped {plural(len(skipped), 'file')} {reason}: {_listed(skipped)}")
    if not as_json and any(run.has_kernels for run in runs):
        tell(f"kvtrace profile {output} shows what took the time")


def _adding() -> Adding:
    from kvtrace.schema.errors import BadSetting

    for _, adding in loaded("import_into"):
        function: Adding = adding
        return function
    raise BadSetting("no add-on here adds times to a recording, so --into does not work.")


@contextmanager
def _limits(named: str, memory: int) -> Iterator[None]:
    """Limit the memory of an import, in MB; an error or Ctrl-C says that nothing was imported."""
    try:
        with limited_memory(memory * _MEGABYTE):
            yield
    except MemoryError as error:
        raise TooMuchMemory(
            f"{named} takes more than {memory:,} MB of memory, and nothing was imported; allow "
            f"more with --memory {2 * memory}, or record a shorter part"
        ) from error
    except KeyboardInterrupt:
        print(f"kvtrace: interrupted; nothing of {named} was imported", file=sys.stderr)
        raise


def _runs_object(
    output: Path, runs: "Sequence[ImportedRunFile]", missing: list[str]
) -> dict[str, object]:
    """Return the imported runs, and what their tools did not record, as JSON has them."""
    return {
        "trace": str(output),
        "runs": [
            {"run": run.run_id, "source": run.source, "file": str(run.file), "group": run.group}
            for run in runs
        ],
        "missing": missing,
    }


def _print_runs(
    output: Path, runs: "Sequence[ImportedRunFile]", missing: list[str], files: int
) -> None:
    from kvtrace.text import plural

    say(f"{output}: {plural(len(runs), 'run')} of {plural(files, 'file')}")
    for run in runs:
        say(f"{run.run_id}  {run.source}: {run.file}")
    groups = len({run.group for run in runs})
    if groups > 1:
        say(f"{groups} groups, since there are several runs of the same rank (--run chooses)")
    for text in missing:
        say(f"missing: {text}")


def _listed(files: Sequence[Path]) -> str:
    """Return the names of files, of at most three."""
    names = ", ".join(file.name for file in files[:3])
    return names if len(files) <= 3 else f"{names} and {len(files) - 3:,} more"


@contextmanager
def limited_memory(most: int) -> Iterator[None]:
    """Limit the process, in the context, to `most` bytes more than it uses now.

    Allocations beyond raise MemoryError. Works only on Linux, by RLIMIT_DATA; elsewhere there is no
    limit.
    """
    if sys.platform != "linux":
        yield
        return
    import resource

    previous_limit = resource.getrlimit(resource.RLIMIT_DATA)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
    limit = pages * resource.getpagesize() + most
    if previous_limit[0] != resource.RLIM_INFINITY:
        limit = min(limit, previous_limit[0])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, previous_limit[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, previous_limit)
