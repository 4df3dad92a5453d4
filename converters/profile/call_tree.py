"""Launches, time, bytes and compile time by call site: one tree for each grouping.

Times are measured, bytes derived. All launches of a call are placed at the stack of its first
launch, the only one that is recorded, and a kernel's compile time at its first call. The leaves of
each tree add up to all device time (autotuners and warm-ups left out) and to all compile time.

Inductor knows the lines of the forward from which it generated a backward. The forward that was
generated from these lines has the Python stack that the backward lacks. Example: a backward file
has kernels of `rotate`, line 24, and of `attend`, line 158. The launches of a forward from line 158
have stacks in LlamaAttention, so do those from line 24: the backward is LlamaAttention's. If
forwards of several modules share all lines, nothing is added.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.profile.call_paths import (
    AUTOGRAD,
    IN_BACKWARD,
    LIBRARIES,
    NOT_RECORDED,
    Grouping,
    Step,
    TreeLeaf,
    class_steps,
    origins_of_call,
    pass_of,
    path_of,
)
from kvtrace.converters.profile.device_limits import Work
from kvtrace.converters.profile.profile_tables import Row, work_of_calls
from kvtrace.figures.identity import kernel_rows
from kvtrace.figures.libraries import node_times, without_nulls
from kvtrace.figures.part_figures import PartFigures
from kvtrace.figures.tables import scratch
from kvtrace.figures.window import Window
from kvtrace.text import duration, percent

#: Columns of `kernels` that determine a kernel's path in a tree.
_PATH_COLUMNS: Final = ("module", "name", "source", "origin", "origins")
_LEAF_COLUMNS: Final = (*_PATH_COLUMNS, "file", "line")
_COLUMNS: Final = ("kernel_id", "compile_ns", *_LEAF_COLUMNS)
_PATH_SQL: Final = ", ".join(f"k.{name}" for name in _PATH_COLUMNS)
#: The executions of a call by the forward of which they are the backward, and the remaining ones.
#: What is known of the whole call alone stands at the part that took the longest.
_PARTS: Final = """
    CREATE TEMP TABLE parts AS
    SELECT run, call_id, forward_stack_id, runs, device_ns,
        CASE WHEN row_number() OVER by_time = 1 THEN host_ns ELSE 0 END AS host_ns,
        row_number() OVER by_time AS part
    FROM (
        SELECT f.run, f.call_id, n.forward_stack_id, n.device_executions AS runs, n.device_ns,
            f.host_ns
        FROM figures f JOIN nodes n ON n.run = f.run AND n.call_id = f.call_id
        UNION ALL
        SELECT f.run, f.call_id, NULL, f.runs - coalesce(n.runs, 0),
            f.device_ns - coalesce(n.device_ns, 0), f.host_ns
        FROM figures f LEFT JOIN (
            SELECT run, call_id, sum(device_executions) AS runs, sum(device_ns) AS device_ns
            FROM nodes GROUP BY run, call_id
        ) n ON n.run = f.run AND n.call_id = f.call_id
        WHERE n.runs IS NULL OR f.runs > n.runs OR f.device_ns > n.device_ns
    ) divided
    WINDOW by_time AS (
        PARTITION BY run, call_id ORDER BY device_ns DESC, forward_stack_id NULLS LAST)
"""
#: Columns of the bytes of one launch of each call.
_MOVED: Final = pa.schema({"run": pa.string(), "call_id": pa.int64(), "bytes": pa.int64()})
#: A row per stack, forward's stack and kernel (kernels with equal paths are one), and per kernel
#: without launches. Executions of calls whose kernel is not known are among the library kernels.
_SUMS: Final = f"""
    WITH placed AS (
        SELECT min(k.row) OVER (PARTITION BY {_PATH_SQL}) AS kernel,
            c.run IS NOT NULL AS launched, c.stack_id, c.run, c.call_id, k.compile_ns,
            row_number() OVER (PARTITION BY k.row ORDER BY coalesce(c.call_id, 0)) AS place,
            row_number() OVER (ORDER BY c.run NULLS LAST, coalesce(c.call_id, 0), k.row) AS number
        FROM kernels k LEFT JOIN calls c ON c.run = k.run AND c.kernel_id = k.kernel_id
    )
    SELECT p.kernel, p.launched, p.stack_id, f.forward_stack_id, coalesce(sum(f.runs), 0),
        coalesce(sum(f.device_ns), 0), coalesce(sum(f.host_ns), 0),
        coalesce(sum(m.bytes::HUGEINT * f.runs), 0),
        coalesce(sum(p.compile_ns) FILTER (p.place = 1 AND coalesce(f.part, 1) = 1), 0)
    FROM placed p LEFT JOIN parts f ON f.run = p.run AND f.call_id = p.call_id
    LEFT JOIN moved m ON m.run = p.run AND m.call_id = p.call_id
    GROUP BY p.kernel, p.launched, p.stack_id, f.forward_stack_id
    ORDER BY min(p.number), max(f.part)
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class CallFigures:
    """Sums over executions and launches; times in nanoseconds.

    `runs` counts launches (one captured into a graph counts once per replay), and executions
    without a known launch. `host_ns` excludes launches in which the kernel was compiled or loaded.
    `bytes` are those that programs request. `device_ns` is the sum of `forward_ns`, of
    `backward_ns` (executions that autograd asked for in a backward) and of executions of which it
    is not known, or that are of an optimizer.
    """

    runs: int = 0
    device_ns: int = 0
    forward_ns: int = 0
    backward_ns: int = 0
    host_ns: int = 0
    bytes: int = 0
    compile_ns: int = 0

    def __add__(self, other: "CallFigures") -> "CallFigures":
        """Return the sum, figure by figure."""
        return CallFigures(*(getattr(self, name) + getattr(other, name) for name in FIGURES))


FIGURES: Final = tuple(figure.name for figure in fields(CallFigures))
#: What branches are sorted by, where it is known.
_COSTS: Final = ("device_ns", "host_ns", "runs")


@dataclass(frozen=True, slots=True)
class Branch:
    """A node of a tree: its step, the sums over all leaves below, and branches by falling cost."""

    step: Step
    figures: CallFigures
    branches: tuple["Branch", ...] = ()


@dataclass(frozen=True, slots=True)
class CallSums:
    """Leaves of the trees (calls and library kernels) with their figures.

    Calls of one kernel from one stack are one row. `known` names the figures that are recorded,
    and not 0 for all calls.
    `generated` counts the kernels that Inductor generated; `with_operators` and `with_lines` count
    those of them whose operators, and whose lines of the program, are recorded. `window` is the
    part of the runs that figures cover. `nodes_known`: stacks of autograd's nodes are recorded.
    `imported`: all runs are of another tool's files.
    """

    known: tuple[str, ...]
    rows: tuple[tuple[TreeLeaf, CallFigures], ...]
    generated: int = 0
    with_operators: int = 0
    with_lines: int = 0
    window: Window | None = None
    nodes_known: bool = False
    imported: bool = False

    @property
    def cost(self) -> str:
        """The figure that branches are sorted by: the first of these that is known."""
        return next((name for name in _COSTS if name in self.known), "runs")


def call_sums(part: PartFigures, work: Sequence[tuple[Row, Work]] | None = None) -> CallSums:
    """Return the calls and library kernels of a part of some runs with their figures.

    `work` is what `work_of_calls` returns; None: it is called. Errors as `Trace.table`.
    """
    trace, runs = part.trace, part.runs
    on_device = part.device_time is not None
    work = work_of_calls(trace, runs) if work is None else work
    moved = [row | {"bytes": row["bytes"] or 0} for row, _ in work]
    kernels = kernel_rows(trace, runs, _COLUMNS)
    stacks = {
        row["stack_id"]: (without_nulls(row["frames"]), without_nulls(row["origins"]))
        for row in trace.table("stacks", runs, ["stack_id", "frames", "origins"]).to_pylist()
    }
    with scratch() as connection:
        rows = kernels.append_column("row", pa.array(range(kernels.num_rows), pa.int64()))
        connection.register("kernels", rows)
        columns = ["call_id", "kernel_id", "stack_id"]
        connection.register("calls", trace.table("calls", runs, columns))
        connection.register("figures", part.by_call)
        connection.register("nodes", node_times(trace, runs))
        connection.execute(_PARTS)
        connection.register("moved", pa.Table.from_pylist(moved, _MOVED))
        summed = connection.execute(_SUMS).fetchall()
    leaves = [*_call_leaves(kernels, summed, stacks), *(_library_leaves(part) if on_device else ())]
    with_forwards = with_forward_frames([leaf for leaf, _ in leaves])
    rows_of_leaves = [
        (leaf, _figures(leaf, *figures))
        for leaf, (_, figures) in zip(with_forwards, leaves, strict=True)
    ]
    is_generated = pc.equal(kernels["origin"].cast(pa.string()), "inductor")
    origins_of_generated = [
        without_nulls(origins) for origins in kernels["origins"].filter(is_generated).to_pylist()
    ]
    unknown_figures = set() if on_device else {"device_ns", "forward_ns", "backward_ns"}
    totals = sum((figures for _, figures in rows_of_leaves), CallFigures())
    unknown_figures |= {name for name in FIGURES if not getattr(totals, name)}
    with_operators, with_lines = (
        sum(any(origin[field] for origin in origins) for origins in origins_of_generated)
        for field in ("op", "line")
    )
    return CallSums(
        known=tuple(name for name in FIGURES if name not in unknown_figures),
        rows=tuple(row for row in rows_of_leaves if row[1] != CallFigures()),
        generated=len(origins_of_generated),
        with_operators=with_operators,
        with_lines=with_lines,
        window=part.window,
        nodes_known=any(leaf.forward_frames is not None for leaf, _ in leaves),
        imported=all(run.source for run in runs),
    )


def _call_leaves(
    kernels: pa.Table, summed: Sequence[Sequence[Any]], stacks: Mapping[int, tuple[Any, Any]]
) -> Iterator[tuple[TreeLeaf, Sequence[int]]]:
    """Yield a leaf and its sums for each row of `_SUMS`; `stacks`: frames and origins by id."""
    rows = pa.array([kernel for kernel, *_ in summed], pa.int64())
    for kernel, (_, launched, stack, forward_stack, *figures) in zip(
        kernels.select(_LEAF_COLUMNS).take(rows).to_pylist(), summed, strict=True
    ):
        frames, stack_origins = stacks.get(stack, ((), ())) if launched else (None, ())
        origins = without_nulls(kernel["origins"])
        # A user's kernel in generated code: only the line that launches it has recorded origins.
        if stack_origins and not any(origin["file"] for origin in origins):
            origins = tuple(origins_of_call(stack_origins))
        forward_frames, _ = stacks.get(forward_stack, (None, ()))
        leaf = TreeLeaf(kernel | {"origins": origins}, frames, forward_frames=forward_frames)
        yield leaf, [*map(int, figures)]


def _library_leaves(part: PartFigures) -> Iterator[tuple[TreeLeaf, Sequence[int]]]:
    """Yield a leaf for each library kernel and stack, with its executions and their time."""
    for time in part.libraries:
        leaf = TreeLeaf(
            None, time.frames, library=(time.kind, time.name), origins=time.origins,
            forward_frames=time.forward_frames,
        )  # fmt: skip
        yield leaf, (time.executions, time.device_ns)


def _figures(
    leaf: TreeLeaf, runs: int, device_ns: int, host_ns: int = 0, bytes_: int = 0,
    compile_ns: int = 0,
) -> CallFigures:  # fmt: skip
    direction = pass_of(leaf)
    return CallFigures(
        runs, device_ns, device_ns if direction == "forward" else 0,
        device_ns if direction == "backward" else 0, host_ns, bytes_, compile_ns,
    )  # fmt: skip


def call_tree(sums: CallSums, grouping: Grouping) -> Branch:
    """Return all calls as one tree, whose root is labeled "all"."""
    root = _GrowingBranch()
    for leaf, figures in sums.rows:
        node = root
        for step in path_of(leaf, grouping):
            node = node.children.setdefault(step, _GrowingBranch())
        node.figures += figures
    return root.branch(Step("all"), sums.cost)


def call_notes(sums: CallSums, grouping: Grouping) -> list[str]:
    """Return sentences on what limits a tree: stacks, and kernels without operators or lines."""
    notes = ["Python's stack is recorded at a call's first launch, and used for all of them."]
    if grouping == "module" and "device_ns" in sums.known:
        notes = [_INCLUSIVE, *_without_module(sums), *notes]
    if min(sums.with_operators, sums.with_lines) < sums.generated:
        notes.append(
            f"Of {sums.generated} kernels that Inductor generated, {sums.with_operators} are "
            "recorded with their operators (for others they are read from the name), and "
            f"{sums.with_lines} with modules and lines, which Inductor's cache does not keep."
        )
    return notes


#: What figures of modules are of.
_INCLUSIVE: Final = (
    "A module's times include the modules inside of it. sum = forward + backward, except for "
    "optimizers and where the pass is not known; what a checkpoint computes again is backward."
)
#: Labels of paths without module, by the reason and what to do.
_REASONS: Final = {
    LIBRARIES: "this trace does not say who asked for these kernels (recorded before format 1.9, "
    "or without Python stacks); record again with this version",
    NOT_RECORDED: "Inductor took the code from its cache; record with "
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES=1",
}
_NODES: Final = (
    "autograd asked for them in a backward, and this trace does not say of which forward (recorded "
    "before format 1.11, or kvtrace messages says why); record again with this version"
)
_ACCUMULATED: Final = "autograd asked for them outside of the operators' nodes, to add gradients up"


def _without_module(sums: CallSums) -> Iterator[str]:
    """Yield a sentence for each reason why device time has no module, with its share."""
    reasons = _REASONS | dict.fromkeys(
        (AUTOGRAD, IN_BACKWARD), _ACCUMULATED if sums.nodes_known else _NODES
    )
    by_reason: dict[str, int] = {}
    total_ns = 0
    for leaf, figures in sums.rows:
        total_ns += figures.device_ns
        reason = reasons.get(path_of(leaf, "module")[0].label)
        if reason is not None:
            by_reason[reason] = by_reason.get(reason, 0) + figures.device_ns
    for reason, ns in by_reason.items():
        if ns:
            yield f"{percent(ns / total_ns)} of the time, {duration(ns)}, has no module: {reason}."


def call_tree_object(sums: CallSums, grouping: Grouping) -> dict[str, Any]:
    """Return a tree as plain JSON; unknown figures are null."""
    return {
        "grouping": grouping,
        "window": None if sums.window is None else asdict(sums.window),
        "notes": call_notes(sums, grouping),
        "tree": _branch_object(call_tree(sums, grouping), sums.known),
    }


def _branch_object(branch: Branch, known: Sequence[str]) -> dict[str, Any]:
    step, kernel = asdict(branch.step), branch.step.kernel
    del step["kernel"]
    figures = asdict(branch.figures)
    key = (
        None if kernel is None else {name: text or None for name, text in kernel._asdict().items()}
    )
    return {
        **step,
        "kernel": key,
        **{name: figures[name] if name in known else None for name in FIGURES},
        "branches": [_branch_object(child, known) for child in branch.branches],
    }


@dataclass(slots=True)
class _GrowingBranch:
    figures: CallFigures = CallFigures()
    children: dict[Step, "_GrowingBranch"] = field(default_factory=dict)

    def branch(self, step: Step, cost: str) -> Branch:
        labels = Counter(child_step.label for child_step in self.children)
        branches = [
            child.branch(
                child_step.with_folder() if labels[child_step.label] > 1 else child_step, cost
            )
            for child_step, child in self.children.items()
        ]
        branches.sort(key=lambda node: (-getattr(node.figures, cost), -node.figures.compile_ns))
        figures = sum((branch.figures for branch in branches), self.figures)
        return Branch(step, figures, tuple(branches))


# -- forward stacks of generated backwards ---------------------------------------------------------


_GENERATED: Final = re.compile(r"[/\\](\w\w)[/\\]c\1\w+\.py$")

#: File, line, function and module from which a graph node was traced.
_Place: TypeAlias = tuple[Any, Any, Any, Any]
#: By the modules of a stack, its frames.
_Stacks: TypeAlias = dict[tuple[Step, ...], Sequence[Mapping[str, Any]]]


def with_forward_frames(leaves: Sequence[TreeLeaf]) -> list[TreeLeaf]:
    """Return the leaves; those of generated backwards have the forward's frames if certain.

    The stacks of forwards are gathered by place, and intersected over the places of each backward's
    file; a backward's forward is certain if one stack is left.
    """
    by_place: dict[_Place, _Stacks] = {}
    for leaf in leaves:
        if leaf.frames and not leaf.in_backward:
            modules = class_steps(leaf.frames, ())
            for place in _places(leaf):
                by_place.setdefault(place, {}).setdefault(modules, leaf.frames)
    files = [_backward_file(leaf) for leaf in leaves]
    by_file: dict[str | None, _Stacks] = {}
    for leaf, file in zip(leaves, files, strict=True):
        for stacks in (by_place.get(place) for place in _places(leaf)) if file else ():
            if stacks:
                earlier = by_file.get(file, stacks)
                by_file[file] = {key: earlier[key] for key in earlier if key in stacks}
    forwards = {
        file: next(iter(stacks.values())) for file, stacks in by_file.items() if len(stacks) == 1
    }
    return [
        replace(leaf, forward_frames=forwards[file]) if file in forwards else leaf
        for leaf, file in zip(leaves, files, strict=True)
    ]


def _places(leaf: TreeLeaf) -> Iterable[_Place]:
    origins = leaf.origins if leaf.kernel is None else leaf.kernel["origins"]
    return {(o["file"], o["line"], o["function"], o["module"]) for o in origins if o["line"]}


def _backward_file(leaf: TreeLeaf) -> str | None:
    """Return the generated file of a leaf of a backward whose forward is not known, else None."""
    if not leaf.in_backward or leaf.forward_frames is not None:
        return None
    files = (str(frame["file"]) for frame in leaf.frames or ())
    return next((file for file in files if _GENERATED.search(file)), None)
