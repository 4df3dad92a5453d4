"""Threads of a process with their Python stacks, as `kvtrace.addons.fault.stacks` wrote them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.addons.fault.dump.reading import Dump
    from kvtrace.addons.fault.explaining import Fault
    from kvtrace.schema.trace import Run


#: Threads in whose innermost frame torch is, as `torch.cuda.synchronize`, are shown first.
_TORCH: Final = "/torch/"


class UnreadableStacks(KvtraceError):
    """Raised for a file of stacks that is damaged."""

    slug: ClassVar[str] = "unreadable-stacks"


@dataclass(frozen=True, slots=True)
class PythonFrame:
    """A frame of a stack; `is_own`: of the program, not of an installed package or of Python."""

    file: str
    line: int
    function: str
    is_own: bool


@dataclass(frozen=True, slots=True)
class PythonThread:
    """A thread that runs Python code; its frames are listed innermost first."""

    name: str
    is_main: bool
    frames: tuple[PythonFrame, ...]

    @property
    def own(self) -> tuple[PythonFrame, ...]:
        """The frames in the program's own files; all frames if it has none among them."""
        return tuple(frame for frame in self.frames if frame.is_own) or self.frames

    @property
    def waits_in(self) -> PythonFrame | None:
        """The library's frame in which the thread is; None: it is in a line of the program."""
        return None if self.frames[0].is_own else self.frames[0]

    @property
    def is_in_torch(self) -> bool:
        """The thread is in a function of torch, as one that waits for the GPU."""
        return self.waits_in is not None and _TORCH in self.waits_in.file


@dataclass(frozen=True, slots=True)
class RequestedCollective:
    """A collective of a process group that a process has requested.

    `is_done`: it has ended on this rank. `ranks` are those of the group; None: they are not known.
    `bytes` are those that the rank gives; None: they are not known.
    """

    communicator: str
    group: str
    ranks: tuple[int, ...] | None
    sequence: int
    operation: str
    is_done: bool
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A process's answer: its time in ns since 1970, its threads, and its last collectives.

    A process that was not asked has no time. First are the threads that are in torch, then the main
    thread. `rank` and `world_size` are those of its job; None: it is in none.
    """

    time: int | None
    threads: tuple[PythonThread, ...]
    collectives: tuple[RequestedCollective, ...] = ()
    rank: int | None = None
    world_size: int | None = None


NOT_ASKED: Final = Asked(None, ())


def read_answer(file: Path) -> Asked:
    """Return what a process wrote when it was asked.

    Raises:
        UnreadableStacks: The file is damaged, or cannot be read.
    """
    import msgspec  # not where a recording ends by a fault, which reads no stacks

    try:
        answer = msgspec.json.decode(file.read_bytes(), type=Asked)
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableStacks(
            f"{file} cannot be read as Python stacks: {type(error).__name__}: {error}; remove it, "
            "and ask again."
        ) from error
    known = [thread for thread in answer.threads if thread.frames]
    known.sort(key=lambda thread: (not thread.is_in_torch, not thread.is_main))
    return replace(answer, threads=tuple(known))


@dataclass(frozen=True, slots=True)
class Process:
    """A process with a dump, stacks, or both.

    Attributes:
        name: `HOST.PID`, as its files are named; of a dump alone, the file's name.
        run: its run; None: the trace has none of this process.
        dump: its dump; None: there is none.
        faults: what is known of the kernels in the dump.
        answer: what it wrote when it was asked, if it was: of each process group the collectives
            around the oldest that has not ended, and the newest.
        notes: sentences on what it was asked for and did not come.
    """

    name: str
    run: Run | None
    dump: Dump | None
    faults: Sequence[Fault] = ()
    answer: Asked = NOT_ASKED
    notes: Sequence[str] = ()

    @property
    def rank(self) -> int | None:
        """Its rank in the job; None outside of one."""
        return self.answer.rank if self.run is None or self.run.rank is None else self.run.rank

    @property
    def world_size(self) -> int | None:
        """The number of ranks of its job; None outside of one."""
        return (self.run and self.run.world_size) or self.answer.world_size

    @property
    def was_asked(self) -> bool:
        """The process was asked where it is, so it has not failed."""
        return self.answer.time is not None or bool(self.answer.threads or self.notes)
