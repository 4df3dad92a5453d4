"""The figures of a part of some runs, opened at one door.

`open_figures` has the sums of long runs stored, chooses the part, and returns all figures of it.
Each is read at first use: from what is stored, or from launches and executions. That is decided
once, for sums by call in `sums_reading.py` and for idle time in `run_parts.py`; who asks for a
figure cannot tell.
"""

from collections.abc import Sequence

import pyarrow as pa

from kvtrace.figures.device_time import DeviceTime, read_device_time
from kvtrace.figures.gaps import Gaps, read_gaps
from kvtrace.figures.graph_replays import GraphReplays, read_graph_replays
from kvtrace.figures.launch_costs import LaunchCost, read_launch_costs
from kvtrace.figures.libraries import LibraryTime, library_times
from kvtrace.figures.ranks import RanksFigures, read_ranks
from kvtrace.figures.requested_part import STEADY, RequestedPart
from kvtrace.figures.run_parts import RunPart, run_parts
from kvtrace.figures.stored import has_older_sums
from kvtrace.figures.sums_building import add_up
from kvtrace.figures.times import Times, device_times, figures_of_calls, host_times
from kvtrace.figures.window import Window, windowed
from kvtrace.schema.cached_property import cached_property
from kvtrace.schema.trace import Run, Trace


class PartFigures:
    """The figures of a part of some runs; errors of all as `Trace.table`.

    Attributes:
        trace: The trace, narrowed to the part.
        runs: The runs.
        window: The part; None if nothing was timed.

    """

    def __init__(
        self,
        trace: Trace,
        runs: Sequence[Run],
        window: Window | None = None,
        summed: tuple[Times, Times] | None = None,
    ) -> None:
        """Take a trace that is narrowed to `window`, if there is one.

        `summed` are the times of launches and of executions that another engine has added up;
        neither are then read, and figures of devices are None.
        """
        self.trace, self.runs, self.window = trace, runs, window
        self._summed = summed

    @cached_property
    def launched(self) -> Times:
        """The times of launches, by call."""
        return host_times(self.trace, self.runs) if self._summed is None else self._summed[0]

    @cached_property
    def executed(self) -> Times:
        """The times of executions, by call, and by name of those without a call."""
        return device_times(self.trace, self.runs) if self._summed is None else self._summed[1]

    @cached_property
    def by_call(self) -> pa.Table:
        """A row per call with the figures of its launches and executions."""
        return figures_of_calls(self.launched, self.executed)

    @cached_property
    def libraries(self) -> list[LibraryTime]:
        """Executions without a launch of a kernel, by name and stack."""
        return library_times(self.trace, self.runs)

    @cached_property
    def _parts(self) -> list[RunPart]:
        return [] if self._summed is not None else run_parts(self.trace, self.runs)

    @cached_property
    def device_time(self) -> DeviceTime | None:
        """The time on devices by name; None if none was recorded."""
        busy_times = [busy for part in self._parts if (busy := part.busy) is not None]
        if self._summed is not None or not (busy_times or self._are_executions_summed()):
            return None
        return read_device_time(
            self.trace, self.runs, self.window, self.executed, busy_times, self.libraries
        )

    def _are_executions_summed(self) -> bool:
        """Return whether sums of executions are recorded where single ones are not."""
        if any(run.has_total_times for run in self.runs):
            return True
        older = {run.run_id for run in self.runs if has_older_sums(self.trace, run)}
        return bool(older) and not older.isdisjoint(self.executed.calls["run"].to_pylist())

    @cached_property
    def gaps(self) -> Gaps | None:
        """The devices' idle time by cause; None without a timeline."""
        return None if self.device_time is None else read_gaps(self.trace, self._parts)

    @cached_property
    def ranks(self) -> RanksFigures | None:
        """The ranks of one job and its limit; None without a timeline of such ranks."""
        return None if self.device_time is None else read_ranks(self.trace, self.runs)

    @cached_property
    def launch_costs(self) -> tuple[LaunchCost, ...]:
        """Kernels whose launches take the host much longer than usual."""
        return read_launch_costs(self.trace, self.runs, self.launched, self.window)

    @cached_property
    def graph_replays(self) -> GraphReplays | None:
        """The replays of graphs; None: there are none, or they are not known."""
        return None if self.device_time is None else read_graph_replays(self.trace, self.runs)


def open_figures(trace: Trace, runs: Sequence[Run], part: RequestedPart = STEADY) -> PartFigures:
    """Return the figures of a part of some runs; sums of long runs are stored before.

    Raises:
        BadSetting: there is no such part.
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    add_up(trace, runs)
    narrowed, window = windowed(trace, runs, part)
    return PartFigures(narrowed, runs, window)
