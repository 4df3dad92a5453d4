"""A GPU that launches are timed on, or what stands for one.

A suite has a copy of this file beside its run.py: it needs torch and Triton only.
"""

import platform
import subprocess
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
import triton

if TYPE_CHECKING:
    from kvtrace.addons.suite import cache, results
    from kvtrace.converters.scripts import launching
else:  # the files beside this one: a suite needs no kvtrace
    import cache
    import launching
    import results

Launch = Callable[[], object]

SMI_FIELDS = (
    "clocks.sm", "clocks.mem", "temperature.gpu", "power.draw", "clocks_throttle_reasons.active",
)  # fmt: skip


class Device:
    """A GPU, or what stands for one; it clears the cache, and knows when launches ran."""

    def __init__(self, clock: str) -> None:
        self.device, self.interface = launching.active_device()
        can_profile = torch.profiler.ProfilerActivity.CUDA in torch.profiler.supported_activities()
        self.clock = clock if can_profile else "events"
        self.driver = triton.runtime.driver.active
        self._other_data: Any = None
        self._cache: cache.Cache | None = None

    @property
    def cache(self) -> cache.Cache:
        """The L2 cache."""
        if self._cache is None:
            self._cache = cache.Cache(self.device)
        return self._cache

    def clear_cache(self) -> None:
        """Fill the L2 cache with other data."""
        if self._other_data is None:
            self._other_data = self.driver.get_empty_cache_for_benchmark()
        self.driver.clear_cache(self._other_data)

    def occupy(self) -> None:
        """Keep the device busy for about 0.1 ms, while the next launch gets into its queue."""
        torch.cuda._sleep(200_000)

    def times(self, launch: Launch, prepare: Launch, count: int) -> tuple[list[float], str]:
        """Return the times of launches, ns, and the clock: each launch after `prepare`."""
        if self.clock == "device":
            work = partial(repeat, count, prepare, launch)
            times = results.spans(_operations(lambda: repeat(1, prepare, work)), count)
            if times is not None:
                return times, "device"
        pairs = []
        for _ in range(count):
            begin, end = (self.interface.Event(enable_timing=True) for _ in range(2))
            prepare()
            begin.record()
            launch()
            end.record()
            pairs.append((begin, end))
        self.interface.synchronize()
        return [begin.elapsed_time(end) * 1e6 for begin, end in pairs], "events"

    def state(self) -> dict[str, str] | None:
        """Return clocks, temperature, power and reasons for throttling, as nvidia-smi has them."""
        uuid = getattr(torch.cuda.get_device_properties(self.device), "uuid", None)
        query = [f"--query-gpu={','.join(SMI_FIELDS)}", "--format=csv,noheader"]
        which = [] if uuid is None else ["-i", f"GPU-{uuid}"]
        try:
            done = subprocess.run(
                ["nvidia-smi", *query, *which], capture_output=True, text=True, check=True,
                timeout=20,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError):
            return None  # other vendors, and containers without it
        values = done.stdout.strip().split("\n")[0].split(", ")
        return dict(zip(SMI_FIELDS, values, strict=False))

    def described(self) -> dict[str, Any]:
        """Return the device's name, and what drives it."""
        target = self.driver.get_current_target()
        described = {
            "target": f"{target.backend}:{target.arch}",
            "torch": torch.__version__,
            "triton": triton.__version__,
            "python": platform.python_version(),
            "cuda": torch.version.cuda,
        }
        if self.device.type != "cpu":
            properties = torch.cuda.get_device_properties(self.device)
            described |= {"name": properties.name, "memory_bytes": properties.total_memory}
        return described


def repeat(count: int, *steps: Launch) -> None:
    """Do some steps, in their order, as many times as `count` says."""
    for _ in range(count):
        for step in steps:
            step()


def _operations(work: Launch) -> list[tuple[float, float, str]]:
    """Return begin and end, ns, and name of all that `work` lets the device do, in order."""
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with warnings.catch_warnings():
        # That the events of later cycles replace those before: there is one cycle.
        warnings.filterwarnings("ignore", message=".*Profiler clears events", category=UserWarning)
        with torch.profiler.profile(activities=activities) as profile:
            work()
            torch.cuda.synchronize()
    return sorted(
        (event.time_range.start * 1e3, event.time_range.end * 1e3, event.name)
        for event in profile.events()
        if event.device_type == torch.autograd.DeviceType.CUDA
    )
