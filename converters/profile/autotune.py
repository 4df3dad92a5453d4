"""Autotuning trials: the configurations tried, their times and resources, and the chosen one.

A tuning is the trials of one kernel on one set of arguments; generated kernels with one name in
several files are different kernels. The time of a configuration is the median of its executions on
the device (mode timeline), without the first of each call, which is a warm-up. Without device times
it has none: a launch on the host takes equally long for all configurations.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.profile.device_limits import Occupancy, occupancy_of
from kvtrace.converters.profile.recompiles import specialization
from kvtrace.figures.identity import SOURCE_COLUMNS, KernelKey, key_of
from kvtrace.figures.stored import once_per_trace
from kvtrace.figures.times import launches_by_phase, trial_times
from kvtrace.schema.columns import without_dictionary
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.window import split_by_run
from kvtrace.text import columns, count, duration, plural, printable, size, wrapped

#: Columns of `kernels` that tell configurations, their resources and occupancy.
_KERNEL_COLUMNS: Final = (
    "kernel_id", "name", *SOURCE_COLUMNS, "signature", "target", "warp_size", "num_warps",
    "num_ctas", "num_stages", "options", "registers", "spills", "shared_bytes",
)  # fmt: skip

#: End of the part of a recorded decision that names configurations without a trial.
_NOT_TRIED: Final = " not tried"
#: Most lines on them.
_MOST_UNTRIED: Final = 5


@dataclass(frozen=True, slots=True)
class Trial:
    """One configuration of an autotuner: its parameters, time and resources.

    `median_ns` is measured on the device; None where the device's times were not recorded. `kept`:
    the configuration was also launched outside of trials.
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


@once_per_trace
def read_tunings(trace: Trace, runs: Sequence[Run]) -> tuple[Tuning, ...]:
    """Return the tunings of the runs, in the order of runs and calls; () without autotuning.

    Those of sealed runs are kept for an opened trace.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    by_phase = launches_by_phase(trace, runs)
    tuning_run_ids = pc.unique(_rows_with(by_phase, "phase", ["autotune"])["run"]).to_pylist()
    launches = dict(split_by_run(_rows_with(by_phase, "run", tuning_run_ids).sort_by("run")))
    tuning_runs = [run for run in runs if run.run_id in launches]
    times: dict[tuple[str, int], list[int]] = defaultdict(list)
    columns = (column.to_pylist() for column in trial_times(trace, tuning_runs).columns)
    for run_id, call, ns in zip(*columns, strict=True):
        times[run_id, call].append(ns)
    return tuple(
        tuning
        for run in tuning_runs
        for tuning in _tunings_of_run(trace, run, launches[run.run_id], times)
    )


def _tunings_of_run(
    trace: Trace,
    run: Run,
    launches_by_phase: pa.Table,
    times: Mapping[tuple[str, int], Sequence[int]],
) -> Iterable[Tuning]:
    calls = trace.table("calls", [run], ["call_id", "kernel_id", "args"])
    trials = _rows_with(launches_by_phase, "phase", ["autotune"])
    tried_calls = trials.filter(pc.greater(trials["launches"], 0))["call_id"].to_pylist()
    kernels = {
        row["kernel_id"]: row for row in _kernels_of_same_names(trace, run, calls, tried_calls)
    }
    calls = _rows_with(calls, "kernel_id", list(kernels))
    launches = {
        (row["call_id"], row["phase"]): row["launches"]
        for row in _rows_with(
            launches_by_phase, "call_id", calls["call_id"].to_pylist()
        ).to_pylist()
    }
    #: Ids of calls by kernel id, by kernel and arguments.
    calls_by_tuning: dict[tuple[KernelKey, str], dict[int, list[int]]] = {}
    for call in calls.to_pylist():
        tuning_key = key_of(kernels[call["kernel_id"]]), arguments_text(call["args"])
        calls_of_kernels = calls_by_tuning.setdefault(tuning_key, {})
        calls_of_kernels.setdefault(call["kernel_id"], []).append(call["call_id"])

    def launched(ids: Iterable[int], *phases: str) -> int:
        return sum(launches.get((call_id, phase), 0) for call_id in ids for phase in phases)

    for (key, arguments), calls_of_kernels in calls_by_tuning.items():
        tried = {
            kernel_id: ids
            for kernel_id, ids in calls_of_kernels.items()
            if launched(ids, "autotune")
        }
        if not tried:
            continue
        configurations = _configurations([kernels[kernel_id] for kernel_id in tried])
        trials = []
        for (kernel_id, ids), configuration in zip(tried.items(), configurations, strict=True):
            kernel = kernels[kernel_id]
            trial_ns = [ns for call_id in ids for ns in times.get((run.run_id, call_id), ())[1:]]
            trials.append(
                Trial(
                    kernel_id=kernel_id,
                    configuration=configuration,
                    launches=launched(ids, "autotune"),
                    median_ns=median(trial_ns) if trial_ns else None,
                    registers=kernel["registers"],
                    spills=kernel["spills"],
                    shared_bytes=kernel["shared_bytes"],
                    occupancy=occupancy_of(kernel),
                    kept=launched(ids, "run", "graph_capture") > 0,
                )
            )
        trials.sort(key=lambda trial: inf if trial.median_ns is None else trial.median_ns)
        yield Tuning(
            run.run_id,
            key.name,
            key.module or None,
            kernels[next(iter(tried))]["file"],
            arguments,
            tuple(trials),
            _reason_of_choice(trials),
        )


def _configurations(kernels: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the facts of each variant of a kernel that are not the same in all variants."""
    facts = [specialization(kernel) for kernel in kernels]
    differing_facts = [
        key
        for key in dict.fromkeys(key for constants in facts for key in constants)
        if len({constants.get(key) for constants in facts}) > 1
    ]
    return [
        {key.removeprefix("constexpr "): constants.get(key, "-") for key in differing_facts}
        for constants in facts
    ]


def _reason_of_choice(trials: Sequence[Trial]) -> str:
    launched = [trial for trial in trials if trial.kept]
    if not launched:
        return "no configuration was launched with these arguments after the trials"
    timed = [trial for trial in trials if trial.median_ns is not None]
    if len(timed) < len(trials):
        return "launched after the trials; not all of their times on the device are known"
    if len(launched) > 1:
        return f"{len(launched)} configurations were launched after the trials"
    fastest, chosen = timed[0], launched[0]
    assert fastest.median_ns is not None
    assert chosen.median_ns is not None
    if chosen is not fastest:
        slower = (chosen.median_ns / fastest.median_ns - 1) * 100
        return (
            f"the autotuner kept it, though the median of its trials is {slower:.1f} % above the "
            "fastest"
        )
    if len(timed) == 1:
        return "the only configuration"
    second_ns = timed[1].median_ns
    assert second_ns is not None
    return f"the fastest; the next takes {(second_ns / fastest.median_ns - 1) * 100:.1f} % longer"


def _kernels_of_same_names(
    trace: Trace, run: Run, calls: pa.Table, tried: Sequence[int]
) -> list[dict[str, Any]]:
    """Return rows of `kernels`: those of the calls with the ids `tried`, and all of equal names."""
    kernels = trace.table("kernels", [run], _KERNEL_COLUMNS)
    ids = pc.unique(_rows_with(calls, "call_id", tried)["kernel_id"]).to_pylist()
    names = pc.unique(_rows_with(kernels, "kernel_id", ids)["name"].cast(pa.string())).to_pylist()
    rows: list[dict[str, Any]] = _rows_with(kernels, "name", names).to_pylist()
    return rows


def _rows_with(rows: pa.Table, name: str, values: Sequence[Any]) -> pa.Table:
    column = without_dictionary(rows[name])
    return rows.filter(pc.is_in(column, pa.array(values, column.type)))


def arguments_text(args: Sequence[dict[str, Any]] | None) -> str:
    """Return a call's arguments, without constants, as text such as "x: fp32[64], n=64"."""
    texts = []
    for arg in args or ():
        if arg["kind"] == "constexpr":
            continue
        if arg["scalar"] is not None:
            texts.append(f"{arg['name']}={arg['scalar']}")
        else:
            texts.append(f"{arg['name']}: {arg['dtype']}{json.dumps(list(arg['shape'] or ()))}")
    return ", ".join(texts)


def read_choices(trace: Trace, runs: Sequence[Run]) -> list[Tuning]:
    """Return the recorded decisions of autotuners, with key, choice and the rest as `why`.

    They have no trials: without a GPU there are none, and trials that fail are no launches.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    choices = []
    for run in runs:
        rows = trace.table("messages", [run], ["code", "text"])
        for row in _rows_with(rows, "code", ["tuned"]).to_pylist():
            head, _, why = row["text"].partition(": chose ")
            kernel, _, key = head.partition(" for ")
            choices.append(Tuning(run.run_id, kernel, None, None, key, (), f"chose {why}"))
    return choices


def untried_text(trace: Trace, runs: Sequence[Run], width: int = 80) -> list[str]:
    """Return lines on configurations that autotuners left out without a trial: nothing judges them.

    Without a GPU that is all behind the first valid one. Errors as `read_choices`.
    """
    sentences: dict[str, None] = {}
    for choice in read_choices(trace, runs):
        for part in choice.why.split("; "):
            labels = part.removesuffix(_NOT_TRIED)
            if labels != part:
                verb = "were" if ", " in labels else "was"
                sentences[f"{choice.kernel}: {labels} {verb} not tried and not judged"] = None
    lines = [line for text in list(sentences)[:_MOST_UNTRIED] for line in wrapped(text, width)]
    if len(sentences) > _MOST_UNTRIED:
        lines.append(f"{count(len(sentences) - _MOST_UNTRIED)} more were not tried (info --all)")
    return lines


def tunings_text(tunings: Sequence[Tuning], width: int = 80) -> list[str]:
    """Return lines for a terminal: a table of each tuning, with "*" at the kept configurations.

    A tuning without trials is a recorded decision: its key, and what was chosen and left out.
    """
    if not tunings:
        return ["no autotuner ran in these runs"]
    lines: list[str] = []
    for tuning in tunings:
        if lines:
            lines.append("")
        if not tuning.trials:
            lines.append(printable(f"{tuning.kernel}: key {tuning.arguments}"))
            lines += [line for part in tuning.why.split("; ") for line in wrapped(part, width, 2)]
            continue
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
    occupancy = "-"
    if trial.occupancy is not None:
        occupancy = f"{trial.occupancy.share:.0%}"
    return (
        ("* " if trial.kept else "  ") + (configuration or "the only one"),
        "-" if trial.median_ns is None else duration(trial.median_ns),
        count(trial.launches),
        "-" if trial.registers is None else str(trial.registers),
        "-" if trial.spills is None else str(trial.spills),
        "-" if trial.shared_bytes is None else size(trial.shared_bytes),
        occupancy,
    )
