"""Where an op comes from, and the source stack that it was inlined through.

Grammar: https://mlir.llvm.org/docs/Dialects/Builtin/#location-attributes.
"""

from dataclasses import dataclass
from typing import Final


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


MOST_PARTS: Final = 256
"""How many locations one may be made of, itself included and counted as often as they are in it.
Inlining through a hundred calls takes fewer. A location may use an alias many times, so a text of
40 lines could describe one of 2^40 parts; all that reads, compares or keeps a location is quick
because none is larger than this."""


def shortened(location: Location) -> Location:
    """Return a location of its name, and of its innermost and outermost place alone."""
    places = [FileLocation(f.file, f.line, f.column) for f in location_frames(location)]
    kept: Location = places[0] if places else UNKNOWN
    if len(places) > 1:
        kept = CallSiteLocation(kept, places[-1])
    return NameLocation(location.name, kept) if isinstance(location, NameLocation) else kept


def location_frames(location: Location) -> tuple[Frame, ...]:
    """List the frames of a location, innermost first; empty if nothing in it is known.

    A fused location represents the first of its children that is known.
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
