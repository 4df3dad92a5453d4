"""Registers and local memory from cubins, against the tool that ships with Triton."""

import re
import subprocess
from pathlib import Path

import pytest

from kvtrace.backends.compiled_kernels.cubin import UnreadableBinary, cubin_resources

triton = pytest.importorskip("triton")

from triton import language as tl  # noqa: E402 - after the check that it is there
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

from tests.support.corpus_cases import messages, vector_add  # noqa: E402
from tests.support.tiers import some  # noqa: E402


@triton.jit
def spilling(x, out, n, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    left, right = tl.load(x + rows), tl.load(x + n + rows)
    for _ in range(n):
        left = tl.cumsum(left, 1) * tl.sum(right) + tl.trans(right)
        right = right * 2 + tl.exp(left)
    tl.store(out + rows, left + right)


KERNELS = {
    "vector_add": (
        vector_add,
        {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"},
        1024,
    ),
    "messages": (messages, {"x": "*i32", "n": "i32", "BLOCK": "constexpr"}, 64),
    "spilling": (
        spilling,
        {"x": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"},
        128,
    ),
}


@pytest.fixture(scope="module", params=some([90, 100], 2))
def cubins(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(f"sm{request.param}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(folder / "cache"))
        for name, (function, signature, block) in KERNELS.items():
            source = ASTSource(
                fn=function, signature=signature, constexprs={(len(signature) - 1,): block}
            )
            target = GPUTarget("cuda", request.param, 32)
            kernel = triton.compile(source, target=target, options={"debug": name == "messages"})
            (folder / f"{name}.cubin").write_bytes(kernel.asm["cubin"])
    return folder


@pytest.mark.process
def test_cubin_resources_equal_those_of_cuobjdump(cubins: Path) -> None:
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    spills = {}
    for name in KERNELS:
        path = cubins / f"{name}.cubin"
        listing = subprocess.run(
            [str(tool), "--dump-resource-usage", str(path)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        match = re.search(rf"Function {name}:\s+REG:(\d+) STACK:(\d+)", listing)
        assert match, listing
        resources = cubin_resources(path.read_bytes(), name)
        assert (resources.registers, resources.local_bytes) == (int(match[1]), int(match[2]))
        spills[name] = resources.spills
    assert spills["vector_add"] == 0
    assert spills["messages"] > 0  # printing takes stack
    assert spills["spilling"] > 0


@pytest.mark.costly("compiles cubins; refusals of hsaco stay by day")
def test_files_other_than_cubins_are_refused(cubins: Path) -> None:
    whole = (cubins / "vector_add.cubin").read_bytes()
    for spoiled in (b"", b"not an ELF file", whole[:64], whole[: len(whole) // 2], bytes(5000)):
        with pytest.raises(UnreadableBinary, match="vector_add"):
            cubin_resources(spoiled, "vector_add")
    with pytest.raises(UnreadableBinary, match="no such function"):
        cubin_resources(whole, "another")
