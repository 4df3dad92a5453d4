"""Checks of rows against the rules of docs/format.md that types and keys do not express.

A breach of a MUST is an error, of a SHOULD a warning. Each check takes rows of one part with the
columns that it names, which may be absent there, and yields one sentence for each kind of breach
with the first row that has it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.content import stack_id
from kvtrace.schema.features import features_of_rows
from kvtrace.schema.vocabularies import vocabularies


class Breach(NamedTuple):
    """A sentence on rows that break a rule; `warning`: the rule is a SHOULD."""

    text: str
    warning: bool = False


#: Columns that are null where nothing is known, and never empty, by table.
_NAMES: Final = {"kernels": ("name",)}
#: Columns with indices of devices and numbers of programs, by table.
_NOT_NEGATIVE: Final = {
    "calls": ("grid_x", "grid_y", "grid_z"),
    "launches": ("device",),
    "gpu_kernels": ("device", "grid_x", "grid_y", "grid_z"),
}
#: Columns with a begin and an end, by table.
_RANGES: Final = {
    "runs": ("started", "ended"),
    "launches": ("enter", "exit"),
    "gpu_kernels": ("start", "end"),
    "marks": ("begin", "end"),
    "host_events": ("begin", "end"),
}
_KEY: Final = {
    "calls": "call_id",
    "launches": "seq",
    "gpu_kernels": "record",
    "kernels": "kernel_id",
}
#: Numbers modulo which an argument's alignment is recorded.
_ALIGNED: Final = 16
#: Bits of an element, in the name of its type.
_BITS: Final = re.compile(r"\d+")


def breaches(table: str, rows: pa.Table) -> Iterator[Breach]:
    """Yield the breaches of rules in rows of a table."""
    yield from _empty_names(table, rows)
    yield from _negative_numbers(table, rows)
    yield from _backward_ranges(table, rows)
    yield from _unregistered_words(table, rows)
    if table == "calls" and "args" in rows.column_names:
        yield from _wrong_arguments(rows)
    if table == "stacks" and {"stack_id", "frames"} <= {*rows.column_names}:
        yield from _wrong_stack_ids(rows)


def unequal_counts(calls: pa.Table, kernels: pa.Table) -> Iterator[Breach]:
    """Yield the breach of a call with more or fewer arguments than its kernel has parameters.

    A signature without parameters is one that was not recorded.
    """
    parameters = {
        row["kernel_id"]: row["count"] for row in _counts(kernels, "kernel_id", "signature")
    }
    for row in _counts(calls, "call_id", "args", "kernel_id"):
        known = parameters.get(row["kernel_id"])
        if known and row["count"] is not None and known != row["count"]:
            yield Breach(
                f"args of call {row['call_id']} has {row['count']} entries, and the signature of "
                f"kernel {row['kernel_id']} {known}"
            )
            return


def _counts(rows: pa.Table, key: str, column: str, *more: str) -> list[dict[str, Any]]:
    lengths = pc.list_value_length(rows[column])
    columns = {key: rows[key], "count": lengths, **{name: rows[name] for name in more}}
    return pa.table(columns).to_pylist()  # type: ignore[no-any-return]


def unnamed_features(table: str, rows: pa.Table, named: Sequence[str]) -> Iterator[Breach]:
    """Yield a breach for each feature that rows of a table imply and the run does not name."""
    implied = {name for batch in rows.to_batches() for name in features_of_rows(table, batch)}
    for name in sorted(implied - {*named}):
        text = f"required_features does not name {name}, which rows of {table} imply"
        yield Breach(f"{text}; a reader without it counts wrongly")


def _where(table: str, rows: pa.Table, mask: Any) -> str:
    """Return a phrase that names the first row in which a mask is true."""
    index = pc.index(mask, True).as_py()
    key = _KEY.get(table)
    if key in rows.column_names:
        return f"row {index} ({key} {rows[key][index].as_py()})"
    return f"row {index}"


def _empty_names(table: str, rows: pa.Table) -> Iterator[Breach]:
    for name in _NAMES.get(table, ()):
        if name not in rows.column_names:
            continue
        empty = pc.equal(pc.binary_length(rows[name].cast(pa.string())), 0)
        if pc.any(empty).as_py():
            yield Breach(f"{name} is empty in {_where(table, rows, empty)}; unknown is null")


def _negative_numbers(table: str, rows: pa.Table) -> Iterator[Breach]:
    for name in _NOT_NEGATIVE.get(table, ()):
        if name not in rows.column_names:
            continue
        negative = pc.less(rows[name], 0)
        if pc.any(negative).as_py():
            where = _where(table, rows, negative)
            yield Breach(f"{name} is negative in {where}; unknown is null")


def _backward_ranges(table: str, rows: pa.Table) -> Iterator[Breach]:
    begin, end = _RANGES.get(table, ("", ""))
    if begin not in rows.column_names or end not in rows.column_names:
        return
    backward = pc.less(rows[end], rows[begin])
    if pc.any(backward).as_py():
        where = _where(table, rows, backward)
        yield Breach(f"{end} is before {begin} in {where}; readers count 0 ns", warning=True)


def _unregistered_words(table: str, rows: pa.Table) -> Iterator[Breach]:
    for vocabulary in vocabularies():
        for path in vocabulary.columns:
            of_table, column, *fields = path.split(".")
            if of_table != table or column not in rows.column_names:
                continue
            for word in _words(rows[column], fields):
                if word not in vocabulary.words and ":" not in word:
                    text = f"{'.'.join((column, *fields))} has the word {word!r}, which is not "
                    yield Breach(f"{text}registered; write it as producer:{word}", warning=True)


def _words(column: pa.ChunkedArray, fields: Sequence[str]) -> list[str]:
    for field in fields:
        kind = column.type
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            column = pc.list_flatten(column)
        if not pa.types.is_struct(column.type) or column.type.get_field_index(field) < 0:
            return []
        column = pc.struct_field(column, field)
    return sorted(word for word in pc.unique(column).to_pylist() if word is not None)


def _wrong_arguments(rows: pa.Table) -> Iterator[Breach]:
    ids = rows["call_id"].to_pylist() if "call_id" in rows.column_names else []
    seen: set[str] = set()
    for row, args in enumerate(rows["args"].to_pylist()):
        for position, arg in enumerate(args or ()):
            call = ids[row] if ids else row
            for what, text in _wrong_fields(position, arg):
                if what not in seen:
                    seen.add(what)
                    yield Breach(f"args[{position}] of call {call} {text}")
            if arg is None:
                continue
            end, size = _end(arg), arg.get("storage_bytes")
            if end is not None and size is not None and end > size and "end" not in seen:
                seen.add("end")
                text = f"args[{position}] of call {call} ends at byte {end} of a storage of {size}"
                yield Breach(text, warning=True)


def _wrong_fields(position: int, arg: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """Yield the kinds of breaches of an argument, with a phrase each."""
    if arg is None:
        yield "entry", "is null; each parameter has an entry"
        return
    shape, strides = arg.get("shape"), arg.get("strides")
    if shape is not None and any(size is None or size < 0 for size in shape):
        yield "shape", f"has the shape {shape}; sizes are not negative"
    if shape is not None and strides is not None and len(shape) != len(strides):
        yield "strides", f"has {len(strides)} strides for a shape of {len(shape)} axes"
    group, alignment = arg.get("alias_group"), arg.get("alignment")
    if group is not None and not 0 <= group <= position:
        yield (
            "alias_group",
            (
                f"has the alias_group {group}; it is the index of the first argument with the same "
                f"storage, so 0 to {position}"
            ),
        )
    if alignment is not None and not 0 <= alignment < _ALIGNED:
        yield (
            "alignment",
            f"has the alignment {alignment}; it is the data pointer modulo {_ALIGNED}",
        )
    for name in ("offset_bytes", "storage_bytes"):
        number = arg.get(name)
        if number is not None and number < 0:
            yield name, f"has {name} {number}; unknown is null"


def _end(arg: Mapping[str, Any]) -> int | None:
    """Return the byte of its storage at which an argument's last element ends, None if not known.

    A program may have taken the storage away for the time being, so that this is no error.
    """
    shape, strides, offset, dtype = (
        arg.get(name) for name in ("shape", "strides", "offset_bytes", "dtype")
    )
    bits = _BITS.search(dtype or "")
    if not shape or not strides or offset is None or bits is None or not all(shape):
        return None
    if any(size is None or stride is None or stride < 0 for size, stride in zip(shape, strides)):  # noqa: B905
        return None
    last = sum((size - 1) * stride for size, stride in zip(shape, strides))  # noqa: B905
    return int(offset + (last + 1) * max(int(bits[0]) // 8, 1))


def _wrong_stack_ids(rows: pa.Table) -> Iterator[Breach]:
    for row in rows.select(["stack_id", "frames"]).to_pylist():
        frames = row["frames"]
        if frames is None or row["stack_id"] is None:
            continue
        if None in frames:
            yield Breach(f"frames[{frames.index(None)}] of stack {row['stack_id']} is null")
            return
        expected = stack_id(frames)
        if expected != row["stack_id"]:
            text = f"stack_id {row['stack_id']} is not the hash of its frames, {expected}"
            yield Breach(f"{text}; it does not meet equal stacks of other runs", warning=True)
            return
