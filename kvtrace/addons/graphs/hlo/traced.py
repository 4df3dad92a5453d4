"""The decorator `trace`, which makes a function of arrays run as a graph for each signature."""

import functools
import inspect
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from kvtrace.addons.graphs.hlo import families
from kvtrace.addons.graphs.hlo.annotations import TensorAnnotation, annotations_of
from kvtrace.addons.graphs.hlo.builder import Builder, tracing
from kvtrace.addons.graphs.hlo.dtypes import INSTEAD, TARGETS
from kvtrace.addons.graphs.hlo.errors import BadArgument, DtypeNotOnTarget, SignatureMismatch
from kvtrace.addons.graphs.hlo.graph import Graph
from kvtrace.addons.graphs.hlo.primitives import lift
from kvtrace.addons.graphs.hlo.run import run
from kvtrace.addons.graphs.hlo.signature import (
    Arguments,
    collect,
    returned_leaves,
    returned_names,
    with_tensors,
)
from kvtrace.addons.graphs.hlo.wrapper import Tensor

__all__ = ["Call", "TracedFunction", "families", "listeners", "trace"]


class Listener(Protocol):
    """An observer of every call of a traced function, such as a recording."""

    def called(self, function: "TracedFunction", call: "Call") -> None:
        """Process a call that has just ended."""


#: The observers of calls.
listeners: Final[list[Listener]] = []


class Call:
    """One call of a traced function: its graph, its arrays, and when it began and ended (ns)."""

    __slots__ = ("arrays", "enter", "graph", "leave")

    def __init__(self, graph: Graph, arrays: Sequence[Any], enter: int, leave: int) -> None:
        self.graph = graph
        self.arrays = arrays
        self.enter = enter
        self.leave = leave


def trace(
    function: Callable[..., Any] | None = None,
    *,
    target: str = "xla",
    outputs: Sequence[str] | str | None = None,
    name: str | None = None,
    backend: str = "hlo",
) -> Any:
    """Return a function that runs a NumPy function as a graph.

        @trace
        def scale(x, factor):
            y = x * factor
            return y

        scale(np.ones((2, 3), np.float32), 2.0)                 # traced for this signature, and run
        graph = scale.specialize(tensor[float32, (2, 3)], 2.0)  # only traced

    Args:
        function: The function to trace; without, `trace` is a decorator with arguments.
        target: The target, which limits element types; one of `kvtrace.hlo.dtypes.TARGETS`.
        outputs: Names of the results; by default, the names of the returned variables.
        name: The graph's name; by default, the function's.
        backend: `hlo`, the only backend.

    Raises:
        BadArgument: No target or backend has that name, or the value is not a function.

    """
    if target not in TARGETS:
        raise BadArgument(f"there is no target {target!r}; choose one of {', '.join(TARGETS)}.")
    if backend != "hlo":
        raise BadArgument(f"there is no backend {backend!r}; the only one is hlo.")
    if function is not None and not callable(function):
        raise BadArgument.here(
            f"trace needs a function, not {function!r}; write trace(f), or @trace above it"
        )
    output_names = (outputs,) if isinstance(outputs, str) else outputs
    if function is None:
        return lambda decorated: TracedFunction(decorated, target, output_names, name)
    return TracedFunction(function, target, output_names, name)


class TracedFunction:
    """A function that is traced once for each signature, and then runs as a graph.

    A call during another function's trace is traced into that function's graph.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        target: str = "xla",
        outputs: Sequence[str] | None = None,
        name: str | None = None,
        observed: bool = True,
    ) -> None:
        self.function = function
        self.target = target
        self.name = str(name or getattr(function, "__name__", "graph"))
        self._outputs = None if outputs is None else tuple(outputs)
        self._observed = observed
        self._signature = inspect.signature(function)
        self._graphs: dict[Any, tuple[Graph, list[Any]]] = {}
        functools.update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<traced function {self.name}, {len(self._graphs)} graphs>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function as a graph: write into arrays that it changes, and return its result.

        Raises:
            GraphError: it cannot be traced; the text names the line.

        """
        if tracing():
            return self.function(*args, **kwargs)
        enter = time.time_ns()
        bound, arguments = self._bind(args, kwargs)
        graph = self._graph(bound, arguments)
        result = run(graph, arguments.arrays)
        if listeners and self._observed:
            call = Call(graph, arguments.arrays, enter, time.time_ns())
            for listener in tuple(listeners):
                listener.called(self, call)
        return result

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The graphs traced so far, one for each signature."""
        return tuple(graph for graph, _ in self._graphs.values())

    def specialize(self, *args: Any, **kwargs: Any) -> Graph:
        """Return the graph for arguments like these (arrays, annotations, constants), not run.

        Raises:
            GraphError: it cannot be traced; the text names the line.

        """
        return self._graph(*self._bind(args, kwargs))

    def _bind(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[inspect.BoundArguments, Arguments]:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            expected = ", ".join(self._signature.parameters)
            raise SignatureMismatch.here(
                f"the arguments of a call of {self.name} do not fit ({error}); "
                f"its parameters are ({expected})"
            ) from None
        bound.apply_defaults()
        arguments = Arguments()
        for name, value in bound.arguments.items():
            parameter_kind = self._signature.parameters[name].kind
            if parameter_kind is inspect.Parameter.VAR_KEYWORD:
                for key, item in value.items():
                    collect(item, key, arguments)
                arguments.key.append(tuple(value))
            else:
                collect(value, name, arguments)
        return bound, arguments

    def _graph(self, bound: inspect.BoundArguments, arguments: Arguments) -> Graph:
        key = tuple(arguments.key)
        entry = self._graphs.get(key)
        if entry is None:
            entry = self._graphs[key] = (
                self._traced_graph(bound, arguments),
                arguments.kept_alive,
            )
        return entry[0]

    def _traced_graph(self, bound: inspect.BoundArguments, arguments: Arguments) -> Graph:
        builder = Builder(self.name, self.target, root=sys._getframe())
        annotations = annotations_of(self.function)
        extents: dict[Any, int] = {}
        code = getattr(self.function, "__code__", None)
        definition = () if code is None else ((code, 0),)
        try:
            with builder.active():
                parameters = []
                for name, shape, dtype in arguments.leaves():
                    self._check_input(annotations.get(name), name, shape, dtype, extents)
                    parameter = builder.parameter(name, shape, dtype, definition)
                    parameter._write_refusal = _write_refusal(annotations.get(name), name)
                    parameters.append(parameter)
                tensors = iter(parameters)
                for name, value in bound.arguments.items():
                    bound.arguments[name] = with_tensors(value, tensors)
                returned = self.function(*bound.args, **bound.kwargs)
                return self._finished_graph(builder, parameters, arguments.names, returned)
        finally:
            builder.root = None  # a frame keeps all variables of its function alive

    def _check_input(
        self,
        annotation: TensorAnnotation | None,
        name: str,
        shape: tuple[int, ...],
        dtype: Any,
        extents: dict[Any, int],
    ) -> None:
        if annotation is not None:
            annotation.check(name, shape, dtype, extents)
        if dtype not in TARGETS[self.target]:
            instead = INSTEAD.get(dtype.name, "another element type")
            raise DtypeNotOnTarget.here(
                f"the argument {name} of {self.name} is {dtype.name}, which the target "
                f"{self.target} does not have; pass it as {instead}"
            )

    def _finished_graph(
        self, builder: Builder, parameters: list[Tensor], names: list[str], returned: Any
    ) -> Graph:
        leaves: list[tuple[str | None, Any]] = []
        structure = self._structure(returned, leaves)
        names_used: set[str] = set()
        mutated = {id(p): name for p, name in zip(parameters, names, strict=True) if p._version}
        named_outputs: list[tuple[str, Tensor, str | None]] = []
        for position, (name, value) in enumerate(leaves):
            given_name = self._outputs[position] if self._outputs is not None else name
            default_name = "output" if len(leaves) == 1 else f"output{position}"
            aliased = mutated.pop(id(value), None)
            named_outputs.append(
                (
                    _unused_name(given_name or aliased or default_name, names_used),
                    lift(value),
                    aliased,
                )
            )
        for parameter in parameters:
            name = mutated.pop(id(parameter), None)
            if name is not None:
                named_outputs.append((_unused_name(name, names_used), parameter, name))
        return builder.finish(named_outputs, structure)

    def _structure(self, returned: Any, leaves: list[tuple[str | None, Any]]) -> Any:
        names = None if self._outputs is not None else returned_names(self.function)
        is_sequence = isinstance(returned, tuple | list) and not hasattr(returned, "_fields")
        if is_sequence and isinstance(names, list | tuple) and len(names) == len(returned):
            items = [
                returned_leaves(item, name, leaves)
                for item, name in zip(returned, names, strict=True)
            ]
            structure: Any = type(returned)(items)
        else:
            single_name = (
                names if isinstance(names, str) and not isinstance(returned, dict) else None
            )
            structure = returned_leaves(returned, single_name, leaves)
        if self._outputs is not None and len(self._outputs) != len(leaves):
            raise SignatureMismatch(
                f"{self.name} returns {len(leaves)} tensors, but {len(self._outputs)} names are "
                "given for them; give one for each."
            )
        return structure


def _write_refusal(annotation: TensorAnnotation | None, name: str) -> str | None:
    if annotation is None or annotation.mutable:
        return None
    return (
        f"the parameter {name} is written to, and annotated without mutable; "
        "write tensor[mutable, …], or work on a copy()"
    )


def _unused_name(name: str, names_used: set[str]) -> str:
    candidate, suffix = name, 0
    while candidate in names_used:
        suffix += 1
        candidate = f"{name}_{suffix}"
    names_used.add(candidate)
    return candidate
