"""Who is where: processes with recorded dumps, whose kernels are given names of NCCL."""

import pytest

from kvtrace.addons.fault.dumps import explained
from kvtrace.addons.fault.ranks import ranks_text
from kvtrace.addons.fault.threads import (
    Asked,
    Process,
    PythonFrame,
    PythonThread,
    RequestedCollective,
)
from kvtrace.schema.runs import Run
from tests.addons.fault.recorded import FAULTS
from tests.support.replacing import replace

REDUCE = "_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgsStorageILm4096EE"
GATHER = "_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE"
SUM = "_Z39ncclDevKernel_AllReduce_Sum_f32_TREE_LL24ncclDevKernelArgsStorageILm4096EE"


@pytest.fixture(scope="module")
def recorded():
    (process,) = explained(FAULTS / "deadlock_eager", None, None).processes
    return process


@pytest.fixture
def job(recorded):
    def ranks(*kernels, size=None, with_rank=True):
        """Return a process for each kernel; None: no kernel is on its GPU."""
        processes = []
        for rank, kernel in enumerate(kernels):
            run = Run(f"run-{rank}", pid=100 + rank, rank=rank if with_rank else None)
            run = replace(run, world_size=size or len(kernels))
            frames = (PythonFrame("train.py", 40 + rank, "step", is_own=True),)
            faults = [] if kernel is None else [replace(recorded.faults[0], kernel=kernel)]
            threads = (PythonThread("MainThread", True, frames),)
            processes.append(
                Process(f"host.{100 + rank}", run, recorded.dump, faults, Asked(1, threads))
            )
        return processes

    return ranks


def sentences(processes):
    return list(ranks_text(processes))[len(processes) + 1 :]


def test_different_collectives_are_a_contradiction(job):
    said = sentences(job(REDUCE, REDUCE, REDUCE, GATHER))
    assert said[-2] == (
        "Rank 3 is in NCCL's AllGather; ranks 0 to 2 are in NCCL's AllReduce of bf16."
    )
    assert said[-1].startswith("These are different collectives")


def test_equal_collectives_are_none(job):
    said = sentences(job(REDUCE, REDUCE))
    assert said[-1] == "Ranks 0 and 1 are in NCCL's AllReduce of bf16."
    assert "different" not in " ".join(said)


def test_types_of_a_reduction_are_compared(job):
    assert "different collectives" in sentences(job(REDUCE, SUM))[-1]


def test_rank_that_is_in_another_kernel_is_waited_for(job):
    said = sentences(job(REDUCE, "spinning", REDUCE))
    assert (
        said[-2] == "Rank 1 is in kernel spinning; ranks 0 and 2 are in NCCL's AllReduce of bf16."
    )
    assert said[-1] == "Who is in NCCL's AllReduce of bf16 waits for the ranks that are elsewhere."


def test_rank_without_a_kernel_is_where_its_python_is(job):
    said = sentences(job(REDUCE, None))
    assert "rank 1 is in Python at step, train.py:41" in said[-2]


def test_ranks_that_did_not_answer_are_named(job):
    assert sentences(job(REDUCE, REDUCE, size=4))[-1].startswith("Ranks 2 and 3 of 4 did not")
    assert sentences(job(REDUCE, size=13))[-1].startswith("Ranks 1 to 12 of 13 did not")


def test_processes_without_ranks_are_named_by_number(job):
    said = sentences(job("spinning", "spinning", with_rank=False))
    assert said[-1] == "Processes 100, 101 are in kernel spinning."


def test_table_is_sorted_by_rank_with_line_and_wait(job):
    processes = job("spinning", None)
    lines = list(ranks_text(processes[::-1]))
    assert lines[1].split()[2:4] == ["spinning,", "planted_"]
    assert "faults.py:142" in lines[2]
    assert "a value of locks," in lines[1]
    assert lines[1].split()[:2] == ["0", "100"]
    assert lines == list(ranks_text(processes))


def asked(job, *requests, group="0", ranks=None):
    """Return processes without kernels, with collectives (sequence, operation, is_done, bytes) of
    one group each, or lists of such."""
    processes = job(*[None] * len(requests))
    calls = [[one] if isinstance(one, tuple) else one or [] for one in requests]
    return [
        replace(
            process,
            answer=replace(
                process.answer,
                collectives=[RequestedCollective(group, "data", ranks, *c) for c in own],
            ),
        )
        for process, own in zip(processes, calls, strict=True)
    ]


def test_rank_that_has_not_requested_what_others_wait_in_is_named_with_its_line(job):
    waiting = (118, "AllReduce", False)
    said = sentences(asked(job, waiting, waiting, (117, "Broadcast", True), waiting))
    assert said[-2:] == [
        "In process group 0 (data), sequence 118, ranks 0, 1 and 3 are in AllReduce.",
        "Rank 2 has not arrived: its last is 117, Broadcast, Python at step, train.py:42.",
    ]


def test_different_operations_of_one_number_are_a_contradiction(job):
    said = sentences(asked(job, (9, "AllReduce", False), (9, "AllGather", False)))
    assert said[-1] == (
        "In process group 0 (data), sequence 9, rank 0 is in AllReduce; rank 1 is in AllGather: "
        "they do not match, and never end."
    )


def test_members_of_a_group_are_those_that_torch_lists(job):
    # given a group of ranks 1 and 2, of which the second has called nothing in it
    said = sentences(asked(job, None, (1, "AllReduce", False), None, ranks=(1, 2)))
    assert said[-1] == "Rank 2 has not arrived: none before, Python at step, train.py:42."
    assert not any("Rank 0 has" in sentence for sentence in said)


def test_group_whose_newest_collective_has_ended_on_all_ranks_says_nothing(job):
    said = sentences(asked(job, (4, "AllReduce", True), (3, "AllReduce", True)))
    assert not any("process group" in sentence for sentence in said)


def test_oldest_collective_that_has_not_ended_is_the_one_that_hangs(job):
    # given ranks that requested the next collective, too, while they wait
    waiting = [(20, "AllReduce", True), (21, "AllReduce", False), (22, "Broadcast", False)]
    said = sentences(asked(job, waiting, waiting, (20, "AllReduce", True)))
    assert said[-2:] == [
        "In process group 0 (data), sequence 21, ranks 0 and 1 are in AllReduce.",
        "Rank 2 has not arrived: its last is 20, AllReduce, Python at step, train.py:42.",
    ]


def test_first_contradiction_is_named_also_where_a_rank_has_passed_it(job):
    # given collectives that one rank calls in the other order, of which it has ended the first
    others = [(20, "AllReduce", True), (21, "AllReduce", False), (22, "Broadcast", False)]
    swapped = [(20, "AllReduce", True), (21, "Broadcast", True), (22, "AllReduce", False)]
    said = sentences(asked(job, others, others, swapped))
    assert said[-1] == (
        "In process group 0 (data), sequence 21, ranks 0 and 1 are in AllReduce; rank 2 is in "
        "Broadcast: they do not match, and never end."
    )


def test_other_sizes_of_one_operation_are_a_contradiction(job):
    said = sentences(asked(job, (3, "AllReduce", False, 1 << 20), (3, "AllReduce", False, 1 << 10)))
    assert said[-1] == (
        "In process group 0 (data), sequence 3, rank 0 is in AllReduce of 1 MiB; rank 1 is in "
        "AllReduce of 1 KiB: they do not match, and never end."
    )
    # but ranks of a scatter may give any number of bytes
    said = sentences(asked(job, (3, "AllToAll", False, 8), (3, "AllToAll", False, 4)))
    assert said[-1].endswith("sequence 3, ranks 0 and 1 are in AllToAll.")


def test_rank_that_has_passed_what_others_are_in_is_not_late(job):
    # given a root of a broadcast, which needs nobody
    said = sentences(asked(job, [(4, "Broadcast", True), (5, "AllReduce", False)],
                           (4, "Broadcast", False), (3, "AllReduce", True)))  # fmt: skip
    assert said[-2].endswith("sequence 4, rank 1 is in Broadcast.")
    assert said[-1].startswith("Rank 2 has not arrived: its last is 3, AllReduce")
