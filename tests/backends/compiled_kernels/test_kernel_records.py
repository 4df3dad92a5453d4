"""Records of compiled kernels whose jitted function lacks something."""

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kvtrace.backends.compiled_kernels.kernel_records import definition_of, kernel_record
from tests.backends import live_kernels as kernels


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    # Another checkout's kernel of the same text, in a shared cache, has the place of that one.
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    signature = {"source": "*fp32", "result": "*fp32", "count": "i32", "BLOCK": "constexpr"}
    source = ASTSource(kernels.copy, signature, {"BLOCK": 256})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32))


def record(kernel):
    return kernel_record(kernel, None, None, "jit", "all", pytest.fail)


def test_kernel_of_torch_compiles_cache_is_placed_by_its_ir(compiled, monkeypatch):
    whole, place = record(compiled), definition_of(compiled)
    monkeypatch.setattr(compiled.src.fn, "fn", None)  # as Inductor does before it pickles one
    assert definition_of(compiled) == place
    assert record(compiled) == whole
