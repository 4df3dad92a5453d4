"""Calls of a suite as launches for the evaluator, with the contents that its runner fills in."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from kvtrace.addons.suite.call_files import SuiteCall, number_of, read_call
from kvtrace.addons.suite.errors import CannotJudgeCall
from kvtrace.addons.suite.launch import Bytes, Launch, Scalar, Tensor
from kvtrace.converters.scripts.repro import Literal, TensorArgument

#: Where the recorded target is not known: IR is the same for all targets, but for few ops.
TARGET: Final = "cuda:90"
#: Bytes of all storages of a call, at most: they are drawn in this process.
_MOST_BYTES: Final = 4 << 30


def read_launch(folder: Path, name: str, triton: str | None = None) -> Launch:
    """Return the launch of an entry of a suite.

    Contents that the suite does not have are drawn as its runner draws them; what the kernel only
    writes is drawn, too, so that results differ from what is there before.

    Args:
        folder: the suite's folder.
        name: the entry's name.
        triton: the version of Triton that printed the IR; None: the installed one.

    Raises:
        BadSuite: a file is missing or damaged.
        CannotJudgeCall: the call has no IR, or arguments that the evaluator does not take.
    """
    from kvtrace.backends.compiled_kernels.generic import GenericFormFailed, generic_ttir

    call = read_call(folder, name)
    if call.code.stage != "ttir" or call.code.text is None:
        raise CannotJudgeCall(
            f"the suite has no TTIR of {call.kernel}; make it without --source from a run of Triton"
        )
    try:
        ir = generic_ttir(call.code.text, triton)
    except GenericFormFailed as error:
        raise CannotJudgeCall(f"the IR of {call.kernel} cannot be read: {error}") from error
    arguments = {name: _argument(call, name) for name in call.arguments}
    launch = Launch(
        call.kernel, ir, TARGET, call.grid, arguments, {}, _numbers(call.constants)
    )  # fmt: skip
    read = launch.reached(by_stores=False)
    read_storages = {launch.tensors[argument].storage for argument in read}
    return replace(launch, storages=_contents(call, read_storages))


def _argument(call: SuiteCall, name: str) -> Tensor | Scalar:
    value = call.arguments[name]
    if isinstance(value, TensorArgument):
        return Tensor(value.storage, value.dtype, value.shape, value.strides, value.offset)
    number = number_of(value.text) if isinstance(value, Literal) else None
    if number is None:
        raise CannotJudgeCall(
            f"the argument {name} of {call.kernel} is neither a tensor nor a number"
        )
    return number


def _numbers(constants: Mapping[str, Literal]) -> dict[str, Any]:
    """Return constants that are numbers, texts or None."""
    values = {}
    for name, literal in constants.items():
        try:
            value = ast.literal_eval(literal.text)
        except (ValueError, SyntaxError):
            continue
        if value is None or isinstance(value, int | float | str):
            values[name] = value
    return values


def _contents(call: SuiteCall, read: set[str]) -> dict[str, Bytes]:
    from kvtrace.converters.scripts.launching import Storage, unrecorded

    total = sum(memory.nbytes for memory in call.storages.values())
    if total > _MOST_BYTES:
        raise CannotJudgeCall(f"the storages of {call.kernel} have {total:,} bytes together")
    contents: dict[str, Bytes] = {}
    for seed, (name, memory) in enumerate(call.storages.items()):
        recorded = call.contents(name) if name in read else None
        if recorded is not None:
            contents[name] = np.frombuffer(recorded, np.uint8)
            continue
        storage = Storage(**{field: getattr(memory, field) for field in Storage._fields})
        contents[name] = unrecorded(storage, seed).numpy()
    return contents
