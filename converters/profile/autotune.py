"""Autotuning trials: the configurations tried, their times and resources, and the chosen one.

A tuning is the trials of one kernel on one set of arguments; generated kernels of one name that
come from several files are several kernels. A trial's time is that of its kernels
on the device (mode timeline), without the first, which is a warm-up; without them there is none:
the time of a launch on the host says nothing of a configuration.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.profile.occupancy import Occupancy, occupancy_of
from kvtrace.converters.profile.specialization import specialization
from kvtrace.figures.identity import KernelKey, key_of
from kvtrace.figures.scans import row_count
from kvtrace.figures.times import host_times, trial_times
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.runs import plain_rows
from kvtrace.text import columns, count, duration, plural, printable, size, wrapped

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


@dataclass(frozen=True, slots=True)
class Trial:
    """One configuration of an autotuner: its parameters, time and resources.

    `median_ns` is measured on the device; None where the device's times were not recorded.
    """

    kernel_id: int
    configuration: dict[str, str]
    launches: int
    median_ns: float | None
    registers: int | None
    spills: int | None
    shared_bytes: int | None
    occupancy: Occupancy | None
    kept: bool


@dataclass(frozen=True, slots=True)
class Tuning:
    """The trials of one kernel on one set of arguments, fastest first, and `why` one was chosen."""

    run: str
    kernel: str
    module: str | None
    file: str | None
    arguments: str
    trials: tuple[Trial, ...]
    why: str


@dataclass(slots=True)
class _Gathered:
    calls: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    trials: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    runs: dict[int, int] = field(default_factory=lambda: defaultdict(int))


def read_tunings(trace: "Trace", runs: Sequence["Run"]) -> tuple[Tuning, ...]:
    """Read what autotuners tried in the runs, in order of run and kernel.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    counts: dict[str, dict[tuple[int, str], int]] = {run.run_id: {} for run in runs}
    rows = host_times(trace, runs, with_medians=False).by_phase
    assert rows is not None  # of launches they are always there
    tuned = rows.filter(pc.equal(rows["phase"], "autotune"))
    tuning = pc.unique(tuned["run"]).to_pylist()
    rows = _rows_with(rows, "run", tuning)
    columns = (rows[name].to_pylist() for name in ("run", "call_id", "phase", "launches"))
    for run_id, call, phase, launches in zip(*columns, strict=True):
        counts[run_id][call, phase] = launches
    times: dict[tuple[str, int], list[int]] = defaultdict(list)
    tuners = [run for run in runs if run.run_id in tuning]
    timed = [run for run in tuners if row_count(trace, run, "gpu_kernels")]
    if timed:
        columns = (column.to_pylist() for column in trial_times(trace, timed).columns)
        for run_id, call, ns in zip(*columns, strict=True):
            times[run_id, call].append(ns)
    return tuple(
        tuning for run in tuners for tuning in _of_run(trace, run, counts[run.run_id], times)
    )


def _of_run(
    trace: "Trace",
    run: "Run",
    launches: Mapping[tuple[int, str], int],
    times: Mapping[tuple[str, int], Sequence[int]],
) -> Iterable[Tuning]:
    calls = trace.table("calls", [run], ["call_id", "kernel_id", "args"])
    tried = [call for (call, phase), number in launches.items() if phase == "autotune" and number]
    kernels = {row["kernel_id"]: row for row in _kernels_like(trace, run, calls, tried)}
    gathered: dict[tuple[KernelKey, str], _Gathered] = {}
    for call in _rows_with(calls, "kernel_id", list(kernels)).to_pylist():
        kernel = kernels[call["kernel_id"]]
        tuned = key_of(kernel), _arguments(call["args"])
        group = gathered.setdefault(tuned, _Gathered())
        group.calls[call["kernel_id"]].append(call["call_id"])
        group.trials[call["kernel_id"]] += launches.get((call["call_id"], "autotune"), 0)
        for phase in ("run", "graph_capture"):
            group.runs[call["kernel_id"]] += launches.get((call["call_id"], phase), 0)
    for (key, arguments), group in gathered.items():
        tried = [kernel_id for kernel_id, number in group.trials.items() if number]
        if not tried:
            continue
        calls = {
            kernel_id: [(run.run_id, call) for call in group.calls[kernel_id]]
            for kernel_id in tried
        }
        times_of = {
            kernel_id: [ns for key in keys for ns in times.get(key, ())[1:]]
            for kernel_id, keys in calls.items()
        }
        trials, file = _trials(tried, group, kernels, times_of), kernels[tried[0]]["file"]
        yield Tuning(
            run.run_id, key.name, key.module or None, file, arguments, trials, _why(trials)
        )


def _trials(
    tried: list[int],
    group: _Gathered,
    kernels: dict[int, dict[str, Any]],
    times: Mapping[int, Sequence[int]],
) -> tuple[Trial, ...]:
    facts = {kernel_id: specialization(kernels[kernel_id]) for kernel_id in tried}
    differing = [
        key
        for key in dict.fromkeys(key for constants in facts.values() for key in constants)
        if len({constants.get(key) for constants in facts.values()}) > 1
    ]
    trials = []
    for kernel_id in tried:
        kernel = kernels[kernel_id]
        trial_ns = times[kernel_id]
        trials.append(
            Trial(
                kernel_id=kernel_id,
                configuration={
                    key.removeprefix("constexpr "): facts[kernel_id].get(key, "-")
                    for key in differing
                },
                launches=group.trials[kernel_id],
                median_ns=median(trial_ns) if trial_ns else None,
                registers=kernel["registers"],
                spills=kernel["spills"],
                shared_bytes=kernel["shared_bytes"],
                occupancy=occupancy_of(kernel),
                kept=group.runs[kernel_id] > 0,
            )
        )
    slowest = float("inf")
    return tuple(sorted(trials, key=lambda t: slowest if t.median_ns is None else t.median_ns))


def _why(trials: Sequence[Trial]) -> str:
    launched = [trial for trial in trials if trial.kept]
    if not launched:
        return "none was launched afterwards with these arguments"
    timed = [trial for trial in trials if trial.median_ns is not None]
    if len(timed) < len(trials):
        return "launched after the trials; not all of their times on the device are known"
    if len(launched) > 1:
        return f"{len(launched)} configurations were launched after the trials"
    best, chosen = timed[0], launched[0]
    assert best.median_ns is not None
    assert chosen.median_ns is not None
    if chosen is not best:
        slower = (chosen.median_ns / best.median_ns - 1) * 100
        return (
            f"the autotuner kept it, though the median of its trials here is {slower:.1f} % above "
            "that of the fastest"
        )
    if len(timed) == 1:
        return "the only configuration"
    second = timed[1].median_ns
    assert second is not None
    return f"the fastest; the next takes {(second / best.median_ns - 1) * 100:.1f} % longer"


def _kernels_like(
    trace: "Trace", run: "Run", calls: pa.Table, tried: Sequence[int]
) -> list[dict[str, Any]]:
    """Return the kernels of some calls, and all kernels with the same names."""
    kernels = trace.table("kernels", [run])
    ids = pc.unique(_rows_with(calls, "call_id", tried)["kernel_id"]).to_pylist()
    names = pc.unique(_rows_with(kernels, "kernel_id", ids)["name"].cast(pa.string())).to_pylist()
    return plain_rows(_rows_with(kernels, "name", names))


def _rows_with(rows: pa.Table, name: str, values: Sequence[Any]) -> pa.Table:
    """Return the rows whose column has one of some values."""
    column = without_dictionary(rows[name])
    return rows.filter(pc.is_in(column, pa.array(values, column.type)))


def _arguments(args: Sequence[dict[str, Any]] | None) -> str:
    """Return a call's arguments as text, without the kernel's constants."""
    texts = []
    for arg in args or ():
        if arg["kind"] == "constexpr":
            continue
        if arg["scalar"] is not None:
            texts.append(f"{arg['name']}={arg['scalar']}")
        else:
            texts.append(f"{arg['name']}: {arg['dtype']}{json.dumps(list(arg['shape'] or ()))}")
    return ", ".join(texts)


def tunings_text(tunings: Sequence[Tuning], width: int = 80) -> list[str]:
    """Return lines for a terminal: a table of each tuning, the chosen configuration marked."""
    if not tunings:
        return ["no autotuner tried anything in these runs"]
    lines: list[str] = []
    for tuning in tunings:
        if lines:
            lines.append("")
        lines.append(
            printable(f"{tuning.kernel}: {plural(len(tuning.trials), 'configuration')} tried")
        )
        lines += wrapped(f"for {tuning.arguments}", width, 2)
        rows = [_row(trial) for trial in tuning.trials]
        header = ("configuration", "median", "trials", "regs", "spills", "shared", "occupancy")
        lines += columns(header, rows, width, 2)
        lines += wrapped(f"* kept: {tuning.why}", width, 2)
    return lines


def _row(trial: Trial) -> tuple[str, ...]:
    configuration = " ".join(f"{key}={value}" for key, value in trial.configuration.items())
    share = "-"
    if trial.occupancy is not None:
        share = f"{trial.occupancy.share:.0%}"
    return (
        ("* " if trial.kept else "  ") + (configuration or "the only one"),
        "-" if trial.median_ns is None else duration(trial.median_ns),
        count(trial.launches),
        "-" if trial.registers is None else str(trial.registers),
        "-" if trial.spills is None else str(trial.spills),
        "-" if trial.shared_bytes is None else size(trial.shared_bytes),
        share,
    )
