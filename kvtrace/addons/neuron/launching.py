"""Kernels: what the decorators of both interfaces make, and how a launch on a grid runs.

`execute` runs a kernel and gives its outcome. Who wants to observe launches (the capture backend)
registers in `listeners`; without any, findings are Python warnings.
"""

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np

from kvtrace.addons.neuron import arguments, capacity
from kvtrace.addons.neuron.arguments import as_results, placed_again, traced_tensors
from kvtrace.addons.neuron.buffers import BARE_NAMES
from kvtrace.addons.neuron.cores import Cores
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import UNWRITTEN_RESULT, Finding
from kvtrace.addons.neuron.machine import Run, going_on, set_current
from kvtrace.addons.neuron.memory import NEVER_WRITTEN
from kvtrace.addons.neuron.recorder import Recorder
from kvtrace.addons.neuron.targets import Target, target_named
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.evaluate.threads import ONE_THREAD


class NkiWarning(UserWarning):
    """A kernel breaks a rule of the machine; it ran on all the same."""


@dataclass
class Outcome:
    """What a launch gave: the kernel's results, and the record of what it did.

    Where the kernel raised, `error` says what, and the record is of what it did until then.
    `written` has the identities of the arrays that it has written to.
    """

    kernel: "Kernel"
    grid: tuple[int, ...]
    target: Target
    result: Any
    recorder: Recorder
    arguments: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    written: list[int] = field(default_factory=list)


class Listener(Protocol):
    """Observes launches. What it does must never raise."""

    @property
    def keeps_tiles(self) -> bool:
        """Whether it wants to know what tiles hold."""

    def before(self, kernel: "Kernel", grid: tuple[int, ...], bound: dict[str, Any]) -> Any:
        """Observe a launch; what it gives is handed to `after`."""

    def after(self, token: Any, outcome: Outcome | None) -> Exception | None:
        """Note that the launch is over; `outcome` has an error where the kernel raised.

        It is None where the kernel was not begun. An exception that it gives is raised in place of
        giving the result.
        """


listeners: Final[list[Listener]] = []


class Kernel:
    """A function that is a kernel of one of the interfaces; `kernel[grid](...)` launches it."""

    def __init__(
        self,
        function: Callable[..., Any],
        kind: type[Tensor],
        grid: tuple[int, ...] = (),
        target: str | None = None,
    ) -> None:
        self.function = function
        self.kind = kind
        self.grid = grid
        self.target = target
        self.__name__ = getattr(function, "__name__", "kernel")
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self.__module__ = function.__module__

    @property
    def interface(self) -> str:
        """Which interface it is written for: older or newer."""
        return "newer" if self.kind.__module__.startswith(f"{__package__}.newer") else "older"

    @property
    def benchmark_result(self) -> Any:
        """What `nki.benchmark` measures on a device.

        Raises:
            NkiError: always: here is none.
        """
        raise NkiError(
            f"kernel {self.__name__} ran on NumPy, which says nothing of latencies on a Neuron "
            "device: there is no benchmark_result"
        )

    def __getitem__(self, grid: Any) -> "Kernel":
        return Kernel(self.function, self.kind, whole_grid(grid), self.target)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Launch the kernel; inside of another one, it is a plain function."""
        if going_on() is not None:
            return self.function(*args, **kwargs)
        grid = self.grid
        bound = bound_arguments(self.function, args, kwargs)
        traced = traced_tensors(bound)
        if traced:
            return call_in_graph(self, bound, traced)
        told = [(listener, listener.before(self, grid, bound)) for listener in listeners]
        outcomes: list[Outcome] = []
        try:
            keeps = any(listener.keeps_tiles for listener, _ in told)
            outcome = execute(self, grid, bound, outcomes.append, keeps_tiles=keeps)
        finally:
            ended = outcomes[0] if outcomes else None
            refusals = [listener.after(token, ended) for listener, token in told]
        for refusal in refusals:
            if refusal is not None:
                raise refusal
        if not told:
            _warn(outcome)
        return outcome.result


def call_in_graph(kernel: Kernel, bound: dict[str, Any], traced: list[Any]) -> Any:
    """Make a call of a kernel one op of the graph that is traced; give its results' tensors.

    Their shapes and types are those of a launch on zeros, of which nothing is kept. What the kernel
    leaves in arguments that it writes to are further results, which those tensors hold then.
    """
    zeros = [np.zeros(tensor.shape, tensor.dtype) for tensor in traced]
    outcome = execute(kernel, kernel.grid, placed_again(bound, traced, zeros))
    changed = [place for place, zero in enumerate(zeros) if id(zero) in outcome.written]
    given = as_results(outcome.result)
    flops = sum(site.flops for site in outcome.recorder.sites)

    def calls(*operands: Any) -> list[Any]:
        arrays = [np.array(each) if at in changed else each for at, each in enumerate(operands)]
        args, kwargs = _passed(kernel.function, placed_again(bound, traced, arrays))
        results = as_results(kernel(*args, **kwargs))
        return results + [arrays[place] for place in changed]

    shapes = [(np.shape(each), np.asarray(each).dtype) for each in given]
    shapes += [(zeros[place].shape, zeros[place].dtype) for place in changed]
    written = [traced[place] for place in changed]
    made = traced[0]._call_kernel(kernel.__name__, calls, traced, shapes, flops, written=written)
    return placed_again(outcome.result, given, list(made))


def whole_grid(grid: Any) -> tuple[int, ...]:
    """Return a grid as sizes: numbers, `nl.nc(2)`, and `nl.spmd_dim(4, nl.nc(2))` are products.

    Raises:
        NkiError: a size is not a positive number.
    """
    listed = grid if isinstance(grid, tuple | list) else (grid,)
    sizes = tuple(int(size) for size in listed)
    if any(size < 1 for size in sizes):
        raise NkiError(f"the grid {sizes} has a size below 1")
    return sizes


def bound_arguments(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a launch by the names of the kernel's parameters.

    Raises:
        TypeError: they do not fit the kernel's parameters, as Python says it.
    """
    signature = inspect.signature(function)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def execute(
    kernel: Kernel,
    grid: tuple[int, ...],
    bound: dict[str, Any],
    tell: Callable[[Outcome], None] = lambda _: None,
    *,
    keeps_tiles: bool = False,
) -> Outcome:
    """Run a kernel on a grid, one program after the other but where two wait for each other.

    `tell` is given the outcome, also of a kernel that raises.

    Raises:
        NkiError: the kernel does what NKI does not have; the sentence ends with the line.
    """
    target = target_named(kernel.target)
    recorder = Recorder(_call.__code__, keeps_tiles=keeps_tiles)
    run = Run(target, kernel.kind, grid, recorder)
    taken = arguments.Taken(run)
    inputs = {name: taken.of(name, value) for name, value in bound.items()}
    args, kwargs = _passed(kernel.function, inputs)
    set_current(run)
    try:
        # Masked-off lanes hold NaN, and products are many and small.
        with np.errstate(all="ignore"), ONE_THREAD, BARE_NAMES:
            result = Cores(run, lambda: _call(kernel.function, args, kwargs)).execute()
    except NkiError as error:
        placed = _placed(error, recorder, kernel)
        tell(Outcome(kernel, run.grid, target, None, recorder, bound, str(placed)))
        raise placed from None
    except Exception as error:
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        tell(Outcome(kernel, run.grid, target, None, recorder, bound, text))
        raise
    finally:
        set_current(None)
    taken.give_back()
    capacity.find_overflows(run)
    _find_unwritten(recorder, result)
    outcome = Outcome(kernel, run.grid, target, taken.result(result), recorder, bound)
    outcome.written = taken.written()
    tell(outcome)
    return outcome


def _find_unwritten(recorder: Recorder, result: Any) -> None:
    """Find elements of results that no program has written."""
    for tensor in result if isinstance(result, tuple | list) else (result,):
        if not isinstance(tensor, Tensor) or tensor.memory.states is None:
            continue
        left = int(np.count_nonzero(tensor.of_elements(tensor.memory.states) == NEVER_WRITTEN))
        if left:
            name = tensor.memory.life.name or "a tensor"
            text = f"{left:,} of {tensor.size:,} elements of the result {name!r} were never written"
            recorder.find(Finding(UNWRITTEN_RESULT, tensor.memory.life.site, text, lanes=left))


def _call(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call the kernel. Its code is where recorded stacks end."""
    return function(*args, **kwargs)


def _passed(
    function: Callable[..., Any], inputs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments as positional and named ones, as the function takes them."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            args += inputs.get(name, ())
        elif parameter.kind is parameter.VAR_KEYWORD:
            kwargs |= inputs.get(name, {})
        elif parameter.kind is parameter.KEYWORD_ONLY:
            kwargs[name] = inputs[name]
        else:
            args.append(inputs[name])
    return args, kwargs


def _placed(error: NkiError, recorder: Recorder, kernel: Kernel) -> NkiError:
    """Return the error with the kernel's name and the line that it came from."""
    place = recorder.raised_at(error)
    where = "" if place is None else f" ({place.file}:{place.line})"
    return NkiError(f"kernel {kernel.__name__}: {error}{where}")


def _warn(outcome: Outcome | None) -> None:
    if outcome is None:
        return
    for finding in outcome.recorder.findings:
        frames = outcome.recorder.sites[finding.site].frames
        where = f" ({frames[0].file}:{frames[0].line})" if frames else ""
        warnings.warn(f"{finding.rule}: {finding.message}{where}", NkiWarning, stacklevel=3)
