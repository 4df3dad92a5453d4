"""What changed kernels mean, as add-ons compare it: the group `kvtrace.diff_meanings`."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kvtrace import registry
from kvtrace.converters.diff.model import KernelMeaning

if TYPE_CHECKING:
    from kvtrace.schema.trace import Selection

#: Compares kernels, by their names in AFTER with those in BEFORE, for so many seconds.
MeaningSource = Callable[
    ["Selection", "Selection", Mapping[str, str], float], Sequence[KernelMeaning]
]

#: How long what changed kernels compute is compared, by default.
MEANING_SECONDS: Final = 30.0
_UNCALLED: Final = "both sides have no call of it with the same tensors"
_UNSOURCED: Final = "no add-on that compares what kernels compute is here"


def meanings_of_changed(
    before: "Selection", after: "Selection", kernels: Mapping[str, str], seconds: float
) -> tuple[KernelMeaning, ...]:
    """Compare what both versions of each changed kernel compute, by add-ons.

    Args:
        before: The runs of the one side.
        after: Those of the other.
        kernels: The names of changed kernels in AFTER, each with that in BEFORE.
        seconds: For how long calls are compared; calls that are left then are "not known".

    """
    if not kernels:
        return ()
    sources: list[MeaningSource] = [source for _, source in registry.loaded("diff_meanings")]
    meanings = [each for source in sources for each in source(before, after, kernels, seconds)]
    compared = {each.kernel for each in meanings}
    why = _UNCALLED if sources else _UNSOURCED
    meanings += [
        KernelMeaning(name, None, "unknown", f"unknown: {why}", evidence=f"not compared: {why}")
        for name in kernels if name not in compared
    ]  # fmt: skip
    return tuple(meanings)
