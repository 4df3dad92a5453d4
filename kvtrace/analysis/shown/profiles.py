"""HTML of a profile: a table of kernels, with measured and derived columns apart."""

from typing import Final

from kvtrace.analysis.shown import markup
from kvtrace.analysis.shown.markup import Column
from kvtrace.converters.profile.advice_model import advice_lines
from kvtrace.converters.profile.profile import KernelProfile, Profile
from kvtrace.converters.profile.profile_text import profile_text
from kvtrace.text import amount, count, duration, percent, plural, shorten, size

_SHOWN: Final = 25
_NAME: Final = 60

_KERNEL: Final[Column[KernelProfile]] = Column(
    "kernel", lambda k: shorten(k.name or "(no name)", _NAME), kind="code"
)
_MEASURED: Final[tuple[Column[KernelProfile], ...]] = (
    Column(
        "launches", lambda k: count(k.launches), source="measured", kind="number",
        meaning="without those of autotuners and warm-ups",
    ),
    Column(
        "host", lambda k: duration(k.measured.host_ns), source="measured", kind="number",
        meaning="time in launching functions, without compiling",
    ),
    Column(
        "median", lambda k: duration(k.measured.host_median_ns), source="measured", kind="number",
        meaning="median host time of a launch",
    ),
    Column(
        "compile", lambda k: duration(k.compile_ns), source="measured", kind="number",
        meaning="time to compile all its variants",
    ),
)  # fmt: skip
_DEVICE: Final[Column[KernelProfile]] = Column(
    "device", lambda k: duration(k.measured.device_ns), source="measured", kind="number",
    meaning="time of its executions on the device",
)  # fmt: skip
_DERIVED: Final[tuple[Column[KernelProfile], ...]] = (
    Column(
        "bytes", lambda k: _bound_mark(k) + size(k.derived.bytes_per_launch), "a launch", "derived",
        "requested by active lanes; >: some masks depend on data that was not recorded", "number",
    ),
    Column(
        "distinct bytes", lambda k: size(_per_launch(k, k.derived.unique_bytes)), "a launch",
        "derived", "read and written, each counted once", "number",
    ),
    Column(
        "FLOP", lambda k: amount(k.derived.flops_per_launch), "a launch", "derived", "", "number"
    ),
    Column(
        "intensity", lambda k: _intensity(k), "FLOP per byte", "derived", "", "number",
    ),
    Column(
        "lanes on", lambda k: percent(k.derived.mask_efficiency), "of all", "derived",
        "share of the lanes of memory accesses that no mask turns off", "number",
    ),
    Column(
        "bound by", lambda k: k.roofline.bound if k.roofline else "-", "", "derived",
        "memory, compute, or data that caches serve again",
    ),
    Column(
        "at best", lambda k: duration(_per_launch(k, k.roofline.best_ns if k.roofline else None)),
        "a launch", "derived", "least time by the device's limits; not a measurement", "number",
    ),
)  # fmt: skip


def profile_html(profile: Profile) -> str:
    """Return HTML with a table of the kernels, advice, and the command's whole text."""
    launched_kernels = [k for k in profile.kernels if k.launches or k.tuning_launches]
    more_kernels = len(launched_kernels) - _SHOWN
    limit_note = f", the first {_SHOWN} of them" if more_kernels > 0 else ""
    kernels = plural(len(launched_kernels), "kernel")
    caption = f"profile <small>{markup.words(profile.path)}: {kernels}{limit_note}</small>"
    parts = [markup.table(_columns(profile), launched_kernels[:_SHOWN], caption)]
    if not profile.replayed:
        replay_hint = " yet: call .replay()"
        if profile.has_times_alone:
            replay_hint = ": the trace was imported without IR"
        parts.append(markup.paragraph(f"bytes and FLOPs are not known{replay_hint}"))
    elif profile.device is not None:
        limits = profile.device.limits
        limits_note = f"at best and bound: by the limits of {limits.name} ({limits.source})"
        parts.append(markup.paragraph(limits_note))
    parts += [markup.paragraph(line) for line in advice_lines(profile.advice)]
    command_output = markup.code(profile_text(profile, full=True, width=120))
    return markup.shown(
        *parts, markup.folded("as kvtrace profile --full prints it", command_output)
    )


def kernel_html(profile: Profile, kernel: KernelProfile) -> str:
    """Return an HTML table with a row for each figure of one kernel."""
    source_line = kernel.file and f"{kernel.file}:{kernel.line}"
    pairs = [(_heading(c), c) for c in _columns(profile)[1:]]
    rows = [(name, c.cell(kernel), c.source, c.meaning) for name, c in pairs]
    columns: list[Column[tuple[str, object, str, str]]] = [
        Column("figure", lambda row: row[0]),
        Column("value", lambda row: row[1], kind="number"),
        Column("source", lambda row: row[2]),
        Column("meaning", lambda row: row[3], kind="sentence"),
    ]
    caption = f"<code>{markup.words(kernel.name)}</code> <small>{markup.words(source_line)}</small>"
    return markup.shown(markup.table(columns, rows, caption))


def kernel_text(profile: Profile, kernel: KernelProfile) -> list[str]:
    """Return one kernel's name, and a line of text for each of its figures."""
    columns = _columns(profile)[1:]
    width = max(len(_heading(column)) for column in columns)
    lines = [f"  {_heading(c):<{width}}  {c.cell(kernel)} ({c.source})" for c in columns]
    source_line = f" at {kernel.file}:{kernel.line}" if kernel.file else ""
    return [f"{kernel.name}{source_line}", *lines]


def _columns(profile: Profile) -> list[Column[KernelProfile]]:
    timed = any(kernel.measured.device_ns is not None for kernel in profile.kernels)
    measured = [_MEASURED[0], _DEVICE, *_MEASURED[1:]] if timed else [*_MEASURED]
    return [_KERNEL, *measured, *(_DERIVED if profile.replayed else ())]


def _heading(column: Column[KernelProfile]) -> str:
    return f"{column.head}, {column.unit}" if column.unit else column.head


def _bound_mark(kernel: KernelProfile) -> str:
    return ">" if kernel.derived.unknown_accesses else ""


def _intensity(kernel: KernelProfile) -> str:
    intensity = kernel.derived.intensity
    return "-" if intensity is None else f"{intensity:.2f}"


def _per_launch(kernel: KernelProfile, total: float | None) -> float | None:
    return None if total is None or not kernel.runs else total / kernel.runs
