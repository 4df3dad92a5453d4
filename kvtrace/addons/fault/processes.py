"""A process of a trace with what it left in the folder `faults`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtrace.addons.fault.dump.reading import Dump
    from kvtrace.addons.fault.explaining import Fault
    from kvtrace.addons.fault.threads import LastCollective, PythonThread
    from kvtrace.schema.trace import Run


@dataclass(frozen=True, slots=True)
class Process:
    """A process with a dump, stacks, or both.

    Attributes:
        name: `HOST.PID`, as its files are named; of a dump alone, the file's name.
        run: its run; None: the trace has none of this process.
        dump: its dump; None: there is none.
        faults: what is known of the kernels in the dump.
        threads: its Python threads; empty: they were not asked for, or did not come.
        asked: when it wrote its stacks, in nanoseconds since 1970; None: it has not.
        collectives: the newest collective of each process group that it has requested.
        notes: sentences on what it was asked for and did not come.
    """

    name: str
    run: Run | None
    dump: Dump | None
    faults: Sequence[Fault] = ()
    threads: Sequence[PythonThread] = ()
    asked: int | None = None
    collectives: Sequence[LastCollective] = ()
    notes: Sequence[str] = ()

    @property
    def rank(self) -> int | None:
        """Its rank in the job; None outside of one."""
        return None if self.run is None else self.run.rank

    @property
    def was_asked(self) -> bool:
        """The process was asked where it is, so it has not failed."""
        return bool(self.threads or self.notes)
