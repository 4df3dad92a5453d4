"""Launches by Triton on AMD's and Intel's devices, and when the device timeline begins.

No such device is needed: Triton compiles for gfx942 here, and a stand-in for its driver says that
tensors are on a device and executes launches in the evaluator.
"""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kvtrace
from kvtrace.capture import hot
from kvtrace.converters.timeline import perfetto
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace, resolve
from kvtrace.schema.validation import validate

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
tl = triton.language


@triton.jit
def scaled(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * 3, mask=lanes < n)


@pytest.fixture
def amd_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Triton's driver for an MI300X that is not there."""
    from kvtrace.backends.triton.free_driver import DeviceFreeDriver

    class Driver(DeviceFreeDriver):
        def get_active_torch_device(self) -> Any:
            return torch.device("cuda", 0)  # what torch calls AMD's devices

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(triton.runtime.driver, "_active", Driver("hip:gfx942"))


@pytest.fixture
def built_for_rocm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "hip", "6.4", raising=False)
    monkeypatch.setattr(torch.version, "cuda", None)
    # A build for CUDA asks its driver, which is not there either.
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda _device: 0, raising=False)


@pytest.mark.usefixtures("amd_driver", "built_for_rocm")
def test_launches_on_amd_are_recorded_in_mode_launch_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # given a program on AMD that asks for the device timeline
    x, out = torch.arange(100.0), torch.empty(100)
    with kvtrace.capture(tmp_path / "out", mode="timeline"):
        for _ in range(3):
            scaled[(1,)](x, out, 100, BLOCK=128)
    assert torch.equal(out, x * 3)
    # then one sentence says why there is none, and the launches are there with their device
    trace = open_trace(tmp_path / "out")
    (run,) = trace.runs
    assert run.mode == "launch"
    assert run.versions["hip"] == "6.4"
    messages = [
        line for line in capsys.readouterr().err.splitlines() if line.startswith("kvtrace:")
    ]
    assert len(messages) == 1
    assert "ROCm" in messages[0]
    assert "launches are recorded without it" in messages[0]
    launches = plain_rows(trace.table("launches"))
    assert [(row["device"], row["stream"], row["phase"]) for row in launches] == [(0, 0, "run")] * 3
    # and the kernel is AMD's
    (kernel,) = plain_rows(trace.table("kernels"))
    stages = {stage["stage"] for stage in kernel["stages"]}
    assert {"ttir", "ttir_generic", "ttgir", "llir", "amdgcn", "hsaco"} <= stages
    assert (kernel["target"], kernel["warp_size"]) == ("hip:gfx942", 64)
    assert kernel["registers"] > 0
    assert not validate(tmp_path / "out")
    drawn = perfetto.CONVERTER.convert(resolve(str(tmp_path / "out")), tmp_path / "t", {})
    assert "3 launches" in drawn.notes[0]


def test_a_kernels_device_kind_follows_from_tritons_target(monkeypatch: pytest.MonkeyPatch) -> None:
    from kvtrace.backends.triton import launches

    active = SimpleNamespace(
        get_active_torch_device=lambda: SimpleNamespace(type="xpu"), get_current_device=lambda: 1
    )
    monkeypatch.setattr(triton.runtime, "driver", SimpleNamespace(active=active))
    kernel = SimpleNamespace(metadata=SimpleNamespace(target=SimpleNamespace(backend="xpu")))
    assert launches._device_of(kernel) == (hot.ONEAPI, 1)


# -- the timeline begins with the program's use of the device, not with a launch ------------------


def calls_queued_since(number: int) -> list[Any]:
    return [call for call, _ in torch.cuda._queued_calls[number:]]


def test_timeline_waits_for_the_device_and_begins_without_a_launch(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = len(torch.cuda._queued_calls)
    with kvtrace.capture(tmp_path / "out", mode="timeline"):
        (begin,) = calls_queued_since(before)
        assert "timeline" not in capfd.readouterr().err
        begin()  # as torch does when the program first uses the device
    del torch.cuda._queued_calls[before:]

    stderr = capfd.readouterr().err
    # it was tried, on a machine that has no device; torch's builds for CUDA say so themselves
    assert re.search("recorded without (it|the (device )?timeline)", stderr)


def test_timeline_does_not_begin_after_the_recording_has_ended(tmp_path: Path) -> None:
    before = len(torch.cuda._queued_calls)
    with kvtrace.capture(tmp_path / "out", mode="timeline"):
        (begin,) = calls_queued_since(before)
    begin()
    del torch.cuda._queued_calls[before:]

    assert not (tmp_path / "out").exists()


def test_mode_launch_does_not_use_torchs_lazy_initialization(tmp_path: Path) -> None:
    before = len(torch.cuda._queued_calls)
    with kvtrace.capture(tmp_path / "out"):
        assert calls_queued_since(before) == []
