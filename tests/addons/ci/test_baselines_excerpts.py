"""A small copy of runs: what is in it, what is not, and that nothing else changes."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from kvtrace.addons.ci.baselines import write_excerpt
from kvtrace.converters.diff import compare
from kvtrace.schema.trace import Selection, open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.writer import RunWriter, new_run_id
from tests.support.many_runs import COMMON, own, write_run
from tests.support.synthetic_trace import build_synthetic_trace
from tests.support.tiers import some

FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200"


def selection(folder: Path) -> Selection:
    trace = open_trace(folder)
    return Selection(trace, trace.runs)


def excerpt_of(source: Selection, out: Path) -> Selection:
    write_excerpt(source, out)
    return selection(out)


@pytest.mark.costly("compares traces; other excerpts stay by day")
@pytest.mark.parametrize("name", some(["device", "train", "ranks"], 3))
def test_excerpt_is_valid_and_compares_like_its_recording(name, tmp_path):
    source = selection(Path(shutil.copytree(FIXTURES / name, tmp_path / "source")))
    small = excerpt_of(source, tmp_path / "small")
    assert validate(tmp_path / "small") == []
    found = compare(source, small)
    assert found.empty
    assert found.before.totals == found.after.totals
    assert found.before.judged_by == found.after.judged_by
    assert found.context == ()


def test_excerpt_leaves_out_data_that_no_comparison_reads(tmp_path):
    build_synthetic_trace(tmp_path / "source", runs=2, launches=40)
    source = selection(tmp_path / "source")
    small = excerpt_of(source, tmp_path / "small")
    for table in ("accesses", "loops", "messages", "buffers", "contents"):
        assert small.table(table).num_rows == 0, table
    kinds = set(small.table("artifacts")["kind"].to_pylist())
    assert "tensor" not in kinds
    args = [arg for call in small.table("calls")["args"].to_pylist() for arg in call]
    assert args
    assert {arg["value_artifact"] for arg in args} == {None}
    assert {(run.host, run.pid) for run in small.runs} == {(None, None)}
    assert all(run.settings["excerpt"] == "yes" for run in small.runs)
    verdicts = source.table("findings")["verdict"].to_pylist()
    told = [verdict for verdict in verdicts if verdict != "proven"]
    assert sorted(map(str, small.table("findings")["verdict"].to_pylist())) == sorted(
        map(str, told)
    )
    assert small.table("launches").num_rows == source.table("launches").num_rows


def test_excerpt_without_device_keeps_launch_begins_only_with_marks(tmp_path):
    begun = 1_767_323_045_000_000_000
    writer = RunWriter(tmp_path / "source", new_run_id())
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "k"}])
    writer.append_rows("calls", [{"call_id": 0, "kernel_id": 0, "args": []}])
    launch = {"seq": 0, "call_id": 0, "enter": begun + 5, "exit": begun + 9, "thread": 1}
    writer.append_rows("launches", [launch])
    mark = {"mark_id": 0, "name": "step", "begin": begun, "end": begun + 20, "thread": 1}
    writer.append_rows("marks", [mark])
    writer.seal({"ended": begun + 30, "ending": "exit"})
    small = excerpt_of(selection(tmp_path / "source"), tmp_path / "small")
    assert validate(tmp_path / "small") == []
    assert small.table("marks", ["name"])["name"].to_pylist() == ["step"]
    rows = small.table("launches", ["enter", "exit"])
    assert rows["enter"].cast(pa.int64()).to_pylist() == [begun + 5]
    assert rows["exit"].to_pylist() == [None]


@pytest.mark.sweep
def test_excerpt_of_a_million_launches_is_small(tmp_path):
    writer = RunWriter(tmp_path / "source", new_run_id())
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "k"}])
    writer.append_rows("calls", [{"call_id": i, "kernel_id": 0, "args": []} for i in range(7)])
    number = 1_000_000
    enter = [1_767_323_045_000_000_000 + 7_919 * i for i in range(number)]
    columns = {
        "seq": range(number), "call_id": [i % 7 for i in range(number)], "enter": enter,
        "exit": [time + 5_000 + time % 991 for time in enter], "thread": [1] * number,
        "phase": ["run"] * number,
    }  # fmt: skip
    writer.append("launches", {name: pa.array(values) for name, values in columns.items()})
    writer.seal({"ended": enter[-1], "ending": "exit"})
    small = excerpt_of(selection(tmp_path / "source"), tmp_path / "small")
    rows = small.table("launches")
    assert rows.num_rows == number
    assert rows["enter"].null_count == rows["exit"].null_count == number
    assert rows["call_id"].to_pylist()[:9] == [0, 1, 2, 3, 4, 5, 6, 0, 1]
    assert set(rows["thread"].to_pylist()) == {1}
    files = [path for path in (tmp_path / "small" / "launches").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 100_000


def test_an_excerpt_has_artifacts_that_other_runs_hold(tmp_path):
    # given a run whose artifact another one holds, as earlier versions merged traces
    for number in range(3):
        write_run(tmp_path / "all", number, 3 - number, shares=number > 0)
    trace = open_trace(tmp_path / "all")
    # when an excerpt of it is written
    write_excerpt(Selection(trace, trace.runs[-1:]), tmp_path / "excerpt")
    # then that has both
    copied = open_trace(tmp_path / "excerpt").table("artifacts")["sha256"].to_pylist()
    assert set(copied) == {COMMON["sha256"], own(2)["sha256"]}
