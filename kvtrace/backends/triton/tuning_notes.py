"""Messages on the decisions of `triton.autotune`: key, chosen configuration, times, and the others.

Trials that a device ran are launches of the phase "autotune". Those that failed, those that the
program pruned, and all trials without a GPU are not, so each tuning also has a message.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kvtrace.capture.session import Session
from kvtrace.surroundings import Local

#: Most messages on tunings in one session, since a run's messages are limited.
_MOST: Final = 200


@dataclass(slots=True)
class _Tuning:
    """The trials of one tuning so far; `failures` by index of the trial."""

    kernel: str
    key: str
    labels: dict[int, str]  # of all configurations, by id
    pruned: dict[str, list[str]]  # labels by reason
    remaining: list[str]  # labels of those that are not pruned
    trials: list[tuple[str, float]] = field(default_factory=list)
    failures: dict[int, str] = field(default_factory=dict)


class _Running(Local):
    """The tunings of the running thread by id of the tuner's cache, and the error of a trial."""

    def __init__(self) -> None:
        self.tunings: dict[int, _Tuning] = {}
        self.failure: str | None = None


_running: Final = _Running()


def keeping_failure(do_bench: Callable[..., Any]) -> Callable[..., Any]:
    """Return a benchmark function that remembers the error with which a trial fails."""

    def benchmark(kernel_call: Callable[[], Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return do_bench(kernel_call, *args, **kwargs)
        except Exception as error:
            _running.failure = f"{type(error).__name__}: {error}"
            raise

    return benchmark


class TuningNotes:
    """The messages of one session on tunings. Its methods never raise."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._number = 0

    def begin(self, tuner: Any, kwargs: dict[str, Any], remaining: Sequence[Any]) -> None:
        """Begin a tuning of the running thread, of the configurations that pruning leaves."""
        try:
            labels = _labels(tuner.configs)
            hooks = (("early_config_prune", "early_config_prune"), ("perf_model", "perf_model"))
            reason = " and ".join(text for name, text in hooks if getattr(tuner, name, None))
            texts = [labels.get(id(config), str(config)) for config in remaining]
            pruned = [text for text in labels.values() if text not in texts]
            _running.tunings[id(tuner.cache)] = _Tuning(
                tuner.base_fn.__name__, _key_text(tuner, kwargs), labels,
                {f"left out by {reason}": pruned} if pruned else {}, texts,
            )  # fmt: skip
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._session.problem(error)

    def end_trial(self, tuner: Any, config: Any, times: Any, *, timed: bool) -> None:
        """Add a trial's result, and write the tuning's message after its last trial.

        Where nothing is timed, the first valid configuration ends the trials.
        """
        failure, _running.failure = _running.failure, None
        try:
            tuning = _running.tunings.get(id(tuner.cache))
            if tuning is None:
                return
            if failure is not None:
                tuning.failures[len(tuning.trials)] = failure
            time_ms = float(times[0] if isinstance(times, Sequence) else times)
            tuning.trials.append((tuning.labels.get(id(config), str(config)), time_ms))
            is_chosen = not timed and math.isfinite(time_ms)
            if len(tuning.trials) < len(tuning.remaining) and not is_chosen:
                return
            del _running.tunings[id(tuner.cache)]
            self._number += 1
            if self._number <= _MOST:
                self._session.message("info", "tuned", _text(tuning, timed=timed))
        except Exception as error:  # noqa: BLE001 - counted; never the program's problem
            self._session.problem(error)


def _labels(configs: Sequence[Any]) -> dict[int, str]:
    """Return a text of each configuration by id: its parameters that differ, as "BLOCK=64"."""
    parameters = [config.all_kwargs() for config in configs]
    names = dict.fromkeys(name for values in parameters for name in values)
    differing = [name for name in names if len({str(v.get(name)) for v in parameters}) > 1]
    return {
        id(config): " ".join(f"{name}={values[name]}" for name in differing if name in values)
        or "the only one"
        for config, values in zip(configs, parameters, strict=True)
    }


def _key_text(tuner: Any, kwargs: dict[str, Any]) -> str:
    """Return a tuning's key as the autotuner makes it, such as "n=128, x fp16"."""
    passed = {
        name: value for name, value in {**(tuner.nargs or {}), **kwargs}.items()
        if name in tuner.arg_names
    }  # fmt: skip
    texts = [f"{name}={passed[name]!r}" for name in tuner.keys if name in passed]
    for name, value in passed.items():
        if hasattr(value, "dtype"):
            texts.append(f"{name} {str(value.dtype).removeprefix('torch.')}")
    return ", ".join(texts)


def _text(tuning: _Tuning, *, timed: bool) -> str:
    """Return a tuning's message; the choice is the first of the least times, as Triton chooses."""
    times = [time_ms for _, time_ms in tuning.trials]
    chosen = times.index(min(times))
    label = tuning.trials[chosen][0]
    others: defaultdict[str, list[str]] = defaultdict(list)
    for index, (text, time_ms) in enumerate(tuning.trials):
        if index in tuning.failures:
            others[f"failed with {tuning.failures[index]}"].append(text)
        elif index != chosen and math.isfinite(time_ms):
            others["slower"].append(f"{text} ({time_ms:.4g} ms)")
        elif index != chosen:
            others["failed"].append(text)
    others["not tried"] += tuning.remaining[len(tuning.trials) :]
    why = (
        f"{times[chosen]:.4g} ms"
        if timed
        else "the first valid one, as nothing is timed without a GPU"
    )
    if not math.isfinite(times[chosen]):
        why = "though no configuration could run"
    parts = [f"chose {label} ({why})"]
    parts += [
        f"{', '.join(labels)} {why}" for why, labels in (tuning.pruned | others).items() if labels
    ]
    return f"{tuning.kernel} for {tuning.key or 'an empty key'}: {'; '.join(parts)}"
