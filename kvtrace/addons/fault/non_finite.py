"""First launches of runs that made a NaN or an infinity, recorded with `KVTRACE_CHECK=finite`.

The tables say which launch and which tensor. The op and its line are for `kvtrace check` to find;
its finding is repeated where the trace has it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc

from kvtrace.addons.fault.texts import ShownFault
from kvtrace.schema.columns import without_dictionary

if TYPE_CHECKING:
    import pyarrow as pa

    from kvtrace.schema.trace import Run, Trace

_WHY: Final = "finite"
_RULE: Final = "first-non-finite"


@dataclass(frozen=True, slots=True)
class NonFinite:
    """The first launch of a run after which tensors had a NaN or an infinity, and before it none.

    Attributes:
        exception: "first NaN" or "first infinity".
        kernel: the kernel's name; None: it was not recorded.
        run: the run.
        call_id: the call that was launched.
        launch_seq: the launch's number.
        arguments: names of the tensors.
        causes: the finding of `kvtrace check`, if the trace has it.
    """

    exception: str
    kernel: str | None
    run: str
    call_id: int
    launch_seq: int
    arguments: tuple[str, ...]
    causes: tuple[str, ...]

    def shown(self, folder: Path) -> ShownFault:
        """Return what is said of the launch; `folder` is the trace, for commands."""
        place = shlex.quote(f"{folder}/{self.run}")
        names = ", ".join(self.arguments) or "a tensor"
        value = self.exception.removeprefix("first ")
        return ShownFault(
            headline=f"{self.exception}, in kernel {self.kernel or 'unknown'}",
            excerpt=(),
            facts=(
                ("launch", f"call {self.call_id} of run {self.run}, launch {self.launch_seq}"),
                ("argument", f"{names} had no {value} before the launch, and one after it"),
                *(("why", cause) for cause in self.causes),
            ),
            # repro does not have the memory that was kept, without which there may be no NaN
            commands=(f"kvtrace check {place}",),
            run=self.run,
            call=self.call_id,
        )

    def json_object(self) -> dict[str, Any]:
        """Return the launch for JSON, with the fields that faults have."""
        return asdict(self)


def first_non_finite(trace: Trace, runs: Sequence[Run]) -> Iterator[NonFinite]:
    """Yield the first such launch of each run that has one."""
    checked = trace.table("checked_launches", runs, ["seq", "call_id", "why"])
    launches: dict[str, dict[str, Any]] = {}
    chosen = [row for row in _equal(checked, "why", _WHY) if row["seq"] is not None]
    for row in sorted(chosen, key=lambda row: row["seq"]):
        launches.setdefault(row["run"], row)
    for run, launch in launches.items():
        yield _non_finite(trace, run, launch["seq"], launch["call_id"])


def _non_finite(trace: Trace, run: str, seq: int, call_id: int) -> NonFinite:
    flags = _equal(trace.table("non_finite", (run,)), "seq", seq)
    after = [row for row in flags if row["when"] == "after" and (row["nan"] or row["infinity"])]
    columns = ["call_id", "kernel_id", "args"]
    call = next(iter(_equal(trace.table("calls", (run,), columns), "call_id", call_id)), {})
    kernels = trace.table("kernels", (run,), ["kernel_id", "name"])
    names = [row["name"] for row in _equal(kernels, "kernel_id", call.get("kernel_id"))]
    args = call.get("args") or ()
    findings = trace.table("findings", (run,), ["call_id", "rule", "message"])
    messages = [row for row in _equal(findings, "rule", _RULE) if row["call_id"] == call_id]
    return NonFinite(
        exception="first infinity" if after and not any(row["nan"] for row in after)
        else "first NaN",
        kernel=names[0] if names else None,
        run=run,
        call_id=call_id,
        launch_seq=seq,
        arguments=tuple(
            str(arg["name"])
            for place, arg in enumerate(args)
            if any(row["arg"] == place for row in after)
        ),
        causes=tuple(f"{row['message']} (kvtrace check: {_RULE})" for row in messages[:1]),
    )  # fmt: skip


def _equal(table: pa.Table, column: str, value: str | int | None) -> list[dict[str, Any]]:
    if value is None:
        return []
    rows: list[dict[str, Any]] = table.filter(
        pc.equal(without_dictionary(table[column]), value)
    ).to_pylist()
    return rows
