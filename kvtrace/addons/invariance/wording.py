"""Formulas of trees as text: coordinates are `i0`, `i1`, axes that are summed over `k0`, `k1`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kvtrace.symbolic.conditions import Condition
from kvtrace.symbolic.expressions import condition_expression, expression
from kvtrace.symbolic.terms import Term

if TYPE_CHECKING:
    from kvtrace.symbolic.summary import Summary

_OWN: Final = re.compile(r"lane\('(coordinate|bound)', (\d+)\)")
_LONGEST: Final = 120


def formula_text(formula: Term | Condition, summary: Summary) -> str:
    """Return a formula by the names of the kernel's arguments."""
    if isinstance(formula, Condition):
        text = condition_expression(formula, summary)
    else:
        text = expression(formula, summary)
    text = _OWN.sub(lambda match: f"{'i' if match[1] == 'coordinate' else 'k'}{match[2]}", text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
