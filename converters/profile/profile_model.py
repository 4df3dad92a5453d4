"""Plain data of a profile: figures of kernels, calls and lines, advice, add-ons' sections; JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from kvtrace import registry
from kvtrace.converters.profile.device_limits import ChosenDevice, Position
from kvtrace.converters.profile.stated_work import StatedFigures
from kvtrace.figures.device_time import DeviceTime
from kvtrace.figures.gaps import Gaps
from kvtrace.figures.graph_replays import GraphReplays
from kvtrace.figures.identity import KernelKey, Keyed
from kvtrace.figures.launch_costs import LaunchCost
from kvtrace.figures.layouts import LineLayout
from kvtrace.figures.lines import Place
from kvtrace.figures.ranks import RanksFigures
from kvtrace.figures.window import Window
from kvtrace.schema.trace import Run, Trace
from kvtrace.text import duration, percent

How = Literal["measured", "derived", "assumed"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure behind a piece of advice: its label, its value as text, and how it was obtained."""

    name: str
    value: str
    how: How


@dataclass(frozen=True, slots=True)
class Advice:
    """A piece of advice: a loss of performance, its location, and what to try.

    `rule` is a slug; `kernel` is None for advice on the whole program. `cost_ns` is the largest
    possible saving, over the window of all runs; None if unknown. `module` and `source` are the
    kernel's, as in its key.
    """

    rule: str
    kernel: str | None
    file: str | None
    line: int | None
    text: str
    figures: tuple[Figure, ...]
    cost_ns: float | None = None
    module: str | None = None
    source: str | None = None

    @property
    def key(self) -> KernelKey | None:
        """The kernel's key; None for advice on the whole program."""
        key = KernelKey.of(self.module, self.kernel, self.source)
        return None if self.kernel is None else key

    @property
    def where(self) -> str | None:
        """The file's name, followed by the line if that is known."""
        return Place(self.file, self.line, None).short if self.file else None


def advice_lines(advice: Sequence[Advice], span_ns: int | None = None) -> list[str]:
    """Return a line of text per piece of advice: possible saving, rule, location, figures.

    Savings are shown as a share of `span_ns`; with None, shares are left out.
    """
    lines = []
    for entry in advice:
        figures = "; ".join(f"{f.name} {f.value} ({f.how})" for f in entry.figures)
        location = f" ({entry.where})" if entry.where else ""
        cost = ""
        if entry.cost_ns is not None:
            share = f", {percent(entry.cost_ns / span_ns)}" if span_ns else ""
            cost = f"up to {duration(entry.cost_ns)}{share}: "
        lines.append(
            f"{cost}{entry.rule}: {entry.kernel or 'the program'}{location}: "
            f"{entry.text} [{figures}]"
        )
    return lines


@dataclass(frozen=True, slots=True)
class Measured:
    """Times taken while recording, in nanoseconds; None where nothing was timed.

    Launches in which the kernel was compiled or loaded are in `compiling_ns`, and in no other time
    of the host. `further` has the figures of `figures/kernels.FURTHER` by their names.
    """

    host_ns: int | None
    host_median_ns: float | None
    compiling_launches: int
    compiling_ns: int | None
    device_ns: int | None
    device_median_ns: float | None
    device_executions: int
    further: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FlopsByType:
    """FLOPs by element type: of dots (the type of their factors), and of all other ops."""

    dot: dict[str, int]
    other: dict[str, int]


@dataclass(frozen=True, slots=True)
class Derived:
    """Figures from evaluating the IR, summed over runs; None where unknown.

    `bytes` counts active lanes of loads, stores and atomics; where a mask depends on data that was
    not recorded, that access is left out and counted in `unknown_accesses`, so `bytes` is a lower
    bound. `unique_bytes` are the distinct bytes that each run reads and writes. `intensity` is
    FLOPs per byte, `mask_efficiency` the share of lanes that were active, `sector_efficiency` the
    share of the 32-byte sectors' bytes that were asked for, `reuse` how often an op asks for each
    byte. `bytes_per_second` and `flops_per_second` divide by the measured device time, where every
    call has some.
    """

    bytes: int | None
    unique_bytes: int | None
    flops: int | None
    flops_by_type: FlopsByType | None
    bytes_per_launch: float | None
    flops_per_launch: float | None
    intensity: float | None
    mask_efficiency: float | None
    sector_efficiency: float | None
    reuse: float | None
    bytes_per_second: float | None
    flops_per_second: float | None
    unknown_accesses: int


@dataclass(frozen=True, slots=True)
class CallProfile:
    """A unique call of a kernel: its grid and the shapes of its tensors."""

    run: str
    call_id: int
    grid: tuple[int, int, int]
    tensors: tuple[str, ...]
    launches: int
    runs: int
    measured: Measured
    derived: Derived
    roofline: Position | None


@dataclass(frozen=True, slots=True)
class KernelProfile(Keyed):
    """A kernel (`kvtrace/figures/identity.py`) over all chosen runs of the program.

    `runs` counts its launches; a launch that was captured into a graph counts once per replay of
    the graph. `headline` is a sentence on its share, what bounds it, and what to try first.
    `stated` is the work of a launch by its author, beside that of its IR.
    """

    name: str
    module: str | None
    file: str | None
    line: int | None
    launches: int
    runs: int
    tuning_launches: int
    compilations: int
    compile_ns: int | None
    measured: Measured
    derived: Derived
    roofline: Position | None
    calls: tuple[CallProfile, ...] = ()
    source: str | None = None
    headline: str | None = None
    stated: StatedFigures | None = None


@dataclass(frozen=True, slots=True)
class LineProfile:
    """A source line with the sums over its ops and all launches (derived)."""

    file: str
    line: int
    source: str | None
    kernels: tuple[str, ...]
    accesses: str
    bytes: int | None
    flops: int | None
    intensity: float | None
    mask_efficiency: float | None
    sector_efficiency: float | None
    reuse: float | None
    unknown_accesses: int
    layout: LineLayout

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """The names of the kernels that the row is about."""
        return self.kernels


@dataclass(frozen=True, slots=True)
class Profile:
    """Kernels by time (device time if recorded), and source lines by bytes.

    Attributes:
        window: The part of the runs that figures cover; None if nothing was timed.
        device: The device whose limits rooflines use; None if no limits are known.
        replayed: The table `ops` has rows.
        missing_calls: Launched calls without rows in `ops`, except of `not_evaluated` kernels.
        not_evaluated: A sentence: which kernels cannot be evaluated, and why.
        device_time: All that devices did; None without a device timeline.
        gaps: Causes of the devices' idle time; None without a device timeline.
        ranks: What limits a job, and its late rank; None without ranks of one job.
        launch_costs: Kernels whose launches take the host much longer than usual.
        advice: What to try, the largest possible saving first.
        left_out: Replay's notes on figures that were skipped for their cost.
        sectors: Memory ops counted `by_compiled_layout` and `by_lane_order` (docs/accesses.md).
        sections: Add-ons' sections by name (`entry_points.txt`).
        on_host: The program was recorded without a device, so that kernels ran on the host.
        imported: All runs are of another tool's files.
        uncertain: Sentences on what these files lack that makes figures uncertain.
        graph_replays: How often graphs were replayed in the profiled part; None: never.

    """

    path: str
    runs: tuple[str, ...]
    device: ChosenDevice | None
    kernels: tuple[KernelProfile, ...]
    replayed: bool
    missing_calls: int
    not_evaluated: str | None = None
    window: Window | None = None
    device_time: DeviceTime | None = None
    gaps: Gaps | None = None
    ranks: RanksFigures | None = None
    launch_costs: tuple[LaunchCost, ...] = ()
    advice: tuple[Advice, ...] = ()
    left_out: tuple[str, ...] = ()
    sectors: Mapping[str, int] = field(default_factory=dict)
    lines: tuple[LineProfile, ...] = ()
    sections: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    on_host: bool = False
    imported: bool = False
    uncertain: tuple[str, ...] = ()
    graph_replays: GraphReplays | None = None

    @property
    def launched(self) -> list[KernelProfile]:
        """The kernels that were launched or ran in the profiled part."""
        return [k for k in self.kernels if k.launches or k.tuning_launches or k.runs]

    @property
    def is_empty(self) -> bool:
        """No kernel was launched, and no device execution was recorded."""
        return not self.launched and self.device_time is None

    @property
    def replay_helps(self) -> bool:
        """`--replay` would add figures: a call with IR has no row in `ops`."""
        is_ready = bool(self.launched) and not self.replayed and self.not_evaluated is None
        return self.missing_calls > 0 or is_ready


def profile_object(profile: Profile) -> dict[str, Any]:
    """Return a profile as JSON-ready dicts: the fields of `Profile`, as in docs/profile.md.

    Add-ons' sections become top-level keys, and `measured.further` is merged into `measured`.
    """
    result = asdict(profile)
    if result["device"] is not None:
        for name in ("words", "has_caches", "targets"):
            del result["device"]["limits"][name]
    if result["ranks"] is not None:
        del result["ranks"]["late_map"]  # for pictures
    result |= result.pop("sections")
    for row in result["kernels"]:
        for entry in (row, *row["calls"]):
            entry["measured"] |= entry["measured"].pop("further")
    return result


@dataclass(frozen=True, slots=True)
class ProfileSection:
    """A section of the profile from an add-on: two functions, `read` and `text`.

    `read` returns the section's rows (dataclasses) of some runs; the profile's JSON lists them
    under the section's name. `text` returns a table of rows as lines of at most a width.
    """

    read: Callable[[Trace, Sequence[Run]], tuple[Any, ...]]
    text: Callable[[Sequence[Any], int], list[str]]


def profile_sections() -> dict[str, ProfileSection]:
    """Return every section, by its name."""
    return dict(registry.loaded("profile_sections"))
