"""A run recorded on a GPU, replayed and judged here, where there is none."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from kvtrace.cli import main
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"


@pytest.fixture(scope="module", params=["train", "train_compiled"])
def recorded(request, tmp_path_factory):
    return shutil.copytree(FIXTURES / request.param, tmp_path_factory.mktemp("gpu") / request.param)


@pytest.fixture(scope="module")
def judged(recorded):
    assert main(["replay", str(recorded)]) == 0
    assert main(["sanitize", str(recorded)]) == 0
    return open_trace(recorded)


def test_the_trace_was_recorded_on_a_gpu_and_is_complete(recorded):
    trace = open_trace(recorded)
    (run,) = trace.runs
    assert run.devices[0]["name"] == "NVIDIA H200"
    assert validate(recorded) == []
    launches = trace.table("launches").num_rows
    assert launches == {"train": 1500, "train_compiled": 1620}[recorded.name]


@pytest.mark.process
def test_every_access_is_proven_but_the_one_indexed_by_targets(judged):
    rows = judged.table("findings").to_pylist()
    assert Counter(row["verdict"] for row in rows)["violation"] == 0
    (unknown,) = [row for row in rows if row["verdict"] == "unknown"]
    assert "target" in unknown["reason"]
    assert len(rows) > 90


@pytest.mark.process
def test_every_distinct_call_is_replayed_to_its_end(judged):
    calls = judged.table("calls", columns=["call_id"])["call_id"].to_pylist()
    with_stores = judged.table("ops", columns=["call_id", "kind", "executions"]).to_pylist()
    stored = {row["call_id"] for row in with_stores if row["kind"] == "store"}
    assert stored == set(calls)


@pytest.mark.process
def test_bytes_follow_from_shapes(judged):
    """Layer norm reads and writes a row of 60 floats and three vectors, for 198 rows."""
    kernels = {
        row["kernel_id"]: row["name"]
        for row in judged.table("kernels", columns=["kernel_id", "name"]).to_pylist()
    }
    (call,) = [
        row["call_id"]
        for row in judged.table("calls", columns=["call_id", "kernel_id"]).to_pylist()
        if kernels[row["kernel_id"]] == "layer_norm_forward"
    ]
    rows = [row for row in judged.table("ops").to_pylist() if row["call_id"] == call]
    loads = sum(row["bytes"] for row in rows if row["kind"] == "load")
    stores = sum(row["bytes"] for row in rows if row["kind"] == "store")
    assert loads == 198 * 60 * 4 * 3
    assert stores == 198 * (60 + 2) * 4


@pytest.mark.process
def test_inductors_kernels_are_judged_too(judged, recorded):
    origins = Counter(judged.table("kernels", columns=["origin"])["origin"].to_pylist())
    compiled = recorded.name == "train_compiled"
    assert (origins["inductor"] > 0) == compiled


def test_the_counts_of_a_launch_need_little_memory(recorded):
    trace = open_trace(recorded)
    size = sum(path.stat().st_size for path in recorded.glob("launches/*/*.parquet"))
    assert size / trace.table("launches").num_rows <= 20


@pytest.mark.process
def test_the_commands_read_the_trace(judged, recorded, tmp_path, capsys):
    for arguments in (
        ["info", str(recorded), "--json"],
        ["profile", str(recorded), "--json"],
        ["diff", str(recorded), str(recorded), "--json", "--exit-code"],
    ):
        assert main(arguments) == 0
        json.loads(capsys.readouterr().out)
    assert main(["convert", "perfetto", str(recorded), "-o", str(tmp_path / "t")]) == 0
    assert main(["report", str(recorded), "-o", str(tmp_path / "r.html")]) == 0
    assert (tmp_path / "t").stat().st_size > 100_000
    assert (tmp_path / "r.html").stat().st_size < 2 << 20
