"""Autotuning without a GPU, where nothing is timed: the first valid configuration wins.

Configurations are pruned by the program's own hooks as usual. Each is then tried in order: hooks
like `reset_to_zero` and `restore_value` run as around any launch, the kernel is compiled and its
resources are checked, but the kernel is not launched. Configurations after the first valid one are
not even compiled.

A program that measures with `triton.testing.do_bench` or with the driver's benchmarker, and chooses
by itself, has its function called once and gets the same time for each choice; so the first choice
wins.

The replacements are made at the beginning of a recording, since the launch for which Triton chooses
a driver may be autotuned. They read Triton's active driver only when Triton itself would.
"""

import copy
import functools
import inspect
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton.device_free_state import EQUAL_TIME, preparing, state
from kvtrace.surroundings import Local

#: Functions of `triton.testing` that measure; not every version of Triton has all.
_MEASURING_FUNCTIONS: Final = (
    "do_bench", "do_bench_cudagraph", "do_bench_proton", "do_bench_cudagraph_proton",
)  # fmt: skip


class _Decided(Local):
    """Arguments of the running thread's finished tunings, until its next launch.

    They are a new object for each tuning, so they identify the tuning.
    """

    def __init__(self) -> None:
        self.arguments: list[Any] = []

    def clear(self) -> None:
        """Forget the running thread's tunings."""
        self.arguments.clear()


_decided: Final = _Decided()


def install() -> Replacements:
    """Replace, and return, Triton's measuring functions, for launches without a GPU."""
    from triton import testing
    from triton.runtime.autotuner import Autotuner

    measure, find_in_cache = Autotuner._bench, Autotuner.check_disk_cache

    def _bench(self: Any, *args: Any, config: Any, **meta: Any) -> Sequence[float]:
        if not _runs_without_gpu():
            return measure(self, *args, config=config, **meta)  # type: ignore[no-any-return]
        return _try_configuration(measure, self, args, config, meta)

    def check_disk_cache(self: Any, *arguments: Any, **named: Any) -> Any:
        if not _runs_without_gpu():
            return find_in_cache(self, *arguments, **named)
        # This choice was not measured, and must not be cached for a machine with a GPU.
        run_all: Callable[[], Any] = named["bench_fn"] if "bench_fn" in named else arguments[-1]
        run_all()
        return False

    _bench.__wrapped__ = measure  # type: ignore[attr-defined]
    check_disk_cache.__wrapped__ = find_in_cache  # type: ignore[attr-defined]
    replaced = Replacements()
    replaced.put(Autotuner, "_bench", _bench)
    replaced.put(Autotuner, "check_disk_cache", check_disk_cache)
    for name in _MEASURING_FUNCTIONS:
        original = getattr(testing, name, None)
        if original is not None:
            replaced.put(testing, name, _without_measuring(original))
    replaced.undone_by(_decided.clear)
    return replaced


def call_once(
    function: Callable[[], Any],
    *_: Any,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
    **__: Any,
) -> float | list[float]:
    """Call a function once, and return `EQUAL_TIME` in the form of `triton.testing.do_bench`."""
    _report_equal_times()
    function()
    if quantiles is not None:
        return EQUAL_TIME if len(quantiles) == 1 else [EQUAL_TIME] * len(quantiles)
    return [EQUAL_TIME] if return_mode == "all" else EQUAL_TIME


def _runs_without_gpu() -> bool:
    """Return whether launches run in the evaluator; Triton's driver is chosen if none is yet."""
    try:
        active = sys.modules["triton.runtime.driver"].driver.active
    except RuntimeError:
        return False  # Triton raises it again at the launch
    return state.driver is not None and active is state.driver


def _without_measuring(original: Callable[..., Any]) -> Callable[..., Any]:
    parameters = inspect.signature(original)

    @functools.wraps(original)
    def measured(*args: Any, **kwargs: Any) -> Any:
        if not _runs_without_gpu():
            return original(*args, **kwargs)
        passed = parameters.bind(*args, **kwargs).arguments
        for tensor in passed.pop("grad_to_none", None) or ():
            tensor.grad = None
        return call_once(passed.pop("fn"), **passed)

    return measured


def _try_configuration(
    measure: Callable[..., Any],
    tuner: Any,
    args: tuple[Any, ...],
    config: Any,
    meta: dict[str, Any],
) -> Sequence[float]:
    """Compile and check one configuration, and return three times: infinite unless it is chosen.

    The first valid configuration of a tuning is chosen. The trial uses a copy of the tuner: other
    threads launch through the tuner itself meanwhile.
    """
    never = [math.inf] * 3  # a list: Triton compares it with lists
    arguments = tuner.nargs
    if any(decided is arguments for decided in _decided.arguments):
        return never
    trial = copy.copy(tuner)
    trial.nargs = arguments
    trial.fn = _UnlaunchedKernel(tuner.fn)
    vars(trial)["do_bench"] = _call_without_timing
    times: Sequence[float] = measure(trial, *args, config=config, **meta)
    if math.isfinite(times[0]):
        _clear_at_next_launch()
        _decided.arguments.append(arguments)
    return times


def _call_without_timing(kernel_call: Callable[[], Any], **_: Any) -> Sequence[float]:
    kernel_call()
    return [EQUAL_TIME] * 3


class _UnlaunchedKernel:
    """A kernel whose `run` compiles and checks, and launches nothing."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def run(self, *args: Any, **kwargs: Any) -> Any:
        preparing.active = True  # compile only as far as a launch needs
        try:
            compiled = self._kernel.run(*args, **{**kwargs, "warmup": True})
        finally:
            preparing.active = False
        if hasattr(compiled, "result"):  # still being compiled, in another thread
            compiled = compiled.result()
        load = getattr(compiled, "_init_handles", None)
        if load is not None:
            load()  # raises OutOfResources where a launch would
        return compiled

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


def _clear_at_next_launch() -> None:
    """Clear `_decided` at the next launch, which is that of the tuned kernel.

    The launcher's module is imported here, since it is never needed with a GPU.
    """
    from kvtrace.backends.triton.evaluating_launcher import before_launch

    if _decided.clear not in before_launch:
        before_launch.append(_decided.clear)


def _report_equal_times() -> None:
    session = state.session
    if session is None or state.has_reported_equal_times:
        return
    state.has_reported_equal_times = True
    session.message(
        "info",
        "not-measured",
        "nothing can be timed without a GPU: functions that a program or a library "
        f"measures are called once, and each gets the time {EQUAL_TIME:g} ms",
    )
