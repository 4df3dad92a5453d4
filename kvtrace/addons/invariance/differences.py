"""`kvtrace diff --meaning`: does a changed kernel still compute the same?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtrace.addons.invariance.text import MEANINGS, versions_text
from kvtrace.addons.invariance.versions import meanings_of
from kvtrace.converters.diff.model import KernelMeaning

if TYPE_CHECKING:
    from kvtrace.addons.invariance.versions import OutputMeaning
    from kvtrace.schema.trace import Selection


def kernel_meanings(
    before: Selection, after: Selection, kernels: frozenset[str]
) -> tuple[KernelMeaning, ...]:
    """Compare both versions of the kernels of some names, output by output."""
    return tuple(
        KernelMeaning(each.kernel, each.output, each.meaning, _text(each))
        for each in meanings_of(before, after, kernels)
    )


def _text(each: OutputMeaning) -> str:
    return "; ".join((f"{MEANINGS[each.meaning]} (by TTIR)", *versions_text(each)))
