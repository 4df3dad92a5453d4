"""Loops that poll, in machine code of Triton and ptxas, compared with what `nvdisasm` says."""

import re

import pytest

from kvtrace.addons.fault.dump.sass import branch_target, is_strong, poll_around
from tests.addons.fault.polling_kernels import (
    adding,
    assembled_grid_barrier,
    comparing,
    compiled_poll,
    compiled_product,
    sleeping,
    volatile,
    working,
)

_TARGET = re.compile(r"\.L_x_\d+")
COSTLY = pytest.mark.costly("compiles its kernels for 2 s; those of one architecture stay")


@pytest.fixture(
    scope="module", params=[80, pytest.param(90, marks=COSTLY), pytest.param(100, marks=COSTLY)]
)
def architecture(request):
    return request.param


@pytest.fixture(scope="module")
def polls(architecture):
    """Kernels by name, for one architecture."""
    kernels = (adding, comparing, volatile, sleeping, working)
    return {kernel.fn.__name__: compiled_poll(kernel, architecture) for kernel in kernels}


@pytest.fixture(scope="module", params=[False, True])
def pipelined(request):
    """A matrix product by the tensor memory accelerator, also with specialized warps."""
    return compiled_product(warps=request.param)


@pytest.fixture(scope="module", params=["sm_80", "sm_90"])
def grid_barrier(request, tmp_path_factory):
    return assembled_grid_barrier(request.param, tmp_path_factory.mktemp("grid"))


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
