"""Launches, time, bytes and compile time by call site: one tree for each grouping.

Times are measured, bytes derived. What every launch of a call took is at the stack of its first
launch, the only one that is recorded; a kernel's compile time at its first call. The leaves of each
tree add up to all that devices did (autotuners and warm-ups left out) and to all compile time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.profile.call_paths import Grouping, Placed, Step, path_of
from kvtrace.converters.profile.device_time import read_device_time
from kvtrace.converters.profile.profile_tables import Row, work_of_calls
from kvtrace.figures.database import scratch
from kvtrace.figures.identity import KernelKey, kernel_rows
from kvtrace.figures.libraries import library_times
from kvtrace.figures.requested_part import STEADY, RequestedPart
from kvtrace.figures.times import device_times, figures_of_calls, host_times
from kvtrace.figures.window import Window, windowed

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: What says where a kernel is placed.
_PLACING: Final = ("module", "name", "source", "origin", "origins")
_SHOWN: Final = (*_PLACING, "file", "line")
_COLUMNS: Final = ("kernel_id", "compile_ns", *_SHOWN)
_ALIKE: Final = ", ".join(f"k.{name}" for name in _PLACING)
#: Calls of kernels that are placed alike, from one stack; and kernels that were never launched.
#: What ran of a call whose kernel is not known is a row of the device's, under its own name.
_SUMS: Final = f"""
    WITH placed AS (
        SELECT min(k.row) OVER (PARTITION BY {_ALIKE}) AS kernel,
            c.run IS NOT NULL AS launched, c.stack_id, c.run, c.call_id, k.compile_ns,
            row_number() OVER (PARTITION BY k.row ORDER BY coalesce(c.call_id, 0)) AS place,
            row_number() OVER (ORDER BY c.run NULLS LAST, coalesce(c.call_id, 0), k.row) AS number
        FROM kernels k LEFT JOIN calls c ON c.run = k.run AND c.kernel_id = k.kernel_id
    )
    SELECT p.kernel, p.launched, p.stack_id, coalesce(sum(f.runs), 0),
        coalesce(sum(f.device_ns), 0), coalesce(sum(f.host_ns), 0),
        coalesce(sum(m.bytes::HUGEINT * f.runs), 0),
        coalesce(sum(p.compile_ns) FILTER (p.place = 1), 0)
    FROM placed p LEFT JOIN figures f ON f.run = p.run AND f.call_id = p.call_id
    LEFT JOIN moved m ON m.run = p.run AND m.call_id = p.call_id
    GROUP BY p.kernel, p.launched, p.stack_id ORDER BY min(p.number)
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class CallFigures:
    """Sums over executions and launches; times in nanoseconds.

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


FIGURES: Final = tuple(figure.name for figure in fields(CallFigures))


@dataclass(frozen=True, slots=True)
class Branch:
    """A step of a path, with the sums over all leaves below; its branches, the costliest first."""

    step: Step
    figures: CallFigures
    branches: tuple["Branch", ...] = ()


@dataclass(frozen=True, slots=True)
class CallSums:
    """Calls and library kernels to place in trees, with figures; `known` names recorded figures.

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
        """The figure that branches are sorted by."""
        return "device_ns" if "device_ns" in self.known else "host_ns"


def read_call_sums(trace: "Trace", runs: Sequence["Run"], part: RequestedPart = STEADY) -> CallSums:
    """Read the calls and library kernels of a part of some runs; errors as `windowed`."""
    trace, window = windowed(trace, runs, part)
    executed = device_times(trace, runs, with_medians=False)
    host = host_times(trace, runs, with_medians=False)
    work, _ = work_of_calls(trace, runs)
    kernels = kernel_rows(trace, runs, _COLUMNS)
    stacks = {
        row["stack_id"]: (_whole(row["frames"]), _whole(row["origins"]))
        for row in trace.table("stacks", runs, ["stack_id", "frames", "origins"]).to_pylist()
    }
    with scratch() as connection:
        rows = kernels.append_column("row", pa.array(range(kernels.num_rows), pa.int64()))
        connection.register("kernels", rows)
        columns = ["call_id", "kernel_id", "stack_id"]
        connection.register("calls", trace.table("calls", runs, columns))
        connection.register("figures", figures_of_calls(host, executed))
        connection.register("moved", _moved(work))
        summed = connection.execute(_SUMS).fetchall()
    placing = kernels.select(_SHOWN).take(pa.array([kernel for kernel, *_ in summed], pa.int64()))
    rows = []
    for kernel, (_, launched, stack, *figures) in zip(placing.to_pylist(), summed, strict=True):
        frames, stack_origins = stacks.get(stack, ((), ())) if launched else (None, ())
        origins = _whole(kernel["origins"])
        # A kernel of the program in generated code: the line that launches it knows more.
        if stack_origins and not any(library_time["file"] for library_time in origins):
            origins = stack_origins
        placed = Placed(kernel | {"origins": origins}, frames)
        rows.append((placed, CallFigures(*map(int, figures))))
    time = read_device_time(trace, runs, window, executed)
    for library_time in () if time is None else library_times(trace, runs):
        library = library_time.kind, library_time.name
        placed = Placed(None, library_time.frames, library=library, origins=library_time.origins)
        rows.append(
            (placed, CallFigures(runs=library_time.executions, device_ns=library_time.device_ns))
        )
    inductor = pc.equal(kernels["origin"].cast(pa.string()), "inductor")
    generated = [_whole(origins) for origins in kernels["origins"].filter(inductor).to_pylist()]
    unknown = {"device_ns"} if time is None else set()
    unknown |= set() if work else {"bytes"}
    return CallSums(
        known=tuple(name for name in FIGURES if name not in unknown),
        rows=tuple(
            (placed, figures_of) for placed, figures_of in rows if figures_of != CallFigures()
        ),
        generated=len(generated),
        with_operators=sum(
            any(library_time["op"] for library_time in origins) for origins in generated
        ),
        with_lines=sum(
            any(library_time["line"] for library_time in origins) for origins in generated
        ),
        window=window,
    )


def _moved(work: Sequence[Row]) -> pa.Table:
    """Return the bytes of one launch of each replayed call."""
    return pa.table(
        {
            "run": pa.array([row["run"] for row in work], pa.string()),
            "call_id": pa.array([row["call_id"] for row in work], pa.int64()),
            "bytes": pa.array([int(row["bytes"] or 0) for row in work], pa.int64()),
        }
    )


def call_tree(sums: CallSums, grouping: Grouping) -> Branch:
    """Return all calls as one tree, whose root is labeled "all"."""
    root = _OpenBranch()
    for placed, figures in sums.rows:
        node = root
        for step in path_of(placed, grouping):
            node = node.below.setdefault(step, _OpenBranch())
        node.figures += figures
    return root.grown(Step("all"), sums.cost)


def call_notes(sums: CallSums) -> list[str]:
    """Return sentences on the limits of the trees."""
    notes = ["Python's stack is recorded at a call's first launch, and used for all of them."]
    if min(sums.with_operators, sums.with_lines) < sums.generated:
        notes.append(
            f"Of {sums.generated} kernels that Inductor generated, {sums.with_operators} are "
            "recorded with the operators that they were made from (else the name tells them), and "
            f"{sums.with_lines} with modules and lines, which Inductor's cache does not keep."
        )
    return notes


def call_tree_object(sums: CallSums, grouping: Grouping) -> dict[str, Any]:
    """Return a tree as plain JSON; unknown figures are null."""
    return {
        "grouping": grouping,
        "window": None if sums.window is None else asdict(sums.window),
        "notes": call_notes(sums),
        "tree": _object(call_tree(sums, grouping), sums.known),
    }


def _object(branch: Branch, known: Sequence[str]) -> dict[str, Any]:
    step, kernel = asdict(branch.step), branch.step.kernel
    del step["kernel"]
    figures = asdict(branch.figures)
    return {
        **step,
        "kernel": None if kernel is None else _named(kernel),
        **{name: figures[name] if name in known else None for name in FIGURES},
        "branches": [_object(child, known) for child in branch.branches],
    }


def _named(kernel: KernelKey) -> dict[str, str | None]:
    return {name: value or None for name, value in kernel._asdict().items()}


def _whole(entries: Sequence[Any] | None) -> list[Any]:
    """Return a list without None entries, which damaged traces have."""
    return [entry for entry in entries or () if entry is not None]


@dataclass(slots=True)
class _OpenBranch:
    figures: CallFigures = CallFigures()
    below: dict[Step, "_OpenBranch"] = field(default_factory=dict)

    def grown(self, step: Step, cost: str) -> Branch:
        branches = [node.grown(below_step, cost) for below_step, node in self.below.items()]
        branches.sort(key=lambda node: (-getattr(node.figures, cost), -node.figures.compile_ns))
        return Branch(step, _total(self.figures, branches), tuple(branches))


def _total(sums: CallFigures, branches: Iterable[Branch]) -> CallFigures:
    for branch in branches:
        sums += branch.figures
    return sums
