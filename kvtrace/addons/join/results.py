"""Functions of `kvtrace join`: pairing of times with runs, matching, and writing."""

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
    """A run with the times joined to it.

    Attributes:
        run: The run.
        times: The runs of the other tool.
        same_process: Both are of the same process.
        joined: The matches.
    """

    run: Run
    times: tuple[Run, ...]
    same_process: bool
    joined: Joined

    @property
    def counts(self) -> dict[str, int]:
        """Number of joined executions by grade, and of others by reason."""
        return counts(self.joined)

    def settings(self, source: str) -> dict[str, Any]:
        """Return the settings stored with the pass."""
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
    """Open a trace of times; files of another tool are imported temporarily.

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
    """Return the matches of executions that another tool timed; nothing is written.

    Args:
        recording: The runs whose launches were recorded.
        times: The runs with executions, of the same processes or of another run of the program.
        by_order: Find direct launches by their order even where clocks agree.

    Raises:
        BadSetting: the run of the times is ambiguous, there are no times, or the run has device
            times for that period.
        DamagedFile, NewerFormat: a file cannot be read.
    """
    if recording.trace.path.resolve() == times.trace.path.resolve():
        raise BadSetting(f"{times.trace.path} is the recording itself; name a trace of times.")
    joined_runs = []
    for run, theirs in _paired(recording, times).items():
        executions = times.trace.table("gpu_kernels", theirs)
        same = all(_same_process(run, time_run) for time_run in theirs)
        joined = join_run(recording.trace, run, executions, same, by_order)
        _refuse_own_times(recording, run, joined)
        joined_runs.append(JoinedRun(run, tuple(theirs), same, joined))
    return joined_runs


def write(recording: Selection, times: Selection, done: Sequence[JoinedRun], source: str) -> None:
    """Add the executions to the runs, replacing those of an earlier join.

    Raises:
        TraceWriteError: the disk is full, or similar; earlier data stays.
    """
    for joined_run in done:
        new_tables = tables(recording.trace, joined_run.run, times.trace, joined_run.joined, source)
        recording.trace.add_derived(
            joined_run.run.run_id, JOIN, new_tables, joined_run.settings(source)
        )


def _paired(recording: Selection, times: Selection) -> dict[Run, list[Run]]:
    recorded = [run for run in recording.runs if row_count(recording.trace, run, "launches")]
    theirs = [run for run in times.runs if row_count(times.trace, run, "gpu_kernels")]
    if not recorded:
        raise BadSetting(f"{recording.trace.path} has no launches that times could be joined to.")
    if not theirs:
        raise BadSetting(f"{times.trace.path} has no times of executions on a device.")
    pairs: dict[Run, list[Run]] = {}
    for time_run in theirs:
        pairs.setdefault(_run_of(time_run, recorded, len(theirs)), []).append(time_run)
    return pairs


def _run_of(times: Run, recorded: Sequence[Run], number_of_runs: int) -> Run:
    """Return the recorded run of some times: by process, else by rank, else the only run."""
    same = [run for run in recorded if _same_process(run, times)]
    ranked = [run for run in recorded if times.rank is not None and run.rank == times.rank]
    for fitting in (same, ranked, recorded if number_of_runs == 1 else []):
        if len(fitting) == 1:
            return fitting[0]
    raise BadSetting(
        f"it is not known which of {len(recorded)} recorded runs the times of {times.run_id} "
        "belong to: neither a process nor a rank says it; name one with --run."
    )


def _same_process(run: Run, times: Run) -> bool:
    """Return whether both runs are of one process: the same pid at overlapping times."""
    if run.pid is None or run.pid != times.pid or run.started is None or times.started is None:
        return False
    ends = times.ended is None or run.started <= times.ended
    return ends and (run.ended is None or times.started <= run.ended)


def _refuse_own_times(recording: Selection, run: Run, joined: Joined) -> None:
    """Raise BadSetting if kvtrace itself measured executions in the period of the times."""
    location = (recording.trace.path, TABLES["gpu_kernels"], run.run_id, ["start"], quietly)
    own_starts = integers(captured_rows(*location)["start"].drop_null())
    files = joined.rows["run"].cast("string")
    for file in pc.unique(files).to_pylist():
        begins = joined.rows["start"].filter(pc.equal(files, file))
        start = integers(begins.drop_null()) + joined.shift_ns
        if not start.size:
            continue
        inside = int(np.sum((own_starts >= start.min()) & (own_starts <= start.max())))
        if inside:
            raise BadSetting(
                f"run {run.run_id} has device times for that period: kvtrace measured {inside:,} "
                "executions in it; join the times to a recording without them."
            )
