"""Trees and formulas as text: coordinates are `i0`, `i1`, axes that are summed over `k0`, `k1`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from kvtrace.ir.floats import FORMATS, float_from_bits
from kvtrace.ir.ops import KINDS
from kvtrace.symbolic.conditions import Condition
from kvtrace.symbolic.expressions import condition_expression, expression
from kvtrace.symbolic.terms import Term

if TYPE_CHECKING:
    from kvtrace.addons.invariance.trees import Tree
    from kvtrace.symbolic.summary import Summary

_OWN: Final = re.compile(
    r"lane\('(coordinate|bound)', (\d+)\)|lane\[\('(coordinate|bound)', (\d+)\)\]"
)
_LONGEST: Final = 120


def formula_text(formula: Term | Condition, summary: Summary) -> str:
    """Return a formula by the names of the kernel's arguments."""
    if isinstance(formula, Condition):
        text = condition_expression(formula, summary)
    else:
        text = expression(formula, summary)
    return _shown(text)


def _shown(text: str) -> str:
    def name(match: re.Match[str]) -> str:
        return ("i" if "coordinate" in match[0] else "k") + (match[2] or match[4])

    text = _OWN.sub(name, text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def node_text(node: Tree) -> str:
    """Return one line about a node of a tree whose numbers are bound."""
    detail: tuple[Any, ...] = node.detail
    match node.what:
        case "integer":
            return _shown(repr(detail[0]))
        case "condition":
            return _shown(repr(detail[0]))
        case "constant":
            return f"the number {_number(detail[0], detail[1])} ({detail[0]})"
        case "argument":
            return f"the argument {detail[0]}"
        case "element":
            masked = " under a mask" if node.parts else ""
            return f"{detail[0]}[byte {_shown(repr(detail[1]))}]{masked}"
        case "op":
            operator = KINDS[detail[0]].operator if detail[0] in KINDS else ""
            return f"{detail[0]}{f' ({operator})' if operator else ''} to {detail[2] or 'its type'}"
        case "reduction":
            return f"{detail[0]} over {detail[1]} elements"
        case "product":
            return f"a product of {' × '.join(detail[0][:2])} over {detail[2]} elements"
        case "loop":
            return "a while loop" if detail[2] else f"a loop of {_shown(repr(detail[0]))} trips"
        case "carried":
            return f"what the loop carries ({detail[1]})"
        case "combined":
            return f"what is combined ({detail[0]})"
    return f"{detail[0]}"


def _number(kind: str, bits: tuple[int | float, ...]) -> str:
    """Return a constant's number; of several the first."""
    first = bits[0] if bits else 0
    decoded = float_from_bits(first, kind) if kind in FORMATS and isinstance(first, int) else first
    return f"{decoded:g}{', …' if len(bits) > 1 else ''}"
