"""What kernels that hang wait for: dumps of warps that are in code of really compiled kernels."""

import inspect

import pytest

from kvtrace.addons.fault.dump.reading import Dump, Grid, Thread, Warp
from kvtrace.addons.fault.explaining import faults_of
from kvtrace.backends.compiled_kernels.elf import SectionTable
from tests.addons.fault.polling_kernels import (
    adding,
    assembled_grid_barrier,
    compiled_poll,
    compiled_product,
    product,
    sleeping,
    volatile,
)


def hanging(code, *offsets, name=None):
    """Return the fault of a kernel whose warps are at the offsets."""
    section = next(one for one in SectionTable(code.cubin) if one.name.startswith(".text."))
    warps = tuple(
        Warp((0, 0, 0), None, 1, (0, number), lambda at=at: (Thread(0, (0, 0, 0), at, 0, ()),))
        for number, at in enumerate(offsets)
    )
    grid = Grid(
        name or section.name.removeprefix(".text."), (1, 1, 1), b"", code.cubin,
        code.code, section.address, 0, warps,
    )  # fmt: skip
    (fault,) = faults_of(Dump(0, "", (), (grid,)), None, ())
    return fault


def line_of(kernel, text):
    lines, first = inspect.getsourcelines(kernel.fn)
    return next(first + number for number, line in enumerate(lines) if text in line)


@pytest.mark.parametrize(
    ("kernel", "line", "waits_for"),
    [
        (adding, "tl.atomic_add", "a value in memory, which it reads by an atomic"),
        (volatile, "volatile=True", "a value in memory, which it reads again and again"),
        (sleeping, "nanosleep", "a value in memory, which it reads again and again"),
    ],
)
def test_warp_that_is_stopped_at_the_branch_of_its_loop(kernel, line, waits_for):
    code = compiled_poll(kernel, 90)
    poll = code.offsets("ATOMG", "LDG.E.STRONG")[0]
    branch = next(offset for offset in code.offsets("BRA") if offset > poll)
    fault = hanging(code, branch)
    assert (fault.waits_for, fault.place.line) == (waits_for, line_of(kernel, line))
    assert fault.elsewhere == ()


def test_barrier_inside_of_a_spin_is_not_what_the_kernel_waits_for():
    """Triton's scalar atomic: one thread reads, and the others wait for it in each round."""
    code = compiled_poll(adding, 90)
    fault = hanging(code, *code.offsets("BAR.SYNC"))
    assert fault.waits_for == "a value in memory, which it reads by an atomic"


def test_specialized_warps_wait_for_mbarriers_at_several_lines():
    code = compiled_product(warps=True)
    waits = code.offsets("SYNCS.PHASECHK")
    fault = hanging(code, *waits)
    assert fault.waits_for.startswith("an mbarrier: ")
    count = len(waits)
    assert count >= 8
    assert fault.place.line == line_of(product, "def product")  # Triton's own waits have no other
    (others,) = fault.elsewhere
    line = line_of(product, "c.store") - 1
    assert others.startswith(f"{count // 2} warps at line {line}, for an mbarrier: ")


def test_programs_that_wait_for_the_whole_grid(tmp_path):
    code = assembled_grid_barrier("sm_90", tmp_path)
    (load,) = code.offsets("LD.")
    last_barrier = code.offsets("BAR.SYNC")[-1]
    fault = hanging(code, last_barrier, last_barrier, load + 16)
    assert fault.waits_for == "other programs of its grid, at a barrier of the whole grid"
    assert fault.elsewhere == (
        "2 warps at a line that is not known, for other threads of its program, at a barrier",
    )


def test_kernel_of_nccl_waits_for_its_collective():
    code = compiled_poll(volatile, 90)
    fault = hanging(code, 0x40, name="ncclDevKernel_AllGather_RING_LL")
    assert fault.waits_for == "other ranks, in NCCL's AllGather"


def test_kernel_that_only_works_waits_for_nothing_known():
    code = compiled_poll(volatile, 90)
    assert hanging(code, code.offsets("STG")[0]).waits_for == ""
