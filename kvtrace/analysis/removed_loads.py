"""Loads that the compiler removed before TTIR: sentences on those that are not proven in bounds.

A launch reads no memory by a removed load, so that nothing is wrong with it; another compiler may
keep the load, and so may this one once the result is used. Of kernels from which passes removed
loads, the IR before these passes is recorded. Removed are the loads of a place in the source of
which that IR has more than the IR that is judged.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from math import inf
from pathlib import PurePath
from time import process_time
from typing import Any

from msgspec.structs import replace

from kvtrace.evaluate.errors import UNFIT
from kvtrace.ir import Module, Op, source_stack
from kvtrace.ir.model import attribute
from kvtrace.ir.ops import CALLS, effect_of
from kvtrace.ir.relocation import module_defined_in
from kvtrace.recorded_calls.reading import calls_of, kernels_of_calls, stage_artifact
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.without_ir import BEFORE_PASSES
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.verdict import Verdict

#: File, line and column; None where a location is unknown.
_Place = tuple[str, int, int] | None


def removed_loads(trace: Trace, run: Run, end: float = inf) -> Iterator[str]:
    """Yield a sentence for each kernel and line with removed loads not proven in bounds.

    From the time `end` (`time.process_time()`) on, loads are not judged.
    """
    columns = ["file", "target", "stages"]
    stages = trace.table("kernels", (run,), ["stages"]).to_pylist()
    if not any(stage_artifact(row, BEFORE_PASSES) for row in stages):
        return
    kernels = {
        call_id: kernel
        for call_id, kernel in kernels_of_calls(trace, run, columns).items()
        if stage_artifact(kernel, BEFORE_PASSES)
    }
    before: dict[int, Module] = {}
    removed: dict[int, tuple[Op, ...]] = {}
    endings: dict[str, str] = {}
    for call in calls_of(trace, run, kernels):
        if not isinstance(call, Call):
            continue
        kernel = kernels[call.call_id]
        number = kernel["kernel_id"]
        if number not in before:
            before[number] = _before_passes(trace, kernel, call)
            removed[number] = tuple(_removed(before[number], call.module))
        verdicts = _verdicts(call, before[number]) if process_time() < end else {}
        for op in removed[number]:
            verdict = verdicts.get(op)
            sentence = f"{_line(op)}: the compiler removed this load of kernel {call.kernel}"
            if verdict is not None and verdict.verdict == "violation":
                endings[sentence] = f", which was out of bounds: {verdict.message}"
            elif verdict is None or verdict.verdict == "unknown":
                endings.setdefault(sentence, "; it is not judged")
    yield from (sentence + ending for sentence, ending in endings.items())


def _before_passes(trace: Trace, kernel: Mapping[str, Any], call: Call) -> Module:
    """Return the module of a kernel before passes; of a lost or foreign text, the call's own."""
    try:
        text = (trace.artifact(stage_artifact(kernel, BEFORE_PASSES)) or b"").decode()
        return module_defined_in(text, kernel["file"], kernel["target"] or "", call.module.options)
    except (KvtraceError, UnicodeDecodeError):
        return call.module


def _verdicts(call: Call, before: Module) -> Mapping[Op, Verdict]:
    """Return the verdicts on bounds of the IR before passes, for all launches of a call."""
    if call.launches is not None and call.launches.contents.launches > 1:
        call, _partial_tensors = call.launches.call(None)  # None: whatever the contents are
    source = replace(call, module=before, compiled=None, launches=None)
    try:
        verdicts = judge(source, ["out-of-bounds"])
    except (KvtraceError, *UNFIT):  # that IR may have what is in no IR that is judged
        return {}
    order = ("proven", "unknown", "violation")
    return {v.op: v for v in sorted(verdicts, key=lambda v: order.index(v.verdict))}


def _removed(before: Module, after: Module) -> Iterator[Op]:
    """Yield the loads of those places that have fewer loads after the passes."""
    rest = _loads(before)
    rest.subtract(_loads(after))
    for op in before.ops:
        if effect_of(op) == "load" and rest[_place(op)] > 0:
            yield op


def _loads(module: Module) -> Counter[_Place]:
    """Return the number of loads of each place, with those of the functions that are called."""
    totals: dict[str, Counter[_Place]] = {}

    def total(name: str) -> Counter[_Place]:
        if name in totals or name not in module.functions:
            return totals.get(name, Counter())
        totals[name] = Counter()  # of a function that calls itself, which Triton has none of
        loads: Counter[_Place] = Counter()
        for op in module.functions[name].op.walk():
            if effect_of(op) == "load":
                loads[_place(op)] += 1
            elif op.name in CALLS:
                loads += total(attribute(op, "callee", ""))
        totals[name] = loads
        return loads

    return total(module.main.name)


def _place(op: Op) -> _Place:
    frame = next(iter(source_stack(op)), None)
    return None if frame is None else (frame.file, frame.line, frame.column)


def _line(op: Op) -> str:
    place = _place(op)
    return "a line without location" if place is None else f"{PurePath(place[0]).name}:{place[1]}"
