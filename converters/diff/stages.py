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

#: The compiler's stages, in order. A difference in TTIR explains one in its generic form.
_STAGES: Final = ("ttir", "glir", "ttgir", "llir", "ptx", "amdgcn", "cubin")
_STRUCTURAL: Final = frozenset({"ttir", "glir", "ttgir"})
#: Most variants to disassemble; a cubin takes a tenth of a second.
_MOST_DISASSEMBLED: Final = 40


class Disassembly:
    """Listings of cubins by hash, and notes on missing ones; disabled unless `wanted`."""

    def __init__(self) -> None:
        self.wanted = True
        self._listings: dict[str, str | None] = {}
        self._tool = cache(disassembler)
        self.missing: dict[str, None] = {}

    def classes(self, pairing: "Pairing", cubins: tuple[str, str]) -> list[Counter[str]] | None:
        """Return instruction counts by class of both cubins; None if a listing is missing."""
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
                self.missing["SASS of some variants is not measured: no listing of them"] = None
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
    """Return the stages of a variant that differ.

    Args:
        pairing: Both sides.
        a: The variant of BEFORE.
        b: The variant of AFTER.
        numbers: Numbers replaced throughout.
        first: The first stage with a code difference, if any. Earlier ones among `first_stages`
            are the same.

    """
    differences = []
    early = first_stages()
    same = early[: early.index(first) if first in early else None]
    for stage in (*earlier_stages(), *_STAGES):
        hashes = a.stages.get(stage), b.stages.get(stage)
        if hashes[0] is None or hashes[1] is None or hashes[0] == hashes[1] or stage in same:
            continue
        difference = _stage(pairing, stage, a, b, numbers)
        if difference is not None:
            differences.append(difference)
    return tuple(differences)


def _stage(
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
