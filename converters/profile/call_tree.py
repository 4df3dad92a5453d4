"""Runs, time, bytes and compile time by where kernels are called from: one tree for each grouping.

Times are measured, bytes derived. What every launch of a call took stands at the stack of its first
launch, the only one that is recorded; a kernel's compile time at its first call. The leaves of each
tree add up to all that devices did (autotuners and warm-ups left out) and to all compile time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kvtrace.converters.profile.call_paths import Grouping, Placed, Step, path_of
from kvtrace.converters.profile.device_time import read_device_time
from kvtrace.converters.profile.profile_tables import work_of_calls
from kvtrace.figures.times import device_times, figures_of_calls, host_times
from kvtrace.figures.window import STEADY, Asked, Window, windowed

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_COLUMNS: Final = (
    "kernel_id", "name", "module", "file", "line", "compile_ns", "origin", "origins",
)  # fmt: skip
#: What says where a kernel is placed.
_PLACING: Final = ("module", "name", "file", "line", "origin", "origins")
#: Stands for a call's stack that is not known; a kernel that was never launched has none.
_NO_STACK: Final = -1


@dataclass(frozen=True, slots=True)
class CallFigures:
    """What is summed; times in nanoseconds.

    `runs` are launches, where those captured into a graph count as often as it was replayed, and
    executions of what no launch is known for. `host_ns` is without launches in which the kernel was
    compiled or loaded. `bytes` are those asked for.
    """

    runs: int = 0
    device_ns: int = 0
    host_ns: int = 0
    bytes: int = 0
    compile_ns: int = 0

    def __add__(self, other: "CallFigures") -> "CallFigures":
        """Return the sum, figure by figure."""
        return CallFigures(*(getattr(self, name) + getattr(other, name) for name in FIGURES))


FIGURES: Final = tuple(each.name for each in fields(CallFigures))


@dataclass(frozen=True, slots=True)
class Branch:
    """A step with all that is below it; those below are in the order of what they cost."""

    step: Step
    figures: CallFigures
    branches: tuple["Branch", ...] = ()


@dataclass(frozen=True, slots=True)
class CallSums:
    """What is placed in trees, with its figures; `known` names the figures that were recorded.

    Calls of one kernel from one stack are a row together. `generated` counts kernels that Inductor
    made; of those, `with_operators` and `with_lines` are recorded with the operators, and with the
    lines of the program, that they were made from. `window` is the part of the runs that figures
    are of.
    """

    known: tuple[str, ...]
    rows: tuple[tuple[Placed, CallFigures], ...]
    generated: int = 0
    with_operators: int = 0
    with_lines: int = 0
    window: Window | None = None

    @property
    def cost(self) -> str:
        """The figure that branches are ordered by."""
        return "device_ns" if "device_ns" in self.known else "host_ns"


def read_call_sums(trace: "Trace", runs: Sequence["Run"], part: Asked = STEADY) -> CallSums:
    """Read what is placed in trees of a part of these runs; errors as `windowed`."""
    trace, window = windowed(trace, runs, part)
    executed = device_times(trace, runs, {}, with_medians=False)
    host = host_times(trace, runs, with_medians=False)
    figures = _by_call(figures_of_calls(host, executed), "runs", "device_ns", "host_ns")
    work, _ = work_of_calls(trace, runs)
    moved = {(row["run"], row["call_id"]): int(row["bytes"] or 0) for row in work}
    kernels = {
        (row["run"], row["kernel_id"]): row | {"origins": _whole(row["origins"])}
        for row in trace.table("kernels", runs, list(_COLUMNS)).to_pylist()
    }
    stacks = {
        row["stack_id"]: _whole(row["frames"])
        for row in trace.table("stacks", runs, ["stack_id", "frames"]).to_pylist()
    }
    alike: dict[tuple[str, int | None], tuple[Placed, list[CallFigures]]] = {}
    written = {key: repr([row[name] for name in _PLACING]) for key, row in kernels.items()}

    def add(kernel: tuple[str, int], stack: int | None, figures: CallFigures) -> None:
        frames = None if stack is None else stacks.get(stack) or ()
        placed = Placed(kernels[kernel], frames)
        alike.setdefault((written[kernel], stack), (placed, []))[1].append(figures)

    compiled = {key: int(row["compile_ns"] or 0) for key, row in kernels.items()}
    calls = trace.table("calls", runs, ["call_id", "kernel_id", "stack_id"]).to_pylist()
    for call in sorted(calls, key=lambda call: (call["run"], call["call_id"] or 0)):
        place, kernel = (call["run"], call["call_id"]), (call["run"], call["kernel_id"])
        if kernel not in kernels:
            continue  # what ran of it is a row of the device's, under its own name
        ran, device_ns, host_ns = figures.get(place, (0, 0, 0))
        own = moved.get(place, 0) * ran, compiled.pop(kernel, 0)
        stack = _NO_STACK if call["stack_id"] is None else call["stack_id"]
        add(kernel, stack, CallFigures(ran, device_ns or 0, host_ns or 0, *own))
    for kernel, ns in compiled.items():
        add(kernel, None, CallFigures(compile_ns=ns))
    rows = [(placed, _summed(parts)) for placed, parts in alike.values()]
    time = read_device_time(trace, runs, window, executed)
    for row in () if time is None else time.rows:
        if row.kind != "Triton":
            placed = Placed(None, library=(row.kind, row.name))
            rows.append((placed, CallFigures(runs=row.executions, device_ns=row.device_ns)))
    made = [row["origins"] for row in kernels.values() if row["origin"] == "inductor"]
    unknown = {"device_ns"} if time is None else set()
    unknown |= set() if moved else {"bytes"}
    return CallSums(
        known=tuple(name for name in FIGURES if name not in unknown),
        rows=tuple((placed, found) for placed, found in rows if found != CallFigures()),
        generated=len(made),
        with_operators=sum(any(one["op"] for one in origins) for origins in made),
        with_lines=sum(any(one["line"] for one in origins) for origins in made),
        window=window,
    )


def _summed(parts: Sequence[CallFigures]) -> CallFigures:
    return CallFigures(*(sum(getattr(each, name) for each in parts) for name in FIGURES))


def call_tree(sums: CallSums, grouping: Grouping) -> Branch:
    """Return all that was read as one tree, under a root that stands for everything."""
    root = _Growing()
    for placed, figures in sums.rows:
        at = root
        for step in path_of(placed, grouping):
            at = at.below.setdefault(step, _Growing())
        at.figures += figures
    return root.grown(Step("all"), sums.cost)


def call_notes(sums: CallSums) -> list[str]:
    """Return sentences that say what the trees do not know."""
    notes = ["Python's stack is recorded at a call's first launch, and stands for all of them."]
    if min(sums.with_operators, sums.with_lines) < sums.generated:
        notes.append(
            f"Of {sums.generated} kernels that Inductor generated, {sums.with_operators} are "
            "recorded with the operators that they were made from (else the name tells them), and "
            f"{sums.with_lines} with modules and lines, which Inductor's cache does not keep."
        )
    return notes


def call_tree_object(sums: CallSums, grouping: Grouping) -> dict[str, Any]:
    """Return a tree as plain JSON; figures that are not known are null."""
    return {
        "grouping": grouping,
        "window": None if sums.window is None else asdict(sums.window),
        "notes": call_notes(sums),
        "tree": _object(call_tree(sums, grouping), sums.known),
    }


def _object(branch: Branch, known: Sequence[str]) -> dict[str, Any]:
    step = asdict(branch.step)
    kernel = step.pop("kernel")
    figures = asdict(branch.figures)
    return {
        **step,
        "kernel": None if kernel is None else {"module": kernel[0], "name": kernel[1]},
        **{name: figures[name] if name in known else None for name in FIGURES},
        "branches": [_object(each, known) for each in branch.branches],
    }


def _whole(entries: Sequence[Any] | None) -> list[Any]:
    """Return a list without entries that are missing, as damaged traces have them."""
    return [each for each in entries or () if each is not None]


def _by_call(figures: pa.Table, *names: str) -> dict[tuple[str, int], tuple[int, ...]]:
    """Return some figures by run and call; None where there is none."""
    columns = (figures[name].to_pylist() for name in names)
    keys = zip(figures["run"].to_pylist(), figures["call_id"].to_pylist(), strict=True)
    return dict(zip(keys, zip(*columns, strict=True), strict=True))


@dataclass(slots=True)
class _Growing:
    figures: CallFigures = CallFigures()
    below: dict[Step, "_Growing"] = field(default_factory=dict)

    def grown(self, step: Step, cost: str) -> Branch:
        branches = [each.grown(below, cost) for below, each in self.below.items()]
        branches.sort(key=lambda each: (-getattr(each.figures, cost), -each.figures.compile_ns))
        return Branch(step, _total(self.figures, branches), tuple(branches))


def _total(own: CallFigures, branches: Iterable[Branch]) -> CallFigures:
    for each in branches:
        own += each.figures
    return own
