"""`kvtrace diff --meaning`: does a changed kernel still compute the same?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kvtrace.addons.invariance.text import versions_text
from kvtrace.addons.invariance.versions import meanings_of
from kvtrace.converters.diff.model import KernelMeaning

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvtrace.addons.invariance.versions import Meaning, OutputMeaning
    from kvtrace.schema.trace import Selection

_TEXTS: Final[Mapping[Meaning, str]] = {
    "same": "bit for bit the same by TTIR",
    "equal": "bit for bit the same by TTIR, at the recorded sizes",
    "reassociated": "the same up to the order of sums, at the recorded sizes",
    "violation": "differs",
    "different": "unknown: another expression by TTIR, of which no element was seen to differ",
    "unknown": "unknown: part of one version is not followed, or could not be evaluated",
}


def kernel_meanings(
    before: Selection, after: Selection, kernels: frozenset[str]
) -> tuple[KernelMeaning, ...]:
    """Compare both versions of the kernels of some names, output by output."""
    return tuple(
        KernelMeaning(each.kernel, each.output, each.meaning, _text(each))
        for each in meanings_of(before, after, kernels)
    )


def _text(each: OutputMeaning) -> str:
    return "; ".join((_TEXTS[each.meaning], *versions_text(each)))
