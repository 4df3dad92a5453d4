"""Importer of tritonparse's logs: NDJSON of compilations with IR and launches with arguments.

Events are `compilation` and `launch` of structured_logging.py in
https://github.com/meta-pytorch/tritonparse.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from kvtrace.converters.importers.importing import unpacked
from kvtrace.converters.importers.json_values import (
    entries,
    int32_or_none,
    integer,
    mapping,
    text,
    three,
)
from kvtrace.converters.importers.registry import BadSource, ImportedRun
from kvtrace.converters.importers.rows import NONE, RunRows
from kvtrace.schema.vocabularies import SHORT_NAMES

#: Files of a compilation that are stages, in the compiler's order.
_STAGES: Final = ("ttir", "ttgir", "llir", "ptx", "amdgcn")
#: Type of events that tritonparse's parser adds, which repeat launches.
_REPEATED: Final = "launch_diff"
#: Keys of a compilation's metadata that have a column, or repeat another key.
_COLUMN_KEYS: Final = frozenset(
    {"name", "hash", "target", "num_warps", "num_ctas", "num_stages", "shared", "warp_size"}
    | {"env", "src_attrs", "src_constants", "src_cache_key", "times", "cache_hit"}
)
_LACKS: Final = (
    "tritonparse has no device times: kvtrace import --into adds those of a profiler",
    "tritonparse does not record how large storages are, so whether an access past the end of a "
    "tensor is out of bounds is unknown",
)
_SECONDS: Final = (
    "tritonparse's times of launches are whole seconds, which are not imported; their order is"
)


class Tritonparse:
    """Importer of tritonparse's NDJSON, which has one file per process."""

    summary = "tritonparse: .ndjson, also .gz and .bin.ndjson; IR and launches with arguments"

    def recognizes(self, path: Path, head: bytes) -> bool:  # noqa: ARG002 - others need it
        """Return whether the first line is an event of tritonparse."""
        return head.startswith(b"{") and b'"event_type"' in head[: 1 << 12]

    def read(self, path: Path, rows: RunRows) -> Iterator[ImportedRun]:
        """Add the rows of one process, and yield its facts. Errors as `Importer.read`."""
        reading = _LogContents(rows)
        with unpacked(path) as file:
            for line in filter(bytes.strip, file):
                reading.add(line)
        if not reading.events:
            raise BadSource(f"{path} has neither compilations nor launches: import another log")
        yield reading.finished()


class _LogContents:
    """Contents of one log, as they are collected: kernels by hash, and distinct calls."""

    def __init__(self, rows: RunRows) -> None:
        self.events = 0
        self._rows = rows
        self._kernels: dict[str, dict[str, Any]] = {}
        self._calls: dict[str, int] = {}
        self._process = NONE
        self._times: list[int] = []
        self._has_whole_seconds = False
        self._device: int | None = None
        self._left_out: Counter[str] = Counter()

    def add(self, line: bytes) -> None:
        """Add the compilation or launch of a line; other events are counted, and torn lines."""
        try:
            self._add(json.loads(line))
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            self._left_out["lines that are no event"] += 1

    def _add(self, event: Mapping[str, Any]) -> None:
        kind = event.get("event_type")
        if kind not in ("compilation", "launch"):
            if kind != _REPEATED:
                self._left_out[text(kind) or "?"] += 1
            return
        self.events += 1
        if self._process == NONE:
            self._process = integer(event.get("pid"))
        if kind == "compilation":
            self._add_kernel(event)
        else:
            self._add_launch(event)

    def _kernel_row(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row of the kernel that an event's metadata describes, added if it is new."""
        key = text(metadata.get("hash")) or text(metadata.get("name")) or "?"
        row = self._kernels.get(key)
        if row is None:
            target = mapping(metadata.get("target"))
            row = self._kernels[key] = {
                "kernel_id": len(self._kernels),
                "name": text(metadata.get("name")),
                "function": text(metadata.get("name")),
                "origin": "jit",
                "cache_key": text(metadata.get("hash")),
                "target": f"{target['backend']}:{target['arch']}" if len(target) >= 2 else None,
                "warp_size": int32_or_none(target.get("warp_size", metadata.get("warp_size"))),
                "num_warps": int32_or_none(metadata.get("num_warps")),
                "num_ctas": int32_or_none(metadata.get("num_ctas")),
                "num_stages": int32_or_none(metadata.get("num_stages")),
                "shared_bytes": int32_or_none(metadata.get("shared")),
                "options": _options(metadata),
                "stages": None,
            }
        return row

    def _add_kernel(self, event: Mapping[str, Any]) -> None:
        payload = mapping(event.get("payload"))
        metadata = mapping(payload.get("metadata"))
        row = self._kernel_row(metadata)
        constants, attributes = mapping(metadata.get("src_constants")), metadata.get("src_attrs")
        row["constants"], row["attributes"] = constants, mapping(attributes)
        if isinstance(metadata.get("cache_hit"), bool):
            row["cache_hit"] = metadata["cache_hit"]
        source = mapping(payload.get("python_source"))
        code, path = text(source.get("code")), text(source.get("file_path"))
        first_line = int32_or_none(source.get("start_line"))
        if code is not None:
            lines = code.splitlines(keepends=True)
            decorator_lines = next(
                (n for n, line in enumerate(lines) if line.lstrip()[:4] == "def "), 0
            )
            row["source_artifact"] = self._rows.artifact(
                "source", "".join(lines[decorator_lines:]).encode()
            )
            row["line"] = None if first_line is None else first_line + decorator_lines
        row["file"] = path
        if row["stages"] is None:
            version = row["options"].get("triton_version")
            row["stages"] = list(self._stages(mapping(payload.get("file_content")), version))

    def _stages(self, files: Mapping[str, Any], version: str | None) -> Iterator[dict[str, Any]]:
        by_stage = {name.rpartition(".")[2]: text(content) for name, content in files.items()}
        for stage in _STAGES:
            content = by_stage.get(stage)
            if content is None:
                continue
            artifact = self._rows.artifact(stage, content.encode(), ("triton", version))
            yield {"stage": stage, "artifact": artifact}

    def _add_launch(self, event: Mapping[str, Any]) -> None:
        row = self._kernel_row(
            {"name": event.get("name"), **mapping(event.get("compilation_metadata"))}
        )
        logged = mapping(event.get("extracted_args"))
        if "signature" not in row:
            row["signature"] = signature(
                logged, row.get("constants", {}), row.get("attributes", {})
            )
        args = arguments(logged, row["signature"])
        grid = [1 if size == NONE else size for size in three(event.get("grid"))]
        frames = [_frame(frame) for frame in reversed(entries(event.get("stack")))]
        key = json.dumps([row["kernel_id"], grid, args])
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = len(self._calls)
            self._rows.rows(
                "calls",
                [
                    {
                        "call_id": call,
                        "kernel_id": row["kernel_id"],
                        **dict(zip(("grid_x", "grid_y", "grid_z"), grid, strict=True)),
                        "args": args,
                        "stack_id": self._rows.stack(frames) if frames else None,
                    }
                ],
            )
        time = self._time(event.get("timestamp"))
        stream = integer(event.get("stream"))
        device = next((arg["device"] for arg in args if arg.get("device")), None)
        self._rows.rows(
            "launches",
            [
                {
                    "seq": self._rows.next_id("launches"),
                    "call_id": call,
                    "enter": time,
                    "device": int32_or_none((device or "").partition(":")[2]),
                    "stream": None if stream == NONE else stream,
                }
            ],
        )

    def _time(self, timestamp: Any) -> int | None:
        """Return an event's time in ns since 1970, or None if it is missing or in whole seconds.

        The time is also recorded for the run's begin and end.
        """
        timestamp_text = text(timestamp)
        if timestamp_text is None:
            return None
        seconds, _, fraction = timestamp_text.removesuffix("Z").partition(".")
        has_fraction = fraction.isdecimal()
        whole_second_ns = int(datetime.fromisoformat(f"{seconds}+00:00").timestamp()) * 10**9
        self._times.append(whole_second_ns)
        self._has_whole_seconds = self._has_whole_seconds or not has_fraction
        return whole_second_ns + int(fraction[:9].ljust(9, "0")) if has_fraction else None

    def finished(self) -> ImportedRun:
        """Write the collected kernels, and return the facts of the process."""
        kernels = list(self._kernels.values())
        for row in kernels:
            row.pop("constants", None)
            row.pop("attributes", None)
        self._rows.rows("kernels", kernels)
        options = (mapping(row["options"]) for row in kernels)
        versions = (option.get("triton_version", "") for option in options)
        version = next(filter(None, versions), "")
        return ImportedRun(
            {
                "mode": "launch",
                "started": min(self._times, default=None),
                "ended": max(self._times, default=None),
                "pid": int32_or_none(self._process),
                "versions": {"triton": version} if version else {},
            },
            (*_LACKS, *((_SECONDS,) if self._has_whole_seconds else ())),
            self._left_out,
        )


def _options(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata without a column in `kernels`, as texts by name."""
    return {
        str(name): value if isinstance(value, str) else str(value)
        for name, value in metadata.items()
        if name not in _COLUMN_KEYS and value is not None
    }


def _frame(entry: Any) -> tuple[str | None, int | None, int | None, str | None]:
    frame = mapping(entry)
    return (
        text(frame.get("filename")),
        int32_or_none(frame.get("line")),
        None,
        text(frame.get("name")),
    )


IMPORTER = Tritonparse()


# -- logged arguments ------------------------------------------------------------------------------


#: A type as a kernel's constant, in Triton's metadata.
_DTYPE: Final = re.compile(r"triton\.language\.core\.dtype\('(\w+)'\)")
#: Modulus in bytes of the recorded alignment of data pointers.
_ALIGNED: Final = 16


def signature(
    logged: Mapping[str, Any], constants: Mapping[str, Any], attributes: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the rows of `kernels.signature`, from the arguments of a launch and its compilation.

    Args:
        logged: The logged arguments by name, in the order of the kernel's parameters.
        constants: Values of constants by position, which is a text such as `(4,)`.
        attributes: Compiler attributes of other parameters by position, such as
            `[["tt.divisibility", 16]]`.

    """
    parameters = []
    for position, (name, value) in enumerate(logged.items()):
        key = f"({position},)"
        is_constant = key in constants
        parameters.append(
            {
                "name": name,
                "type": "constexpr" if is_constant else _type(mapping(value)),
                "constexpr": _literal(constants[key]) if is_constant else None,
                "divisibility": _divisibility(attributes.get(key)),
            }
        )
    return parameters


def arguments(
    logged: Mapping[str, Any], parameters: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the entries of `calls.args` for logged arguments and the kernel's `parameters`.

    `storage_bytes` is null, since logs do not have it.
    """
    args: list[dict[str, Any]] = []
    storages: dict[tuple[str | None, int], int] = {}
    for position, (name, value) in enumerate(logged.items()):
        constant = position < len(parameters) and parameters[position]["type"] == "constexpr"
        entry = _argument(name, mapping(value), constant=constant)
        address = entry.pop("address", None)
        if address is not None and entry["kind"] == "tensor":
            key = (entry["device"], address - entry["offset_bytes"])
            entry["alias_group"] = storages.setdefault(key, position)
            entry["alignment"] = address % _ALIGNED
        args.append(entry)
    return args


def _argument(name: str, logged: Mapping[str, Any], *, constant: bool) -> dict[str, Any]:
    if logged.get("type") == "tensor":
        return _tensor(name, logged)
    if constant:
        return {"name": name, "kind": "constexpr", "scalar": _literal(_value(logged))}
    kind = _type(logged)
    if kind is None:
        return {"name": name, "kind": "other"}
    return {"name": name, "kind": "scalar", "dtype": kind, "scalar": _literal(_value(logged))}


def _tensor(name: str, logged: Mapping[str, Any]) -> dict[str, Any]:
    shape = [integer(size) for size in entries(logged.get("shape"))]
    strides = [integer(stride) for stride in entries(logged.get("stride"))]
    element_bytes, first_element = (
        integer(logged.get("element_size")),
        integer(logged.get("storage_offset")),
    )
    dtype = SHORT_NAMES.get((text(logged.get("dtype")) or "").removeprefix("torch."))
    device = text(logged.get("device"))
    entry: dict[str, Any] = {"name": name, "kind": "tensor", "dtype": dtype, "device": device}
    if (
        dtype is None
        or len(shape) != len(strides)
        or NONE in (*shape, *strides, element_bytes, first_element)
    ):
        return {**entry, "kind": "other"}
    entry |= {"shape": shape, "strides": strides, "offset_bytes": first_element * element_bytes}
    address = text(logged.get("data_ptr"))
    if address is not None:
        entry["address"] = int(address, 16)
    return entry


def _type(logged: Mapping[str, Any]) -> str | None:
    """Return Triton's type of a logged argument (`*fp32`, `i32`), or None if unknown."""
    kind, value = logged.get("type"), logged.get("value")
    if kind == "tensor":
        dtype = SHORT_NAMES.get((text(logged.get("dtype")) or "").removeprefix("torch."))
        return None if dtype is None else f"*{dtype}"
    if kind == "bool":
        return "u1"
    if kind == "int" and isinstance(value, int):
        if -(2**31) <= value < 2**31:
            return "i32"
        return "i64" if value < 2**63 else "u64"
    return "fp32" if kind == "float" else None


def _value(logged: Mapping[str, Any]) -> Any:
    return logged.get("value") if logged.get("type") != "NoneType" else None


def _literal(value: Any) -> str:
    dtype = _DTYPE.fullmatch(value) if isinstance(value, str) else None
    return dtype[1] if dtype else repr(value)


def _divisibility(attributes: Any) -> int | None:
    for pair in entries(attributes):
        if isinstance(pair, list) and len(pair) == 2 and pair[0] == "tt.divisibility":
            divisor = integer(pair[1])
            return divisor if 0 < divisor < 2**31 else None
    return None
