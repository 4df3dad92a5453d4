"""Launches that compiled, loaded or tuned their kernel: no measure of a launch.

Such a launch takes a second where those after it take microseconds, so its time is summed apart.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kvtrace.converters.columns import integers
from kvtrace.converters.trials import HoldingTrials

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_NEVER = np.iinfo(np.int64).min


class CompilingLaunches:
    """Tells launches of a run in which their kernel was compiled, loaded or tuned.

    That is, in which its compilation or loading began, or an autotuner tried configurations.
    """

    def __init__(self, trace: "Trace", run: "Run") -> None:
        """Read when each call's kernel was compiled and loaded; errors as `Trace.table`."""
        kernels = trace.table("kernels", [run], ["kernel_id", "compile_begin", "load_begin"])
        calls = trace.table("calls", [run], ["call_id", "kernel_id"]).sort_by("call_id")
        ids = integers(kernels["kernel_id"])
        order = np.argsort(ids, kind="stable")
        self._calls = integers(calls["call_id"])
        self._holding = HoldingTrials()
        at = _places(ids[order], integers(calls["kernel_id"], -1))
        self._begins = [
            np.append(integers(kernels[name], _NEVER)[order], _NEVER)[at]
            for name in ("compile_begin", "load_begin")
        ]

    def among(self, piece: pa.Table) -> npt.NDArray[np.bool_]:
        """Tell of each row of `launches` whether it is one.

        Pieces are given in their order; columns call_id, enter, exit, phase and thread.
        """
        at = _places(self._calls, integers(piece["call_id"], -1))
        enter, leave = (integers(piece[name], _NEVER) for name in ("enter", "exit"))
        found = self._holding.among(piece)
        for begins in self._begins:
            found |= began_in(np.append(begins, _NEVER)[at], enter, leave)
        return found


def began_in(
    begin: npt.NDArray[np.int64], enter: npt.NDArray[np.int64], leave: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Tell of each launch whether something began in it; a begin of int64's least is none."""
    found: npt.NDArray[np.bool_] = (begin != _NEVER) & (enter <= begin) & (begin < leave)
    return found


def _places(known: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return where each wanted number is among sorted ones; -1, the last, where it is not."""
    if not known.size:
        return np.full(wanted.shape, -1)
    at = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    return np.where(known[at] == wanted, at, -1)
