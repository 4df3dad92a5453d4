"""What is said of a Triton that is too new to have been tested, and of a torch that is too old."""

from types import SimpleNamespace

import pytest

import kvtrace
from kvtrace.backends.compiled_kernels.versions import NEWEST_TESTED, OLDEST_TORCH, untested
from kvtrace.capture import hot_choice
from kvtrace.cli.doctor import machine_parts
from kvtrace.schema.trace import open_trace
from tests.backends import live_kernels as kernels
from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu()
triton = pytest.importorskip("triton")

NEXT = f"{NEWEST_TESTED[0]}.{NEWEST_TESTED[1] + 1}.0"
#: What a torch before 2.10 does not have.
GUARD = (torch._C, "_ensureCUDADeviceGuardSet")
EXCHANGE = (torch.Tensor, "__dlpack_c_exchange_api__")


def record_two_launches(folder, **settings):
    source, result = torch.randn(1000), torch.zeros(1000)
    with kvtrace.capture(folder, **settings):
        kernels.copy[(4,)](source, result, 1000, BLOCK=256)
        kernels.copy[(4,)](source, result, 1000, BLOCK=256)
    assert torch.equal(source, result)
    trace = open_trace(folder)
    assert trace.table("launches").num_rows == 2
    rows = trace.table("messages", columns=["code", "level", "text"]).to_pylist()
    return {row["code"]: row for row in rows}, [row["code"] for row in rows]


def triton_part():
    (part_of_triton,) = [part for part in machine_parts({}) if part.name == "Triton"]
    return part_of_triton


def test_a_newer_triton_is_recorded_and_reported_once(tmp_path, monkeypatch):
    monkeypatch.setattr(triton, "__version__", NEXT)
    stderr, codes = record_two_launches(tmp_path)
    assert codes.count("triton-untested") == 1
    assert stderr["triton-untested"]["level"] == "info"  # it is no reason to write to the terminal
    assert f"Triton {NEXT} is newer than 3.9" in stderr["triton-untested"]["text"]


def test_doctor_reports_a_newer_triton_as_working(monkeypatch):
    assert triton_part().state == "ok"
    assert triton_part().advice == ""
    monkeypatch.setattr(triton, "__version__", NEXT)
    assert triton_part().state == "ok"
    assert triton_part().advice == untested(triton) != ""


def test_a_tested_triton_is_not_reported(tmp_path):
    _, codes = record_two_launches(tmp_path)
    assert "triton-untested" not in codes


def test_of_a_torch_without_the_exchange_one_sentence_says_what_is_needed(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.delattr(*EXCHANGE)
    source, result = torch.randn(1000), torch.zeros(1000)
    with kvtrace.capture(tmp_path / "out"):
        for _ in range(2):
            kernels.copy[(4,)](source, result, 1000, BLOCK=256)
    assert torch.equal(source, result)
    assert not (tmp_path / "out").exists()
    said = capsys.readouterr().err
    assert said.count("recording needs torch 2.10 or newer, and this is torch") == 1


def test_a_torch_without_the_guard_gets_no_device(tmp_path, monkeypatch, capsys):
    monkeypatch.delattr(*GUARD)
    stderr, _ = record_two_launches(tmp_path, device="cpu")
    assert "torch 2.10 or newer is needed" in stderr["device-unknown-build"]["text"]
    assert "torch 2.10 or newer is needed" in capsys.readouterr().err
    assert not torch.cuda.is_available()


def test_doctor_says_which_torch_is_needed(monkeypatch):
    assert OLDEST_TORCH == (2, 10)
    monkeypatch.setattr(torch, "__version__", "2.9.1")
    part = triton_part()
    assert part.state == "broken"
    assert part.advice.startswith("install torch 2.10 or newer")


def test_a_build_for_cuda_without_a_driver_captures_into_no_graph(monkeypatch):
    def refused(_device):
        raise RuntimeError("CUDA driver version is insufficient for CUDA runtime version")

    monkeypatch.setattr(hot_choice, "_capture_query", lambda _torch: 1)
    number = hot_choice.capture_number(
        SimpleNamespace(
            _C=SimpleNamespace(_cuda_getCurrentRawStream=refused),
            cuda=SimpleNamespace(current_device=lambda: 0),
        )
    )
    assert number() is None
