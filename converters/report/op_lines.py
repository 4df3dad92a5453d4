"""On which line of a module's text each of its ops is: in MLIR's generic form, or the pretty one.

`op_index` in the trace is an op's position in the text; both forms have one op a line, in the same
order.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from kvtrace.ir import Op
from kvtrace.ir.ops import Kind, named

__all__ = ["op_lines"]

_OP: Final = re.compile(r'\s*(?:%[^="]*? = )?"?(?P<name>[A-Za-z_][\w$]*(?:\.[\w$]+)*)')
_ENDS: Final = named(lambda row: row.kind is Kind.END)
_MODULES: Final = named(lambda row: row.kind is Kind.MODULE)


def op_lines(ops: Iterable[Op], text: str) -> dict[int, int]:
    """Return `op_index` → line (from 0) of these ops in a text of their module.

    What the pretty form leaves out (terminators of regions that give nothing) has no line. Empty
    where the two do not match.
    """
    lines: dict[int, int] = {}
    names = list(_names(text))
    at = 0
    for op in ops:
        if at < len(names) and _is_called(op, names[at][1]):
            lines[op.index] = names[at][0]
            at += 1
        elif op.name not in _ENDS:
            return {}
    return lines if at == len(names) else {}


def _is_called(op: Op, name: str) -> bool:
    return op.name == name or (name == "module" and op.name in _MODULES)


def _names(text: str) -> Iterator[tuple[int, str]]:
    """Return line and name of every op that a text shows."""
    for number, line in enumerate(text.split("\n")):
        stripped = line.lstrip()
        if not stripped or stripped[0] in "#}^/":
            continue
        found = _OP.match(line)
        if found is not None and ("." in found["name"] or found["name"] == "module"):
            yield number, found["name"]
