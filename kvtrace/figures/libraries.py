"""What libraries ran (cuBLAS, cuDNN, torch), copies and fills: by name, and by who asked for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kvtrace.figures.kernels import EXECUTED, sums
from kvtrace.figures.lines import place_of
from kvtrace.figures.makers import kind_of
from kvtrace.figures.tables import open_times
from kvtrace.schema.symbols import titled

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_UNKNOWN: Final = "(unknown)"
_QUERY: Final = f"""
    SELECT name, kind, stack_id, count(requested) > 0 AS asked, {sums(EXECUTED)}
    FROM (
        SELECT t.*, g.stack_id, g.requested
        FROM execution_times t JOIN gpu_kernels g ON g.run = t.run AND g.record = t.record
        WHERE t.call_id IS NULL
    ) executed
    GROUP BY name, kind, stack_id HAVING sum(CASE WHEN steady THEN 1 ELSE 0 END) > 0
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class LibraryTime:
    """What ran under a name for one stack, without autotuners' executions; measured.

    Attributes:
        name: As it is shown.
        kind: Whose it is, or copy or fill.
        executions: How many there were.
        device_ns: How long they took.
        frames: The Python stack that asked for them, innermost first; None where that is not
            recorded, empty where no Python was running, as in autograd's backward pass.
        origins: What Inductor generated the innermost generated line of it from.

    """

    name: str
    kind: str
    executions: int
    device_ns: int
    frames: tuple[Mapping[str, Any], ...] | None
    origins: tuple[Mapping[str, Any], ...]

    @property
    def line(self) -> tuple[str, int | None] | None:
        """File and line of the program that it comes from: what it was generated from first."""
        for origin in self.origins:
            if origin["file"] and origin["line"]:
                return origin["file"], origin["line"]
        place = place_of(self.frames or ())
        return None if place is None else (place.file, place.line)


def library_times(trace: "Trace", runs: Sequence["Run"]) -> list[LibraryTime]:
    """Return what ran that no launch of Triton's is known for, by name and stack.

    Errors as `Trace.table`.
    """
    with open_times(trace, runs, "execution_times") as database:
        rows = database.sql(_QUERY).to_arrow_table().to_pylist()
    wanted = {row["stack_id"] for row in rows} - {None}
    stacks = {}
    if wanted:
        columns = ["stack_id", "frames", "origins"]
        for row in trace.table("stacks", runs, columns).to_pylist():
            if row["stack_id"] in wanted:
                stacks[row["stack_id"]] = _whole(row["frames"]), _whole(row["origins"])
    found = []
    for row in rows:
        symbol = row["name"] or _UNKNOWN
        unknown = () if row["asked"] else None
        frames, origins = stacks.get(row["stack_id"], (unknown, ()))
        found.append(
            LibraryTime(
                name=titled(symbol),
                kind=kind_of(symbol, row["kind"]),
                executions=int(row["device_executions"]),
                device_ns=int(row["device_ns"] or 0),
                frames=frames,
                origins=origins,
            )
        )
    return found


def lines_by_time(times: Sequence[LibraryTime]) -> dict[tuple[str, str], tuple[str, int | None]]:
    """Return by name and kind the line of the program from which most of its time comes."""
    taken: dict[tuple[str, str], dict[tuple[str, int | None], int]] = {}
    for one in times:
        if one.line is not None:
            own = taken.setdefault((one.name, one.kind), {})
            own[one.line] = own.get(one.line, 0) + one.device_ns
    return {key: max(lines, key=lambda line: lines[line]) for key, lines in taken.items()}


def _whole(entries: Sequence[Any] | None) -> tuple[Any, ...]:
    """Return a list without entries that are missing, as damaged traces have them."""
    return tuple(each for each in entries or () if each is not None)
