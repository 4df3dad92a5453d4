"""Collectors of an imported run's rows, and their writing as columns."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kvtrace.schema.content import UNKNOWN, Producer, artifact_row, stack_row
from kvtrace.schema.tables import TABLES
from kvtrace.schema.writer import RunWriter

Integers = npt.NDArray[np.int64]

#: Marks an unknown integer, which is null in the table.
NONE: Final = -(2**63)
#: Rows that are written at once.
_BATCH_ROWS: Final = 1 << 17


class Names:
    """Distinct texts, numbered from 0 in the order of their first use."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a text, which is added if it is new."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number


class IntegerRows:
    """Rows of 64-bit integers in one array, so that millions of rows fit into memory."""

    def __init__(self, *columns: str) -> None:
        self.columns = columns
        self._values = array("q")

    def __len__(self) -> int:
        return len(self._values) // len(self.columns)

    def add(self, *row: int) -> None:
        """Add a row with its values in the order of the columns, NONE for unknown values.

        Those of more than 64 bits are unknown. Raises TypeError for other types; no row is added.
        """
        try:
            self._values.extend(array("q", row))
        except OverflowError:
            self._values.extend(array("q", (v if -NONE > v >= NONE else NONE for v in row)))

    def add_arrays(self, *columns: Integers) -> None:
        """Add rows as arrays, one for each column, or as one of two dimensions."""
        self._values.frombytes(np.column_stack(columns).tobytes())

    def arrays(self) -> dict[str, Integers]:
        """Return the columns by name, as views of the rows; no row can be added afterwards."""
        table = np.frombuffer(self._values, np.int64).reshape(-1, len(self.columns))
        return {name: table[:, index] for index, name in enumerate(self.columns)}


class RunRows:
    """Writer of the rows of a run, for importers; `begin` starts the next run."""

    def __init__(self, writer: RunWriter) -> None:
        self.begin(writer)

    def begin(self, writer: RunWriter) -> None:
        """Write further rows to another run, with ids from 0."""
        self._writer = writer
        self._stacks: set[int] = set()
        self._artifacts: set[str] = set()
        #: Sentences on what is not certain or left out of this run.
        self.notes: list[str] = []
        #: Sentences on what makes its figures uncertain.
        self.warnings: list[str] = []
        self._next: dict[str, int] = {}

    def columns(
        self,
        table: str,
        columns: Mapping[str, Integers | pa.Array],
        texts: Mapping[str, Sequence[str]],
    ) -> None:
        """Add rows as columns of integers, where NONE is null, or of Arrow's arrays of their type.

        A column with an entry in `texts` is a text column: its integers are indexes into that list.
        """
        kinds = {column.name: column.type for column in TABLES[table].columns}
        count = len(next(iter(columns.values())))
        dictionaries = {name: pa.array(listed, pa.string()) for name, listed in texts.items()}
        for first_row in range(0, count, _BATCH_ROWS):
            batch = {}
            for name, values in columns.items():
                if isinstance(values, pa.Array):
                    batch[name] = values[first_row : first_row + _BATCH_ROWS]
                    continue
                batch_values = np.ascontiguousarray(values[first_row : first_row + _BATCH_ROWS])
                is_unknown = batch_values == NONE
                if name in dictionaries:
                    codes = pa.array(batch_values.astype(np.int32), mask=is_unknown)
                    coded = pa.DictionaryArray.from_arrays(codes, dictionaries[name])
                    batch[name] = coded.cast(kinds[name])
                else:
                    batch[name] = pa.array(batch_values, mask=is_unknown).cast(kinds[name])
            self._writer.append(table, batch)

    def rows(self, table: str, row_mappings: Iterable[Mapping[str, Any]]) -> None:
        """Add rows as mappings from column names to values."""
        self._writer.append_rows(table, row_mappings)

    def next_id(self, table: str) -> int:
        """Return an id of a table that no row has yet."""
        self._next[table] = self._next.get(table, 0) + 1
        return self._next[table] - 1

    def stack(self, frames: Sequence[tuple[str | None, int | None, int | None, str | None]]) -> int:
        """Add a call stack, innermost frame first, to `stacks` if it is new; return its id."""
        row = stack_row(frames)
        stack_id = int(row["stack_id"])
        if stack_id not in self._stacks:
            self._stacks.add(stack_id)
            self._writer.append_rows("stacks", [row])
        return stack_id

    def artifact(self, kind: str, content: bytes, producer: Producer = UNKNOWN) -> str:
        """Add a content of a kind to `artifacts` if it is new; return its SHA-256."""
        row = artifact_row(kind, content, producer=producer)
        if row["sha256"] not in self._artifacts:
            self._artifacts.add(row["sha256"])
            self._writer.append_rows("artifacts", [row])
        return str(row["sha256"])

    def note(self, text: str | None) -> None:
        """Add a sentence, if there is one, to what the run lacks."""
        if text is not None:
            self.notes.append(text)

    def warn(self, text: str) -> None:
        """Add a sentence on what makes figures of this run uncertain, which each profile shows."""
        self.warnings.append(text)
