"""Locations of ops, and the source stacks through which ops were inlined; places in PTX.

Triton counts columns from 0 before 3.8 and from 1 since; kvtrace from 1. IR that is printed,
compiled or parsed again keeps its column numbers, so the version of the Triton that made the TTIR
decides, not the version that reads the IR.

Grammar: https://mlir.llvm.org/docs/Dialects/Builtin/#location-attributes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class UnknownLocation:
    """`loc(unknown)`, the location of constants and of ops that the compiler generates."""


@dataclass(frozen=True, slots=True)
class FileLocation:
    """`loc("file.py":12:5)`; columns count from 0 or 1, as in the compiler that wrote the IR."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class NameLocation:
    """`loc("name"(child))`; Triton's name is the Python variable that is assigned."""

    name: str
    child: "Location"


@dataclass(frozen=True, slots=True)
class CallSiteLocation:
    """`loc(callsite(callee at caller))`: `callee` was inlined at `caller`."""

    callee: "Location"
    caller: "Location"


@dataclass(frozen=True, slots=True)
class FusedLocation:
    """`loc(fused[a, b])`: locations of ops that were merged into one op."""

    children: tuple["Location", ...]


Location = UnknownLocation | FileLocation | NameLocation | CallSiteLocation | FusedLocation

UNKNOWN: Final = UnknownLocation()


@dataclass(frozen=True, slots=True)
class Frame:
    """A position in the source; `function` is None if the location does not name the function."""

    file: str
    line: int
    column: int
    function: str | None = None


MOST_PARTS: Final = 256
"""Maximum number of locations in a location, counted with itself and with repetition. Inlining
through a hundred calls takes fewer. Since a location may use an alias several times, a text of 40
lines could describe a location of 2^40 parts; the limit keeps all processing of locations fast."""


def shortened(location: Location) -> Location:
    """Return a location with its name, and only its innermost and outermost position."""
    positions = [FileLocation(f.file, f.line, f.column) for f in location_frames(location)]
    short: Location = positions[0] if positions else UNKNOWN
    if len(positions) > 1:
        short = CallSiteLocation(short, positions[-1])
    return NameLocation(location.name, short) if isinstance(location, NameLocation) else short


def location_frames(location: Location) -> tuple[Frame, ...]:
    """Return the frames of a location, innermost first; () if its position is unknown.

    A fused location has the frames of its first child with a known position.
    """
    if isinstance(location, FileLocation):
        return (Frame(location.file, location.line, location.column),)
    if isinstance(location, NameLocation):
        return location_frames(location.child)
    if isinstance(location, CallSiteLocation):
        return location_frames(location.callee) + location_frames(location.caller)
    if isinstance(location, FusedLocation):
        return next(filter(None, map(location_frames, location.children)), ())
    return ()


_BLOCK: Final = r"(?ms)// begin inline asm$.*?// end inline asm$"
_DIRECTIVE: Final = r"(?m)^\s*\.loc\b.*$"


def without_inner_places(ptx: str) -> str:
    """Return PTX with empty lines in place of the `.loc` directives in inline assembly.

    Triton 3.8 and later writes loads and stores as inline assembly of several lines. The directive
    before such a block has the op's line. LLVM adds directives inside the block, whose line numbers
    increase by one per line of assembly:

        .loc 1 309 25
        // begin inline asm
        .loc 1 309 25
        mov.u32 %r11, 0x0;
        .loc 1 310 25
        ld.global.b32 { %r11 }, [ %rd5 + 0 ];
        // end inline asm
    """
    return re.sub(_BLOCK, lambda block: re.sub(_DIRECTIVE, "", block[0]), ptx)


_FROM_ONE: Final = (3, 8)
_NUMBERS: Final = re.compile(r"(\d+)\.(\d+)")


def column_shift(version: str | None) -> int:
    """Return the number that makes a Triton version's columns count from 1; 0 if unknown."""
    numbers = version_numbers(version)
    return 0 if numbers is None else int(numbers < _FROM_ONE)


def version_numbers(version: str | None) -> tuple[int, int] | None:
    """Return (major, minor) of a version string, or None if it does not start with two numbers."""
    numbers = _NUMBERS.match(version or "")
    return None if numbers is None else (int(numbers[1]), int(numbers[2]))


def triton_of(kernel: Mapping[str, Any], versions: Mapping[str, str]) -> str | None:
    """Return the version of the Triton that made a kernel's TTIR, or None if unknown.

    Args:
        kernel: the row of `kernels`, with `options`, in which Triton writes its version.
        versions: the run's versions, for kernels without that option.
    """
    version = dict(kernel["options"] or ()).get("triton_version")
    return versions.get("triton") if version is None else str(version)
