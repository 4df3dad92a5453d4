"""Two ranks that were recorded on two H200s: one group, all launches joined, collectives drawn."""

from collections import Counter
from pathlib import Path

import pytest

from kvtrace.cli import main
from kvtrace.converters.profile.device_text import ranks_sentences
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.timeline.drawing import timelines
from kvtrace.figures.clocks import host_clocks
from kvtrace.figures.collectives import matched_collectives
from kvtrace.figures.ranks import read_ranks
from kvtrace.figures.window import windowed
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import resolve
from kvtrace.text import duration
from tests.support.replacing import replace

FIXTURE = Path(__file__).parents[1] / "fixtures" / "h200" / "ranks"


@pytest.fixture(scope="module")
def ranks():
    return resolve(str(FIXTURE))


def test_both_ranks_are_the_newest_group(ranks):
    assert sorted((run.rank, run.world_size) for run in ranks.runs) == [(0, 2), (1, 2)]
    assert len({run.group_id for run in ranks.runs}) == 1


def test_every_launch_of_either_rank_is_joined_to_a_kernel_on_its_own_device(ranks):
    for run in ranks.runs:
        ran = plain_rows(ranks.trace.table("gpu_kernels", [run]))
        joined = Counter(row["name"] for row in ran if row["launch_seq"] is not None)
        assert joined == {"squared_relu": 8, "squared_relu_backward": 8}
        assert ranks.trace.table("launches", [run]).num_rows == 16
        assert {row["device"] for row in ran} == {run.rank}


def test_collectives_are_drawn_by_name_in_a_process_for_each_rank(ranks):
    drawn = list(timelines(ranks))
    assert sorted(one.process.name[:6] for one in drawn) == ["rank 0", "rank 1"]
    for timeline in drawn:
        names = Counter(
            part.captions[index].name
            for part in timeline.slices
            if part.category == "gpu"
            for index in part.caption
        )
        assert names["ncclDevKernel_AllReduce_Sum_f32_RING_LL"] == 23
        assert names["vectorized_elementwise_kernel<4, FillFunctor<float>>"] == 17
        assert sum(names[name] for name in names if name.startswith("vectorized_el")) == 73
        assert not any(name.startswith("_Z") for name in names)


def test_collectives_end_together_so_that_clocks_can_be_derived_from_them(ranks):
    # given ranks that share a clock, taken for ranks of two hosts
    first, second = sorted(ranks.runs, key=lambda run: run.rank)
    hosts = [replace(first, host="one"), replace(second, host="another")]
    (offset,) = host_clocks(ranks.trace, hosts).values()
    # then next to nothing is derived
    assert abs(offset.ns) < 5_000
    assert offset.error_ns < 20_000
    assert offset.collectives == 24


def recorded_ranks(name):
    selection = resolve(str(FIXTURE.parents[1] / "h100" / name))
    trace, _ = windowed(selection.trace, selection.runs)
    return read_ranks(trace, selection.runs)


def test_recorded_rank_with_more_tokens_is_named_and_its_twin_names_nobody():
    # given four ranks of which one has 10.4 ms more device work a step by CUDA's events
    slow, null = recorded_ranks("slow_rank"), recorded_ranks("null")
    # then it is named with most of it: kernels of ranks that wait take longer beside NCCL's
    assert (slow.late.rank, slow.late.cause, slow.limit) == (2, "compute", "rank")
    assert 9.0e6 < slow.late.more_ns < 10.6e6
    assert slow.late.alone_ns == pytest.approx(10.4e6, rel=0.1)
    assert slow.shares["waiting"] > 0.1 > 0.02 > slow.shares["transfer"]
    # and without the tokens none is
    assert (null.late, null.slow_steps) == (None, ())
    assert (slow.matched, null.matched, slow.problems + null.problems) == (20, 20, ())


def test_recorded_groups_of_some_ranks_are_matched_by_number_and_the_late_rank_named():
    # given two tensor and two data parallel groups that share a stream, where rank 2 multiplies
    # half as many matrices again (48 instead of 32 a step)
    ranks = recorded_ranks("groups")
    assert (ranks.matched, ranks.problems) == (6 * (2 * 4 + 2), ())
    assert (ranks.late.rank, ranks.late.cause) == (2, "compute")
    assert ranks.late.factor == pytest.approx(1.5, abs=0.05)
    # and the bus bandwidth is that of AllReduces of 32 MiB between two GPUs
    (moved,) = ranks.transfers
    assert (moved.operation, moved.in_a_step, moved.bytes) == ("AllReduce", 5, 2**25)
    assert 240e9 < moved.bytes_per_second < 270e9
    assert "5 AllReduce of 32.0 MiB (mean) at 25" in "".join(ranks_sentences(ranks))


def test_recorded_pipeline_of_two_stages_and_four_micro_batches_has_a_bubble_of_a_fifth():
    ranks = recorded_ranks("pipeline")
    assert (ranks.matched, ranks.problems, ranks.late) == (5 * 8, (), None)
    found = ranks.pipeline
    assert (found.stages, found.micro_batches) == (2, 4)
    assert list(found.bubbles.values()) == [pytest.approx(0.2, abs=0.03)] * 2


def test_recorded_late_rank_is_named_beside_ranks_of_which_collectives_alone_are_recorded():
    # given a rank with 10.4 ms more device work; all waiting of the others is twice as much
    ranks = recorded_ranks("some_ranks")
    assert (ranks.collectives_alone, ranks.problems) == ((1, 3), ())
    assert (ranks.late.rank, ranks.late.cause, ranks.limit) == (2, "compute", "rank")
    assert ranks.late.alone_ns == pytest.approx(10.4e6, rel=0.1)
    assert ranks.late.late_ns > 2 * ranks.late.more_ns


@pytest.mark.costly("recorded ranks; sentences by hand stay by day")
def test_profile_and_info_say_the_late_rank_before_advice(capsys):
    for command in ("profile", "info"):
        assert main([command, str(FIXTURE.parents[1] / "h100" / "slow_rank")]) == 0
        text = capsys.readouterr().out
        assert "limit: rank 2" in text
        assert "GPUs busy" not in text


def test_collectives_of_two_recorded_ranks_are_matched(ranks):
    collectives = matched_collectives(ranks.trace, ranks.runs)
    assert (collectives.matched, collectives.problems) == (28, [])
    for run in ranks.runs:
        ran = collectives.of_rank(run)
        assert (ran.start <= ran.transfer).all()
        assert (ran.transfer <= ran.end).all()


@pytest.mark.costly("recorded ranks; times by hand stay by day")
def test_what_a_run_would_take_at_best_is_never_longer_than_the_run():
    # given four GPUs, whose idle times are added up
    selection = resolve(str(FIXTURE.parents[1] / "h100" / "slow_rank"))
    profile = read_profile(selection.trace, selection.runs)
    (advice,) = [piece for piece in profile.advice if piece.rule == "launch-bound"]
    # then the time without them is that of the run
    span_ns = profile.device_time.busy.span_ns / 4
    assert span_ns <= profile.window.end - profile.window.begin
    without = duration(span_ns - advice.cost_ns / 4)
    assert f"from {duration(span_ns)} to {without} at best" in advice.text
