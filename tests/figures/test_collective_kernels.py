"""Kernels of collectives that are matched by communicator and sequence number."""

import pytest

from kvtrace.figures.collectives import matched_collectives
from kvtrace.schema.trace import resolve
from kvtrace.schema.writer import RunWriter
from tests.support.simulated_ranks import ALL_REDUCE, EPOCH, UNIT

BROADCAST = "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def written(
    out, *ranks, members=None, known=lambda _, __: True, sizes=(), graph=lambda _: False, peers=None
):
    """Write ranks, each a list of (name, begin, end, communicator, sequence), all on stream 7.

    Each kernel is requested one unit before it begins. `known` says of which the request is
    recorded, `members` has the ranks of each communicator, `sizes` the bytes of each request, and
    `graph` says which kernels are of a graph, `peers` the operation and peer of requests.
    """
    for number, kernels in enumerate(ranks):
        writer = RunWriter(out, f"20260102-030405-000-0000000{number}")
        executions, requests = [], []
        for record, (name, begin, end, communicator, sequence) in enumerate(kernels):
            requested = EPOCH + (begin - 1) * UNIT
            executions.append(
                {"record": record, "name": name, "device": 0, "stream": 7, "requested": requested}
                | {"start": EPOCH + begin * UNIT, "end": EPOCH + end * UNIT}
                | {"graph_id": 5 if graph(record) else None}
            )
            requests.append(
                {"record": record, "requested": requested - 1_000, "communicator": communicator}
                | {"ranks": (members or {}).get(communicator), "sequence": sequence}
                | {"bytes": sizes[record] if sizes else None}
                | ({} if peers is None else peers(number, record))
            )
        writer.append_rows("gpu_kernels", executions)
        rows = [row for row in requests if known(number, row["record"])]
        writer.append_rows("collectives", rows)
        writer.seal({"group_id": "job", "rank": number, "world_size": len(ranks), "host": "host"})
    selection = resolve(str(out))
    return matched_collectives(selection.trace, selection.runs)


def waits(collectives):
    """Return how long each rank's kernels waited, in units; None where that is not known."""
    ranks = [collectives.of_rank(run) for run in collectives.runs]
    return [
        [
            None if last < 0 else (transfer - start) // UNIT
            for start, transfer, last in zip(ran.start, ran.transfer, ran.last, strict=True)
        ]
        for ran in ranks
    ]


@pytest.mark.parametrize("number", [1, None])
def test_two_communicators_of_one_stream_may_be_called_in_different_orders(tmp_path, number):
    # given ranks that share one stream between two communicators, and call them in other orders;
    # without numbers from a tool that says communicators alone, as torch.profiler before 2.12
    first = [(ALL_REDUCE, 10, 25, "a", number), (ALL_REDUCE, 30, 41, "b", number)]
    second = [(ALL_REDUCE, 12, 41, "b", number), (ALL_REDUCE, 20, 25, "a", number)]
    collectives = written(tmp_path, first, second)
    assert (collectives.matched, collectives.problems) == (2, [])
    assert waits(collectives) == [[10, 0], [18, 0]]


def test_recording_that_begins_later_is_matched_by_sequence_numbers(tmp_path):
    first = [(ALL_REDUCE, 10 * n, 10 * n + 8, "a", n) for n in range(1, 6)]
    second = [(ALL_REDUCE, 10 * n + 3, 10 * n + 8, "a", n) for n in range(3, 6)]
    collectives = written(tmp_path, first, second)
    assert (collectives.matched, collectives.problems) == (3, [])
    assert waits(collectives) == [[None, None, 3, 3, 3], [0, 0, 0]]


def test_groups_of_some_ranks_are_matched_among_these_ranks(tmp_path):
    # given pairs of ranks whose collectives come at very different times, and one of all ranks
    def rank(pair, begin):
        return [(ALL_REDUCE, begin, 20 + 30 * (pair == "x"), pair, 1)] + [
            (BROADCAST, 90 + begin, 150, "all", 1)
        ]

    members = {"x": [2, 3], "y": [0, 1], "all": [0, 1, 2, 3]}
    collectives = written(
        tmp_path, rank("y", 10), rank("y", 14), rank("x", 40), rank("x", 44), members=members
    )
    assert (collectives.matched, collectives.problems) == (3, [])
    assert waits(collectives) == [[4, 34], [0, 30], [4, 4], [0, 0]]


def test_rank_of_a_group_without_any_of_its_collectives_leaves_it_unmatched(tmp_path):
    first, other = [(ALL_REDUCE, 10, 20, "a", 1)], [(ALL_REDUCE, 11, 20, "b", 1)]
    collectives = written(tmp_path, first, first, other, members={"a": [0, 1, 2], "b": [2]})
    assert waits(collectives) == [[None], [None], [0]]
    assert (
        "of communicator a the collectives of 2 of at least 3 ranks are" in collectives.problems[0]
    )


@pytest.mark.parametrize(
    ("third", "text", "known"),
    [
        (BROADCAST, "rank 1 calls Broadcast where earlier ranks call AllReduce, after 2 ", 2),
        (None, "rank 1 ends where earlier ranks call AllReduce, after 2 ", 2),
    ],
)
def test_first_disagreement_in_a_communicator_is_named(tmp_path, third, text, known):
    usual = [(ALL_REDUCE, 10 * n, 10 * n + 5, "a", n) for n in range(1, 5)]
    other = usual[:2] + [(third, *row[1:]) for row in usual[2:] if third]
    collectives = written(tmp_path, usual, other)
    assert collectives.matched == known
    assert collectives.problems[0].startswith(text)


def test_kernels_before_the_first_recorded_request_are_counted_back(tmp_path):
    # given that torch keeps the newest two or three requests of five
    first = [(ALL_REDUCE, 10 * n, 10 * n + 8, "a", n) for n in range(1, 6)]
    second = [(ALL_REDUCE, 10 * n + 3, 10 * n + 8, "a", n) for n in range(1, 6)]
    collectives = written(tmp_path, first, second, known=lambda rank, record: record >= 3 - rank)
    assert collectives.matched == 5
    assert waits(collectives) == [[3] * 5, [0] * 5]


def test_kernels_are_not_counted_back_where_a_stream_has_two_communicators(tmp_path):
    kernels = [(ALL_REDUCE, 10 * n, 10 * n + 8, "ab"[n % 2], n // 2) for n in range(1, 7)]
    collectives = written(tmp_path, kernels, kernels, known=lambda _, record: record >= 2)
    assert [row[2:] for row in waits(collectives)] == [[0] * 4] * 2
    assert collectives.matched == 6  # the first two by the order of their stream


def test_requests_of_one_rank_alone_leave_all_to_the_order_of_streams(tmp_path):
    kernels = [(ALL_REDUCE, 10 * n, 10 * n + 8, "a", n + 7) for n in range(1, 4)]
    collectives = written(tmp_path, kernels, kernels, known=lambda rank, _: rank == 0)
    assert (collectives.matched, collectives.problems) == (3, [])


def test_several_kernels_of_one_request_are_matched_in_their_order(tmp_path):
    # given a gather that runs as two broadcasts
    kernels = [(BROADCAST, 10, 20, "a", 1), (BROADCAST, 24, 29, "a", 1)]
    later = [(BROADCAST, 12, 20, "a", 1), (BROADCAST, 25, 29, "a", 1)]
    collectives = written(tmp_path, kernels, later, known=lambda _, record: record == 0)
    assert waits(collectives) == [[2, 1], [0, 0]]


def test_bytes_of_the_bus_are_those_of_nccls_tests(tmp_path):
    # given an AllReduce of 1,000 bytes on each of four ranks, and one of unknown size
    kernels = [(ALL_REDUCE, 10, 20, "a", 1), (ALL_REDUCE, 30, 40, "a", 2)]
    members = {"a": [0, 1, 2, 3]}
    collectives = written(tmp_path, *[kernels] * 4, members=members, sizes=[1_000, None])
    assert collectives.of_rank(collectives.runs[0]).moved.tolist() == [1_500, -1]


def test_replayed_graphs_are_not_of_the_request_before_them(tmp_path):
    # given two collectives of one request each, and two of a graph that is replayed later
    kernels = [(ALL_REDUCE, 10 * n, 10 * n + 8, "a", n) for n in range(1, 5)]
    later = [(ALL_REDUCE, 10 * n + 2, 10 * n + 8, "a", n) for n in range(1, 5)]
    collectives = written(
        tmp_path, kernels, later, known=lambda _, record: record < 2, graph=lambda n: n >= 2
    )
    assert (collectives.matched, collectives.problems) == (4, [])
    assert waits(collectives) == [[2] * 4, [0] * 4]
    assert len(collectives._streams) == 2


SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"


def test_receive_waits_for_its_sender_and_a_send_that_ended_before_for_nobody(tmp_path):
    # given three stages, whose sends and receives have numbers of each rank's own
    first = [(SEND_RECV, 10, 12, "a", 1), (SEND_RECV, 20, 42, "a", 2)]
    second = [
        (SEND_RECV, 5, 12, "a", 1), (SEND_RECV, 14, 32, "a", 2), (SEND_RECV, 35, 42, "a", 3)
    ]  # fmt: skip
    third = [(SEND_RECV, 30, 32, "a", 1)]
    peers = [
        [("Send", 1), ("Recv", 1)], [("Recv", 0), ("Send", 2), ("Send", 0)], [("Recv", 1)]
    ]  # fmt: skip
    collectives = written(
        tmp_path, first, second, third,
        peers=lambda rank, k: dict(zip(("operation", "peer"), peers[rank][k], strict=True)),
    )  # fmt: skip
    assert (collectives.matched, collectives.problems) == (3, [])
    assert waits(collectives) == [[0, 15], [5, 16, 0], [0]]


def test_unequal_numbers_of_sends_and_receives_are_not_matched(tmp_path):
    kernels = [(SEND_RECV, 10 * n, 10 * n + 5, "a", n) for n in range(3)]
    collectives = written(
        tmp_path, kernels, kernels[1:],
        peers=lambda rank, _: {"operation": "Send" if rank else "Recv", "peer": 1 - rank},
    )  # fmt: skip
    assert collectives.matched == 0
    assert "ranks 0 and 1 do not have as many sends and receives" in collectives.problems[0]


def test_kernels_of_any_operation_have_that_of_their_requests(tmp_path):
    # given ranks of RCCL, which has one kernel for all operations
    any_ = "ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)"
    called = ["AllReduce", "Broadcast", "Barrier"]
    first = [(any_, 10 * n, 10 * n + 8, "a", n) for n in range(1, 4)]
    second = [(any_, 10 * n + 3, 10 * n + 9, "a", n) for n in range(1, 4)]

    def requests(_, record):
        return {"operation": called[record]}

    collectives = written(tmp_path / "a", first, second, peers=requests)
    assert (collectives.matched, collectives.problems) == (3, [])
    assert waits(collectives) == [[3, 3, 3], [0, 0, 0]]
    assert {name for run in collectives.runs for name in collectives.of_rank(run).names} >= {
        "AllReduce", "Broadcast"
    }  # fmt: skip
    # when one rank calls another operation, or no request says which
    other = {1: "AllGather"}
    differing = written(
        tmp_path / "b", first, second,
        peers=lambda rank, n: {"operation": other.get(n * rank, called[n])},
    )  # fmt: skip
    assert "rank 1 calls AllGather where earlier ranks call Broadcast" in differing.problems[0]
    assert waits(written(tmp_path / "c", first, second)) == [[None] * 3] * 2
