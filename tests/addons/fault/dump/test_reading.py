"""Recorded dumps, compared with what `cuda-gdb` says of them, and damaged ones."""

import random

import pytest

from kvtrace.addons.fault.dump.exceptions import EXCEPTIONS
from kvtrace.addons.fault.dump.reading import UnreadableDump, read_dump
from tests.addons.fault.recorded import DUMPS, FAULTS, mutated

#: By dump, from `cuda-gdb`: kernel, grid, exception, and of the thread in focus its block, its
#: index, the failed instruction, the next one, and registers R0 to R8.
BY_CUDA_GDB = {
    "gather": (
        "gather", (16, 1, 1), "illegal address", (3, 0, 0), (96, 0, 0), 400, 464,
        (0x3C0, 0xFFFC60, 0x63E00000, 0x7FAD, 0x63E04F00, 0x7FAD, 0, 0, 0x63E00000),
    ),
    "called": (
        "called", (4, 1, 1), "illegal address", (2, 0, 0), (0, 0, 0), 208, 240,
        (0, 0xFFFC60, 0, 0, 0xEFE04000, 0x7FF5, 0, 0, 0),
    ),
    "shifted": (
        "shifted", (1, 1, 1), "misaligned address", (0, 0, 0), (0, 0, 0), 112, 144,
        (0, 0xFFFC60, 0x3BE00000, 0, 0x3BE04000, 0x7FA4, 0, 0, 0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_CUDA_GDB)
def test_dump_says_what_cuda_gdb_says(name):
    kernel, grid, exception, block, index, error_pc, pc, registers = BY_CUDA_GDB[name]
    dump = read_dump(DUMPS / f"{name}.nvcudmp")
    assert dump.devices == ("NVIDIA H100 80GB HBM3",)
    assert dump.driver == "580.159"
    failed = dump.failed
    assert failed is not None
    assert (failed.name, failed.size, EXCEPTIONS[failed.exception].words) == (
        kernel,
        grid,
        exception,
    )
    warp = next(warp for warp in failed.failed if warp.block == block)
    assert warp.error_pc == error_pc
    thread = next(thread for thread in warp.threads if thread.index == index)
    assert (thread.pc, EXCEPTIONS[thread.exception].words) == (pc, exception)
    assert tuple(thread.registers[:9]) == registers


def test_kernel_that_hangs_is_on_the_device_without_an_exception():
    dump = read_dump(DUMPS / "spinning.nvcudmp")
    (grid,) = dump.grids
    assert dump.failed is None
    assert (grid.name, grid.size, grid.failed) == ("spinning", (2, 1, 1), ())
    pcs = {thread.pc for warp in grid.warps for thread in warp.threads if thread.lane == 0}
    assert 0x110 in pcs  # cuda-gdb: lane 0 of warp 0 is at the kernel's start + 0x110
    assert {warp.block for warp in grid.warps} == {(0, 0, 0), (1, 0, 0)}


def test_parameters_are_the_pointers_and_scalars_of_the_launch():
    grid = read_dump(DUMPS / "called.nvcudmp").failed
    assert grid is not None
    # the program printed the tensors' addresses; the third parameter is 1 << 34
    expected = (0x7FF5EFE00000, 0x7FF5EFE04000, 1 << 34)
    values = [int.from_bytes(grid.parameters[at : at + 8], "little") for at in (0, 8, 16)]
    assert tuple(values) == expected


def test_error_of_a_warp_that_has_ended_is_known_by_its_instruction():
    (dump,) = (FAULTS / "compiled_scatter_eager" / "faults").glob("*.nvcudmp")
    failed = read_dump(dump).failed
    assert failed is not None
    assert failed.name == "triton_poi_fused_add_index_put_1"
    assert failed.size == (0, 0, 0)
    (warp,) = failed.warps
    assert warp.threads == ()
    assert warp.error_pc is not None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"not ELF at all, but long enough", "not an ELF file"),
        (b"\x7fELF\x02\x01" + bytes(58), "not a core dump of a GPU"),
    ],
)
def test_other_files_are_refused_with_a_sentence(content, reason, tmp_path):
    file = tmp_path / "core"
    file.write_bytes(content)
    with pytest.raises(UnreadableDump, match=reason) as raised:
        read_dump(file)
    assert "\n" not in str(raised.value)


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(UnreadableDump, match="No such file"):
        read_dump(tmp_path / "none")


@pytest.mark.sweep
@pytest.mark.usefixtures("one_more_gibibyte")
def test_damaged_dumps_are_read_or_refused(tmp_path):
    """Each of 2,000 mutations is answered, or refused by one sentence, with at most 1 GiB."""
    whole = [path.read_bytes() for path in sorted(DUMPS.glob("*.nvcudmp"))]
    choose = random.Random(57)
    file = tmp_path / "core"
    refused = 0
    for _ in range(2_000):
        file.write_bytes(mutated(choose.choice(whole), choose))
        try:
            for grid in read_dump(file).grids:
                assert all(warp.threads is not None for warp in (grid.failed or grid.warps))
        except UnreadableDump:
            refused += 1
    assert 0 < refused < 2_000
