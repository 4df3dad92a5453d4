"""How long loading binaries took: Triton's own hooks, Inductor's static launcher, threads."""

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kvtrace
from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton import loading
from kvtrace.backends.triton.loading import LoadHooks, Loads, time_static_loads
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.backends import live_kernels as kernels

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")


def raise_it(error: Exception) -> None:
    raise error


def captured(out: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The row of a kernel that is compiled and launched for the first time."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(out / "cache"))
    kernels.copy.device_caches.clear()
    source = torch.arange(1000.0)
    with kvtrace.capture(out / "trace"):
        kernels.copy[(4,)](source, torch.empty(1000), 999, BLOCK=256)
    (row,) = plain_rows(open_trace(out / "trace").table("kernels"))
    return row


def test_the_whole_pipeline_is_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # given a driver whose loading counts: that of a machine with a device
    monkeypatch.setattr(loading.device_free, "is_active", lambda: False)
    begin = time.time_ns()
    # when a kernel is compiled and launched
    row = captured(tmp_path, monkeypatch)
    # then each stage has its time, and the loading comes after all of them
    taken = {stage["stage"]: stage["duration_ns"] for stage in row["stages"]}
    assert all(taken[stage] > 0 for stage in ("ttir", "ttgir", "llir", "ptx", "cubin"))
    assert sum(taken[stage] or 0 for stage in taken) <= row["compile_ns"] * 1.05
    assert row["load_ns"] > 0
    assert row["load_thread"] == threading.get_native_id()
    assert begin < row["compile_begin"] < row["compile_begin"] + row["compile_ns"]
    assert row["load_begin"] > row["compile_begin"] + row["compile_ns"] * 0.9
    # and the hooks are gone
    runtime = triton.knobs.runtime
    assert not runtime.kernel_load_start_hook.calls + runtime.kernel_load_end_hook.calls


def test_without_a_device_nothing_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = captured(tmp_path, monkeypatch)
    assert (row["load_begin"], row["load_ns"], row["load_thread"]) == (None, None, None)


def test_threads_that_load_at_the_same_time_are_told_apart() -> None:
    loads = Loads()
    together = threading.Barrier(4)

    def load(number: int) -> None:
        together.wait()
        loads.begins(None, None, f"k{number}", None, str(number))
        time.sleep(0.01 * (number + 1))
        loads.ends(1, 2, f"k{number}", None, str(number))

    threads = [threading.Thread(target=load, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [loads.take(str(number)) for number in range(4)]
    assert all(load and load.duration >= 0.01e9 * (n + 1) for n, load in enumerate(found))
    assert len({load.thread for load in found if load}) == 4
    assert loads.take("0") is None


def test_an_end_without_a_begin_and_a_hook_of_ours_that_fails_harm_nobody() -> None:
    loads = Loads()
    loads.ends(1, 2, "k", None, "key")
    assert loads.take("key") is None
    told: list[Exception] = []
    runtime = SimpleNamespace(
        kernel_load_start_hook=triton.knobs.HookChain(),
        kernel_load_end_hook=triton.knobs.HookChain(reversed=True),
    )
    hooks = LoadHooks(told.append)
    hooks.install(runtime)
    runtime.kernel_load_end_hook("too", "few")
    assert len(told) == 1
    hooks.uninstall()
    assert runtime.kernel_load_start_hook.calls == []


def test_the_static_launchers_loading_is_timed_once() -> None:
    # given a launcher shaped as Inductor's, which needs a device to load anything
    class Launcher:
        hash = "a static launcher's kernel"
        function: int | None = None

        def load_kernel(self, device: int) -> None:
            time.sleep(0.01)
            self.function = device

    original = Launcher.load_kernel
    replaced = Replacements()
    time_static_loads(SimpleNamespace(Launcher=Launcher, other=3), replaced, raise_it)
    one = Launcher()
    one.load_kernel(5)
    one.load_kernel(5)
    load = loading.LOADS.take(Launcher.hash)
    assert load
    assert load.duration >= 0.01e9
    assert loading.LOADS.take(Launcher.hash) is None
    replaced.undo()
    assert Launcher.load_kernel is original
    time_static_loads(None, replaced, raise_it)


def test_inductors_static_launchers_are_found() -> None:
    static = pytest.importorskip("torch._inductor.runtime.static_triton_launcher")
    replaced = Replacements()
    time_static_loads(static, replaced, raise_it)
    assert hasattr(static.StaticallyLaunchedCudaKernel.load_kernel, "__wrapped__")
    replaced.undo()
    assert not hasattr(static.StaticallyLaunchedCudaKernel.load_kernel, "__wrapped__")
