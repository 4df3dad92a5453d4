"""Results of a whole kernel: limits of time."""

from collections.abc import Callable

from kvtrace.addons.invariance.results import invariance_of
from kvtrace.schema.trace import Selection
from tests.addons.invariance.planted import PLANTED


def test_outputs_are_unknown_where_time_is_up_before_all_calls_are_judged(
    recorded: Callable[[Callable[[], object]], Selection],
) -> None:
    pair = PLANTED[0]
    runs = recorded(lambda: [pair.launch(pair.right, rows) for rows in pair.sizes])

    (ended,) = invariance_of(runs, seconds=0).outputs
    (whole,) = invariance_of(runs, seconds=600).outputs

    assert ended.verdict == "unknown"
    assert "for which 0 s did not suffice" in ended.why[-1].what
    assert whole.verdict == "proven"


def test_a_call_that_takes_longer_is_given_up_within(
    recorded: Callable[[Callable[[], object]], Selection],
) -> None:
    pair = PLANTED[0]
    runs = recorded(lambda: pair.launch(pair.right, pair.sizes[1]))

    (ended,) = invariance_of(runs, seconds=0).outputs

    assert ended.verdict == "unknown"
    assert "takes too long to be followed" in ended.why[0].what
    assert "1 call of the kernel, for which 0 s did not suffice" in ended.why[-1].what
