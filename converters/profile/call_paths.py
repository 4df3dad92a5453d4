"""Paths of launches in trees of time by call stack, module, source line or operator.

A path is read from the outermost step to the innermost, which is the kernel. Of a call only the
stack of its first launch was recorded. A kernel that Inductor generated from several graph nodes
has one path: the common part of their modules (or lines), then one step that lists all of them.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from kvtrace.figures.lines import is_plumbing
from kvtrace.figures.modules import module_rows, node_row, runs_backward

if TYPE_CHECKING:
    from kvtrace.figures.identity import KernelKey

#: A row of `kernels`, a frame of a stack, or a graph node; and several of them.
Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[Row]
Grouping = Literal["stack", "frames", "module", "source", "op"]
GROUPINGS: Final[tuple[Grouping, ...]] = get_args(Grouping)

#: Steps of library kernels whose caller is not recorded, and of those that autograd's C++ calls.
LIBRARIES: Final = "library kernels (cuBLAS, cuDNN, torch)"
AUTOGRAD: Final = "autograd backward (no Python stack)"
#: Steps of kernels outside of modules, and of those of which no module is recorded.
IN_BACKWARD: Final = "in no module (backward, by autograd)"
NOT_RECORDED: Final = "module not recorded"
#: Files of torch's optimizers, and the function that a program calls.
_OPTIMIZERS: Final = re.compile(r"[/\\]torch[/\\]optim[/\\]")
_STEP: Final = re.compile(r"(\w+)\.step$")
#: Dynamo's name for the continuation of a function after a graph break.
_RESUMED: Final = re.compile(r"^torch_dynamo_resume_in_(.+)_at_\d+$")
#: Operators that compute nothing: a kernel that reads a view does no work of the view's module.
_VIEWS: Final = frozenset(
    f"aten.{name}"
    for name in (
        "alias", "as_strided", "chunk", "detach", "diagonal", "expand", "flatten", "movedim",
        "narrow", "permute", "reshape", "select", "slice", "split", "split_with_sizes", "squeeze",
        "swapaxes", "t", "transpose", "unbind", "unflatten", "unfold", "unsqueeze", "view",
        "_reshape_alias", "_unsafe_view",
    )
) | {"getitem"}  # fmt: skip
#: Most steps of a path: trees are drawn by functions that call themselves.
_MOST_STEPS: Final = 200
#: Name of an Inductor kernel that lists its operators.
_FUSED: Final = re.compile(r"triton_[a-z]{3}_fused_(?!\d+$)(.+?)(?:_\d+)?$")
#: Most modules, lines or operators that the label of one step lists.
_NAMED: Final = 4


@dataclass(frozen=True, slots=True)
class Step:
    """One level of a path. `kernel` is the kernel's key in a last step that stands for a kernel.

    `note` is text with details (source code, all operators), shown where there is room.
    """

    label: str
    file: str | None = None
    line: int | None = None
    note: str | None = None
    kernel: "KernelKey | None" = None

    def with_folder(self) -> "Step":
        """Return the step with its file's folder in the label, as files may share a name."""
        path = PurePath(self.file or "")
        return replace(self, label=self.label.replace(path.name, "/".join(path.parts[-2:]), 1))


@dataclass(frozen=True, slots=True)
class TreeLeaf:
    """A leaf of the trees: a call of a kernel, or the executions of a library's kernel.

    Attributes:
        kernel: The row of the called kernel, with module, name, source, file, line, origin and a
            list of origins (the graph nodes behind it); None for a library's kernel.
        frames: Frames of the call's stack, innermost first, each with file, line and function;
            None for a kernel that was never launched, and for a library's without known caller.
        forward_frames: Frames of the stack at which autograd made the node whose backward this is;
            None if it is not of a backward, or that is not known.
        library: Library and name of a library's kernel; None for a call of `kernel`.
        origins: Graph nodes that the call of a library's kernel was generated from.
    """

    kernel: Row | None
    frames: Rows | None = None
    library: tuple[str, str] | None = None
    origins: Rows = ()
    forward_frames: Rows | None = None

    @property
    def in_backward(self) -> bool:
        """Autograd asked for it in a backward: from C++, without frames, or by a function."""
        by_autograd = self.library is not None and self.frames is not None and not self.frames
        return (
            self.forward_frames is not None or by_autograd or runs_backward(_functions(self.frames))
        )


def pass_of(leaf: TreeLeaf) -> Literal["forward", "backward"] | None:
    """Return the pass in which the program asked for a leaf; None for optimizers, or if unknown."""
    if leaf.in_backward:
        return "backward"
    return "forward" if leaf.frames and _optimizer_step(leaf.frames) is None else None


def path_of(placed: TreeLeaf, grouping: Grouping) -> tuple[Step, ...]:
    """Return the steps from below the root to the leaf, whose kernel is the last step."""
    if placed.library is not None:
        return (
            *_steps_to_library(placed, grouping),
            Step(placed.library[1], note=placed.library[0]),
        )
    assert placed.kernel is not None
    if placed.frames is None and grouping in ("stack", "frames"):
        return (Step("compiled, never launched"), _kernel_step(placed.kernel))
    steps = _STEPS_BY_GROUPING[grouping]
    path = steps(placed.kernel, placed.frames or (), placed.forward_frames or ())
    return (*_shortened(path), _kernel_step(placed.kernel))


def _shortened(path: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return a path of at most `_MOST_STEPS`: of a deep recursion, the outer and the inner ones."""
    if len(path) <= _MOST_STEPS:
        return path
    half = _MOST_STEPS // 2
    left_out = Step(f"({len(path) - 2 * half:,} frames in between)")
    return (*path[:half], left_out, *path[-half:])


def _steps_to_library(placed: TreeLeaf, grouping: Grouping) -> tuple[Step, ...]:
    """Return the steps above a library's kernel; the library's name if its caller is not known."""
    assert placed.library is not None
    maker, name = placed.library
    if placed.frames is None and not placed.origins:
        return (Step(LIBRARIES), Step(maker))
    forward_frames = placed.forward_frames or ()
    has_forward = bool(forward_frames) and grouping in ("module", "source")
    if not placed.frames and not placed.origins and not has_forward:
        return (Step(AUTOGRAD), Step(maker))
    origin = "inductor" if placed.origins else None
    kernel = {"name": name, "origin": origin, "origins": origins_of_call(placed.origins)}
    if grouping == "op" and not placed.origins:
        return (Step("not generated by Inductor"), Step(maker))
    return _STEPS_BY_GROUPING[grouping](kernel, placed.frames or (), forward_frames)


def origins_of_call(origins: Rows) -> Rows:
    """Return the origins of the operator that a call runs, the first, without its inputs' views.

    Older traces unite calls of several graphs in which this operator's node has one name.
    """
    own = origins[0] if origins else {"op": None, "node": None}
    if not own["op"] or not own["node"]:  # read from a comment, which does not tell them apart
        return origins
    return [o for o in origins if (o["op"], o["node"]) == (own["op"], own["node"])]


def _kernel_step(kernel: Row) -> Step:
    from kvtrace.figures.identity import KernelKey  # late: it needs Arrow, and help does not

    label = kernel["name"] or "(no name)"
    key = KernelKey.of(kernel["module"], kernel["name"], kernel["source"])
    return Step(label, kernel["file"], kernel["line"], kernel=key)


def _stack_steps(kernel: Row, frames: Rows, _forward_frames: Rows) -> tuple[Step, ...]:
    program_frames = [frame for frame in frames if not is_plumbing(frame["file"])]
    return _frame_steps(kernel, program_frames, ()) or (_step_without_frame(frames),)


def _frame_steps(_kernel: Row, frames: Rows, _forward_frames: Rows) -> tuple[Step, ...]:
    return tuple(_frame_step(frame) for frame in reversed(frames))


def _module_steps(kernel: Row, frames: Rows, forward_frames: Rows) -> tuple[Step, ...]:
    outer_modules = class_steps(frames, forward_frames)
    computing = [origin for origin in kernel["origins"] if origin["op"] not in _VIEWS]
    modules = {origin["module"] for origin in computing or kernel["origins"] if origin["module"]}
    if modules:
        return (*outer_modules, *_common_module_steps(sorted(modules)))
    if outer_modules:
        return outer_modules
    functions = _traced_functions(kernel)
    if functions:  # traced outside of any module
        return (Step(_joined_start([f"{name}()" for name in functions], " + ")),)
    if kernel["origin"] == "inductor":
        return (Step(NOT_RECORDED),)
    return (_step_outside_modules(_of_node(forward_frames) or frames),)


def class_steps(frames: Rows, forward_frames: Rows) -> tuple[Step, ...]:
    """Return a step per module in a stack, by class, the outermost first.

    In a backward these are the modules of the forward. A forward that a checkpoint computes again
    has the innermost in its own stack.
    """
    own, of_node = _classes(frames), _classes(_of_node(forward_frames))
    if own and own[0] in of_node:
        of_node = of_node[: of_node.index(own[0])]
    return (*of_node, *own)


def _classes(frames: Rows) -> tuple[Step, ...]:
    rows = [frames[row] for row in reversed(module_rows(_functions(frames)))]
    return tuple(
        Step(_function_name(frame["function"]).removesuffix(".forward"), frame["file"])
        for frame in rows
    )


def _of_node(forward_frames: Rows) -> Rows:
    return forward_frames[node_row(_functions(forward_frames)) :]


def _functions(frames: Rows | None) -> list[str]:
    return [str(frame["function"]) for frame in frames or ()]


def _step_outside_modules(frames: Rows) -> Step:
    """Return a step for a call outside modules: the optimizer, or the program's innermost function.

    If no frame belongs to either, its label says so.
    """
    optimizer = _optimizer_step(frames)
    if optimizer is not None:
        return optimizer
    for frame in frames:
        if not is_plumbing(frame["file"]):
            return Step(f"{_function_name(frame['function'])}()")
    return Step(IN_BACKWARD if _backward_suffix(frames) else "in no module")


def _optimizer_step(frames: Rows) -> Step | None:
    for frame in frames:
        step = _STEP.search(str(frame["function"]))
        if step and _OPTIMIZERS.search(str(frame["file"]).replace("\\", "/")):
            return Step(f"optimizer {step[1]}")
    return None


def _common_module_steps(modules: Sequence[str]) -> tuple[Step, ...]:
    """Return a step per common name of the modules' paths, then one step that lists their tails.

    Layer numbers that differ become "*": "layers.0.mlp" and "layers.1.mlp" give layers, *, mlp.
    """
    steps: list[Step] = []
    paths = [tuple(module.split(".")) for module in modules]
    while all(paths):
        first_names = {path[0] for path in paths}
        if len(first_names) > 1 and not all(head.isdigit() for head in first_names):
            tails = sorted({".".join(path) for path in paths})
            return (*steps, Step(_joined_start(tails, " + "), note="\n".join(modules)))
        steps.append(Step(first_names.pop() if len(first_names) == 1 else "*"))
        paths = [path[1:] for path in paths]
    return tuple(steps)


def _source_steps(kernel: Row, frames: Rows, forward_frames: Rows) -> tuple[Step, ...]:
    with_lines = (origin for origin in kernel["origins"] if origin["file"] and origin["line"])
    lines = sorted({(origin["file"], origin["line"]) for origin in with_lines})
    if lines:
        return _line_steps(kernel, lines)
    for frame in (*frames, *_of_node(forward_frames)):
        if not is_plumbing(frame["file"]):
            return (Step(_file_name(frame["file"]), frame["file"]), _frame_step(frame))
    return (_step_without_frame(frames),)


def _line_steps(kernel: Row, lines: Sequence[tuple[str, int]]) -> tuple[Step, ...]:
    files = list(dict.fromkeys(file for file, _ in lines))
    lines_of_files = [
        f"{_file_name(file)}:{_ranges(line for of, line in lines if of == file)}" for file in files
    ]
    functions = _traced_functions(kernel)
    label = f"{_joined_start(lines_of_files, ' + ')} {_joined_start(functions, ', ')}".rstrip()
    code_by_line = {
        (origin["file"], origin["line"]): origin["code"] for origin in kernel["origins"]
    }
    note = "\n".join(
        f"{line}: {code_by_line[file, line]}" for file, line in lines if code_by_line[file, line]
    )
    return (
        Step(
            _joined_start([_file_name(file) for file in files], " + "),
            files[0] if len(files) == 1 else None,
        ),
        Step(label, *lines[0], note=note or None),
    )


def _operator_steps(kernel: Row, _frames: Rows, _forward_frames: Rows) -> tuple[Step, ...]:
    ops = sorted(op.removeprefix("aten.") for op in _origin_values(kernel, "op"))
    if ops:
        node_names = ", ".join(sorted(_origin_values(kernel, "node")))
        return (Step(_joined_start(ops, ", "), note=f"{', '.join(ops)}\nnodes: {node_names}"),)
    if kernel["origin"] != "inductor":
        return (Step("not generated by Inductor"),)
    operators = fused_operators(kernel["name"] or "")
    if not operators:
        return (Step("operators not recorded"),)
    return (Step(operators[0], note="read from the kernel's name"),)


_STEPS_BY_GROUPING: Final[dict[Grouping, Callable[[Row, Rows, Rows], tuple[Step, ...]]]] = {
    "stack": _stack_steps,
    "frames": _frame_steps,
    "module": _module_steps,
    "source": _source_steps,
    "op": _operator_steps,
}


def _traced_functions(kernel: Row) -> list[str]:
    """Return the functions that a kernel was generated from, without Dynamo's names of parts."""
    return sorted({_RESUMED.sub(r"\1", name) for name in _origin_values(kernel, "function")})


def _origin_values(kernel: Row, field: str) -> set[str]:
    return {origin[field] for origin in kernel["origins"] if origin[field]}


def fused_operators(kernel: str) -> tuple[str, ...]:
    """Return the operators that the name of an Inductor kernel lists, as a tuple with one text.

    For example ("add_relu",) of "triton_poi_fused_add_relu_0"; () if the name lists none.
    """
    match = _FUSED.fullmatch(kernel)
    return () if match is None else (match[1],)


def _step_without_frame(frames: Rows) -> Step:
    return Step(f"no frame of the program{_backward_suffix(frames)}")


def _backward_suffix(frames: Rows) -> str:
    """Return " (backward, by autograd)" if a backward function is on the stack, else ""."""
    backward = any("backward" in str(frame["function"]).lower() for frame in frames)
    return " (backward, by autograd)" if backward else ""


def _frame_step(frame: Row) -> Step:
    location = _file_name(frame["file"]) + (f":{frame['line']}" if frame["line"] else "")
    return Step(f"{_function_name(frame['function'])} {location}", frame["file"], frame["line"])


def _function_name(function: Any) -> str:
    return str(function or "?").replace(".<locals>", "")


def _file_name(file: str | None) -> str:
    return PurePath(file).name if file else "?"


def _ranges(lines: Iterable[int]) -> str:
    """Return sorted lines as ranges, such as "3–5, 9"."""
    ranges: list[list[int]] = []
    for line in lines:
        if ranges and line == ranges[-1][1] + 1:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
    return ", ".join(str(low) if low == high else f"{low}–{high}" for low, high in ranges)


def _joined_start(texts: Sequence[str], separator: str) -> str:
    omitted = len(texts) - _NAMED
    return separator.join(texts[:_NAMED]) + (f"{separator}{omitted} more" if omitted > 0 else "")
