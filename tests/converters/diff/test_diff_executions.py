"""Device time of both sides by name: kernels of libraries and copies beside launched kernels."""

import json

import numpy as np
import pytest

from kvtrace.cli import main
from kvtrace.converters.diff.compare import compare
from kvtrace.converters.diff.gate import Gate, read_rules
from kvtrace.converters.diff.markdown import difference_markdown
from kvtrace.converters.diff.page import comparison_object
from kvtrace.converters.diff.render import difference_object, headline_text
from kvtrace.converters.importers.importing import import_files
from kvtrace.schema.trace import Selection, open_trace
from kvtrace.schema.writer import RunWriter
from tests.converters.written_trace import Kernel, Launches, write_trace
from tests.support.foreign_traces import WITH_TIMES
from tests.support.hand_tables import tables_of
from tests.support.synthetic_trace import EPOCH

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>(int)"
#: Names of executions, and how long each takes on both sides, in µs; None: it does not run.
EXECUTED = {NCCL: (100.0, 200.0), ELEMENTWISE: (5.0, 5.0), "added": (10.0, 10.0),
            "Memcpy DtoH": (2.0, None), "Memcpy HtoD": (None, 3.0)}  # fmt: skip
TIMES = 24


def write_rank(folder, side):
    """Write a trace of torch.profiler in which each name of a side runs `TIMES` times."""
    events, ts = [], 0.0
    for name, micros in EXECUTED.items():
        if micros[side] is None:
            continue
        category = "gpu_memcpy" if name.startswith("Memcpy") else "kernel"
        for number in range(TIMES):
            duration = micros[side] + 0.25 * (number % 3)
            arguments = {"device": 0, "stream": 7, "correlation": len(events) + 1,
                         "grid": [8, 1, 1], "block": [128, 1, 1], "bytes": 4096}  # fmt: skip
            events.append({"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7,
                           "ts": ts, "dur": duration, "args": arguments})  # fmt: skip
            ts += duration + 1
    folder.mkdir()
    path = folder / "rank0.pt.trace.json"
    devices = [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]
    path.write_text(
        json.dumps({"schemaVersion": 1, "deviceProperties": devices, "traceEvents": events})
    )
    return path


def selection(out):
    trace = open_trace(out)
    return Selection(trace, trace.runs)


@pytest.fixture
def sides(tmp_path):
    for side, name in enumerate(("before", "after")):
        import_files([write_rank(tmp_path / f"files-{name}", side)], tmp_path / name)
    return tmp_path / "before", tmp_path / "after"


def device_ns(out):
    """Return the sum of all executions' durations, by SQL over the Parquet files."""
    query = 'SELECT sum(epoch_ns("end") - epoch_ns(start))::BIGINT FROM gpu_kernels'
    return tables_of(out).execute(query).fetchone()[0]


def test_rows_add_up_to_all_device_time(sides):
    device = compare(*map(selection, sides)).device
    assert (device.before_ns, device.after_ns) == tuple(map(device_ns, sides))
    for total, of in ((device.before_ns, "before"), (device.after_ns, "after")):
        assert total == sum(getattr(row, of).device_ns for row in device.rows if getattr(row, of))
    kinds = {row.kind: row for row in device.rows if row.kind != "copy"}
    assert set(kinds) == {"NCCL", "torch", "custom"}
    assert kinds["NCCL"].before.executions == kinds["NCCL"].after.executions == TIMES
    copies = {row.name: row for row in device.rows if row.kind == "copy"}
    assert copies["Memcpy DtoH"].after is None
    assert copies["Memcpy HtoD"].before is None


@pytest.mark.parametrize("kind", WITH_TIMES)
def test_totals_of_all_importers_are_sums_of_their_executions(kind, tmp_path):
    _, write = WITH_TIMES[kind]
    import_files([write(tmp_path)], tmp_path / "out")
    device = compare(selection(tmp_path / "out"), selection(tmp_path / "out")).device
    query = """SELECT sum((epoch_ns("end") - epoch_ns(start)) * coalesce(weight, 1))::BIGINT
        FROM gpu_kernels"""
    assert device.before_ns == tables_of(tmp_path / "out").execute(query).fetchone()[0]


def test_a_slower_kernel_of_a_library_is_a_line_of_the_headline_and_violates_rules(sides):
    gate = Gate(read_rules(["time>+10%"]))
    difference = compare(*map(selection, sides), gate=gate)
    (row,) = [row for row in difference.headline if row.level == "time"]
    assert "nccl" in row.kernel
    assert row.direction == "worse"
    assert row.share == pytest.approx(1.0, abs=0.05)
    assert [failure.what for failure in gate.failures] == [row.kernel]
    assert difference.answers[0].word == "no"  # not faster


@pytest.mark.costly("every output; the totals stay by day")
def test_text_markdown_json_and_page_have_rows_and_total(sides, capsys):
    difference = compare(*map(selection, sides))
    text = "\n".join(headline_text(difference))
    assert "all device time" in text
    assert "NCCL" in text
    assert any("all device time" in line for line in difference_markdown(difference))
    written = json.loads(json.dumps(difference_object(difference)))["device"]
    assert written["before_ns"] == sum(
        row["before"]["device_ns"] for row in written["rows"] if row["before"]
    )
    total, *rows = comparison_object(difference)["device"]
    assert total["metric"]["after"] == written["after_ns"]
    assert len(rows) == len(written["rows"]) == len(EXECUTED)
    assert main(["diff", *map(str, sides)]) == 0
    assert "all device time" in capsys.readouterr().out


def test_work_of_another_grid_is_not_compared(tmp_path):
    for side, name in enumerate(("before", "after")):
        path = write_rank(tmp_path / f"files-{name}", side)
        if side:
            path.write_text(path.read_text().replace("[8, 1, 1]", "[16, 1, 1]"))
        import_files([path], tmp_path / name)
    difference = compare(selection(tmp_path / "before"), selection(tmp_path / "after"))
    (time,) = [time for time in difference.times if "nccl" in time.name]
    assert [comparison.reason for comparison in time.compared] == [
        "no launch has the same arguments"
    ]


def test_without_other_executions_kernels_are_all(tmp_path):
    write_trace(tmp_path / "out", [Kernel(calls=(Launches(device_us=5),))])
    assert compare(selection(tmp_path / "out"), selection(tmp_path / "out")).device is None


def test_sample_of_many_executions_is_not_the_same_one_of_each_step(tmp_path):
    """Every third execution takes 30 µs, as in a program whose steps run a kernel three times."""
    number = 20_000
    writer = RunWriter(tmp_path / "out", "20260102T030405-steps")
    begin = EPOCH + 100_000 * np.arange(number)
    writer.append(
        "gpu_kernels",
        {"record": np.arange(number), "start": begin,
         "end": begin + np.tile([10_000, 20_000, 30_000], number)[:number],
         "name": [NCCL] * number, "grid_x": np.full(number, 8)},
    )  # fmt: skip
    writer.seal({})
    (time,) = compare(selection(tmp_path / "out"), selection(tmp_path / "out")).times
    (comparison,) = time.compared
    assert comparison.before_ns == comparison.after_ns == 20_000
    assert 6_000 < min(comparison.launches) < 7_500  # every third of them
