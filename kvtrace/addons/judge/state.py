"""State that a candidate keeps from call to call: counters, buffers, tables.

What a call finds in memory that neither its inputs nor its launches explain, and another call of
the same inputs finds otherwise, is left by calls in between. It is harmless where it is written
before it is read, so the launches are evaluated once more, with these contents changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kvtrace.addons.judge.comparing import count_differences
from kvtrace.addons.judge.inputs import Case
from kvtrace.addons.judge.launches import Memory, memory_steps, run_launches
from kvtrace.addons.judge.outcomes import result_of
from kvtrace.addons.judge.request import CannotJudge

Log = Sequence[Mapping[str, Any]]


def depends_on_state(
    case: Case, calls: Sequence[Log], inputs: Path, child: Path, target: str
) -> bool:  # fmt: skip
    """Whether results of a case depend on memory that earlier calls have left.

    Args:
        case: The inputs.
        calls: The log of two calls on them.
        inputs: Where contents of inputs are.
        child: Where the candidate's process left contents.
        target: What its kernels are compiled for.

    Raises:
        CannotJudge: the log says what cannot be.

    """
    first, last = (memory_steps(each) for each in calls)
    try:
        kept = _kept(first, last)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CannotJudge(f"the log of launches was tampered with: {error!r}") from error
    returned = next((each["returned"] for each in calls[1] if "returned" in each), ())
    if not kept or not returned:
        return False
    plain = run_launches(case, last, inputs, child, target)
    other = run_launches(case, last, inputs, child, target, disturbed=kept)
    if plain.reason is not None:
        return False
    return other.reason is not None or any(_differs(each, plain, other, child) for each in returned)


def _kept(first: Log, last: Log) -> frozenset[int]:
    """Return storages whose unexplained contents differ between two calls of the same inputs."""
    return frozenset(
        int(number)
        for one, other in zip(first, last, strict=False)
        for number, content in one["contents"].items()
        if content["file"] != other["contents"].get(number, content)["file"]
    )


def _differs(each: Mapping[str, Any], plain: Memory, other: Memory, child: Path) -> bool:
    one, two = result_of(each, plain, child), result_of(each, other, child)
    return count_differences(one, two) > 0
