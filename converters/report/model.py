"""What the page shows, as plain data. Field names here are the names that the page's code reads.

Ids of the trace are unique inside a run only; here everything is an index into a tuple of the
report, so that the runs of one job can be on one page. None means "not known": the page shows
that and never a zero for it. Times are whole nanoseconds, sizes bytes.
"""

from dataclasses import dataclass, field
from typing import Final, Literal, TypedDict

from kvtrace.converters.findings.model import Finding
from kvtrace.converters.profile.device_limits import ChosenDevice
from kvtrace.converters.profile.device_time import DeviceTime
from kvtrace.converters.profile.occupancy import Occupancy
from kvtrace.converters.profile.roofline import Position
from kvtrace.converters.profile.specialization import Change
from kvtrace.converters.report.answer import Answer
from kvtrace.converters.report.slices import Bins, Executions, Slices
from kvtrace.figures.identity import KernelKey
from kvtrace.figures.window import Window

__all__ = [
    "MEASURED",
    "Argument",
    "Call",
    "FindingCount",
    "Kernel",
    "Limits",
    "Mark",
    "Message",
    "Parameter",
    "PlacedFinding",
    "Recompiled",
    "Report",
    "Roofline",
    "Run",
    "SourceFile",
    "Stage",
    "Totals",
    "Track",
    "Variant",
]


@dataclass(frozen=True, slots=True)
class Run:
    """One captured process."""

    run_id: str
    label: str
    command: str | None
    directory: str | None
    host: str | None
    pid: int | None
    rank: int | None
    started: str | None
    duration_ns: int | None
    git_commit: str | None
    git_branch: str | None
    git_dirty: bool | None
    versions: dict[str, str]
    devices: tuple[str, ...]
    mode: str | None
    settings: dict[str, str]
    ending: str | None
    sealed: bool
    schema_version: str | None
    self_overhead_ns: int | None
    overhead: str | None
    dropped_rows: int | None


@dataclass(frozen=True, slots=True)
class Totals:
    """Figures over all runs of the page. Derived ones are None until their pass has run."""

    launches: int = 0
    host_ns: int = 0
    compile_ns: int = 0
    kernels: int = 0
    variants: int = 0
    calls: int = 0
    gpu_kernels: int | None = None
    device_ns: int | None = None
    bytes: int | None = None
    flops: int | None = None
    evaluated_calls: int | None = None
    violations: int | None = None
    """Distinct findings with that verdict."""
    phases: dict[str, int] = field(default_factory=dict)
    stages: dict[str, int] = field(default_factory=dict)
    """Compile time of each stage over all variants, where it was timed."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel function: all its variants together."""

    name: str
    module: str | None
    file: str | None
    line: int | None
    origin: str | None
    variants: tuple[int, ...]
    calls: int
    launches: int
    tuning_launches: int
    """Those of autotuners and warm-ups, which are in no other figure."""
    runs: int
    """The launches, but those captured into a graph count as often as it was replayed."""
    host_ns: int
    device_ns: int | None
    device_executions: int | None
    bytes: int | None
    flops: int | None
    """Bytes and FLOPs of all runs of the calls that were replayed."""
    best_ns: float | None
    """Time at best of all runs on `Report.limits`; None unless every call that ran has one."""
    achieved: float | None
    """Share of the time at best in the measured time of as many runs."""
    compile_ns: int | None
    registers: int | None
    spills: int | None
    shared_bytes: int | None
    violations: int | None
    unknowns: int | None
    judged: int
    """Accesses of its calls with any verdict."""
    further: dict[str, float | None]
    """By name, the figures of `Report.further`."""


class Parameter(TypedDict):
    """A parameter of a kernel: its type, or the constant that is compiled in."""

    name: str | None
    type: str | None
    constexpr: str | None
    divisibility: int | None


@dataclass(frozen=True, slots=True)
class Stage:
    """One compiler stage of a variant. `text` is an index into `Report.texts`."""

    stage: str
    text: int | None
    size_bytes: int | None
    duration_ns: int | None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A source file; `first_line` is the number of the text's first line in the file."""

    path: str
    text: int | None
    first_line: int = 1


@dataclass(frozen=True, slots=True)
class Recompiled:
    """What differs from the nearest variant of the same kernel that the run compiled before."""

    nearest: int
    """Index into `Report.variants`."""
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """One compiled variant of a kernel."""

    kernel: int
    run: int
    kernel_id: int
    target: str | None
    warp_size: int | None
    num_warps: int | None
    num_ctas: int | None
    num_stages: int | None
    options: dict[str, str]
    shared_bytes: int | None
    registers: int | None
    spills: int | None
    cache_hit: bool | None
    cache_key: str | None
    compile_begin: int | None
    """Since the page's origin."""
    compile_ns: int | None
    recompiled: Recompiled | None
    """None for the first variant of a kernel in its run."""
    occupancy: Occupancy | None
    signature: tuple[Parameter, ...]
    stages: tuple[Stage, ...]
    files: tuple[SourceFile, ...]
    launches: int
    calls: int
    host_ns: int


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call."""

    name: str | None
    kind: str | None
    dtype: str | None
    device: str | None
    shape: tuple[int, ...] | None
    strides: tuple[int, ...] | None
    offset_bytes: int | None
    storage_bytes: int | None
    alias_group: int | None
    alignment: int | None
    scalar: str | None
    value: str | None = None
    """Names the block `tensor/<value>` where the contents were recorded."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """Where one launch of a call is under the roof of `Report.limits`.

    `position` has roofline times; `intensity` is FLOPs per distinct byte (None: no bytes). In FLOPs
    per second, `roof` is what its mix of operations could reach (None: no FLOPs), `attainable` what
    it could in its roofline time, `reached` what it did in its measured median device time.
    `achieved` is the roofline time as a share of that median.
    """

    position: Position
    intensity: float | None
    roof: float | None
    attainable: float | None
    reached: float | None
    achieved: float | None


@dataclass(frozen=True, slots=True)
class Call:
    """A unique call. `args` are indices into `Report.arguments`, `stack` into `stacks`."""

    variant: int
    run: int
    call_id: int
    grid: tuple[int | None, int | None, int | None]
    args: tuple[int, ...]
    stack: int | None
    launches: int
    tuning_launches: int
    runs: int
    """As in `Kernel`."""
    host_ns: int
    host_median_ns: float | None
    """Of launches outside autotuning and warm-up, as the median on the device."""
    device_ns: int | None
    device_executions: int | None
    device_median_ns: float | None
    bytes: int | None
    flops: int | None
    """Bytes and FLOPs of one launch; bytes are a lower bound if `unknown_accesses` is not 0."""
    unique_bytes: int | None
    """Distinct bytes that one launch reads, and that it writes."""
    mask_efficiency: float | None
    sector_efficiency: float | None
    unknown_accesses: int | None
    roofline: Roofline | None


@dataclass(frozen=True, slots=True)
class Limits:
    """Peaks of the device that figures are compared with: bytes and operations per second."""

    name: str
    how: str
    """Recorded, given, or assumed."""
    reported: str | None
    source: str
    """The data sheet."""
    bandwidth: float
    matrix: dict[str, float]
    """By element type."""
    vector: dict[str, float]


@dataclass(frozen=True, slots=True)
class PlacedFinding:
    """A violation, an unknown or a note, and where it is on the page.

    `found` leaves its stacks out: `stack` and `other_stack` are indices into `Report.stacks`.
    """

    found: Finding
    kernel: int | None
    variant: int | None
    call: int | None
    stack: int | None
    other_stack: int | None = None
    op: int | None = None
    """`op_index` of the op in the call's TTIR, as in the block `call/<call>`."""
    other_op: int | None = None
    in_calls: tuple[int, ...] = ()
    """Calls that have it, the first 100; the witness is that of `call`."""
    cause: int | None = None
    """Index into `Report.causes`; None for a lint of generated code."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What the terminal prints once: findings that one change would end, over unique calls."""

    calls: int
    launches: int


@dataclass(frozen=True, slots=True)
class FindingCount:
    """How many accesses (over unique calls) got a verdict."""

    rule: str | None
    verdict: str | None
    severity: str | None
    count: int


@dataclass(frozen=True, slots=True)
class Message:
    """What kvtrace itself had to say of a run."""

    run: int
    level: str | None
    code: str | None
    text: str | None
    count: int | None


@dataclass(frozen=True, slots=True)
class Mark:
    """A user's range, or an instant (duration None), since the page's origin."""

    run: int
    name: str | None
    begin: int
    duration: int | None
    thread: int | None
    attributes: dict[str, str]


@dataclass(frozen=True, slots=True)
class Track:
    """One row of the timeline: a host thread, or a stream of a device."""

    label: str
    kind: str
    run: int
    thread: int | None


@dataclass(frozen=True, slots=True)
class FurtherFigure:
    """A figure of kernels that no code names (`kvtrace/figures/kernels.py`); it was measured."""

    name: str
    unit: Literal["count", "ns", "bytes"]
    label: str


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that the page shows, before it is fitted into its budget."""

    title: str
    trace: str
    kvtrace: str
    origin: str | None
    """Time of the first thing on the timeline, ISO 8601 in UTC."""
    span_ns: int
    runs: tuple[Run, ...]
    totals: Totals
    limits: ChosenDevice | None
    """What rooflines are drawn for: recorded, or assumed for the kernels' compile target."""
    measured: dict[str, dict[str, bool]]
    """Where figures are from, by kind of row and field (`MEASURED`)."""
    further: tuple[FurtherFigure, ...]
    kernels: tuple[Kernel, ...]
    variants: tuple[Variant, ...]
    arguments: tuple[Argument, ...]
    calls: tuple[Call, ...]
    stacks: tuple[tuple[tuple[str | None, int | None, str | None], ...], ...]
    """Frames innermost first: file, line, function."""
    findings: tuple[PlacedFinding, ...]
    causes: tuple[Cause, ...]
    """In the order in which the terminal prints them."""
    lints: tuple[str, ...]
    """What the terminal says of lints of generated code, which it does not print one by one."""
    finding_counts: tuple[FindingCount, ...] | None
    """None where nothing was judged and the runs saw nothing."""
    judged: bool
    """Whether `kvtrace sanitize` has run; without it, findings are what the runs saw themselves."""
    messages: tuple[Message, ...]
    notes: tuple[str, ...]
    """What reading the trace found that is worth saying, as a torn journal."""
    marks: tuple[Mark, ...]
    compiles: tuple[tuple[int, int, int, int], ...]
    """Variant, begin since the origin, duration, track."""
    tracks: tuple[Track, ...]
    phases: tuple[str, ...]
    device_names: tuple[str, ...]
    """Names of device functions, also of those that no launch here is known for."""
    device_kinds: tuple[str, ...]
    """Of each, whose it is: Triton, a library's name, copy, fill or other."""
    answer: Answer | None
    """Where the time went and what to try: the first screen; None without times."""
    window: Window | None
    """The part of the runs that times of kernels and devices are of; None: nothing has a time."""
    device_time: DeviceTime | None
    """All that devices did, whoever launched it; None without a device timeline."""
    launches: Slices
    """All that have a time, or of very many an even choice; likewise executions in `device`."""
    device: Executions
    rows: dict[str, int]
    """By table (launches, gpu_kernels), how many rows with a time there are."""
    bins: Bins | None
    """All launches, counted, where `launches` is a choice."""
    texts: tuple[tuple[str, str], ...]
    """Stage (or "source") and sha256 of each text; the content is read when the page is written."""
    stack_places: dict[int, int]
    """The trace's `stack_id` → index into `stacks`."""
    stage_artifacts: tuple[dict[str, str], ...]
    """For each variant: stage → sha256."""
    kernel_keys: tuple[KernelKey, ...]
    """Which kernel each of `kernels` is."""


#: Whether a figure was measured while the program ran (or reported by the compiler), or worked out
#: afterwards from IR and arguments. By field of `Totals`, `Kernel`, `Variant` and `Call`.
MEASURED: Final[dict[str, dict[str, bool]]] = {
    kind: {**dict.fromkeys(measured.split(), True), **dict.fromkeys(derived.split(), False)}
    for kind, measured, derived in (
        (
            "totals",
            "launches host_ns compile_ns kernels variants calls gpu_kernels device_ns",
            "bytes flops evaluated_calls violations",
        ),
        (
            "kernels",
            "calls launches tuning_launches runs host_ns device_ns device_executions compile_ns "
            "registers spills shared_bytes",
            "bytes flops best_ns achieved violations unknowns judged",
        ),
        (
            "variants",
            "warp_size num_warps num_ctas num_stages shared_bytes registers spills compile_ns "
            "launches calls host_ns",
            "occupancy",
        ),
        (
            "calls",
            "launches tuning_launches runs host_ns host_median_ns device_ns device_executions "
            "device_median_ns",
            "bytes flops unique_bytes mask_efficiency sector_efficiency unknown_accesses roofline",
        ),
    )
}
