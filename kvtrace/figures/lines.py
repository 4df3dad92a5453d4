"""Lines of the program in a Python stack."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: Files between the program and its kernels: torch, Triton, Python's library, Inductor's modules.
_PLUMBING: Final = re.compile(
    r"^<|^(?:torch|triton)[/\\]|[/\\](?:site|dist)-packages[/\\](?:torch|triton|functorch)[/\\]"
    r"|[/\\]lib[/\\]python3\.\d+[/\\](?!(?:site|dist)-packages)"
    r"|[/\\]torch[/\\](?:nn|autograd|utils|optim|_dynamo|_inductor|_functorch)[/\\]"
    r"|[/\\](\w\w)[/\\]c\1\w+\.py$"
)
#: Names of files that Inductor generates, a hash; and letters of the hash that suffice to show.
GENERATED: Final = r"c[a-z2-7]{51}"
HASH_SHOWN: Final = 8


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the program."""

    file: str
    line: int | None
    function: str | None

    @property
    def short(self) -> str:
        """The file's name without folders, and the line number if known, as `a.py:7`."""
        name = PurePath(self.file).name
        return f"{name}:{self.line}" if self.line else name


def is_plumbing(file: str | None) -> bool:
    """Return whether a file belongs to torch, Triton, Python's library or generated code."""
    return bool(_PLUMBING.search(file or "<"))


def place_of(frames: Sequence[Mapping[str, Any]]) -> Place | None:
    """Return the innermost line outside torch, Triton and the like (`is_plumbing`), or None."""
    frame = next((frame for frame in frames if not is_plumbing(frame["file"])), None)
    return None if frame is None else Place(frame["file"], frame["line"], frame["function"])


def places_by_stack(
    trace: "Trace", runs: Sequence["Run"], stack_ids: Collection[int] | None = None
) -> dict[int, Place | None]:
    """Return the program's line of recorded stacks by id, of all or of `stack_ids`.

    Errors as `Trace.table`.
    """
    if stack_ids is not None and not stack_ids:
        return {}
    rows = trace.table("stacks", runs, ["stack_id", "frames"])
    if stack_ids is not None:
        import pyarrow as pa  # late: the help of commands imports this module
        import pyarrow.compute as pc

        ids = pa.array(stack_ids, rows.schema.field("stack_id").type)
        rows = rows.filter(pc.is_in(rows["stack_id"], ids))
    return {row["stack_id"]: place_of(row["frames"] or ()) for row in rows.to_pylist()}
