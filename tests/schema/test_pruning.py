"""Old runs dropped: what remains is a whole trace, whatever is killed when."""

import json
import shutil
from pathlib import Path

import pytest

from kvtrace.cli import main
from kvtrace.schema.errors import BadSetting, DamagedFile
from kvtrace.schema.layout import KEPT_TIMES, part_path
from kvtrace.schema.plans import unfinished
from kvtrace.schema.pruning import prune
from kvtrace.schema.recovery import recover
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.writer import RunWriter, new_run_id
from tests.schema.written_runs import run_child
from tests.support.many_runs import content, own, write_run
from tests.support.tiers import some


@pytest.fixture(scope="module")
def six(tmp_path_factory):
    """Six runs, the oldest first; the two newest but one are ranks of one job."""
    folder = tmp_path_factory.mktemp("six") / "out"
    for number, (days, group) in enumerate(
        [(40, None), (30, None), (20, None), (10, "job"), (10, "job"), (1, None)]
    ):
        write_run(folder, number, days, group)
    return folder


@pytest.fixture
def out(six, tmp_path):
    """A copy of the six runs, which a test may change."""
    return Path(shutil.copytree(six, tmp_path / "out"))


def kept(out):
    """Return which of the six runs are there, by their marks."""
    marks = open_trace(out).table("marks", columns=["name"])["name"].to_pylist()
    return sorted(int(name.rpartition(" ")[2]) for name in marks)


@pytest.mark.costly("many runs; few stay by day")
@pytest.mark.parametrize(
    "case",
    some([
        ({"keep_last": 1}, [5]),
        ({"keep_last": 2}, [3, 4, 5]),
        ({"keep_last": 9}, [0, 1, 2, 3, 4, 5]),
        ({"older_than_seconds": 25 * 86400}, [2, 3, 4, 5]),
        ({"older_than_seconds": 1}, [5]),  # the newest stays
        ({"older_than_seconds": 1, "keep_last": 3}, [2, 3, 4, 5]),
        ({"max_bytes": 1}, [5]),
        ({"max_bytes": 1, "keep_last": 2}, [3, 4, 5]),
        ({"max_bytes": 1 << 40}, [0, 1, 2, 3, 4, 5]),
        ({"max_bytes": 1 << 40, "older_than_seconds": 35 * 86400}, [1, 2, 3, 4, 5]),
    ], 2),
)  # fmt: skip
def test_prune_removes_the_oldest_runs_and_all_ranks_of_a_job(out, case):
    asked, left = case
    ids = open_trace(out).run_ids
    before = content(out, [ids[number] for number in left])
    told = prune(out, **asked, dry_run=True)
    assert kept(out) == [0, 1, 2, 3, 4, 5]

    done = prune(out, **asked)

    assert kept(out) == left
    assert content(out) == before
    assert validate(out) == []
    assert [each.run_id for each in done.dropped] == [each.run_id for each in told.dropped]
    assert (done.runs_left, done.bytes_left) == (told.runs_left, told.bytes_left)
    size = sum(path.stat().st_size for path in out.rglob("*.parquet"))
    assert done.bytes_left == size
    assert prune(out, **asked).dropped == ()


def test_prune_removes_the_oldest_runs_until_max_bytes_fit(out):
    sizes = [each.size_bytes for each in prune(out, keep_last=1, dry_run=True).dropped]
    total = prune(out, keep_last=9).bytes_left
    assert len(prune(out, max_bytes=total - 1).dropped) == 1
    assert kept(out) == [1, 2, 3, 4, 5]
    assert len(prune(out, max_bytes=total - sizes[0] - sizes[1] - 1).dropped) == 2
    assert kept(out) == [3, 4, 5]


def test_prune_derived_keeps_tables_that_the_recording_made(out):
    (out / KEPT_TIMES).mkdir()
    (out / KEPT_TIMES / "launch_sums.parquet").write_text("figures of several runs")
    done = prune(out, derived=True, keep_last=2)
    assert not (out / KEPT_TIMES).exists()
    trace = open_trace(out)
    assert [each.passes for each in done.dropped] == [("sanitize",)] * 3
    passes = [list(trace.passes(run_id)) for run_id in trace.run_ids]
    assert passes == [["watched"]] * 3 + [["sanitize", "watched"]] * 3
    assert kept(out) == [0, 1, 2, 3, 4, 5]
    assert validate(out) == []
    assert len(prune(out, derived=True).dropped) == 3  # the newest too
    assert prune(out, derived=True).dropped == ()


def test_prune_keeps_artifacts_that_other_runs_need(tmp_path):
    # given a trace in which the oldest run alone holds what all refer to
    united = tmp_path / "united"
    for number in range(3):
        write_run(united, number, 30 - number, shares=number > 0)
    runs = open_trace(united).run_ids
    before = content(united, [runs[-1]])
    # when all but the newest go
    prune(united, keep_last=1)
    # then the newest has it
    assert open_trace(united).run_ids == (runs[-1],)
    assert content(united) == before
    assert validate(united) == []
    assert open_trace(united).artifact(own(0)["sha256"]) is None


def test_prune_keeps_the_group_of_a_run_being_recorded(out):
    writer = RunWriter(out, new_run_id())
    writer.append_rows("runs", [{"group_id": "job", "started": 1}])
    writer.flush()
    done = prune(out, keep_last=1)
    assert kept(out) == [3, 4, 5]
    assert set(done.left) == set(open_trace(out).run_ids) - {open_trace(out).run_ids[2]}
    writer.close()


@pytest.mark.parametrize(
    "asked", [{}, {"keep_last": 0}, {"max_bytes": 0}, {"keep_last": -1, "derived": True}]
)
def test_prune_refuses_impossible_criteria(out, asked):
    with pytest.raises(BadSetting):
        prune(out, **asked)
    assert kept(out) == [0, 1, 2, 3, 4, 5]


def test_prune_removes_nothing_if_a_run_is_damaged(out):
    run_id = open_trace(out).run_ids[1]
    path = part_path(out, "runs", run_id, 0)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DamagedFile):
        prune(out, keep_last=1)
    assert len(open_trace(out).run_ids) == 6


#: A process is killed before the COUNT-th time that it renames, removes or links something.
KILLED_BEFORE = """
    import os, shutil, signal, sys
    from pathlib import Path
    from kvtrace.schema import pruning
    count, out = int(sys.argv[1]), sys.argv[2]
    def counted(holder, name):
        done = getattr(holder, name)
        def step(*arguments, **named):
            global count
            count -= 1
            if not count:
                os.kill(os.getpid(), signal.SIGKILL)
            return done(*arguments, **named)
        setattr(holder, name, step)
    for name in ("rename", "replace", "unlink", "rmdir", "mkdir"):
        counted(os, name)
    pruning.prune(out, **eval(sys.argv[3]))
    print("done")
"""


@pytest.mark.process
@pytest.mark.parametrize("asked", ["{'keep_last': 1}", "{'derived': True}"])
def test_a_prune_killed_at_any_moment_leaves_a_valid_trace(tmp_path, asked):
    ended, whole = False, tmp_path / "whole"
    for number in range(3):
        write_run(whole, number, 30 - number, shares=number > 0)
    newest = content(whole, [open_trace(whole).run_ids[-1]])["launches"]
    for count in (1, 2, 3, 5, 8, 13, 30, 1000):
        united = Path(shutil.copytree(whole, tmp_path / f"united{count}"))
        runs = open_trace(united).run_ids
        done = run_child(KILLED_BEFORE, count, united, asked)
        ended = "done" in done.stdout
        # what is left is read, run by run
        trace = open_trace(united)
        for run_id in trace.run_ids:
            assert trace.table("launches", [run_id]).num_rows == 100
            assert len(trace.table("artifacts", [run_id])) == 2
        assert content(united, [runs[-1]])["launches"] == newest
        # and is fine when it is recovered, and pruned when that is asked for again
        recover(united)
        assert unfinished(united, "removal") == ()
        assert validate(united) == []
        prune(united, **eval(asked))
        assert validate(united) == []
        if "derived" not in asked:
            assert open_trace(united).run_ids == (runs[-1],)
        if ended:
            break
    assert ended


def test_dry_run_of_prune_lists_the_runs_to_remove(out, capsys):
    oldest = open_trace(out).run_ids[0]
    assert main(["trace", "prune", str(out), "--older-than", "35d", "--dry-run"]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"would delete {oldest}, ")
    assert last.startswith("5 runs of ")
    assert last.endswith(" would stay")
    assert main(["trace", "prune", str(out), "--older-than", "35d", "--json"]) == 0
    (dropped,) = json.loads(capsys.readouterr().out)["dropped"]
    assert dropped["run_id"] == oldest
    assert main(["trace", "prune", str(out), "--older-than", "35d"]) == 0
    assert capsys.readouterr().out.startswith(f"nothing to delete in {out}\n5 runs of ")


@pytest.mark.parametrize(
    "words",
    [[], ["--older-than", "soon"], ["--max-bytes", "3h"], ["--older-than", "2GB"],
     ["--keep-last", "0"], ["--older-than", "ring:1h"]],
)  # fmt: skip
def test_prune_command_reports_bad_input_in_one_sentence(out, capsys, words):
    assert main(["trace", "prune", str(out), *words]) == 2
    printed = capsys.readouterr()
    assert (printed.out, len(printed.err.splitlines())) == ("", 1)
    assert kept(out) == [0, 1, 2, 3, 4, 5]


def test_run_without_a_date_is_as_old_as_its_id(tmp_path):
    """A run that was imported from a tool without dates is not the oldest of all."""
    out = tmp_path / "out"
    for number, (days, group) in enumerate([(40, None), (1, None)]):
        write_run(out, number, days, group)
    writer = RunWriter(out, new_run_id(), of_this_process=False)
    writer.seal({"source": "rocprofv3"})
    assert open_trace(out).runs[-1].started is None

    told = prune(out, older_than_seconds=25 * 86400, dry_run=True)

    assert [run.run_id for run in told.dropped] == [open_trace(out).run_ids[0]]
