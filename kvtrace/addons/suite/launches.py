"""Calls of a suite, read from their Python files of data, and as launches for the evaluator.

No file is executed. Contents that the suite does not have are those that its runner fills in.
"""

from __future__ import annotations

import ast
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from kvtrace.addons.suite.errors import CannotJudgeCall
from kvtrace.addons.suite.launch import Bytes, Launch, Scalar, Tensor
from kvtrace.addons.suite.model import CALLS, CONTENTS, BadSuite
from kvtrace.converters.scripts.repro import (
    Code,
    DescriptorArgument,
    Literal,
    Memory,
    TensorArgument,
)
from kvtrace.inputs.drawn import Drawn

#: Where the recorded target is not known: IR is the same for all targets, but for few ops.
TARGET: Final = "cuda:90"
#: Bytes of all storages of a call, at most: they are drawn in this process.
_MOST_BYTES: Final = 4 << 30
#: Classes of `converters/scripts/launching.py`, whose fields have the same order.
_CLASSES: Final = {
    "Storage": Memory,
    "Drawn": Drawn,
    "Tensor": TensorArgument,
    "Descriptor": DescriptorArgument,
}

#: Numbers that have no literal.
_SPECIAL: Final = re.compile(r"float\(['\"](-?inf|nan)['\"]\)")


@dataclass(frozen=True, slots=True)
class SuiteCall:
    """A call of a suite, as its file has it; see `Repro` for the fields."""

    folder: Path
    kernel: str
    grid: tuple[int, int, int]
    options: Mapping[str, Any]
    storages: Mapping[str, Memory]
    arguments: Mapping[str, TensorArgument | DescriptorArgument | Literal]
    code: Code
    constants: Mapping[str, Literal] = field(default_factory=dict)

    def contents(self, storage: str) -> bytes | None:
        """Return the recorded contents of a storage, or None if the suite does not have them.

        Raises:
            BadSuite: their file is missing or damaged.
        """
        sha256 = self.storages[storage].contents
        if sha256 is None:
            return None
        path = self.folder / CONTENTS / f"{sha256}.zlib"
        try:
            return zlib.decompress(path.read_bytes())
        except (OSError, zlib.error) as error:
            raise BadSuite(f"{path} cannot be read ({error}); make the suite again") from error


def read_call(folder: Path, name: str) -> SuiteCall:
    """Return the call of an entry of a suite.

    Raises:
        BadSuite: a file is missing, or is not as `kvtrace suite` writes it.
    """
    path = folder / CALLS / f"{name}.py"
    try:
        fields = _call_fields(path.read_text(encoding="utf-8"))
        code, stage = str(fields["code"]), str(fields["stage"])
        if stage != "module" and "\n" not in code:
            code = (folder / code).read_text(encoding="utf-8")
        return SuiteCall(
            folder=folder,
            kernel=fields["kernel"],
            grid=fields["grid"],
            options=fields["options"],
            storages=fields["storages"],
            arguments=fields["arguments"],
            code=Code("source", None, code) if stage == "module" else Code(stage, code),
            constants=fields.get("constants", {}),
        )
    except (OSError, ValueError, SyntaxError, TypeError, KeyError, RecursionError) as error:
        raise BadSuite(f"{path} is no call of a suite ({error}); make the suite again") from error


def number_of(text: str) -> int | float | bool | None:
    """Return the number of an expression, or None if it is another value."""
    special = _SPECIAL.fullmatch(text)
    try:
        value = float(special[1]) if special else ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, int | float) else None


def _call_fields(text: str) -> dict[str, Any]:
    """Return the values of a call's fields by name. Raises ValueError, TypeError, SyntaxError."""
    for statement in ast.parse(text).body:
        match statement:
            case ast.Assign(targets=[ast.Name("CALL")], value=ast.Call() as call):
                return {
                    str(field.arg): _value(str(field.arg), field.value) for field in call.keywords
                }
    raise ValueError("it assigns no CALL")


def _value(name: str, node: ast.expr) -> Any:
    if name in ("storages", "arguments", "constants"):
        if not isinstance(node, ast.Dict):
            raise ValueError(f"{name} is no dictionary")
        keys = [ast.literal_eval(key) for key in node.keys if key is not None]
        return dict(zip(keys, map(_object, node.values), strict=True))
    return ast.literal_eval(node)


def _object(node: ast.expr) -> Any:
    """Return a storage or argument; what is no tensor stays the text of an expression."""
    match node:
        case ast.Call(func=ast.Name(name), args=values) if name in _CLASSES:
            defaults = (None,) if name == "Storage" and len(values) == 2 else ()
            return _CLASSES[name](*map(_part, values), *defaults)
    return Literal(ast.unparse(node))


def _part(node: ast.expr) -> Any:
    return _object(node) if isinstance(node, ast.Call) else ast.literal_eval(node)


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
