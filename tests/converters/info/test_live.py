"""What `kvtrace top` shows, from rows of runs that go on."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kvtrace.converters.info.live import COLUMNS, EVENT_SECONDS, RATE_SECONDS, Live
from kvtrace.converters.info.live_text import page_lines
from kvtrace.figures.part_figures import PartFigures
from kvtrace.schema.following import Follower
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import resolve
from kvtrace.schema.writer import RunWriter

FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200"
SECOND = 1_000_000_000
#: A whole second, long after the run began.
NOW = 1_767_323_100 * SECOND
START = NOW - 50 * SECOND


class Recording:
    """A run that goes on in this process, and the pages of it."""

    def __init__(self, out, number=0, **row):
        self.writer = RunWriter(out, f"20260102-030405-000-0000000{number}")
        self.writer.append_rows("runs", [{"started": START, "command": "python train.py", **row}])
        self.out = out

    def append(self, table, **columns):
        self.writer.append(table, columns)
        self.writer.flush()

    def launch(self, enter, length=1_000, call=0):
        enter = np.asarray(enter)
        self.append(
            "launches", seq=np.arange(enter.size), call_id=np.full(enter.size, call),
            enter=enter, exit=enter + length,
        )  # fmt: skip


@pytest.fixture(autouse=True)
def running(monkeypatch):
    """Have processes run, or not; by default they do."""
    states = {"runs": True}
    monkeypatch.setattr(
        "kvtrace.schema.following.may_live", lambda *_: "it runs" if states["runs"] else None
    )
    return states


@pytest.fixture
def recording(tmp_path):
    return Recording(tmp_path / "out", pid=4242)


def pages(out, *times):
    live, follower = Live(), Follower(out, COLUMNS)
    for now in times:
        live.add(follower.look(), now)
        yield live.page(now)


def page(recording, now=NOW):
    (found,) = pages(recording.out, now)
    return found


def kernel(recording, kernel_id, name="k", **more):
    recording.append(
        "kernels", kernel_id=[kernel_id], name=[name], module=["m"],
        **{key: [value] for key, value in more.items()},
    )  # fmt: skip


def test_the_rate_is_that_of_the_last_ten_whole_seconds(recording):
    # given 5 launches in each second up to now, and 90 in the second that has just begun
    seconds = np.arange(-40, 0) * SECOND
    recording.launch(NOW + np.repeat(seconds, 5))
    recording.launch(NOW + np.arange(90))

    (line,) = page(recording).processes

    assert line.launches == 290
    assert line.launches_per_second == 5.0
    assert RATE_SECONDS == 10


def test_rate_of_a_new_run_is_divided_by_its_age(tmp_path):
    recording = Recording(tmp_path / "out", started=NOW - 2 * SECOND)
    recording.launch(NOW - np.arange(1, 41) * SECOND // 20)

    (line,) = page(recording).processes

    assert line.launches_per_second == 20.0


def test_launch_rate_falls_to_zero_after_the_last_launch(recording):
    recording.launch(np.full(7, NOW - 30 * SECOND))

    (line,) = page(recording).processes

    assert (line.launches, line.launches_per_second, line.state) == (7, 0.0, "recording")


def test_killed_process_has_a_launch_rate_of_zero(recording, running):
    recording.launch(np.full(7, NOW - 3 * SECOND))
    running["runs"] = False

    (line,) = page(recording).processes

    assert (line.launches, line.launches_per_second, line.state) == (7, 0.0, "not running")


def test_compiling_launches_are_excluded_from_host_time(recording):
    # given a launch in which the kernel was compiled, and two after it
    kernel(recording, 3, "scale", compile_begin=NOW - 9 * SECOND, compile_ns=SECOND)
    recording.append("calls", call_id=[0], kernel_id=[3])
    recording.launch([NOW - 10 * SECOND], length=2 * SECOND)
    recording.launch([NOW - 5 * SECOND, NOW - 4 * SECOND], length=3_000)

    (line,) = page(recording).kernels

    assert (line.name, line.of, line.launches, line.host_ns) == ("scale", "launched", 3, 6_000)
    assert (line.device_ns, line.share) == (None, None)


def test_autotuning_trials_are_excluded_from_launches_and_host_time(recording):
    start = NOW - SECOND
    recording.append(
        "launches", seq=[0, 1, 2], call_id=[0, 0, 0], enter=[start + 5, start + 15, start],
        exit=[start + 9, start + 19, start + 30], thread=[1, 1, 1],
        phase=["autotune", "autotune", "run"],
    )  # fmt: skip

    found = page(recording)
    (line,), (process,) = found.kernels, found.processes

    assert (line.launches, line.host_ns) == (1, 0)
    assert process.launches == 3


def test_kernels_are_sorted_by_device_time_if_recorded(tmp_path):
    recording = Recording(tmp_path / "out", mode="timeline")
    kernel(recording, 0, "often")
    kernel(recording, 1, "long")
    recording.append("calls", call_id=[0, 1], kernel_id=[0, 1])
    recording.launch(np.full(9, NOW - SECOND))
    start = NOW - 2 * SECOND
    recording.append(
        "gpu_kernels", record=[0, 1, 2], call_id=[0, 1, None], start=[start] * 3,
        end=[start + 10, start + 70, start + 20],
        name=["often", "long", "_ZN2at6native13reduce_kernelILi512ELi1EEEvT_"],
    )  # fmt: skip

    found = page(recording)

    assert [(line.name, line.of, line.device_ns, line.share) for line in found.kernels] == [
        ("long", "launched", 70, 0.7), ("reduce_kernel<512, 1>", "torch", 20, 0.2),
        ("often", "launched", 10, 0.1),
    ]  # fmt: skip


def test_kernels_show_the_last_minute_and_the_whole_run(recording):
    # given a start-up two minutes ago, of another kernel too, and launches since
    kernel(recording, 0, "steady")
    kernel(recording, 1, "startup")
    recording.append("calls", call_id=[0, 1], kernel_id=[0, 1])
    recording.launch(np.full(5, NOW - 120 * SECOND), length=7_000)
    recording.launch(np.full(9, NOW - 120 * SECOND), length=9_000, call=1)
    recording.launch(NOW - np.arange(1, 51) * SECOND, length=1_000)

    first, later, ended = pages(recording.out, NOW, NOW + 30 * SECOND, NOW + 120 * SECOND)

    (line,) = first.kernels
    assert (first.seconds, line.name, line.launches, line.host_ns) == (60, "steady", 50, 50_000)
    assert line.in_all_ns == 85_000
    assert [one.launches for one in later.kernels] == [30]
    assert ended.seconds is None
    assert {(one.name, one.launches) for one in ended.kernels} == {("steady", 55), ("startup", 9)}
    assert "kernels of the last 60 s, by launches" in page_lines(first, "out/", NOW, 80, 24)
    assert "kernels since the beginning, by launches" in page_lines(ended, "out/", NOW, 80, 24)


def test_whole_run_can_be_requested(recording):
    recording.launch(np.full(5, NOW - 120 * SECOND))
    recording.launch([NOW - SECOND])
    live, follower = Live(), Follower(recording.out, COLUMNS)
    live.add(follower.look(), NOW)

    assert [line.launches for line in live.page(NOW).kernels] == [1]
    assert [line.launches for line in live.page(NOW, whole=True).kernels] == [6]


def test_busy_share_of_a_device_is_over_the_last_ten_seconds(tmp_path):
    recording = Recording(tmp_path / "out", mode="timeline")
    start = NOW - 5 * SECOND
    recording.append(
        "gpu_kernels", record=[0, 1], start=[start, start - 60 * SECOND],
        end=[start + 4 * SECOND, start - 55 * SECOND], name=["k", "k"],
    )  # fmt: skip

    (line,) = page(recording).processes

    assert (line.state, line.device_share) == ("recording", 0.4)


def ranks_page(out, ranks):
    """Return a page of a job whose ranks work and then wait or transfer, for ms in each second."""
    for rank, (work, collective) in enumerate(ranks):
        recording = Recording(out, rank, rank=rank, group_id="job", mode="timeline")
        begin = NOW - (1 + np.arange(9)) * SECOND
        middle = begin + work * 1_000_000
        recording.append(
            "gpu_kernels", record=np.arange(18), start=np.append(begin, middle),
            end=np.append(middle, middle + collective * 1_000_000),
            name=["matmul"] * 9 + ["ncclDevKernel_AllReduce_Sum_bf16_RING_LL"] * 9,
        )  # fmt: skip
    (found,) = pages(out, NOW)
    return found


@pytest.mark.parametrize(
    ("ranks", "late"),
    [
        ([(500, 400), (500, 400), (850, 50)], 2),  # more work
        ([(500, 50), (500, 400), (500, 400)], 0),  # or a late host
        ([(500, 400), (500, 410), (500, 390)], None),
        ([(500, 400), (500, 400), (50, 40)], None),  # of which less is known yet
        ([(500, 400), (500, 50), (500, 50)], None),  # two may be late
        ([(500, 50)], None),
    ],
)
def test_rank_that_spends_least_time_in_collectives_is_named(tmp_path, ranks, late):
    found = ranks_page(tmp_path / "out", ranks)

    assert [(line.device_share, line.collective_share) for line in found.processes] == [
        (pytest.approx(9 * work / 10_000), pytest.approx(9 * collective / 10_000))
        for work, collective in ranks
    ]
    lines = page_lines(found, "out", NOW, 200, 40)
    assert [line for line in lines if "they wait for it" in line] == [
        line for line in lines if line.startswith(f"rank {late} is in collectives for 4.5 %")
    ]
    assert any("they wait for it" in line for line in lines) == (late is not None)
    assert "collectives" in lines[2]


def test_new_variants_and_recompiles_are_of_the_last_minute(recording):
    kernel(recording, 0, "scale", compile_begin=NOW - 300 * SECOND, compile_ns=SECOND)
    kernel(recording, 1, "scale", compile_begin=NOW - 20 * SECOND, compile_ns=2 * SECOND)
    kernel(recording, 2, "other", compile_begin=NOW - 10 * SECOND, cache_hit=True)

    found = page(recording)

    assert [event.text for event in found.variants] == [
        "other: variant 1, from the cache",
        "scale: variant 2, compiled in 2 s",
    ]
    assert found.recompiles == 1
    assert found.processes[0].variants == 3


def test_a_load_from_the_cache_and_another_process_are_no_recompiles(recording, tmp_path):
    kernel(recording, 0, "scale", compile_begin=NOW - 30 * SECOND, compile_ns=SECOND)
    kernel(recording, 1, "scale", compile_begin=NOW - 20 * SECOND, cache_hit=True, compile_ns=1)
    kernel(recording, 2, "scale", load_begin=NOW - 20 * SECOND)

    assert page(recording).recompiles == 0


def test_findings_and_warnings_are_those_of_the_last_minute(recording):
    rows = [
        (NOW - 70 * SECOND, "info", "defect", "call 1 of old was launched all the same"),
        (NOW - 5 * SECOND, "info", "defect", "call 2 of scale was not launched: out-of-bounds"),
        (NOW - 4 * SECOND, "warning", "out-of-bounds", "kernel gather: a load past the end"),
        (NOW - 3 * SECOND, "info", "hot-path", "the native path is used"),
        (NOW - 2 * SECOND, "warning", "device-clock", "clocks are apart"),
    ]
    names = ("time", "level", "code", "text")
    recording.append("messages", **dict(zip(names, zip(*rows, strict=True), strict=True)))

    found = page(recording)

    assert EVENT_SECONDS == 60
    assert [event.text for event in found.findings] == [
        "train.py 4242: kernel gather: a load past the end",
        "train.py 4242: call 2 of scale was not launched: out-of-bounds",
    ]
    assert [event.text for event in found.warnings] == ["train.py 4242: clocks are apart"]


def test_each_rank_has_a_line_and_idle_processes_are_counted(tmp_path):
    out = tmp_path / "out"
    for number, rank in enumerate((1, 0, None)):
        each = Recording(out, number, rank=rank, pid=100 + number)
        if rank is not None:
            each.launch([NOW])

    (found,) = pages(out, NOW)

    assert [line.name for line in found.processes] == [
        "rank 0 · train.py 101",
        "rank 1 · train.py 100",
    ]
    assert found.idle == 1


def test_later_launches_are_added_to_the_sums(recording):
    recording.launch([NOW - SECOND])
    looked = pages(recording.out, NOW, NOW + SECOND, NOW + 2 * SECOND)

    first = next(looked)
    recording.launch([NOW, NOW + 1])
    second, third = looked

    assert [p.processes[0].launches for p in (first, second, third)] == [1, 3, 3]


def test_old_seconds_and_events_are_dropped(recording):
    live, follower = Live(), Follower(recording.out, COLUMNS)
    for number in range(150):
        recording.launch(NOW + number * SECOND + np.arange(3))
        recording.append(
            "messages", time=[NOW + number * SECOND], level=["warning"], code=["x"], text=["t"]
        )
        live.add(follower.look(), NOW + number * SECOND)
    (process,) = live._processes.values()

    assert len(process.launched) <= EVENT_SECONDS + 2
    assert len(live._warnings) <= 100
    assert process.launches == 450


def test_times_on_an_h200_are_those_of_the_profile(tmp_path):
    """A recorded run, written again as one that goes on: the first kernels are the profile's."""
    shutil.copytree(FIXTURES / "decoding", tmp_path / "sealed")
    selection = resolve(str(tmp_path / "sealed"))
    (run,) = selection.runs
    recording = Recording(tmp_path / "out", mode="timeline", started=run.started)
    for table in COLUMNS:
        columns = selection.trace.table(table, [run])
        recording.writer.append_rows(table, plain_rows(columns.drop_columns(["run"])))
    recording.writer.flush()
    profile = PartFigures(selection.trace, [run]).device_time

    found = page(recording, run.ended)

    assert {(k.name, k.device_ns) for k in found.kernels if k.device_ns} == {
        (row.name, row.device_ns) for row in profile.rows
    }
    top = [line.name for line in found.kernels[:5]]
    assert top == [row.name for row in profile.rows[:5]]


def test_page_fits_the_terminal_and_escapes_names(recording):
    kernel(recording, 0, "evil\x1b[2Jname" + "x" * 200, compile_begin=NOW - SECOND)
    recording.append("calls", call_id=[0], kernel_id=[0])
    recording.launch([NOW])
    text = "a\x1b]0;title\x07 " + "y" * 300
    recording.append("messages", time=[NOW], level=["warning"], code=["x"], text=[text])

    lines = page_lines(page(recording), "out/", NOW, 80, 24)

    assert all(len(line) <= 80 and line.isprintable() for line in lines)
    assert any("recompiles: 0" in line for line in lines)


def test_empty_trace_is_reported(tmp_path):
    Recording(tmp_path / "out")

    (found,) = pages(tmp_path / "out", NOW)

    lines = page_lines(found, "out/", NOW, 100, 24)
    assert "no process that is being recorded here has launched a kernel yet" in lines
    assert "1 more process launched no kernels" in lines


def test_columns_are_those_of_the_format():
    from kvtrace.schema.tables import TABLES

    for table, names in COLUMNS.items():
        assert set(names) <= set(TABLES[table].schema.names)
    assert pa.types.is_timestamp(TABLES["launches"].schema.field("enter").type)
