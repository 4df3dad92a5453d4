"""Records of the page's data. Field names are the names that the page's code reads.

Ids of the trace are unique only within a run; here all references are indexes into a tuple of the
report, so that the runs of one job share a page. None means "not known", which the page never shows
as zero. Times are whole nanoseconds, sizes bytes.
"""

from dataclasses import dataclass, field
from typing import Final, Literal, TypedDict

from kvtrace.converters.findings.model import Finding
from kvtrace.converters.profile.call_tree import CallSums
from kvtrace.converters.profile.device_limits import ChosenDevice, Occupancy, Position
from kvtrace.converters.profile.recompiles import Change
from kvtrace.converters.report.answer import Answer
from kvtrace.converters.report.costly_lines import CostlyLines
from kvtrace.converters.report.detail import Range
from kvtrace.converters.report.slices import Bins, Executions, Slices
from kvtrace.figures.device_time import DeviceTime
from kvtrace.figures.identity import KernelKey
from kvtrace.figures.window import Window


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
    """Sums over all runs of the page; derived figures are None until their pass has run."""

    launches: int = 0
    host_ns: int = 0
    compile_ns: int | None = None
    kernels: int = 0
    variants: int = 0
    calls: int = 0
    gpu_kernels: int | None = None
    device_ns: int | None = None
    bytes: int | None = None
    flops: int | None = None
    evaluated_calls: int | None = None
    violations: int | None = None
    """Errors and warnings on accesses, over unique calls."""
    phases: dict[str, int] = field(default_factory=dict)
    stages: dict[str, int] = field(default_factory=dict)
    """Compile time in ns by stage, over all variants."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel function with sums over all its variants and calls."""

    name: str
    module: str | None
    file: str | None
    line: int | None
    origin: str | None
    variants: tuple[int, ...]
    """Indexes of the variants on the page."""
    compilations: int
    """Number of variants, over all runs."""
    calls: int
    launches: int
    tuning_launches: int
    """Launches of autotuners and warm-ups, which no other figure includes."""
    runs: int
    """Launches, where a launch captured into a graph counts once per replay of the graph."""
    host_ns: int
    device_ns: int | None
    device_executions: int | None
    bytes: int | None
    flops: int | None
    """Bytes and FLOPs over all runs of replayed calls."""
    best_ns: float | None
    """Best time of all runs on `Report.limits`; None unless known for every executed call."""
    achieved: float | None
    """Best time divided by the measured device time."""
    compile_ns: int | None
    registers: int | None
    spills: int | None
    shared_bytes: int | None
    violations: int | None
    errors: int | None
    """Those of `violations` that are errors; the others are warnings."""
    unknowns: int | None
    judged: int
    """Number of accesses of the kernel's calls with any verdict."""
    unjudged_calls: int
    """Number of calls that were not judged before the time was used up (`Report.partial`)."""
    without_ir: bool
    """A variant has no IR, so that nothing can be evaluated or judged of its calls."""
    further: dict[str, float | None]
    """Values of the figures in `Report.further`, by name."""
    headline: str | None = None
    """A sentence on its share, what bounds it, and what to try; None if nothing is known."""


class Parameter(TypedDict):
    """A parameter of a kernel: its type, or its compile-time constant."""

    name: str | None
    type: str | None
    constexpr: str | None
    divisibility: int | None


@dataclass(frozen=True, slots=True)
class Stage:
    """A compiler stage of a variant. `text` is an index into `Report.texts`."""

    stage: str
    text: int | None
    size_bytes: int | None
    duration_ns: int | None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A source file; its text (an index into `Report.texts`) begins at `first_line`."""

    path: str
    text: int | None
    first_line: int = 1


@dataclass(frozen=True, slots=True)
class Recompiled:
    """Changes of a variant from the most similar one that the run compiled earlier."""

    nearest: int
    """Index into `Report.variants`."""
    changes: tuple[Change, ...]
    again: bool | None
    """The run compiled the variant; false: loaded it from a cache; None: not recorded."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A compiled variant of a kernel."""

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
    """Time since the page's origin."""
    compile_ns: int | None
    load_begin: int | None
    """Time since the page's origin at which the binary began to be loaded onto a device."""
    load_ns: int | None
    recompiled: Recompiled | None
    """None for the first variant of a kernel in its run."""
    reason: str
    """The reason for the variant: what differs from the most similar earlier one."""
    occupancy: Occupancy | None
    signature: tuple[Parameter, ...]
    stages: tuple[Stage, ...]
    files: tuple[SourceFile, ...]
    launches: int
    calls: int
    host_ns: int


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call."""

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
    """Name of the block `tensor/<value>`, if the contents were recorded."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """Roofline position of one launch of a call on `Report.limits`.

    `position` has roofline times; `intensity` is FLOPs per distinct byte (None: no bytes). In FLOPs
    per second, `roof` is the peak for the launch's mix of operations (None: no FLOPs), `attainable`
    the rate in its roofline time, `reached` the rate in its measured median device time. `achieved`
    is the roofline time over that median.
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
    """Number of runs, as in `Kernel`."""
    host_ns: int
    host_median_ns: float | None
    """Median over launches outside autotuning and warm-up; `device_median_ns` likewise."""
    device_ns: int | None
    device_executions: int | None
    device_median_ns: float | None
    bytes: int | None = None
    flops: int | None = None
    """Bytes and FLOPs of one launch; bytes are a lower bound if `unknown_accesses` is not 0."""
    unique_bytes: int | None = None
    """Distinct bytes that one launch reads, plus those that it writes."""
    mask_efficiency: float | None = None
    sector_efficiency: float | None = None
    unknown_accesses: int | None = None
    roofline: Roofline | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Peak rates of the device of the rooflines, in bytes and operations per second."""

    name: str
    how: str
    """Recorded, given, or assumed."""
    reported: str | None
    source: str
    """Name of the data sheet."""
    bandwidth: float
    matrix: dict[str, float]
    """Rate by element type."""
    vector: dict[str, float]


@dataclass(frozen=True, slots=True)
class PlacedFinding:
    """A finding (a violation, an unknown or a note) with indexes of the report.

    `found` has no stacks: `stack` and `other_stack` are indexes into `Report.stacks`.
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
    """Indexes of the first 100 calls with the finding; the witness is from `call`."""
    other_kernels: tuple[int, ...] = ()
    """Indexes of the other kernels with the finding, as it has the same place in all."""
    cause: int | None = None
    """Index into `Report.causes`; None for a lint of generated code."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause of findings that one change would fix: its numbers of unique calls and launches."""

    calls: int
    launches: int


@dataclass(frozen=True, slots=True)
class FindingCount:
    """The number of accesses (over unique calls) by rule, verdict and severity."""

    rule: str | None
    verdict: str | None
    severity: str | None
    count: int


@dataclass(frozen=True, slots=True)
class Message:
    """A message that kvtrace recorded in a run, and how often it occurred."""

    run: int
    level: str | None
    code: str | None
    text: str | None
    count: int | None


@dataclass(frozen=True, slots=True)
class Mark:
    """A user's range, or an instant (duration None), relative to the page's origin."""

    run: int
    name: str | None
    begin: int
    duration: int | None
    thread: int | None
    attributes: dict[str, str]


@dataclass(frozen=True, slots=True)
class Track:
    """A row of the timeline: a host thread, or a stream of a device."""

    label: str
    kind: str
    run: int
    thread: int | None


@dataclass(frozen=True, slots=True)
class FurtherFigure:
    """An additional measured figure of kernels (`kvtrace/figures/kernels.py`)."""

    name: str
    unit: Literal["count", "ns", "bytes"]
    label: str


@dataclass(frozen=True, slots=True)
class Partial:
    """Passes that ended before they had analyzed all calls, as their time was used up."""

    remaining: int
    """Unique calls that they did not reach."""
    seconds: float
    verdicts: bool
    """The verdicts are partial; false: only bytes, FLOPs and accesses are."""


@dataclass(frozen=True, slots=True)
class Report:
    """All data of the page, before the selection within the size budget."""

    title: str
    trace: str
    kvtrace: str
    origin: str | None
    """Earliest time on the timeline, ISO 8601 in UTC."""
    span_ns: int
    runs: tuple[Run, ...]
    totals: Totals
    limits: ChosenDevice | None
    """Device of the rooflines: recorded, or assumed for the kernels' compile target."""
    measured: dict[str, dict[str, bool]]
    """True for measured figures, false for derived, by kind of row and field (`MEASURED`)."""
    further: tuple[FurtherFigure, ...]
    kernels: tuple[Kernel, ...]
    variants: tuple[Variant, ...]
    recompiles: str
    """A sentence with the number of kernels that were compiled again."""
    arguments: tuple[Argument, ...]
    calls: tuple[Call, ...]
    stacks: tuple[tuple[tuple[str | None, int | None, str | None], ...], ...]
    """Frames innermost first: file, line, function."""
    findings: tuple[PlacedFinding, ...]
    causes: tuple[Cause, ...]
    """Causes in the order of the terminal's output."""
    lints: tuple[str, ...]
    """Summary lines of lints of generated code, as in the terminal's output."""
    finding_counts: tuple[FindingCount, ...] | None
    """None if nothing was judged and the trace has no findings."""
    judged: bool
    """`kvtrace sanitize` has run; false: findings were recorded during the runs."""
    without_ir: str | None
    """The reason that nothing of the trace can be evaluated or judged; None if something can."""
    others: str
    """Executions that no verdict is about: of kernels without a recorded launch; "" without any."""
    partial: Partial | None
    """None if all calls were analyzed, or none."""
    messages: tuple[Message, ...]
    notes: tuple[str, ...]
    """Notes from reading the trace, such as a torn journal."""
    marks: tuple[Mark, ...]
    compiles: tuple[tuple[int, int, int, int], ...]
    """Compilations: variant, begin since the origin, duration, track."""
    tracks: tuple[Track, ...]
    phases: tuple[str, ...]
    device_names: tuple[str, ...]
    """Short names of device functions, including those without a known launch."""
    device_functions: tuple[str, ...]
    """Full names of the device functions, demangled, with types and parameters."""
    device_kinds: tuple[str, ...]
    """Kind of each function: Triton or another origin, a library's name, copy, fill or other."""
    own_kinds: tuple[str, ...]
    """Those of `device_kinds` whose kernels are in `kernels`."""
    answer: Answer | None
    """First screen: summary of the time and advice; None without times."""
    costly_lines: CostlyLines | None
    """First screen: lines of the program by GPU time; None if no line is known."""
    window: Window | None
    """The part of the runs that times cover; None if nothing was timed."""
    device_time: DeviceTime | None
    """All device work, of Triton and other libraries; None without a device timeline."""
    launches: Slices
    """Timed launches; if there are very many, those in the ranges of `plans`, and a few others."""
    device: Executions
    """Timed executions, as `launches`."""
    rows: dict[str, int]
    """Number of timed rows by table (launches, gpu_kernels)."""
    bins: dict[str, Bins]
    """By table, counts of all rows, if only some are in `launches` or `device`."""
    plans: dict[str, tuple[Range, ...]]
    """By table, the ranges whose rows are wanted on the page (`detail_plan`), and are all here."""
    texts: tuple[tuple[str, str], ...]
    """Stage (or "source") and sha256 of each text; the content is read when the page is written."""
    stack_places: dict[int, int]
    """The trace's `stack_id` → index into `stacks`."""
    stage_artifacts: tuple[dict[str, str], ...]
    """For each variant: stage → sha256."""
    kernel_keys: tuple[KernelKey, ...]
    """Key of each of `kernels`."""
    call_sums: CallSums
    """Figures of calls and library kernels in `window`, from which trees of callers are made."""


#: True for figures measured while the program ran (or reported by the compiler), false for figures
#: derived from IR and arguments. By field of `Totals`, `Kernel`, `Variant` and `Call`.
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
            "compilations calls launches tuning_launches runs host_ns device_ns "
            "device_executions compile_ns "
            "registers spills shared_bytes",
            "bytes flops best_ns achieved violations errors unknowns judged unjudged_calls",
        ),
        (
            "variants",
            "warp_size num_warps num_ctas num_stages shared_bytes registers spills compile_ns "
            "load_ns launches calls host_ns",
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
