"""The recorded call behind a kernel in a GPU core dump, and its launch's parameters.

The parameters are the bytes that the driver passed, read by the kernel's signature.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow.compute as pc

from kvtrace.backends.compiled_kernels.elf import SectionTable
from kvtrace.evaluate.types import element_of_short_name
from kvtrace.recorded_calls.reading import stage_artifact

if TYPE_CHECKING:
    from kvtrace.addons.fault.dump.reading import Grid
    from kvtrace.schema.trace import Run, Trace


#: Formats of parameters by their types in a kernel's signature.
_FORMATS: Final = {
    "i1": "<b", "i8": "<b", "i16": "<h", "i32": "<i", "i64": "<q",
    "u1": "<B", "u8": "<B", "u16": "<H", "u32": "<I", "u64": "<Q",
    "fp16": "<e", "bf16": "<H", "fp32": "<f", "f32": "<f", "fp64": "<d",
}  # fmt: skip
_BFLOAT16_SHIFT: Final = 16


def read_parameters(
    content: bytes, signature: Sequence[Mapping[str, Any]]
) -> tuple[int | float | None, ...]:
    """Return the value of each parameter of a signature: a pointer's address, or a number.

    None for a constexpr, which is not passed, and from the first parameter of unknown size on, as a
    tensor descriptor. Each lies at a multiple of its own size, as C lays out parameters; Triton
    passes them in the order of the signature.
    """
    values: list[int | float | None] = [None] * len(signature)
    position = 0
    for number, parameter in enumerate(signature):
        kind = parameter["type"] or ""
        if kind == "constexpr":
            continue
        form = "<Q" if kind.startswith("*") else _FORMATS.get(kind)
        if form is None:
            break
        size = struct.calcsize(form)
        position = -(-position // size) * size
        if position + size > len(content):
            break
        (value,) = struct.unpack_from(form, content, position)
        if kind == "bf16":
            (value,) = struct.unpack("<f", struct.pack("<I", value << _BFLOAT16_SHIFT))
        values[number] = value
        position += size
    return tuple(values)


def fits(values: Sequence[int | float | None], args: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether parameters can be those of a recorded call's arguments.

    Scalars have to be equal, pointers as far from multiples of 16 as recorded, and pointers into
    one storage as far from each other. What is not known is not compared.
    """
    bases: dict[int, int] = {}
    for position, (value, arg) in enumerate(zip(values, args, strict=True)):
        if value is None:
            continue
        if arg["kind"] == "scalar":
            if not _same_number(value, arg["scalar"]):
                return False
        elif arg["kind"] == "tensor":
            address = int(value)
            if arg["alignment"] is not None and address % 16 != arg["alignment"]:
                return False
            if arg["offset_bytes"] is not None:
                group = position if arg["alias_group"] is None else arg["alias_group"]
                base = address - arg["offset_bytes"]
                if bases.setdefault(group, base) != base:
                    return False
    return True


def _same_number(value: int | float, literal: str | None) -> bool:
    if literal is None:
        return True
    if literal in ("True", "False"):
        return bool(value) == (literal == "True")
    try:
        recorded = float(literal) if isinstance(value, float) else int(literal)
    except ValueError:
        return True  # a number in another form, as a float for an integer
    if isinstance(value, float):
        return math.isclose(value, recorded, rel_tol=1e-2) or (
            math.isnan(value) and math.isnan(recorded)
        )
    return (value - int(recorded)) % (1 << 32) == 0


_KERNELS: Final = ("kernel_id", "name", "function", "signature", "stages", "file", "origin")


class _Launch(NamedTuple):
    """Number, time in ns since 1970, and phase of a launch; None without a row of `launches`."""

    seq: int | None = None
    enter: int | None = None
    phase: str | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A recorded call that a kernel on the device can have been launched by.

    Attributes:
        kernel: its kernel's row of `kernels`.
        call: its row of `calls`.
        parameters: the value of each of its arguments in the dump, None where not known.
        seq: its last launch; None: it has no row of `launches`.
        enter: when that launch was made, in nanoseconds since 1970.
        phase: the phase of that launch, as `graph_capture`.
        fits: the parameters are its own; False: they fit no call, so it is the kernel's last one
            with this grid.
    """

    kernel: Mapping[str, Any]
    call: Mapping[str, Any]
    parameters: tuple[int | float | None, ...]
    seq: int | None
    enter: int | None
    phase: str | None
    fits: bool = True


def matches(trace: Trace, run: Run, grid: Grid) -> list[Match]:
    """Return the calls that fit a kernel in a dump, the one with the last launch first.

    A call fits if its kernel's function has the name and, where both are known, the code, and if
    the grid and all parameters are those of the dump. If none fits, these are the calls of the
    kernel with this grid: a store that runs away can overwrite the parameters of a replayed graph.
    """
    rows = trace.table("kernels", (run,), columns=_KERNELS).to_pylist()
    named = [row for row in rows if grid.name and row["function"] == grid.name]
    same = {row["kernel_id"]: _is_same_code(trace, row, grid.code) for row in named}
    if any(same.values()):
        named = [row for row in named if same[row["kernel_id"]]]
    kernels = {row["kernel_id"]: row for row in named}
    values = {
        row["kernel_id"]: read_parameters(grid.parameters, row["signature"] or []) for row in named
    }
    calls = [
        call
        for call in trace.table("calls", (run,)).to_pylist()
        if call["kernel_id"] in kernels
        and grid.size in ((0, 0, 0), (call["grid_x"], call["grid_y"], call["grid_z"]))
    ]
    launches = _last_launches(trace, run, [call["call_id"] for call in calls])
    fitting: list[Match] = []
    unfit: list[Match] = []
    for call in calls:
        kernel, args = kernels[call["kernel_id"]], call["args"] or []
        parameters = values[call["kernel_id"]]
        launch = launches.get(call["call_id"], _Launch())
        if len(parameters) == len(args) and fits(parameters, args):
            fitting.append(Match(kernel, call, parameters, *launch))
        else:
            unfit.append(Match(kernel, call, (None,) * len(args), *launch, False))
    found = fitting or unfit
    return sorted(found, key=lambda match: -1 if match.seq is None else match.seq, reverse=True)


def _is_same_code(trace: Trace, kernel: Mapping[str, Any], code: bytes) -> bool | None:
    digest = stage_artifact(kernel, "cubin")
    cubin = trace.artifact(digest) if digest else None
    if cubin is None or not code:
        return None
    return any(
        section.name.startswith(".text.") and bytes(section.content) == code
        for section in SectionTable(cubin)
    )


def _last_launches(trace: Trace, run: Run, call_ids: Sequence[int]) -> dict[int, _Launch]:
    """Return the last launch of each call."""
    columns = ["seq", "call_id", "enter", "phase"]
    table = trace.table("launches", (run,), columns=columns)
    rows = table.filter(pc.field("call_id").isin(list(call_ids))).sort_by("seq")
    columns_of_rows = (rows["seq"], rows["enter"].cast("int64"), rows["phase"])
    launches = map(_Launch, *(column.to_pylist() for column in columns_of_rows))
    return dict(zip(rows["call_id"].to_pylist(), launches, strict=True))


# Arguments of a launch that addresses are of.


@dataclass(frozen=True, slots=True)
class Argument:
    """The argument that an address is of.

    Attributes:
        name: the kernel's parameter.
        element: the index of the element at the address, from the data pointer; None: the address
            is not known.
        elements: elements from the data pointer to the end of its storage; None: not recorded.
        past_end: bytes from the end of the storage to the address; negative: it lies before that.
        before: bytes from the address to the start of the storage, if it lies before that.
    """

    name: str
    element: int | None
    elements: int | None
    past_end: int | None
    before: int | None

    @property
    def is_inside(self) -> bool:
        """The address lies within the argument's storage, as it was recorded."""
        return self.past_end is not None and self.past_end < 0 and self.before is None


def argument_named(address: int | None, match: Match, name: str | None) -> Argument | None:
    """Return the place of an address in the argument with a name; None: there is none."""
    for parameter, arg in zip(match.parameters, match.call["args"], strict=True):
        if arg["name"] == name:
            return _place_in(address, parameter, arg)
    return None


def nearest_argument(address: int | None, match: Match) -> Argument | None:
    """Return the tensor whose storage is nearest to an address; None: the address is not known."""
    if address is None:
        return None
    tensors = [
        _place_in(address, parameter, arg)
        for parameter, arg in zip(match.parameters, match.call["args"], strict=True)
        if arg["kind"] == "tensor" and parameter is not None
    ]
    return min(tensors, key=_distance, default=None)


def _distance(argument: Argument) -> int:
    if argument.before is not None:
        return argument.before
    return 1 << 64 if argument.past_end is None else max(argument.past_end, 0)


def _place_in(
    address: int | None, parameter: int | float | None, arg: Mapping[str, Any]
) -> Argument:
    storage, offset, dtype = arg["storage_bytes"], arg["offset_bytes"], arg["dtype"]
    size = element_of_short_name(dtype).bytes if dtype else 1
    elements = None if storage is None or offset is None else (storage - offset) // size
    if address is None or parameter is None:
        return Argument(arg["name"], None, elements, None, None)
    distance = address - int(parameter)
    if offset is None or storage is None:
        return Argument(arg["name"], distance // size, None, None, None)
    before = -(distance + offset) if distance + offset < 0 else None
    return Argument(arg["name"], distance // size, elements, distance + offset - storage, before)
