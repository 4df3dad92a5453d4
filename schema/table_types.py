"""Definitions of tables: columns with types, meanings, versions and private contents."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import pyarrow as pa

from kvtrace.schema.cached_property import cached_property
from kvtrace.schema.private import Leaf

Origin = Literal["captured", "derived"]
Profile = Literal["core", "extension"]

TIME: Final = pa.timestamp("ns", tz="UTC")
I32: Final = pa.int32()
I64: Final = pa.int64()
BOOL: Final = pa.bool_()
TEXT: Final = pa.string()
F64: Final = pa.float64()
#: A string that repeats: dictionary-encoded, so that a column of it costs next to nothing.
NAME: Final = pa.dictionary(pa.int32(), pa.string())
#: Open-ended key/value facts; new keys do not change the format.
FACTS: Final = pa.map_(pa.string(), pa.string())


@dataclass(frozen=True, slots=True)
class Column:
    """Definition of a column: Arrow type, meaning, unit, and the version that added the column.

    Every file of the table has a `required` column, and each key; a file may lack the others, whose
    values are then null. `extension` keeps a column of a core table out of the core profile.
    `private` names the private contents, by field for columns with fields. Texts must have it, if
    only `OPEN`; numbers, times and flags are `OPEN` by default.
    """

    name: str
    type: pa.DataType
    meaning: str
    unit: str = ""
    since: str = "1.0"
    key: bool = False
    required: bool = False
    extension: bool = False
    private: Leaf | Mapping[str, Leaf] | None = None
    free: frozenset[str] = frozenset()

    def leaves(self) -> Iterator[tuple[str, pa.DataType, Leaf | None]]:
        """Yield (name, type, private) of the column, or of each of its fields (`column.field`)."""
        value_type = self.type.value_type if pa.types.is_list(self.type) else self.type
        if not pa.types.is_struct(value_type):
            assert not isinstance(self.private, Mapping)
            yield self.name, self.type, self.private
            return
        by_field = self.private or {}
        assert isinstance(by_field, Mapping)
        for field in value_type:
            yield f"{self.name}.{field.name}", field.type, by_field.get(field.name)


@dataclass(frozen=True)
class Table:
    """Definition of a table: meaning of a row, columns in order, and the columns of its order.

    The profile `core` is what every producer and reader can rely on for years.
    """

    name: str
    row: str
    origin: Origin
    columns: tuple[Column, ...]
    sort: tuple[str, ...] = ()
    since: str = "1.0"
    profile: Profile = "extension"

    def profile_of(self, column: Column) -> Profile:
        """Return the profile of one of the table's columns."""
        return "extension" if column.extension else self.profile

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the table's files; only keys are not nullable."""
        return pa.schema([pa.field(c.name, c.type, nullable=not c.key) for c in self.columns])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, in order."""
        return tuple(c.name for c in self.columns)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Names of the columns that must not be null in any row."""
        return tuple(c.name for c in self.columns if c.key)

    @cached_property
    def required(self) -> tuple[str, ...]:
        """Names of the columns that every file of the table has: the keys among them."""
        return tuple(c.name for c in self.columns if c.key or c.required)
