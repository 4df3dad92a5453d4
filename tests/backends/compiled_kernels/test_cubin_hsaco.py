"""Registers and local memory from AMD code objects, against the assembly that they come from."""

import re
from pathlib import Path

import pytest

from kvtrace.backends.compiled_kernels.cubin import hsaco_resources
from kvtrace.backends.compiled_kernels.elf import UnreadableBinary

triton = pytest.importorskip("triton")

from triton.backends.compiler import GPUTarget  # noqa: E402 - after the check that it is there
from triton.compiler import ASTSource  # noqa: E402

from tests.support.corpus_cases import softmax  # noqa: E402

SIGNATURE = {"x": "*fp32", "out": "*fp32", "stride": "i32", "columns": "i32", "BLOCK": "constexpr"}


@pytest.mark.costly("compiles for AMD; other resources stay by day")
@pytest.mark.parametrize(("block", "waves"), [(256, 0), (4096, 8)])
def test_resources_are_those_of_the_assembly(
    block: int, waves: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    source = ASTSource(fn=softmax, signature=SIGNATURE, constexprs={(4,): block})
    options = {"num_warps": 1, "waves_per_eu": waves}  # many waves leave few registers
    kernel = triton.compile(source, target=GPUTarget("hip", "gfx942", 64), options=options)
    assembly = kernel.asm["amdgcn"]
    registers = re.search(r"\.vgpr_count:\s+(\d+)", assembly)
    local = re.search(r"\.private_segment_fixed_size:\s+(\d+)", assembly)
    assert registers
    assert local

    resources = hsaco_resources(kernel.asm["hsaco"], "softmax")

    assert (resources.registers, resources.local_bytes) == (int(registers[1]), int(local[1]))
    assert (resources.spills > 0) == (block > 256)
    with pytest.raises(UnreadableBinary, match="no such kernel"):
        hsaco_resources(kernel.asm["hsaco"], "another")


def test_files_other_than_code_objects_are_refused() -> None:
    for spoiled in (b"", b"not an ELF file", bytes(5000)):
        with pytest.raises(UnreadableBinary, match="softmax"):
            hsaco_resources(spoiled, "softmax")
