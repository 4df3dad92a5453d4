"""`kvtrace invariance` as text and as JSON."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from kvtrace.text import columns, plural, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kvtrace.addons.invariance.results import Across, Invariance, OutputResult, Place
    from kvtrace.addons.invariance.rows import Outcome
    from kvtrace.addons.invariance.versions import Meaning, OutputMeaning

_VERDICTS: Final[Mapping[Outcome, str]] = {
    "proven": "invariant",
    "violation": "varies",
    "depends": "depends",
    "whole": "one for all",
    "unknown": "unknown",
}
_MOST_REASONS: Final = 3


def invariance_lines(found: Invariance, width: int) -> list[str]:
    """Return what a terminal shows: a table of outputs, reasons, and what proofs cover."""
    if not found.outputs:
        return ["No kernel with IR was launched, so there is nothing to judge."]
    rows = [
        (
            each.kernel, each.output, _VERDICTS[each.verdict], each.determinism.answer,
            _across_text(each), _reads_text(each),
        )
        for each in found.outputs
    ]  # fmt: skip
    lines = columns(
        ("kernel", "output", "a row's value", "again", "at several sizes", "is made of"),
        rows, width=width, texts=(0, 1, 2, 3, 4, 5), optional=(5,),
    )  # fmt: skip
    for each in found.outputs:
        lines += _details(each, width)
    lines += ["", *wrapped(_summary(found), width), *wrapped(_COVERS, width)]
    return lines


_COVERS: Final = (
    "Invariant: by its TTIR, a row's value is made of the row's own data, of what is shared and of "
    "the numbers named, by the same operations in the same order, for every size of the batch, "
    "grid and position. Assumed: no race between programs, no integer overflow, sizes of at least "
    "1. Sums across lanes and products of matrices are ordered by the compiled variant, the same "
    "for all its launches. Not covered: what a tensor core does with rows of one tile."
)


def _summary(found: Invariance) -> str:
    kernels = len({each.kernel for each in found.outputs})
    parts = [
        f"{found.count('proven')} invariant",
        f"{found.count('violation')} shown to vary",
        f"{found.count('depends')} depending on the batch",
        f"{found.count('whole')} with one value for the whole batch",
        f"{found.count('unknown')} unknown",
    ]
    total = plural(len(found.outputs), "output")
    return f"{total} of {plural(kernels, 'kernel')}: {', '.join(parts)}."


def _reads_text(each: OutputResult) -> str:
    parts = []
    if each.own:
        parts.append(f"its row of {', '.join(each.own)}")
    if each.shared:
        parts.append(f"all of {', '.join(each.shared)}")
    if each.scalars:
        parts.append(", ".join(each.scalars))
    return "; ".join(parts)


def _across_text(each: OutputResult) -> str:
    across = each.across
    if across is None:
        return "other extents" if each.uncompared else "-"
    sizes = len({batch.rows for batches in across.trees for batch in batches})
    variants = len({batch.variant for batches in across.trees for batch in batches})
    made = f"{sizes} sizes, {plural(variants, 'variant')}"
    if across.comparison.relation in ("same", "equal"):
        return f"same tree ({made})"
    return f"{len(across.trees)} trees ({made})"


def _details(each: OutputResult, width: int) -> list[str]:
    lines: list[str] = []
    for why in each.why[:_MOST_REASONS]:
        text = f"{each.kernel}, {each.output}: {_CAUSES[why.cause]}: {why.what} (through the "
        lines += wrapped(f"{text}{why.through}; {_place(why.place)})", width, 2)
    if len(each.why) > _MOST_REASONS:
        lines.append(f"  and {plural(len(each.why) - _MOST_REASONS, 'further reason')}")
    if each.determinism.answer != "proven" and each.determinism.reason:
        lines += wrapped(f"{each.kernel}: when run again: {each.determinism.reason}", width, 2)
    if each.across is not None and each.across.comparison.relation not in ("same", "equal"):
        lines += _trees(each, each.across, width)
    if each.witness is not None:
        witness = each.witness
        lines += wrapped(
            f"{each.kernel}, {each.output}: for the same data, element {witness.element} of a row "
            f"is {witness.values[0]} ({witness.first}) and {witness.values[1]} ({witness.second}), "
            "by the evaluator", width, 2,
        )  # fmt: skip
    return ["", *lines] if lines else []


def _trees(each: OutputResult, across: Across, width: int) -> list[str]:
    comparison = across.comparison
    how = "in the order of sums alone" if comparison.relation == "reassociated" else "in more"
    lines = wrapped(
        f"{each.kernel}, {each.output}: launches at different sizes compute a row differently, "
        f"{how}:", width, 2,
    )  # fmt: skip
    for batches, text in zip(across.trees, (comparison.first, comparison.second), strict=False):
        sizes = ", ".join(str(size) for size in sorted({batch.rows for batch in batches})[:6])
        lines += wrapped(f"{sizes} rows: {text}", width, 4)
    return lines


_CAUSES: Final = {
    "position": "depends on which program or lane computes it",
    "grid": "depends on the grid",
    "size": "depends on how many rows there are",
    "row": "depends on the row's number",
    "rows": "depends on other rows",
    "update": "depends on the order of programs",
    "unknown": "not followed",
}


def _place(place: Place) -> str:
    return "no line recorded" if place.file is None else f"{PurePath(place.file).name}:{place.line}"


def invariance_objects(found: Invariance) -> dict[str, Any]:
    """Return the same for JSON."""
    return {
        "outputs": [_object(each) for each in found.outputs],
        "failures": list(found.failures),
    }


def _object(each: OutputResult) -> dict[str, Any]:
    across = each.across
    return {
        "kernel": each.kernel,
        "output": each.output,
        "verdict": each.verdict,
        "row_axes": each.rows,
        "file": each.place.file,
        "line": each.place.line,
        "reasons": [
            {
                "cause": why.cause, "through": why.through, "what": why.what,
                "file": why.place.file, "line": why.place.line,
            }
            for why in each.why
        ],
        "own": list(each.own),
        "shared": list(each.shared),
        "scalars": list(each.scalars),
        "sizes": list(each.sizes),
        "selecting": list(each.selecting),
        "order": each.order,
        "deterministic": each.determinism.answer,
        "deterministic_reason": each.determinism.reason,
        "calls": each.calls,
        "uncompared": each.uncompared,
        "witness": None if each.witness is None else {
            "element": each.witness.element,
            "launches": [each.witness.first, each.witness.second],
            "values": list(each.witness.values),
        },
        "across": None if across is None else {
            "relation": across.comparison.relation,
            "first": across.comparison.first,
            "second": across.comparison.second,
            "trees": [
                [{"rows": b.rows, "variant": b.variant, "grid": list(b.grid)} for b in batches]
                for batches in across.trees
            ],
        },
    }  # fmt: skip


_MEANINGS: Final[Mapping[Meaning, str]] = {
    "same": "the same bits",
    "equal": "the same bits, at these sizes",
    "reassociated": "the same except for the order of sums",
    "violation": "differs",
    "different": "another expression, no difference seen",
    "unknown": "unknown",
}


def meaning_lines(found: Sequence[OutputMeaning], width: int) -> list[str]:
    """Return how two versions of kernels compare, for a terminal."""
    if not found:
        return ["No kernel was called with the same tensors in both traces."]
    rows = [(each.kernel, each.output, _MEANINGS[each.meaning]) for each in found]
    lines = columns(("kernel", "output", "by TTIR"), rows, width=width, texts=(0, 1, 2))
    for each in found:
        if each.first is None and each.witness is None:
            continue
        lines.append("")
        if each.second is None:
            lines += wrapped(f"{each.kernel}, {each.output}: {each.first}", width, 2)
        else:
            lines += wrapped(f"{each.kernel}, {each.output}: before: {each.first}", width, 2)
            lines += wrapped(f"{each.kernel}, {each.output}: after: {each.second}", width, 2)
        if each.witness is not None:
            witness = each.witness
            lines += wrapped(
                f"{each.kernel}, {each.output}: for the same data, element {witness.element} is "
                f"{witness.values[0]} by {witness.first} and {witness.values[1]} by "
                f"{witness.second}, by the evaluator", width, 2,
            )  # fmt: skip
    return lines


def meaning_objects(found: Sequence[OutputMeaning]) -> list[dict[str, Any]]:
    """Return the same for JSON."""
    return [
        {
            "kernel": each.kernel, "output": each.output, "meaning": each.meaning,
            "first": each.first, "second": each.second,
            "witness": None if each.witness is None else {
                "element": each.witness.element, "values": list(each.witness.values),
            },
        }
        for each in found
    ]  # fmt: skip
