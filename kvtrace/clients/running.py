"""Passes of several clients over calls: shared evaluations, and errors of clients.

Clients that select the same programs share one evaluation. A client whose method raises receives no
further events, and its rows are not kept; the other clients continue.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from kvtrace.clients.client import Client, Hook, StepFailed, hooks_of
from kvtrace.clients.events import OpEvent, overridden
from kvtrace.evaluate import Access, Argument, Observer, Storage, evaluate
from kvtrace.evaluate.arguments import with_storages
from kvtrace.evaluate.errors import UNFIT, UnfitOp
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.registry import Step
from kvtrace.evaluate.scope import MOST_STEPS, Scope
from kvtrace.forks import Lock
from kvtrace.ir import Op
from kvtrace.metrics.distinct import distinct
from kvtrace.recorded_calls.recorded import Call, UnreadyCall
from kvtrace.schema.errors import KvtraceError, SchemaMismatch

if TYPE_CHECKING:
    import pyarrow as pa


_EVENTS: Final = ("op", "access", "out_of_bounds", "loop", "device_assert")


#: The programs of a client that needs no evaluation.
_NONE: Final = np.zeros(0, np.int64)


class ClientFailed(KvtraceError):
    """The error of a client whose code raised, or returned rows that do not fit its tables."""

    slug = "client-failed"


class OutOfTime(KvtraceError):
    """An evaluation was ended, as its share of the time was used up."""

    slug = "out-of-time"


class _UntilTime(Observer):
    """An observer that ends an evaluation at a processor time (`time.process_time()`)."""

    def __init__(self, end: float) -> None:
        self._end = end

    def access(self, access: Access) -> None:
        """Raise OutOfTime from the time on."""
        del access
        if time.process_time() >= self._end:
            raise OutOfTime("the evaluation of the call took its share of the time")


class Sample(Struct):
    """The numbers of calls and of programs that a sampling client selected, `of` all programs."""

    calls: int = 0
    programs: int = 0
    of: int = 0


class Member:
    """A client of a pass, whose methods are called by `tell`, and its first error."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.error: ClientFailed | None = None
        self.sample = Sample()
        #: Ids of calls whose evaluation was ended early, and of which there are no rows.
        self.ended_early: set[int] = set()
        self.hooks = hooks_of(client)
        self._turn: AbstractContextManager[Any] = nullcontext() if client.thread_safe else Lock()
        self.forwarder = _forwarder(client, self.tell)

    def tell(self, method: Callable[..., Any], *arguments: Any) -> Any:
        """Call a method of the client and return its result; None if it raises or has failed."""
        if self.error is not None:
            return None
        try:
            with self._turn:
                return method(*arguments)
        except StepFailed as passing:
            raise passing.error from passing
        except Exception as error:  # noqa: BLE001 - the client's own fault, reported as such
            self.fail(error)
            return None

    def fail(self, error: Exception) -> None:
        """Store an error of the client, unless it has one; `tell` then skips the client."""
        name = self.client.name
        if isinstance(error, KvtraceError):
            client_error = ClientFailed(f"the client {name} failed: {error}")
        else:
            described = f"{type(error).__name__}: {error}"
            client_error = ClientFailed(
                f"the client {name} failed on {described}{_raised_at(error)}"
            )
        client_error.__cause__ = error
        self.error = self.error or client_error

    def tables(self) -> dict[str, pa.Table]:
        """Return the client's tables, with the stacks that they refer to; {} after a failure."""
        from kvtrace.clients.declared import declared_tables, filled_tables, stack_table

        rows = self.tell(self.client.finalize)
        if self.error is not None:
            return {}
        try:
            tables = filled_tables(declared_tables(self.client), rows)
        except Exception as error:  # noqa: BLE001 - the rows may be anything
            self.fail(error)
            return {}
        stacks = self.client.stacks.rows()
        return tables | ({"stacks": stack_table(stacks)} if stacks else {})

    def facts(self) -> dict[str, Any]:
        """Return the metadata of the client's files: its settings, and its sample."""
        facts = dict(self.tell(self.client.settings) or {})
        if self.sample.calls:
            counts = {"calls": self.sample.calls, "programs": self.sample.programs}
            facts["sampled"] = counts | {"of": self.sample.of}
        return facts


class Group(Struct, eq=False):
    """Clients that share an evaluation, the programs (None: all), and their shared observers."""

    members: list[Member]
    programs: NDArray[np.int64] | None
    shared: dict[type[Observer], Observer] = {}

    @property
    def observers(self) -> tuple[Observer, ...]:
        """Forwarders of events to the clients and shared observers, which never raise."""
        forwarders = [
            _forwarder(observer, self._guard(kind)) for kind, observer in self.shared.items()
        ]
        forwarders += [member.forwarder for member in self.members]
        return tuple(forwarder for forwarder in forwarders if forwarder is not None)

    def _guard(self, kind: type[Observer]) -> Callable[..., None]:
        """Return a function that calls a shared observer's method; an error fails its clients."""
        users = [member for member in self.members if kind in member.client.observers]

        def tell(method: Callable[..., None], *arguments: Any) -> None:
            try:
                method(*arguments)
            except Exception as error:  # noqa: BLE001 - reported as an error of the clients
                for member in users:
                    member.fail(error)

        return tell


class ClientPass:
    """A pass of clients over the calls of one run, call by call."""

    def __init__(self, clients: Iterable[Client]) -> None:
        self.members = [Member(client) for client in clients]
        self._instruments: dict[tuple[int, ...], Instrument] = {}

    def run(self, call: Call, end: float | None = None) -> str | None:
        """Evaluate a call for all clients; return the reason if an evaluation failed, or None.

        From the processor time `end` on, evaluations are ended: see `Member.ended_early`.
        """
        groups = self.begin(call)
        has_several = sum(group.programs is None or len(group.programs) > 0 for group in groups) > 1
        failures = [self.evaluate(call, group, keep=has_several, end=end) for group in groups]
        reasons = [failure for failure in failures if failure is not None]
        for group, failure in zip(groups, failures, strict=True):
            self.end(call, group, failure)
        return reasons[0] if reasons else None

    def unready(self, call: UnreadyCall) -> None:
        """Call `failed` of all clients for a call that cannot be evaluated."""
        for member in self.members:
            member.tell(member.client.failed, call, call.reason)

    def begin(self, call: Call, members: Iterable[Member] | None = None) -> list[Group]:
        """Call the clients' methods before a call, and return them grouped by selected programs.

        `members` None means all clients; clients that fail are left out.
        """
        groups: dict[bytes | None, Group] = {}
        for member in self.members if members is None else members:
            member.client.call = call
            programs = self._prepare(member, call)
            if member.error is not None:
                continue
            key = None if programs is None else programs.tobytes()
            groups.setdefault(key, Group([], programs)).members.append(member)
        for group in groups.values():
            kinds = (kind for member in group.members for kind in member.client.observers)
            group.shared = {kind: _new_observer(kind, call) for kind in dict.fromkeys(kinds)}
            for member in group.members:
                member.client.__dict__["_shared"] = group.shared
        return list(groups.values())

    def instrument(self, group: Group) -> Instrument | None:
        """Return the instrument that calls a group's `@on` methods; None if it has none."""
        hooked = [member for member in group.members if member.hooks and member.error is None]
        if not hooked:
            return None

        key = tuple(id(member) for member in hooked)
        if key not in self._instruments:
            self._instruments[key] = Hooks(hooked)
        return self._instruments[key]

    def evaluate(
        self, call: Call, group: Group, *, keep: bool = False, end: float | None = None
    ) -> str | None:
        """Evaluate a call for one group; return the reason of a failure, or None.

        With `keep`, the tensors' data is not changed: the evaluation writes to copies. `end` is as
        in `run`.
        """
        if group.programs is not None and not len(group.programs):
            return None
        arguments = _read_only(call.arguments) if keep else call.arguments
        try:
            evaluate(
                call.module,
                arguments,
                call.grid,
                observers=(*group.observers, *(() if end is None else (_UntilTime(end),))),
                kernel=call.kernel,
                programs=group.programs,
                instrument=self.instrument(group),
                most_steps=MOST_STEPS,
            )
        except OutOfTime:
            for member in group.members:
                member.ended_early.add(call.call_id)
        except KvtraceError as error:
            return str(error)
        except UNFIT as error:  # recorded IR may be anything; reported for the call
            return str(UnfitOp(call.kernel, error))
        return None

    def end(self, call: Call, group: Group, failure: str | None) -> None:
        """Call `failed`, if there was a failure, and `post_run` of a group's clients."""
        for member in group.members:
            if call.call_id in member.ended_early:
                continue
            if failure is not None:
                member.tell(member.client.failed, call, failure)
            member.tell(member.client.post_run, call)

    def _prepare(self, member: Member, call: Call) -> NDArray[np.int64] | None:
        client = member.client
        member.tell(client.pre_run, call)
        if _overrides(client, "arg"):
            for argument in call.arguments:
                member.tell(client.arg, argument.name, argument)
        if _overrides(client, "grid"):
            member.tell(client.grid, call.grid)
        selected = member.tell(client.programs, call.grid)
        if selected is None:
            return None
        x, y, z = call.grid
        programs: NDArray[np.int64] | None = member.tell(_checked_programs, selected, x * y * z)
        if programs is None or len(programs) == x * y * z:
            return None
        if not len(programs):  # the client needs no evaluation, which is not a sample
            return programs
        member.sample.calls += 1
        member.sample.programs += len(programs)
        member.sample.of += x * y * z
        return programs


def _new_observer(kind: type[Observer], call: Call) -> Observer:
    """Return an observer for a call, by the class method `of_call` if there is one."""
    of_call: Callable[[Call], Observer] | None = getattr(kind, "of_call", None)
    return kind() if of_call is None else of_call(call)


class _Forwarder(Observer):
    """An observer that passes each event on by `tell(method of the observer, *arguments)`."""

    def __init__(self, observer: Observer, tell: Callable[..., Any]) -> None:
        self.observer = observer
        self.tell = tell


def _forwarder(observer: Observer, tell: Callable[..., Any]) -> Observer | None:
    """Return a forwarder of the events that an observer overrides; None if it overrides none."""
    kind = _forwarder_class(type(observer))  # type: ignore[arg-type]  # mypy: class, not instances
    return None if kind is None else kind(observer, tell)


@cache
def _forwarder_class(observer: type[Observer]) -> type[_Forwarder] | None:
    """Return a class of forwarders for the events that `observer` overrides, or None."""

    def forwarding(event: str) -> Callable[..., None]:
        def forward(self: _Forwarder, *arguments: Any) -> None:
            self.tell(getattr(self.observer, event), *arguments)

        return forward

    events = [
        event for event in _EVENTS if getattr(observer, event) is not getattr(Observer, event)
    ]
    if not events:
        return None
    return type("_Forwarder", (_Forwarder,), {event: forwarding(event) for event in events})


def _overrides(client: Client, method: str) -> bool:
    return getattr(getattr(client, method), "__func__", None) is not getattr(Client, method)


def _checked_programs(selected: Sequence[int], count: int) -> NDArray[np.int64]:
    if isinstance(selected, tuple) and not selected:
        return _NONE
    programs = distinct(np.asarray(selected, np.int64))
    if programs.size and not 0 <= programs[0] <= programs[-1] < count:
        raise SchemaMismatch(
            f"it selects programs {programs[0]} to {programs[-1]}, but the grid has {count}"
        )
    return programs


def _read_only(arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Return the arguments with read-only data, so that each evaluation writes to a copy."""

    def locked(storage: Storage) -> Storage:
        data = None if storage.data is None else storage.data.view()
        if data is not None:
            data.flags.writeable = False
        return replace(storage, data=data)

    return with_storages(arguments, locked)


def _raised_at(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return ""
    return f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})"


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
