"""The late rank of a job and its cause, from simulated jobs with a planted one, and without."""

import shutil

import pytest

from kvtrace.converters.profile.device_text import ranks_sentences
from kvtrace.figures import stored
from kvtrace.figures.ranks import read_ranks
from kvtrace.schema.trace import resolve
from tests.support.simulated_ranks import changed, planned, simulated, write_ranks

STEPS = 10
ALL = range(STEPS)
UNIT = 100_000


def ranks_of(out, plans, **facts):
    selection = write_ranks(out, simulated(plans), **facts)
    return read_ranks(selection.trace, selection.runs)


def test_no_rank_is_named_where_all_do_the_same(tmp_path):
    ranks = ranks_of(tmp_path, planned(4, STEPS))
    assert (ranks.late, ranks.slow_steps, ranks.limit) == (None, (), "compute")
    assert "slowest rank: none" in ranks_sentences(ranks)[1]


def test_rank_with_more_device_work_is_late_by_it(tmp_path):
    # given a rank whose four kernels take 6 units more each
    ranks = ranks_of(tmp_path, changed(planned(4, STEPS), 2, ALL, work=18))
    # then it is late by them, and limits the job
    assert (ranks.late.rank, ranks.late.cause, ranks.limit) == (2, "compute", "rank")
    assert ranks.late.more_ns == 24 * UNIT
    assert ranks.late.late_ns == pytest.approx(24 * UNIT, rel=0.1)
    assert ranks_sentences(ranks)[1].startswith("slowest rank: 2, ")


def test_rank_whose_host_launches_slowly_is_late_by_launching(tmp_path):
    # given small kernels, and a rank that takes twice as long to launch them
    plans = [[step.__class__(launch=9, work=2) for step in plan] for plan in planned(4, STEPS)]
    ranks = ranks_of(tmp_path, changed(plans, 3, ALL, launch=18))
    assert (ranks.late.rank, ranks.late.cause) == (3, "launch")
    assert ranks.late.factor == pytest.approx(2)


def test_more_device_work_is_not_the_limit_where_hosts_launch_slowly(tmp_path):
    # given small kernels, of which a rank's take half as long again
    plans = [[step.__class__(launch=9, work=4) for step in plan] for plan in planned(4, STEPS)]
    ranks = ranks_of(tmp_path, changed(plans, 2, ALL, work=6))
    assert (ranks.late, ranks.limit) == (None, "host")
    assert "not the limit: rank 2's device work, 1.50 times" in ranks_sentences(ranks)[-1]


def test_pauses_in_three_steps_are_slow_steps_of_that_rank(tmp_path):
    plans = planned(4, STEPS)
    for step in (3, 6, 8):
        plans = changed(plans, 1, range(step, step + 1), pause=500)
    ranks = ranks_of(tmp_path, plans)
    assert ranks.late is None
    slow_steps = sorted((s.step, s.rank, s.cause, s.cause_ns // UNIT) for s in ranks.slow_steps)
    assert slow_steps == [(step, 1, "pause", 502) for step in (3, 6, 8)]
    assert all(step.more_ns == 500 * UNIT for step in ranks.slow_steps)


def test_stall_at_the_end_of_a_step_is_the_cause_of_the_next_one_too(tmp_path):
    # given a rank whose host stalls when all ranks have done a step's work: others wait in the next
    ranks = ranks_of(tmp_path, changed(planned(4, STEPS), 1, range(4, 5), end=500))
    slow_steps = {s.step: (s.rank, s.cause, s.cause_ns // UNIT) for s in ranks.slow_steps}
    assert slow_steps[5] == (1, "pause", 500)


def test_collections_of_garbage_are_named_as_such(tmp_path):
    ranks = ranks_of(tmp_path, changed(planned(3, STEPS), 0, range(4, 5), collect=400))
    (step,) = ranks.slow_steps
    assert (step.rank, step.cause, step.cause_ns) == (0, "collect", 400 * UNIT)
    # and one in kvtrace's own thread is no matter of the program's
    ranks = ranks_of(tmp_path / "own", changed(planned(3, STEPS), 0, range(4, 5), recording=400))
    (step,) = ranks.slow_steps
    assert (step.rank, step.cause, step.cause_ns) == (0, "recording", 400 * UNIT)
    assert any("garbage collection in kvtrace's thread" in s for s in ranks_sentences(ranks))


def test_imbalance_that_moves_from_rank_to_rank_blames_nobody(tmp_path):
    plans = planned(4, STEPS)
    for step in ALL:
        plans = changed(plans, step % 4, range(step, step + 1), work=20)
    ranks = ranks_of(tmp_path, plans)
    assert (ranks.late, ranks.limit) == (None, "imbalance")


def test_slow_link_is_transfer_and_not_waiting(tmp_path):
    plans = [[step.__class__(transfer=60) for step in plan] for plan in planned(4, STEPS)]
    ranks = ranks_of(tmp_path, plans)
    assert (ranks.late, ranks.limit) == (None, "transfer")
    assert ranks.shares["transfer"] > 0.5 > ranks.shares["waiting"] == 0


def test_step_that_is_slow_on_all_ranks_blames_none(tmp_path):
    plans = planned(3, STEPS)
    for rank in range(3):
        plans = changed(plans, rank, range(4, 5), pause=500)
    (step,) = ranks_of(tmp_path, plans).slow_steps
    assert (step.step, step.rank, step.cause) == (4, None, None)


def test_missing_ranks_are_said_first(tmp_path):
    ranks = ranks_of(tmp_path, planned(3, STEPS), world=4)
    assert ranks_sentences(ranks)[0].startswith("rank 3 of 4 is not among these runs: ")
    assert ranks.missing == (3,)


def test_shares_of_all_ranks_add_up(tmp_path):
    ranks = ranks_of(tmp_path, changed(planned(3, STEPS), 1, ALL, work=20))
    assert sum(ranks.shares.values()) == pytest.approx(1)
    assert sum(ranks.path.values()) == pytest.approx(1)
    assert ranks.ranks[1].waited_for_ns == sum(r.parts["waiting"] for r in ranks.ranks)


@pytest.mark.costly("many ranks; a clock's offset stays by day")
@pytest.mark.parametrize("planted", [{"work": 18}, {"launch": 18}, {}])
def test_clocks_that_differ_and_drift_change_no_verdict(tmp_path, planted):
    # given three hosts whose clocks are set apart, and run at different speeds
    plans = [[step.__class__(work=8) for step in plan] for plan in planned(3, 24)]
    plans = changed(changed(plans, 2, range(24), **planted), 1, range(7, 8), pause=500)
    clocks = {"shifts": [3_700_000, -1_200_000, 450_000], "drifts": [20, -35, 5]}
    ranks = ranks_of(tmp_path / "apart", plans, hosts=["a", "b", "c"], **clocks)
    same = ranks_of(tmp_path / "same", plans)
    # then what is said of them is the same, and times differ by less than the clocks' error
    assert (ranks.limit, ranks.problems) == (same.limit, ())
    assert [(s.step, s.rank, s.cause) for s in ranks.slow_steps] == [(7, 1, "pause")]
    assert (ranks.late is None) == (same.late is None) == (not planted)
    if same.late is not None:
        assert (ranks.late.rank, ranks.late.cause) == (2, same.late.cause)
        assert ranks.late.late_ns == pytest.approx(same.late.late_ns, abs=4_000)
    assert ranks.shares == pytest.approx(same.shares, abs=0.001)


def test_late_rank_whose_collectives_alone_are_recorded_is_named_without_a_cause(tmp_path):
    # given a rank with more device work, of which nothing but collectives is recorded
    plans = changed(planned(4, STEPS), 2, ALL, work=18)
    ranks = ranks_of(tmp_path, plans, whole=(0, 1))
    assert (ranks.late.rank, ranks.late.cause, ranks.limit) == (2, "unknown", "rank")
    assert ranks.collectives_alone == (2, 3)
    _, late, shares, *_ = ranks_sentences(ranks)
    assert "KVTRACE_RANKS=2" in late
    assert shares.startswith("GPUs of ranks 0, 1: compute ")


def test_ranks_with_collectives_alone_are_not_blamed_and_blame_nobody(tmp_path):
    ranks = ranks_of(tmp_path, planned(4, STEPS), whole=(0, 1))
    assert (ranks.late, ranks.slow_steps) == (None, ())
    assert not ranks_sentences(ranks)[-1].startswith("not the limit: rank")
    assert all(
        sum(rank.parts.values()) == sum(ranks.ranks[0].parts.values()) for rank in ranks.ranks
    )


def test_late_rank_is_named_with_its_cause_beside_ranks_with_collectives_alone(tmp_path):
    plans = changed(planned(4, STEPS), 1, ALL, work=18)
    late = ranks_of(tmp_path, plans, whole=(0, 1)).late
    assert (late.rank, late.cause, late.more_ns) == (1, "compute", 24 * UNIT)


def test_late_rank_as_early_as_the_next_saves_what_the_others_waited_for_it(tmp_path):
    ranks = ranks_of(tmp_path, changed(planned(4, STEPS), 2, ALL, work=18))
    assert ranks.savings.critical == pytest.approx(24 * UNIT, rel=0.1)
    assert any(
        "what if (derived" in text and "rank 2 as" in text for text in ranks_sentences(ranks)
    )
    even = ranks_of(tmp_path / "even", planned(4, STEPS))
    assert even.savings.critical == 0


def test_figures_of_many_ranks_are_kept_until_a_table_changes(tmp_path, monkeypatch):
    # given ranks that count as many
    monkeypatch.setattr(stored, "LEAST_RUNS", 2)
    monkeypatch.setattr(stored, "_LEAST_BYTES", 0)
    ranks = ranks_of(tmp_path, changed(planned(4, STEPS), 2, ALL, work=18))
    selection = resolve(str(tmp_path))
    with monkeypatch.context() as patch:
        patch.delattr("kvtrace.figures.ranks.matched_collectives")  # it is not called again
        assert read_ranks(selection.trace, selection.runs) == ranks
    # when the marks of a rank are gone, then its steps are, too
    shutil.rmtree(tmp_path / "marks" / f"run={selection.runs[0].run_id}")
    selection = resolve(str(tmp_path))
    assert read_ranks(selection.trace, selection.runs).steps == 0
