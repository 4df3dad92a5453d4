"""`kvtrace join` as functions: which times belong to which run, and what is written of them."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from kvtrace.addons.join.joining import Joined, join_run
from kvtrace.addons.join.writing import counts, tables
from kvtrace.converters.importers.importing import import_files
from kvtrace.figures.columns import integers
from kvtrace.figures.scans import row_count
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.layout import JOIN
from kvtrace.schema.reading import captured_rows, quietly
from kvtrace.schema.runs import Run
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Selection, select_runs


@dataclass(frozen=True)
class JoinedRun:
    """A run with the times that were joined to it.

    Attributes:
        run: The run.
        times: The runs of the other tool.
        same_process: Whether they are of the same process.
        joined: What was found.

    """

    run: Run
    times: tuple[Run, ...]
    same_process: bool
    joined: Joined

    @property
    def counts(self) -> dict[str, int]:
        """How many executions were joined, by grade, and how many not, by reason."""
        return counts(self.joined)

    def settings(self, source: str) -> dict[str, Any]:
        """Return what the parts that are written say of the join."""
        return {
            "times": source,
            "times_runs": [run.run_id for run in self.times],
            "same_process": self.same_process,
            "means": "time" if self.joined.by_time else "order",
            "shift_ns": self.joined.shift_ns,
            "counts": self.counts,
        }


@contextmanager
def opened_times(paths: Sequence[Path]) -> Iterator[Selection]:
    """Open a trace of times; files of another tool are imported for the while.

    Raises:
        BadSource: a file is of no known tool, or damaged.
        TraceNotFound, EmptyTrace, UnknownRun: as `select_runs`.

    """
    if len(paths) == 1 and not paths[0].is_file():
        yield select_runs(paths[0])
        return
    with tempfile.TemporaryDirectory(prefix="kvtrace-") as folder:
        import_files(paths, Path(folder) / "times")
        yield select_runs(Path(folder) / "times")


def join(recording: Selection, times: Selection, *, by_order: bool = False) -> list[JoinedRun]:
    """Find the launches of executions that another tool timed; nothing is written.

    Args:
        recording: The runs whose launches were recorded.
        times: The runs with executions, of the same processes or of another run of the program.
        by_order: Find direct launches by their order even where clocks agree.

    Raises:
        BadSetting: it is not known which run the times belong to, there are none, or the run has
            device times for that period.
        DamagedFile, NewerFormat: a file cannot be read.

    """
    if recording.trace.path.resolve() == times.trace.path.resolve():
        raise BadSetting(f"{times.trace.path} is the recording itself; name a trace of times.")
    found = []
    for run, theirs in _paired(recording, times).items():
        executions = times.trace.table("gpu_kernels", theirs)
        same = all(_same_process(run, each) for each in theirs)
        joined = join_run(recording.trace, run, executions, same, by_order)
        _refuse_own_times(recording, run, joined)
        found.append(JoinedRun(run, tuple(theirs), same, joined))
    return found


def write(recording: Selection, times: Selection, done: Sequence[JoinedRun], source: str) -> None:
    """Add the executions to the runs, in place of those that an earlier join added.

    Raises:
        TraceWriteError: the disk is full, or the like; what was there before stays.

    """
    for each in done:
        made = tables(recording.trace, each.run, times.trace, each.joined, source)
        recording.trace.add_derived(each.run.run_id, JOIN, made, each.settings(source))


def _paired(recording: Selection, times: Selection) -> dict[Run, list[Run]]:
    own = [run for run in recording.runs if row_count(recording.trace, run, "launches")]
    theirs = [run for run in times.runs if row_count(times.trace, run, "gpu_kernels")]
    if not own:
        raise BadSetting(f"{recording.trace.path} has no launches that times could be joined to.")
    if not theirs:
        raise BadSetting(f"{times.trace.path} has no times of executions on a device.")
    found: dict[Run, list[Run]] = {}
    for each in theirs:
        found.setdefault(_run_of(each, own, len(theirs)), []).append(each)
    return found


def _run_of(times: Run, own: Sequence[Run], several: int) -> Run:
    """Return the recorded run that times are of: by process, else by rank, else the only one."""
    same = [run for run in own if _same_process(run, times)]
    ranked = [run for run in own if times.rank is not None and run.rank == times.rank]
    for fitting in (same, ranked, own if several == 1 else []):
        if len(fitting) == 1:
            return fitting[0]
    raise BadSetting(
        f"it is not known which of {len(own)} recorded runs the times of {times.run_id} belong to: "
        "neither a process nor a rank says it; name one with --run."
    )


def _same_process(run: Run, times: Run) -> bool:
    """Whether both are of one process: its number, at the same time."""
    if run.pid is None or run.pid != times.pid or run.started is None or times.started is None:
        return False
    ends = times.ended is None or run.started <= times.ended
    return ends and (run.ended is None or times.started <= run.ended)


def _refuse_own_times(recording: Selection, run: Run, joined: Joined) -> None:
    """See that kvtrace itself measured nothing in the period of the other tool's times."""
    place = (recording.trace.path, TABLES["gpu_kernels"], run.run_id, ["start"], quietly)
    own = integers(captured_rows(*place)["start"].drop_null())
    files = joined.rows["run"].cast("string")
    for file in pc.unique(files).to_pylist():
        begins = joined.rows["start"].filter(pc.equal(files, file))
        start = integers(begins.drop_null()) + joined.shift_ns
        if not start.size:
            continue
        inside = int(np.sum((own >= start.min()) & (own <= start.max())))
        if inside:
            raise BadSetting(
                f"run {run.run_id} has device times for that period: kvtrace measured {inside:,} "
                "executions in it; join the times to a recording without them."
            )
