"""How long Triton took to load binaries: its own hooks, put in and taken out."""

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kvtrace
from kvtrace.backends.compiled_kernels.loads import LOADS
from kvtrace.backends.triton import launches
from kvtrace.backends.triton.launches import LoadHooks
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.backends import live_kernels as kernels

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")


def first_launch_row(out: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The row of a kernel that is compiled and launched for the first time."""
    # A test that exchanged Triton's driver may have put back one of a recording that has ended.
    for name in ("_active", "_default"):
        monkeypatch.setattr(triton.runtime.driver, name, None)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(out / "cache"))
    kernels.copy.device_caches.clear()
    source = torch.arange(1000.0)
    with kvtrace.capture(out / "trace"):
        kernels.copy[(4,)](source, torch.empty(1000), 999, BLOCK=256)
    (row,) = plain_rows(open_trace(out / "trace").table("kernels"))
    return row


@pytest.mark.process
def test_the_whole_pipeline_is_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # given a driver whose loading counts: that of a machine with a device
    monkeypatch.setattr(launches.device_free, "is_active", lambda: False)
    begin = time.time_ns()
    # when a kernel is compiled and launched
    row = first_launch_row(tmp_path, monkeypatch)
    # then each stage has its time, and the loading comes after all of them
    durations = {stage["stage"]: stage["duration_ns"] for stage in row["stages"]}
    assert all(durations[stage] > 0 for stage in ("ttir", "ttgir", "llir", "ptx", "cubin"))
    assert sum(durations[stage] or 0 for stage in durations) <= row["compile_ns"] * 1.05
    assert row["load_ns"] > 0
    assert row["load_thread"] == threading.get_native_id()
    assert begin < row["compile_begin"] < row["compile_begin"] + row["compile_ns"]
    assert row["load_begin"] > row["compile_begin"] + row["compile_ns"] * 0.9
    # and the hooks are gone
    runtime = triton.knobs.runtime
    assert not runtime.kernel_load_start_hook.calls + runtime.kernel_load_end_hook.calls


@pytest.mark.process
def test_without_a_device_nothing_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = first_launch_row(tmp_path, monkeypatch)
    assert (row["load_begin"], row["load_ns"], row["load_thread"]) == (None, None, None)


@pytest.mark.process
def test_a_load_before_a_recording_is_not_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a kernel that was loaded, but not recorded, since a recording had ended by then
    first_launch_row(tmp_path, monkeypatch)
    (caches,) = kernels.copy.device_caches.values()
    (kernel,) = caches[0].values()
    LOADS.add(kernel.hash, time.time_ns(), 1)
    # when it is recorded later
    row = first_launch_row(tmp_path / "later", monkeypatch)
    # then it is not said to have been loaded in that recording
    assert row["load_ns"] is None


def test_a_failing_load_hook_does_not_disturb_the_program() -> None:
    problems: list[Exception] = []
    runtime = SimpleNamespace(
        kernel_load_start_hook=triton.knobs.HookChain(),
        kernel_load_end_hook=triton.knobs.HookChain(reversed=True),
    )
    hooks = LoadHooks(problems.append)
    hooks.install(runtime)
    runtime.kernel_load_end_hook("too", "few")
    assert len(problems) == 1
    hooks.uninstall()
    assert runtime.kernel_load_start_hook.calls == []
