"""Processes that hang together: a table of where each is, and who waits for whom."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kvtrace.figures.names import readable
from kvtrace.text import columns, size, terminal_width

if TYPE_CHECKING:
    from kvtrace.addons.fault.threads import Process, RequestedCollective


#: `ncclDevKernel_AllReduce_Sum_bf16_RING_LL`; `ncclKernel_AllReduce_RING_LL_Sum_float` before 2.19.
_KERNEL: Final = re.compile(r"nccl\w*?Kernel_([A-Za-z]+)((?:_\w+)?)")
_GENERIC: Final = "Generic"
#: Operations for which all ranks give as many bytes.
_EQUAL_SIZES: Final = frozenset({"AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce"})
_REDUCTIONS: Final = frozenset({"AllReduce", "Reduce", "ReduceScatter"})
_TYPES: Final = {
    "f16": "fp16", "half": "fp16", "bf16": "bf16", "bfloat16": "bf16", "f32": "fp32",
    "float": "fp32", "f64": "fp64", "double": "fp64", "f8e4m3": "fp8e4m3", "f8e5m2": "fp8e5m2",
    "i8": "int8", "u8": "int8", "i32": "int32", "u32": "int32", "i64": "int64", "u64": "int64",
}  # fmt: skip


def collective_of(kernel: str) -> str:
    """Return the collective that a kernel of NCCL runs; empty for another kernel.

    >>> collective_of("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)")
    "NCCL's AllReduce of bf16"
    """
    match = _KERNEL.match(readable(kernel))
    if match is None:
        return ""
    if match[1] == _GENERIC:
        return "a collective of NCCL"
    types = [_TYPES[part] for part in match[2].split("_") if part in _TYPES]
    of_type = f" of {types[0]}" if types and match[1] in _REDUCTIONS else ""
    return f"NCCL's {match[1]}{of_type}"


#: Ranks that a sentence names.
_MOST_RANKS: Final = 8
_HEADER: Final = ("rank", "process", "on the GPU", "waits for", "Python")


def ranks_text(processes: Sequence[Process]) -> Iterator[str]:
    """Yield a table of processes by rank, and sentences on who is where."""
    ordered = sorted(processes, key=lambda process: (process.rank is None, process.rank or 0))
    yield from columns(
        _HEADER, [_row(process) for process in ordered], terminal_width(), texts=(2, 3, 4)
    )
    yield from _who_is_where(ordered)
    yield from _who_has_not_arrived(ordered)


def _row(process: Process) -> tuple[str, ...]:
    rank, fault = process.rank, next(iter(process.faults), None)
    kernel = waits_for = ""
    if fault is not None:
        kernel = fault.kernel or "a kernel whose module is not in the dump"
        if fault.place is not None:
            kernel += f", {Path(fault.place.file).name}:{fault.place.line}"
        waits_for = fault.waits_for
    elif process.dump is not None:
        kernel = "nothing"
    return (
        "-" if rank is None else str(rank),
        process.name.rpartition(".")[2],
        kernel,
        waits_for,
        _frame(process),
    )


def _who_is_where(processes: Sequence[Process]) -> Iterator[str]:
    """Yield a sentence on which processes are in which collective or kernel, and on missing ranks.

    Only collectives of different names contradict each other: a name has no operation and no size.
    """
    by_place: dict[str, list[Process]] = {}
    for process in processes:
        by_place.setdefault(_where(process), []).append(process)
    groups = sorted(by_place.items(), key=lambda group: len(group[1]))
    sentence = "; ".join(f"{_named(members)} in {where}" for where, members in groups)
    yield f"{sentence[0].upper()}{sentence[1:]}."
    collectives = {where for where, members in groups if _collective(members[0])}
    if len(collectives) > 1:
        yield (
            "These are different collectives: if the ranks are of one process group, each waits "
            "for the others without end."
        )
    elif collectives and len(groups) > 1:
        yield f"Who is in {collectives.pop()} waits for the ranks that are elsewhere."
    known = {rank for process in processes if (rank := process.rank) is not None}
    size = max((process.world_size or 0 for process in processes), default=0)
    missing = [rank for rank in range(size) if rank not in known]
    if missing and known:
        subject = _ranks(missing)
        yield (
            f"{subject[0].upper()}{subject[1:]} of {size} did not answer: ended, on another host, "
            "or not recorded."
        )


def _who_has_not_arrived(processes: Sequence[Process]) -> Iterator[str]:
    """Yield sentences on each process group in which a rank waits: for whom, and where they are."""
    groups: dict[str, list[tuple[Process, RequestedCollective]]] = {}
    for process in processes:
        for collective in process.answer.collectives if process.rank is not None else ():
            groups.setdefault(collective.communicator, []).append((process, collective))
    for communicator, members in groups.items():
        pending = [collective.sequence for _, collective in members if not collective.is_done]
        if not pending:
            continue
        oldest = min(pending)
        by_sequence: dict[int, list[tuple[Process, RequestedCollective]]] = {}
        for member in members:
            by_sequence.setdefault(member[1].sequence, []).append(member)
        sequence = next(
            (n for n in sorted(by_sequence) if n <= oldest and len(_calls(by_sequence[n])) > 1),
            oldest,
        )
        calls = _calls(by_sequence[sequence])
        contradiction = ": they do not match, and never end" if len(calls) > 1 else ""
        name = f"process group {communicator} ({members[0][1].group}), sequence {sequence:,}"
        texts = (f"{_named(ranks)} in {operation}" for operation, ranks in calls.items())
        yield f"In {name}, {'; '.join(texts)}{contradiction}."
        yield from _late_members(members, sequence, processes)


def _calls(members: Sequence[tuple[Process, RequestedCollective]]) -> dict[str, list[Process]]:
    """Return ranks by what they called under one sequence number; two operations contradict.

    Who has passed an operation that all others are in does not count.
    """
    by_call: dict[tuple[str, int | None], list[tuple[Process, bool]]] = {}
    for process, collective in members:
        given = collective.bytes if collective.operation in _EQUAL_SIZES else None
        by_call.setdefault((collective.operation, given), []).append((process, collective.is_done))
    if len(by_call) == 1:
        ((operation, _),) = by_call
        return {operation: [process for process, is_done in by_call.popitem()[1] if not is_done]}
    operations = [operation for operation, _ in by_call]
    return {
        operation if given is None or operations.count(operation) == 1
        else f"{operation} of {size(given)}": [process for process, _ in ranks]
        for (operation, given), ranks in by_call.items()
    }  # fmt: skip


def _late_members(
    members: Sequence[tuple[Process, RequestedCollective]],
    sequence: int,
    processes: Sequence[Process],
) -> Iterator[str]:
    """Yield a sentence on each rank of a group that has not requested the collective."""
    newest = {process.rank: collective for process, collective in members}  # in their order
    ranks = next((one.ranks for _, one in members if one.ranks is not None), None)
    by_rank = {process.rank: process for process in processes if process.rank is not None}
    for rank in sorted(by_rank if ranks is None else ranks, key=lambda rank: rank or 0):
        last = newest.get(rank)
        if last is not None and last.sequence >= sequence:
            continue
        if last is None and ranks is None:
            continue  # it may not be of the group
        before = (
            "none before" if last is None else f"its last is {last.sequence:,}, {last.operation}"
        )
        process = by_rank.get(rank)
        frame = "" if process is None else _frame(process)
        place = f", Python at {frame}" if frame else ""
        yield f"Rank {rank} has not arrived: {before}{place}."


def _where(process: Process) -> str:
    collective = _collective(process)
    if collective:
        return collective
    fault = next(iter(process.faults), None)
    if fault is not None:
        return f"kernel {fault.kernel}" if fault.kernel else "a kernel that is not known"
    frame = _frame(process)
    return f"Python at {frame}" if frame else "a place that is not known"


def _frame(process: Process) -> str:
    """Return the program's innermost frame as `step, train.py:42`; empty: no stacks came."""
    if not process.answer.threads:
        return ""
    frame = process.answer.threads[0].own[0]
    return f"{frame.function}, {Path(frame.file).name}:{frame.line}"


def _collective(process: Process) -> str:
    """Return the collective among a process's kernels, others may run beside it; empty: none."""
    return next((text for fault in process.faults if (text := collective_of(fault.kernel))), "")


def _named(processes: Sequence[Process]) -> str:
    """Return the processes by rank, with the verb: "ranks 0 to 2 are"."""
    ranks = [rank for process in processes if (rank := process.rank) is not None]
    if len(ranks) < len(processes):
        names = [process.name.rpartition(".")[2] for process in processes]
        subject = "process " if len(names) == 1 else "processes "
        return f"{subject}{', '.join(names)} {'is' if len(names) == 1 else 'are'}"
    return f"{_ranks(ranks)} {'is' if len(ranks) == 1 else 'are'}"


def _ranks(ranks: Sequence[int]) -> str:
    """Return sorted ranks as text: "rank 3", "ranks 0 to 2", "ranks 0, 2, 5"."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 2 and ranks[-1] - ranks[0] == len(ranks) - 1:
        return f"ranks {ranks[0]} to {ranks[-1]}"
    names = [str(rank) for rank in ranks[:_MOST_RANKS]]
    last = names.pop() if len(ranks) <= _MOST_RANKS else f"{len(ranks) - _MOST_RANKS} others"
    return f"ranks {', '.join(names)} and {last}"
