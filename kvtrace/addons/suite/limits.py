"""Shortest times of a suite's calls on a device: the roofline of what their kernels do."""

from __future__ import annotations

from typing import Any

from kvtrace.addons.suite.errors import CannotJudgeCall
from kvtrace.addons.suite.launch import Launch
from kvtrace.converters.profile.device_limits import DeviceLimits, Position, Work, position
from kvtrace.metrics.of_ops import Metrics, facts_of


class _NoStacks:
    """What `Metrics` writes stacks of ops into, where nobody reads them."""

    def add_stack(self, _stack: object) -> None:
        """Take a stack."""


def roofline(launch: Launch, limits: DeviceLimits) -> Position | None:
    """Return a launch's position on the roofline of a device; None if it is not known.

    Raises:
        CannotJudgeCall: the evaluator cannot run the launch.
    """
    work = _work(launch)
    return None if work is None else position(work, limits)


def _work(launch: Launch) -> Work | None:
    """Return the bytes and FLOPs of a launch, by its IR and contents."""
    metrics = Metrics(None, facts_of(launch.module), launch.evaluator_arguments())
    try:
        launch.results([metrics])
    except CannotJudgeCall:
        return None
    stacks: Any = _NoStacks()
    rows = metrics.op_rows(0, list(launch.arguments), {}, stacks)
    fresh = [row["fresh_bytes"] for row in rows if row["buffer"] is not None]
    requested = [row["bytes"] for row in rows if row["buffer"] is not None]
    flops: dict[bool, dict[str, int]] = {True: {}, False: {}}
    for row in rows:
        if row["flops"]:
            of_kind = flops[row["kind"] == "dot"]
            of_kind[row["dtype"]] = of_kind.get(row["dtype"], 0) + row["flops"]
    return Work(
        None if None in fresh else sum(fresh),
        None if None in requested else sum(requested),
        flops[True],
        flops[False],
    )
