"""Devices' tracks: steps of what was launched in them, and nothing guessed of graphs."""

from pathlib import Path

import numpy as np

from kvtrace.converters.timeline.drawing import timelines
from kvtrace.converters.timeline.drawing_device import StepLaunches
from kvtrace.schema.trace import resolve
from kvtrace.schema.writer import RunWriter
from tests.support.synthetic_trace import EPOCH

FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200"
LAUNCHED = [10, 20, 110, 120, 210, 220, 300]  # the last belongs to no step
MARKS = [(0, 50), (100, 150), (200, 250)]


def drawn(out, graph=None):
    """A run of three steps with two launches each; each launch runs for 5 ns, 30 ns later."""
    writer = RunWriter(out, "20260102-030405-000-0000abcd")
    enter = EPOCH + np.array(LAUNCHED)
    count = len(LAUNCHED)
    writer.append(
        "launches",
        {"seq": np.arange(count), "call_id": [0] * count, "enter": enter, "exit": enter + 2,
         "thread": [4242] * count},
    )  # fmt: skip
    writer.append(
        "marks",
        {"mark_id": range(3), "name": ["step"] * 3, "begin": [EPOCH + b for b, _ in MARKS],
         "end": [EPOCH + e for _, e in MARKS], "thread": [4242] * 3},
    )  # fmt: skip
    writer.append(
        "gpu_kernels",
        {"record": np.arange(count), "launch_seq": np.arange(count), "call_id": [0] * count,
         "start": enter + 30, "end": enter + 35, "device": [1] * count, "stream": [7] * count,
         "graph_id": [graph] * count, "correlation_id": [5] * count, "name": ["k"] * count},
    )  # fmt: skip
    devices = [{"index": 1, "name": "NVIDIA H200", "capability": "9.0", "memory_bytes": 1 << 37}]
    run = {"command": "python train.py", "host": "h", "pid": 4242, "devices": devices}
    writer.seal({"started": EPOCH, **run})
    return next(timelines(resolve(str(out))))


def steps(timeline):
    return {part.track.parent.name: part for part in timeline.slices if part.category == "step"}


def test_a_step_of_a_device_reaches_from_its_first_execution_to_its_last(tmp_path):
    found = steps(drawn(tmp_path / "out"))

    assert (found["GPU 1"].begin - EPOCH).tolist() == [40, 140, 240]
    assert found["GPU 1"].duration.tolist() == [15, 15, 15]
    assert [caption.name for caption in found["GPU 1"].captions] == ["step 0", "step 1", "step 2"]
    assert dict(found["GPU 1"].captions[1].facts)["measured"] == (
        ("executions", 2),
        ("device ns", 10),
    )


def test_a_step_of_the_program_counts_what_was_launched_in_it(tmp_path):
    found = steps(drawn(tmp_path / "out"))["train.py · h"]

    assert (found.begin - EPOCH).tolist() == [0, 100, 200]
    assert [dict(c.facts)["measured"] for c in found.captions] == [(("launches", 2),)] * 3


def test_executions_of_graph_replays_belong_to_no_step(tmp_path):
    assert list(steps(drawn(tmp_path / "out", graph=3))) == ["train.py · h"]


def test_periods_of_launches_are_steps_where_no_mark_repeats():
    selection = resolve(str(FIXTURES / "llama_steady"))
    drawn_steps = steps(next(t for t in timelines(selection) if t.slices))
    (device,) = (part for name, part in drawn_steps.items() if name.startswith("GPU"))
    (program,) = (part for name, part in drawn_steps.items() if not name.startswith("GPU"))

    assert len(program.begin) == len(device.begin) == 35
    assert (program.begin[1:] == (program.begin + program.duration)[:-1]).all()
    assert program.captions[3].name == "step 3"


def test_a_device_has_its_model_and_no_process_above_it(tmp_path):
    timeline = drawn(tmp_path / "out")

    (device,) = (track for track in timeline.tracks if track.name == "GPU 1")
    assert device.parent is None
    assert device.about == "NVIDIA H200 · capability 9.0 · 128.0 GiB"
    assert timeline.tracks[0] == timeline.process
    assert timeline.process.about == timeline.facts["command"] == "python train.py"


def test_steps_without_launches_are_left_out():
    # of the steps 0 to 3, 1 and 3 launched nothing
    first, last = np.array([0, 5, 5, 1 << 60]), np.array([3, -1, 9, -1])
    known = StepLaunches("step", first, last, np.zeros(4, np.int64))

    assert known.of(np.array([-1, 0, 3, 4, 5, 9, 10])).tolist() == [-1, 0, 0, -1, 2, 2, -1]
    nothing = np.zeros(0, np.int64)
    assert StepLaunches("x", nothing, nothing, nothing).of(np.array([3])).tolist() == [-1]
