"""Unique calls that passes did not reach before their time was used up."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kvtrace.converters.report.calls import CallRows
from kvtrace.converters.report.model import Partial
from kvtrace.converters.report.slices import NO_CALL
from kvtrace.schema.layout import PARTIAL

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


def read_partial(
    trace: "Trace", runs: "Sequence[Run]", calls: CallRows
) -> tuple[Partial | None, Counter[int]]:
    """Return what passes over the runs did not reach, and the unjudged calls by kernel index.

    The first is None if every pass has reached all calls.
    """
    remaining, seconds, has_partial_verdicts = 0, 0.0, False
    unjudged: Counter[int] = Counter()
    for index, run in enumerate(runs):
        partial = {
            name: settings[PARTIAL]
            for name, settings in trace.passes(run.run_id).items()
            if PARTIAL in settings
        }
        remaining += max((len(facts["remaining"]) for facts in partial.values()), default=0)
        seconds += max((facts["seconds"] for facts in partial.values()), default=0.0)
        if "sanitizer" in partial:
            has_partial_verdicts = True
            unreached = np.array(partial["sanitizer"]["remaining"], np.int64)
            kernels = calls.kernels(calls.indices[index].of(unreached))
            unjudged.update(kernels[kernels != NO_CALL].tolist())
    if not remaining:
        return None, unjudged
    return Partial(remaining, seconds, has_partial_verdicts), unjudged
