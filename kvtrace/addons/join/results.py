"""The steps of `kvtrace join`: pair the times with recorded runs, match executions, and write."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from kvtrace.addons.join.joining import JoinedExecutions, join_run
from kvtrace.addons.join.writing import counts, tables
from kvtrace.converters.importers.importing import import_files
from kvtrace.figures.columns import integers
from kvtrace.figures.scans import row_count
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.layout import JOIN
from kvtrace.schema.reading import captured_rows, quietly
from kvtrace.schema.runs import Run
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Selection, open_trace, select_runs


@dataclass(frozen=True)
class JoinedRun:
    """A recorded run with the device times joined to it.

    `times` are the runs of the other tool, which have the times. `same_process`: recording and
    times are of the same process.
    """

    run: Run
    times: tuple[Run, ...]
    same_process: bool
    joined: JoinedExecutions

    @property
    def counts(self) -> dict[str, int]:
        """Number of joined executions by grade, and of others by reason."""
        return counts(self.joined)

    def settings(self, source: str) -> dict[str, Any]:
        """Return the settings that the pass `join` stores; `source` names the times."""
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
    """Yield the runs of a trace; files of another tool are first imported into a temporary one.

    Raises:
        BadSource: a file is of no known tool, or damaged.
        TraceNotFound, EmptyTrace, UnknownRun: as `select_runs`.
    """
    if len(paths) == 1 and not paths[0].is_file():
        yield select_runs(paths[0])
        return
    with tempfile.TemporaryDirectory(prefix="kvtrace-") as folder:
        import_files(paths, Path(folder) / "times")
        trace = open_trace(Path(folder) / "times")
        yield Selection(trace, trace.runs)


def join(recording: Selection, times: Selection, *, by_order: bool = False) -> list[JoinedRun]:
    """Match the executions that another tool timed with recorded runs; nothing is written.

    Args:
        recording: The runs whose launches were recorded.
        times: The runs with executions, of the same processes or of another run of the program.
        by_order: Match direct launches by their order even if both clocks agree.

    Raises:
        BadSetting: it is not known what run the times belong to, there are no times or no launches,
            or kvtrace itself measured device times in that period.
        DamagedFile, NewerFormat: a file cannot be read.
    """
    if recording.trace.path.resolve() == times.trace.path.resolve():
        raise BadSetting(
            f"{times.trace.path} is the recording itself; --times needs another tool's times."
        )
    joined_runs = []
    for run, time_runs in _times_by_recorded_run(recording, times).items():
        executions = times.trace.table("gpu_kernels", time_runs)
        is_same_process = all(_same_process(run, time_run) for time_run in time_runs)
        joined = join_run(recording.trace, run, executions, is_same_process, by_order)
        _refuse_own_times(recording, run, joined)
        joined_runs.append(JoinedRun(run, tuple(time_runs), is_same_process, joined))
    return joined_runs


def write(
    recording: Selection, times: Selection, joined_runs: Sequence[JoinedRun], source: str
) -> None:
    """Write the joined executions into the recording, replacing those of an earlier join.

    Raises:
        TraceWriteError: the disk is full, or similar; earlier data stays.
    """
    for joined_run in joined_runs:
        new_tables = tables(recording.trace, joined_run.run, times.trace, joined_run.joined, source)
        recording.trace.add_derived(
            joined_run.run.run_id, JOIN, new_tables, joined_run.settings(source)
        )


def _times_by_recorded_run(recording: Selection, times: Selection) -> dict[Run, list[Run]]:
    recorded = [run for run in recording.runs if row_count(recording.trace, run, "launches")]
    time_runs = [run for run in times.runs if row_count(times.trace, run, "gpu_kernels")]
    if not recorded:
        raise BadSetting(f"{recording.trace.path} has no launches to join times to.")
    if not time_runs:
        raise BadSetting(
            "what --times names has no times of kernels on a device: record it with the device's "
            "activity (torch.profiler: ProfilerActivity.CUDA)"
        )
    pairs: dict[Run, list[Run]] = {}
    for time_run in time_runs:
        pairs.setdefault(_recorded_run_of(time_run, recorded, len(time_runs)), []).append(time_run)
    return pairs


def _recorded_run_of(times: Run, recorded: Sequence[Run], number_of_runs: int) -> Run:
    """Return the recorded run that times belong to: by process, by rank, or the only run.

    `number_of_runs` counts the runs with times.

    Raises:
        BadSetting: no rule determines a single run.
    """
    of_same_process = [run for run in recorded if _same_process(run, times)]
    of_same_rank = [run for run in recorded if times.rank is not None and run.rank == times.rank]
    for candidates in (of_same_process, of_same_rank, recorded if number_of_runs == 1 else []):
        if len(candidates) == 1:
            return candidates[0]
    raise BadSetting(
        f"it is not known which of {len(recorded)} recorded runs the times of {times.run_id} "
        "belong to: neither process nor rank decides; name a recorded run with --run."
    )


def _same_process(run: Run, times: Run) -> bool:
    """Return whether both runs are of one process: the same pid at overlapping times."""
    if run.pid is None or run.pid != times.pid or run.started is None or times.started is None:
        return False
    begins_before_end = times.ended is None or run.started <= times.ended
    return begins_before_end and (run.ended is None or times.started <= run.ended)


def _refuse_own_times(recording: Selection, run: Run, joined: JoinedExecutions) -> None:
    """Raise BadSetting if the recording has executions of its own in the period of the times."""
    table_arguments = (recording.trace.path, TABLES["gpu_kernels"], run.run_id, ["start"], quietly)
    own_starts = integers(captured_rows(*table_arguments)["start"].drop_null())
    files = joined.rows["run"].cast("string")
    for file in pc.unique(files).to_pylist():
        begins = joined.rows["start"].filter(pc.equal(files, file))
        start = integers(begins.drop_null()) + joined.shift_ns
        if not start.size:
            continue
        own_executions = int(np.sum((own_starts >= start.min()) & (own_starts <= start.max())))
        if own_executions:
            raise BadSetting(
                f"run {run.run_id} already has device times of that period, of "
                f"{own_executions:,} executions; join to a recording without device times."
            )
