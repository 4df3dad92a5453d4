"""Differing compiler stages of a variant, each with its changed ops or instructions if readable."""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from kvtrace.converters.diff.added import earlier_stages
from kvtrace.converters.diff.code import first_stages
from kvtrace.converters.diff.instructions import class_difference, ptx_classes, sass_classes
from kvtrace.converters.diff.model import StageDifference
from kvtrace.converters.diff.structure import structural_difference
from kvtrace.converters.diff.variant import Variant
from kvtrace.converters.disassembly import TOOLS, disassembled, disassembler

if TYPE_CHECKING:
    from kvtrace.converters.diff.variant_changes import Pairing

#: The compiler's stages to compare, in order; generic TTIR has the same ops as TTIR.
_STAGES: Final = ("ttir", "glir", "ttgir", "llir", "ptx", "amdgcn", "cubin")
_STRUCTURAL: Final = frozenset({"ttir", "glir", "ttgir"})
#: Most variants to disassemble; a cubin takes a tenth of a second.
_MOST_DISASSEMBLED: Final = 40


class Disassembly:
    """Cache of disassembled cubins; `missing` has notes on those that could not be read.

    Nothing is disassembled unless `wanted`.
    """

    def __init__(self) -> None:
        self.wanted = True
        self._listings: dict[str, str | None] = {}
        self._tool = cache(disassembler)
        self.missing: dict[str, None] = {}

    def classes(self, pairing: "Pairing", cubins: tuple[str, str]) -> list[Counter[str]] | None:
        """Return the instruction counts by class of each of two cubins, given by hash.

        None if one cannot be disassembled, too many were, or disassembly is not `wanted`; the
        reason is added to `missing`.
        """
        if not self.wanted:
            return None
        tool = self._tool()
        if tool is None:
            self.missing[f"SASS is not measured: no {' or '.join(TOOLS)} was found"] = None
            return None
        counts = []
        for side, sha256 in zip((pairing.before, pairing.after), cubins, strict=True):
            if sha256 not in self._listings:
                if len(self._listings) >= 2 * _MOST_DISASSEMBLED:
                    self.missing[f"SASS of more than {_MOST_DISASSEMBLED} variants is not read"] = (
                        None
                    )
                    return None
                content = side.trace.artifact(sha256)
                listing = None if content is None else disassembled(tool, content)
                self._listings[sha256] = listing
            listing = self._listings[sha256]
            if listing is None:
                self.missing["SASS of some variants is not measured: disassembly failed"] = None
                return None
            counts.append(sass_classes(listing))
        return counts


def stage_differences(
    pairing: "Pairing",
    a: Variant,
    b: Variant,
    numbers: Mapping[str, str],
    first: str | None,
) -> tuple[StageDifference, ...]:
    """Return the differences of a variant's stages that differ, in the compiler's order.

    Args:
        pairing: Both sides.
        a: The variant of BEFORE.
        b: The variant of AFTER.
        numbers: Changed constants, which count as equal.
        first: The first stage with a code difference, if any; those before it among `first_stages`
            are the same.

    """
    differences = []
    early_stages = first_stages()
    same_stages = early_stages[: early_stages.index(first) if first in early_stages else None]
    for stage in (*earlier_stages(), *_STAGES):
        hashes = a.stages.get(stage), b.stages.get(stage)
        if hashes[0] is None or hashes[1] is None or hashes[0] == hashes[1] or stage in same_stages:
            continue
        difference = _stage_difference(pairing, stage, a, b, numbers)
        if difference is not None:
            differences.append(difference)
    return tuple(differences)


def _stage_difference(
    pairing: "Pairing", stage: str, a: Variant, b: Variant, numbers: Mapping[str, str]
) -> StageDifference | None:
    hashes = a.stages[stage], b.stages[stage]
    if stage == "cubin":
        classes = pairing.disassembly.classes(pairing, hashes)
        if classes is None or classes[0] == classes[1]:
            return None
        return class_difference("sass", *classes)
    texts = pairing.texts(*hashes)
    if texts is None:
        return None
    if stage == "ptx":
        return class_difference(stage, *map(ptx_classes, texts))
    if stage in _STRUCTURAL or stage in earlier_stages():
        generic = None
        if stage == "ttir" and pairing.one_compiler:  # versions print different defaults
            generic = pairing.texts(a.stages.get("ttir_generic"), b.stages.get("ttir_generic"))
        return structural_difference(stage, *texts, generic, numbers)
    return StageDifference(stage)
