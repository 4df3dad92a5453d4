"""What changed kernels mean, as add-ons compare it: the group `kvtrace.diff_meanings`."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kvtrace import registry
from kvtrace.converters.diff.model import KernelDifference, KernelMeaning

if TYPE_CHECKING:
    from kvtrace.schema.trace import Selection

#: Compares the kernels of some names for so many seconds, and returns what it has found of each.
MeaningSource = Callable[["Selection", "Selection", frozenset[str], float], Sequence[KernelMeaning]]

#: How long what changed kernels compute is compared, by default.
MEANING_SECONDS: Final = 30.0
_UNCALLED: Final = "both sides have no call of it with the same tensors"
_UNSOURCED: Final = "no add-on that compares what kernels compute is here"


def meanings_of_changed(
    before: "Selection", after: "Selection", kernels: Iterable[KernelDifference], seconds: float
) -> tuple[KernelMeaning, ...]:
    """Return what add-ons say of the meaning of each changed kernel.

    Args:
        before: The runs of the one side.
        after: Those of the other.
        kernels: What differs.
        seconds: How long calls are compared; what is left then is "not known".

    """
    changed = [kernel.name for kernel in kernels if kernel.status == "changed"]
    if not changed:
        return ()
    wanted = frozenset(changed)
    sources: list[MeaningSource] = [source for _, source in registry.loaded("diff_meanings")]
    found = [each for source in sources for each in source(before, after, wanted, seconds)]
    left = wanted - {each.kernel for each in found}
    why = _UNCALLED if sources else _UNSOURCED
    found += [
        KernelMeaning(name, None, "unknown", f"unknown: {why}", evidence=f"not compared: {why}")
        for name in dict.fromkeys(changed) if name in left
    ]  # fmt: skip
    return tuple(found)
