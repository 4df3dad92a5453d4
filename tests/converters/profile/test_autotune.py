"""`info --autotune` and `--recompiles` on runs that were recorded on an H200 with device times."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from kvtrace.cli import main
from kvtrace.converters.info.info import read_overview
from kvtrace.converters.profile.autotune import read_tunings, tunings_text
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from tests.converters.written_trace import Kernel, Launches, write_trace

FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200"


def tunings_of(path):
    trace = open_trace(path)
    return read_tunings(trace, trace.runs)


@pytest.fixture(scope="module")
def tunings():
    return tunings_of(FIXTURES / "device")


def test_each_tuning_key_has_its_trials_and_the_kept_configuration(tunings):
    assert [(t.kernel, len(t.trials)) for t in tunings] == [("scaled", 4), ("scaled", 4)]
    assert [t.arguments for t in tunings] == [
        "x: fp32[1048576], out: fp32[1048576], n=1048576, factor=2.0",
        "x: fp32[1048576], out: fp32[1048576], n=1000, factor=2.0",
    ]
    for tuning in tunings:
        assert sorted(tuple(t.configuration.items()) for t in tuning.trials) == [
            (("BLOCK", block), ("num_warps", warps)) for block in ("1024", "256") for warps in "28"
        ]
        assert sum(trial.kept for trial in tuning.trials) == 1
        medians = [trial.median_ns for trial in tuning.trials]
        assert medians == sorted(medians)


def test_medians_leave_out_the_first_execution_of_each_configuration(tunings):
    connection = duckdb.connect()
    folder = FIXTURES / "device"
    rows = connection.sql(
        "select kernel_id, median(ns) from (select kernel_id, epoch_ns(g.end) - epoch_ns(g.start) "
        "as ns, row_number() over (partition by g.call_id order by seq) as nth "
        f"from '{folder}/gpu_kernels/*/*.parquet' g "
        f"join '{folder}/launches/*/*.parquet' l on seq = launch_seq "
        f"join '{folder}/calls/*/*.parquet' c on c.call_id = g.call_id where phase = 'autotune') "
        "where nth > 1 group by kernel_id"
    ).fetchall()

    ours = [(trial.kernel_id, trial.median_ns) for t in tunings for trial in t.trials]
    assert sorted(ours) == sorted(rows)


def test_the_kept_configuration_is_the_one_that_ran_afterwards(tunings):
    folder = FIXTURES / "device"
    rows = duckdb.sql(
        f"select distinct kernel_id from '{folder}/launches/*/*.parquet' "
        f"join '{folder}/calls/*/*.parquet' using (call_id) "
        f"join '{folder}/kernels/*/*.parquet' using (kernel_id) "
        "where phase = 'run' and name = 'scaled'"
    ).fetchall()

    assert sorted((t.kernel_id,) for one in tunings for t in one.trials if t.kept) == sorted(rows)


def test_text_lists_each_configuration_with_time_and_resources(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    assert main(["info", str(FIXTURES / "device"), "--autotune"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines) <= 80
    assert lines[:4] == [
        "scaled: 4 configurations tried",
        "  for x: fp32[1048576], out: fp32[1048576], n=1048576, factor=2.0",
        "  configuration              median  trials  regs  spills  shared  occupancy",
        "    BLOCK=1024 num_warps=8  3.66 µs       3    14       0     0 B       100%",
    ]
    assert "  * BLOCK=1024 num_warps=2  3.68 µs       3    26       0     0 B       100%" in lines
    text = " ".join(" ".join(lines).split())
    assert "though the median of its trials is 0.4 % above the fastest" in text
    assert "* kept: the fastest; the next takes 3.2 % longer" in text


def test_json_output_has_every_field(capsys, tunings):
    assert main(["info", str(FIXTURES / "device"), "--autotune", "--json"]) == 0

    given = json.loads(capsys.readouterr().out)["tunings"]
    assert [len(one["trials"]) for one in given] == [4, 4]
    first = given[0]["trials"][0]
    assert first["median_ns"] == tunings[0].trials[0].median_ns
    assert first["configuration"] == {"BLOCK": "1024", "num_warps": "8"}
    assert first["occupancy"] == {"warps": 64, "of": 64, "limited_by": "warps"}
    assert given[0]["why"] == tunings[0].why


def test_generated_kernels_with_one_name_in_several_files_are_distinct():
    """torch.compile names kernels by what they do, so that many share a name and arguments."""
    tunings = tunings_of(FIXTURES / "inductor")

    assert len(tunings) == 111
    for tuning in tunings:
        labels = [tuple(trial.configuration.items()) for trial in tuning.trials]
        assert len(set(labels)) == len(labels)
        assert sum(trial.kept for trial in tuning.trials) == 1


def test_trials_whose_kernels_were_not_joined_have_no_time_and_say_so():
    (tuning,) = (
        one for one in tunings_of(FIXTURES / "inductor")
        if any(trial.median_ns is None for trial in one.trials)
    )  # fmt: skip

    assert "not all of their times on the device are known" in tuning.why
    assert any("       -" in line for line in tunings_text([tuning]))


def test_without_a_device_timeline_there_are_no_times(tmp_path):
    out = shutil.copytree(FIXTURES / "device", tmp_path / "out")
    shutil.rmtree(out / "gpu_kernels")

    for tuning in tunings_of(out):
        assert [trial.median_ns for trial in tuning.trials] == [None] * 4
        assert "not all of their times on the device are known" in tuning.why
        assert sum(trial.kept for trial in tuning.trials) == 1


def test_calls_with_lost_kernels_are_left_out(tmp_path):
    out = shutil.copytree(FIXTURES / "device", tmp_path / "out")
    shutil.rmtree(out / "kernels")

    assert tunings_of(out) == ()


def test_tuning_without_a_kept_configuration_and_absent_tuning_are_reported(tmp_path):
    tried = Kernel(calls=(Launches(number=3, device_us=4, phase="autotune"),))
    side = write_trace(tmp_path / "tried", [tried])
    (tuning,) = read_tunings(side.trace, side.runs)
    assert tuning.why == "no configuration was launched with these arguments after the trials"
    assert tuning.trials[0].median_ns == 4_000

    side = write_trace(tmp_path / "plain", [Kernel()])
    assert tunings_text(read_tunings(side.trace, side.runs)) == ["no autotuner ran in these runs"]


def test_recompiles_show_changed_facts_and_compile_times(capsys):
    assert main(["info", str(FIXTURES / "device"), "--recompiles"]) == 0

    said = " ".join(capsys.readouterr().out.split())
    _, _, found = said.partition("added, 4 variants ")
    assert found.startswith("constexpr BLOCK 1024 → 256 (took 27.5 ms)")
    assert "type of x *fp32 → *fp16; divisibility of x (none) → 16 (took 26.0 ms)" in found
    assert "divisibility of n 16 → (none) (took 30.0 ms)" in said


def test_recompiles_as_json(capsys):
    assert main(["info", str(FIXTURES / "device"), "--recompiles", "--json"]) == 0

    given = json.loads(capsys.readouterr().out)["recompiles"]
    assert len(given) == 12
    assert [one["kernel"] for one in given if one["first"]] == ["scaled", "added"]
    (half,) = (
        one for one in given if any(change["what"] == "type of x" for change in one["changes"])
    )
    assert half["changes"][0] == {"what": "type of x", "before": "*fp32", "after": "*fp16"}
    assert half["compile_ns"] > 1_000_000


def test_kernels_of_different_files_are_not_recompiles_of_each_other():
    trace = open_trace(FIXTURES / "inductor")

    recompiles = read_overview(trace, trace.runs, recompiles=True).recompiles

    files = {(one.kernel, one.file) for one in recompiles}
    assert sum(one.first for one in recompiles) == len(files)
    assert {c.what for one in recompiles for c in one.changes} <= {
        "constexpr XBLOCK", "constexpr YBLOCK", "constexpr R0_BLOCK", "num_warps",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("left_out", "expected"),
    [
        ("BM=32 not tried", ["matmul: BM=32 was not tried and not judged"]),
        ("BM=16 failed; BM=32, BM=64 not tried",
         ["matmul: BM=32, BM=64 were not tried and not judged"]),
        ("BM=16 failed", []),
    ],
)  # fmt: skip
def test_configurations_that_were_not_tried_are_in_texts(tmp_path, capsys, left_out, expected):
    writer = RunWriter(tmp_path / "out", run := "20260102T030405-0001")
    text = f"matmul for n=64: chose BM=128 (the first valid one); {left_out}"
    writer.append_rows(
        "messages",
        [{"level": "info", "code": "tuned", "text": text, "time": 10**18 + n} for n in (0, 1)],
    )
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "matmul"}])
    writer.append_rows("calls", [{"call_id": 0, "kernel_id": 0}])
    launch = {"seq": 0, "call_id": 0, "enter": 10**18, "exit": 10**18 + 1_000, "phase": "run"}
    writer.append_rows("launches", [launch])
    writer.seal({"run_id": run, "started": 0, "ended": 10**9, "command": "python x.py"})
    for command in (["profile"], ["sanitize", "--blocks"]):
        main([command[0], str(tmp_path / "out"), *command[1:]])
        lines = capsys.readouterr().out.splitlines()
        assert [line for line in lines if "not tried" in line] == expected
