"""Collectives matched across ranks, by order and never by time."""

import numpy as np
import pytest

from kvtrace.figures.collectives import matched_collectives
from kvtrace.schema.collective_names import is_collective, operation_of_kernel
from kvtrace.schema.trace import resolve
from kvtrace.schema.writer import RunWriter
from tests.support.simulated_ranks import (
    ALL_REDUCE,
    EPOCH,
    UNIT,
    changed,
    planned,
    simulated,
    write_ranks,
)

BROADCAST = "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SEND = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"


def written(out, *ranks, **facts):
    """Write ranks, each a list of names, begins and ends, on the streams that the rows name."""
    for number, rows in enumerate(ranks):
        writer = RunWriter(out, f"20260102-030405-000-0000000{number}")
        writer.append_rows(
            "gpu_kernels",
            [
                {"record": record, "name": name, "device": 0, "stream": stream[0] if stream else 7}
                | {"start": EPOCH + begin * UNIT, "end": EPOCH + end * UNIT}
                for record, (name, begin, end, *stream) in enumerate(rows)
            ],
        )
        run = {"group_id": "job", "rank": number, "world_size": len(ranks), "host": "host"}
        writer.seal(run | facts)
    selection = resolve(str(out))
    return matched_collectives(selection.trace, selection.runs)


def waits(collectives, rank):
    ran = collectives.of_rank(collectives.runs[rank])
    return ((ran.transfer - ran.start) // UNIT).tolist()


def test_transfer_begins_when_the_last_rank_has_begun(tmp_path):
    collectives = written(
        tmp_path, [(ALL_REDUCE, 10, 41)], [(ALL_REDUCE, 12, 41)], [(ALL_REDUCE, 40, 41)]
    )
    assert collectives.matched == 1
    assert [waits(collectives, rank) for rank in range(3)] == [[30], [28], [0]]
    assert collectives.of_rank(collectives.runs[0]).last.tolist() == [2]


def test_rank_that_ended_a_broadcast_before_the_last_one_began_it_did_not_wait_for_it(tmp_path):
    # given a root that ends before another rank begins, and a rank that waits for it
    collectives = written(
        tmp_path, [(BROADCAST, 10, 12)], [(BROADCAST, 30, 35)], [(BROADCAST, 11, 36)]
    )
    assert [waits(collectives, rank) for rank in range(3)] == [[0], [0], [19]]
    assert collectives.problems == []


def test_peers_of_send_and_receive_are_not_known_so_that_nobody_is_waited_for(tmp_path):
    collectives = written(tmp_path, [(SEND, 10, 40)], [(SEND, 39, 40)])
    ran = collectives.of_rank(collectives.runs[0])
    assert (collectives.matched, ran.last.tolist(), waits(collectives, 0)) == (1, [-1], [0])


@pytest.mark.parametrize(
    ("third", "text"),
    [
        (BROADCAST, "rank 2 calls Broadcast where earlier ranks call AllReduce, after 2 "),
        (None, "rank 2 ends where earlier ranks call AllReduce, after 2 "),
    ],
)
def test_first_disagreement_is_named_and_nothing_after_it_is_matched(tmp_path, third, text):
    # given three ranks of which one calls something else as its third collective, or nothing
    usual = [(ALL_REDUCE, 10 * n, 10 * n + 5) for n in range(4)]
    other = usual[:2] + [(third, *row[1:]) for row in usual[2:] if third]
    collectives = written(tmp_path, usual, usual, other)
    assert collectives.matched == 2
    (problem,) = collectives.problems
    assert problem.startswith(text)
    assert collectives.of_rank(collectives.runs[0]).last.tolist()[2:] == [-1, -1]


def test_rank_that_calls_more_than_all_others_disagrees_too(tmp_path):
    usual = [(ALL_REDUCE, 10 * n, 10 * n + 5) for n in range(3)]
    collectives = written(tmp_path, usual[:2], usual, usual[:2])
    assert collectives.matched == 2
    assert "rank 1 calls AllReduce where earlier ranks end" in collectives.problems[0]


def test_each_stream_is_matched_by_itself(tmp_path):
    # given ranks on which the streams of two communicators interleave in different orders
    first = [(ALL_REDUCE, 10, 20, 7), (BROADCAST, 12, 14, 9), (ALL_REDUCE, 30, 40, 7)]
    second = [(ALL_REDUCE, 15, 20, 21), (ALL_REDUCE, 31, 40, 21), (BROADCAST, 32, 33, 8)]
    collectives = written(tmp_path, first, second)
    assert (collectives.matched, collectives.problems) == (3, [])
    assert waits(collectives, 0) == [5, 0, 1]


def test_times_refute_streams_of_several_communicators(tmp_path):
    # given four ranks whose first streams are of two groups that reduce at different times
    early, late = [(ALL_REDUCE, 10, 20)], [(ALL_REDUCE, 50, 60)]
    collectives = written(tmp_path, early, early, late, late)
    assert collectives.matched == 0
    assert "of several communicators" in collectives.problems[0]


def test_missing_ranks_are_named(tmp_path):
    selection = write_ranks(tmp_path, simulated(planned(2, 2)), world=4)
    collectives = matched_collectives(selection.trace, selection.runs)
    assert collectives.missing == (2, 3)


def test_runs_that_are_no_ranks_have_no_collectives(tmp_path):
    assert written(tmp_path, [(ALL_REDUCE, 10, 20)], rank=None, world_size=None) is None


def test_collectives_of_hosts_whose_clocks_differ_are_the_same(tmp_path):
    # given ranks on two hosts, one of which is 3.7 ms ahead
    ranks = simulated(changed(planned(2, 8), 1, range(3, 4), pause=90))
    same = write_ranks(tmp_path / "same", ranks)
    apart = write_ranks(tmp_path / "apart", ranks, hosts=["a", "b"], shifts=[0, 3_700_000])
    # then each rank waits as long as with one clock
    for run in range(2):
        expected, found = (
            matched_collectives(selection.trace, selection.runs) for selection in (same, apart)
        )
        kernels = [c.of_rank(c.runs[run]) for c in (expected, found)]
        assert np.array_equal(*(ran.transfer - ran.start for ran in kernels))
    assert found.problems == []


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("ncclKernel_AllReduce_RING_LL_Sum_float", "AllReduce"),
        ("ncclDevKernel_Generic_4", "Generic"),
        ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 4>(vllm::RankData*)", "AllReduce"),
        ("_ZN4vllm26cross_device_reduce_2stageI6__halfLi8EEEvPNS_8RankDataE", "AllReduce"),
        ("void c10d::symmetric_memory::one_shot_all_reduce_kernel<float, 16, 8>()", "AllReduce"),
        ("multimem_all_gather_kernel<16>", "AllGather"),
        ("void deep_ep::internode_ll::dispatch<false, 7168>(void*)", "AllToAll"),
        ("_ZN7deep_ep9intranode7combineI13__nv_bfloat16Li8ELi768EEEv", "AllToAll"),
        ("void deep_ep::intranode::notify_dispatch<8>(int const*)", None),
        ("deep_ep::layout::get_dispatch_layout<256, 32, 1>", None),
        ("matmul", None),
        (None, None),
    ],
)
def test_names_of_collectives(name, called):
    assert is_collective(name) == (called is not None)
    if called is not None:
        assert operation_of_kernel(name) == called
