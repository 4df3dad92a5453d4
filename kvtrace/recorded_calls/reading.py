"""Readers of a run's unique calls from the trace's tables, made ready for the evaluator.

Tensors whose contents were recorded (KVTRACE_TENSORS) have the data of the call's first launch with
recorded contents; other contents are unknown. `Call.launches` has the data of other launches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.errors import UNFIT, place_of
from kvtrace.ir import Module, Options
from kvtrace.ir.locations import triton_of
from kvtrace.ir.relocation import module_defined_in
from kvtrace.recorded_calls.arguments import CannotReplay, ContentOf, call_arguments
from kvtrace.recorded_calls.placed_storages import PlacedStorages
from kvtrace.recorded_calls.recorded import Call, KnownLaunches, UnreadyCall
from kvtrace.schema.contents import (
    CallContents,
    ContentSet,
    alias_group,
    at_launch,
    contents_of,
    first_byte,
)
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.without_ir import (
    PRINTED_TTIR,
    TRITON_ORIGINS,
    KernelWithoutIr,
    evaluated_stage,
    has_ir,
    kernels_without_ir,
    made_generic,
    makes_generic_ttir,
)

if TYPE_CHECKING:
    from kvtrace.recorded_calls.compiled_code import CompiledFacts
    from kvtrace.schema.trace import Run, Trace

#: Rows of `calls` that are converted to Python objects at a time.
_ROWS_AT_ONCE: Final = 1_000

_KERNEL_COLUMNS = (
    "kernel_id", "name", "file", "target", "signature", "stages", "origin", "num_warps", "num_ctas",
    "num_stages", "options",
)  # fmt: skip


def evaluable_calls(trace: Trace, run: Run) -> set[int]:
    """Return the ids of the calls that `calls_of` yields.

    Calls that were evaluated while the program ran are left out.
    """
    evaluated = _evaluated_kernels(trace, run, kernels_without_ir(trace, run))
    calls = trace.table("calls", (run,), ["call_id", "kernel_id"]).to_pylist()
    return {row["call_id"] for row in calls if row["kernel_id"] not in evaluated}


def kernels_of_calls(trace: Trace, run: Run, columns: Sequence[str]) -> dict[int, dict[str, Any]]:
    """Return the kernel's row with some columns, by the ids of a run's calls."""
    rows = trace.table("kernels", (run,), ["kernel_id", *columns]).to_pylist()
    kernels = {row["kernel_id"]: row for row in rows}
    calls = trace.table("calls", (run,), ["call_id", "kernel_id"]).to_pylist()
    return {
        row["call_id"]: kernels[row["kernel_id"]] for row in calls if row["kernel_id"] in kernels
    }


class RecordedCall(Struct, frozen=True):
    """A row of `calls` that is not yet made ready for the evaluator.

    Attributes:
        call_id: its id.
        content: a digest of all that determines the call besides its id; "" for a call that is
            known to be unready, or that the addresses of its run determine.
        made: returns the call.

    """

    call_id: int
    content: str
    made: Callable[[], Call | UnreadyCall]


def calls_of(
    trace: Trace, run: Run, only: Iterable[int] | None = None
) -> Iterator[Call | UnreadyCall]:
    """Yield each unique call of `run` in order of its id; calls of a kernel share parsed IR.

    Calls that were evaluated while the program ran are left out. With `only`, calls with these ids
    are yielded, in its order.
    """
    return (recorded.made() for recorded in recorded_calls(trace, run, only))


def recorded_calls(
    trace: Trace, run: Run, only: Iterable[int] | None = None
) -> Iterator[RecordedCall]:
    """Yield the rows of the calls of `calls_of`, with digests, before IR and contents are read."""
    without_ir = kernels_without_ir(trace, run)
    evaluated = _evaluated_kernels(trace, run, without_ir)
    kernel_rows = trace.table("kernels", (run,), columns=_KERNEL_COLUMNS).to_pylist()
    kernels = {row["kernel_id"]: row for row in kernel_rows}
    digests = {kernel_id: _digest_of_kernel(run, row) for kernel_id, row in kernels.items()}
    modules: dict[int, tuple[Module, CompiledFacts | None]] = {}
    contents, storages = contents_of(trace, run), PlacedStorages(trace, run)
    for row in _call_rows(trace, run, only):
        call_id, kernel = row["call_id"], kernels.get(row["kernel_id"])
        if kernel is None:
            reason = f"the trace has no record of the kernel with kernel_id {row['kernel_id']}"
            yield RecordedCall(call_id, "", partial(UnreadyCall, call_id, "?", reason))
            continue
        if row["kernel_id"] in evaluated:
            continue
        if row["kernel_id"] in without_ir:
            reason = without_ir[row["kernel_id"]].reason
            unready = partial(UnreadyCall, call_id, kernel["name"] or "?", reason)
            yield RecordedCall(call_id, "", unready)
            continue
        known = contents.get(call_id)
        made = partial(_made, trace, run, row, kernel, modules, known, storages)
        is_placed = storages.are_known and _may_follow_addresses(trace, kernel)
        content = "" if is_placed else _content(digests[row["kernel_id"]], row, known)
        yield RecordedCall(call_id, content, made)


def _digest_of_kernel(run: Run, kernel: dict[str, Any]) -> str:
    of_kernel = [kernel[name] for name in _KERNEL_COLUMNS if name != "kernel_id"]
    return _digest((run.versions.get("triton"), of_kernel))


def _content(of_kernel: str, row: dict[str, Any], contents: CallContents | None) -> str:
    """Return the digest of the values that `_call` reads; the device of arguments is none."""
    arguments = [argument and {**argument, "device": None} for argument in row["args"] or ()]
    return _digest((of_kernel, row["grid_x"], row["grid_y"], row["grid_z"], arguments, contents))


def _digest(values: object) -> str:
    return blake2b(repr(values).encode(errors="surrogatepass"), digest_size=16).hexdigest()


def _made(
    trace: Trace,
    run: Run,
    row: dict[str, Any],
    kernel: dict[str, Any],
    modules: dict[int, tuple[Module, CompiledFacts | None]],
    contents: CallContents | None,
    storages: PlacedStorages,
) -> Call | UnreadyCall:
    name = kernel["name"] or "?"
    try:
        kernel["triton"] = triton_of(kernel, run.versions)
        return _call(trace, row, kernel, modules, contents, storages)
    except KvtraceError as error:
        return UnreadyCall(row["call_id"], name, str(error))
    except UNFIT as error:  # a row may hold anything; reported for the call
        reason = f"the call's record is malformed, or kvtrace has a defect: {place_of(error)}"
        return UnreadyCall(row["call_id"], name, reason)


def _evaluated_kernels(
    trace: Trace, run: Run, without_ir: Mapping[int, KernelWithoutIr]
) -> set[int]:
    """Return the ids of kernels without TTIR that were evaluated while the program ran."""
    rows = trace.table("kernels", (run,), ["kernel_id", "origin", "stages"]).to_pylist()
    return {
        row["kernel_id"]
        for row in rows
        if row["kernel_id"] not in without_ir
        and row["origin"] not in TRITON_ORIGINS
        and not has_ir(row)
    }


def _call_rows(trace: Trace, run: Run, only: Iterable[int] | None) -> Iterator[dict[str, Any]]:
    """Yield rows of `calls`; with `only`, those with these ids, in its order."""
    table = trace.table("calls", (run,))
    if only is not None:
        places = {call_id: place for place, call_id in enumerate(table["call_id"].to_pylist())}
        table = table.take([places[call_id] for call_id in only if call_id in places])
    for begin in range(0, table.num_rows, _ROWS_AT_ONCE):
        yield from table.slice(begin, _ROWS_AT_ONCE).to_pylist()


def _call(
    trace: Trace,
    row: dict[str, Any],
    kernel: dict[str, Any],
    modules: dict[int, tuple[Module, CompiledFacts | None]],
    contents: CallContents | None,
    storages: PlacedStorages,
) -> Call:
    """Return a call of a row; modules of kernels are cached in `modules`."""
    kernel_id = row["kernel_id"]
    if kernel_id not in modules:
        ttgir, ptx = (_stage(trace, kernel, name) for name in ("ttgir", "ptx"))
        module = _module(trace, kernel, ptx)
        from kvtrace.recorded_calls.compiled_code import compiled_code

        ctas, triton = kernel["num_ctas"], kernel["triton"]
        compiled = compiled_code(module, ttgir, ptx, ctas, triton=triton)
        modules[kernel_id] = module, compiled
    module, compiled = modules[kernel_id]
    if contents is None:
        return storages.reached_by(call_of(row, kernel, module, trace.artifact, compiled))

    def call(
        content_set: ContentSet | None, only_whole: bool = False
    ) -> tuple[Call, frozenset[str]]:
        args = at_launch(row["args"] or (), () if content_set is None else content_set.held)
        values, partial_names = _storage_contents(trace, args, content_set, only_whole)
        for position in values:
            args[position] = {**args[position], "value_artifact": str(position)}
        content_by_key = {str(position): value for position, value in values.items()}
        result = call_of({**row, "args": args}, kernel, module, content_by_key.get, compiled)
        launches = () if content_set is None else content_set.launches
        return storages.reached_by(result, launches), partial_names

    first_call, _ = call(contents.sets[0], True)
    unplaced = frozenset(
        row["args"][part.arg]["name"]
        for one in contents.sets
        for part in one.held
        if part.view_offset_bytes is None
    )
    return replace(first_call, launches=KnownLaunches(contents, call, unplaced))


def _storage_contents(
    trace: Trace,
    args: Sequence[Mapping[str, Any]],
    content_set: ContentSet | None,
    only_whole: bool,
) -> tuple[dict[int, bytes], frozenset[str]]:
    """Return storages' contents by argument position, and names of partly recorded arguments.

    `only_whole`: leave out partial contents.
    """
    values: dict[int, bytes] = {}
    partial_names: set[str] = set()
    position_by_group: dict[int, int] = {}
    for part in () if content_set is None else content_set.held:
        arg, content = args[part.arg], trace.artifact(part.artifact)
        if content is None:
            continue
        size = arg["storage_bytes"]
        if size is None or arg["offset_bytes"] is None:
            continue  # the offset in the storage is unknown
        begin = first_byte(part, arg["offset_bytes"])
        end = begin + len(content)
        if len(content) == size:
            values[part.arg] = content
        elif not only_whole and begin >= 0 and end <= size:
            partial_names.add(arg["name"])
            position = position_by_group.setdefault(alias_group(part.arg, arg), part.arg)
            known_content = values.get(position, bytes(size))
            values[position] = known_content[:begin] + content + known_content[end:]
    return values, frozenset(partial_names)


def call_of(
    row: Mapping[str, Any],
    kernel: Mapping[str, Any],
    module: Module,
    content: ContentOf,
    compiled: CompiledFacts | None = None,
) -> Call:
    """Return a call made from its row of `calls` and its kernel's row of `kernels`.

    Args:
        row: call_id, grid_x/y/z and args.
        kernel: name, signature and, if known, num_warps.
        module: the kernel's IR.
        content: returns the contents of tensors by the `value_artifact` of an argument.
        compiled: facts from the kernel's compiled code, if recorded.

    Raises:
        CannotReplay: an argument is of a kind that the evaluator does not support.
    """
    parameters = tuple(value.type for value in module.main.arguments)
    arguments = call_arguments(content, row["args"] or [], kernel["signature"] or [], parameters)
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
    for column, size in (("grid_x", x), ("grid_y", y), ("grid_z", z)):
        if size is None:
            raise CannotReplay(f"the trace does not have the grid of the call ({column})")
    if min(x, y, z) < 0:
        raise CannotReplay(f"the recorded grid ({x}, {y}, {z}) is not possible")
    return x, y, z


def _module(trace: Trace, kernel: dict[str, Any], ptx: str | None) -> Module:
    stage = evaluated_stage(kernel)
    generic = None if stage is None else _stage(trace, kernel, stage)
    text = generic or _made_generic(trace, kernel)
    recorded = dict(kernel["options"] or ())
    fuses = recorded.get("enable_fp_fusion") != "False"
    places = partial(_fused_places, ptx or "", kernel["triton"])
    options = Options(kernel["num_warps"], kernel["triton"], fuses, places, recorded)
    return module_defined_in(text, kernel["file"], kernel["target"] or "", options)


def _fused_places(ptx: str, triton: str | None) -> dict[tuple[int, int], bool]:
    from kvtrace.recorded_calls.compiled_code import fused_places

    return fused_places(ptx, triton)


def _made_generic(trace: Trace, kernel: dict[str, Any]) -> str:
    """Return the generic form of TTIR as Triton prints it, all that other producers have."""
    ttir = _stage(trace, kernel, PRINTED_TTIR)
    if ttir is None:
        raise CannotReplay("its TTIR was not recorded")
    if not makes_generic_ttir():
        raise CannotReplay("its TTIR is not in generic form, which an installed Triton makes of it")
    return made_generic(ttir, kernel["triton"])


def stage_artifact(kernel: Mapping[str, Any], name: str) -> str | None:
    """Return the hash of a compiler stage's output for a kernel, None if not recorded."""
    stages = kernel["stages"] or []
    return next((stage["artifact"] for stage in stages if stage["stage"] == name), None)


def _may_follow_addresses(trace: Trace, kernel: dict[str, Any]) -> bool:
    """Return whether a kernel's IR has pointers that are made of integers or in memory."""
    digest = stage_artifact(kernel, evaluated_stage(kernel) or PRINTED_TTIR)
    text = (trace.artifact(digest) if digest else None) or b""
    return b"tt.int_to_ptr" in text or b"tt.ptr<!tt.ptr" in text


def _stage(trace: Trace, kernel: dict[str, Any], name: str) -> str | None:
    digest = stage_artifact(kernel, name)
    content = trace.artifact(digest) if digest else None
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError as error:
        raise CannotReplay(f"the kernel's {name} is not text") from error
