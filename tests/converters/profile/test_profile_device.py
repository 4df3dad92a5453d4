"""The profile of a run on an H200 with its device timeline: whose times, and of how many runs."""

import json
import re
import shutil
from pathlib import Path

import duckdb
import pytest

from kvtrace.cli import main
from kvtrace.converters.profile.one_table import short_places
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.profile.profile_text import profile_text
from kvtrace.schema.trace import open_trace
from tests.support.readers import conformance_cases

FIXTURE = Path(__file__).parents[2] / "fixtures" / "h200" / "device"


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    """The fixture with bytes and FLOPs filled in, which takes no GPU."""
    out = tmp_path_factory.mktemp("device") / "out"
    shutil.copytree(FIXTURE, out)
    assert main(["replay", str(out)]) == 0
    return open_trace(out)


def tables(path):
    connection = duckdb.connect()
    for table in ("launches", "calls", "kernels", "gpu_kernels", "ops"):
        files = f"{path}/{table}/*/*.parquet"
        connection.sql(f"create view {table} as select * from read_parquet('{files}')")
    return connection


def test_device_times_sum_joined_executions_without_trials(replayed):
    profile = read_profile(replayed, replayed.runs)

    measured = tables(replayed.path).sql(
        "select k.name, count(*), sum(epoch_ns(g.end) - epoch_ns(g.start))::bigint, "
        "median(epoch_ns(g.end) - epoch_ns(g.start)) from gpu_kernels g "
        "join launches l on l.seq = g.launch_seq join calls c on c.call_id = g.call_id "
        "join kernels k using (kernel_id) where l.phase <> 'autotune' group by k.name"
    )
    ours = [
        (
            kernel.name,
            kernel.measured.device_executions,
            kernel.measured.device_ns,
            kernel.measured.device_median_ns,
        )
        for kernel in profile.kernels
    ]
    assert sorted(ours) == sorted(measured.fetchall())


def test_captured_launches_count_once_per_replay_of_their_graph(replayed):
    (added,) = (k for k in read_profile(replayed, replayed.runs, calls=True).kernels
                if k.name == "added")  # fmt: skip

    eager, captured = 22, 2
    assert added.launches == eager + captured
    assert added.runs == eager + 5 * captured == added.measured.device_executions
    assert added.runs == sum(call.runs for call in added.calls)
    moved = tables(replayed.path).sql(
        "select sum(o.bytes)::bigint from gpu_kernels g join launches l on l.seq = g.launch_seq "
        "join ops o on o.call_id = g.call_id where l.phase <> 'autotune' and g.name = 'added'"
    )
    assert [(added.derived.bytes,)] == moved.fetchall()


def test_rates_divide_work_by_the_measured_time_of_the_same_executions(replayed):
    profile = read_profile(replayed, replayed.runs, calls=True)

    for kernel in profile.kernels:
        seconds = kernel.measured.device_ns / 1e9
        assert kernel.derived.bytes_per_second == pytest.approx(kernel.derived.bytes / seconds)
        assert kernel.roofline.achieved == pytest.approx(
            kernel.roofline.best_ns / kernel.measured.device_ns
        )
    large = [call for kernel in profile.kernels for call in kernel.calls if call.grid[0] >= 1024]
    assert large
    for call in large:  # 12 MB fit the cache of 50 MB, so memory's peak does not bound them
        assert 0.2 < call.roofline.achieved < 3
        assert call.derived.unique_bytes / call.runs <= 12 << 20
    assert profile.device.how == "recorded"


@pytest.mark.parametrize("name", ["graphs", "sampled", "trials"])
def test_launches_and_runs_are_counted_as_readers_have_to(name, capsys):
    (case,) = (case for case in conformance_cases() if case.name == name)
    assert main(["profile", str(case.trace), "--whole", "--json"]) == 0
    kernels = {kernel["name"]: kernel for kernel in json.loads(capsys.readouterr().out)["kernels"]}
    (run,) = case.answer["runs"]
    for expected in run["kernels"]:
        kernel = kernels[expected["name"]]
        assert kernel["launches"] == expected["launches"]
        assert kernel["tuning_launches"] == expected["trials"]
        assert kernel["measured"]["device_executions"] == expected["executions"]
    assert main(["profile", str(case.trace), "--whole"]) == 0
    header = re.search(r"(?m)^kernel .*$", capsys.readouterr().out)[0].split()
    assert ("runs" in header, "launches" in header) == (name == "graphs", name != "graphs")


def test_text_says_whether_times_are_of_host_or_device(replayed, capsys):
    text = " ".join(" ".join(profile_text(read_profile(replayed, replayed.runs))).split())

    assert "24 launches of 1 kernel ran 32 times: one captured into a graph runs at each" in text
    assert re.search(r"excluded: .*224 executions \(.*\) of autotuners and warm-ups", text)
    assert main(["profile", str(replayed.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["device_time"]["tuning_executions"] == 224


def test_a_trace_without_a_device_timeline_counts_a_captured_launch_once(replayed, tmp_path):
    """Nobody knows then how often its graph was replayed."""
    out = shutil.copytree(replayed.path, tmp_path / "out")
    shutil.rmtree(out / "gpu_kernels")
    trace = open_trace(out)

    (added,) = (k for k in read_profile(trace, trace.runs).kernels if k.name == "added")

    assert added.launches == added.runs == 24
    assert added.measured.device_ns is None
    assert added.derived.bytes_per_second is None


def test_time_of_a_partly_joined_call_is_scaled_by_its_mean(replayed, tmp_path):
    """Given half of one call's executions without a launch, then rates stay what they were."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    out = shutil.copytree(replayed.path, tmp_path / "out")
    (file,) = (out / "gpu_kernels").rglob("*.parquet")
    table = pq.read_table(file, partitioning=None)
    on_side = pc.fill_null(pc.equal(table["stream"], 13), False)
    lost = pc.and_(on_side, pc.equal(pc.bit_wise_and(table["launch_seq"], 2), 0))
    for name in ("launch_seq", "call_id"):
        place = table.schema.get_field_index(name)
        null = pa.scalar(None, table.schema.field(name).type)
        table = table.set_column(
            place,
            table.schema.field(name),
            pc.if_else(pc.fill_null(lost, False), null, table[name]),
        )
    pq.write_table(table, file)
    trace = open_trace(out)

    def added(trace):
        return next(k for k in read_profile(trace, trace.runs).kernels if k.name == "added")

    before, after = added(replayed), added(trace)
    missing = before.measured.device_executions - after.measured.device_executions
    assert 0 < missing < 10
    assert after.runs == before.runs
    assert after.derived.bytes_per_second == pytest.approx(before.derived.bytes_per_second, rel=0.1)


def test_generated_file_names_show_the_shortest_distinct_hash_prefix():
    trace = open_trace(FIXTURE.parent / "train_compiled")
    profile = read_profile(trace, trace.runs)

    lines = profile_text(profile, full=False, width=80)
    row = next(
        line for line in lines if line.startswith("triton_poi_fused_gelu_gelu_backward_view_3")
    )

    assert row.split()[-3:] == ["15.9", "ms", "csmkwd2i….py:18"]
    assert not any("rate" in line.split() for line in lines), "a column without a figure"


def test_hashes_with_a_common_prefix_are_shown_longer():
    one, other = "c" + "a" * 51, "c" + "a" * 9 + "b" * 42

    short = short_places([f"{one}.py:18", f"{other}.py:18", f"{one}.py:20", "matmul.py:11", ""])

    assert list(short.values()) == [
        "caaaaaaaaaa….py:18", "caaaaaaaaab….py:18", "caaaaaaaaaa….py:20", "matmul.py:11", "",
    ]  # fmt: skip
