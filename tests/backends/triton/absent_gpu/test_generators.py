"""Random numbers of the absent GPU: states of 16 bytes, and their use in programs."""

from pathlib import Path
from typing import Any

import pytest

from tests.backends.triton.absent_gpu.programs import Ended, run
from tests.support.tiers import needs
from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu()

PROGRAM = """
import copy
import torch
from torch.utils.checkpoint import checkpoint

def drawn():
    return torch.rand(3, device="cuda").tolist()

def words():
    return torch.cuda.get_rng_state().view(torch.int64).tolist()

torch.manual_seed(7)
state = torch.cuda.get_rng_state()
seen["state"] = [state.dtype == torch.uint8, state.device.type, list(state.shape), words()]
first, second = drawn(), drawn()
seen["moved on"] = [words()[0], words()[1] > 0 and words()[1] % 4 == 0, first != second]
torch.cuda.set_rng_state(state)
seen["restored"] = [drawn() == first, drawn() == second]

later = torch.cuda.get_rng_state()
third = drawn()
torch.cuda.set_rng_state(later)
torch.nn.functional.dropout(torch.ones(8, device="cuda"))
seen["each operator draws others"] = drawn() != third
torch.cuda.set_rng_state(later)
kept = torch.nn.functional.dropout(torch.ones(64, device="cuda"))
torch.cuda.set_rng_state(later)
again = torch.nn.functional.dropout(torch.ones(64, device="cuda"))
seen["dropout"] = torch.equal(kept, again) and 0 < int(kept.count_nonzero()) < 64

torch.manual_seed(7)
with torch.random.fork_rng(devices=[0]):
    drawn()
    torch.manual_seed(8)
seen["forked"] = drawn() == first
host = torch.get_rng_state()
drawn()
seen["apart from the CPU's"] = torch.equal(host, torch.get_rng_state())

generator = torch.cuda.default_generators[0]
generator.manual_seed(7).set_offset(words()[1] + 8)
offset = generator.get_offset()
there = drawn()
generator.set_state(torch.tensor([7, offset]).view(torch.uint8))
seen["from an offset"] = drawn() == there
clone = generator.clone_state()
seen["cloned"] = [
    clone.device.type, torch.rand(3, device="cuda", generator=clone).tolist() == drawn()]
own = torch.Generator(device="cuda").manual_seed(7)
seen["own"] = [own.initial_seed(), torch.rand(3, device="cuda", generator=own).tolist() == first]

refused = []
for bad in (torch.zeros(8, dtype=torch.uint8), torch.zeros(16)):
    try:
        torch.cuda.set_rng_state(bad)
    except (RuntimeError, TypeError) as error:
        refused.append(str(error))
try:
    generator.set_offset(3)
except RuntimeError as error:
    refused.append(str(error))
seen["refused"] = refused

from torch._subclasses import FakeTensorMode
with FakeTensorMode(), torch.device("cuda"):
    seen["real under fake tensors"] = type(torch.cuda.get_rng_state()) is torch.Tensor

def block(x):
    return torch.nn.functional.dropout(x.sin(), 0.5)

def gradient(run):
    torch.manual_seed(3)
    x = torch.linspace(0, 1, 64, device="cuda", requires_grad=True)
    y = run(x)
    drawn()  # the recomputation has to go back behind it
    y.sum().backward()
    return x.grad

plain = gradient(block)
seen["checkpointed"] = [
    torch.equal(plain, gradient(lambda x: checkpoint(block, x, use_reentrant=reentrant)))
    for reentrant in (False, True)
]

from torch.distributed.tensor._random import _PhiloxState
packed = _PhiloxState(torch.cuda.get_rng_state())
packed.offset = packed.offset + 8
torch.cuda.set_rng_state(packed.state)
seen["as DTensor packs it"] = [int(packed.seed), words() == [3, int(packed.offset)]]
"""


@pytest.fixture(scope="module")
@needs("process")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    ended = run(tmp_path_factory.mktemp("generators"), PROGRAM, fresh=True, KVTRACE_DEVICE="cpu")
    assert ended.code == 0, ended.errors
    return ended


AS_ON_A_GPU: dict[str, Any] = {
    "state": [True, "cpu", [16], [7, 0]],  # a seed and an offset
    "moved on": [7, True, True],
    "from an offset": True,
    "own": [7, True],
    "cloned": ["cuda", True],
    "restored": [True, True],
    "each operator draws others": True,
    "dropout": True,
    "forked": True,
    "apart from the CPU's": True,
    "checkpointed": [True, True],
    "as DTensor packs it": [3, True],
    "real under fake tensors": True,
    "refused": [
        "RNG state is wrong size", "RNG state must be a torch.ByteTensor",
        "offset must be a multiple of 4",
    ],
}  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize("what", AS_ON_A_GPU)
def test_generators_draw_as_on_a_gpu(ended: Ended, what: str) -> None:
    assert ended.seen[what] == AS_ON_A_GPU[what]


@pytest.mark.process
def test_generator_state_with_device_answers_has_the_same_size(tmp_path: Path) -> None:
    text = """
import torch, triton
triton.runtime.driver.active
state = torch.cuda.get_rng_state()
torch.cuda.set_rng_state(state)
seen["size"] = state.numel()
"""
    ended = run(tmp_path, text, KVTRACE_DEVICE="answers")

    assert ended.code == 0, ended.errors
    assert ended.seen["size"] == 16
