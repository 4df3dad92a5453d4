"""Groups of gaps with the same cause, the same line and the same executions around them."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kvtrace.figures.columns import Integers, combined_codes
from kvtrace.figures.executions import ExecutionBlock
from kvtrace.figures.host_events import CAUSES
from kvtrace.figures.lines import Place
from kvtrace.schema.table_types import NAME
from kvtrace.schema.tables import TABLES

#: The schema of groups: `idle_gaps` without the part and the number.
GROUPS: Final = pa.schema(list(TABLES["idle_gaps"].schema)[2:])
_PLACES: Final = ("place", "before_place", "after_place")
STACKS: Final = ("stack_id", "before_stack_id", "after_stack_id")
_KEYS: Final = ("cause", "before", "after", *_PLACES)
#: Rows from which on groups of blocks are grouped again.
_MOST_UNGROUPED_ROWS: Final = 1 << 15

#: Columns of groups by name; names of executions are codes, 0 at an edge.
_Columns = Mapping[str, Integers]
_Kernels = Mapping[int, Sequence[int]]


class Groups:
    """The groups of a run's gaps in a part, to which gaps are added in blocks."""

    def __init__(self, places: Mapping[int, Place | None]) -> None:
        """Start with no group; `places` has the program's line of each stack id."""
        self._places = places
        #: Codes of places: stacks with the same line are one place.
        self._code_of_place: dict[Place | None, int] = {None: 0}
        #: The code of the place of each stack of the blocks so far, and the names.
        self._place_of_stack = np.zeros(0, np.int64)
        self._names: tuple[str, ...] = ()
        self._blocks: list[tuple[_Columns, _Kernels]] = []
        #: Rows of `_blocks`, and from how many on they are grouped again.
        self._rows, self._most = 0, _MOST_UNGROUPED_ROWS

    def add(
        self,
        executions: ExecutionBlock,
        cause: npt.NDArray[np.int8],
        duration: Integers,
        ends: tuple[Integers, Integers],
        stacks: Integers,
        sums: Mapping[str, Integers],
        kernels: _Kernels,
    ) -> None:
        """Add gaps, in order.

        Args:
            executions: executions of a block of the run.
            cause: index of each gap's cause in `CAUSES`.
            duration: its length, in ns.
            ends: indices of the executions before and after it, or -1.
            stacks: stack id of its cause, or -1.
            sums: columns of `GROUPS` that are added up: ns by cause, numbers of events.
            kernels: ids of kernels that were compiled or loaded in it, by the gap's index.

        """
        if len(executions.names) > len(self._names):
            self._names = executions.names
        new_stacks = executions.stacks[self._place_of_stack.size :]
        self._place_of_stack = np.append(self._place_of_stack, self._codes_of_places(new_stacks))
        distinct_stacks, code = np.unique(stacks, return_inverse=True)
        columns: dict[str, Integers] = {"cause": cause.astype(np.int64)}
        columns["place"] = self._codes_of_places(distinct_stacks)[code]
        columns["stack_id"] = stacks
        for name, rows in zip(("before", "after"), ends, strict=True):
            is_edge = rows < 0
            stack = executions.stack[rows]
            columns[name] = np.where(is_edge, 0, executions.name[rows] + 1)
            columns[f"{name}_place"] = np.where(is_edge, 0, self._place_of_stack[stack])
            columns[f"{name}_stack_id"] = np.where(is_edge, -1, executions.stacks[stack])
        columns |= {"number": np.ones_like(duration), "total_ns": duration, "longest_ns": duration}
        columns |= sums
        self._append(_grouped(columns, kernels))
        if self._rows > self._most:
            self._append(self._taken())
            self._most = max(_MOST_UNGROUPED_ROWS, 2 * self._rows)

    def _append(self, block: tuple[_Columns, _Kernels]) -> None:
        self._blocks.append(block)
        self._rows += block[0]["cause"].size

    def _taken(self) -> tuple[_Columns, _Kernels]:
        """Return the groups of all blocks so far, which are taken out."""
        kernels: dict[int, Sequence[int]] = {}
        rows = 0
        for columns, of_block in self._blocks:
            kernels |= {rows + row: ids for row, ids in of_block.items()}
            rows += columns["cause"].size
        names = self._blocks[0][0]
        columns = {n: np.concatenate([block[n] for block, _ in self._blocks]) for n in names}
        self._blocks, self._rows = [], 0
        return _grouped(columns, kernels)

    def table(self) -> pa.Table:
        """Return the groups in the order of their first gaps, as `GROUPS`."""
        if not self._blocks:
            return GROUPS.empty_table()
        groups, kernels_of_groups = self._taken()
        number = groups["cause"].size
        shown = {
            "cause": _named(groups["cause"], CAUSES),
            **{name: _named(groups[name] - 1, self._names) for name in ("before", "after")},
            **{name: pa.array(groups[name], mask=groups[name] < 0) for name in STACKS},
            "kernels": [kernels_of_groups.get(group, []) for group in range(number)],
        }
        return pa.table({n: shown.get(n, groups.get(n)) for n in GROUPS.names}, schema=GROUPS)

    def _codes_of_places(self, stacks: Integers) -> Integers:
        """Return the code of the place of each stack id."""
        codes = self._code_of_place
        places = map(self._places.get, stacks.tolist())
        return np.array([codes.setdefault(place, len(codes)) for place in places], np.int64)


def _named(codes: Integers, names: Sequence[str]) -> pa.Array:
    """Return the names of codes; of a negative code null."""
    indices = pa.array(codes, pa.int32(), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, NAME.value_type))


def _grouped(columns: _Columns, kernels: _Kernels) -> tuple[_Columns, _Kernels]:
    """Return one row for all rows of equal keys, in the order of their first rows.

    `kernels` has ids by the row's index.
    """
    key, _ = combined_codes([pa.chunked_array([columns[name]]) for name in _KEYS])
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.diff(key[order], prepend=-1))
    first_rows = order[begins]
    ranked = np.argsort(first_rows)
    grouped = {}
    for name, column in columns.items():
        if name in _KEYS or name in STACKS:
            grouped[name] = column[first_rows[ranked]]
        else:
            reduce = np.maximum if name == "longest_ns" else np.add
            grouped[name] = reduce.reduceat(column[order], begins)[ranked]
    rank = np.argsort(ranked)
    ids: dict[int, dict[int, None]] = {}
    for row in sorted(kernels):
        group = int(rank[key[row]])
        ids.setdefault(group, {}).update(dict.fromkeys(kernels[row]))
    return grouped, {group: list(of_group) for group, of_group in ids.items()}
