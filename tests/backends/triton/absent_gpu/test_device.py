"""With KVTRACE_DEVICE=cpu there is said to be a GPU, with tensors in the host's memory."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kvtrace.backends.triton.absent_gpu import TORCH, on_host
from kvtrace.schema.trace import open_trace
from kvtrace.settings import Settings
from tests.backends.triton.absent_gpu.programs import KERNEL, Ended, run
from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu()

# torch first, and asked before Triton is: as a test file that skips itself without a GPU.
TENSORS = f"""
import threading
import torch

seen["available"] = torch.cuda.is_available(), torch.cuda.device_count()
{KERNEL}
def devices(*tensors):
    return sorted({{tensor.device.type for tensor in tensors}})

g = torch.Generator(device="cuda").manual_seed(3)
same = torch.Generator(device="cpu").manual_seed(3)
seen["generators"] = [isinstance(one, torch.Generator) for one in (g, torch.default_generator)]
seen["seeded"] = torch.equal(
    torch.rand(4, device="cuda", generator=g).cpu(), torch.rand(4, generator=same)
)
there = torch.device("cuda", 0)
made = [
    torch.zeros(2, device="cuda:0"), torch.arange(3, device=there), torch.tensor([1], device=0),
    torch.empty_like(torch.ones(2), device=there), torch.zeros(2).new_full((2,), 1, device="cuda"),
    torch.ones(2).to(0), torch.ones(2).to(there, torch.float16), torch.ones(2).to(device="cuda"),
    torch.nn.Linear(2, 2, device="cuda").weight, torch.nn.Linear(2, 2).cuda().weight,
    torch.fft.fftfreq(4, device="cuda"),
]
with there:
    made.append(torch.ones(2))
torch.set_default_device("cuda")
made.append(torch.ones(2))
torch.set_default_device(None)
thread = threading.Thread(target=lambda: made.append(torch.zeros(1, device="cuda")))
thread.start()
thread.join()
seen["devices"] = devices(*made)
with torch.device("meta"):
    seen["meta"] = devices(torch.zeros(2), torch.zeros(2, device="meta"))

host = torch.zeros(100)
x = host.cuda()
add_one[(1,)](x, 100, BLOCK=128)
back = x.cpu()
add_one[(1,)](x, 100, BLOCK=128)
seen["copies"] = [host.unique().tolist(), back.unique().tolist(), x.unique().tolist()]
part = x[1:]
seen["stays"] = [x.cuda() is x, part.to("cuda").data_ptr() == part.data_ptr(), x.to(x.device) is x]
leaves = [host.to("cuda").requires_grad_() for _ in range(2)]
(leaves[0] * 3).sum().backward()
seen["leaves"] = leaves[1].grad is None and leaves[0].grad.unique().tolist() == [3.0]

with torch.autocast("cuda", dtype=torch.bfloat16):
    seen["autocast"] = [
        str((made[0][:, None] @ made[0][None]).dtype),
        torch.is_autocast_enabled("cuda"), str(torch.get_autocast_dtype("cuda")),
    ]

class Twice(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, x):
        return x * 2

with torch.autocast("cuda", dtype=torch.bfloat16):
    seen["custom"] = str(Twice.apply(torch.ones(2, dtype=torch.float16, device="cuda")).dtype)

torch.cuda.manual_seed_all(7)
one = torch.rand(3, device="cuda")
torch.cuda.manual_seed(7)
with torch.random.fork_rng():
    torch.rand(9, device="cuda")
seen["again"] = torch.equal(one, torch.rand(3, device="cuda"))

@torch.library.custom_op("kvtracetest::twice", mutates_args=(), device_types="cuda")
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2

library = torch.library.Library("kvtracetest", "FRAGMENT")
library.define("thrice(Tensor x) -> Tensor")
library.impl("thrice", lambda x: x * 3, "CUDA")
thrice = torch.ops.kvtracetest.thrice
seen["operators"] = [one(torch.ones(1, device="cuda")).item() for one in (twice, thrice)]

@torch.jit.script
def scripted(x):
    return torch.zeros(2) + x

seen["scripted"] = scripted(torch.ones(2)).tolist()
compiled = torch.compile(lambda x: torch.zeros(2, device="cuda") + x, backend="aot_eager")
seen["compiled"] = compiled(torch.ones(2, device="cuda")).tolist()
torch._dynamo.reset()
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    folder = tmp_path_factory.mktemp("tensors")
    ended = run(folder, TENSORS, fresh=True, KVTRACE_DEVICE="cpu")
    assert ended.code == 0, ended.errors
    trace = open_trace(folder / "out")
    (run_row,) = trace.table("runs", columns=["devices"]).to_pylist()
    recorded = {"launches": trace.table("launches").num_rows, "recorded": run_row["devices"]}
    return ended._replace(seen=ended.seen | recorded)


@pytest.mark.process
def test_one_message_says_that_torch_reports_a_gpu(ended: Ended) -> None:
    assert ended.seen["available"] == [True, 1]
    message, summary = ended.told
    assert "operators ran on the CPU; refused: nothing" in summary
    assert "one NVIDIA H100 80GB HBM3 (cuda:90)" in message
    assert "KVTRACE_DEVICE=cpu" in message


AS_ON_A_GPU: dict[str, Any] = {
    "recorded": [],  # the trace says that there was no GPU
    "devices": ["cuda"],
    "meta": ["meta"],
    "generators": [True, True],
    "seeded": True,
    "again": True,
    "copies": [[0.0], [1.0], [2.0]],
    "leaves": True,
    "launches": 2,
    "stays": [True, True, True],  # a tensor of the device that is moved there is the same
    "autocast": ["torch.bfloat16", True, "torch.bfloat16"],
    "custom": "torch.float32",
    "operators": [2.0, 3.0],
    "scripted": [1.0, 1.0],
    "compiled": [1.0, 1.0],
}


@pytest.mark.process
@pytest.mark.parametrize("what", AS_ON_A_GPU)
def test_programs_run_as_on_a_gpu(ended: Ended, what: str) -> None:
    assert ended.seen[what] == AS_ON_A_GPU[what]


# As vLLM's platform detection and its HAS_TRITON ask.
AS_VLLM = """
import torch, pynvml
from triton.backends import backends

try:
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    seen["count"] = pynvml.nvmlDeviceGetCount()
    seen["name"] = pynvml.nvmlDeviceGetName(handle)
    seen["capability"] = pynvml.nvmlDeviceGetCudaComputeCapability(handle)
    seen["memory"] = pynvml.nvmlDeviceGetMemoryInfo(handle).total
    pynvml.nvmlShutdown()
except pynvml.NVMLError:
    seen["count"] = 0
seen["drivers"] = sum(one.driver.is_active() for one in backends.values())
import triton
seen["target"] = triton.runtime.driver.active.get_current_target().backend
seen["torch"] = str(triton.runtime.driver.active.get_active_torch_device())
"""
PYNVML = """
class NVMLError(Exception):
    pass

def nvmlInit(): raise NVMLError("no library")
nvmlShutdown = nvmlDeviceGetCount = nvmlInit
def nvmlDeviceGetHandleByIndex(index): raise NVMLError("no library")
nvmlDeviceGetName = nvmlDeviceGetCudaComputeCapability = nvmlDeviceGetHandleByIndex
nvmlDeviceGetMemoryInfo = nvmlDeviceGetUUID = nvmlDeviceGetHandleByIndex
"""


@pytest.mark.process
def test_driver_queries_of_vllm_are_answered(tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text(PYNVML)
    ended = run(tmp_path, AS_VLLM, fresh=True, KVTRACE_DEVICE="cpu", KVTRACE_TARGET="cuda:80")
    assert ended.seen == {
        "count": 1, "name": "NVIDIA A100-SXM4-80GB", "capability": [8, 0],
        "memory": 80 * 1024**3, "drivers": 1, "target": "cuda", "torch": "cuda:0",
    }  # fmt: skip


@pytest.mark.process
def test_without_the_setting_driver_queries_fail_as_before(tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text(PYNVML)
    ended = run(tmp_path, AS_VLLM)
    assert (ended.seen["count"], ended.seen["drivers"]) == (0, 0)
    assert ended.told == []


@pytest.mark.process
def test_after_a_recording_torch_is_as_before(tmp_path: Path) -> None:
    text = """
import kvtrace, torch
before = {owner: dict(vars(owner)) for owner in (torch, torch.cuda, torch.Tensor, torch.library)}
with kvtrace.capture("out2", device="cpu"):
    seen["there"] = torch.cuda.is_available(), torch.zeros(1, device="cuda").device.type
seen["left"] = [
    f"{owner.__name__}.{name}" for owner, names in before.items() for name in names
    if getattr(owner, name, None) is not names[name] and callable(names[name])
]
seen["available"] = torch.cuda.is_available()
"""
    ended = run(tmp_path, text, KVTRACE="")
    assert ended.seen["there"] == [True, "cuda"]
    assert ended.seen["available"] is False
    assert [name for name in ended.seen["left"] if "__" not in name] == []


def test_on_a_machine_with_a_gpu_nothing_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[Any] = []
    session = SimpleNamespace(
        settings=Settings(device="cpu"), message=lambda *message: messages.append(message)
    )
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    before = torch.zeros, torch.Tensor.to, torch.cuda.get_device_name, torch.cuda.Stream
    TORCH.install(session)  # type: ignore[arg-type]
    assert (torch.zeros, torch.Tensor.to, torch.cuda.get_device_name, torch.cuda.Stream) == before
    assert not on_host()
    assert [code for _, code, _ in messages] == ["device-unused"]
    assert "torch" in sys.modules
