"""`kvtrace invariance` as text and as JSON."""

from __future__ import annotations

from collections import Counter
from math import isfinite
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.invariance.output_results import DEPENDENCES
from kvtrace.text import columns, plural, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kvtrace.addons.invariance.batches import SizeComparison
    from kvtrace.addons.invariance.output_results import (
        Invariance,
        OutputResult,
        Reason,
        SourceLine,
    )
    from kvtrace.addons.invariance.rows import Outcome
    from kvtrace.addons.invariance.versions import Meaning, OutputMeaning
    from kvtrace.addons.invariance.witness import Witness

VERDICTS: Final[Mapping[Outcome, str]] = {
    "proven": "invariant",
    "violation": "varies",
    "depends": "depends",
    "whole": "one for all",
    "unknown": "unknown",
}
"""Texts of verdicts in the table."""
_MOST_REASONS: Final = 3


def invariance_lines(found: Invariance, width: int) -> list[str]:
    """Return a table of outputs, their reasons, and the scope of proofs, for a terminal."""
    if not found.outputs and found.failures:
        return ["No kernel could be judged."]
    if not found.outputs:
        return ["No kernel with TTIR was launched, so there is nothing to judge."]
    names = _names(found.outputs)
    rows = [
        (
            result.kernel,
            name,
            _verdict_text(result),
            result.determinism.answer,
            _across_text(result),
        )
        for result, name in zip(found.outputs, names, strict=True)
    ]  # fmt: skip
    lines = columns(
        ("kernel", "output", "a row's value", "again", "at several sizes"), rows, width=width,
        texts=(0, 1, 2, 3, 4),
    )  # fmt: skip
    reported = set()
    for result, name in zip(found.outputs, names, strict=True):
        details = _details(result, name, width)
        determinism = result.determinism
        said = (result.kernel, determinism.reason)
        if determinism.answer != "proven" and determinism.reason and said not in reported:
            reported.add(said)
            details += wrapped(f"{result.kernel}: when run again: {determinism.reason}", width, 2)
        lines += ["", *details] if details else []
    lines += ["", *wrapped(_summary(found), width), *wrapped(_COVERS, width)]
    return lines


_COVERS: Final = (
    "Invariant: by its IR as written (TTIR; of a Gluon kernel TTGIR), a row's value is made of the"
    " row's own data, of what is shared and of the numbers named, by the same operations in the "
    "same order, for every size of the batch, grid and position. Assumed: no race between "
    "programs, no integer overflow, sizes of at least 1. Each kernel is judged alone: which "
    "kernel, sizes and grid the host chooses at sizes of the batch that were not recorded is not "
    "known. Sums across lanes and products of matrices are ordered by the compiled variant, the "
    "same for all its launches. What is behind that IR is not analyzed: FMA contraction, ptxas, "
    "and what a tensor core does with rows of one tile."
)


def _summary(found: Invariance) -> str:
    kernels = len({result.kernel for result in found.outputs})
    parts = [
        f"{found.count('proven')} invariant",
        f"{found.count('violation')} shown to vary",
        f"{found.count('depends')} depending on the batch",
        f"{found.count('whole')} with one value for the whole batch",
        f"{found.count('unknown')} unknown",
    ]
    total = plural(len(found.outputs), "output")
    return f"{total} of {plural(kernels, 'kernel')}: {', '.join(parts)}."


def _verdict_text(result: OutputResult) -> str:
    """Return the text of a verdict, with compile options that differ and unseen batch sizes."""
    verdict = [VERDICTS[result.verdict]]
    if result.options:
        verdict.append(f"by its IR, compiled with {', '.join(result.options)}")
    if result.verdict == "proven" and (unseen := unseen_text(result)):
        verdict.append(unseen)
    if result.verdict == "proven" and result.race is not None:
        verdict.append("if no programs race")
    return "; ".join(verdict)


def unseen_text(result: OutputResult) -> str:
    """Return the text on batch sizes at which only other kernels were launched, or ""."""
    if not result.unseen_sizes:
        return ""
    sizes = ", ".join(map(str, result.unseen_sizes[:3])) + (
        ", …" if len(result.unseen_sizes) > 3 else ""
    )
    return f"not launched at {sizes} rows"


def _across_text(result: OutputResult) -> str:
    comparison = result.size_comparison
    if comparison is None:
        return "other extents" if result.uncompared_size_count else "-"
    sizes = len({batch.rows for batches in comparison.trees for batch in batches})
    variants = len({batch.variant for batches in comparison.trees for batch in batches})
    made = f"{sizes} sizes, {plural(variants, 'variant')}"
    if comparison.comparison.relation in ("same", "equal"):
        return f"same tree ({made})"
    return f"{len(comparison.trees)} trees ({made})"


def _names(outputs: Sequence[OutputResult]) -> list[str]:
    """Return unique names of outputs: the store's line, or else its number, is added if needed."""
    stores = Counter((output.kernel, output.output) for output in outputs)
    names = [
        f"{output.output}, line {output.source.line}"
        if stores[output.kernel, output.output] > 1 and output.source.line
        else output.output
        for output in outputs
    ]
    alike = Counter((output.kernel, name) for output, name in zip(outputs, names, strict=True))
    numbered: Counter[tuple[str, str]] = Counter()
    unique_names = []
    for output, name in zip(outputs, names, strict=True):
        key = output.kernel, name
        numbered[key] += 1
        unique_names.append(f"{name}, store {numbered[key]}" if alike[key] > 1 else name)
    return unique_names


def _details(result: OutputResult, name: str, width: int) -> list[str]:
    lines: list[str] = []
    for why in result.reasons[:_MOST_REASONS]:
        lines += wrapped(f"{result.kernel}, {name}: {reason_text(why)}", width, 2)
    if len(result.reasons) > _MOST_REASONS:
        lines.append(f"  and {plural(len(result.reasons) - _MOST_REASONS, 'further reason')}")
    if result.size_comparison is not None and result.size_comparison.comparison.relation not in (
        "same",
        "equal",
    ):
        lines += _trees(result, name, result.size_comparison, width)
    if result.witness is not None:
        text = witness_text(result.witness)
        lines += wrapped(f"{result.kernel}, {name}: {text}", width, 2)
    if result.verdict == "proven" and (assumed := assumed_text(result)):
        lines += wrapped(f"{result.kernel}, {name}: assumed: {assumed}", width, 2)
    return lines


def assumed_text(result: OutputResult) -> str:
    """Return the text of the assumptions about loaded integers, or ""."""
    parts = []
    if result.assumed:
        names = ", ".join(result.assumed)
        parts.append(f"a row's entries of {names} do not depend on other rows")
    if result.selecting:
        names = ", ".join(result.selecting)
        parts.append(f"{names} select inside the row, or a row that no other row selects")
    if result.constant:
        parts.append(f"{', '.join(result.constant)} hold the same in all batches")
    return "; ".join(parts)


def reason_text(why: Reason, *, through: bool = True) -> str:
    """Return a reason as text, with the role of the formula if `through`, and the source line."""
    role = f"through the {why.through}; " if through else ""
    return f"{_CAUSES[why.cause]}: {why.what} ({role}{_place(why.source)})"


def witness_text(witness: Witness) -> str:
    """Return a sentence on the two values of one element."""
    if set(witness.values) <= {"stored", "not stored"}:
        return (
            f"element {witness.element} of a row is {witness.values[0]} ({witness.first}) and "
            f"{witness.values[1]} ({witness.second}), by the formulas of its addresses"
        )
    return (
        f"for the same data, element {witness.element} of a row is {witness.values[0]} "
        f"({witness.first}) and {witness.values[1]} ({witness.second}), by the evaluator"
    )


def _trees(result: OutputResult, name: str, across: SizeComparison, width: int) -> list[str]:
    comparison = across.comparison
    how = {"reassociated": "in the order of sums alone", "exact": "by roundings"}.get(
        comparison.relation, "in more"
    )
    lines = wrapped(
        f"{result.kernel}, {name}: launches at different sizes compute a row differently, "
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
    "race": "holds only without a race, and there is one",
    "unknown": "not followed",
}


def _place(place: SourceLine) -> str:
    return "no line recorded" if place.file is None else f"{PurePath(place.file).name}:{place.line}"


def invariance_objects(found: Invariance) -> dict[str, Any]:
    """Return the results of `invariance_lines` as objects for JSON."""
    return {
        "outputs": [_object(result) for result in found.outputs],
        "failures": list(found.failures),
    }


def _object(result: OutputResult) -> dict[str, Any]:
    across = result.size_comparison
    return {
        "kernel": result.kernel,
        "output": result.output,
        "verdict": result.verdict,
        "row_axes": result.rows,
        "file": result.source.file,
        "line": result.source.line,
        "reasons": [
            {
                "cause": why.cause, "through": why.through, "what": why.what,
                "file": why.source.file, "line": why.source.line,
            }
            for why in result.reasons
        ],
        **{name: list(getattr(result, name)) for name in DEPENDENCES if name != "reasons"},
        "options": list(result.options),
        "order": "compiled" if result.ordered_by else "program",
        "deterministic": result.determinism.answer,
        "deterministic_reason": result.determinism.reason,
        "calls": result.calls,
        "uncompared": result.uncompared_size_count,
        "unseen": list(result.unseen_sizes),
        "witness": None if result.witness is None else {
            "element": result.witness.element,
            "launches": [result.witness.first, result.witness.second],
            "values": list(result.witness.values),
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


MEANINGS: Final[Mapping[Meaning, str]] = {
    "same": "the same bits, at the recorded sizes",
    "equal": "the same bits, at the recorded sizes",
    "reassociated": "the same except for the order or signs of sums, at the recorded sizes",
    "exact": "equal in exact arithmetic, at the recorded sizes",
    "violation": "differs",
    "sampled": "unknown: not all elements were compared",
    "different": "unknown: another expression, no difference seen",
    "unknown": "unknown: one version is not followed, or not evaluated",
}
"""Texts of the relations of two versions of a kernel, by TTIR."""


def versions_text(meaning: OutputMeaning) -> list[str]:
    """Return sentences on the difference of two versions: differing nodes and two values."""
    lines = []
    if meaning.second is not None:
        lines += [f"before: {meaning.first}", f"after: {meaning.second}"]
    elif meaning.first is not None:
        lines.append(meaning.first)
    if meaning.meaning in ("equal", "reassociated", "exact", "sampled"):
        lines.append(
            f"{meaning.compared_count:,} of {plural(meaning.elements, 'element')} were compared"
        )
    if meaning.witness is not None and meaning.meaning == "violation":
        lines.append(f"on {meaning.inputs}, {_apart_text(meaning.witness)}, by the evaluator")
    lines += [
        f"on {difference.inputs}: {_apart_text(difference.witness)}"
        for difference in meaning.apart
        if difference.witness
    ]
    alike = [difference.inputs for difference in meaning.apart if difference.witness is None]
    return [*lines, f"on {', '.join(alike)}: the same bits"] if alike else lines


def _apart_text(witness: Witness) -> str:
    """Return the text of an element's two values and their distance."""
    text = (
        f"element {witness.element} is {witness.values[0]} by {witness.first} and "
        f"{witness.values[1]} by {witness.second}"
    )
    are_integers = all(value.lstrip("-").isdecimal() for value in witness.values)
    if are_integers or not isfinite(witness.ulps):
        return text
    return f"{text}: {witness.ulps:,.3g} units in the last place of the largest"
