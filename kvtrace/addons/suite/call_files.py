"""Reader of a suite's calls, which are Python files of data; no file is executed."""

from __future__ import annotations

import ast
import re
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.suite.model import CALLS, CONTENTS, BadSuite
from kvtrace.converters.scripts.repro import (
    Code,
    DescriptorArgument,
    Literal,
    Memory,
    TensorArgument,
)
from kvtrace.inputs.drawn import Drawn

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

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
    """A call of a suite, as its file has it; see `Repro` for the fields.

    `recorded` has the median time in milliseconds, the device, and the number of executions.
    """

    folder: Path
    kernel: str
    grid: tuple[int, int, int]
    options: Mapping[str, Any]
    storages: Mapping[str, Memory]
    arguments: Mapping[str, TensorArgument | DescriptorArgument | Literal]
    recorded: tuple[float, str, int] | None
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
            recorded=fields["recorded"],
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
