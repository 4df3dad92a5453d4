"""Launches that compiled, loaded or tuned their kernel: no measure of a launch.

Such a launch takes a second where those after it take microseconds, so its time is summed apart.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kvtrace.converters.columns import Positions, integers
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
        kernels = kernels.sort_by("kernel_id")
        calls = trace.table("calls", [run], ["call_id", "kernel_id"]).sort_by("call_id")
        self._calls = Positions(integers(calls["call_id"]))
        self._holding = HoldingTrials()
        at = Positions(integers(kernels["kernel_id"])).of(integers(calls["kernel_id"], -1))
        #: By call; the last stands for those that are not known.
        self._begins = [
            np.append(np.append(integers(kernels[name], _NEVER), _NEVER)[at], _NEVER)
            for name in ("compile_begin", "load_begin")
        ]

    def among(self, piece: pa.Table) -> npt.NDArray[np.bool_]:
        """Tell of each row of `launches` whether it is one.

        Pieces are given in their order; columns call_id, enter, exit, phase and thread.
        """
        found = self._holding.among(piece)
        if not found.size:
            return found
        enter, leave = (integers(piece[name], _NEVER) for name in ("enter", "exit"))
        first, last = enter.min(), leave.max()
        for begins in self._begins:
            if ((begins >= first) & (begins < last)).any():
                at = self._calls.of(integers(piece["call_id"], -1))
                found |= began_in(begins[at], enter, leave)
        return found


def began_in(
    begin: npt.NDArray[np.int64], enter: npt.NDArray[np.int64], leave: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Tell of each launch whether something began in it; a begin of int64's least is none."""
    found: npt.NDArray[np.bool_] = (begin != _NEVER) & (enter <= begin) & (begin < leave)
    return found
