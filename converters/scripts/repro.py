"""One call of a trace as plain data: everything that a script needs to launch it again."""

import ast
import re
import statistics
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kvtrace.converters.scripts.repro_source import kernel_module
from kvtrace.schema.contents import first_contents, least_storage_bytes, with_values
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.runs import Run, plain_rows
from kvtrace.schema.trace import Selection, Trace

#: Triton's short names of element types, and torch's; others are called the same.
TORCH_NAMES: Final = {
    "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64",
    "fp8e5": "float8_e5m2", "fp8e4nv": "float8_e4m3fn", "fp8e4b8": "float8_e4m3fnuz",
    "fp8e5b16": "float8_e5m2fnuz",
}  # fmt: skip
_TRITON_TYPE: Final = re.compile(r"u?int\d+|fp(16|32|64)|bf16|fp8e\w+")
#: Compile options, besides those with columns, that a kernel's author or caller chooses.
_CHOSEN_OPTIONS: Final = ("maxnreg", "enable_fp_fusion", "launch_cooperative_grid", "launch_pdl")


@dataclass(frozen=True, slots=True)
class Choice:
    """Which call: exactly one of the three is set. `finding` may be the beginning of an id."""

    launch: int | None = None
    call: int | None = None
    finding: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """What an argument is, if it is a tensor: element type by torch's name, offset in bytes."""

    storage: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Described:
    """A tensor descriptor that was made on the host."""

    base: Place
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block_shape: tuple[int, ...]
    padding: str = "zero"


@dataclass(frozen=True, slots=True)
class Literal:
    """Any other argument, as the text of a Python expression."""

    text: str


@dataclass(frozen=True, slots=True)
class Memory:
    """A storage that arguments lie in; `contents` is the hash of what it began with, if kept."""

    nbytes: int
    dtype: str
    contents: str | None


@dataclass(frozen=True, slots=True)
class Code:
    """What is compiled: `stage` is ttir or ttgir, or source, where `text` is a module's or None.

    With no text the kernel is imported from `module`.
    """

    stage: str
    text: str | None
    module: str | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """How long the call took: the median of `count` executions in ns, and where that was."""

    median_ns: float
    where: str
    count: int


@dataclass(frozen=True, slots=True)
class Repro:
    """A call that is to be launched again."""

    kernel: str
    grid: tuple[int, int, int]
    code: Code
    options: Mapping[str, object]
    arguments: Mapping[str, Place | Described | Literal]
    storages: Mapping[str, Memory]
    contents: Mapping[str, bytes]
    recorded: Recorded | None
    run: Run
    call_id: int
    rows: Sequence[Mapping[str, Any]]
    launch: Mapping[str, Any] | None = None
    finding: Mapping[str, Any] | None = None
    place: tuple[str | None, int | None] = (None, None)
    notes: tuple[str, ...] = field(default=())


def read_repro(
    selection: Selection, choice: Choice, source: bool = False, limit_bytes: int = 64 << 20
) -> Repro:
    """Find a call and everything that its launch needs.

    Args:
        selection: the trace and runs to look in.
        choice: which call.
        source: whether to take the kernel's recorded Python source and not its IR.
        limit_bytes: recorded contents of storages larger than this are left out.

    Raises:
        BadSetting: there is no such call, or something of it was not recorded.

    """
    run, call_id, launch, finding = _chosen(selection, choice)
    trace = selection.trace
    call = _row_of(trace, "calls", run, "call_id", call_id)
    kernel = _row_of(trace, "kernels", run, "kernel_id", call["kernel_id"])
    what = f"call {call_id} of kernel {kernel['name']}"
    code = _source(trace, kernel, what) if source else _ir(trace, kernel, what)
    held = first_contents(trace, [run]).get((run.run_id, call_id), {})
    rows = with_values(call["args"], held)
    parameters = {each["name"]: each["type"] for each in kernel["signature"] or ()}
    kept = [row for row in rows if source or parameters.get(row["name"]) != "constexpr"]
    arguments = {row["name"]: _argument(row, rows, what, source) for row in kept}
    contents, notes = _contents(trace, kept, limit_bytes)
    used = dict.fromkeys(
        place.storage for value in arguments.values() if (place := _place_of(value)) is not None
    )
    x, y, z = (int(call[f"grid_{axis}"] or 1) for axis in "xyz")
    return Repro(
        kernel=str(kernel["name"]),
        grid=(x, y, z),
        code=code,
        options=options_of(kernel, source),
        arguments=arguments,
        storages={name: _memory(name, rows, contents) for name in used},
        contents=contents,
        recorded=_recorded(trace, run, call_id),
        run=run,
        call_id=call_id,
        rows=rows,
        launch=launch,
        finding=finding,
        place=(kernel["file"], kernel["line"]),
        notes=tuple(notes),
    )


def _chosen(
    selection: Selection, choice: Choice
) -> tuple[Run, int, Mapping[str, Any] | None, Mapping[str, Any] | None]:
    """The selected run and call, and the launch or finding that they were named by."""
    given = [value for value in (choice.launch, choice.call, choice.finding) if value is not None]
    if len(given) != 1:
        raise BadSetting(
            "say what is to be launched again by one of --launch NUMBER, --call ID, --finding ID."
        )
    table, key, value = _key(choice)
    found = []
    for run in selection.runs:
        rows = _rows_where(selection.trace, table, run, key, value)
        found += [(run, row) for row in rows]
    if not found:
        raise BadSetting(f"{_none_such(selection, table, key, value)}.")
    if len({run.run_id for run, _ in found}) > 1 and table != "findings":
        ids = ", ".join(sorted({run.run_id for run, _ in found}))
        raise BadSetting(
            f"{len(found)} runs have a {_WORDS[table]} {value}: choose by --run {ids}."
        )
    run, row = found[0]
    if row["call_id"] is None:
        raise BadSetting(f"finding {value} is of no call; choose a launch or a call.")
    return (
        run,
        int(row["call_id"]),
        row if table == "launches" else None,
        row if table == "findings" else None,
    )


_WORDS: Final = {"launches": "launch", "calls": "call", "findings": "finding"}


def _key(choice: Choice) -> tuple[str, str, int | str]:
    if choice.launch is not None:
        return "launches", "seq", choice.launch
    if choice.call is not None:
        return "calls", "call_id", choice.call
    assert choice.finding is not None
    return "findings", "finding_id", choice.finding


def _none_such(selection: Selection, table: str, key: str, value: object) -> str:
    ids = selection.table(table, [key]).column(key).to_pylist()
    path = selection.trace.path
    if not ids and table == "findings":
        return f"{path} has no findings; kvtrace sanitize looks for some"
    if not ids:
        return f"{path} has no {table}"
    known = ", ".join(str(each)[:12] for each in ids[:3]) + (" …" if len(ids) > 3 else "")
    told = known if table == "findings" else f"{min(ids)} to {max(ids)}"
    return f"{path} has no {_WORDS[table]} {value}; it has {told}"


def _rows_where(
    trace: Trace, table: str, run: Run, key: str, value: int | str
) -> list[dict[str, Any]]:
    """Rows of one run whose key is a value, or begins with it if it is a text."""
    import pyarrow.compute as pc

    rows = trace.table(table, (run,))
    column = rows.column(key)
    if isinstance(value, str):
        return plain_rows(rows.filter(pc.starts_with(column, value)))
    if not -(2**63) <= value < 2**63:
        return []
    return plain_rows(rows.filter(pc.equal(column, value)))


def _row_of(trace: Trace, table: str, run: Run, key: str, value: int | None) -> dict[str, Any]:
    """The row of one run that is referred to."""
    found = [] if value is None else _rows_where(trace, table, run, key, value)
    if len(found) != 1:
        raise BadSetting(
            f"the table {table} of run {run.run_id} has {len(found)} rows with {key} {value}, "
            "which another of its tables refers to; kvtrace trace validate says what else is "
            "missing."
        )
    return found[0]


def _ir(trace: Trace, kernel: Mapping[str, Any], what: str) -> Code:
    stages = {each["stage"]: each["artifact"] for each in kernel["stages"] or ()}
    for stage in ("ttir", "ttgir"):
        content = trace.artifact(stages.get(stage))
        if content is not None:
            return Code(stage, content.decode("utf-8"))
    raise BadSetting(
        f"{what} ({kernel['origin'] or 'unknown origin'}) was recorded without Triton's IR, and "
        "only a Triton kernel can be launched again."
    )


def _source(trace: Trace, kernel: Mapping[str, Any], what: str) -> Code:
    if not any(each["stage"] == "ttir" for each in kernel["stages"] or ()):
        raise BadSetting(f"{what} is not a Triton kernel; only those can be launched again.")
    files = {each["path"]: each["artifact"] for each in kernel["files"] or ()}
    whole = trace.artifact(files.get(kernel["file"]))
    if whole is not None:
        text = kernel_module(whole.decode("utf-8", "replace"), kernel["name"], kernel["line"])
        if text is not None:
            return Code("source", text)
    own = trace.artifact(kernel["source_artifact"])
    if own is not None:
        head = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        return Code("source", head + own.decode("utf-8", "replace"))
    if kernel["module"] in (None, "__main__"):
        raise BadSetting(
            f"the source of {what} was not recorded (KVTRACE_SOURCE=0); leave out --source."
        )
    return Code("source", None, str(kernel["module"]))


def options_of(kernel: Mapping[str, Any], source: bool) -> dict[str, object]:
    """What the compiler was asked for; a launch from source takes no option of other versions."""
    named = {name: kernel[name] for name in ("num_warps", "num_stages", "num_ctas")}
    options: dict[str, object] = {name: int(v) for name, v in named.items() if v is not None}
    texts = dict(kernel["options"] or ())
    for name in _CHOSEN_OPTIONS:
        if name in texts and (not source or name == "maxnreg"):
            options[name] = _evaluated(texts[name])
    return {name: value for name, value in options.items() if value is not None}


def _argument(
    row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], what: str, source: bool
) -> Place | Described | Literal:
    name, kind = row["name"], row["kind"]
    if kind == "tensor":
        return _tensor(row, rows, what)
    if kind == "descriptor":
        if not source:
            raise BadSetting(
                f"argument {name} of {what} is a tensor descriptor, which Triton does not pass "
                "to a kernel that it compiles from IR; use --source."
            )
        return descriptor(row, rows, what)
    return Literal(expression(str(row["scalar"]), str(row["dtype"]), f"argument {name} of {what}"))


def _tensor(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], what: str) -> Place:
    name = row["name"]
    if row["shape"] is None or row["strides"] is None:
        raise BadSetting(f"argument {name} of {what} is a bare pointer: its extent is not known.")
    dtype = TORCH_NAMES.get(row["dtype"], str(row["dtype"]))
    offset = int(row["offset_bytes"] or 0)
    if offset % _item_bytes(dtype):
        raise BadSetting(
            f"argument {name} of {what} begins at byte {offset} of its storage, which torch "
            f"allows no tensor of {dtype} to."
        )
    group = row["alias_group"]
    storage = name if group is None else rows[group]["name"]
    return Place(storage, dtype, tuple(row["shape"]), tuple(row["strides"]), offset)


def descriptor(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], what: str) -> Described:
    """Return a recorded tensor descriptor; BadSetting where it was not recorded whole."""
    parts = re.findall(r"(\w+)=(\([^)]*\)|'\w*')", str(row["scalar"]))
    found = {key: _evaluated(text) for key, text in parts}
    try:
        shape, strides, block = (
            tuple(map(int, found[key])) for key in ("shape", "strides", "block_shape")
        )
    except (KeyError, TypeError) as error:
        raise BadSetting(f"argument {row['name']} of {what} was not recorded whole.") from error
    padding = str(found.get("padding", "zero"))
    return Described(_tensor(row, rows, what), shape, strides, block, padding)


def _place_of(value: Place | Described | Literal) -> Place | None:
    if isinstance(value, Described):
        return value.base
    return value if isinstance(value, Place) else None


def _memory(name: str, rows: Sequence[Mapping[str, Any]], contents: Mapping[str, bytes]) -> Memory:
    row = next(each for each in rows if each["name"] == name)
    dtype = TORCH_NAMES.get(row["dtype"], str(row["dtype"]))
    size = row["storage_bytes"]
    if size is None:
        size = least_storage_bytes(
            rows, rows.index(row), lambda each: _item_bytes(TORCH_NAMES.get(each, each))
        )
    kept = row["value_artifact"]
    return Memory(int(size), dtype, kept if kept in contents else None)


def _item_bytes(dtype: str) -> int:
    """Bytes of an element of a type of torch's, from the width in its name."""
    if dtype == "bool" or dtype.startswith("float8"):
        return 1
    digits = re.search(r"\d+$", dtype)
    return int(digits[0]) // 8 if digits else 1


def _contents(
    trace: Trace, rows: Iterable[Mapping[str, Any]], limit_bytes: int
) -> tuple[dict[str, bytes], list[str]]:
    """Compressed contents by hash, and a message about those that are left out."""
    found: dict[str, bytes] = {}
    notes = []
    for row in rows:
        kept = row["value_artifact"]
        if kept is None or kept in found:
            continue
        if (row["storage_bytes"] or 0) > limit_bytes:
            notes.append(f"the recorded contents of {row['name']} are too large to go along")
            continue
        content = trace.artifact(kept)
        if content is not None:
            found[kept] = zlib.compress(content, 6)
    return found, notes


def _recorded(trace: Trace, run: Run, call_id: int) -> Recorded | None:
    """The call's time on the device; None where no timeline was recorded."""
    ran = [
        row["end"] - row["start"]
        for row in _rows_where(trace, "gpu_kernels", run, "call_id", call_id)
        if row["end"] is not None and row["start"] is not None
    ]
    if not ran:
        # What a launch takes on the host, compiling and all, says nothing of the kernel.
        return None
    names = {str(each["name"]) for each in run.devices if each["name"]}
    where = f"on {', '.join(sorted(names))}" if names else "on the device"
    return Recorded(statistics.median(ran), where, len(ran))


def expression(text: str, dtype: str, what: str) -> str:
    """A recorded literal as a Python expression."""
    if text in ("nan", "inf", "-inf"):
        return f'float("{text}")'
    try:
        return repr(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        pass
    if _TRITON_TYPE.fullmatch(text):
        return f'triton.language.dtype("{text}")'
    if re.fullmatch(r"torch\.[a-z0-9_]+", text):
        return text
    raise BadSetting(f"{what} was {text} ({dtype}), which a script cannot write down.")


def _evaluated(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
