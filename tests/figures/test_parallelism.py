"""Bubbles of a simulated pipeline, and imbalance between dispatch and combine."""

import pytest

from kvtrace.converters.profile.device_text import ranks_sentences
from kvtrace.figures.ranks import read_ranks
from kvtrace.schema.trace import resolve
from kvtrace.schema.writer import RunWriter
from tests.support.simulated_ranks import EPOCH, UNIT

SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
STEPS, MICRO, WORK = 6, 4, 40


def pipeline(rank):
    """Return the actions of a stage of two in a step: work, or a send or receive and its peer."""
    work, send, receive = ("work", WORK), ("Send", 1 - rank), ("Recv", 1 - rank)
    if rank == 0:
        return [work, send] * MICRO + [receive, work] * MICRO
    return [receive, work] * MICRO + [work, send] * MICRO


def slowly_launched(rank):
    """Return the actions of a stage that is idle between the kernels of a micro-batch."""
    of_two = [("work", WORK // 2), ("gap", 8), ("work", WORK // 2)]
    return [part for one in pipeline(rank) for part in (of_two if one[0] == "work" else [one])]


def experts(rank):
    """Return a step in which rank 1 works twice as long between dispatch and combine."""
    of_all = ("AllToAll", None)
    return [("work", 10), of_all, ("work", WORK * (2 if rank == 1 else 1)), of_all] * 2


def run_of(plans):
    """Return the actions of each rank, with step, begin and end: a meeting ends on all ranks."""
    clocks, ran = [0] * len(plans), [[] for _ in plans]
    queues = [[(step, *action) for step in range(STEPS) for action in plan] for plan in plans]
    while any(queues):
        for rank, queue in enumerate(queues):
            while queue and queue[0][1] in ("work", "gap"):
                step, name, took = queue.pop(0)
                if name == "work":
                    ran[rank].append((name, None, step, clocks[rank], clocks[rank] + took))
                clocks[rank] += took
        waiting = [rank for rank, queue in enumerate(queues) if queue]
        end = max(clocks[rank] for rank in waiting) + 1 if waiting else 0
        for rank in waiting:
            step, name, peer = queues[rank].pop(0)
            ran[rank].append((name, peer, step, clocks[rank], end))
            clocks[rank] = end
    return ran


def ranks_of(out, plan, number):
    for rank, actions in enumerate(run_of([plan(rank) for rank in range(number)])):
        kernels, requests = [], []
        for record, (name, peer, _, begin, end) in enumerate(actions):
            kernels.append(
                {"record": record, "name": "matmul" if name == "work" else SEND_RECV}
                | {"start": EPOCH + begin * UNIT, "end": EPOCH + end * UNIT, "device": rank}
                | {"stream": 7, "requested": EPOCH + begin * UNIT - 1_000}
            )
            if name != "work":
                requests.append(
                    {"record": record, "requested": EPOCH + begin * UNIT - 2_000, "peer": peer}
                    | {"communicator": "a", "sequence": len(requests), "operation": name}
                    | {"ranks": list(range(number))}
                )
        writer = RunWriter(out, f"20260102-030405-000-0000000{rank}")
        writer.append_rows("gpu_kernels", kernels)
        writer.append_rows("collectives", requests)
        writer.append_rows("marks", [_mark(actions, step) for step in range(STEPS)])
        writer.seal({"group_id": "job", "rank": rank, "world_size": number, "host": "host"})
    selection = resolve(str(out))
    return read_ranks(selection.trace, selection.runs)


def _mark(actions, step):
    begin = min(action[3] for action in actions if action[2] == step)
    end = max(action[4] for action in actions if action[2] == step)
    times = {"begin": EPOCH + begin * UNIT - 5_000, "end": EPOCH + end * UNIT - 5_000}
    return {"mark_id": step, "name": "step", **times}


def test_bubble_of_two_stages_and_four_micro_batches_is_a_fifth(tmp_path):
    ranks = ranks_of(tmp_path, pipeline, 2)
    found = ranks.pipeline
    assert (found.stages, found.micro_batches, found.expected) == (2, MICRO, pytest.approx(0.2))
    assert list(found.bubbles.values()) == [pytest.approx(0.2, abs=0.03)] * 2
    assert ranks.shares["unmatched"] == 0
    texts = [text for text in ranks_sentences(ranks) if text.startswith("pipeline: 2 stages, 4 ")]
    assert len(texts) == 1


def test_gaps_by_launching_are_no_bubble(tmp_path):
    # given stages of which a sixth of a micro-batch's time goes to launching
    ranks = ranks_of(tmp_path, slowly_launched, 2)
    assert ranks.shares["launch"] > 0.1
    # then the bubble is that of stages which compute throughout
    assert list(ranks.pipeline.bubbles.values()) == [pytest.approx(0.2, abs=0.03)] * 2


def test_rank_that_computes_longer_between_dispatch_and_combine_is_named(tmp_path):
    ranks = ranks_of(tmp_path, experts, 4)
    assert ranks.pipeline is None
    assert (ranks.experts.rank, ranks.experts.intervals) == (1, 2 * STEPS)
    assert ranks.experts.imbalance == pytest.approx(1.6)
    assert any("max/mean 1.60" in text for text in ranks_sentences(ranks))
