"""Where an op comes from, and the source stack that it was inlined through.

Grammar: https://mlir.llvm.org/docs/Dialects/Builtin/#location-attributes.
"""

from typing import Final

from kvtrace.schema.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class UnknownLocation:
    """`loc(unknown)`: compilers make it for constants and for what they generate."""


@dataclass(frozen=True, slots=True)
class FileLocation:
    """`loc("file.py":12:5)`; columns count as the producer counted them."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class NameLocation:
    """`loc("name"(child))`; Triton names values after the Python variable they were assigned to."""

    name: str
    child: "Location"


@dataclass(frozen=True, slots=True)
class CallSiteLocation:
    """`loc(callsite(callee at caller))`: inlined from callee into caller."""

    callee: "Location"
    caller: "Location"


@dataclass(frozen=True, slots=True)
class FusedLocation:
    """`loc(fused[a, b])`: several places that were merged into one op."""

    children: tuple["Location", ...]


Location = UnknownLocation | FileLocation | NameLocation | CallSiteLocation | FusedLocation

UNKNOWN: Final = UnknownLocation()


@dataclass(frozen=True, slots=True)
class Frame:
    """One place in source; function is None where the location does not tell it."""

    file: str
    line: int
    column: int
    function: str | None = None


def location_frames(location: Location) -> tuple[Frame, ...]:
    """List the frames of a location, innermost first; empty if nothing in it is known.

    A fused location stands for the first of its children that is known.
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
