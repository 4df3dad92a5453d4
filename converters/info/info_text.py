"""Text of an `Overview` for a terminal: messages first, then runs, then kernels."""

import shlex
import textwrap
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from kvtrace.converters.info.info import (
    KernelOverview,
    Message,
    Overview,
    RunOverview,
    overhead_text,
)
from kvtrace.figures.identity import names_apart
from kvtrace.figures.kernels import FURTHER
from kvtrace.text import (
    broken,
    columns,
    count,
    duration,
    plural,
    printable,
    quantity,
    wrapped,
)

if TYPE_CHECKING:
    from kvtrace.converters.profile.recompiles import DelayedLaunch, Recompile

_SHOWN_KERNELS: Final = 15
_SHOWN_ON_DEVICE: Final = 5
_SHOWN_NOTES: Final = 2
_SHOWN_SIZES: Final = 8
#: Runs that are shown of more than `_MOST_RUNS`.
_SHOWN_RUNS: Final = 2
_MOST_RUNS: Final = 16
_NANOSECONDS: Final = 1_000_000_000


def overview_text(overview: Overview, *, full: bool = False, width: int = 80) -> list[str]:
    """Return lines for a terminal: messages, runs, kernels, recompiles and delayed launches.

    Unless `full`, runs without launches, and all but the first notes and kernels, are only counted.
    """
    lines = [printable(overview.path)]
    lines += [line for note in overview.notes for line in wrapped(f"note: {note}", width)]
    lines += _messages_text(overview.messages, len(overview.runs), full, width)
    runs_without_calls = (
        []
        if full or len(overview.runs) == 1
        else [run for run in overview.runs if not (run.calls or run.gpu_kernels or run.source)]
    )
    left_out = {run.run_id for run in runs_without_calls}
    shown = [run for run in overview.runs if run.run_id not in left_out]
    further = 0 if full or len(shown) <= _MOST_RUNS else len(shown) - _SHOWN_RUNS
    for run in shown[: len(shown) - further]:
        lines += ["", *_run_text(run, width)]
    if further:
        lines += ["", f"{plural(further, 'more run')} (--all shows each)"]
    if runs_without_calls:
        processes = plural(len(runs_without_calls), "more process")
        text = f"{processes} launched no kernels (for example a compiler's worker)"
        overhead_ns = sum(run.self_overhead_ns or 0 for run in runs_without_calls)
        overhead = f"; kvtrace overhead {duration(overhead_ns)}" if overhead_ns else ""
        lines += ["", *wrapped(f"{text}{overhead} (--all shows each)", width)]
    if overview.other_runs:
        other_runs = plural(overview.other_runs, "more run")
        lines += ["", f"{other_runs} in this directory (--run chooses, --all shows every one)"]
    if overview.window is not None and overview.window.how != "whole":
        lines += ["", *wrapped(overview.window.sentence, width)]
    time = overview.device_time
    if time is not None:
        # With NumPy, without which the recorder's own installation shows the rest.
        from kvtrace.converters.profile.device_text import busy_sentence, device_text, ranks_text

        most_rows = None if full else _SHOWN_ON_DEVICE
        lines += ["", *device_text(time, most_rows, "--all", width)]
        if overview.ranks is None or not overview.ranks.matched:
            lines += wrapped(busy_sentence(time.busy, None, time.devices), width)
        if overview.ranks is not None:
            lines += ranks_text(overview.ranks, width)
    if overview.missing is None:
        if overview.kernels or time is None:  # else all that ran is of libraries, and above
            lines += ["", *_kernels_text(overview.kernels, full, width)]
        lines += [line for cost in overview.launch_costs for line in wrapped(cost.sentence, width)]
    else:
        text = f"times of kernels and devices are missing: reading them {overview.missing}"
        lines += ["", *wrapped(text, width)]
    if overview.recompiles:
        lines += ["", *_recompiles_text(overview.recompiles, width)]
    if overview.held is not None:
        lines += ["", *_waits_text(overview.held, overview, width)]
    return lines


def _messages_text(messages: Sequence[Message], runs: int, full: bool, width: int) -> list[str]:
    """Return a line for each distinct message, with counts.

    Unless `full`, more than `_SHOWN_NOTES` notes become one line. `runs` is the number of runs.
    """
    messages_by_text: dict[tuple[str, str], list[Message]] = {}
    for message in messages:
        messages_by_text.setdefault((message.level, message.text), []).append(message)
    notes = [key for key in messages_by_text if key[0] == "info"]
    hidden_notes = notes if len(notes) > _SHOWN_NOTES and not full else []
    lines = []
    for (level, text), group in messages_by_text.items():
        if (level, text) in hidden_notes:
            continue
        total = sum(message.count for message in group)
        times = f" ({total:,} times)" if total > 1 else ""
        runs_text = f" [{len({m.run for m in group})} of {runs} runs]" if runs > 1 else ""
        label = "note" if level == "info" else level
        lines += wrapped(f"{label}: {text}{times}{runs_text}", width)
    if hidden_notes:
        lines.append(f"{plural(len(hidden_notes), 'note')} on the recording (--all shows them)")
    return lines


def _run_text(run: RunOverview, width: int) -> list[str]:
    heading = f"run {run.run_id}"
    if run.rank is not None:
        heading += f", rank {run.rank}"
        heading += f" of {run.world_size}" if run.world_size is not None else ""
    launches_text = f"{plural(run.launches, 'launch')} of {plural(run.calls, 'unique call')}"
    phases = [f"{number:,} {phase}" for phase, number in run.phases.items()]
    if run.calls and not run.launches and not run.sealed:
        calls = plural(run.calls, "unique call")
        launches_text = f"not written yet, of {calls} (kvtrace trace recover brings them)"
    if len(phases) > 1:
        launches_text += f" ({', '.join(phases)})"
    facts = {
        "imported": run.source and f"from a trace of {run.source}",
        "producer": run.producer if (run.producer or "").split()[:1] != ["kvtrace"] else None,
        "command": run.command,
        "started": _started_text(run),
        "commit": _commit_text(run),
        "host" if run.host else "devices": _machine_text(run),
        "versions": ", ".join(f"{name} {version}" for name, version in run.versions.items()),
        "launches": launches_text,
        "contents": f"tensor contents recorded for {plural(run.known_contents, 'launch')}"
        if run.known_contents
        else None,
        "kernels": plural(run.kernels, "compiled variant"),
        "device": _executions_text(run),
        "passes": ", ".join(run.passes) or _no_passes_text(run),
        "left out": run.redacted and f"{run.redacted.replace(',', ', ')} (kvtrace trace redact)",
        "overhead": _overhead_line(run),
        "lost": _lost_text(run),
    }
    lines = [printable(heading)]
    for what, value in facts.items():
        if value:
            first_line, *further_lines = broken(printable(value), width - 12)
            lines.append(f"  {what:<9} {first_line}")
            lines += [f"{' ' * 12}{line}" for line in further_lines]
    return lines


def _machine_text(run: RunOverview) -> str:
    """Return the host and the distinct names of its devices, with their numbers; "" if unknown."""
    texts = [run.host] if run.host else []
    for name, number in Counter(name for name in run.devices if name is not None).items():
        texts.append(name if number == 1 else f"{number} × {name}")
    return ", ".join(texts)


def _started_text(run: RunOverview) -> str | None:
    if run.started is None:
        return "unknown, since the tool recorded no date" if run.source else None
    began = datetime.fromtimestamp(run.started // _NANOSECONDS, UTC)
    text = f"{began:%Y-%m-%d %H:%M:%S} UTC"
    if run.ended is not None:
        return f"{text}, {duration(run.ended - run.started)} long, ended by {run.ending or '?'}"
    return text


def _commit_text(run: RunOverview) -> str | None:
    if run.git_commit is None:
        return None
    branch = f" on {run.git_branch}" if run.git_branch else ""
    dirty = ", with uncommitted changes" if run.git_dirty else ""
    return f"{run.git_commit[:12]}{branch}{dirty}"


def _overhead_line(run: RunOverview) -> str | None:
    if run.overhead_percent is not None and run.overhead is not None:
        begin, end = duration(run.overhead["start_ns"]), duration(run.overhead["end_ns"])
        text = overhead_text(run.overhead_percent)
        return f"{text}; {begin} until all kernels were compiled, {end} at exit"
    if run.self_overhead_ns is None:
        return None
    text = f"{duration(run.self_overhead_ns)} (measured)"
    if run.overhead is not None:
        return f"{text}, start-up included: too short after the last compilation for a share"
    if run.started is None or run.ended is None or run.ended <= run.started:
        return text
    return f"{text}, {100 * run.self_overhead_ns / (run.ended - run.started):.2f} % of the run"


def _lost_text(run: RunOverview) -> str | None:
    texts = []
    if run.dropped_rows:
        texts.append(f"{plural(run.dropped_rows, 'row')} could not be kept")
    if not run.sealed:
        last = _last_launch_text(run)
        texts.append(f"not sealed: still running or killed; {last}kvtrace trace recover seals")
    return "; ".join(texts) or None


def _last_launch_text(run: RunOverview) -> str:
    """Return a text on the last recorded launch of a run that did not end; "" if unknown."""
    if run.last_launch is None or run.started is None:
        return ""
    return f"known until {duration(run.last_launch - run.started)} after its start; "


def _executions_text(run: RunOverview) -> str | None:
    if not run.gpu_kernels:
        return None
    replays = run.graph_replays
    return plural(run.gpu_kernels, "execution") if replays is None else replays.sentence


def _no_passes_text(run: RunOverview) -> str:
    if run.without_ir is not None:
        return "none: there is no IR to evaluate"
    if not run.calls:
        return "none: there is no launch to evaluate"
    return "none yet (kvtrace profile, kvtrace sanitize)"


def _kernels_text(kernels: Sequence[KernelOverview], full: bool, width: int) -> list[str]:
    if not kernels:
        return ["no kernel was recorded"]
    shown_kernels = kernels if full else kernels[:_SHOWN_KERNELS]
    on_device = any(k.device_ns is not None for k in kernels)
    rows = [
        (
            name,
            count(k.variants),
            count(k.calls),
            count(k.launches),
            *([duration(k.device_ns)] if on_device else []),
            duration(k.host_ns),
            duration(k.compiling_ns),
            *(quantity(k.further[figure.name], figure.unit) for figure in FURTHER),
        )
        for k, name in zip(shown_kernels, names_apart(kernels), strict=False)
    ]
    times = (*(["GPU time"] if on_device else []), "host time", "first launch")
    header = ("kernel", "variants", "calls", "launches", *times, *(f.label for f in FURTHER))
    lines = columns(header, rows, width, optional=(2, 1))
    hidden = len(kernels) - len(shown_kernels)
    return [*lines, f"… {plural(hidden, 'more kernel')} (--all shows them)"] if hidden else lines


def _recompiles_text(recompiles: "Sequence[Recompile]", width: int) -> list[str]:
    from kvtrace.converters.profile.recompiles import recompiles_sentence

    by_kernel: dict[tuple[str, str | None, str], list[Recompile]] = {}
    for variant in recompiles:
        by_kernel.setdefault((variant.run, variant.file, variant.kernel), []).append(variant)
    loaded_variants = [variant for variant in recompiles if variant.is_same_loaded]
    lines = wrapped(recompiles_sentence(recompiles), width)
    for (_, _, kernel), group in by_kernel.items():
        listed_variants = [
            variant for variant in group if not variant.first and not variant.is_same_loaded
        ]
        if listed_variants:
            lines += wrapped(f"{kernel}, {plural(len(group), 'variant')}", width, 2)
        lines += [line for variant in listed_variants for line in _recompile_lines(variant, width)]
    if loaded_variants:
        text = f"{plural(len(loaded_variants), 'variant')} more: {loaded_variants[0].reason()}"
        lines += wrapped(text, width)
    return lines


def _recompile_lines(variant: "Recompile", width: int) -> list[str]:
    cost = f"took {duration(variant.compile_ns)}" if variant.recompiled else "from the cache"
    if not variant.is_recorded:
        cost = "whether it was compiled was not recorded"
    if variant.load_ns is not None:
        cost += f", {duration(variant.load_ns)} to load"
    lines = textwrap.wrap(
        printable(f"{variant.reason()} ({cost})"), width - 4, subsequent_indent="  "
    )
    return [f"    {line}" for line in lines]


def _waits_text(delayed: "Sequence[DelayedLaunch]", overview: Overview, width: int) -> list[str]:
    since = f" from {overview.since} on" if overview.since is not None else ""
    if not delayed:
        lines = [f"no launch waited for its kernel to be compiled, loaded or tuned{since}"]
        return lines + _unseen_text(overview, width)
    waiting = [launch for launch in delayed if not launch.trial]
    waited = duration(sum(launch.waited_ns for launch in waiting))
    compiled = count(sum(variant.compiled for variant in overview.waits))
    text = (
        f"{plural(len(waiting), 'launch')} waited for a kernel to be compiled, loaded or tuned"
        f"{since}, {waited} (measured); {compiled} compiled it:"
    )
    lines = wrapped(text, width)
    for variant in overview.waits:
        often = f"{plural(variant.launches, 'launch')} of {plural(variant.runs, 'run')}, "
        trials = f", {plural(variant.trials, 'trial')}" if variant.trials else ""
        reasons = " or ".join(variant.reasons)
        text = f"{duration(variant.waited_ns)}, {often}{variant.kernel}{trials}, {reasons}"
        lines += wrapped(text, width, 2)
    lines += _unseen_text(overview, width)
    settings = (("since", overview.since), ("also", ",".join(overview.also)))
    options = "".join(f" --set {name}={shlex.quote(value)}" for name, value in settings if value)
    lines += wrapped(
        "to write a script that compiles and loads them before: kvtrace convert warmup "
        f"{shlex.quote(overview.path)}{options}",
        width,
    )
    return lines


def _unseen_text(overview: Overview, width: int) -> list[str]:
    """Return lines on sizes that would still compile, and on stages of compilations."""
    lines = (
        ["sizes that would still compile, with constants as recorded:"] if overview.unseen else []
    )
    for kernel in overview.unseen:
        constants = f" ({kernel.constants})" if kernel.constants else ""
        texts = [*kernel.sizes, *kernel.combinations]
        rest = len(texts) - _SHOWN_SIZES
        listed = "; ".join([*texts[:_SHOWN_SIZES], *([f"{rest} more"] if rest > 0 else [])])
        follows = f", where {' and '.join(kernel.follows)}" if kernel.follows else ""
        doubt = "" if kernel.certain else ", unless parameters are not specialized"
        lines += wrapped(f"{kernel.kernel}{constants}: {listed}{follows}{doubt}", width, 2)
    if overview.stages:
        names = list(dict.fromkeys(stage for kernel in overview.stages for stage in kernel.stages))
        rows = [
            [kernel.kernel, count(kernel.compilations), duration(kernel.compile_ns)]
            + [duration(kernel.stages[name]) if name in kernel.stages else "-" for name in names]
            + [duration(kernel.rest_ns)]
            for kernel in overview.stages
        ]
        lines += ["", *columns(("kernel", "compiled", "took", *names, "rest"), rows, width)]
    return lines
