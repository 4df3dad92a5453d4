"""AMD's and Intel's devices: the same code paths, mode launch, and a sentence.

No such device is needed: Triton compiles for gfx942 here, and a stand-in for its driver says that
tensors are on a device and executes launches in the evaluator.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kvtrace
from kvtrace.backends.cupti.library import CuptiUnavailable, _check_device
from kvtrace.capture import context, hot, hot_choice
from kvtrace.converters import perfetto
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


@pytest.mark.parametrize("native", ["1", "0"])
@pytest.mark.usefixtures("amd_driver", "built_for_rocm")
def test_launches_on_amd_are_recorded_in_mode_launch_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, native: str, capsys: pytest.CaptureFixture[str]
) -> None:
    # given a program on AMD that asks for the device timeline
    monkeypatch.setenv("KVTRACE_NATIVE", native)
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
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("kvtrace:")]
    assert len(said) == 1
    assert "ROCm" in said[0]
    assert "without the timeline" in said[0]
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


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ({"hip": "6.4"}, "built for ROCm"),
        ({"xpu": "20250101"}, "built for Intel's devices"),
        ({}, "built for other devices"),
    ],
)
def test_the_timeline_says_what_this_torch_is_built_for(
    monkeypatch: pytest.MonkeyPatch, version: dict[str, str], words: str
) -> None:
    for name, value in ({"cuda": None, "hip": None, "xpu": None} | version).items():
        monkeypatch.setattr(torch.version, name, value, raising=False)
    with pytest.raises(CuptiUnavailable, match=words):
        _check_device()


def recorder_kinds() -> list[Any]:
    kinds: list[Any] = [hot.Recorder]
    native, _ = hot_choice._native(torch)
    return kinds if native is None else [*kinds, native]


class _Adapter:
    def new_kernel(self, _owner: Any, _kernel: Any) -> tuple[int, int, int]:
        return (0, hot.ONEAPI, 2)

    def new_call(self, *_facts: Any) -> int:
        return 0


@pytest.mark.parametrize("kind", recorder_kinds(), ids=lambda kind: kind.__module__[-4:])
def test_launches_on_intel_have_their_device(kind: Any) -> None:
    def fail(error: Exception) -> None:
        raise error

    recorder = kind(fail, fail, (torch.Tensor, torch.nn.Parameter), 10)
    kernel = SimpleNamespace()
    recorder.record(_Adapter(), None, kernel, (1,), (torch.ones(2), 3), {}, 1, 2)
    (row,) = hot.ROW.iter_unpack(recorder.drain())
    assert row[3] == 0  # the stream is not known
    assert row[6] == 2  # the device is


def test_a_kernels_device_is_told_by_tritons_target(monkeypatch: pytest.MonkeyPatch) -> None:
    from kvtrace.backends.triton import launches

    active = SimpleNamespace(
        get_active_torch_device=lambda: SimpleNamespace(type="xpu"), get_current_device=lambda: 1
    )
    monkeypatch.setattr(triton.runtime, "driver", SimpleNamespace(active=active))
    kernel = SimpleNamespace(metadata=SimpleNamespace(target=SimpleNamespace(backend="xpu")))
    assert launches._device_of(kernel) == (hot.ONEAPI, 1)


def test_devices_are_described_by_what_torch_has_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    intel = SimpleNamespace(name="Arc", total_memory=5)
    monkeypatch.setattr(torch.xpu, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.xpu, "device_count", lambda: 1)
    monkeypatch.setattr(torch.xpu, "get_device_properties", lambda _index: intel)
    assert context.devices() == [{"index": 0, "name": "Arc", "capability": None, "memory_bytes": 5}]
    amd = SimpleNamespace(
        name="MI300X", total_memory=9, major=9, minor=4, gcnArchName="gfx942:sramecc+"
    )
    monkeypatch.setattr(torch.version, "hip", "6.4", raising=False)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _index: amd)
    assert context.devices()[0]["capability"] == "gfx942"
