"""A library with vLLM's names that finds no file of configurations, used from the folder PATH.

It stands for vLLM, which is too large to be installed for tests: the names of its module, function,
kernel and arguments are those that kvtrace looks for.
"""

import sys
from pathlib import Path

LIBRARY = """
from functools import lru_cache
from pathlib import Path

import torch
import triton
import triton.language as tl


@lru_cache
def get_moe_configs(E, N, dtype, block_n=None, block_k=None):
    return None if E == 4 else {16: {}, 1: {}}


@triton.jit
def fused_moe_kernel(b_ptr, c_ptr, BLOCK_SIZE_N: tl.constexpr):
    lanes = tl.arange(0, BLOCK_SIZE_N)
    tl.store(c_ptr + lanes, tl.load(b_ptr + lanes) + 1)


def run(E, N):
    configurations = get_moe_configs(E, N, None, block_n=0)
    b = torch.zeros((E, 2 * N, 8), device="cuda")
    fused_moe_kernel[(1,)](b, torch.empty_like(b), BLOCK_SIZE_N=64)
    return configurations
"""

folder = Path(sys.argv[1])
package = folder / "vllm" / "model_executor" / "layers" / "fused_moe"
package.mkdir(parents=True)
for parent in (package, *package.parents[:3]):
    (parent / "__init__.py").touch()
(package / "fused_moe.py").write_text(LIBRARY)
sys.path.insert(0, str(folder))

import torch  # noqa: E402 - after the library is in its place
from vllm.model_executor.layers.fused_moe import fused_moe  # noqa: E402

for _ in range(2):
    assert fused_moe.run(4, 128) is None
    assert fused_moe.run(8, 128) == {16: {}, 1: {}}
assert fused_moe.get_moe_configs.cache_info().hits == 2
fused_moe.get_moe_configs.cache_clear()


@torch.compile(backend="eager", fullgraph=True)
def compiled(x: torch.Tensor) -> torch.Tensor:
    """Ask for configurations while torch traces: nothing may break the graph."""
    return x + 1 if fused_moe.get_moe_configs(4, 64, None) is None else x


assert compiled(torch.zeros(2)).tolist() == [1, 1]
