"""Checks of rows against the rules of docs/format.md that types and keys do not express.

A breach of a MUST is an error, of a SHOULD a warning. Each check takes rows of one part with the
columns that it names, which may be absent there, and yields one sentence for each kind of breach
with the first row that has it.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.schema.columns import plain_type
from kvtrace.schema.content import stack_id
from kvtrace.schema.features import features_of_rows
from kvtrace.schema.layout import first_run_id
from kvtrace.schema.repair import RANGES
from kvtrace.schema.runs import Run
from kvtrace.schema.tables import TABLES
from kvtrace.schema.vocabularies import vocabularies


class Breach(NamedTuple):
    """A sentence on rows that break a rule; `warning`: the rule is a SHOULD."""

    text: str
    warning: bool = False


#: The kind of a breach, and a phrase on it.
_KindAndPhrase = tuple[str, str]
#: Numbers modulo which an argument's alignment is recorded.
_ALIGNED: Final = 16
#: A time of a run to the millisecond, and 8 random digits.
_RUN_ID: Final = re.compile(r"(?P<time>\d{8}-\d{6}-\d{3})-[0-9a-f]{8}")
#: Nanoseconds by which that time may lie outside of the run, as clocks are set.
_NEAR_RUN: Final = 60_000_000_000
#: Nanoseconds by which a device's clock may be behind that of the host.
_NEAR_LAUNCH: Final = 1_000_000
#: Bits of an element, in the name of its type.
_BITS: Final = re.compile(r"\d+")
#: Triton's types of parameters: elements, pointers to them and descriptors of their tensors.
_TYPE: Final = re.compile(r"(?:\*k?)?(?P<element>\w+)|tensordesc<(?P<of>\w+)\[.*>")
_OTHER_TYPES: Final = frozenset({"constexpr", "nvTmaDesc", "u1"})
_ELEMENT: Final = re.compile(r"(?P<kind>fp|bf|i|u)(?P<bits>\d+)\w*")
_INTEGER: Final = re.compile(r"-?\d+")
_NUMBER: Final = re.compile(r"-?(?:inf|nan|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)")


def breaches(table: str, rows: pa.Table) -> Iterator[Breach]:
    """Yield the breaches of rules in rows of a table."""
    yield from _placeholders(table, rows)
    yield from _backward_ranges(table, rows)
    yield from _unregistered_words(table, rows)
    if table == "kernels" and "signature" in rows.column_names:
        yield from _unknown_types(rows)
    if table == "calls" and "args" in rows.column_names:
        yield from _wrong_arguments(rows)
    if table == "gpu_kernels" and {"kind", "call_id"} <= {*rows.column_names}:
        yield from _copies_with_calls(rows)
    if table == "runs":
        yield from _unusual_ids(rows)
    if table == "stacks" and {"stack_id", "frames"} <= {*rows.column_names}:
        yield from _wrong_stack_ids(rows)


def unequal_parameters(calls: pa.Table, kernels: pa.Table) -> Iterator[Breach]:
    """Yield the first error, and the first warning, on arguments that are not their parameters.

    A signature without parameters is one that was not recorded; what is null equals anything.
    """
    signatures = {row["kernel_id"]: row["signature"] for row in kernels.to_pylist()}
    first: dict[str, Breach] = {}
    for row in calls.to_pylist():
        args, signature = row["args"], signatures.get(row["kernel_id"])
        if not signature or args is None:
            continue
        call, kernel = f"call {row['call_id']}", f"the signature of kernel {row['kernel_id']}"
        if len(signature) != len(args):
            text = f"args of {call} has {len(args)} entries, and {kernel} {len(signature)}"
            first.setdefault("error", Breach(text))
            continue
        for position, (arg, parameter) in enumerate(zip(args, signature, strict=True)):
            for has, wants, severity in _contradictions(arg or {}, parameter or {}):
                text = f"args[{position}] of {call} has the {has}, and {kernel} has {wants} there"
                first.setdefault(severity, Breach(text, warning=severity == "warning"))
    yield from first.values()


def unequal_addresses(launches: Iterable[pa.Table], calls: pa.Table) -> Iterator[Breach]:
    """Yield the breach of the first call whose launch has not an address for each pointer."""
    counts: dict[int, int] = {}
    for row in calls.to_pylist():
        kinds = [arg and arg["kind"] for arg in row["args"] or (None,)]
        if {*kinds} <= {"tensor", "descriptor", "scalar", "constexpr"}:
            counts[row["call_id"]] = sum(kind in ("tensor", "descriptor") for kind in kinds)
    for piece in launches:
        lengths = pc.list_value_length(piece["addresses"])
        pairs = pa.table([piece["call_id"], lengths], names=["call_id", "length"])
        for pair in pairs.group_by(["call_id", "length"]).aggregate([]).to_pylist():
            call, length = pair.values()
            if length is not None and counts.get(call, length) != length:
                text = f"addresses of a launch of call {call} has {length} entries, and the call"
                yield Breach(f"{text} {counts[call]} tensors and descriptors")
                return


def _contradictions(
    arg: Mapping[str, Any], parameter: Mapping[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """Yield what an argument has, what its parameter has, and how severe that is.

    Example: ("dtype f32", "the type *fp16", "warning").
    """
    name, kind, value, dtype, alignment = (
        arg.get(field) for field in ("name", "kind", "scalar", "dtype", "alignment")
    )
    wanted, of_type, constant = (parameter.get(field) for field in ("name", "type", "constexpr"))
    if None not in (name, wanted) and name != wanted:
        yield f"name {name!r}", repr(wanted), "error"
    if kind in _other_kinds(of_type or ""):
        yield f"kind {kind}", f"the type {of_type}", "error"
    if kind == "constexpr" and None not in (value, constant) and value != constant:
        yield f"scalar {value!r}", f"the constexpr {constant!r}", "error"
    match = _TYPE.fullmatch(of_type or "")
    elements = {dtype, match and (match["element"] or match["of"])}
    are_known = all(_ELEMENT.fullmatch(element or "") for element in elements)
    # Booleans are i1 in `args`, and u1 in Triton's signatures.
    if are_known and len(elements) > 1 and elements != {"i1", "u1"}:
        yield f"dtype {dtype}", f"the type {of_type}", "warning"
    divisibility = parameter.get("divisibility") or 1
    if alignment is not None and alignment % math.gcd(divisibility, _ALIGNED):
        yield f"alignment {alignment}", f"the divisibility {divisibility}", "warning"


def _other_kinds(of_type: str) -> Collection[str]:
    """Return kinds of arguments that a parameter of a type cannot have."""
    if of_type == "constexpr":
        return ("tensor", "scalar", "descriptor")
    if of_type.startswith(("*", "tensordesc")):
        return ("constexpr",)
    return ("tensor", "descriptor", "constexpr") if _ELEMENT.fullmatch(of_type) else ()


def other_calls(executions: pa.Table, launches: Iterable[pa.Table]) -> Iterator[Breach]:
    """Yield a breach for the first execution whose call is not that of its launch."""
    for piece in launches:
        places = pc.index_in(executions["launch_seq"], piece["seq"])
        calls = piece["call_id"].take(places)
        differs = pc.fill_null(pc.not_equal(calls, executions["call_id"]), False)
        if pc.any(differs).as_py():
            row = pc.index(differs, True).as_py()
            record, seq, call = (executions[n][row] for n in ("record", "launch_seq", "call_id"))
            yield Breach(
                f"call_id of record {record} is {call}, and that of its launch {seq} {calls[row]}"
            )
        if "enter" not in piece.column_names:
            continue
        begins = piece["enter"].cast(pa.int64()).take(places)
        waits = pc.subtract(executions["start"].cast(pa.int64()), begins)
        is_early = pc.fill_null(pc.less(waits, -_NEAR_LAUNCH), False)
        if pc.any(is_early).as_py():
            row = pc.index(is_early, True).as_py()
            record, seq = executions["record"][row], executions["launch_seq"][row]
            text = f"record {record} starts {-waits[row].as_py():,} ns before its launch {seq}"
            yield Breach(text, warning=True)


def outside_of_run(executions: pa.Table, run: Run) -> Iterator[Breach]:
    """Yield a breach if executions start long before a run, or end long after it."""
    for name, limit, sign, place in (
        ("start", run.started, -1, "before started"),
        ("end", run.ended, 1, "after ended"),
    ):
        limits = pc.min_max(executions[name].cast(pa.int64())).as_py()
        time = limits["min" if sign < 0 else "max"]
        if None not in (time, limit) and sign * (time - limit) > _NEAR_RUN:
            text = f"{name} of an execution is {abs(time - limit) / 1e9:,.0f} s {place} of the run"
            yield Breach(text, warning=True)


def unnamed_features(table: str, rows: pa.Table, named: Sequence[str]) -> Iterator[Breach]:
    """Yield a breach for each feature that rows of a table imply and the run does not name."""
    implied = {name for batch in rows.to_batches() for name in features_of_rows(table, batch)}
    for name in sorted(implied - {*named}):
        text = f"required_features does not name {name}, which rows of {table} imply"
        yield Breach(f"{text}; a reader without it counts wrongly")


def _where(table: str, rows: pa.Table, index: int) -> str:
    """Return a phrase that names a row by its index and key."""
    key = next(iter(TABLES[table].keys), None)
    if key not in rows.column_names or pa.types.is_timestamp(rows[key].type):
        return f"row {index}"
    return f"row {index} ({key} {rows[key][index].as_py()})"


def _placeholders(table: str, rows: pa.Table) -> Iterator[Breach]:
    """Yield breaches of columns with negative numbers or empty texts in place of null."""
    for column in TABLES[table].columns if table in TABLES else ():
        if column.name not in rows.column_names:
            continue
        for path, _, _ in column.leaves():
            found = None if path in column.free else _first_placeholder(rows[column.name], path)
            if found is not None:
                row, place, what = found
                yield Breach(f"{place} is {what} in {_where(table, rows, row)}; unknown is null")


def _first_placeholder(column: pa.ChunkedArray, path: str) -> tuple[int, str, str] | None:
    """Return the row, place and kind of a field's first placeholder: 3, args[1].shape[0], negative.

    A field in lists is flattened; `rows` then has the row of each of its values.
    """
    values = column.combine_chunks()
    _, *fields = path.split(".")
    rows: pa.Array | None = None
    while pa.types.is_nested(values.type):
        if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
            parents = pc.list_parent_indices(values)
            rows = parents if rows is None else rows.take(parents)
            values = pc.list_flatten(values)
        elif fields and pa.types.is_struct(values.type) and fields[0] in values.type.names:
            values = pc.struct_field(values, fields.pop(0))
        else:  # a map, a field that the file lacks, or another library's kind of list
            return None
    is_placeholder = _are_placeholders(values)
    if is_placeholder is None or not pc.any(is_placeholder).as_py():
        return None
    index = pc.index(is_placeholder, True).as_py()
    what = "negative" if pa.types.is_primitive(values.type) else "empty"
    if rows is None:
        return index, path, what
    row = rows[index].as_py()
    return row, next(_placeholders_in(column[row].as_py(), *path.split("."))), what


def _are_placeholders(values: pa.Array) -> pa.Array | None:
    """Return a mask of negative numbers and empty texts; None for values without any."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        if "" not in values.dictionary.to_pylist():
            return None
        values, kind = values.cast(kind.value_type), kind.value_type
    if pa.types.is_timestamp(kind):
        values = values.cast(pa.int64())
    if pa.types.is_integer(values.type):
        least = pc.min(values).as_py()
        return None if least is None or least >= 0 else pc.less(values, 0)
    if kind in (pa.string(), pa.large_string(), pa.string_view()):
        return pc.equal(pc.binary_length(values.cast(pa.large_string())), 0)
    return None


def _placeholders_in(value: Any, name: str, *fields: str) -> Iterator[str]:
    """Yield the place of each negative number and empty text in a field of a row's value."""
    if isinstance(value, list):
        for position, entry in enumerate(value):
            yield from _placeholders_in(entry, f"{name}[{position}]", *fields)
    elif isinstance(value, dict):
        yield from _placeholders_in(value[fields[0]], f"{name}.{fields[0]}", *fields[1:])
    elif value == "" or (isinstance(value, int) and value < 0):
        yield name


def _backward_ranges(table: str, rows: pa.Table) -> Iterator[Breach]:
    begin, end = RANGES.get(table, ("", ""))
    if begin not in rows.column_names or end not in rows.column_names:
        return
    backward = pc.less(rows[end], rows[begin])
    if pc.any(backward).as_py():
        where = _where(table, rows, pc.index(backward, True).as_py())
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
    if plain_type(column.type) != pa.string():
        return []
    return sorted(word for word in pc.unique(column).to_pylist() if word is not None)


def _unknown_types(rows: pa.Table) -> Iterator[Breach]:
    (dtypes,) = (v.words for v in vocabularies() if v.name == "dtype")
    for row, signature in enumerate(rows["signature"].to_pylist()):
        for position, parameter in enumerate(signature or ()):
            word = parameter and parameter.get("type")
            if not word or ":" in word:
                continue
            match = _TYPE.fullmatch(word)
            element = match and (match["element"] or match["of"])
            if element not in dtypes and element not in _OTHER_TYPES:
                yield Breach(
                    f"signature[{position}] of {_where('kernels', rows, row)} has the type "
                    f"{word!r}, which is none of Triton's, as *fp32; write it as producer:{word}",
                    warning=True,
                )
                return


def _wrong_arguments(rows: pa.Table) -> Iterator[Breach]:
    ids = rows["call_id"].to_pylist() if "call_id" in rows.column_names else []
    seen: set[str] = set()
    for row, args in enumerate(rows["args"].to_pylist()):
        for position, arg in enumerate(args or ()):
            call = ids[row] if ids else row
            doubts = dict(_doubtful_storage(args, position))
            for what, text in (*_wrong_fields(arg), *_wrong_group(args, position), *doubts.items()):
                if what not in seen:
                    seen.add(what)
                    yield Breach(f"args[{position}] of call {call} {text}", what in doubts)


def _wrong_fields(arg: Mapping[str, Any] | None) -> Iterator[_KindAndPhrase]:
    """Yield the kinds of breaches of an argument, with a phrase each."""
    if arg is None:
        yield "entry", "is null; each parameter has an entry"
        return
    shape, strides = arg.get("shape"), arg.get("strides")
    if shape is not None and None in shape:
        yield "shape", f"has the shape {shape}; a shape is known as a whole, or null"
    if shape is not None and strides is not None and len(shape) != len(strides):
        yield "strides", f"has {len(strides)} strides for a shape of {len(shape)} axes"
    alignment = arg.get("alignment")
    if alignment is not None and alignment >= _ALIGNED:
        yield (
            "alignment",
            f"has the alignment {alignment}; it is the data pointer modulo {_ALIGNED}",
        )
    scalar, dtype = arg.get("scalar"), arg.get("dtype")
    if arg.get("kind") == "scalar" and scalar is not None and not _is_literal(scalar, dtype):
        of_type = f" of {dtype}" if dtype else ""
        yield "scalar", f"has the scalar {scalar!r}, which is no literal{of_type}"


def _wrong_group(
    args: Sequence[Mapping[str, Any] | None], position: int
) -> Iterator[_KindAndPhrase]:
    """Yield the kind of breach of an argument's `alias_group`, with a phrase."""
    arg = args[position] or {}
    group = arg.get("alias_group")
    if group is None or group < 0:  # reported above
        return
    text = f"has the alias_group {group}"
    first = (args[group] or {}).get("alias_group") if group <= position else None
    if arg.get("kind") in ("scalar", "constexpr"):
        yield "alias_group", f"{text}, and is a {arg['kind']}, which has no storage"
    elif group > position:
        rest = f"index of the first argument with the same storage, so 0 to {position}"
        yield "alias_group", f"{text}; it is the {rest}"
    elif first != group:
        of_first = "none" if first is None else f"the alias_group {first}"
        yield "alias_group", f"{text}, and args[{group}] has {of_first}; the first one has its own"


def _doubtful_storage(
    args: Sequence[Mapping[str, Any] | None], position: int
) -> Iterator[_KindAndPhrase]:
    """Yield the kinds of breaches, as a SHOULD, of an argument's storage, with a phrase each."""
    arg = args[position] or {}
    size, end, group = arg.get("storage_bytes"), _end(arg), arg.get("alias_group")
    if size is None:
        return
    if end is not None and end > size:
        yield "end", f"ends at byte {end} of a storage of {size}"
    first = (args[group] or {}) if group is not None and 0 <= group < position else {}
    if first.get("storage_bytes") not in (None, size):
        text = f"has a storage of {size} bytes, and args[{group}] has the same one"
        yield "storage", f"{text} of {first['storage_bytes']}"


def _copies_with_calls(rows: pa.Table) -> Iterator[Breach]:
    has_call = pc.and_(pc.is_valid(rows["kind"]), pc.is_valid(rows["call_id"]))
    if pc.any(has_call).as_py():
        where = _where("gpu_kernels", rows, pc.index(has_call, True).as_py())
        text = f"call_id is not null in {where}, which is a copy or fill"
        yield Breach(f"{text}; readers count none for its call", warning=True)


def _is_literal(text: str, dtype: str | None) -> bool:
    """Return whether a text is a Python literal of an element type; pointers are integers."""
    known = _ELEMENT.fullmatch("u64" if (dtype or "").startswith("*") else dtype or "")
    is_number = _NUMBER.fullmatch(text) is not None
    if known is None:
        return is_number or text in ("True", "False")
    if known["kind"] in ("fp", "bf"):
        return is_number
    if text in ("True", "False"):
        return True
    width = int(known["bits"])
    is_signed = known["kind"] == "i" and width > 1
    least, end = (-(1 << (width - 1)), 1 << (width - 1)) if is_signed else (0, 1 << width)
    return _INTEGER.fullmatch(text) is not None and least <= int(text) < end


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


def _unusual_ids(rows: pa.Table) -> Iterator[Breach]:
    """Yield breaches of ids of runs that do not say when the run was recorded, or imported."""
    names = [n for n in ("run_id", "source", "started", "ended") if n in rows.column_names]
    times = {n: pa.int64() for n in names if n.endswith("ed")}
    plain = pa.table({n: rows[n].cast(times.get(n, pa.string())) for n in names})
    for row in plain.to_pylist():
        match = _RUN_ID.fullmatch(row.get("run_id") or "")
        if match is None:
            text = "its id is not a time in UTC and 8 digits, as 20260102-030405-678-9abcdef0"
            yield Breach(text, warning=True)
            continue
        begin, end = row.get("started"), row.get("ended")
        early = begin is not None and match["time"] < first_run_id(begin - _NEAR_RUN)
        late = end is not None and match["time"] > first_run_id(end + _NEAR_RUN)
        if (early or late) and row.get("source") is None:
            place = "before started" if early else "after ended"
            yield Breach(f"the time in its id, {match['time']}, is {place}", warning=True)


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
