"""Kernels that poll, as Triton and ptxas compile them, with what `nvdisasm` says of their code."""

import re
import subprocess
from pathlib import Path

import triton
import triton.language as tl
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kvtrace.backends.compiled_kernels.elf import SectionTable
from kvtrace.converters.disassembly import disassembled, disassembler

_LABEL = re.compile(r"^\s*(\.L_x_\d+):")
_LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+ )?(\S+?)(?:\s+(.*?))?\s*;")


@triton.jit
def adding(flag, x):
    while tl.atomic_add(flag, 1) == 0:
        pass
    tl.store(x, 1)


@triton.jit
def comparing(flag, x):
    while tl.atomic_cas(flag, 1, 0) == 0:
        pass
    tl.store(x, 1)


@triton.jit
def volatile(flag, x):
    while tl.load(flag, volatile=True) == 0:
        pass
    tl.store(x, 1)


@triton.jit
def sleeping(flag, x):
    while (
        tl.inline_asm_elementwise(
            "nanosleep.u32 100; ld.acquire.gpu.global.b32 $0, [$1];", "=r,l", [flag],
            dtype=tl.int32, is_pure=False, pack=1,
        ) == 0
    ):  # fmt: skip
        pass
    tl.store(x, 1)


@triton.jit
def working(flag, x):
    """A loop that ends by itself: it loads and stores as most kernels do."""
    for step in range(tl.load(flag)):
        tl.store(x + step, tl.load(x + step * 2) + 1)


@triton.jit
def product(
    a_ptr, b_ptr, c_ptr, m, n, k, BLOCK: tl.constexpr, STEP: tl.constexpr, WARPS: tl.constexpr
):  # fmt: skip
    a = tl.make_tensor_descriptor(a_ptr, [m, k], [k, 1], [BLOCK, STEP])
    b = tl.make_tensor_descriptor(b_ptr, [n, k], [k, 1], [BLOCK, STEP])
    c = tl.make_tensor_descriptor(c_ptr, [m, n], [n, 1], [BLOCK, BLOCK])
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in tl.range(0, k, STEP, warp_specialize=WARPS, num_stages=3):
        total = tl.dot(a.load([row, start]), b.load([column, start]).T, total)
    c.store([row, column], total.to(tl.float16))


class Code:
    """The instructions of one kernel, and what `nvdisasm` says of them."""

    def __init__(self, cubin):
        self.cubin = cubin
        sections = [one for one in SectionTable(cubin) if one.name.startswith(".text.")]
        self.code = bytes(sections[0].content)
        listing = disassembled(disassembler(), cubin)
        self.lines, self.labels, waiting = [], {}, []
        for line in listing.split("\n"):
            if label := _LABEL.match(line):
                waiting.append(label[1])
            elif found := _LINE.search(line):
                offset = int(found[1], 16)
                self.labels |= dict.fromkeys(waiting, offset)
                waiting = []
                self.lines.append((offset, found[2], found[3] or ""))

    def offsets(self, *names):
        return [offset for offset, op, _ in self.lines if op.startswith(names)]


def compiled(function, signature, constants, architecture):
    source = ASTSource(function, signature, constants)
    return Code(triton.compile(source, target=GPUTarget("cuda", architecture, 32)).asm["cubin"])


def compiled_poll(kernel, architecture):
    """Return a kernel with the parameters `flag` and `x`."""
    return compiled(kernel, {"flag": "*i32", "x": "*i32"}, {}, architecture)


def compiled_product(*, warps):
    """Return the matrix product for Hopper, with specialized warps if `warps`."""
    pointers = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp16") | dict.fromkeys("mnk", "i32")
    constants = {"BLOCK": 128, "STEP": 64, "WARPS": warps}
    signature = pointers | dict.fromkeys(constants, "constexpr")
    return compiled(product, signature, constants, 90)


def assembled_grid_barrier(architecture, folder):
    """Return the kernel of grid_barrier.ptx."""
    text = Path(__file__).with_name("grid_barrier.ptx").read_text()
    source, cubin = folder / "grid.ptx", folder / "grid.cubin"
    source.write_text(text.replace(".target sm_80", f".target {architecture}"))
    command = [knobs.nvidia.ptxas.path, "-arch", architecture, str(source), "-o", str(cubin)]
    subprocess.run(command, check=True)
    return Code(cubin.read_bytes())
