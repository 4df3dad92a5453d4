"""Advice on idle time of several GPUs, and between replays of graphs."""

import pytest

from kvtrace.converters.profile.device_text import busy_phrase
from kvtrace.converters.profile.profile import read_profile
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter

US = 1_000


def profile_of(folder, executions):
    """Return the profile of a run of executions: (device, requested, begin, end) in µs."""
    writer = RunWriter(folder, run := "20260102T030405-0001")
    writer.append_rows("gpu_kernels", [
        {"record": row, "device": device, "requested": asked * US + device, "start": begin * US,
         "end": end * US, "name": f"k{device}"}
        for row, (device, asked, begin, end) in enumerate(executions)
    ])  # fmt: skip
    writer.seal({"run_id": run, "started": 0, "ended": 10**9, "command": "python x.py"})
    trace = open_trace(folder)
    return read_profile(trace, trace.runs)


def launched(device, number, took, period=100):
    return [(device, period * i + 1, period * i + 2, period * i + 2 + took) for i in range(number)]


@pytest.mark.parametrize(("busiest", "saved"), [(98, None), (80, 0.2), (50, 0.5)])
def test_what_launching_costs_is_bounded_by_the_busiest_device(tmp_path, busiest, saved):
    executions = launched(0, 20, busiest) + launched(1, 20, 30) + launched(2, 20, 30)
    profile = profile_of(tmp_path / "out", sorted(executions, key=lambda row: row[2]))
    costs = [advice.cost_ns for advice in profile.advice if advice.rule == "launch-bound"]
    if saved is None:
        assert profile.advice == ()
        return
    assert costs == [pytest.approx(saved * profile.device_time.busy.span_ns, rel=0.1)]


@pytest.mark.parametrize(("took", "is_told"), [((98, 30, 1), True), ((50, 49, 48), False)])
def test_the_share_of_the_busiest_device_is_told_where_devices_differ(tmp_path, took, is_told):
    executions = [row for device, us in enumerate(took) for row in launched(device, 20, us)]
    profile = profile_of(tmp_path / "out", sorted(executions, key=lambda row: row[2]))
    text = busy_phrase(profile.device_time.busy, profile.device_time.devices)
    assert (", the busiest" in text) == is_told
    assert not profile.replay_helps  # nothing has IR


def test_kernels_compiled_once_in_a_run_without_steps_are_start_up(tmp_path):
    writer = RunWriter(tmp_path, run := "20260102T030405-0001")
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "k", "compile_begin": 1_000 * US,
                                    "compile_ns": 700_000 * US}])  # fmt: skip
    writer.append_rows("gpu_kernels", [
        {"record": n, "device": 0, "requested": at - US, "start": at, "end": at + US, "name": "k"}
        for n, at in enumerate((500 * US, 800_000 * US))
    ])  # fmt: skip
    writer.seal({"run_id": run, "started": 0, "ended": 10**9, "command": "python x.py"})
    trace = open_trace(tmp_path)
    advice = {one.rule: one.text for one in read_profile(trace, trace.runs).advice}
    assert "are start-up" in advice["compiling"]
    assert "recompiles" not in advice


@pytest.mark.parametrize(("of_one_request", "rule"), [(2, "between-replays"), (1, "launch-bound")])
def test_between_replays_no_graphs_are_advised(tmp_path, of_one_request, rule):
    executions = [
        (0, 1_000 * i + (0 if of_one_request == 2 else 10 * k), at := 1_000 * i + 20 + 200 * k,
         at + 198)
        for i in range(10) for k in range(2)
    ]  # fmt: skip
    profile = profile_of(tmp_path / "out", executions)
    assert [advice.rule for advice in profile.advice] == [rule]
    assert ("CUDA graphs" in profile.advice[0].text) == (rule == "launch-bound")
