"""The steps of `kvtrace import --into`: pair times with runs, match executions, write."""

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from kvtrace.addons.join.joining import JoinedExecutions, join_run
from kvtrace.addons.join.orders import REASONS, Grade, Reason
from kvtrace.converters.importers.folders import source_files
from kvtrace.converters.importers.importing import import_files
from kvtrace.figures.causes import NONE, Integers
from kvtrace.figures.columns import integers
from kvtrace.figures.scans import row_count
from kvtrace.schema.errors import BadSetting, EmptyTrace
from kvtrace.schema.layout import DEBUG_MODE, JOIN
from kvtrace.schema.reading import captured_rows, quietly
from kvtrace.schema.runs import Run
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Selection, Trace, open_trace, select_runs
from kvtrace.text import plural

#: Explanation of each grade, as the command prints it.
_GRADES = {
    "exact": "requested inside the launch",
    "ordered": "in the same order as the launches",
    "inferred": "the only way to align them, or the only call that fits",
}


def sentence(counts: Mapping[str, int]) -> str:
    """Return the number and share of executions with a call, by grade, as a sentence."""
    total, joined = counts["launched"], counts["with_call"]
    if not total:
        return "no execution has the name and grid of a launch"
    grades = ", ".join(f"{counts[grade]:,} {grade}" for grade in _GRADES if counts[grade])
    share = f"{joined:,} of {plural(total, 'execution')} of recorded kernels joined"
    return f"{share} ({joined / total:.1%}{': ' if grades else ''}{grades})"


def lines(counts: Mapping[str, int], title: str) -> list[str]:
    """Return the lines that `kvtrace import --into` prints on a run, whose id is `title`.

    Joined executions are counted by grade, others by reason.
    """
    texts = [f"{title}: {sentence(counts)}"]
    texts += [
        f"  {counts[grade]:>9,} {grade}: {meaning}"
        for grade, meaning in _GRADES.items()
        if counts[grade]
    ]
    without = counts["with_call"] - counts["with_launch"]
    if without:
        texts.append(f"  {without:>9,} of them have a call but no launch: several launches fit")
    texts += [
        f"  {counts[text]:>9,} not joined: {text}" for text in REASONS.values() if text in counts
    ]
    if counts["foreign"]:
        texts.append(f"  {counts['foreign']:>9,} executions of kernels that were not recorded")
    return texts


class JoinedRun(Struct, frozen=True):
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
        """The counts of `execution_counts`."""
        return execution_counts(self.joined)

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
def opened_times(paths: Sequence[Path], source: str | None = None) -> Iterator[Selection]:
    """Yield the runs of a trace; files of another tool are first imported into a temporary one.

    `source` is the name of the tool; None: it is recognized by each file's content.

    Raises:
        BadSource: a file is of no known tool, or damaged.
        TraceNotFound, EmptyTrace, UnknownRun: as `select_runs`.
    """
    if len(paths) == 1 and not paths[0].is_file() and not _is_of_files(paths[0]):
        yield select_runs(paths[0])
        return
    with tempfile.TemporaryDirectory(prefix="kvtrace-") as folder:
        import_files(source_files(paths, source).files, Path(folder) / "times", source)
        trace = open_trace(Path(folder) / "times")
        yield Selection(trace, trace.runs)


def _is_of_files(path: Path) -> bool:
    """Return whether a path is a folder of files, not of a trace."""
    if not path.is_dir():
        return False
    try:
        open_trace(path)
    except EmptyTrace:
        return any(path.iterdir())
    return False


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
            f"{times.trace.path} is the recording itself; name a trace or files of another tool."
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


def add_operators(
    recording: Selection, logs: Selection, source: str, *, dry_run: bool
) -> dict[str, dict[str, Any]]:
    """Write the operators that DebugMode logged, and return the settings of the pass by run.

    Raises:
        BadSetting: it is not known what run a log belongs to, or its times are of another.
    """
    added = {}
    for run, (log, *others) in _times_by_recorded_run(recording, logs, "tool_events").items():
        rows = logs.trace.table("tool_events", (log,)).drop_columns(["run"])
        times = integers(rows["begin"].drop_null())
        within = (times >= (run.started or 0)) & (times <= (run.ended or 2**63 - 1))
        if others or (times.size and not within.any()):
            why = "it has one log alone" if others else "it did not run at these times"
            raise BadSetting(f"{source} cannot be added to run {run.run_id}: {why}.")
        rows = _renumbered(rows.sort_by("record"), recording.trace, run, "tool_events")
        added[run.run_id] = {
            "times": source, "times_runs": [log.run_id], "same_process": True,
            "means": "time" if times.size else "order", "shift_ns": 0,
            "counts": {"calls": rows.num_rows, "timed": times.size},
        }  # fmt: skip
        if not dry_run:
            tables, settings = {"tool_events": rows}, added[run.run_id]
            recording.trace.add_derived(run.run_id, DEBUG_MODE, tables, settings)
    return added


def _times_by_recorded_run(
    recording: Selection, times: Selection, table: str = "gpu_kernels"
) -> dict[Run, list[Run]]:
    recorded = [run for run in recording.runs if row_count(recording.trace, run, "launches")]
    time_runs = [run for run in times.runs if row_count(times.trace, run, table)]
    if not recorded:
        raise BadSetting(f"{recording.trace.path} has no launches to join times to.")
    if not time_runs:
        raise BadSetting(
            "the trace to add has no times of kernels on a device: record it with the device's "
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


# -- tables of the pass ----------------------------------------------------------------------------


_TIMES = ("start", "end", "requested", "stated_end")


def tables(
    trace: Trace, run: Run, times: Trace, joined: JoinedExecutions, source: str
) -> dict[str, pa.Table]:
    """Return the tables of the pass: executions, host events, stacks, and a message.

    `trace` is the recording, `run` the run whose launches were matched, `times` the trace with the
    executions, and `source` the names of the files with the times, for the message.

    Raises:
        DamagedFile, NewerFormat: a file cannot be read.
    """
    time_run_ids = pc.unique(joined.rows["run"].cast(pa.string())).to_pylist()
    executions = _renumbered(_execution_rows(joined), trace, run, "gpu_kernels")
    events = times.table("host_events", time_run_ids).drop_columns(["run"])
    events = _renumbered(events, trace, run, "host_events")
    for name in ("begin", "end"):
        events = _with_column(events, name, _shifted(events[name], joined.shift_ns))
    stack_columns = (executions["stack_id"], executions["forward_stack_id"], events["stack_id"])
    used_stack_ids = pa.chunked_array(
        [chunk for column in stack_columns for chunk in column.chunks]
    )
    stacks = times.table("stacks", time_run_ids).drop_columns(["run"])
    stacks = stacks.filter(pc.is_in(stacks["stack_id"], pc.unique(used_stack_ids)))
    new_tables = {"gpu_kernels": executions, "host_events": events, "stacks": stacks}
    messages = pa.Table.from_pylist([_message_row(run, joined, source)], TABLES["messages"].schema)
    return {**new_tables, "messages": messages}


def execution_counts(joined: JoinedExecutions) -> dict[str, int]:
    """Return the counts of executions: in all, by grade of their match, and by reason for none.

    Kernels that look like no launch are counted as `foreign`.
    """
    matches, looks = joined.matches, joined.launched
    kernels = np.asarray(joined.rows["kind"].is_null())
    grades = Counter(matches.grade[looks].tolist())
    reasons = Counter(matches.reason[looks].tolist())
    return {
        "launched": int(looks.sum()),
        "with_launch": int((matches.seq[looks] != NONE).sum()),
        "with_call": int((matches.call[looks] != NONE).sum()),
        **{grade.name.lower(): grades[grade] for grade in Grade},
        **{REASONS[reason]: reasons[reason] for reason in Reason if reasons[reason]},
        "foreign": int((kernels & ~looks).sum()),
    }


def _execution_rows(joined: JoinedExecutions) -> pa.Table:
    rows, matches = joined.rows.drop_columns(["run"]), joined.matches
    for name in _TIMES:
        rows = _with_column(rows, name, _shifted(rows[name], joined.shift_ns))
    direct = (matches.seq != NONE) & (matches.graph == NONE)
    graph = np.where(matches.graph == NONE, integers(rows["graph_id"], NONE), matches.graph)
    grade_names = pa.array([grade.name.lower() for grade in Grade])
    indices = pa.array(matches.grade.astype(np.int32), mask=matches.grade == NONE)
    columns: dict[str, pa.Array] = {
        "launch_seq": _null_if_none(matches.seq),
        "call_id": _null_if_none(matches.call),
        "graph_id": _null_if_none(graph),
        "grade": pa.DictionaryArray.from_arrays(indices, grade_names),
    }
    # As in kvtrace's own timeline: a direct launch itself has the time and line of the request.
    for name in ("requested", "stack_id"):
        columns[name] = pc.if_else(pa.array(direct), pa.scalar(None, rows[name].type), rows[name])
    for name, values in columns.items():
        rows = _with_column(rows, name, values)
    return rows


def _with_column(rows: pa.Table, name: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    return rows.set_column(rows.column_names.index(name), name, values)


def _shifted(column: pa.ChunkedArray, shift_ns: int) -> pa.ChunkedArray:
    return pc.add(column.cast(pa.int64()), shift_ns).cast(column.type)


def _null_if_none(values: Integers) -> pa.Array:
    return pa.array(values, mask=values == NONE)


def _renumbered(rows: pa.Table, trace: Trace, run: Run, table: str) -> pa.Table:
    """Return rows with numbers in the column `record` that the run's table does not have."""
    recorded = captured_rows(trace.path, TABLES[table], run.run_id, ["record"], quietly)
    highest = pc.max(recorded["record"]).as_py()
    first = 0 if highest is None else highest + 1
    return _with_column(rows, "record", pa.array(np.arange(first, first + rows.num_rows)))


def _message_row(run: Run, joined: JoinedExecutions, source: str) -> dict[str, Any]:
    return {
        "time": run.ended or run.started or 0,
        "level": "info",
        "code": "device-times-joined",
        "text": f"device times are from {source}: {sentence(execution_counts(joined))}",
        "count": joined.rows.num_rows,
    }
