"""A `Profile` as tables for a terminal: what was measured, and apart from it what was derived."""

from collections.abc import Sequence
from typing import Final

from kvtrace.converters.profile import Derived, KernelProfile, LineProfile, Profile
from kvtrace.converters.text import (
    amount,
    columns,
    count,
    duration,
    percent,
    plural,
    printable,
    shorten,
    size,
)

_SHOWN: Final = 25


def profile_text(profile: Profile, *, full: bool = False, width: int = 80) -> list[str]:
    """Return lines for a terminal: a table of what was measured, and one of what was derived."""
    launched = [k for k in profile.kernels if k.launches or k.tuning_launches]
    shown = launched if full else launched[:_SHOWN]
    if not shown:
        return ["no kernel was launched"]
    lines = [*_measured_text(shown, width), "", *_derived_text(profile, shown, width)]
    left = len(launched) - len(shown)
    if left:
        lines += ["", f"… {plural(left, 'more kernel')} (--full shows them)"]
    for kernel in shown:
        if kernel.calls:
            lines += ["", *_calls_text(kernel, full, width)]
    if profile.lines:
        lines += ["", *_lines_text(profile.lines, full, width)]
    return lines


def _measured_text(kernels: Sequence[KernelProfile], width: int) -> list[str]:
    device = any(k.measured.device_ns is not None for k in kernels)
    header = ["measured", "launches", "host", "median", "compile"]
    if device:
        header[4:4] = ["device", "median"]
    rows = []
    for k in kernels:
        cells = [
            k.name or "(no name)",
            count(k.launches),
            duration(k.measured.host_ns),
            duration(k.measured.host_median_ns),
        ]
        if device:
            cells += [duration(k.measured.device_ns), duration(k.measured.device_median_ns)]
        rows.append([*cells, duration(k.compile_ns)])
    lines = columns(header, rows, width)
    tuning = sum(k.tuning_launches for k in kernels)
    if tuning:
        lines.append(f"without {plural(tuning, 'launch')} of autotuners and warm-ups")
    return lines


def _derived_text(profile: Profile, kernels: Sequence[KernelProfile], width: int) -> list[str]:
    fill = f"kvtrace replay {profile.path}"
    if not profile.replayed:
        return [f"bytes and FLOPs (derived from the IR) are not known yet: {fill}"]
    header = ("derived", "bytes/launch", "FLOP/launch", "bytes", "FLOP", "FLOP/byte", "lanes on")
    rows = [(k.name or "(no name)", *_work_cells(k.derived)) for k in kernels]
    lines = columns(header, rows, width)
    if any(k.derived.unknown_accesses for k in kernels):
        lines.append(">: some accesses have masks that hang on data that was not recorded")
    if profile.missing_calls:
        lines.append(f"{plural(profile.missing_calls, 'launched call')} not in ops: {fill}")
    return lines


def _work_cells(derived: Derived) -> tuple[str, ...]:
    least = ">" if derived.unknown_accesses else ""
    intensity = "-" if derived.intensity is None else f"{derived.intensity:.2f}"
    return (
        least + size(derived.bytes_per_launch),
        amount(derived.flops_per_launch),
        least + size(derived.bytes),
        amount(derived.flops),
        intensity,
        percent(derived.mask_efficiency),
    )


def _calls_text(kernel: KernelProfile, full: bool, width: int) -> list[str]:
    shown = kernel.calls if full else kernel.calls[:_SHOWN]
    header = ("grid", "launches", "host", "device", "bytes/launch", "FLOP/launch", "lanes on")
    lines = [f"distinct calls of {shorten(printable(kernel.name), width - 20)}"]
    rows = []
    for call in shown:
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
    head, *body = columns(header, rows, width - 2)
    lines.append(f"  {head}")
    for call, line in zip(shown, body, strict=True):
        lines += [f"  {line}", f"      {shorten(printable(', '.join(call.tensors)), width - 6)}"]
    left = len(kernel.calls) - len(shown)
    return [*lines, f"  … {plural(left, 'more call')} (--full shows them)"] if left else lines


def _lines_text(all_lines: Sequence[LineProfile], full: bool, width: int) -> list[str]:
    shown = all_lines if full else all_lines[:_SHOWN]
    header = ("source line (derived)", "what", "bytes", "FLOP", "lanes on")
    rows = [
        (
            f"{line.file.rpartition('/')[2]}:{line.line}  {(line.source or '').strip()}",
            line.accesses,
            (">" if line.unknown_accesses else "") + size(line.bytes),
            amount(line.flops),
            percent(line.mask_efficiency),
        )
        for line in shown
    ]
    lines = columns(header, rows, width)
    left = len(all_lines) - len(shown)
    return [*lines, f"… {plural(left, 'more line')} (--full shows them)"] if left else lines
