"""What changed kernels mean, as add-ons compare it: the group `kvtrace.diff_meanings`."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from kvtrace import registry
from kvtrace.converters.diff.model import KernelDifference, KernelMeaning
from kvtrace.schema.errors import BadSetting

if TYPE_CHECKING:
    from kvtrace.schema.trace import Selection

#: Compares the kernels of some names, and returns what it has found of each.
MeaningSource = Callable[["Selection", "Selection", frozenset[str]], Sequence[KernelMeaning]]

_UNCALLED = "unknown: both sides have no call of it with the same tensors"


def meaning_sources() -> tuple[MeaningSource, ...]:
    """Return what compares meanings.

    Raises:
        BadSetting: no add-on does.

    """
    sources = tuple(source for _, source in registry.loaded("diff_meanings"))
    if not sources:
        raise BadSetting("no add-on that compares what kernels mean is here.")
    return sources


def meanings_of_changed(
    sources: Iterable[MeaningSource],
    before: "Selection",
    after: "Selection",
    kernels: Iterable[KernelDifference],
) -> tuple[KernelMeaning, ...]:
    """Return what sources say of the meaning of each changed kernel."""
    changed = [kernel.name for kernel in kernels if kernel.status == "changed"]
    wanted = frozenset(changed)
    found = [each for source in sources for each in source(before, after, wanted)] if wanted else []
    left = wanted - {each.kernel for each in found}
    found += [
        KernelMeaning(name, None, "unknown", _UNCALLED)
        for name in dict.fromkeys(changed) if name in left
    ]  # fmt: skip
    return tuple(found)
