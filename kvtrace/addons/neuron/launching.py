"""Kernels: functions decorated by either interface, and their launches on a grid.

`execute` runs a kernel and returns an `Outcome`. The capture backend registers in `listeners` to
observe launches; without listeners, findings become Python warnings.
"""

import inspect
import warnings
from collections.abc import Callable
from typing import Any, Final, Protocol

import numpy as np
from msgspec import Struct

from kvtrace.addons.neuron import arguments, capacity
from kvtrace.addons.neuron.arguments import replace_leaves, result_leaves, traced_tensors
from kvtrace.addons.neuron.buffers import bare_names
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import UNWRITTEN_RESULT, Finding
from kvtrace.addons.neuron.machine import Run, current_or_none, set_current
from kvtrace.addons.neuron.recorder import Recorder
from kvtrace.addons.neuron.targets import Target, target_named
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tiles import Tile
from kvtrace.evaluate.threads import ONE_THREAD


class NkiWarning(UserWarning):
    """The warning that a kernel, which kvtrace ran, violates a rule of the device."""


class Outcome(Struct):
    """The results of a launch, and the record of its ops, buffers and findings.

    If the kernel raised, `error` is the message, and the record ends there. `written` has
    `id(array)` of each array that the kernel has written to.
    """

    kernel: "Kernel"
    grid: tuple[int, ...]
    target: Target
    result: Any
    recorder: Recorder
    arguments: dict[str, Any] = {}
    error: str = ""
    written: list[int] = []


class Listener(Protocol):
    """An observer of launches, whose methods must not raise."""

    def before(self, kernel: "Kernel", grid: tuple[int, ...], bound: dict[str, Any]) -> Any:
        """Process the begin of a launch; the returned value is passed to `after`."""

    def after(self, token: Any, outcome: Outcome | None) -> Exception | None:
        """Process the end of a launch; `outcome` is None if the kernel did not start.

        `token` is what `before` returned. An exception that is returned is raised instead of
        returning the launch's result.
        """


listeners: Final[list[Listener]] = []


class Kernel:
    """A function decorated by one of the interfaces; `kernel[grid](...)` launches it."""

    def __init__(
        self,
        function: Callable[..., Any],
        interface: str,
        grid: tuple[int, ...] = (),
        target: str | None = None,
    ) -> None:
        self.function = function
        #: The interface that the kernel is written for: older or newer.
        self.interface = interface
        self.grid = grid
        self.target = target
        self.__name__ = getattr(function, "__name__", "kernel")
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self.__module__ = function.__module__

    def __getitem__(self, grid: Any) -> "Kernel":
        return Kernel(self.function, self.interface, grid_sizes(grid), self.target)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Launch the kernel and return its results; in a kernel or trace, run as part of that.

        Without listeners, findings become warnings.
        """
        if current_or_none() is not None:
            return self.function(*args, **kwargs)
        grid = self.grid
        bound = bound_arguments(self.function, args, kwargs)
        traced = traced_tensors(bound)
        if traced:
            return call_in_graph(self, bound, traced)
        tokens = [(listener, listener.before(self, grid, bound)) for listener in listeners]
        outcomes: list[Outcome] = []
        try:
            outcome = execute(self, grid, bound, outcomes.append)
        finally:
            outcome_or_none = outcomes[0] if outcomes else None
            errors = [listener.after(token, outcome_or_none) for listener, token in tokens]
        for error in errors:
            if error is not None:
                raise error
        if not tokens:
            _warn_of_findings(outcome)
        return outcome.result


def decorator(interface: str) -> Callable[..., Any]:
    """Return the decorator `nki.jit` of an interface, called with settings or without."""

    def jit(func: Callable[..., Any] | None = None, mode: str = "auto", **settings: Any) -> Any:
        """Return a function as a kernel: `@nki.jit`, or `@nki.jit(platform_target="trn2")`."""
        del mode
        if func is None:
            return lambda function: jit(function, **settings)
        return Kernel(func, interface, target=settings.get("platform_target"))

    return jit


def call_in_graph(kernel: Kernel, bound: dict[str, Any], traced: list[Any]) -> Any:
    """Add a call of a kernel to the traced graph as one op; return the op's result tensors.

    `traced` are the graph's tensors among the arguments. Shapes and types of the results are those
    of a launch on zeros. Arguments that the kernel writes to are further results: the traced
    tensors passed for them then stand for the new contents.
    """
    zeros = [np.zeros(tensor.shape, tensor.dtype) for tensor in traced]
    outcome = execute(kernel, kernel.grid, replace_leaves(bound, traced, zeros))
    written_indices = [index for index, zero in enumerate(zeros) if id(zero) in outcome.written]
    outputs = result_leaves(outcome.result)
    flops = sum(site.flops for site in outcome.recorder.sites)

    def calls(*operands: Any) -> list[Any]:
        arrays = [
            np.array(operand) if position in written_indices else operand
            for position, operand in enumerate(operands)
        ]
        args, kwargs = _call_arguments(kernel.function, replace_leaves(bound, traced, arrays))
        results = result_leaves(kernel(*args, **kwargs))
        return results + [arrays[index] for index in written_indices]

    shapes = [(np.shape(output), np.asarray(output).dtype) for output in outputs]
    shapes += [(zeros[index].shape, zeros[index].dtype) for index in written_indices]
    written_tensors = [traced[index] for index in written_indices]
    graph_outputs = traced[0]._call_kernel(
        kernel.__name__, calls, traced, shapes, flops, written=written_tensors
    )
    return replace_leaves(outcome.result, outputs, list(graph_outputs))


def grid_sizes(grid: Any) -> tuple[int, ...]:
    """Return a grid as a tuple of sizes, given one size or several.

    Raises:
        NkiError: a size is not a positive number.
    """
    axes = grid if isinstance(grid, tuple | list) else (grid,)
    sizes = tuple(int(size) for size in axes)
    if any(size < 1 for size in sizes):
        raise NkiError(f"the grid {sizes} has a size below 1; give positive sizes")
    return sizes


def bound_arguments(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call by parameter name, with defaults.

    Raises:
        TypeError: the arguments do not fit the kernel's parameters.
    """
    signature = inspect.signature(function)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def execute(
    kernel: Kernel,
    grid: tuple[int, ...],
    bound: dict[str, Any],
    on_outcome: Callable[[Outcome], None] = lambda _: None,
) -> Outcome:
    """Run all programs of a grid on NumPy, and return the launch's outcome.

    Programs run one after the other. `on_outcome` is called with the outcome, also if the kernel
    raises.

    Raises:
        NkiError: the kernel uses something that NKI does not have; the message ends with the line.
    """
    target = target_named(kernel.target)
    recorder = Recorder(_call.__code__)
    run = Run(target, Tile, kernel.interface, grid, recorder)
    arrays = arguments.LaunchArrays(run)
    inputs = {name: arrays.kernel_argument(name, value) for name, value in bound.items()}
    args, kwargs = _call_arguments(kernel.function, inputs)
    set_current(run)
    try:
        # Masked-off lanes hold NaN, and products are many and small.
        with np.errstate(all="ignore"), ONE_THREAD, bare_names():
            results = []
            for program in range(run.programs):
                run.begin_program(program)
                results.append(_call(kernel.function, args, kwargs))
    except NkiError as error:
        error_with_line = _with_line(error, recorder, kernel)
        on_outcome(Outcome(kernel, run.grid, target, None, recorder, bound, str(error_with_line)))
        raise error_with_line from None
    except Exception as error:
        error_text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        on_outcome(Outcome(kernel, run.grid, target, None, recorder, bound, error_text))
        raise
    finally:
        set_current(None)
    arrays.copy_back()
    capacity.find_overflows(run)
    _find_unwritten(recorder, results[0])
    outcome = Outcome(kernel, run.grid, target, arrays.result_arrays(results[0]), recorder, bound)
    outcome.written = arrays.written_arrays()
    on_outcome(outcome)
    return outcome


def _find_unwritten(recorder: Recorder, result: Any) -> None:
    for tensor in result if isinstance(result, tuple | list) else (result,):
        if not isinstance(tensor, Tensor) or tensor.memory.written_elements is None:
            continue
        written = tensor.per_element(tensor.memory.written_elements)
        count = int(np.count_nonzero(~written))
        if count:
            life = tensor.memory.life
            name = life.name or "a tensor"
            message = (
                f"{count:,} of {tensor.size:,} elements of the result {name!r} were never written"
            )
            recorder.add_finding(Finding(UNWRITTEN_RESULT, life.site, message, lanes=count))


def _call(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return the kernel's result. Recorded stacks end above this function's frame."""
    return function(*args, **kwargs)


def _call_arguments(
    function: Callable[..., Any], inputs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
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


def _with_line(error: NkiError, recorder: Recorder, kernel: Kernel) -> NkiError:
    innermost = recorder.raised_at(error)
    location = "" if innermost is None else f" ({innermost.file}:{innermost.line})"
    return NkiError(f"kernel {kernel.__name__}: {error}{location}")


def _warn_of_findings(outcome: Outcome | None) -> None:
    if outcome is None:
        return
    for finding in outcome.recorder.findings:
        frames = outcome.recorder.sites[finding.site].frames
        location = f" ({frames[0].file}:{frames[0].line})" if frames else ""
        warnings.warn(f"{finding.rule}: {finding.message}{location}", NkiWarning, stacklevel=3)
