"""Locations of ops, and the source stacks through which ops were inlined.

Grammar: https://mlir.llvm.org/docs/Dialects/Builtin/#location-attributes.
"""

from dataclasses import dataclass
from typing import Final


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
