"""Additions of add-ons and other packages to a difference, each in a group of the registry.

| group | object |
|---|---|
| `diff_stages` | an `EarlierStage` |
| `diff_meanings` | compares results by IR: `meanings(before, after, kernels, seconds)`, as below |
| `diff_kept` | the same by recorded results, with the outputs by kernel before the seconds |
| `diff_results` | returns `Results` by digest, None without any, of two snapshots, their matched |
| | kernels, and those of AFTER with other code |
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cache
from time import thread_time
from typing import TYPE_CHECKING, Final

from kvtrace import registry
from kvtrace.converters.diff.model import KernelMeaning

if TYPE_CHECKING:
    from kvtrace.schema.trace import Selection


#: Default time limit for comparing results of changed kernels, in seconds of processor time (so
#: that answers do not depend on the load of the machine).
MEANING_SECONDS: Final = 30.0
_UNCALLED: Final = "no call has the same tensors on both sides"
_UNSOURCED: Final = "no add-on that compares results of kernels is installed"


@dataclass(frozen=True, slots=True)
class EarlierStage:
    """A stage before the compiler's stages, whose text an add-on writes.

    Variants with different texts of such a stage are different variants, even if all else is equal.
    Changed constants are not ignored in these texts.

    Attributes:
        label: The stage's name in outputs.
        texts: A function that returns the stage's texts, as MLIR, by run id and kernel id.
    """

    label: str
    texts: "Callable[[Selection], Mapping[tuple[str, int], str]]"


@cache
def earlier_stages() -> Mapping[str, EarlierStage]:
    """Return add-ons' stages before the compiler's stages, by name."""
    return dict(registry.loaded("diff_stages"))


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
    sources = [source for _, source in registry.loaded("diff_meanings")]
    meanings: list[KernelMeaning] = [
        meaning for source in sources for meaning in source(before, after, kernels, seconds)
    ]
    open_outputs = _open_outputs(kernels, meanings)
    open_kernels = {name: kernels[name] for name in open_outputs}
    for _, compared_kept in registry.loaded("diff_kept") if open_outputs else ():
        remaining = max(0.0, deadline - thread_time())
        kept = compared_kept(before, after, open_kernels, open_outputs, remaining)
        meanings = _combined(meanings, kept)
    compared_kernels = {meaning.kernel for meaning in meanings}
    reason = _UNCALLED if sources else _UNSOURCED
    meanings += [
        KernelMeaning(
            name, None, "unknown", f"unknown: {reason}", evidence=f"not compared: {reason}"
        )
        for name in kernels
        if name not in compared_kernels
    ]
    return tuple(meanings)


def _open_outputs(
    kernels: Mapping[str, str], meanings: Sequence[KernelMeaning]
) -> dict[str, AbstractSet[str] | None]:
    """Return by kernel the outputs that are "not known" (None: all), without decided kernels."""
    open_outputs: dict[str, AbstractSet[str] | None] = {}
    for name in kernels:
        kernel_meanings = [meaning for meaning in meanings if meaning.kernel == name]
        if any(meaning.same == "no" for meaning in kernel_meanings):
            continue
        unknown = [meaning.output for meaning in kernel_meanings if meaning.same == "not known"]
        if not kernel_meanings or None in unknown:
            open_outputs[name] = None
        elif unknown:
            open_outputs[name] = {output for output in unknown if output is not None}
    return open_outputs


def _combined(
    meanings: Sequence[KernelMeaning], kept: Sequence[KernelMeaning]
) -> list[KernelMeaning]:
    """Return the meanings, with those from recorded results (`kept`) where IR decides nothing."""
    by_output = {(meaning.kernel, meaning.output): meaning for meaning in kept}
    combined: dict[KernelMeaning, None] = {}
    for meaning in meanings:
        recorded = by_output.get((meaning.kernel, meaning.output))
        if recorded is None or meaning.same != "not known":
            combined[meaning] = None
        elif recorded.same != "not known" and meaning.output is not None:
            combined[recorded] = None
        else:  # recorded results of some calls do not decide a whole kernel (output None)
            evidence = f"{meaning.evidence}; {recorded.evidence}"
            combined[
                replace(meaning, text=f"{meaning.text}; {recorded.evidence}", evidence=evidence)
            ] = None
    compared_outputs = {(meaning.kernel, meaning.output) for meaning in meanings}
    kernels = {meaning.kernel for meaning in meanings}
    for meaning in kept:
        # Beside the above: equality of an output that IR did not compare, and any difference.
        is_new = meaning.same == "yes" and (meaning.kernel, meaning.output) not in compared_outputs
        if is_new or meaning.same == "no" or meaning.kernel not in kernels:
            combined[meaning] = None
    return list(combined)
