"""Data of one recorded call, from which a script that launches the call again is written."""

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kvtrace.converters.scripts.kept_memory import KeptParts, kept_memory
from kvtrace.converters.scripts.repro_source import expression, kernel_module, literal_value
from kvtrace.figures.times import device_times
from kvtrace.schema.contents import first_contents, least_storage_bytes, with_values
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.runs import Run, plain_rows
from kvtrace.schema.trace import Selection, Trace
from kvtrace.schema.vocabularies import TORCH_NAMES

#: Compile options that users choose, besides those in columns of `kernels`.
_CHOSEN_OPTIONS: Final = (
    "maxnreg", "enable_fp_fusion", "launch_cooperative_grid", "launch_pdl", "waves_per_eu",
    "matrix_instr_nonkdim",
)  # fmt: skip
#: The type of a descriptor in Gluon: its block, and its layout.
_LAYOUT: Final = re.compile(r"tensordesc<[^\]]*\],(\w+\([\w=, \[\]]*\))>")
_WARPS: Final = re.compile(rb'"ttg\.num-warps" = (\d+)')


@dataclass(frozen=True, slots=True)
class Choice:
    """The user's choice of a call, by a launch's number, a call's id, or a finding's (partial) id.

    Exactly one field must be set.
    """

    launch: int | None = None
    call: int | None = None
    finding: str | None = None


@dataclass(frozen=True, slots=True)
class TensorArgument:
    """A tensor argument: name of its storage, torch's element type, layout, and offset in bytes."""

    storage: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class DescriptorArgument:
    """A tensor descriptor that the host created over the tensor `base`.

    `layout` is the expression of its layout in shared memory, which Gluon's descriptors have.
    """

    base: TensorArgument
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block_shape: tuple[int, ...]
    padding: str = "zero"
    layout: str = ""


@dataclass(frozen=True, slots=True)
class Literal:
    """A scalar or constant argument, as the text of a Python expression."""

    text: str


@dataclass(frozen=True, slots=True)
class Memory:
    """A storage of tensor arguments: size and element type for its contents.

    `contents` is the SHA-256 of its contents before the first launch, if they were recorded.
    """

    nbytes: int
    dtype: str
    contents: str | None


@dataclass(frozen=True, slots=True)
class Code:
    """The code to compile: `text` in the form `stage` (ttir, ttgir, or source: a module's text).

    If `text` is None, the kernel is imported from `module`.
    """

    stage: str
    text: str | None
    module: str | None = None


@dataclass(frozen=True, slots=True)
class Repro:
    """All data of a call that a script needs to launch the call again.

    `recorded` has the median device time in ms, the device as text, and the number of executions.
    `storages` are by name, `contents` has the compressed contents by hash. `rows` are the call's
    recorded arguments. `launch` or `finding` is the row by which the call was chosen, `place` the
    file and line of the kernel. `contents_launch` is the number of the launch that had the
    contents; None: the call's first one with known contents. `kept` are parts of memory before and
    after the launch `kept_launch`. `notes` are sentences on omitted data.
    """

    kernel: str
    grid: tuple[int, int, int]
    code: Code
    options: Mapping[str, object]
    arguments: Mapping[str, TensorArgument | DescriptorArgument | Literal]
    storages: Mapping[str, Memory]
    contents: Mapping[str, bytes]
    recorded: tuple[float, str, int] | None
    run: Run
    call_id: int
    rows: Sequence[Mapping[str, Any]]
    launch: Mapping[str, Any] | None = None
    finding: Mapping[str, Any] | None = None
    place: tuple[str | None, int | None] = (None, None)
    contents_launch: int | None = None
    kept_launch: int | None = None
    kept: tuple[KeptParts, ...] = ()
    notes: tuple[str, ...] = field(default=())


def read_repro(
    selection: Selection, choice: Choice, source: bool = False, limit_bytes: int = 64 << 20
) -> Repro:
    """Return a call and all data that its launch needs.

    Args:
        selection: the trace and runs to search.
        choice: the choice of the call.
        source: compile the kernel's recorded Python source, rather than its IR.
        limit_bytes: largest storage whose recorded contents are included.

    Raises:
        BadSetting: the call does not exist, or data that the launch needs was not recorded.

    """
    run, call_id, launch, finding = _chosen_call(selection, choice)
    trace = selection.trace
    call = _row_of(trace, "calls", run, "call_id", call_id)
    kernel = _row_of(trace, "kernels", run, "kernel_id", call["kernel_id"])
    call_text = f"call {call_id} of kernel {kernel['name']}"
    code = _source_code(trace, kernel, call_text) if source else _ir_code(trace, kernel, call_text)
    _require_launch(call, call_text)
    chosen_seq = None if launch is None else int(launch["seq"])
    seq, rows, kept = _inputs(trace, run, call, chosen_seq, limit_bytes)
    types = {parameter["name"]: parameter["type"] for parameter in kernel["signature"] or ()}
    passed_rows = [row for row in rows if source or types.get(row["name"]) != "constexpr"]
    arguments = {
        row["name"]: _argument(row, rows, call_text, types.get(row["name"]) if source else None)
        for row in passed_rows
    }
    contents, notes = _compressed_contents(trace, passed_rows, limit_bytes)
    kept_bytes = {part.artifact: trace.artifact(part.artifact) or b"" for part in kept}
    tensors = map(_base_tensor, arguments.values())
    storages = dict.fromkeys(tensor.storage for tensor in tensors if tensor is not None)
    with_contents = trace.table("contents", (run,), ["seq"])["seq"].to_pylist()
    x, y, z = (int(call[f"grid_{axis}"] or 1) for axis in "xyz")
    return Repro(
        kernel=str(kernel["name"]),
        grid=(x, y, z),
        code=code,
        options=options_of(trace, kernel, source),
        arguments=arguments,
        storages={name: _memory(name, rows, contents) for name in storages},
        contents=contents | {sha256: zlib.compress(b) for sha256, b in kept_bytes.items()},
        recorded=_recorded_time(trace, run, call_id),
        run=run,
        call_id=call_id,
        rows=rows,
        launch=launch,
        finding=finding,
        place=(kernel["file"], kernel["line"]),
        contents_launch=seq if seq in with_contents else None,
        kept_launch=seq if kept else None,
        kept=tuple(part for part in kept if part.storage in storages),
        notes=tuple(notes),
    )


def _require_launch(call: Mapping[str, Any], call_text: str) -> None:
    """Raise BadSetting if arguments or grid of a call were not recorded."""
    missing = [name for name in ("args", "grid_x") if call[name] is None]
    if missing:
        what = " and ".join("arguments" if name == "args" else "grid" for name in missing)
        raise BadSetting(
            f"{call_text} cannot be launched again, as its {what} were not recorded; record the "
            "program with kvtrace, or have the trace's producer write calls.args and calls.grid_x"
        )


def _inputs(
    trace: Trace, run: Run, call: Mapping[str, Any], chosen_seq: int | None, limit_bytes: int
) -> tuple[int | None, Sequence[Mapping[str, Any]], tuple[KeptParts, ...]]:
    """Return the launch to repeat, the arguments with its contents, and its kept memory.

    The launch is the chosen one, else the first if its memory was kept. The kept memory fits no
    other launch, nor contents of one whose arguments lay elsewhere in their storages.
    """
    call_id, recorded = call["call_id"], call["args"]
    first, kept = kept_memory(trace, run, call_id, recorded, limit_bytes) or (None, ())
    seq = first if chosen_seq is None else chosen_seq
    contents = first_contents(trace, [run], call_id, seq).get((run.run_id, call_id), {})
    rows = with_values(recorded, contents)
    fits = seq == first and [_place(row) for row in rows] == [_place(row) for row in recorded]
    return seq, rows, kept if fits else ()


def _place(row: Mapping[str, Any]) -> tuple[object, object]:
    """Return which storage an argument lies in, and where."""
    return row["alias_group"], row["offset_bytes"]


def _chosen_call(
    selection: Selection, choice: Choice
) -> tuple[Run, int, Mapping[str, Any] | None, Mapping[str, Any] | None]:
    """Return run, call id, and the row of the launch or finding by which the call was chosen."""
    chosen = [
        (noun, *where, value)
        for noun, where in _SEARCHED.items()
        if (value := getattr(choice, noun)) is not None
    ]
    if len(chosen) != 1:
        raise BadSetting(
            "choose the call to launch again by one of --launch NUMBER, --call ID, --finding ID"
        )
    ((noun, table, key, value),) = chosen
    matches = []
    for run in selection.runs:
        rows = _rows_where(selection.trace, table, run, key, value)
        matches += [(run, row) for row in rows]
    if not matches:
        raise BadSetting(f"{_not_found_text(selection, noun, value)}.")
    if len({run.run_id for run, _ in matches}) > 1 and table != "findings":
        ids = ", ".join(sorted({run.run_id for run, _ in matches}))
        raise BadSetting(f"{len(matches)} runs have a {noun} {value}: choose by --run {ids}.")
    run, row = matches[0]
    if row["call_id"] is None:
        raise BadSetting(f"finding {value} has no call: choose a launch or a call instead")
    rows_by_table = {table: row}
    return run, int(row["call_id"]), rows_by_table.get("launches"), rows_by_table.get("findings")


#: By field of `Choice`: the table that has it, and the column.
_SEARCHED: Final = {
    "launch": ("launches", "seq"),
    "call": ("calls", "call_id"),
    "finding": ("findings", "finding_id"),
}


def _not_found_text(selection: Selection, noun: str, value: object) -> str:
    table, key = _SEARCHED[noun]
    ids = selection.table(table, [key]).column(key).to_pylist()
    path = selection.trace.path
    if not ids and table == "findings":
        return f"{path} has no findings; kvtrace sanitize searches for some"
    if not ids:
        return f"{path} has no {table}"
    first_ids = ", ".join(str(identity)[:12] for identity in ids[:3])
    listed_ids = first_ids + (" …" if len(ids) > 3 else "")
    existing = listed_ids if table == "findings" else f"{min(ids)} to {max(ids)}"
    return f"{path} has no {noun} {value}; it has {existing}"


def _rows_where(
    trace: Trace, table: str, run: Run, key: str, value: int | str
) -> list[dict[str, Any]]:
    """Return the rows of a run's table whose column `key` equals `value`, or starts with a text."""
    import pyarrow.compute as pc

    rows = trace.table(table, (run,))
    column = rows.column(key)
    if isinstance(value, str):
        return plain_rows(rows.filter(pc.starts_with(column, value)))
    if not -(2**63) <= value < 2**63:
        return []
    return plain_rows(rows.filter(pc.equal(column, value)))


def _row_of(trace: Trace, table: str, run: Run, key: str, value: int | None) -> dict[str, Any]:
    """Return the only row of a run's table with a key to which another table refers.

    Raises:
        BadSetting: there is no such row, or several.
    """
    rows = [] if value is None else _rows_where(trace, table, run, key, value)
    if len(rows) != 1:
        raise BadSetting(
            f"the table {table} of run {run.run_id} has {len(rows)} rows with {key} {value}, to "
            "which another table refers: kvtrace trace validate lists all such problems"
        )
    return rows[0]


def _ir_code(trace: Trace, kernel: Mapping[str, Any], what: str) -> Code:
    artifacts = {stage["stage"]: stage["artifact"] for stage in kernel["stages"] or ()}
    for stage in ("ttir", "ttgir"):
        content = trace.artifact(artifacts.get(stage))
        if content is not None:
            return Code(stage, content.decode("utf-8"))
    raise BadSetting(
        f"{what} ({kernel['origin'] or 'unknown origin'}) was recorded without Triton's IR: only "
        "Triton kernels can be launched again"
    )


def _source_code(trace: Trace, kernel: Mapping[str, Any], what: str) -> Code:
    if not {"ttir", "glir"} & {stage["stage"] for stage in kernel["stages"] or ()}:
        raise BadSetting(f"{what} is not a Triton kernel; only these can be launched again")
    artifacts = {file["path"]: file["artifact"] for file in kernel["files"] or ()}
    content = trace.artifact(artifacts.get(kernel["file"]))
    if content is not None:
        file_text = content.decode("utf-8", "replace")
        text = kernel_module(file_text, kernel["name"], kernel["line"])
        if text is not None:
            return Code("source", text)
    function_source = trace.artifact(kernel["source_artifact"])
    if function_source is not None:
        imports = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        return Code("source", imports + function_source.decode("utf-8", "replace"))
    if kernel["module"] in (None, "__main__"):
        raise BadSetting(
            f"the source of {what} was not recorded (KVTRACE_SOURCE=0): leave out --source"
        )
    return Code("source", None, str(kernel["module"]))


def options_of(trace: Trace, kernel: Mapping[str, Any], source: bool) -> dict[str, object]:
    """Return a kernel's compile options by name; for `source`, those that all Tritons accept.

    Warps are those of its first partition, to which Triton adds those of others.
    """
    columns = {name: kernel[name] for name in ("num_warps", "num_stages", "num_ctas")}
    options: dict[str, object] = {name: int(v) for name, v in columns.items() if v is not None}
    stages = {stage["stage"]: stage["artifact"] for stage in kernel["stages"] or ()}
    warps = _WARPS.search(trace.artifact(stages.get("ttgir")) or b"")
    if warps is not None:
        options["num_warps"] = int(warps[1])
    texts = dict(kernel["options"] or ())
    for name in _CHOSEN_OPTIONS:
        if name in texts and (not source or name == "maxnreg"):
            options[name] = literal_value(texts[name])
    return {name: value for name, value in options.items() if value is not None}


def _argument(
    row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], what: str, type_: str | None
) -> TensorArgument | DescriptorArgument | Literal:
    """Return an argument; `type_` is its type in the kernel's signature, None to compile IR."""
    name, kind = row["name"], row["kind"]
    if kind == "tensor":
        return _tensor_argument(row, rows, what)
    if kind == "descriptor":
        if type_ is None:
            raise BadSetting(
                f"argument {name} of {what} is a tensor descriptor, which Triton cannot pass to a "
                "kernel compiled from IR: use --source"
            )
        return descriptor(row, rows, what, type_)
    return Literal(expression(str(row["scalar"]), str(row["dtype"]), f"argument {name} of {what}"))


def _tensor_argument(
    row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], what: str
) -> TensorArgument:
    name = row["name"]
    if row["shape"] is None or row["strides"] is None:
        raise BadSetting(f"argument {name} of {what} is a bare pointer: its size is not known")
    dtype = TORCH_NAMES.get(row["dtype"], str(row["dtype"]))
    offset = int(row["offset_bytes"] or 0)
    if offset % _item_bytes(dtype):
        raise BadSetting(
            f"argument {name} of {what} begins at byte {offset} of its storage, where torch "
            f"cannot place a tensor of {dtype}"
        )
    storage_index = row["alias_group"]
    storage = name if storage_index is None else rows[storage_index]["name"]
    return TensorArgument(storage, dtype, tuple(row["shape"]), tuple(row["strides"]), offset)


def descriptor(
    row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], what: str, type_: str
) -> DescriptorArgument:
    """Return the tensor descriptor, of type `type_`, in a row of a call's arguments (`rows`).

    Raises:
        BadSetting: a part of it was not recorded.
    """
    field_texts = re.findall(r"(\w+)=(\([^)]*\)|'\w*')", str(row["scalar"]))
    fields = {key: literal_value(text) for key, text in field_texts}
    try:
        shape, strides, block = (
            tuple(map(int, fields[key])) for key in ("shape", "strides", "block_shape")
        )
    except (KeyError, TypeError) as error:
        raise BadSetting(f"argument {row['name']} of {what} was not recorded fully") from error
    base, padding = _tensor_argument(row, rows, what), str(fields.get("padding", "zero"))
    layout = _LAYOUT.fullmatch(type_)
    text = layout[1] if layout else ""
    return DescriptorArgument(base, shape, strides, block, padding, text)


def _base_tensor(value: TensorArgument | DescriptorArgument | Literal) -> TensorArgument | None:
    if isinstance(value, DescriptorArgument):
        return value.base
    return value if isinstance(value, TensorArgument) else None


def _memory(name: str, rows: Sequence[Mapping[str, Any]], contents: Mapping[str, bytes]) -> Memory:
    row = next(row for row in rows if row["name"] == name)
    dtype = TORCH_NAMES.get(row["dtype"], str(row["dtype"]))
    size = row["storage_bytes"]
    if size is None:
        size = least_storage_bytes(rows, rows.index(row))
    sha256 = row["value_artifact"]
    return Memory(int(size), dtype, sha256 if sha256 in contents else None)


def _item_bytes(dtype: str) -> int:
    """Return the bytes of an element of a torch type, from the width in the type's name."""
    if dtype == "bool" or dtype.startswith("float8"):
        return 1
    digits = re.search(r"\d+$", dtype)
    return int(digits[0]) // 8 if digits else 1


def _compressed_contents(
    trace: Trace, rows: Iterable[Mapping[str, Any]], limit_bytes: int
) -> tuple[dict[str, bytes], list[str]]:
    """Return compressed contents of arguments by hash, and notes on contents above the limit."""
    contents: dict[str, bytes] = {}
    notes = []
    for row in rows:
        sha256 = row["value_artifact"]
        if sha256 is None or sha256 in contents:
            continue
        if (row["storage_bytes"] or 0) > limit_bytes:
            notes.append(f"the recorded contents of {row['name']} are too large for the script")
            continue
        content = trace.artifact(sha256)
        if content is not None:
            contents[sha256] = zlib.compress(content, 6)
    return contents, notes


def _recorded_time(trace: Trace, run: Run, call_id: int) -> tuple[float, str, int] | None:
    """Return a call's median device time in ms, the device as text, and the number of executions.

    None if no execution was timed.
    """
    import pyarrow.compute as pc

    figures = device_times(trace, (run,)).calls
    rows = figures.filter(pc.equal(figures["call_id"], call_id)).to_pylist()
    if not rows or not rows[0]["device_executions"]:
        # The host time of a launch is not the kernel's time.
        return None
    median = rows[0]["device_median_ns"] / 1e6
    return median, _device_text(run), int(rows[0]["device_executions"])


def _device_text(run: Run) -> str:
    """Return where a run's kernels ran, as `on NVIDIA H200`."""
    names = {str(device["name"]) for device in run.devices if device["name"]}
    return f"on {', '.join(sorted(names))}" if names else "on the device"
