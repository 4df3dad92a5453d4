"""The unique calls of a run, made ready for the evaluator from the tables alone.

Tensors whose contents were recorded (KVTRACE_TENSORS) have their data as it was at the first launch
of the call of which it is known; all others are unknown. `Call.launches` has other launches'.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.evaluate import Argument, ScalarArgument, Storage, TensorArgument
from kvtrace.evaluate.errors import UNFIT, place_of
from kvtrace.evaluate.types import element_of_short_name
from kvtrace.ir import Module
from kvtrace.ir.columns import triton_of
from kvtrace.ir.relocation import module_defined_in
from kvtrace.recorded_calls.compiled_code import Compiled, compiled_code
from kvtrace.recorded_calls.host_descriptors import descriptor_arguments
from kvtrace.recorded_calls.thread_layouts import BlockedLayout
from kvtrace.schema.contents import (
    CallContents,
    ContentSet,
    contents_of,
    least_storage_bytes,
    with_values,
)
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.layout import GLUON

if TYPE_CHECKING:
    from kvtrace.ir.types import Type
    from kvtrace.schema.trace import Run, Trace

#: Gives the content of an artifact, None where it is not there.
ContentOf = Callable[[str], bytes | None]

#: Characters of a value that a message shows.
_SHOWN: Final = 40

_KERNEL_COLUMNS = (
    "kernel_id", "name", "file", "target", "signature", "stages", "origin", "num_warps", "num_ctas",
    "num_stages", "options",
)  # fmt: skip

#: Where kernels come from that Triton's compiler made. Those of other backends have no IR to
#: evaluate: their calls are observed while the program runs, or their figures follow from shapes.
_COMPILED: Final = frozenset({None, "jit", "inductor", "autotune", GLUON, "interpreter"})


class CannotReplay(KvtraceError):
    """A call's record does not hold what evaluating it needs."""

    slug = "cannot-replay"


class UnfitRecord(CannotReplay):
    """A call's record is not as kvtrace writes it."""

    def __init__(self, error: Exception) -> None:
        """Say what it ended in, and where."""
        super().__init__(
            f"its record is not as kvtrace writes it, or kvtrace has a defect: {place_of(error)}"
        )


@dataclass(frozen=True, slots=True)
class Call:
    """One row of `calls` with its kernel's name and IR.

    `recorded` names the tensors whose contents are there: what is concluded from them holds for
    those contents. `warps` and `ctas` are how many of them a program has, `stages` how deep its
    loops are pipelined, `triton` the version that compiled it, where that was recorded, and
    `compiled` what the code made for a device tells. `launches` has the contents of all its
    launches, as far as known.
    """

    call_id: int
    kernel: str
    grid: tuple[int, int, int]
    module: Module
    arguments: tuple[Argument, ...]
    recorded: tuple[str, ...]
    warps: int | None = None
    ctas: int | None = None
    stages: int | None = None
    triton: str | None = None
    compiled: Compiled | None = field(default=None, hash=False, compare=False)
    launches: KnownLaunches | None = field(default=None, hash=False, compare=False)

    @property
    def layouts(self) -> Mapping[int, BlockedLayout]:
        """The layouts that memory ops were compiled with, as far as known, by op index."""
        return {} if self.compiled is None else self.compiled.layouts


@dataclass(frozen=True, slots=True)
class KnownLaunches:
    """The distinct contents that the launches of a call had, and the call with any of them.

    Attributes:
        contents: which there are.
        call: gives the call with some contents (None: with none at all), and the names of tensors
            of which only their view was recorded: what lies outside of it is zero there.
    """

    contents: CallContents
    call: Callable[[ContentSet | None], tuple[Call, frozenset[str]]]


@dataclass(frozen=True, slots=True)
class UnreadyCall:
    """A call that cannot be evaluated, and why, in one sentence."""

    call_id: int
    kernel: str
    reason: str


def without_ir(trace: Trace, run: Run) -> str | None:
    """Return why no call of a run can be evaluated: another tool recorded times alone; else None.

    Raises:
        TraceDamaged: as `Trace.table`.

    """
    from kvtrace.schema.layout import IMPORTED  # which first launches do not need

    origins = trace.table("kernels", (run,), columns=["origin"])["origin"].unique().to_pylist()
    if origins != [IMPORTED]:
        return None
    return (
        f"{run.run_id} was imported from a trace of {run.source}, which has times and no IR, so "
        "there is nothing to evaluate or judge; kvtrace join adds its times to a recording with IR."
    )


def not_evaluated(kernel: str) -> str:
    """Return why a kernel that is written in Gluon is neither evaluated nor judged by its calls."""
    return f"kernel {kernel} is written in Gluon, which has no TTIR and is not evaluated"


def calls_of(
    trace: Trace, run: Run, only: Container[int] | None = None
) -> Iterator[Call | UnreadyCall]:
    """Return each unique call of `run`, in order of its id; parsed IR is shared between calls.

    Calls that were observed while the program ran are left out, and those that are not among
    `only` (None: none is).
    """
    kernel_rows = trace.table("kernels", (run,), columns=_KERNEL_COLUMNS).to_pylist()
    kernels = {row["kernel_id"]: row for row in kernel_rows}
    modules: dict[int, tuple[Module, Compiled | None]] = {}
    contents = contents_of(trace, run)
    for row in trace.table("calls", (run,)).to_pylist():
        if only is not None and row["call_id"] not in only:
            continue
        kernel = kernels.get(row["kernel_id"])
        if kernel is None:
            reason = f"the trace has no record of its kernel, whose kernel_id is {row['kernel_id']}"
            yield UnreadyCall(row["call_id"], "?", reason)
            continue
        if kernel["origin"] not in _COMPILED:
            continue
        name = kernel["name"] or "?"
        try:
            kernel["triton"] = triton_of(kernel, run.versions)
            yield _call(trace, row, kernel, modules, contents.get(row["call_id"]))
        except KvtraceError as error:
            yield UnreadyCall(row["call_id"], name, str(error))
        except UNFIT as error:  # a row may hold anything; reported for the call
            yield UnreadyCall(row["call_id"], name, str(UnfitRecord(error)))


def _call(
    trace: Trace,
    row: dict[str, Any],
    kernel: dict[str, Any],
    modules: dict[int, tuple[Module, Compiled | None]],
    contents: CallContents | None,
) -> Call:
    kernel_id = row["kernel_id"]
    if kernel_id not in modules:
        module = _module(trace, kernel)
        ttgir, ptx = (_stage(trace, kernel, name) for name in ("ttgir", "ptx"))
        ctas, triton = kernel["num_ctas"], kernel["triton"]
        compiled = compiled_code(module, ttgir, ptx, ctas, triton=triton)
        modules[kernel_id] = module, compiled
    module, compiled = modules[kernel_id]
    if contents is None:
        return call_of(row, kernel, module, trace.artifact, compiled)

    def call(chosen: ContentSet | None, whole: bool = False) -> tuple[Call, frozenset[str]]:
        values, partial = _values(trace, row["args"], chosen, whole)
        args = with_values(row["args"], {place: str(place) for place in values})
        content = {str(place): value for place, value in values.items()}
        made = call_of({**row, "args": args}, kernel, module, content.get, compiled)
        return made, partial

    first, _ = call(contents.sets[0], True)
    return replace(first, launches=KnownLaunches(contents, call))


def _values(
    trace: Trace, args: list[dict[str, Any]], chosen: ContentSet | None, whole: bool
) -> tuple[dict[int, bytes], frozenset[str]]:
    """Return storages' contents by the argument's place, and the arguments with a part of them.

    `whole`: leave out those of which only a part is there.
    """
    values: dict[int, bytes] = {}
    partial: set[str] = set()
    by_group: dict[int, int] = {}
    for held in () if chosen is None else chosen.held:
        arg, content = args[held.arg], trace.artifact(held.artifact)
        if content is None:
            continue
        size, end = arg["storage_bytes"], held.offset_bytes + len(content)
        if size is None:
            continue  # which part of its storage this is, nobody knows
        if len(content) == size:
            values[held.arg] = content
        elif not whole and end <= size:
            partial.add(arg["name"])
            place = by_group.setdefault(_group(held.arg, arg), held.arg)
            before = values.get(place, bytes(size))
            values[place] = before[: held.offset_bytes] + content + before[end:]
    return values, frozenset(partial)


def call_of(
    row: Mapping[str, Any],
    kernel: Mapping[str, Any],
    module: Module,
    content: ContentOf,
    compiled: Compiled | None = None,
) -> Call:
    """Make a call of its row of `calls` and that of its kernel in `kernels`.

    Args:
        row: call_id, grid_x/y/z and args.
        kernel: name, signature and, where it is known, num_warps.
        module: the kernel's IR.
        content: gives the contents of tensors by the `value_artifact` of an argument.
        compiled: see `Call`.

    Raises:
        CannotReplay: an argument is of a kind that the evaluator cannot take.

    """
    parameters = tuple(value.type for value in module.main.arguments)
    arguments = _arguments(content, row["args"] or [], kernel["signature"] or [], parameters)
    return Call(
        call_id=row["call_id"],
        kernel=kernel["name"] or "?",
        grid=_grid(row),
        module=module,
        arguments=arguments,
        recorded=tuple(
            a.name
            for a in arguments
            if isinstance(a, TensorArgument) and a.storage.data is not None
        ),
        warps=kernel.get("num_warps"),
        ctas=kernel.get("num_ctas"),
        stages=kernel.get("num_stages"),
        triton=kernel.get("triton"),
        compiled=compiled,
    )


def _grid(row: Mapping[str, Any]) -> tuple[int, int, int]:
    x, y, z = row["grid_x"], row["grid_y"], row["grid_z"]
    if None in (x, y, z) or min(x, y, z) < 0:
        raise CannotReplay(f"its grid ({x}, {y}, {z}) cannot be")
    return x, y, z


def _module(trace: Trace, kernel: dict[str, Any]) -> Module:
    text = _stage(trace, kernel, "ttir_generic")
    if text is None and kernel["origin"] == GLUON:
        raise CannotReplay(not_evaluated(kernel["name"] or "?"))
    if text is None:
        raise CannotReplay("its generic TTIR was not recorded")
    return module_defined_in(text, kernel["file"], kernel["target"] or "")


def stage_artifact(kernel: Mapping[str, Any], name: str) -> str | None:
    """Return the hash of what a stage of the compiler made of a kernel; None: nothing is kept."""
    stages = kernel["stages"] or []
    return next((stage["artifact"] for stage in stages if stage["stage"] == name), None)


def _stage(trace: Trace, kernel: dict[str, Any], name: str) -> str | None:
    digest = stage_artifact(kernel, name)
    content = trace.artifact(digest) if digest else None
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError as error:
        raise CannotReplay(f"its {name} is not text") from error


def _arguments(
    content: ContentOf,
    args: list[dict[str, Any]],
    signature: list[dict[str, Any]],
    parameters: tuple[Type, ...],
) -> tuple[Argument, ...]:
    """The IR function's arguments: the parameters of the signature that are not constexpr."""
    if len(args) != len(signature):
        raise CannotReplay(f"{len(args)} arguments were recorded for {len(signature)} parameters")
    storages = _storages(content, args)
    found: list[Argument] = []
    for position, (arg, parameter) in enumerate(zip(args, signature, strict=True)):
        if parameter["type"] == "constexpr":
            continue
        if arg["kind"] == "descriptor":
            storage = storages[_group(position, arg)]
            found += descriptor_arguments(arg, storage, parameters[len(found) :])
        else:
            found.append(_argument(position, arg, storages))
    return tuple(found)


def _storages(content: ContentOf, args: list[dict[str, Any]]) -> dict[int, Storage]:
    """Make the storages of a call's tensors by alias group: its own, since evaluation writes."""
    storages: dict[int, Storage] = {}
    for position, arg in enumerate(args):
        if arg["kind"] not in ("tensor", "descriptor"):
            continue
        held = content(arg["value_artifact"]) if arg["value_artifact"] else None
        group = _group(position, arg)
        size = arg["storage_bytes"]
        if size is None:
            storages.setdefault(group, Storage(least_storage_bytes(args, position, _width)))
            continue
        if size < 0 or (held is not None and len(held) != size):
            raise CannotReplay(f"the storage of {arg['name']} cannot have {size:,} bytes")
        if group not in storages or (held and storages[group].data is None):
            data = None if held is None else np.frombuffer(held, np.uint8).copy()
            storages[group] = Storage(size, data)
    return storages


def _width(dtype: str) -> int:
    return element_of_short_name(dtype).bytes


def _group(position: int, arg: dict[str, Any]) -> int:
    found = arg["alias_group"]
    return position if found is None else int(found)


def _argument(position: int, arg: dict[str, Any], storages: dict[int, Storage]) -> Argument:
    if arg["kind"] == "tensor":
        shape, strides = _extent(arg)
        return TensorArgument(
            name=arg["name"],
            storage=storages[_group(position, arg)],
            offset_bytes=arg["offset_bytes"],
            dtype=arg["dtype"],
            shape=shape,
            strides=strides,
            end_known=arg["storage_bytes"] is not None,
        )
    if arg["kind"] == "scalar":
        if arg["scalar"] is None:
            raise CannotReplay(f"the trace does not hold the value of the argument {arg['name']}")
        return ScalarArgument(arg["name"], _literal(arg["scalar"]))
    raise CannotReplay(f"argument {arg['name']} is a {arg['kind']}, which is not replayed yet")


def _extent(arg: dict[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return shape and strides of a tensor; a pointer without has the rest of its storage."""
    whole = arg["shape"] is not None and arg["strides"] is not None
    if arg["offset_bytes"] is None or (arg["storage_bytes"] is None and not whole):
        raise CannotReplay(
            f"argument {arg['name']} is a pointer into memory of which nothing is known: it came "
            "with a type and an address alone, and lies in no tensor that was an argument"
        )
    if whole:
        return tuple(arg["shape"]), tuple(arg["strides"])
    size = element_of_short_name(arg["dtype"]).bytes
    return ((arg["storage_bytes"] - arg["offset_bytes"]) // size,), (1,)


def _literal(text: str) -> int | float | bool:
    """Read what `repr` wrote; not by `ast`, as programs with threads are judged while they run.

    Python 3.11 fails when two threads parse at once ("AST constructor recursion depth mismatch").
    """
    if text in ("True", "False"):
        return text == "True"
    number = int if text.removeprefix("-").isdecimal() else float
    try:
        return number(text)
    except ValueError as error:
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        raise CannotReplay(
            f"a scalar argument has the value {shown}, which is not a number"
        ) from error
