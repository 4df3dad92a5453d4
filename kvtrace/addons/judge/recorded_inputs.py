"""Cases with the inputs of recorded launches: shapes, strides, types, scalars and contents.

A launch of the recording fits a function if its kernel's arguments have the names of the function's
parameters (`x_ptr` is `x`). Otherwise the launch fits if its kernel reads as many tensors as the
function has parameters: the tensors are then the inputs, in order. If the judged file has a kernel
of a recorded name, launches of other kernels are skipped.
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
from kvtrace.addons.judge.parsing import FileText
from kvtrace.analysis.traces import open as open_trace
from kvtrace.evaluate.arguments import Argument, ScalarArgument, TensorArgument
from kvtrace.inputs.cases import (
    DTYPES,
    Case,
    Input,
    ScalarInput,
    TensorInput,
    label_of,
    write_cases,
)
from kvtrace.ir.index_arguments import index_arguments
from kvtrace.recorded_calls.recorded import Call, calls_of
from kvtrace.schema.vocabularies import TORCH_NAMES

#: Limits: elements of all tensors of a launch, launches, and launches named in an error.
_MOST_ELEMENTS: Final = 1 << 21
_MOST_CASES: Final = 4
_MOST_LISTED: Final = 4
_ALIGNED: Final = 16
_POINTER: Final = re.compile(r"^p_|_?(?:ptr|pointer)$")


def write_recorded_cases(trace: Path, text: FileText, entry: str, folder: Path) -> None:
    """Write the inputs of recorded launches that fit a function as cases into a new folder.

    The most frequent launches come first; there are at most four cases.

    Args:
        trace: The recording.
        text: The text of the judged file.
        entry: The name of the function or class that is judged.
        folder: The folder to create for cases and contents.

    Raises:
        CannotJudge: no launch fits, or those that fit are too large.
        KvtraceError: the recording cannot be read.
    """
    folder.mkdir()
    parameter_names, optional = text.parameters.get(entry, ()), text.defaults.get(entry, 0)
    cases: dict[tuple[Input, ...], Case] = {}
    signatures: Counter[str] = Counter()
    large_launches = 0
    for call, constants in _calls_by_frequency(trace, text.names):
        arguments = ", ".join(argument.name for argument in call.arguments)
        signatures[f"{call.kernel}({arguments})"] += 1
        fitting = _fitting_pairs(call, constants, parameter_names, optional)
        if fitting is None:
            continue
        inputs = tuple(value for value, _ in fitting)
        if sum(each.storage for each in inputs if isinstance(each, TensorInput)) > _MOST_ELEMENTS:
            large_launches += 1
            continue
        if inputs not in cases and len(cases) < _MOST_CASES:
            stored = tuple(
                _with_contents(value, argument, folder, f"recorded{len(cases)}-{at}.bin")
                for at, (value, argument) in enumerate(fitting)
            )
            cases[inputs] = Case(f"recorded {len(cases) + 1}: {label_of(inputs)}", "given", stored)
    if cases:
        write_cases(folder, list(cases.values()))
        return
    if large_launches:
        raise CannotJudge(
            f"all launches in {trace} that fit {entry} have more than {_MOST_ELEMENTS:,} elements; "
            "give smaller inputs of the same kind by --shapes"
        )
    signature_list = ", ".join([*signatures][:_MOST_LISTED]) or "none that can be evaluated"
    raise CannotJudge(
        f"no launch in {trace} fits {entry}({', '.join(parameter_names)}); recorded are "
        f"{signature_list}: give the function's parameters the names of the kernel's arguments, or "
        "give --shapes"
    )


def _calls_by_frequency(
    path: Path, file_names: frozenset[str]
) -> Iterator[tuple[Call, list[ScalarArgument]]]:
    """Yield the recorded calls that can be evaluated, those with most launches first.

    If kernels named in `file_names` were recorded, only their calls. Each call comes with the
    numbers that were compiled as constants, such as a stride of 1.
    """
    selection = open_trace(path).selection
    calls: list[tuple[int, Call, list[ScalarArgument]]] = []
    for run in selection.runs:
        launches: Counter[int] = Counter()
        for row in selection.trace.table("launches", (run,), ["call_id", "weight"]).to_pylist():
            launches[row["call_id"]] += row["weight"] or 1
        rows = selection.trace.table("calls", (run,), ["call_id", "args"]).to_pylist()
        constants = {row["call_id"]: _constant_arguments(row["args"] or ()) for row in rows}
        calls += [
            (launches[call.call_id], call, constants[call.call_id])
            for call in calls_of(selection.trace, run)
            if isinstance(call, Call)
        ]
    file_calls = [counted for counted in calls if counted[1].kernel in file_names]
    for _, call, constants_of_call in sorted(file_calls or calls, key=lambda counted: -counted[0]):
        yield call, constants_of_call


def _constant_arguments(args: Sequence[Mapping[str, Any]]) -> list[ScalarArgument]:
    constants = []
    for arg in args:
        if arg["kind"] == "constexpr" and arg["scalar"]:
            with suppress(ValueError, SyntaxError):
                value = ast.literal_eval(arg["scalar"])
                if isinstance(value, int | float):
                    constants.append(ScalarArgument(arg["name"], value))
    return constants


def _fitting_pairs(
    call: Call, constants: Sequence[ScalarArgument], names: Sequence[str], optional: int
) -> list[tuple[Input, Argument]] | None:
    """Return pairs of a function's inputs and a launch's arguments; None if they do not fit.

    `names` are the function's parameters; the last `optional` ones may have no argument.
    """
    required_count = len(names) - optional
    by_name = {
        _name_without_pointer_suffix(value.name): value for value in (*constants, *call.arguments)
    }
    argument_by_parameter: list[tuple[str, Argument]] = []
    for name in names:
        argument = by_name.get(_name_without_pointer_suffix(name))
        if argument is None:
            break
        argument_by_parameter.append((name, argument))
    if len(argument_by_parameter) < required_count or not any(
        isinstance(value, TensorArgument) for _, value in argument_by_parameter
    ):
        loaded = index_arguments(call.module).loaded
        if loaded is None:
            return None
        read_arguments = [call.arguments[at] for at in sorted(loaded) if at < len(call.arguments)]
        if not required_count <= len(read_arguments) <= len(names) or not read_arguments:
            return None
        argument_by_parameter = list(zip(names, read_arguments, strict=False))
    pairs = [
        (_input_of_argument(name, argument), argument) for name, argument in argument_by_parameter
    ]
    fitting = [(entry, argument) for entry, argument in pairs if entry is not None]
    return fitting if len(fitting) == len(pairs) else None


def _name_without_pointer_suffix(name: str) -> str:
    return _POINTER.sub("", name.lower())


def _input_of_argument(name: str, argument: Argument) -> Input | None:
    if isinstance(argument, ScalarArgument):
        return ScalarInput(name, argument.value)
    if not isinstance(argument, TensorArgument) or argument.dtype not in TORCH_NAMES:
        return None
    shape, strides = tuple(argument.shape), tuple(argument.strides)
    if min(strides, default=0) < 0 or TORCH_NAMES[argument.dtype] not in DTYPES.values():
        return None
    last_offset = (
        sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) if all(shape) else -1
    )
    size = argument.element.bytes
    offset = argument.offset_bytes % _ALIGNED // size  # kernels may rely on this alignment
    return TensorInput(
        name, TORCH_NAMES[argument.dtype], shape, strides, offset, offset + last_offset + 1
    )


def _with_contents(entry: Input, argument: Argument, folder: Path, file: str) -> Input:
    """Write a tensor's recorded contents into a file of `folder`, and return it with the file.

    Scalars, and tensors without recorded contents, are returned unchanged.
    """
    if not isinstance(entry, TensorInput) or not isinstance(argument, TensorArgument):
        return entry
    data = argument.storage.data
    if data is None:
        return entry
    before, size = entry.offset * argument.element.bytes, entry.storage * argument.element.bytes
    start = argument.offset_bytes
    content = bytes(before) + data[start : start + size - before].tobytes()
    if len(content) != size:
        return entry
    (folder / file).write_bytes(content)
    return replace(entry, file=file)
