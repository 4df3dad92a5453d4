"""Clients that observe launches while a program runs in the evaluator, each distinct launch once.

Launches are distinct if kernel, grid or the arguments' metadata differ. Until the run's end, rows
of clients have the number of the distinct launch in place of the call id, which capture assigns
only after the launch.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import pyarrow as pa
from msgspec import Struct

from kvtrace.clients.client import Client
from kvtrace.clients.declared import declared_tables
from kvtrace.clients.recorded import sample_note
from kvtrace.clients.running import ClientPass, Group, Member
from kvtrace.evaluate import Argument, Observer, ScalarArgument, TensorArgument, evaluate
from kvtrace.forks import Lock
from kvtrace.ir import Module
from kvtrace.recorded_calls.compiled_code import CompiledFacts
from kvtrace.recorded_calls.recorded import Call, UnreadyCall
from kvtrace.schema.arrays import array_of
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.table_types import Table
from kvtrace.schema.trace import Trace, open_trace

#: Maximum number of distinct launches that are watched, whose rows are kept in memory.
LIMIT: Final = 10_000

#: Level, code and text of a message about the run.
Tell = Callable[[str, str, str], None]
Key = tuple[Any, ...]


class Launch(Struct, frozen=True):
    """A launch that has not been executed yet.

    `identity` is the compiler's hash of the kernel variant. `compiled` returns facts of the
    compiled code, such as the layout of threads.
    """

    identity: str
    kernel: str
    grid: tuple[int, int, int]
    module: Module
    arguments: tuple[Argument, ...]
    compiled: Callable[[], CompiledFacts | None] = lambda: None
    num_ctas: int | None = None
    triton: str | None = None

    def key(self) -> Key:
        """Return a value that is equal for launches that need to be watched only once.

        It has the kernel, the grid and the arguments' metadata, including which of them share a
        storage, but no contents and addresses of tensors.
        """
        storages: dict[int, int] = {}
        argument_keys: list[Any] = []
        for argument in self.arguments:
            if isinstance(argument, ScalarArgument):
                argument_keys.append((type(argument.value), repr(argument.value)))
                continue
            storage_index = storages.setdefault(id(argument.storage), len(storages))
            storage_key = (storage_index, argument.storage.nbytes, argument.offset_bytes)
            argument_keys.append((argument.dtype, argument.shape, argument.strides, *storage_key))
        return (self.identity, self.grid, *argument_keys)

    def as_call(self, number: int) -> Call:
        """Return the launch as a call with the id `number`, and with the tensors' contents."""
        tensors = (value for value in self.arguments if isinstance(value, TensorArgument))
        recorded = tuple(tensor.name for tensor in tensors)
        return Call(
            number, self.kernel, self.grid, self.module, self.arguments, recorded,
            compiled=self.compiled(), ctas=self.num_ctas, triton=self.triton,
        )  # fmt: skip


class Observation:
    """The observation of one recording's launches by clients, in one thread at a time."""

    def __init__(self, tell: Tell, problem: Callable[[Exception], None]) -> None:
        """`tell` is called with messages about the run, `problem` with failures of kvtrace."""
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
        """Clear launches and call ids, since a forked child's process records other calls."""
        self._process = os.getpid()
        self._call_ids.clear()
        self._watched.clear()
        self._ended = False

    def add(self, clients: Iterable[Client]) -> list[Member]:
        """Add clients to the pass; return them as members, which `execute` accepts."""
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
        """Execute a launch, observed by those `members` that have not seen an equal launch.

        Raises:
            KvtraceError: the evaluation of the launch failed.

        """
        if self._process != os.getpid():
            self._renew()
        launch_number = self._numbers.setdefault(launch.key(), len(self._numbers))
        self._last.number = launch_number
        with self._lock:
            watched_names = self._watched.setdefault(launch_number, set())
            new_members = [member for member in members if member.client.name not in watched_names]
            if new_members and len(self._watched) <= LIMIT:
                watched_names.update(member.client.name for member in new_members)
                self._watch(launch_number, launch, observers, new_members)
                return
        if new_members:
            text = (
                f"only the first {LIMIT:,} distinct launches were watched; "
                "kvtrace profile --replay evaluates all"
            )
            self._tell("info", "watch-limit", text)
        evaluate(
            launch.module, launch.arguments, launch.grid, observers=observers, kernel=launch.kernel
        )

    def left_out(self, kernel: str, identity: str, reason: str) -> None:
        """Call `failed` of all clients, once for each kernel whose launches are not observed."""
        if self._process != os.getpid():
            self._renew()
        key = (identity, reason)
        with self._lock:
            launch_number = self._numbers.setdefault(key, len(self._numbers))
            self._last.number = launch_number
            if launch_number not in self._watched:
                self._watched[launch_number] = set()
                self._pass.unready(UnreadyCall(launch_number, kernel, reason))

    def is_call(self, call_id: int) -> None:
        """Store the call id of the running thread's last launch, which capture has recorded."""
        launch_number = getattr(self._last, "number", None)
        if launch_number is not None and self._process == os.getpid():
            self._call_ids.setdefault(launch_number, []).append(call_id)

    def tables(self, member: Member) -> dict[str, pa.Table]:
        """Return a client's tables so far, with numbers of launches replaced by call ids."""
        with self._lock:
            return {name: self._with_calls(rows) for name, rows in member.tables().items()}

    def finish(self, out: str, run_id: str) -> None:
        """Write the tables of all clients to the observed run.

        Raises:
            KvtraceError: the tables cannot be written.

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
        """Write the joined tables of clients with one name; each kernel may have had a client."""
        tables: dict[str, list[pa.Table]] = {}
        definitions: dict[str, Table] = {}
        facts: dict[str, Any] = {}
        for member in members:
            member_tables, settings = self.tables(member), member.facts()
            if member.error is not None:
                self._tell("warning", "client-failed", str(member.error))
                continue
            facts |= settings | {"while": "watching"}
            definitions |= {table.name: table for table in declared_tables(member.client)}
            for table, rows in member_tables.items():
                tables.setdefault(table, []).append(rows)
            for note in sample_note(member):
                self._tell("info", "sampled", note)
        if facts:
            joined = {table: pa.concat_tables(rows) for table, rows in tables.items()}
            trace.add_derived(run_id, name, joined, facts, tuple(definitions.values()))

    def _watch(
        self, number: int, launch: Launch, observers: Sequence[Observer], members: list[Member]
    ) -> None:
        """Execute a launch once, observed by all clients that select all programs.

        For clients that select some programs, the launch is evaluated before, on copies.
        """
        call_and_groups = self._begin(number, launch, members)
        groups = call_and_groups[1] if call_and_groups is not None else []
        all_programs = next((group for group in groups if group.programs is None), None)
        failure: str | None = None
        try:
            evaluate(
                launch.module,
                launch.arguments,
                launch.grid,
                observers=(
                    *observers,
                    *(all_programs.observers if all_programs is not None else ()),
                ),
                kernel=launch.kernel,
                instrument=None if all_programs is None else self._pass.instrument(all_programs),
            )
        except KvtraceError as error:
            failure = str(error)
            raise
        finally:
            if call_and_groups is not None:
                for group in groups:
                    self._pass.end(call_and_groups[0], group, failure)

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
        """Return rows once for each call id of their launch number."""
        if "call_id" not in rows.column_names:
            return rows
        positions, call_ids = [], []
        for position, launch_number in enumerate(rows.column("call_id").to_pylist()):
            for call_id in self._call_ids.get(launch_number, ()):
                positions.append(position)
                call_ids.append(call_id)
        column = rows.schema.get_field_index("call_id")
        repeated = rows.take(array_of(positions, pa.int64()))
        field = rows.schema.field(column)
        return repeated.set_column(column, field, array_of(call_ids, field.type))
