"""Findings of the rules of this add-on, from a run's tables."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from kvtrace.addons.memory.confirmations import evidence_by_line, is_recorded
from kvtrace.addons.memory.effects import StorageEffect
from kvtrace.addons.memory.events import event_parts
from kvtrace.addons.memory.following import Follower
from kvtrace.addons.memory.repeats import follow_repeating
from kvtrace.addons.memory.rows import JudgedRow, Rows
from kvtrace.addons.memory.rules import DECLARED
from kvtrace.addons.memory.run_memory import RunMemory
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.content import StackRows
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Run, Trace
from kvtrace.verdicts.verdict import Answer, Verdict, row_of

# The rule `undeclared-write`: kernels' reads and writes, against what their source declares.
#
# Inductor writes `mutated_arg_names` into the decorator of each kernel that it generates: arguments
# whose contents matter before the kernel, and that it changes. Its autotuner restores these between
# trials, and its results are named `out_ptr…`. Triton's `@triton.autotune` restores `restore_value`
# and zeroes `reset_to_zero`.

Source = Literal["inductor", "autotune"]

_OUTPUT: Final = "out_ptr"


class Declaration(Struct, frozen=True):
    """The arguments that the decorators of a kernel declare.

    Attributes:
        source: who declares: Inductor, or `@triton.autotune`.
        changed: names of arguments whose contents are restored or zeroed between trials.
        trials: whether the kernel may run more than once for a launch, with several configurations.
    """

    source: Source
    changed: frozenset[str]
    trials: bool

    def permits_write(self, name: str) -> bool:
        """Return whether the kernel may write an argument."""
        return self.source == "autotune" or name in self.changed or name.startswith(_OUTPUT)

    def permits_update(self, name: str) -> bool:
        """Return whether the kernel may read an argument's contents and change them."""
        return name in self.changed or not self.trials


def declaration(file: str, kernel: str) -> Declaration | None:
    """Return what a source file declares of a kernel's function; None: nothing, or not known."""
    try:
        tree = ast.parse(file)
    except (SyntaxError, ValueError):  # a file may have been recorded in part
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == kernel:
            for decorator in node.decorator_list:
                declared = _declared(decorator)
                if declared is not None:
                    return declared
    return None


def _declared(decorator: ast.expr) -> Declaration | None:
    if not isinstance(decorator, ast.Call):
        return None
    keywords = {keyword.arg: keyword.value for keyword in decorator.keywords}
    if "inductor_meta" in keywords:
        for key, value in _items(keywords["inductor_meta"]):
            if key == "mutated_arg_names":
                return Declaration("inductor", frozenset(_names(value)), trials=True)
        return None
    function = decorator.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name != "autotune":
        return None
    changed = {
        text for key in ("restore_value", "reset_to_zero") for text in _names(keywords.get(key))
    }
    configurations = keywords.get("configs", decorator.args[0] if decorator.args else None)
    single = isinstance(configurations, ast.List) and len(configurations.elts) < 2
    return Declaration("autotune", frozenset(changed), trials=not single)


def _items(node: ast.expr) -> Iterator[tuple[Any, ast.expr]]:
    """Yield keys and values of a dictionary in source."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                yield key.value, value


def _names(node: ast.expr | None) -> list[str]:
    """Return the texts of a list in source."""
    elements = node.elts if isinstance(node, ast.List | ast.Tuple | ast.Set) else []
    return [
        element.value
        for element in elements
        if isinstance(element, ast.Constant) and isinstance(element.value, str)
    ]


_RESTORED = {
    "inductor": "mutated_arg_names does not have it",
    "autotune": "neither restore_value nor reset_to_zero has it",
}


class Declarations:
    """The writes that a run's kernels declare in their recorded source, by the id of a call."""

    def __init__(self, trace: Trace, run: Run) -> None:
        """Read the run's kernels and calls. Errors as `Trace.table`."""
        self._trace = trace
        columns = ["kernel_id", "name", "file", "files", "origin"]
        self._kernels = {
            row["kernel_id"]: row for row in trace.table("kernels", (run,), columns).to_pylist()
        }
        calls = trace.table("calls", (run,), ["call_id", "kernel_id"])
        self._kernel_ids: dict[int, int] = dict(
            zip(calls["call_id"].to_pylist(), calls["kernel_id"].to_pylist(), strict=True)
        )
        self._declared: dict[int, Declaration | None] = {}

    def kernel_id(self, call_id: int) -> int:
        """Return the kernel variant that a call launches."""
        return self._kernel_ids[call_id]

    def of(self, call_id: int) -> Declaration | None:
        """Return what is declared of a call's kernel; None: nothing, or its file is not known."""
        kernel_id = self._kernel_ids[call_id]
        if kernel_id not in self._declared:
            self._declared[kernel_id] = self._of_kernel(self._kernels.get(kernel_id))
        return self._declared[kernel_id]

    def _of_kernel(self, kernel: Mapping[str, Any] | None) -> Declaration | None:
        for file in (kernel or {}).get("files") or ():
            if kernel is not None and file["path"] == kernel["file"] and file["artifact"]:
                content = self._trace.artifact(file["artifact"])
                if content is not None:
                    return declaration(content.decode(errors="replace"), kernel["name"] or "")
        return None


def declared_verdicts(
    call: Call, effects: Mapping[int, StorageEffect], declared: Declaration
) -> Iterator[Verdict]:
    """Yield a verdict for each storage of a call that it may write.

    `effects` has them by the index of an argument. A tensor that is declared as changed and never
    written is no finding: it is restored in vain.
    """
    for effect in effects.values():
        names = [call.arguments[index].name for index in effect.args]
        if not effect.may_write or not effect.stores:
            continue
        answer, message = _judged(names, effect, declared)
        verdict = Verdict(
            DECLARED, answer, effect.stores[0].op, message, access="store", arg=names[0]
        )
        if answer == "unknown":
            yield replace(verdict, reason=effect.reason)
        else:
            yield replace(verdict, method="followed")


def _judged(names: list[str], effect: StorageEffect, declared: Declaration) -> tuple[Answer, str]:
    """Return the verdict on what is done to a storage, and the sentence on it."""
    name, lacking = names[0], _RESTORED[declared.source]
    if not any(map(declared.permits_write, names)):
        return "violation", (
            f"{name} is written, and {lacking}: Inductor takes it for an input that stays as it is"
        )
    if not any(map(declared.permits_update, names)):
        if effect.unlisted_reads:
            which = f"which elements of {name} it reads before it stores them"
            return "unknown", f"not known is {which}: {effect.reason}"
        if effect.reads & effect.may_write:
            return "violation", (
                f"{name} is read and then changed, and {lacking}: each trial of the autotuner "
                "changes what the next one reads, and the launch that follows"
            )
        if effect.may_read & effect.may_write:
            which = f"whether {name} is read before it is changed"
            return "unknown", f"not known is {which}: {effect.reason}"
    what = "mutated_arg_names" if declared.source == "inductor" else "its autotuner's lists"
    return "proven", f"what is done to {name} is as {what} says"


def findings_of(trace: Trace, run: Run, *, named: bool) -> Mapping[str, pa.Table] | None:
    """Return the findings of a run whose memory was recorded, or of any run if `named`.

    Each tensor that a call reads has a row: proven, a violation with an unwritten element, or
    unknown with the reason; each that a kernel with a declaration writes has another. Without
    recorded memory there are only the latter. A violation on which the program's output depends
    (`confirmations.py`) is an error. None if nothing is judged.
    """
    recorded = is_recorded(trace, run)
    if not recorded and not named:
        return None
    memory = RunMemory(trace, run)
    stacks = StackRows()
    rows = list(_declared_rows(memory, Declarations(trace, run), stacks))
    if not recorded and not rows:
        return None
    if recorded:
        evidence = evidence_by_line(trace, run)
        rows += (
            _confirmed(judged.row, evidence[judged.line]) if judged.line in evidence else judged.row
            for judged in _followed_rows(trace, run, memory, stacks)
        )
    by_table = {"findings": rows, "stacks": stacks.rows()}
    return {
        name: pa.Table.from_pylist(listed, TABLES[name].schema) for name, listed in by_table.items()
    }


def unwritten_memory(trace: Trace, run: Run) -> Iterator[JudgedRow]:
    """Yield the violations of a run whose memory was recorded. Errors as `Trace.table`."""
    for judged in _followed_rows(trace, run, RunMemory(trace, run), StackRows()):
        if judged.row["verdict"] == "violation" and judged.row["rule"] != DECLARED:
            yield judged


def _followed_rows(
    trace: Trace, run: Run, memory: RunMemory, stacks: StackRows
) -> Iterator[JudgedRow]:
    follower = Follower(
        {call_id: call.storages for call_id, call in memory.calls.items()},
        memory.operators,
        {
            seq: (judged.call.call_id, judged.storages)
            for seq, judged in memory.launches.items()
            if judged.call
        },
        {
            judged.call.call_id
            for judged in (*memory.calls.values(), *memory.launches.values())
            if judged.call and judged.elsewhere
        },
    )
    follow_repeating(follower, event_parts(trace, run))
    return Rows(memory, follower, stacks).rows()


def _confirmed(row: Mapping[str, Any], evidence: str) -> dict[str, Any]:
    message = f"{row['message']}; confirmed: what the program prints depends on it, {evidence}"
    return {**row, "severity": "error", "message": message}


def _declared_rows(
    memory: RunMemory, declarations: Declarations, stacks: StackRows
) -> Iterator[dict[str, Any]]:
    """Yield rows of the rule `undeclared-write`, for one call of each kernel variant."""
    judged: set[int] = set()
    for call_id, judged_call in memory.calls.items():
        kernel_id = declarations.kernel_id(call_id)
        declared = None if kernel_id in judged else declarations.of(call_id)
        if declared is None or judged_call.call is None:
            continue
        judged.add(kernel_id)
        for verdict in declared_verdicts(judged_call.call, judged_call.effects, declared):
            yield row_of(verdict, judged_call.call, stacks, "warning")
