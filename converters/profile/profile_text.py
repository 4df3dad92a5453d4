"""Text of a `Profile`: tables for a terminal, measured and derived figures separately."""

from collections.abc import Mapping, Sequence
from typing import Final

from kvtrace.converters.profile.device_limits import ChosenDevice, Position
from kvtrace.converters.profile.device_text import (
    busy_sentence,
    device_text,
    gaps_text,
    ranks_text,
    step_sentences,
)
from kvtrace.converters.profile.one_table import table_text
from kvtrace.converters.profile.profile_model import (
    Derived,
    FlopsByType,
    KernelProfile,
    Profile,
    advice_lines,
    profile_sections,
)
from kvtrace.converters.profile.profile_tables import ratio
from kvtrace.figures.identity import names_apart
from kvtrace.figures.kernels import (
    DEVICE_MEDIAN,
    FURTHER,
    HOST_MEDIAN,
    KERNEL_FIGURES,
)
from kvtrace.figures.layouts import BANK_WAYS, LAYOUT_FIGURES, LayoutFigure, LineLayout
from kvtrace.figures.window import nothing_sentence
from kvtrace.text import (
    amount,
    columns,
    count,
    duration,
    percent,
    plural,
    printable,
    quantity,
    shorten,
    size,
    wrapped,
)

_MOST_SHOWN: Final = 25
_SHOWN_ADVICE: Final = 5
_SHOWN_GAPS: Final = 3
_SHOWN_ROWS: Final = 15
_ON_DEVICE: Final = (KERNEL_FIGURES["device_ns"], DEVICE_MEDIAN)
_ON_HOST: Final = (KERNEL_FIGURES["host_ns"], HOST_MEDIAN)


def profile_text(profile: Profile, *, full: bool = False, width: int = 80) -> list[str]:
    """Return lines for a terminal: how busy devices were, advice, and a table of work by time.

    `full` shows every row, and adds tables of each kernel's measured and derived figures.
    """
    launched = profile.launched
    lines = [*_summary_text(profile, full, width)]
    if profile.is_empty:
        return [*lines, nothing_sentence(profile.window, imported=profile.imported)]
    lines += table_text(profile, None if full else _SHOWN_ROWS, width)
    lines += _notes_text(profile, launched, width, full=full)
    if profile.gaps is not None and profile.gaps.groups:
        lines += ["", *gaps_text(profile.gaps, None if full else _SHOWN_GAPS, width)]
    if full and launched:
        lines += ["", *_detailed_tables_text(profile, launched, width)]
    for name, section in profile_sections().items():
        section_rows = profile.sections.get(name, ())
        if section_rows:
            lines += [
                "",
                *section.text(section_rows if full else section_rows[:_MOST_SHOWN], width),
            ]
    for kernel in launched if full else launched[:_MOST_SHOWN]:
        if kernel.calls:
            lines += ["", *_calls_text(kernel, full, width)]
    if profile.lines:
        lines += ["", *_lines_text(profile, full, width)]
    return lines


def _summary_text(profile: Profile, full: bool, width: int) -> list[str]:
    """Return the first lines: the profiled part of the run, the devices' busy time, and advice.

    Without `full`, only the first pieces of advice. [] if there is nothing to say.
    """
    lines = []
    time = profile.device_time
    if profile.window is not None and profile.window.how != "whole" and time is not None:
        lines += wrapped(profile.window.sentence, width)
    if time is not None and (profile.ranks is None or not profile.ranks.matched):
        lines += wrapped(busy_sentence(time.busy, profile.gaps, time.devices), width)
    if profile.ranks is not None:
        lines += ranks_text(profile.ranks, width)
    for sentence in notable_sentences(profile):
        lines += wrapped(sentence, width)
    advice = profile.advice if full else profile.advice[:_SHOWN_ADVICE]
    if advice:
        lines += ["what to try"]
        for sentence in advice_lines(advice, None if time is None else time.busy.span_ns):
            lines += wrapped(sentence, width)
        hidden_count = len(profile.advice) - len(advice)
        if hidden_count:
            lines.append(f"… {hidden_count} more (--full shows them)")
    return [*lines, ""] if lines else []


def notable_sentences(profile: Profile) -> list[str]:
    """Return sentences on uncertain figures, graph replays, slow steps, and costly launches."""
    replays = profile.graph_replays
    costs = [cost.sentence for cost in profile.launch_costs]
    of_graphs = [] if replays is None else [replays.sentence]
    return [*profile.uncertain, *of_graphs, *step_sentences(profile.gaps), *costs]


def _notes_text(
    profile: Profile, kernels: Sequence[KernelProfile], width: int, *, full: bool
) -> list[str]:
    """Return sentences on the table: the roofline's device, missing figures, excluded launches."""
    lines = []
    if not profile.replayed:
        if profile.replay_helps:
            lines += wrapped(_not_derived_sentence(profile), width)
    elif profile.device is None:
        if full or any(k.measured.device_ns is not None for k in kernels):
            lines += wrapped("no limits of the device are known: --device NAME", width)
    elif full or any(k.roofline is not None and k.roofline.achieved for k in kernels):
        lines += wrapped(_limits_sentence(profile.device), width)
    if profile.replayed and profile.missing_calls:
        lines.append(_missing_calls_sentence(profile))
    if profile.not_evaluated is not None:
        lines += wrapped(profile.not_evaluated, width)
    for kernel in kernels if full else kernels[:_SHOWN_ROWS]:
        if kernel.stated is not None:
            lines += wrapped(f"a launch of {kernel.name}: {kernel.stated.sentence}", width)
    return lines + _excluded_text(profile, kernels, width)


def _detailed_tables_text(
    profile: Profile, kernels: Sequence[KernelProfile], width: int
) -> list[str]:
    """Return the tables of each kernel's measured and derived figures."""
    named = list(zip(names_apart(kernels), kernels, strict=True))
    lines = []
    if profile.device_time is not None:
        lines += [*device_text(profile.device_time, None, "--full", width), ""]
    lines += [*_measured_text(profile, named, width), "", *_derived_text(profile, named, width)]
    if profile.replayed:
        lines += ["", *_flops_text(named, width), "", *_roofline_text(profile, named, width)]
    return lines


#: Kernels with their shown names.
_Kernels = Sequence[tuple[str, KernelProfile]]


def _measured_text(profile: Profile, kernels: _Kernels, width: int) -> list[str]:
    # Where there is a table of all that devices did, it has kernels' times on them.
    has_own_device_times = profile.device_time is None and any(
        k.measured.device_executions for _, k in kernels
    )
    shown_figures = (*(_ON_DEVICE if has_own_device_times else ()), *_ON_HOST)
    header = (
        "measured",
        "launches",
        *(f.label if f.adds_up else "median" for f in (*shown_figures, *FURTHER)),
        "compile",
    )
    rows = [
        (
            name,
            count(k.launches),
            *(quantity(getattr(k.measured, figure.name), figure.unit) for figure in shown_figures),
            *(quantity(k.measured.further[figure.name], figure.unit) for figure in FURTHER),
            duration(k.compile_ns),
        )
        for name, k in kernels
    ]
    return columns(header, rows, width)


def _untimed_sentence(profile: Profile, kernels: Sequence[KernelProfile]) -> str:
    """Return what a profile without a device timeline shows instead, and how to record one."""
    advice = "record with KVTRACE_MODE=timeline to see when kernels ran"
    if not profile.on_host:
        return f"no device times: {advice}"
    is_timed = any(k.measured.host_ns is not None for k in kernels)
    meaning = ": host time is what kernels took on the CPU" if is_timed else ""
    return f"no device was seen{meaning}; where there is a GPU, {advice}"


def _excluded_text(profile: Profile, kernels: Sequence[KernelProfile], width: int) -> list[str]:
    """Return sentences on launches that times exclude, and on launches without timed executions.

    Excluded are launches of autotuners and warm-ups, and those that compiled or loaded the kernel.
    """
    lines = []
    if profile.device_time is None and not profile.imported:
        lines += wrapped(_untimed_sentence(profile, kernels), width)
    tuning_launches = sum(k.tuning_launches for k in kernels)
    time = profile.device_time
    excluded = [plural(tuning_launches, "launch")] if tuning_launches else []
    if time is not None and time.tuning_executions:
        executions = plural(time.tuning_executions, "execution")
        excluded.append(f"{executions} ({duration(time.tuning_ns)})")
    if excluded:
        text = f"excluded: {' and '.join(excluded)} of autotuners and warm-ups"
        lines += wrapped(text, width)
    compiling_launches = sum(k.measured.compiling_launches for k in kernels)
    if compiling_launches:
        compiling_ns = sum(k.measured.compiling_ns or 0 for k in kernels)
        launches = plural(compiling_launches, "launch")
        is_timed = any(k.measured.host_ns is not None for k in kernels)
        excludes = "host time excludes" if is_timed else "no host time is shown of"
        text = f"{excludes} {launches} that compiled or loaded the kernel"
        lines += wrapped(f"{text} ({duration(compiling_ns)})", width)
    if profile.device_time is not None or any(k.measured.device_executions for k in kernels):
        lines += _executed_text(kernels, width)
    return lines


def _executed_text(kernels: Sequence[KernelProfile], width: int) -> list[str]:
    """Return sentences on launches without timed executions, and on graph replays."""
    executions = sum(k.measured.device_executions for k in kernels)
    runs = sum(k.runs for k in kernels)
    lines = []
    if executions < runs:
        text = f"{executions:,} of the {runs:,} launches were timed on the device"
        lines += wrapped(text, width)
    elif executions > runs:
        others = f"{executions - runs:,} of {plural(executions, 'execution')}"
        lines += wrapped(f"{others} have no launch of their own", width)
    replayed = [k for k in kernels if k.runs != k.launches]
    if replayed:
        launches, runs = (sum(getattr(k, n) for k in replayed) for n in ("launches", "runs"))
        text = f"{plural(len(replayed), 'kernel')} ran {runs:,} times: "
        text = f"{plural(launches, 'launch')} of {text}" if launches else text
        lines += wrapped(f"{text}one captured into a graph runs at each replay of it", width)
    return lines


def _not_derived_sentence(profile: Profile) -> str:
    """Return a sentence: derived figures are not known, and which command derives them."""
    derived = "bytes, FLOPs and --lines (derived from the IR)"
    return f"{derived} are not known yet: kvtrace profile {profile.path} --replay"


def _missing_calls_sentence(profile: Profile) -> str:
    calls = plural(profile.missing_calls, "launched call")
    return f"{calls} not in ops: kvtrace profile {profile.path} --replay"


def _derived_text(profile: Profile, kernels: _Kernels, width: int) -> list[str]:
    if not profile.replayed:
        return [_not_derived_sentence(profile)] if profile.replay_helps else []
    header = ("derived", "bytes/launch", "FLOP/launch", "bytes", "FLOP", "FLOP/byte", "lanes on")
    rows = [(name, *_work_cells(k.derived)) for name, k in kernels]
    lines = columns(header, rows, width)
    if any(k.derived.unknown_accesses for _, k in kernels):
        lines.append(">: some accesses have masks that depend on data that was not recorded")
    if profile.missing_calls:
        lines.append(_missing_calls_sentence(profile))
    return lines


def _flops_text(kernels: _Kernels, width: int) -> list[str]:
    rows = [(name, _flops_by_type_text(kernel.derived.flops_by_type)) for name, kernel in kernels]
    return columns(("derived", "FLOP by type"), rows, width)


def _flops_by_type_text(flops: FlopsByType | None) -> str:
    if flops is None:
        return "-"
    type_texts = [f"dot {dtype} {amount(number)}" for dtype, number in sorted(flops.dot.items())]
    type_texts += [f"{dtype} {amount(number)}" for dtype, number in sorted(flops.other.items())]
    return ", ".join(type_texts) or "none"


_DEVICES: Final = {"given": "", "recorded": "", "assumed": ", assumed from the compile target"}


def _limits_sentence(device: ChosenDevice) -> str:
    limits = device.limits
    bandwidth = amount(limits.bandwidth, "B/s")
    return (
        f"roofline: share of the limits of {limits.name} ({bandwidth}; {limits.source})"
        f"{_DEVICES[device.how]}"
    )


_UNIQUE: Final = (
    "unique: distinct bytes a launch reads and writes; reuse: accesses of each of these bytes"
)
_BOUND: Final = (
    "bound: by memory even if each byte is moved once, by compute even if nothing is cached, "
    "or it depends on caches; at best: least time for a launch, not a measurement"
)
_BOUND_WITHOUT_CACHES: Final = (
    "bound: by memory or by compute, at the bytes requested: the device has no caches; "
    "at best: least time for a launch, not a measurement"
)


def _sectors_sentence(models: Mapping[str, int]) -> str:
    text = "sectors: share of the 32-byte sectors' bytes that was requested"
    total = sum(models.values())
    if total:
        compiled = models.get("by_compiled_layout", 0)
        text += f", by the compiled layout of threads for {compiled:,} of {total:,} accesses"
    return f"{text} (a model: docs/accesses.md)"


def _has_sectors(profile: Profile) -> bool:
    """Return whether to show sectors: the device has caches, or is not known."""
    return profile.device is None or profile.device.limits.has_caches


def _roofline_text(profile: Profile, kernels: _Kernels, width: int) -> list[str]:
    device = profile.device
    has_device_times = any(k.measured.device_ns is not None for _, k in kernels)
    has_sectors = _has_sectors(profile)
    header = [
        "derived",
        "unique",
        "reuse",
        *(["sectors"] if has_sectors else []),
        "bound",
        "at best",
    ]
    if has_device_times:
        header.append("of measured")
    rows = []
    for name, kernel in kernels:
        cells = [
            name,
            size(ratio(kernel.derived.unique_bytes, kernel.runs)),
            "-" if kernel.derived.reuse is None else f"{kernel.derived.reuse:.1f} x",
            *([percent(kernel.derived.sector_efficiency)] if has_sectors else []),
            *_position_cells(kernel.roofline, kernel.runs),
        ]
        rows.append(cells if has_device_times else cells[:-1])
    lines = columns(header, rows, width)
    if device is None:
        return lines
    limits = device.limits
    bound = _BOUND if limits.has_caches else _BOUND_WITHOUT_CACHES
    sentences = (
        (_UNIQUE, _sectors_sentence(profile.sectors), bound) if has_sectors else (_UNIQUE, bound)
    )
    for sentence in sentences:
        lines += wrapped(sentence, width)
    if profile.left_out:
        lines.append(f"replay left out {plural(len(profile.left_out), 'figure')} for the cost")
    return lines


def _position_cells(position: Position | None, runs: int) -> tuple[str, str, str]:
    if position is None:
        return "-", "-", "-"
    return (
        position.bound,
        duration(ratio(position.best_ns, runs)),
        percent(position.achieved),
    )


def _work_cells(derived: Derived) -> tuple[str, ...]:
    bound_mark = ">" if derived.unknown_accesses else ""
    intensity = "-" if derived.intensity is None else f"{derived.intensity:.2f}"
    return (
        bound_mark + size(derived.bytes_per_launch),
        amount(derived.flops_per_launch),
        bound_mark + size(derived.bytes),
        amount(derived.flops),
        intensity,
        percent(derived.mask_efficiency),
    )


def _calls_text(kernel: KernelProfile, full: bool, width: int) -> list[str]:
    shown_calls = kernel.calls if full else kernel.calls[:_MOST_SHOWN]
    header = ("grid", "launches", "host", "device", "bytes/launch", "FLOP/launch", "lanes on")
    lines = [f"unique calls of {shorten(printable(kernel.name), width - 20)}"]
    lines += [] if kernel.headline is None else wrapped(kernel.headline, width)
    rows = []
    for call in shown_calls:
        work = _work_cells(call.derived)
        rows.append(
            (
                " x ".join(map(str, call.grid)),
                count(call.launches),
                duration(call.measured.host_ns),
                duration(call.measured.device_ns),
                work[0],
                work[1],
                work[5],
            )
        )
    table = [f"  {line}" for line in columns(header, rows, width - 2, texts=())]
    height = len(table) // (len(rows) + 1)  # lines of a row: as many of each, without texts
    lines += table[:height]
    for number, call in enumerate(shown_calls, 1):
        lines += table[number * height : (number + 1) * height]
        lines.append(f"      {shorten(printable(', '.join(call.tensors)), width - 6)}")
    hidden_count = len(kernel.calls) - len(shown_calls)
    return (
        [*lines, f"  … {plural(hidden_count, 'more call')} (--full shows them)"]
        if hidden_count
        else lines
    )


def _lines_text(profile: Profile, full: bool, width: int) -> list[str]:
    all_lines = profile.lines
    shown_lines = all_lines if full else all_lines[:_MOST_SHOWN]
    sectors = ["sectors"] if _has_sectors(profile) else []
    layouts = [line.layout for line in shown_lines]
    figures = [f for f in LAYOUT_FIGURES if any(_layout_cell(f, of) != "-" for of in layouts)]
    header = ("source line (derived)", "bytes", "FLOP", "lanes on", *sectors, "reuse")
    rows = [
        (
            f"{line.file.rpartition('/')[2]}:{line.line}  {(line.source or '').strip()}",
            (">" if line.unknown_accesses else "") + size(line.bytes),
            amount(line.flops),
            percent(line.mask_efficiency),
            *([percent(line.sector_efficiency)] if sectors else []),
            "-" if line.reuse is None else f"{line.reuse:.1f} x",
            *(_layout_cell(figure, line.layout) for figure in figures),
        )
        for line in shown_lines
    ]
    lines = columns((*header, *(figure.label for figure in figures)), rows, width)
    meanings = [
        "lanes on: share of the lanes that masks leave on",
        *([_sectors_sentence(profile.sectors)] if sectors else []),
        "reuse: how often an op asks for each of its bytes",
        *(f"{figure.label}: {figure.meaning}" for figure in figures),
    ]
    lines += [line for meaning in meanings for line in wrapped(meaning, width)]
    for reason in dict.fromkeys(why for of in layouts for why in of.unknown.values()):
        lines += wrapped(f"?: {reason}", width)
    hidden_count = len(all_lines) - len(shown_lines)
    if hidden_count:
        lines.append(f"… {plural(hidden_count, 'more line')} (--full shows them)")
    return lines


def _layout_cell(figure: LayoutFigure, layout: LineLayout) -> str:
    if figure.name in layout.unknown:
        return "?"
    text = quantity(layout.values.get(figure.name), figure.unit)
    return f"~{text}" if layout.by_model and figure is BANK_WAYS else text
