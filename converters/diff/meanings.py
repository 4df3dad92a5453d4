"""Meanings of changed kernels, compared by add-ons.

Sources (`added.py`) compare both versions by their IR. For outputs that remain open, other sources
compare recorded results of launches.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from time import thread_time
from typing import TYPE_CHECKING, Final

from kvtrace.converters.diff.added import additions
from kvtrace.converters.diff.model import KernelMeaning

if TYPE_CHECKING:
    from kvtrace.schema.trace import Selection

#: Default time for comparing results of changed kernels, in seconds of processor time, so that
#: other load on the machine changes no answer.
MEANING_SECONDS: Final = 30.0
_UNCALLED: Final = "no call has the same tensors on both sides"
_UNSOURCED: Final = "no add-on that compares results of kernels is installed"


def meanings_of_changed(
    before: "Selection", after: "Selection", kernels: Mapping[str, str], seconds: float
) -> tuple[KernelMeaning, ...]:
    """Compare the results of both versions of each changed kernel, by add-ons.

    For a kernel and output, "no" counts before "yes", and "yes" before "not known". Recorded
    results are compared for outputs that are "not known" by IR, and for all outputs of a kernel
    with calls that were not compared; these calls stay "not known" unless a recorded result
    differs.

    Args:
        before: The runs of BEFORE.
        after: The runs of AFTER.
        kernels: Names of changed kernels in AFTER, each with the name in BEFORE.
        seconds: The time limit; calls not compared by then are "not known".
    """
    if not kernels:
        return ()
    deadline = thread_time() + seconds
    sources = [added.meanings for added in additions() if added.meanings is not None]
    meanings = [
        meaning for source in sources for meaning in source(before, after, kernels, seconds)
    ]
    open_ = _open_outputs(kernels, meanings)
    open_kernels = {name: kernels[name] for name in open_}
    kept_sources = [added.kept for added in additions() if added.kept is not None]
    for compared_kept in kept_sources if open_ else ():
        remaining = max(0.0, deadline - thread_time())
        kept = compared_kept(before, after, open_kernels, open_, remaining)
        meanings = _combined(meanings, kept)
    compared = {meaning.kernel for meaning in meanings}
    why = _UNCALLED if sources else _UNSOURCED
    meanings += [
        KernelMeaning(name, None, "unknown", f"unknown: {why}", evidence=f"not compared: {why}")
        for name in kernels if name not in compared
    ]  # fmt: skip
    return tuple(meanings)


def _open_outputs(
    kernels: Mapping[str, str], meanings: Sequence[KernelMeaning]
) -> dict[str, AbstractSet[str] | None]:
    """Return the outputs of each kernel that may still differ; None: all outputs."""
    open_: dict[str, AbstractSet[str] | None] = {}
    for name in kernels:
        of_kernel = [meaning for meaning in meanings if meaning.kernel == name]
        if any(meaning.same == "no" for meaning in of_kernel):
            continue
        unknown = [meaning.output for meaning in of_kernel if meaning.same == "not known"]
        if not of_kernel or None in unknown:
            open_[name] = None
        elif unknown:
            open_[name] = {output for output in unknown if output is not None}
    return open_


def _combined(
    meanings: Sequence[KernelMeaning], kept: Sequence[KernelMeaning]
) -> list[KernelMeaning]:
    """Return the meanings, with recorded results where IR leaves an answer open."""
    by_output = {(meaning.kernel, meaning.output): meaning for meaning in kept}
    combined: dict[KernelMeaning, None] = {}
    for meaning in meanings:
        by_data = by_output.get((meaning.kernel, meaning.output))
        if by_data is None or meaning.same != "not known":
            combined[meaning] = None
        elif by_data.same != "not known" and meaning.output is not None:
            combined[by_data] = None
        else:
            evidence = f"{meaning.evidence}; {by_data.evidence}"
            combined[
                replace(meaning, text=f"{meaning.text}; {by_data.evidence}", evidence=evidence)
            ] = None
    compared = {(meaning.kernel, meaning.output) for meaning in meanings}
    kernels = {meaning.kernel for meaning in meanings}
    for meaning in kept:
        is_new = meaning.same == "yes" and (meaning.kernel, meaning.output) not in compared
        if is_new or meaning.same == "no" or meaning.kernel not in kernels:
            combined[meaning] = None
    return list(combined)
