"""Reader of GPU core dumps: kernels on the device, and the warps and threads that failed.

`reduce_dump` writes a smaller dump with the same answer: most of a dump says nothing of the fault.
"""

from __future__ import annotations

import os
import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from kvtrace.addons.fault.dump.tables import Kind, Row, rows_of
from kvtrace.backends.compiled_kernels.elf import SectionTable, text_at
from kvtrace.schema.cached_property import cached_property
from kvtrace.schema.errors import KvtraceError

#: Warps of a kernel whose threads are kept in a dump that is made smaller.
MOST_WARPS: Final = 8
_MACHINE_CUDA: Final = 190  # EM_CUDA
_CORE: Final = 4  # ET_CORE
_TYPES: Final = struct.Struct("<HH")
_WORD: Final = 4
_TEXT: Final = ".text."
_TEXTS: Final = 3  # SHT_STRTAB
#: Kinds of sections that are read: a large dump has a million of others.
_READ: Final = frozenset(Kind) - {
    Kind.CALL_STACK, Kind.GLOBAL_MEMORY, Kind.PREDICATES, Kind.UNIFORM_REGISTERS
}  # fmt: skip


class UnreadableDump(KvtraceError):
    """Raised for a file that is not a GPU core dump, or a damaged one."""

    slug: ClassVar[str] = "unreadable-dump"


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread of a warp.

    Attributes:
        lane: the number in the warp.
        index: the thread's place in the block: x, y, z.
        pc: bytes from the start of the function to the next instruction.
        exception: number of the exception that the thread had; 0: none.
        registers: the 32-bit registers from R0 on; empty if the dump has none.
    """

    lane: int
    index: tuple[int, int, int]
    pc: int
    exception: int
    registers: Sequence[int]

    def pair(self, register: int) -> int | None:
        """Return the 64 bits in a register and the next one; None if they are not in the dump."""
        if register + 1 >= len(self.registers):
            return None
        return self.registers[register] | self.registers[register + 1] << 32


@dataclass(frozen=True)
class Warp:
    """A warp on the device.

    Attributes:
        block: the block's place in the grid: x, y, z.
        error_pc: bytes from the start of the kernel to the instruction that failed; None if none
            did, or another function did.
        active: a bit for each lane that was to execute the next instruction.
        place: numbers of the section with its row, and of the row.
        read: reads its threads: a large dump has many thousand.
    """

    block: tuple[int, int, int]
    error_pc: int | None
    active: int
    place: tuple[int, int]
    read: Callable[[], tuple[Thread, ...]] = field(repr=False, compare=False)

    @cached_property
    def threads(self) -> tuple[Thread, ...]:
        """Its threads, by lane."""
        return self.read()

    @property
    def active_threads(self) -> tuple[Thread, ...]:
        """Its threads that were to execute the next instruction."""
        return tuple(thread for thread in self.threads if self.active >> thread.lane & 1)


@dataclass(frozen=True, slots=True)
class Grid:
    """A kernel on the device.

    Attributes:
        name: the kernel's name in its module; empty if the module is not in the dump.
        size: blocks: x, y, z; zeros where only the failed instruction is known.
        parameters: the bytes of the launch's parameters; empty if the dump has none.
        image: the module as it was loaded, a cubin; empty if the dump has none.
        code: the kernel's instructions.
        entry: address of the kernel's first instruction.
        exception: the number of the exception that a multiprocessor reports for it; 0: none.
        warps: its warps that were on the device.
    """

    name: str
    size: tuple[int, int, int]
    parameters: bytes
    image: bytes = field(repr=False)
    code: bytes = field(repr=False)
    entry: int
    exception: int
    warps: tuple[Warp, ...] = field(repr=False)

    @property
    def failed(self) -> tuple[Warp, ...]:
        """Warps of which the instruction is known that failed, else those with an exception."""
        known = tuple(warp for warp in self.warps if warp.error_pc is not None)
        if known or not self.exception:
            return known
        return tuple(
            warp for warp in self.warps if any(thread.exception for thread in warp.threads)
        )


@dataclass(frozen=True, slots=True)
class Dump:
    """A GPU core dump.

    Attributes:
        time: when it was written, in seconds since 1970; 0 if the driver does not say.
        driver: the driver's version.
        devices: names of the devices.
        grids: kernels on the devices; those with an exception first.
    """

    time: int
    driver: str
    devices: tuple[str, ...]
    grids: tuple[Grid, ...]

    @property
    def failed(self) -> Grid | None:
        """The kernel with an exception."""
        return next((grid for grid in self.grids if grid.exception), None)


def read_dump(path: Path) -> Dump:
    """Read a GPU core dump.

    Raises:
        UnreadableDump: The file is none, is damaged or cannot be read.
    """
    try:
        return _read(path.read_bytes())
    except (OSError, ValueError, struct.error, IndexError, LookupError) as error:
        reason = str(error) or type(error).__name__
        raise UnreadableDump(
            f"{path} cannot be read as a GPU core dump: {reason}; give a file that CUDA's driver "
            "wrote, whole."
        ) from error


def _read(data: bytes) -> Dump:
    if not data:
        raise ValueError("it is empty")
    if len(data) < 20 or not data.startswith(b"\x7fELF"):
        raise ValueError("it is not an ELF file")
    if _TYPES.unpack_from(data, 16) != (_CORE, _MACHINE_CUDA):
        raise ValueError("it is not a core dump of a GPU")
    return _Reader(SectionTable(data)).dump()


def sections_in_use(table: SectionTable) -> list[int]:
    """Return the numbers of the sections that the answer of a dump is made from.

    Those are all tables that are not empty, modules of kernels in the dump, and threads of warps
    that failed, `MOST_WARPS` of each kernel; of kernels without a failed one, of its first warps.

    Raises:
        ValueError, struct.error, IndexError, LookupError: these are not a dump's.
    """
    reader = _Reader(table)
    dump = reader.dump()
    images = {grid.image for grid in dump.grids}
    warps = [warp for grid in dump.grids for warp in (grid.failed or grid.warps)[:MOST_WARPS]]
    threads = {index for warp in warps for index in reader.sections_of(warp)}
    used = []
    for index, row in enumerate(table.rows):
        kind, size = row[1], row[5]
        if kind in (Kind.IMAGE, Kind.RELOCATED_IMAGE):
            is_used = bytes(table.content(index)) in images
        elif kind in (Kind.THREADS, Kind.REGISTERS):
            is_used = index in threads
        else:
            is_used = index == 0 or kind == _TEXTS or (kind in _READ and size > 0)
        if is_used:
            used.append(index)
    return used


class _Reader:
    """Sections of one dump, found by the row that they belong to."""

    def __init__(self, sections: SectionTable) -> None:
        self._of_kind: dict[int, list[int]] = defaultdict(list)
        self._below: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        self._sections = sections
        texts = []
        for index, row in enumerate(sections.rows):
            kind, link, info = row[1], row[6], row[7]
            if kind in _READ:
                self._of_kind[kind].append(index)
                self._below[link, info, kind].append(index)
            elif kind == _TEXTS:
                texts.append(index)
        found = [one for one in map(sections.__getitem__, texts) if one.name == ".strtab"]
        self._texts = bytes(found[0].content) if found else b""

    def dump(self) -> Dump:
        """Return what the sections say."""
        runs = [row for _, row in self._rows(Kind.RUN)]
        run = runs[0] if runs else None
        images = self._images()
        found = list(self._grids(images))
        found += self._left(images, found)
        grids = sorted(found, key=lambda grid: not grid.exception)
        return Dump(
            time=run["time"] if run else 0,
            driver=f"{run['driver']}.{run['driver_minor']}" if run else "",
            devices=tuple(self._text(row["name"]) for _, row in self._rows(Kind.DEVICES)),
            grids=tuple(grids),
        )

    def _info(self, index: int) -> int:
        """Return the row of the table above that a section belongs to."""
        return int(self._sections.rows[index][7])

    def _text(self, offset: int) -> str:
        return text_at(self._texts, offset) if self._texts else ""

    def _rows(self, kind: Kind) -> Iterator[tuple[tuple[int, int], Row]]:
        """Yield each row of tables of a kind, with the section's number and its own in there."""
        for index in self._of_kind[kind]:
            for number, row in enumerate(rows_of(self._sections, index)):
                yield (index, number), row

    def _content(self, place: tuple[int, int], kind: Kind) -> bytes:
        """Return the bytes of the first section of a kind that belongs to a row; empty: none."""
        found = self._tables(place, kind)
        return bytes(self._sections.content(found[0])) if found else b""

    def _grids(self, images: dict[int, bytes]) -> Iterator[Grid]:
        warps, exceptions = self._warps()
        for place, row in self._rows(Kind.GRIDS):
            device = self._info(place[0])
            image = images.get(row["module"], b"")
            function = _function_around(image, row["entry"]) or _Function("", b"", row["entry"])
            entry, length = row["entry"], len(function.code)
            found = tuple(
                self._warp(block, warp_place, warp, entry, length)
                for block, warp_place, warp in warps[device, row["grid"]]
            )
            exception = exceptions.get((device, row["grid"]), 0)
            if not exception:
                failed = [warp for warp in found if warp.error_pc is not None]
                threads = [thread for warp in failed for thread in warp.threads]
                exception = next((one.exception for one in threads if one.exception), 0)
            yield Grid(
                name=function.name,
                size=(row["grid_x"], row["grid_y"], row["grid_z"]),
                parameters=self._content(place, Kind.PARAMETERS),
                image=image,
                code=function.code,
                entry=entry,
                exception=exception,
                warps=found,
            )

    def _images(self) -> dict[int, bytes]:
        images = {}
        for place, row in self._rows(Kind.MODULES):
            image = self._content(place, Kind.RELOCATED_IMAGE) or self._content(place, Kind.IMAGE)
            images[row["module"]] = image
        return images

    def _warps(
        self,
    ) -> tuple[
        dict[tuple[int, int], list[tuple[Row, tuple[int, int], Row]]], dict[tuple[int, int], int]
    ]:
        """Return warps and multiprocessors' exceptions by device and grid.

        A warp is its block's row, its own place and its own row.
        """
        warps = defaultdict(list)
        exceptions: dict[tuple[int, int], int] = {}
        for place, processor in self._rows(Kind.PROCESSORS):
            device = self._info(place[0])
            for block_table in self._tables(place, Kind.BLOCKS):
                for number, block in enumerate(rows_of(self._sections, block_table)):
                    if processor["exception"]:
                        exceptions[device, block["grid"]] = processor["exception"]
                    for warp_table in self._tables((block_table, number), Kind.WARPS):
                        for index, warp in enumerate(rows_of(self._sections, warp_table)):
                            key = (device, block["grid"])
                            warps[key].append((block, (warp_table, index), warp))
        return warps, exceptions

    def _tables(self, place: tuple[int, int], kind: Kind) -> list[int]:
        """Return the numbers of sections of a kind that belong to a row."""
        return self._below.get((*place, kind), [])

    def sections_of(self, warp: Warp) -> list[int]:
        """Return the numbers of sections with a warp's threads and their registers."""
        tables = self._tables(warp.place, Kind.THREADS)
        places = [
            (table, number)
            for table in tables
            for number in range(len(rows_of(self._sections, table)))
        ]
        return [*tables, *(one for at in places for one in self._tables(at, Kind.REGISTERS))]

    def _warp(self, block: Row, place: tuple[int, int], row: Row, entry: int, length: int) -> Warp:
        error_pc = row["error_pc"] - entry if row["has_error_pc"] else None
        is_within = error_pc is not None and 0 <= error_pc < max(length, 1)
        return Warp(
            block=(block["x"], block["y"], block["z"]),
            error_pc=error_pc if is_within else None,
            active=row["active"],
            place=place,
            read=lambda: self._threads(place),
        )

    def _threads(self, place: tuple[int, int]) -> tuple[Thread, ...]:
        threads = [
            Thread(
                lane=row["lane"],
                index=(row["x"], row["y"], row["z"]),
                pc=row["pc"],
                exception=row["exception"],
                registers=_words(self._content((table, number), Kind.REGISTERS)),
            )
            for table in self._tables(place, Kind.THREADS)
            for number, row in enumerate(rows_of(self._sections, table))
        ]
        return tuple(sorted(threads, key=lambda thread: thread.lane))

    def _left(self, images: dict[int, bytes], known: Sequence[Grid]) -> Iterator[Grid]:
        """Yield a kernel for each error whose warps had ended when the dump was written.

        Nothing but the instruction is known of such a kernel; a store or an update of memory
        without a result fails after its warp went on.
        """
        seen = set()
        for _, row in self._rows(Kind.PROCESSORS):
            address = row["error_pc"]
            is_known = any(
                grid.exception and grid.entry <= address < grid.entry + len(grid.code)
                for grid in known
            )
            if not row["exception"] or not row["has_error_pc"] or is_known:
                continue
            for image in images.values():
                function = _function_around(image, address)
                if function is None or function.entry in seen:
                    continue
                seen.add(function.entry)
                yield Grid(
                    name=function.name,
                    size=(0, 0, 0),
                    parameters=b"",
                    image=image,
                    code=function.code,
                    entry=function.entry,
                    exception=row["exception"],
                    warps=(Warp((0, 0, 0), address - function.entry, 0, (0, 0), tuple),),
                )
                break


def _words(content: bytes) -> Sequence[int]:
    return memoryview(content[: len(content) // _WORD * _WORD]).cast("I")


@dataclass(frozen=True, slots=True)
class _Function:
    name: str
    code: bytes
    entry: int


def _function_around(image: bytes, address: int) -> _Function | None:
    """Return the function of a loaded module that has an instruction at an address."""
    for section in SectionTable(image) if image else ():
        length = len(section.content)
        if section.name.startswith(_TEXT) and 0 <= address - section.address < length:
            name, code = section.name.removeprefix(_TEXT), bytes(section.content)
            return _Function(name, code, section.address)
    return None


_HEADER_BYTES: Final = 64
_ROW: Final = struct.Struct("<IIQQQQIIQQ")
#: Where the header has the offset of the table of sections, and the count and the number of names.
_TABLE_AT: Final = 40
_COUNT_AT: Final = 60
_ALIGNMENT: Final = 8
_MOST_SECTIONS: Final = 0xFF00
#: Names of sections: only the one of the texts is read.
_NAMES: Final = b"\0.strtab\0.shstrtab\0"


def reduce_dump(path: Path) -> int:
    """Replace a dump by one that has the same answer in fewer bytes; return how many it has.

    Raises:
        UnreadableDump: the file is no dump, or cannot be replaced.
    """
    try:
        reduced = _reduced(path.read_bytes())
        temporary = path.with_name(f"{path.name}.reduced")
        temporary.write_bytes(reduced)
        os.replace(temporary, path)  # noqa: PTH105 - the file that readers see is always whole
    except (OSError, ValueError, struct.error, IndexError) as error:
        raise UnreadableDump(f"{path} cannot be made smaller: {error}") from error
    return len(reduced)


def _reduced(content: bytes) -> bytes:
    table = SectionTable(content)
    used = sections_in_use(table)
    if len(used) >= _MOST_SECTIONS:
        raise ValueError(f"it has {len(used):,} sections")
    number = {old: new for new, old in enumerate(used)}
    result = bytearray(content[:_HEADER_BYTES])
    rows, names = [], 0
    for new, old in enumerate(used):
        row, part = table.rows[old], bytes(table.content(old))
        name = 0
        if old and table[old].name == ".strtab":
            name = _NAMES.index(b".strtab")
        elif old and table[old].name == ".shstrtab":
            name, names, part = _NAMES.index(b".shstrtab"), new, _NAMES
        result += bytes(-len(result) % _ALIGNMENT)
        rows.append(
            _ROW.pack(name, *row[1:4], len(result), len(part), number.get(row[6], 0), *row[7:])
        )
        result += part
    result += bytes(-len(result) % _ALIGNMENT)
    struct.pack_into("<Q", result, _TABLE_AT, len(result))
    struct.pack_into("<HH", result, _COUNT_AT, len(rows), names)
    return bytes(result + b"".join(rows))
