"""What changed kernels mean, as add-ons compare it.

Sources (`added.py`) compare both versions by their IR. Of outputs that they leave open, others
compare what recorded launches left in memory.
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

#: How long what changed kernels compute is compared, by default, in seconds of processor time: what
#: else the machine does may change no answer.
MEANING_SECONDS: Final = 30.0
_UNCALLED: Final = "both sides have no call of it with the same tensors"
_UNSOURCED: Final = "no add-on that compares what kernels compute is here"


def meanings_of_changed(
    before: "Selection", after: "Selection", kernels: Mapping[str, str], seconds: float
) -> tuple[KernelMeaning, ...]:
    """Compare what both versions of each changed kernel compute, by add-ons.

    By kernel and output, "no" counts before "yes", and "yes" before "not known". Kept results are
    compared of outputs that are "not known" by IR, and of all outputs of a kernel with calls that
    are not compared; these calls stay "not known" unless a kept result differs.

    Args:
        before: The runs of the one side.
        after: Those of the other.
        kernels: The names of changed kernels in AFTER, each with that in BEFORE.
        seconds: For how long calls are compared; calls that are left then are "not known".

    """
    if not kernels:
        return ()
    deadline = thread_time() + seconds
    sources = [added.meanings for added in additions() if added.meanings is not None]
    meanings = [each for source in sources for each in source(before, after, kernels, seconds)]
    open_ = _open_outputs(kernels, meanings)
    open_kernels = {name: kernels[name] for name in open_}
    kept_sources = [added.kept for added in additions() if added.kept is not None]
    for compared_kept in kept_sources if open_ else ():
        remaining = max(0.0, deadline - thread_time())
        kept = compared_kept(before, after, open_kernels, open_, remaining)
        meanings = _combined(meanings, kept)
    compared = {each.kernel for each in meanings}
    why = _UNCALLED if sources else _UNSOURCED
    meanings += [
        KernelMeaning(name, None, "unknown", f"unknown: {why}", evidence=f"not compared: {why}")
        for name in kernels if name not in compared
    ]  # fmt: skip
    return tuple(meanings)


def _open_outputs(
    kernels: Mapping[str, str], meanings: Sequence[KernelMeaning]
) -> dict[str, AbstractSet[str] | None]:
    """Return the outputs of each kernel that may still be another result; None: all of them."""
    open_: dict[str, AbstractSet[str] | None] = {}
    for name in kernels:
        of_kernel = [each for each in meanings if each.kernel == name]
        if any(each.same == "no" for each in of_kernel):
            continue
        unknown = [each.output for each in of_kernel if each.same == "not known"]
        if not of_kernel or None in unknown:
            open_[name] = None
        elif unknown:
            open_[name] = {output for output in unknown if output is not None}
    return open_


def _combined(
    meanings: Sequence[KernelMeaning], kept: Sequence[KernelMeaning]
) -> list[KernelMeaning]:
    """Answer what IR leaves open by kept results; where both do, give the reasons of both."""
    by_output = {(each.kernel, each.output): each for each in kept}
    combined: dict[KernelMeaning, None] = {}
    for each in meanings:
        found = by_output.get((each.kernel, each.output))
        if found is None or each.same != "not known":
            combined[each] = None
        elif found.same != "not known" and each.output is not None:
            combined[found] = None
        else:
            evidence = f"{each.evidence}; {found.evidence}"
            combined[replace(each, text=f"{each.text}; {found.evidence}", evidence=evidence)] = None
    compared = {(each.kernel, each.output) for each in meanings}
    kernels = {each.kernel for each in meanings}
    for each in kept:
        is_new = each.same == "yes" and (each.kernel, each.output) not in compared
        if is_new or each.same == "no" or each.kernel not in kernels:
            combined[each] = None
    return list(combined)
