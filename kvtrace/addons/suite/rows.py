"""Rows of the calls that a suite may have, read once for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.scripts.repro import repro_of_call, source_of_kernel
from kvtrace.schema.contents import first_contents
from kvtrace.schema.runs import plain_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kvtrace.addons.suite.choice import WeighedCall
    from kvtrace.converters.scripts.repro import Repro
    from kvtrace.schema.runs import Run
    from kvtrace.schema.trace import Trace

_Key = tuple[str, int]


class CallRows:
    """Rows of calls and of their kernels, with artifacts of contents."""

    def __init__(
        self, trace: Trace, calls: Sequence[WeighedCall], usual: Mapping[_Key, int]
    ) -> None:
        """Read the rows of some calls, and contents at their usual launches.

        Errors as `Trace.table`.
        """
        self._trace = trace
        runs = list(dict.fromkeys(call.run for call in calls))
        self._calls: dict[_Key, Mapping[str, Any]] = {}
        self._kernels: dict[_Key, Mapping[str, Any]] = {}
        self._contents = first_contents(trace, runs, usual)
        for run in runs:
            ids = [call.call_id for call in calls if call.run == run]
            for row in _rows(trace, "calls", run, "call_id", ids):
                self._calls[run.run_id, row["call_id"]] = row
            kernel_ids = {row["kernel_id"] for row in self._calls.values()}
            for row in _rows(trace, "kernels", run, "kernel_id", kernel_ids):
                self._kernels[run.run_id, row["kernel_id"]] = row

    def data(self, weighed: WeighedCall, source: bool, limit_bytes: int) -> Repro:
        """Return a call's data, without its recorded time.

        Raises:
            BadSetting: it cannot be launched again.
        """
        key = weighed.run.run_id, weighed.call_id
        call, kernel = self._calls[key], self._kernel(weighed)
        contents = self._contents.get(key, {})
        return repro_of_call(self._trace, weighed.run, call, kernel, contents, source, limit_bytes)

    def source(self, weighed: WeighedCall) -> str | None:
        """Return the Python source of a call's kernel as a module, None if not recorded."""
        return source_of_kernel(self._trace, self._kernel(weighed))

    def _kernel(self, weighed: WeighedCall) -> Mapping[str, Any]:
        call = self._calls[weighed.run.run_id, weighed.call_id]
        return self._kernels[weighed.run.run_id, call["kernel_id"]]


def _rows(trace: Trace, table: str, run: Run, key: str, ids: Iterable[int]) -> list[dict[str, Any]]:
    rows = trace.table(table, (run,))
    return plain_rows(rows.filter(pc.is_in(rows[key], pa.array(sorted(ids), pa.int64()))))
