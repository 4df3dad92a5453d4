"""Where a launch is placed when time is told by call stack, module, source line or operator.

A path is read from the outermost step to the innermost, which is the kernel. Of a call only the
stack of its first launch was recorded; a kernel that Inductor generated from several nodes has one
place: what their modules, or lines, have in common, and below that all of them in one step.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath
from typing import Any, Final, Literal, get_args

from kvtrace.figures.lines import is_plumbing

Grouping = Literal["stack", "frames", "module", "source", "op"]
GROUPINGS: Final[tuple[Grouping, ...]] = get_args(Grouping)

#: How torch calls a module's forward, which so is known from an autograd function's.
_CALLS_FORWARD: Final = "Module._call_impl"
#: What Inductor says of the operators in a kernel's name; there may be none.
_FUSED: Final = re.compile(r"triton_[a-z]{3}_fused_(?!\d+$)(.+?)(?:_\d+)?$")
#: So many modules, lines or operators are named in one step.
_NAMED: Final = 4


@dataclass(frozen=True, slots=True)
class Step:
    """One level of a path. `kernel` is the module and name of the kernel that it stands for."""

    label: str
    file: str | None = None
    line: int | None = None
    note: str | None = None
    kernel: tuple[str | None, str] | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """What is placed: a call of a kernel, or what a library ran under a name.

    Attributes:
        kernel: The kernel's row, with module, name, file, line, origin and a list of origins;
            None: a library's.
        frames: The stack's, innermost first, each with file, line and function; None where the
            kernel was compiled and never launched.
        library: Whose it is and its name, where no launch is known for it.

    """

    kernel: Mapping[str, Any] | None
    frames: Sequence[Mapping[str, Any]] | None = None
    library: tuple[str, str] | None = None


def path_of(placed: Placed, grouping: Grouping) -> tuple[Step, ...]:
    """Return the steps to what is placed, itself the last."""
    if placed.library is not None:
        maker, name = placed.library
        return (Step("not launched by Python's Triton"), Step(maker), Step(name))
    assert placed.kernel is not None
    if placed.frames is None and grouping in ("stack", "frames"):
        return (Step("compiled, never launched"), _kernel(placed.kernel))
    return (*_PATHS[grouping](placed.kernel, placed.frames or ()), _kernel(placed.kernel))


def _kernel(kernel: Mapping[str, Any]) -> Step:
    name = kernel["name"] or "(no name)"
    return Step(name, kernel["file"], kernel["line"], kernel=(kernel["module"], name))


def _by_stack(kernel: Mapping[str, Any], frames: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
    own = [frame for frame in frames if not is_plumbing(frame["file"])]
    return _by_frames(kernel, own) or (_nowhere(frames),)


def _by_frames(_kernel: Mapping[str, Any], frames: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
    return tuple(_frame(frame) for frame in reversed(frames))


def _by_module(kernel: Mapping[str, Any], frames: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
    modules = _known(kernel, "module")
    if modules:
        return _common_modules(sorted(modules))
    called = [
        Step(_plain(frame["function"]).removesuffix(".forward"), frame["file"], None)
        for frame, outer in pairwise(frames)
        if str(frame["function"]).endswith(".forward") and outer["function"] == _CALLS_FORWARD
    ]
    if called:
        return tuple(reversed(called))
    if kernel["origin"] == "inductor" and not _known(kernel, "file"):
        return (Step("module not recorded"),)
    return (Step(f"in no module{_backward(frames)}"),)


def _common_modules(modules: Sequence[str]) -> tuple[Step, ...]:
    """Return what the modules' paths have in common, and where they part, all of them in one."""
    steps: list[Step] = []
    paths = [tuple(module.split(".")) for module in modules]
    while all(paths):
        heads = {path[0] for path in paths}
        if len(heads) > 1 and not all(head.isdigit() for head in heads):
            rest = sorted({".".join(path) for path in paths})
            return (*steps, Step(_joined(rest, " + "), note="\n".join(modules)))
        steps.append(Step(heads.pop() if len(heads) == 1 else "*"))
        paths = [path[1:] for path in paths]
    return tuple(steps)


def _by_source(kernel: Mapping[str, Any], frames: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
    placed = (one for one in kernel["origins"] if one["file"] and one["line"])
    lines = sorted({(one["file"], one["line"]) for one in placed})
    if lines:
        return _lines(kernel, lines)
    for frame in frames:
        if not is_plumbing(frame["file"]):
            return (Step(_base(frame["file"]), frame["file"]), _frame(frame))
    return (_nowhere(frames),)


def _lines(kernel: Mapping[str, Any], lines: Sequence[tuple[str, int]]) -> tuple[Step, ...]:
    files = list(dict.fromkeys(file for file, _ in lines))
    places = [
        f"{_base(file)}:{_ranges(line for of, line in lines if of == file)}" for file in files
    ]
    functions = sorted(_known(kernel, "function"))
    label = f"{_joined(places, ' + ')} {_joined(functions, ', ')}".rstrip()
    codes = {(one["file"], one["line"]): one["code"] for one in kernel["origins"]}
    note = "\n".join(f"{line}: {codes[file, line]}" for file, line in lines if codes[file, line])
    return (
        Step(
            _joined([_base(file) for file in files], " + "), files[0] if len(files) == 1 else None
        ),
        Step(label, *lines[0], note=note or None),
    )


def _by_op(kernel: Mapping[str, Any], _frames: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
    ops = sorted(op.removeprefix("aten.") for op in _known(kernel, "op"))
    if ops:
        nodes = ", ".join(sorted(_known(kernel, "node")))
        return (Step(_joined(ops, ", "), note=f"{', '.join(ops)}\nnodes: {nodes}"),)
    if kernel["origin"] != "inductor":
        return (Step("not generated by Inductor"),)
    named = fused_operators(kernel["name"] or "")
    if not named:
        return (Step("operators not recorded"),)
    return (Step(named[0], note="read from the kernel's name"),)


_PATHS: Final[
    dict[
        Grouping,
        Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]]], tuple[Step, ...]],
    ]
] = {
    "stack": _by_stack,
    "frames": _by_frames,
    "module": _by_module,
    "source": _by_source,
    "op": _by_op,
}


def _known(kernel: Mapping[str, Any], field: str) -> set[str]:
    return {one[field] for one in kernel["origins"] if one[field]}


def fused_operators(kernel: str) -> tuple[str, ...]:
    """Return what the name that Inductor gave a kernel says of its operators, as one text."""
    named = _FUSED.fullmatch(kernel)
    return () if named is None else (named[1],)


def _nowhere(frames: Sequence[Mapping[str, Any]]) -> Step:
    return Step(f"no frame of the program{_backward(frames)}")


def _backward(frames: Sequence[Mapping[str, Any]]) -> str:
    """Say that autograd made the call, which it does from a thread of its own."""
    backward = any("backward" in str(frame["function"]).lower() for frame in frames)
    return " (backward, by autograd)" if backward else ""


def _frame(frame: Mapping[str, Any]) -> Step:
    place = f"{_base(frame['file'])}:{frame['line']}" if frame["line"] else _base(frame["file"])
    return Step(f"{_plain(frame['function'])} {place}", frame["file"], frame["line"])


def _plain(function: Any) -> str:
    return str(function or "?").replace(".<locals>", "")


def _base(file: str | None) -> str:
    return PurePath(file).name if file else "?"


def _ranges(lines: Iterable[int]) -> str:
    """Return "3–5, 9" of lines in their order."""
    found: list[list[int]] = []
    for line in lines:
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return ", ".join(str(low) if low == high else f"{low}–{high}" for low, high in found)


def _joined(texts: Sequence[str], by: str) -> str:
    more = len(texts) - _NAMED
    return by.join(texts[:_NAMED]) + (f"{by}{more} more" if more > 0 else "")
