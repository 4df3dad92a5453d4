"""Questions that fail without a GPU are answered for the target, and only those."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kvtrace.backends.triton.absent_gpu.answers import _first_answer_reporter, install_answers
from kvtrace.schema.trace import open_trace
from tests.backends.triton.absent_gpu.programs import KERNEL, run
from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu()

# As FLA's fla/utils/hardware.py asks when it is imported.
AS_FLA = """
import functools
import torch, triton

def backend():
    try:
        return triton.runtime.driver.active.get_current_target().backend
    except Exception:
        return "cpu"

device = "cuda" if backend() == "hip" else backend()
library = getattr(torch, device)
seen["device"] = device
seen["nvidia"] = device == "cuda"
name = torch.cuda.get_device_name(0)
seen["hopper"] = "NVIDIA H" in name or library.get_device_capability()[0] == 9
seen["tf32"] = torch.cuda.get_device_capability(0)[0] >= 8
seen["optin"] = torch.cuda.get_device_properties(0).shared_memory_per_block_optin
properties = triton.runtime.driver.active.utils.get_device_properties(0)
seen["processors"] = properties["multiprocessor_count"]
seen["current"] = library.current_device()
forward = functools.partial(torch.amp.custom_fwd, device_type=device)
with library.device(0):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        event = torch.cuda.Event(enable_timing=True)
        event.record()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    seen["elapsed"] = event.elapsed_time(event)
torch.cuda.set_device(0)
seen["memory"] = torch.cuda.mem_get_info()
torch.accelerator.synchronize()
torch.accelerator.empty_cache()
torch.accelerator.reset_peak_memory_stats()
seen["allocated"] = torch.accelerator.memory_allocated()
seen["capturing"] = torch.cuda.is_current_stream_capturing()
seen["available"] = torch.cuda.is_available()
seen["count"] = torch.cuda.device_count()
"""


@pytest.mark.process
def test_queries_of_fla_at_import_are_answered_for_the_target_with_one_message(
    tmp_path: Path,
) -> None:
    ended = run(tmp_path, AS_FLA, fresh=True)
    assert ended.seen["device"] == "cuda"
    assert ended.seen["hopper"]
    assert ended.seen["tf32"]
    assert ended.seen["optin"] == 232_448
    assert ended.seen["processors"] == 132
    assert ended.seen["current"] == 0
    assert ended.seen["elapsed"] == 0
    assert ended.seen["memory"] == [80 * 1024**3] * 2
    assert ended.seen["allocated"] == 0
    assert not ended.seen["capturing"]
    (message,) = ended.told
    assert "NVIDIA H100 80GB HBM3 (cuda:90)" in message
    assert "program.py:1" in message  # who asked first
    assert "KVTRACE_DEVICE=cpu" in message


@pytest.mark.process
def test_queries_that_torch_can_answer_keep_torchs_answer(tmp_path: Path) -> None:
    ended = run(tmp_path, AS_FLA)
    assert ended.seen["available"] is False
    assert ended.seen["count"] == 0


@pytest.mark.process
def test_another_target_is_another_device(tmp_path: Path) -> None:
    ended = run(tmp_path, AS_FLA, KVTRACE_TARGET="cuda:80")
    assert not ended.seen["hopper"]
    assert ended.seen["optin"] == 166_912
    assert "NVIDIA A100-SXM4-80GB (cuda:80)" in ended.told[0]


@pytest.mark.process
@pytest.mark.parametrize("variables", [{"KVTRACE": ""}, {"KVTRACE_DEVICE": "none"}])
def test_queries_are_answered_only_while_recording_and_if_allowed(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    text = "import torch, triton\ntry:\n    triton.runtime.driver.active\nexcept RuntimeError:\n"
    text += "    pass\ntorch.cuda.get_device_name()"
    ended = run(tmp_path, text, **variables)
    assert ended.code == 1
    assert "Torch not compiled with CUDA enabled" in ended.errors or "NVIDIA" in ended.errors
    assert ended.told == []


@pytest.mark.process
def test_a_program_can_still_fall_back_to_the_cpu(tmp_path: Path) -> None:
    text = f"""
import torch
{KERNEL}
try:
    torch.cuda.get_device_capability()
    device = "cuda"
except (AssertionError, RuntimeError):
    device = "cpu"
seen["device"] = device
if torch.cuda.is_available():
    device = "cuda"
x = torch.zeros(100, device=device)
add_one[(1,)](x, 100, BLOCK=128)
seen["right"] = bool((x == 1).all())
"""
    ended = run(tmp_path, text)
    assert ended.seen == {"device": "cpu", "right": True}
    assert ended.told == []
    assert open_trace(tmp_path / "out").table("launches").num_rows == 1


@pytest.mark.process
def test_after_a_recording_torch_is_as_before(tmp_path: Path) -> None:
    text = """
import kvtrace, torch, triton
before = dict(vars(torch.cuda)), dict(vars(torch.accelerator))
with kvtrace.capture("out2"):
    triton.runtime.driver.active
    seen["name"] = torch.cuda.get_device_name()
now = dict(vars(torch.cuda)), dict(vars(torch.accelerator))
seen["left"] = [n for b, a in zip(before, now) for n in b if b[n] is not a[n]]
try:
    torch.cuda.get_device_name()
except (AssertionError, RuntimeError) as error:
    seen["error"] = str(error)
"""
    ended = run(tmp_path, text, KVTRACE="")
    assert ended.seen["name"].startswith("NVIDIA H100")
    assert ended.seen["left"] == []
    assert ended.seen["error"]


def test_torchs_own_answer_is_never_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[Any] = []
    session = SimpleNamespace(message=lambda *message: messages.append(message))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda *_: "a real one")
    replaced = install_answers(session, "cuda:90")  # type: ignore[arg-type]
    try:
        assert torch.cuda.get_device_name() == "a real one"
        assert messages == []
        assert torch.cuda.get_device_capability() == (9, 0)
        assert torch.cuda.current_device() == 0
        assert len(messages) == 1  # though two questions were answered
    finally:
        replaced.undo()


def test_a_program_without_standard_error_gets_its_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    messages: list[Any] = []
    session: Any = SimpleNamespace(message=lambda *message: messages.append(message))

    _first_answer_reporter(session, "a GPU", "cuda:90")()

    assert [code for _, code, _ in messages] == ["device-answers"]
