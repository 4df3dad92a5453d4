"""Clients' decorated methods as an instrument of the evaluator, around ops or instead of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kvtrace.clients.client import Hook
from kvtrace.clients.events import OpEvent, overridden
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.registry import Step
from kvtrace.evaluate.scope import Scope
from kvtrace.ir import Op
from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.clients.running import Member


class Hooks(Instrument):
    """The instrument that calls clients' decorated methods around the ops that they select."""

    def __init__(self, members: Sequence[Member]) -> None:
        super().__init__()
        self._hooks: list[tuple[Member, Hook, Callable[..., Any]]] = [
            (member, hook, method) for member in members for hook, method in member.hooks
        ]

    def wrapped(self, op: Op, step: Step) -> Step:
        """Return an op's evaluation step with the clients' methods for the op.

        Observing methods are called around overrides, and so see their results.
        """
        matching = [entry for entry in self._hooks if entry[1].matches(op)]
        for member, hook, method in matching:
            if hook.when == "override":
                step = _overridden(op, step, member, method)
        for member, hook, method in matching:
            if hook.when != "override":
                step = _observed(op, step, member, method, after=hook.when == "after")
        return step


def _overridden(op: Op, step: Step, member: Member, method: Callable[..., Any]) -> Step:
    try:
        replaced = overridden(op, step, method)
    except KvtraceError as error:
        member.fail(error)
        return step

    def guarded(values: list[Any], scope: Scope) -> None:
        member.tell(replaced, values, scope)
        if member.error is not None:
            step(values, scope)  # as if there were no override

    return guarded


def _observed(
    op: Op, step: Step, member: Member, method: Callable[..., Any], *, after: bool
) -> Step:
    def observed(values: list[Any], scope: Scope) -> None:
        if after:
            step(values, scope)
            member.tell(method, OpEvent(op, values, scope))
            return
        member.tell(method, OpEvent(op, values, scope, lambda: None))
        step(values, scope)

    return observed
