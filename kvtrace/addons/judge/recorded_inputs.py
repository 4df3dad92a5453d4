"""Inputs as a recording has them: shapes, strides, types, scalars, and contents that are kept.

A launch of the recording fits a function if its kernel's arguments have the names of the function's
parameters (`x_ptr` is `x`), or else if the tensors that its kernel reads are as many as the
function takes: they are its inputs in order. Where the judged file has a kernel of a recorded name,
launches of other kernels are left out.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from kvtrace.addons.judge.errors import CannotJudge
from kvtrace.addons.judge.inputs import DTYPES, Case, Input, ScalarInput, TensorInput, write_cases
from kvtrace.addons.judge.parsing import FileText
from kvtrace.analysis.traces import open as open_trace
from kvtrace.capture.arguments import SHORT_NAMES
from kvtrace.evaluate.arguments import Argument, ScalarArgument, TensorArgument
from kvtrace.recorded_calls.recorded import Call, calls_of
from kvtrace.verdicts.contents.index_arguments import index_arguments

#: Elements of all tensors of a launch that is taken, at most, and launches.
_MOST_ELEMENTS: Final = 1 << 21
_MOST_CASES: Final = 4
_MOST_TOLD: Final = 4
_ALIGNED: Final = 16
_TYPES: Final = {short: name for name, short in SHORT_NAMES.items()}
_POINTER: Final = re.compile(r"^p_|_?(?:ptr|pointer)$")


def keep_recorded(trace: Path, text: FileText, entry: str, folder: Path) -> None:
    """Leave the inputs of launches that fit a function in a folder, the most frequent ones first.

    Args:
        trace: The recording.
        text: What the judged file says.
        entry: The function or class of it that is called.
        folder: Where cases and contents are left; it is made.

    Raises:
        CannotJudge: no launch fits.
        KvtraceError: the recording cannot be read.

    """
    folder.mkdir()
    names, optional = text.parameters.get(entry, ()), text.defaults.get(entry, 0)
    cases: dict[tuple[Input, ...], Case] = {}
    seen: Counter[str] = Counter()
    large = 0
    for call, constants in _by_frequency(trace, text.names):
        arguments = ", ".join(each.name for each in call.arguments)
        seen[f"{call.kernel}({arguments})"] += 1
        fitting = _fitting(call, constants, names, optional)
        if fitting is None:
            continue
        inputs = tuple(each for each, _ in fitting)
        if sum(e.storage for e in inputs if isinstance(e, TensorInput)) > _MOST_ELEMENTS:
            large += 1
            continue
        if inputs not in cases and len(cases) < _MOST_CASES:
            kept = tuple(
                _kept(each, argument, folder, f"recorded{len(cases)}-{at}.bin")
                for at, (each, argument) in enumerate(fitting)
            )
            cases[inputs] = Case(f"recorded {len(cases) + 1}: {_told(inputs)}", "given", kept)
    if cases:
        write_cases(folder, list(cases.values()))
        return
    if large:
        raise CannotJudge(
            f"the launches in {trace} that fit {entry} have more than {_MOST_ELEMENTS:,} elements "
            "each; give smaller inputs of the same kind by --shapes"
        )
    listed = ", ".join([*seen][:_MOST_TOLD]) or "none that can be evaluated"
    raise CannotJudge(
        f"no launch in {trace} fits {entry}({', '.join(names)}); recorded are {listed}: name the "
        "function's parameters as the kernel's arguments, or give --shapes"
    )


def _by_frequency(path: Path, own: frozenset[str]) -> Iterator[tuple[Call, list[ScalarArgument]]]:
    """Give the recorded calls that can be evaluated; of kernels that the file has, if there are.

    With each of them come the numbers that were compiled as constants, as a stride of 1 is.
    """
    selection = open_trace(path).selection
    found: list[tuple[int, Call, list[ScalarArgument]]] = []
    for run in selection.runs:
        launches: Counter[int] = Counter()
        for row in selection.trace.table("launches", (run,), ["call_id", "weight"]).to_pylist():
            launches[row["call_id"]] += row["weight"] or 1
        rows = selection.trace.table("calls", (run,), ["call_id", "args"]).to_pylist()
        constants = {row["call_id"]: _constants(row["args"]) for row in rows}
        found += [
            (launches[each.call_id], each, constants[each.call_id])
            for each in calls_of(selection.trace, run)
            if isinstance(each, Call)
        ]
    named = [each for each in found if each[1].kernel in own]
    for _, call, given in sorted(named or found, key=lambda each: -each[0]):
        yield call, given


def _constants(args: Sequence[Mapping[str, Any]]) -> list[ScalarArgument]:
    found = []
    for arg in args:
        if arg["kind"] == "constexpr" and arg["scalar"]:
            with suppress(ValueError, SyntaxError):
                value = ast.literal_eval(arg["scalar"])
                if isinstance(value, int | float):
                    found.append(ScalarArgument(arg["name"], value))
    return found


def _fitting(
    call: Call, constants: Sequence[ScalarArgument], names: Sequence[str], optional: int
) -> list[tuple[Input, Argument]] | None:
    """Return inputs of a function with the launch's arguments that they are; None: none fit.

    The last parameters, as many as have defaults, may be left out.
    """
    least = len(names) - optional
    by_name = {_plain(each.name): each for each in (*constants, *call.arguments)}
    chosen: list[tuple[str, Argument]] = []
    for name in names:
        argument = by_name.get(_plain(name))
        if argument is None:
            break
        chosen.append((name, argument))
    if len(chosen) < least or not any(isinstance(e, TensorArgument) for _, e in chosen):
        loaded = index_arguments(call.module).loaded
        if loaded is None:
            return None
        read = [call.arguments[at] for at in sorted(loaded) if at < len(call.arguments)]
        if not least <= len(read) <= len(names) or not read:
            return None
        chosen = list(zip(names, read, strict=False))
    made = [(_input(name, argument), argument) for name, argument in chosen]
    found = [(given, argument) for given, argument in made if given is not None]
    return found if len(found) == len(made) else None


def _plain(name: str) -> str:
    return _POINTER.sub("", name.lower())


def _input(name: str, argument: Argument) -> Input | None:
    if isinstance(argument, ScalarArgument):
        return ScalarInput(name, argument.value)
    if not isinstance(argument, TensorArgument) or argument.dtype not in _TYPES:
        return None
    shape, strides = tuple(argument.shape), tuple(argument.strides)
    if min(strides, default=0) < 0 or _TYPES[argument.dtype] not in DTYPES.values():
        return None
    reach = (
        sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) if all(shape) else -1
    )
    size = argument.element.bytes
    offset = argument.offset_bytes % _ALIGNED // size  # an alignment that a kernel may rely on
    return TensorInput(name, _TYPES[argument.dtype], shape, strides, offset, offset + reach + 1)


def _kept(given: Input, argument: Argument, folder: Path, file: str) -> Input:
    """Return an input with the contents that were recorded; without a file where there are none."""
    if not isinstance(given, TensorInput) or not isinstance(argument, TensorArgument):
        return given
    data = argument.storage.data
    if data is None:
        return given
    before, size = given.offset * argument.element.bytes, given.storage * argument.element.bytes
    start = argument.offset_bytes
    content = bytes(before) + data[start : start + size - before].tobytes()
    if len(content) != size:
        return given
    (folder / file).write_bytes(content)
    return replace(given, file=file)


def _told(inputs: Sequence[Input]) -> str:
    return ", ".join(
        f"{each.name}={each.value}"
        if isinstance(each, ScalarInput)
        else f"{each.name}={each.dtype}[{', '.join(map(str, each.shape))}]"
        for each in inputs
    )
