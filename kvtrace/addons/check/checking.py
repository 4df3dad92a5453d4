"""Checks of a run's recorded launches: comparison with the IR, or search for the first NaN.

The pass `check` fills the derived tables `checks` and `findings`.

The compiler's stage at fault is found by evaluating TTGIR, too: TTIR gives the expected values, the
device its results. If the TTGIR in between means the same as TTIR, the passes up to TTGIR are not
at fault; if it means the device's results, they are.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from msgspec import Struct, field
from msgspec.structs import replace

from kvtrace.addons.check.comparing import Expected, compared, computed, distances, expected
from kvtrace.addons.check.findings import NON_FINITE, RULES, WRONG
from kvtrace.addons.check.first_bad import first_bad, origin_text
from kvtrace.addons.check.kept import checked_launches
from kvtrace.addons.check.stage_faults import Fault, message_with_fault
from kvtrace.evaluate.scope import program_at
from kvtrace.ir import source_stack
from kvtrace.ir.tensor_maps import CHUNK_BYTES, stores_whole_chunks
from kvtrace.progress import Report
from kvtrace.recorded_calls.recorded import UnreadyCall
from kvtrace.schema.content import StackRows
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.layout import CHECK
from kvtrace.schema.tables import TABLES
from kvtrace.verdicts.locating import pattern, writers

if TYPE_CHECKING:
    from kvtrace.addons.check.comparing import Expected, LaunchCheck, TensorCheck
    from kvtrace.addons.check.kept import CheckedLaunch
    from kvtrace.ir import Module, Op
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.schema.trace import Run, Trace
    from kvtrace.verdicts.locating import Places

FINITE: Final = "finite"

#: Returns the TTGIR of a call, or raises a KvtraceError with the reason why there is none.
Ttgir = Callable[[int], "Module"]


class RunChecks(Struct):
    """Results of a run's checked launches.

    `rows` and `findings` are rows of the tables `checks` and `findings`; `stacks` are the findings'
    stacks; `failures` are sentences on launches that could not be computed; `answers` counts
    launches by answer. `faults` has the compiler stage at fault by `seq` of differing launches.
    """

    run: str
    rows: list[dict[str, Any]] = []
    findings: list[dict[str, Any]] = []
    stacks: StackRows = field(default_factory=StackRows)
    failures: list[str] = []
    answers: Counter[str] = field(default_factory=Counter)
    faults: dict[int, Fault] = {}


def check_run(trace: Trace, run: Run, report: Report, ttgir: Ttgir) -> RunChecks:
    """Check all recorded launches of a run, write the results into the trace, and return them.

    Findings of differing launches name the compiler stage at fault.

    Raises:
        TraceWriteError: the trace cannot be written.
        DamagedFile, NewerFormat: as the reader of the trace.
    """
    checks = RunChecks(run.run_id)
    total = trace.table("checked_launches", (run,), columns=["seq"]).num_rows
    for number, launch in enumerate(checked_launches(trace, run), start=1):
        if isinstance(launch, UnreadyCall):
            checks.answers["undecided"] += 1
            checks.failures.append(f"call {launch.call_id} of {launch.kernel}: {launch.reason}")
        elif launch.why == FINITE:
            _find_first_bad(checks, launch)
        else:
            _check_launch(checks, launch, ttgir)
        report(number, total)
    tables = {
        "checks": pa.Table.from_pylist(checks.rows, TABLES["checks"].schema),
        "findings": pa.Table.from_pylist(checks.findings, TABLES["findings"].schema),
        "stacks": pa.Table.from_pylist(checks.stacks.rows(), TABLES["stacks"].schema),
    }
    trace.add_derived(run.run_id, CHECK, tables, {"rules": RULES})
    return checks


# -- against the IR -------------------------------------------------------------------------------


def _check_launch(checks: RunChecks, launch: CheckedLaunch, ttgir: Ttgir) -> None:
    result = _checked_with_fault(checks, launch, ttgir)
    arg_by_position = {after.arguments[0]: after.arg for after in launch.after}
    if not result.tensors:
        checks.rows.append(_undecided_row(launch, result))
    for tensor in result.tensors:
        row = _check_row(launch, result, tensor, arg_by_position[tensor.position])
        checks.rows.append(row)
        if not len(tensor.differing):
            continue
        call = launch.call()
        places = _writing_places(launch, call, tensor)
        if places is None:
            row["pattern"] = "the kernel writes none of them"
            op = call.module.main.body.blocks[0].ops[0]
        else:
            row |= _location_columns(call, tensor, places)
            op = places.op
        checks.findings.append(_wrong_finding(checks, launch, call, tensor, op, row))


def _checked_with_fault(checks: RunChecks, launch: CheckedLaunch, ttgir: Ttgir) -> LaunchCheck:
    """Return the comparison of a launch with its IR.

    Counts the answer in `checks`, and stores the stage at fault of a launch that differs. A
    separate function, so that the memory of the evaluation is freed on return.
    """
    evaluation = computed(launch)
    result = compared(evaluation)
    checks.answers[result.answer] += 1
    if result.answer == "differs":
        checks.faults[launch.seq] = fault_of(launch, evaluation.known, ttgir)
    return result


def fault_of(launch: CheckedLaunch, meant: Sequence[Expected], ttgir: Ttgir) -> Fault:
    """Return the compiler stage at fault in a launch whose results differ from its TTIR's values.

    Differences by stores past descriptors' extents, which no compiler stage causes, are recognized
    first. `meant` has the values of the TTIR; `ttgir` returns the TTGIR of a call. The fault is
    "unknown" if there is no TTGIR.
    """
    chunks = in_whole_chunks(launch)
    if chunks is not None:
        fault = fault_of_descriptors(launch, chunks)
        if fault is not None:
            return fault
        meant = chunks
    try:
        module = ttgir(launch.call_id)
    except KvtraceError as error:
        return Fault("unknown", str(error))
    return stage_at_fault(launch, meant, module)


def _undecided_row(launch: CheckedLaunch, result: LaunchCheck) -> dict[str, Any]:
    return {
        "seq": launch.seq, "call_id": launch.call_id, "arg": -1, "answer": result.answer,
        "reason": result.reason,
    }  # fmt: skip


def _writing_places(launch: CheckedLaunch, call: Call, tensor: TensorCheck) -> Places | None:
    storage = next(after for after in launch.after if tensor.position in after.arguments)
    programs = None if launch.programs is None else np.array(launch.programs, np.int64)
    return writers(call, storage.arguments, tensor.differing, programs)


def _check_row(
    launch: CheckedLaunch, result: LaunchCheck, tensor: TensorCheck, arg: int
) -> dict[str, Any]:
    worst = tensor.worst
    differs = len(tensor.differing) > 0
    is_undecided = tensor.undecided == tensor.elements
    return {
        "seq": launch.seq,
        "call_id": launch.call_id,
        "arg": arg,
        "answer": "differs" if differs else "undecided" if is_undecided else "agrees",
        "reason": result.reason if is_undecided else None,
        "name": tensor.argument,
        "dtype": tensor.dtype,
        "elements": tensor.elements,
        "undecided": tensor.undecided,
        "differing": len(tensor.differing),
        "nearest": tensor.nearest,
        "bound": tensor.bound,
        "worst_offset": None if worst is None else worst.offset,
        "got": None if worst is None else worst.got,
        "expected": None if worst is None else worst.expected,
        "worst_bound": None if worst is None else worst.bound,
        "map_columns": tensor.map.shape[1],
        "map": tensor.map.reshape(-1).tolist(),
    }


def _location_columns(call: Call, tensor: TensorCheck, places: Places) -> dict[str, Any]:
    number_of_programs = int(np.prod(call.grid))
    columns: dict[str, Any] = {
        "op_index": places.op.index,
        "pattern": pattern(call, places, number_of_programs),
    }
    location = None if tensor.worst is None else places.at(tensor.worst.offset)
    if location is not None:
        x, y, z = program_at(location[0], call.grid)
        columns |= {"program_x": x, "program_y": y, "program_z": z, "lane": list(location[1])}
    return columns


def _wrong_finding(
    checks: RunChecks,
    launch: CheckedLaunch,
    call: Call,
    tensor: TensorCheck,
    op: Op,
    row: dict[str, Any],
) -> dict[str, Any]:
    worst = tensor.worst
    assert worst is not None
    message = (
        f"{len(tensor.differing):,} of {tensor.elements:,} elements of {tensor.argument} are not "
        f"what the IR means ({row['pattern']}): the farthest is {worst.got:.6g} where "
        f"{worst.expected:.6g} is expected, within {worst.bound:.3g}"
    )
    message = message_with_fault(message, checks.faults.get(launch.seq))
    return _finding(checks, launch, call, op, WRONG, message) | {
        "access": "store",
        "arg": tensor.argument,
        "lanes": len(tensor.differing),
        **{name: row.get(name) for name in ("program_x", "program_y", "program_z", "lane")},
    }


# -- NaNs and infinities --------------------------------------------------------------------------


def _find_first_bad(checks: RunChecks, launch: CheckedLaunch) -> None:
    first_value = first_bad(launch)
    if isinstance(first_value, str):
        checks.answers["undecided"] += 1
        checks.failures.append(f"launch {launch.seq} of {launch.kernel}: {first_value}")
        return
    checks.answers["not finite"] += 1
    call = launch.call()
    x, y, z = program_at(first_value.program, call.grid)
    message = f"launch {launch.seq}: {origin_text(first_value, call.grid)}"
    checks.findings.append(
        _finding(checks, launch, call, first_value.op, NON_FINITE, message)
        | {
            "program_x": x,
            "program_y": y,
            "program_z": z,
            "lane": list(first_value.lane),
            "iteration": first_value.iteration,
        }
    )


def _finding(
    checks: RunChecks, launch: CheckedLaunch, call: Call, op: Op, rule: str, message: str
) -> dict[str, Any]:
    identity = f"{rule} {call.kernel} {call.grid} {op.index} {message}"
    return {
        "finding_id": hashlib.sha256(identity.encode()).hexdigest()[:32],
        "call_id": launch.call_id,
        "op_index": op.index,
        "rule": rule,
        "verdict": "violation",
        "severity": RULES[rule]["severity"],
        "stack_id": checks.stacks.add(source_stack(op)),
        "method": "evaluated",
        "message": message,
    }


# -- the compiler's stage at fault -----------------------------------------------------------------


def in_whole_chunks(launch: CheckedLaunch) -> Sequence[Expected] | None:
    """Return a launch's memory as expected if its descriptor stores write whole chunks.

    Hardware does so, past the descriptor's inner extent. Returns None if the kernel has no such
    stores, or if the launch cannot be computed.
    """
    module = launch.call().module
    if not stores_whole_chunks(module):
        return None
    try:
        return expected(launch, module, may_leave=True).known
    except KvtraceError:
        return None


def fault_of_descriptors(launch: CheckedLaunch, chunks: Sequence[Expected]) -> Fault | None:
    """Return the fault "descriptor stores" if stores of whole chunks explain all differences.

    `chunks` is the expected memory by `in_whole_chunks`. Returns None if an element differs from it
    too, or if it is empty.
    """
    if not chunks or any(distances(output).beyond.any() for output in chunks):
        return None
    target = launch.call().module.target
    return Fault(
        "descriptor stores",
        f"{target} writes whole chunks of {CHUNK_BYTES} bytes, past a descriptor's inner extent; "
        "apart from these, memory is what the IR means",
    )


def stage_at_fault(launch: CheckedLaunch, meant: Sequence[Expected], ttgir: Module) -> Fault:
    """Evaluate the launch's TTGIR, and return the compiler stage at fault.

    `meant` has the values of the TTIR and of the device. The fault is "unknown" if the TTGIR cannot
    be computed, or if bounds are too wide.
    """
    try:
        computed = expected(launch, ttgir)
    except KvtraceError as error:
        return Fault("unknown", f"the TTGIR could not be computed: {error}")
    if computed.faults:
        return Fault("ttgir", computed.faults[0])
    ttgir_outputs = {output.position: output for output in computed.known}
    differs = changed = beyond_ttgir = undecided = 0
    for ttir_output in meant:
        wrong = distances(ttir_output).beyond
        if not wrong.any():
            continue
        ttgir_output = ttgir_outputs.get(ttir_output.position)
        if (
            ttgir_output is None
            or ttir_output.element != ttgir_output.element
            or not np.array_equal(ttir_output.offsets, ttgir_output.offsets)
        ):
            return Fault(
                "unknown",
                f"the TTGIR stores other elements to {ttir_output.tensor.name} than the TTIR",
            )
        by_ttgir = distances(ttgir_output)
        differs += int(wrong.sum())
        beyond_ttgir += int((wrong & by_ttgir.beyond).sum())
        undecided += int((wrong & by_ttgir.loose).sum())
        changed += int(distances(_between(ttir_output, ttgir_output)).beyond.sum())
    return _fault_by_counts(differs, changed, beyond_ttgir, undecided)


def _fault_by_counts(differs: int, changed: int, beyond_ttgir: int, undecided: int) -> Fault:
    """Return the stage at fault, from numbers of elements.

    For `differs` elements, the device's values differ from TTIR's; for `beyond_ttgir` of these they
    differ from TTGIR's too, and for `undecided` of these TTGIR's bounds are too wide. For `changed`
    elements TTGIR's values differ from TTIR's.
    """
    if beyond_ttgir == differs and not changed:
        return Fault("behind ttgir", "the TTGIR has the same values as the TTIR")
    if beyond_ttgir + undecided == 0 and changed:
        return Fault(
            "ttgir", "the device's results are the TTGIR's values, which differ from the TTIR's"
        )
    if changed:
        return Fault(
            "unknown",
            "the TTGIR's values differ both from the TTIR's and from the device's results",
        )
    return Fault("unknown", "the error bounds of the TTGIR's values are too wide")


def _between(ttir_output: Expected, ttgir_output: Expected) -> Expected:
    """Return TTIR's values as expected, with TTGIR's in place of the device's; radii are added."""
    radii = ttir_output.radii + ttgir_output.radii
    return replace(ttir_output, got=ttgir_output.expected, radii=radii)
