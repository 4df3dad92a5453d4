"""Loops that poll, in machine code of Triton and ptxas, compared with what `nvdisasm` says."""

import re
import subprocess
from pathlib import Path

import pytest
import triton
import triton.language as tl
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kvtrace.addons.fault.dump.polling import branch_target, is_strong, poll_around
from kvtrace.backends.compiled_kernels.elf import SectionTable
from kvtrace.converters.disassembly import disassembled, disassembler

_LABEL = re.compile(r"^\s*(\.L_x_\d+):")
_LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+ )?(\S+?)(?:\s+(.*?))?\s*;")
_TARGET = re.compile(r"\.L_x_\d+")


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


@pytest.fixture(scope="module", params=[80, 90, 100])
def architecture(request):
    return request.param


@pytest.fixture(scope="module")
def polls(architecture):
    """Kernels by name, for one architecture."""
    kernels = (adding, comparing, volatile, sleeping, working)
    signature = {"flag": "*i32", "x": "*i32"}
    return {kernel.fn.__name__: compiled(kernel, signature, {}, architecture) for kernel in kernels}


@pytest.fixture(scope="module", params=[False, True])
def pipelined(request):
    """A matrix product by the tensor memory accelerator, also with specialized warps."""
    pointers = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp16") | dict.fromkeys("mnk", "i32")
    constants = {"BLOCK": 128, "STEP": 64, "WARPS": request.param}
    signature = pointers | dict.fromkeys(constants, "constexpr")
    return compiled(product, signature, constants, 90)


@pytest.fixture(scope="module", params=["sm_80", "sm_90"])
def grid_barrier(request, tmp_path_factory):
    text = Path(__file__).with_name("grid_barrier.ptx").read_text()
    folder = tmp_path_factory.mktemp("grid")
    source, cubin = folder / "grid.ptx", folder / "grid.cubin"
    source.write_text(text.replace(".target sm_80", f".target {request.param}"))
    command = [knobs.nvidia.ptxas.path, "-arch", request.param, str(source), "-o", str(cubin)]
    subprocess.run(command, check=True)
    return Code(cubin.read_bytes())


def agrees(code):
    """Compare branches and strong loads with the listing; return how many of each there are."""
    branches = loads = 0
    for offset, op, operands in code.lines:
        label = _TARGET.search(operands)
        if op.startswith("BRA") and label is not None:
            assert branch_target(code.code, offset) == code.labels[label[0]], (op, operands)
            branches += 1
        elif op.split(".")[0] in ("LDG", "LD"):
            assert is_strong(code.code, offset) == ("STRONG" in op), op
            loads += 1
    return branches, loads


def test_branches_and_strong_loads_are_those_of_the_disassembly(polls, grid_barrier, pipelined):
    counts = [agrees(code) for code in (*polls.values(), grid_barrier, pipelined)]
    assert all(branches for branches, _ in counts)
    assert sum(loads for _, loads in counts) >= 4
    assert sum(branches for branches, _ in counts) > 40


@pytest.mark.parametrize(
    ("name", "kind", "instruction"),
    [
        ("adding", "atomic", "ATOMG"),
        ("comparing", "atomic", "ATOMG"),
        ("volatile", "load", "LDG"),
        ("sleeping", "load", "LDG"),
    ],
)
def test_each_instruction_of_a_spin_leads_to_the_one_that_polls(polls, name, kind, instruction):
    code = polls[name]
    (polling,) = code.offsets(instruction)
    (back,) = [
        offset
        for offset in code.offsets("BRA")
        if (target := branch_target(code.code, offset)) is not None and target <= polling < offset
    ]
    for offset in range(branch_target(code.code, back), back + 16, 16):
        poll = poll_around(code.code, offset)
        assert poll is not None
        assert (poll.kind, poll.offset) == (kind, polling)
    assert poll_around(code.code, back + 16) is None
    assert poll_around(code.code, code.offsets("STG")[0]) is None


def test_loop_that_stores_polls_nothing(polls):
    code = polls["working"]
    assert any(branch_target(code.code, offset) <= offset for offset in code.offsets("BRA"))
    assert [offset for offset, _, _ in code.lines if poll_around(code.code, offset)] == []


def test_warps_that_wait_for_a_copy_are_at_an_mbarrier(pipelined):
    waits = pipelined.offsets("SYNCS.PHASECHK")
    assert len(waits) >= 2
    for offset in waits:
        for place in (offset, offset + 16):  # a thread may be at the next instruction
            assert poll_around(pipelined.code, place).kind == "mbarrier"
    polls = [
        (offset, poll)
        for offset, _, _ in pipelined.lines
        if (poll := poll_around(pipelined.code, offset)) is not None
    ]
    assert {poll.offset for _, poll in polls} == set(waits)
    assert all(abs(offset - poll.offset) <= 8 * 16 for offset, poll in polls)
    assert poll_around(pipelined.code, pipelined.offsets("SYNCS.ARRIVE")[0] + 16) is None


def test_barrier_of_the_grid_is_told_from_other_polls(grid_barrier):
    (load,) = grid_barrier.offsets("LD.")
    poll = poll_around(grid_barrier.code, load + 16)
    assert (poll.kind, poll.offset) == ("grid", load)


def test_offsets_outside_of_the_code_poll_nothing(polls):
    code = polls["volatile"].code
    for offset in (-16, 8, len(code), len(code) + 160):
        assert poll_around(code, offset) is None
