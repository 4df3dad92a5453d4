"""Clients that watch launches while a program runs in the evaluator, each distinct one once.

A launch is known by its kernel, its grid and the metadata of its arguments. What clients find is
kept under a separate number until capture says which call it was: that is known only afterwards.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from kvtrace.clients.client import Client
from kvtrace.clients.declared import declared_tables
from kvtrace.clients.recorded import sample_note
from kvtrace.clients.running import ClientPass, Group, Member
from kvtrace.evaluate import Argument, Observer, ScalarArgument, TensorArgument, evaluate
from kvtrace.forks import Lock
from kvtrace.ir import Module
from kvtrace.recorded_calls.compiled_code import Compiled
from kvtrace.recorded_calls.recorded import Call, UnreadyCall
from kvtrace.schema.arrays import array_of
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.table_types import Table
from kvtrace.schema.trace import Trace, open_trace

#: Distinct launches that are watched at most: what clients make of them waits in memory.
LIMIT: Final = 10_000

#: Level, code and text of a message about the run.
Tell = Callable[[str, str, str], None]
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Launch:
    """A launch that is to be executed.

    `identity` is the compiler's hash of the kernel variant. `compiled` reads what the
    compiled code tells of threads.
    """

    identity: str
    kernel: str
    grid: tuple[int, int, int]
    module: Module
    arguments: tuple[Argument, ...]
    compiled: Callable[[], Compiled | None] = lambda: None
    num_ctas: int | None = None
    triton: str | None = None

    def key(self) -> Key:
        """Everything but data and addresses; which tensors share a storage is known."""
        storages: dict[int, int] = {}
        parts: list[Any] = []
        for argument in self.arguments:
            if isinstance(argument, ScalarArgument):
                parts.append((type(argument.value), repr(argument.value)))
                continue
            place = storages.setdefault(id(argument.storage), len(storages))
            where = (place, argument.storage.nbytes, argument.offset_bytes)
            parts.append((argument.dtype, argument.shape, argument.strides, *where))
        return (self.identity, self.grid, *parts)

    def as_call(self, number: int) -> Call:
        """The launch as a call; its tensors have their contents."""
        tensors = (each for each in self.arguments if isinstance(each, TensorArgument))
        recorded = tuple(tensor.name for tensor in tensors)
        return Call(
            number, self.kernel, self.grid, self.module, self.arguments, recorded,
            compiled=self.compiled(), ctas=self.num_ctas, triton=self.triton,
        )  # fmt: skip


class Observation:
    """Watches the launches of one recording. Launches on several threads are watched in turn."""

    def __init__(self, tell: Tell, problem: Callable[[Exception], None]) -> None:
        """`tell` takes messages about the run, `problem` a failure of kvtrace."""
        self._tell = tell
        self._problem = problem
        self._pass = ClientPass(())
        self._numbers: dict[Key, int] = {}
        self._watched: dict[int, set[str]] = {}
        self._call_ids: dict[int, list[int]] = {}
        self._last = threading.local()
        self._lock = Lock()
        self._renew()

    def _renew(self) -> None:
        """Begin as the process that we are in: a forked child has separate calls."""
        self._process = os.getpid()
        self._call_ids.clear()
        self._watched.clear()
        self._ended = False

    def add(self, clients: Iterable[Client]) -> list[Member]:
        """Add clients; give them as what `launch` wants to be named."""
        members = [Member(client) for client in clients]
        self._pass.members += members
        return members

    @property
    def watched(self) -> int:
        """Number of distinct launches that were watched in this process."""
        return len(self._watched) if self._process == os.getpid() else 0

    def execute(
        self, launch: Launch, observers: Sequence[Observer], members: Sequence[Member]
    ) -> None:
        """Execute a launch, watched by `members` if it is new.

        Raises:
            KvtraceError: what executing it raises.

        """
        if self._process != os.getpid():
            self._renew()
        number = self._numbers.setdefault(launch.key(), len(self._numbers))
        self._last.number = number
        with self._lock:
            seen = self._watched.setdefault(number, set())
            fresh = [member for member in members if member.client.name not in seen]
            if fresh and len(self._watched) <= LIMIT:
                seen.update(member.client.name for member in fresh)
                self._watch(number, launch, observers, fresh)
                return
        if fresh:
            text = f"only the first {LIMIT:,} distinct launches were watched; replay does them all"
            self._tell("info", "watch-limit", text)
        evaluate(
            launch.module, launch.arguments, launch.grid, observers=observers, kernel=launch.kernel
        )

    def left_out(self, kernel: str, identity: str, reason: str) -> None:
        """Tell all clients of a kernel's launches that nobody watches; `identity` is its hash."""
        if self._process != os.getpid():
            self._renew()
        key = (identity, reason)
        with self._lock:
            number = self._numbers.setdefault(key, len(self._numbers))
            self._last.number = number
            if number not in self._watched:
                self._watched[number] = set()
                self._pass.unready(UnreadyCall(number, kernel, reason))

    def is_call(self, call_id: int) -> None:
        """Note which call the thread's last launch was, if it is a new one."""
        number = getattr(self._last, "number", None)
        if number is not None and self._process == os.getpid():
            self._call_ids.setdefault(number, []).append(call_id)

    def tables(self, member: Member) -> dict[str, pa.Table]:
        """Return what a client has found so far, with the ids of calls that capture gave."""
        with self._lock:
            return {name: self._with_calls(rows) for name, rows in member.tables().items()}

    def finish(self, out: str, run_id: str) -> None:
        """Add what all clients found to the run that they watched.

        Raises:
            KvtraceError: it cannot be written.

        """
        if not self.watched:
            return
        trace = open_trace(out)
        by_name: dict[str, dict[int, Member]] = {}
        for member in self._pass.members:
            by_name.setdefault(member.client.name, {})[id(member.client)] = member
        for name, members in by_name.items():
            self._finish_client(trace, run_id, name, list(members.values()))

    def _finish_client(
        self, trace: Trace, run_id: str, name: str, members: Sequence[Member]
    ) -> None:
        """Add what clients of one name found; several kernels may have one each."""
        tables: dict[str, list[pa.Table]] = {}
        definitions: dict[str, Table] = {}
        facts: dict[str, Any] = {}
        for member in members:
            found, settings = self.tables(member), member.facts()
            if member.error is not None:
                self._tell("warning", "client-failed", str(member.error))
                continue
            facts |= settings | {"while": "watching"}
            definitions |= {table.name: table for table in declared_tables(member.client)}
            for table, rows in found.items():
                tables.setdefault(table, []).append(rows)
            for note in sample_note(member):
                self._tell("info", "sampled", note)
        if facts:
            joined = {table: pa.concat_tables(rows) for table, rows in tables.items()}
            trace.add_derived(run_id, name, joined, facts, tuple(definitions.values()))

    def _watch(
        self, number: int, launch: Launch, observers: Sequence[Observer], members: list[Member]
    ) -> None:
        """Execute a launch once; samples are taken before, from copies."""
        begun = self._begin(number, launch, members)
        groups = begun[1] if begun is not None else []
        whole = next((group for group in groups if group.programs is None), None)
        failure: str | None = None
        try:
            evaluate(
                launch.module,
                launch.arguments,
                launch.grid,
                observers=(*observers, *(whole.observers if whole is not None else ())),
                kernel=launch.kernel,
                instrument=None if whole is None else self._pass.instrument(whole),
            )
        except KvtraceError as error:
            failure = str(error)
            raise
        finally:
            if begun is not None:
                for group in groups:
                    self._pass.end(begun[0], group, failure)

    def _begin(
        self, number: int, launch: Launch, members: list[Member]
    ) -> tuple[Call, list[Group]] | None:
        try:
            call = launch.as_call(number)
            groups = self._pass.begin(call, members)
            for group in groups:
                if group.programs is not None:
                    self._pass.evaluate(call, group, keep=True)
        except Exception as error:  # noqa: BLE001 - the launch continues unwatched
            self._problem(error)
            return None
        return call, groups

    def _with_calls(self, rows: pa.Table) -> pa.Table:
        if "call_id" not in rows.column_names:
            return rows
        taken, call_ids = [], []
        for position, number in enumerate(rows.column("call_id").to_pylist()):
            for call_id in self._call_ids.get(number, ()):
                taken.append(position)
                call_ids.append(call_id)
        place = rows.schema.get_field_index("call_id")
        found = rows.take(array_of(taken, pa.int64()))
        field = rows.schema.field(place)
        return found.set_column(place, field, array_of(call_ids, field.type))
