"""Executions of a run in a part, as sorted columns."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.columns import Integers, Positions, integers, summed_by
from kvtrace.figures.steps import requests
from kvtrace.schema.table_types import NAME
from kvtrace.schema.tables import TABLES
from kvtrace.schema.window import RunWindow, whole_trace

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

#: The schema of the rows by name: `short_executions` without the part.
SHORT_EXECUTIONS: Final = pa.schema(list(TABLES["short_executions"].schema)[1:])
#: What is shown of an execution without a name.
_NAMELESS: Final = "?"
_FROM_DEVICE: Final = "memcpy device to host"


@dataclass(frozen=True, slots=True)
class PartExecutions:
    """The timed executions of a run in a part, sorted by start.

    Attributes:
        start: Begin of each execution, in ns since 1970.
        end: Its end.
        asked: When the host requested it, or -1.
        name: Its name, as an index in `names`.
        stack: The stack that asked for it, as an index in `stacks`.
        is_kernel: Whether it is neither a copy nor a fill.
        names: Distinct names.
        stacks: Distinct stack ids; -1: none is known.

    """

    start: Integers
    end: Integers
    asked: Integers
    name: npt.NDArray[np.int32]
    stack: npt.NDArray[np.int32]
    is_kernel: npt.NDArray[np.bool_]
    names: tuple[str, ...]
    stacks: Integers

    @classmethod
    def read(cls, trace: "Trace", run: "Run") -> "PartExecutions":
        """Return the executions of a run in a trace or its window; errors as `Trace.table`."""
        whole = whole_trace(trace)
        asked, start, end = requests(trace, run, whole)
        stacks = _Codes([-1])
        calls = whole.table("calls", [run], ["call_id", "stack_id"]).sort_by("call_id")
        stack_of_call = np.append(stacks.of(integers(calls["stack_id"], -1)), np.int32(0))
        positions = Positions(integers(calls["call_id"]))
        names: dict[str, int] = {}
        columns: list[list[npt.NDArray[np.generic]]] = [[], [], []]
        read = ["start", "end", "name", "kind", "call_id", "stack_id"]
        for piece in trace.pieces("gpu_kernels", [run], read):
            rows = piece.filter(pc.and_(pc.is_valid(piece["start"]), pc.is_valid(piece["end"])))
            stack = stack_of_call[positions.of(integers(rows["call_id"], -1))]
            has_stack = rows["stack_id"].is_valid().to_numpy()
            if has_stack.any():
                stack[has_stack] = stacks.of(integers(rows["stack_id"], -1)[has_stack])
            of_piece = (_name_codes(rows["name"], names), stack, rows["kind"].is_null().to_numpy())
            for column, values in zip(columns, of_piece, strict=True):
                column.append(values)
        types = (np.int32, np.int32, np.bool_)
        name, stack, is_kernel = (
            np.concatenate([np.zeros(0, of_type), *column]).astype(of_type, copy=False)
            for of_type, column in zip(types, columns, strict=True)
        )
        executions = cls(start, end, asked, name, stack, is_kernel, tuple(names), stacks.values)
        if (start[1:] >= start[:-1]).all():
            return executions
        return executions._rows(np.argsort(start, kind="stable"))

    def inside(self, window: RunWindow) -> "PartExecutions":
        """Return the executions that begin in a window."""
        bounds = np.array([window.device_begin, window.device_end], np.int64)
        return self._rows(slice(*np.searchsorted(self.start, bounds).tolist()))

    def _rows(self, rows: Integers | slice) -> "PartExecutions":
        return replace(
            self,
            start=self.start[rows],
            end=self.end[rows],
            asked=self.asked[rows],
            name=self.name[rows],
            stack=self.stack[rows],
            is_kernel=self.is_kernel[rows],
        )

    def is_short(self, rows: Integers, limit: int) -> npt.NDArray[np.bool_]:
        """Return a mask of the given rows that are kernels which took less than `limit` ns."""
        return np.asarray((self.end[rows] - self.start[rows] < limit) & self.is_kernel[rows])

    def is_read_back(self, rows: Integers) -> npt.NDArray[np.bool_]:
        """Return a mask of the given rows that are copies from a device to the host."""
        if _FROM_DEVICE not in self.names:
            return np.zeros(rows.size, bool)
        return np.asarray(self.name[rows] == self.names.index(_FROM_DEVICE))

    def short(self, limit: int) -> pa.Table:
        """Return a row for each name that occurs, as `SHORT_EXECUTIONS`.

        It has the number and total ns of kernels that took less than `limit` ns.
        """
        is_short = (self.end - self.start < limit) & self.is_kernel
        name = self.name[is_short].astype(np.int64)
        size = len(self.names)
        number = np.bincount(name, minlength=size)
        totals = summed_by(name, self.end[is_short] - self.start[is_short])
        total = np.append(totals, np.zeros(size - totals.size, np.int64))
        occurring = np.flatnonzero(np.bincount(self.name, minlength=size))
        names = pa.array([self.names[code] for code in occurring.tolist()], NAME.value_type)
        columns = [names.dictionary_encode(), number[occurring], total[occurring]]
        return pa.Table.from_arrays(list(map(pa.array, columns)), schema=SHORT_EXECUTIONS)


class _Codes:
    """Codes of integers, numbered as they come."""

    def __init__(self, values: list[int]) -> None:
        self._code_of = {value: code for code, value in enumerate(values)}

    @property
    def values(self) -> Integers:
        """The value of each code."""
        return np.array(list(self._code_of), np.int64)

    def of(self, values: Integers) -> npt.NDArray[np.int32]:
        """Return the code of each value."""
        distinct, inverse = np.unique(values, return_inverse=True)
        codes = [self._code_of.setdefault(v, len(self._code_of)) for v in distinct.tolist()]
        return np.array(codes, np.int32)[inverse]


def _name_codes(column: pa.ChunkedArray, names: dict[str, int]) -> npt.NDArray[np.int32]:
    """Return the code of each name, and add new names to `names`."""
    codes = [np.zeros(0, np.int32)]
    for chunk in column.chunks:
        texts = [*chunk.dictionary.to_pylist(), None]
        indices = pc.fill_null(chunk.indices, len(texts) - 1).to_numpy()
        occurring = np.unique(indices)
        code_of = np.zeros(len(texts), np.int32)
        for index in occurring.tolist():
            code_of[index] = names.setdefault(texts[index] or _NAMELESS, len(names))
        codes.append(code_of[indices])
    return np.concatenate(codes)
