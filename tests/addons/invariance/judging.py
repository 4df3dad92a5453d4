"""Checks of judged outputs."""

from collections.abc import Callable

from kvtrace.addons.invariance.output_results import Invariance

Judged = Callable[[Callable[[], object]], Invariance]
"""Records what a function launches, and judges its outputs."""


def verdicts(found: Invariance) -> set[str]:
    """Return the verdicts on outputs, after checking that all calls were judged."""
    assert found.failures == ()
    assert found.outputs
    return {each.verdict for each in found.outputs}


def is_proven(
    judged: Judged, launch: Callable[[int], object], sizes: tuple[int, ...] = (3, 9)
) -> bool:
    """Launch at some sizes of the batch; return whether all outputs are proven invariant."""
    return verdicts(judged(lambda: [launch(size) for size in sizes])) == {"proven"}
