"""Candidates for a suite's kernels: functions of files, launched on recorded arguments.

A suite has a copy of this file beside its run.py: it imports torch and Triton alone.
"""

import fnmatch
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch
import triton

if TYPE_CHECKING:
    from kvtrace.converters.scripts import launching

#: How far a candidate's element may be from the recorded kernel's, relative to the larger of the
#: expected element and the root mean square of all expected ones.
TOLERANCES = {
    torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 2e-2,
}  # fmt: skip
#: The tolerance of types of eight bits.
EIGHT_BITS = 0.13
#: Elements that are compared, or whose digest is computed, at a time.
PIECE = 1 << 24


class BadArgument(Exception):
    """Raised if an argument of the command line cannot be used; the text says why."""


@dataclass(frozen=True)
class Function:
    """A candidate: a function, or a kernel of Triton with its grid."""

    label: str
    name: str
    function: Any
    grid: Any = None


def candidates_of(place: str) -> list[Function]:
    """Return the functions of `FILE:FUNCTION`, of a file, or of all files in a folder.

    Raises:
        BadArgument: there are none.
    """
    path, name = Path(place), ""
    if ":" in path.name and not path.exists():
        path_text, _, name = place.rpartition(":")
        path = Path(path_text)
    files = sorted(path.glob("*.py")) if path.is_dir() and place else [path]
    if not files or not all(file.is_file() for file in files):
        raise BadArgument(f"--candidate {place}: there is no such file, or no .py file in it")
    found = [function for file in files for function in _functions(file)]
    if not name:
        return found
    named = [function for function in found if function.name == name]
    if not named:
        names = ", ".join(function.name for function in found)
        raise BadArgument(f"{path} has no function {name}; it has {names or 'none'}")
    return named


def _functions(file: Path) -> list[Function]:
    """Return the functions and kernels that a file defines; those that it imports are left out."""
    try:
        module = module_of(file)
    except Exception as error:
        raise BadArgument(f"{file} cannot be imported: {told(error)}") from error
    grid = getattr(module, "grid", None)
    return [
        Function(f"{file.name}:{name}", name, value, grid)
        for name, value in vars(module).items()
        if name != "grid"
        and (_is_kernel(value) or inspect.isfunction(value))
        and getattr(_innermost(value), "__module__", None) == module.__name__
    ]


def module_of(file: Path) -> ModuleType:
    """Import a file as a module of its own. Raises whatever the file raises."""
    name = f"suite_{file.stem.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise BadArgument(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where Triton looks up what a kernel uses
    spec.loader.exec_module(module)
    return module


def told(error: BaseException) -> str:
    """Return an error in one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _innermost(value: Any) -> Any:
    """Return the function within an autotuner, heuristics, and `triton.jit`."""
    while _is_kernel(value):
        value = value.fn
    return value


def chosen(
    entries: Sequence[Mapping[str, Any]], globs: Sequence[str], functions: Sequence[Function]
) -> list[tuple[Mapping[str, Any], Function | None]]:
    """Return the entries to launch, each with the candidate that applies to it.

    A candidate applies to the calls of the kernel that has its name. A single candidate with
    another name applies to the calls that `globs` choose. Without candidates all chosen entries are
    launched.
    """
    matching = [
        entry
        for entry in entries
        if not globs or any(fnmatch.fnmatchcase(entry["name"], glob) for glob in globs)
    ]
    if not matching:
        names = ", ".join(entry["name"] for entry in entries[:5])
        raise BadArgument(f"no call matches {' or '.join(globs) or 'anything'}; there are {names}")
    by_name = {function.name: function for function in functions}
    pairs = [(entry, by_name.get(entry["kernel"])) for entry in matching]
    if not functions or any(function is not None for _, function in pairs):
        return pairs
    if globs and len(functions) == 1:
        return [(entry, functions[0]) for entry in matching]
    kernels = ", ".join(dict.fromkeys(entry["kernel"] for entry in matching))
    raise BadArgument(
        f"no candidate is named as a kernel of these calls ({kernels}): name it FILE:FUNCTION and "
        "say with --calls which calls it is for"
    )


def candidate_launch(
    function: Function, call: "launching.Call", given: Mapping[str, Any]
) -> Callable[[], object]:
    """Return what launches a candidate with the recorded arguments that it names.

    A kernel gets the recorded grid unless its file has `grid`, and the recorded numbers of warps
    and stages unless it is autotuned. A function gets constants of the kernel, too, if the call has
    them.

    Raises:
        BadArgument: a parameter is no recorded argument, and has no default.
    """
    values = {**getattr(call, "constants", {}), **given}
    if not _is_kernel(function.function):
        parameters = inspect.signature(function.function).parameters.values()
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            return lambda: function.function(**values)
        named = _named(function, parameters, values, set())
        return lambda: function.function(**named)
    kernel, chosen_by_itself = function.function, set()
    while not isinstance(kernel, triton.runtime.jit.JITFunction):
        chosen_by_itself |= set(getattr(kernel, "values", ()))  # of triton.heuristics
        configurations = getattr(kernel, "configs", ())
        chosen_by_itself |= {name for each in configurations for name in each.kwargs}
        kernel = kernel.fn
    parameters = inspect.signature(kernel.fn).parameters.values()
    named = _named(function, parameters, values, chosen_by_itself)
    grid = call.grid if function.grid is None else function.grid
    if kernel is function.function:
        options = ("num_warps", "num_stages")
        named |= {name: call.options[name] for name in options if name in call.options}
    return lambda: function.function[grid](**named)


def _named(
    function: Function,
    parameters: Iterable[inspect.Parameter],
    values: Mapping[str, Any],
    chosen_by_itself: set[str],
) -> dict[str, Any]:
    """Return the values of a candidate's parameters."""
    named, missing = {}, []
    for parameter in parameters:
        if parameter.name in chosen_by_itself:
            continue
        if parameter.name in values:
            named[parameter.name] = values[parameter.name]
        elif parameter.default is parameter.empty:
            missing.append(parameter.name)
    if missing:
        raise BadArgument(
            f"{function.label} has parameters that are no recorded arguments: "
            f"{', '.join(missing)}; give them defaults, or name some of {', '.join(values)}"
        )
    return named


def _is_kernel(value: object) -> bool:
    return isinstance(value, triton.runtime.jit.KernelInterface)


def difference(
    call: "launching.Call", expected: Mapping[str, torch.Tensor], found: Mapping[str, torch.Tensor]
) -> str | None:
    """Return how a candidate's storages differ from the kernel's beyond the tolerance, or None."""
    for name, storage in call.storages.items():
        kind = getattr(torch, storage.dtype)
        size = storage.nbytes // kind.itemsize
        pair = [memory[name][: size * kind.itemsize].view(kind) for memory in (expected, found)]
        told = _different_elements(*pair)
        if told is not None:
            return f"{name}: {told}"
    return None


def _different_elements(expected: torch.Tensor, found: torch.Tensor) -> str | None:
    is_exact = not (expected.is_floating_point() or expected.is_complex())
    tolerance = 0.0 if is_exact else TOLERANCES.get(expected.dtype, EIGHT_BITS)
    wide = torch.complex128 if expected.is_complex() else torch.float64
    scale = 0.0 if is_exact else _root_mean_square(expected, wide)
    count, first = 0, None
    for start in range(0, len(expected), PIECE):
        one, other = expected[start : start + PIECE], found[start : start + PIECE]
        if is_exact:
            bad = one != other
        else:
            one, other = one.to(wide), other.to(wide)
            allowed = tolerance * one.abs().clamp(min=scale)
            same = (one == other) | (one.isnan() & other.isnan())
            bad = ~(same | ((one - other).abs() <= allowed) & one.isfinite())
        here = int(bad.sum())
        if here and first is None:
            at = int(bad.nonzero()[0])
            first = (start + at, one[at].item(), other[at].item())
        count += here
    if first is None:
        return None
    at, wanted, value = first
    return (
        f"{count:,} of {len(expected):,} elements differ, the first at {at:,}: {value!r} in place "
        f"of {wanted!r}"
    )


def _root_mean_square(values: torch.Tensor, wide: torch.dtype) -> float:
    total, count = 0.0, 0
    for start in range(0, len(values), PIECE):
        piece = values[start : start + PIECE].to(wide)
        finite = piece[piece.isfinite()]
        total += float(finite.abs().square().sum())
        count += len(finite)
    return (total / count) ** 0.5 if count else 0.0


def digests(memory: Mapping[str, torch.Tensor]) -> dict[str, str]:
    """Return a number for the bytes of each storage, computed where they are."""
    return {name: _digest(storage) for name, storage in memory.items()}


def _digest(storage: torch.Tensor) -> str:
    whole = len(storage) // 8 * 8
    total = 0
    for byte in storage[whole:].tolist():
        total = total * 257 + byte + 1
    numbers = storage[:whole].view(torch.int64)
    for start in range(0, len(numbers), PIECE):
        piece = numbers[start : start + PIECE]
        # Each place has an odd factor of its own; products wrap around at 64 bits. The shifts let
        # the upper bits of elements and products reach the lower ones.
        factors = torch.arange(len(piece), device=piece.device) * 0x9E3779B97F4A7C1 | 1
        products = (piece ^ (piece >> 29)) * factors
        total = total * 0x9E3779B97F4A7C15 + int((products ^ (products >> 32)).sum())
    return f"{total % 2**64:016x}"
