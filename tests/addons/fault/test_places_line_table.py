import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.addons.fault.dump.reading import read_dump
from kvtrace.addons.fault.places import LineTable, Place
from kvtrace.backends.compiled_kernels.elf import SectionTable
from tests.addons.fault.recorded import DUMPS


def tables(name):
    grid = read_dump(DUMPS / f"{name}.nvcudmp").failed
    assert grid is not None
    sections = {one.name: bytes(one.content) for one in SectionTable(grid.image)}
    return grid, LineTable(sections[".debug_line"]), LineTable(sections[".nv_debug_line_sass"])


def test_lines_are_those_of_cuda_gdb():
    """`nvdisasm -g` and `cuda-gdb` name these lines of the program for these instructions."""
    grid, source, ptx = tables("called")
    lines = [source.at(grid.entry + offset) for offset in (0, 0x10, 0x20, 0x40, 0xD0, 0xF0)]
    assert [line.line for line in lines if line] == [18, 19, 15, 21, 15, 21]
    assert {line.file.rpartition("/")[2] for line in lines if line} == {"faulty.py"}
    at_load = ptx.at(grid.entry + 0xD0)
    assert at_load == Place("", 45)  # in the PTX: ld.global.v2.b32, behind `.loc 1 15 19`


def test_addresses_outside_have_no_line():
    grid, source, _ = tables("called")
    assert source.at(grid.entry - 1) is None
    assert source.at(grid.entry + len(grid.code)) is None


def test_table_of_another_version_is_refused():
    header = struct.pack("<IHIBBbBB", 11, 5, 4, 1, 1, -5, 14, 1)
    with pytest.raises(ValueError, match="version 5"):
        LineTable(header)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(content):
    with contextlib.suppress(ValueError, IndexError, struct.error):
        LineTable(content)


@given(st.integers(0, 109), st.integers(0, 255))
def test_damaged_table_is_read_or_refused(place, value):
    grid = read_dump(DUMPS / "called.nvcudmp").failed
    assert grid is not None
    sections = {one.name: bytes(one.content) for one in SectionTable(grid.image)}
    content = bytearray(sections[".debug_line"])
    content[place] = value
    try:
        table = LineTable(bytes(content))
    except (ValueError, IndexError, struct.error):
        return
    table.at(grid.entry)
