"""Texts of trees and formulas.

Coordinates are `i0`, `i1` …, axes that are summed over `k0`, `k1` ….
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.invariance.coordinates import number_of_coordinate
from kvtrace.ir.floats import FORMATS, float_from_bits
from kvtrace.ir.integers import PREDICATES
from kvtrace.ir.ops import KINDS
from kvtrace.symbolic.conditions import Condition
from kvtrace.symbolic.expressions import condition_expression, expression
from kvtrace.symbolic.terms import Term

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kvtrace.symbolic.summary import Summary
    from kvtrace.symbolic.trees.tree import Tree

_OWN: Final = re.compile(
    r"lane\('(coordinate|bound)', (\d+)\)|lane\[\('(coordinate|bound)', (\d+)\)\]"
)
_LONGEST: Final = 120
_FLOATS: Final = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
    "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip
"""Predicates of comparisons of floats, as their attributes number them."""


def formula_text(
    formula: Term | Condition,
    summary: Summary | None,
    names: Mapping[int, str] = {},
) -> str:
    """Return the text of a formula with the names of the kernel's arguments. Long texts are cut.

    Args:
        formula: The formula.
        summary: The kernel's summary; None: numbers replace the kernel's arguments.
        names: Names of the output's coordinates, in place of their numbers.
    """
    if isinstance(formula, Condition):
        text = condition_expression(formula, summary)
    else:
        text = expression(formula, summary)

    def name(match: re.Match[str]) -> str:
        number = int(match[2] or match[4])
        return names.get(number, f"i{number}") if "coordinate" in match[0] else f"k{number}"

    text = _OWN.sub(name, text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def coordinate_names(trees: Iterable[Tree]) -> Mapping[int, str]:
    """Return the names of the coordinates in trees of one output: `i0` is the outermost."""
    numbers = {
        number
        for tree in trees
        for node in tree.walk()
        for formula in node.formulas()
        for atom in formula.atoms()
        if (number := number_of_coordinate(atom)) is not None
    }
    return {number: f"i{index}" for index, number in enumerate(sorted(numbers, reverse=True))}


def node_text(node: Tree, names: Mapping[int, str] = {}) -> str:
    """Return one line of text about a node of a bound tree, without its operands."""
    detail: tuple[Any, ...] = node.detail
    match node.what:
        case "integer" | "condition":
            return formula_text(detail[0], None, names)
        case "constant":
            return f"the number {_number(detail[0], detail[1])} ({detail[0]})"
        case "argument":
            return f"the argument {detail[0]}"
        case "element":
            masked = " under a mask" if node.parts else ""
            if detail[1] is None:
                return f"an element at an address without a known formula{masked}"
            return f"{detail[0]}[byte {formula_text(detail[1], None, names)}]{masked}"
        case "op":
            return _op_text(node)
        case "reduction":
            scan = "" if len(detail) == 4 else f", up to {formula_text(detail[5], None, names)}"
            return f"{detail[0]} over {detail[1]} elements{scan}"
        case "product":
            return f"a product of {' × '.join(detail[0][:2])} over {detail[2]} elements"
        case "loop":
            trips = formula_text(detail[0], None, names)
            return "a while loop" if detail[2] else f"a loop of {trips} trips"
        case "carried":
            return f"value {detail[1]} that the loop carries"
        case "combined":
            return f"operand {detail[0]} of the combining function"
    return f"{detail[0]}"


def _attribute_texts(name: str, attributes: Mapping[str, str]) -> Iterator[str]:
    """Yield the predicate of a comparison, or the symbol of a library call."""
    numbers = re.findall(r"\d+", attributes.get("predicate", ""))
    if numbers:
        names = _FLOATS if name.endswith("f") else PREDICATES
        yield names[int(numbers[0])]
    yield from re.findall(r"'(\w+)'", attributes.get("symbol", ""))[:1]


def _op_text(node: Tree) -> str:
    """Return the text of an op with the attributes that decide its result."""
    name, attributes, kind, _ = node.detail
    operator = KINDS[name].operator if name in KINDS else ""
    attribute_texts = list(_attribute_texts(name, dict(attributes)))
    form = (
        f" ({', '.join((*filter(None, [operator]), *attribute_texts))})"
        if operator or attribute_texts
        else ""
    )
    return f"{name}{form} to {kind or 'its type'}"


def _number(kind: str, bits: tuple[int | float, ...]) -> str:
    """Return the text of a constant's number, of the first one if there are several."""
    first = bits[0] if bits else 0
    decoded = float_from_bits(first, kind) if kind in FORMATS and isinstance(first, int) else first
    return f"{decoded:g}{', …' if len(bits) > 1 else ''}"
