"""Check whether results depend on state between calls: counters, buffers, tables.

State is memory whose contents follow neither from the inputs nor from the launches of a call, and
differ between two calls on the same inputs. State is harmless if kernels overwrite it before they
read it. So the launches are evaluated twice, the second time with changed contents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kvtrace.addons.judge.comparing import count_differences
from kvtrace.addons.judge.launches import Memory, memory_steps, run_launches
from kvtrace.addons.judge.outcomes import result_of
from kvtrace.addons.judge.request import CannotJudge
from kvtrace.inputs.cases import Case

Log = Sequence[Mapping[str, Any]]


def depends_on_state(
    case: Case, calls: Sequence[Log], inputs: Path, child: Path, target: str
) -> bool:  # fmt: skip
    """Return whether results of a case depend on memory that earlier calls have left.

    False if the launches cannot be evaluated. `calls` are the logs of an early and of a late call
    on the case; `inputs` and `child` the folders of contents and of the candidate's process.

    Raises:
        CannotJudge: the log contradicts itself.
    """
    first_steps, last_steps = (memory_steps(call) for call in calls)
    try:
        state_storages = _state_storages(first_steps, last_steps)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CannotJudge(f"the log of launches was tampered with: {error!r}") from error
    returned = next((entry["returned"] for entry in calls[1] if "returned" in entry), ())
    if not state_storages or not returned:
        return False
    plain = run_launches(case, last_steps, inputs, child, target)
    disturbed = run_launches(case, last_steps, inputs, child, target, disturbed=state_storages)
    if plain.reason is not None:
        return False
    return disturbed.reason is not None or any(
        _result_differs(result, plain, disturbed, child) for result in returned
    )


def _state_storages(first: Log, last: Log) -> frozenset[int]:
    """Return the storages whose unexplained contents differ between two calls."""
    return frozenset(
        int(number)
        for first_step, last_step in zip(first, last, strict=False)
        for number, content in first_step["contents"].items()
        if content["file"] != last_step["contents"].get(number, content)["file"]
    )


def _result_differs(
    result: Mapping[str, Any], plain: Memory, disturbed: Memory, child: Path
) -> bool:
    plain_result, disturbed_result = (
        result_of(result, plain, child),
        result_of(result, disturbed, child),
    )
    return count_differences(plain_result, disturbed_result) > 0
