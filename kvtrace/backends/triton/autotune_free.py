"""Autotuning where there is nothing to time: the first configuration that can be launched wins.

Configurations are pruned by the program's own hooks as usual. Each is then tried in order: it is
compiled and its resources are checked, but nothing is executed, so that hooks like `reset_to_zero`
and `restore_value` have nothing to undo. Those after the first valid one are not even compiled.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from kvtrace.backends.replacements import Replacements
from kvtrace.backends.triton.evaluating_launcher import before_launch, trial

#: What was replaced in Triton's autotuner; None while nothing is.
_replaced: Replacements | None = None
#: Tuners that have found their configuration, with the arguments that they tune for.
_decided: dict[int, Any] = {}


def install() -> None:
    """Replace how Triton's autotuner measures; undone by `uninstall`."""
    global _replaced
    from triton.runtime.autotuner import Autotuner

    if _replaced is not None:
        return
    measure = Autotuner._bench

    def _bench(self: Any, *args: Any, config: Any, **meta: Any) -> Sequence[float]:
        return _try(measure, self, args, config, meta)

    def check_disk_cache(*arguments: Any, **named: Any) -> bool:
        # What is found here was not measured, and must not be left for a machine with a GPU.
        run_all = named.get("bench_fn", arguments[-1])
        run_all()
        return False

    _replaced = Replacements()
    _replaced.put(Autotuner, "_bench", _bench)
    _replaced.put(Autotuner, "check_disk_cache", check_disk_cache)
    before_launch.append(_decided.clear)


def uninstall() -> None:
    """Restore what Triton's autotuner had, where nothing else lies on top."""
    global _replaced
    if _replaced is None:
        return
    _replaced.undo()
    _replaced = None
    before_launch.remove(_decided.clear)
    _decided.clear()


def _try(
    measure: Callable[..., Any],
    tuner: Any,
    args: tuple[Any, ...],
    config: Any,
    meta: dict[str, Any],
) -> Sequence[float]:
    """Try one configuration; gives zero milliseconds if it can be launched, else infinity.

    `tuner.nargs` is a new object in each run of the tuner, so it tells one tuning from the next.
    """
    never = [math.inf] * 3  # a list, as Triton gives: it compares them
    if _decided.get(id(tuner)) is tuner.nargs:
        return never
    missing = object()
    own = vars(tuner).get("do_bench", missing)
    vars(tuner)["do_bench"] = _launch_once
    trial.active = True
    try:
        times: Sequence[float] = measure(tuner, *args, config=config, **meta)
    finally:
        trial.active = False
        if own is missing:
            del vars(tuner)["do_bench"]
        else:
            vars(tuner)["do_bench"] = own
    if math.isfinite(times[0]):
        _decided[id(tuner)] = tuner.nargs
    return times


def _launch_once(kernel_call: Callable[[], Any], **_: Any) -> Sequence[float]:
    """Launch instead of measuring, which compiles and checks."""
    kernel_call()
    return [0.0] * 3
