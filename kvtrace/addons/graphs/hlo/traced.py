"""The decorator `trace`, which makes a function of arrays run as a graph for each signature.

Array arguments become tensors; dicts, lists and tuples are searched for arrays; all other values
are constants of the trace, and part of the signature.
"""

from __future__ import annotations

import functools
import inspect
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

import numpy as np
from msgspec import Struct

from kvtrace.addons.graphs.hlo import families
from kvtrace.addons.graphs.hlo.annotations import TensorAnnotation, annotations_of
from kvtrace.addons.graphs.hlo.builder import Builder, tracing
from kvtrace.addons.graphs.hlo.dtypes import INSTEAD, TARGETS, Dtype, native
from kvtrace.addons.graphs.hlo.errors import BadArgument, DtypeNotOnTarget, SignatureMismatch
from kvtrace.addons.graphs.hlo.graph import Graph
from kvtrace.addons.graphs.hlo.primitives import lift
from kvtrace.addons.graphs.hlo.run import run
from kvtrace.addons.graphs.hlo.structures import Leaf, flattened, structured
from kvtrace.addons.graphs.hlo.wrapper import Tensor

__all__ = ["Call", "TracedFunction", "families", "listeners", "trace"]


class Listener(Protocol):
    """An observer of every call of a traced function, such as a recording."""

    def called(self, function: TracedFunction, call: Call) -> None:
        """Process a call that has just ended."""


#: The observers of calls.
listeners: Final[list[Listener]] = []


class Call(Struct):
    """One call of a traced function: its graph, its arrays, and when it began and ended (ns)."""

    graph: Graph
    arrays: Sequence[Any]
    enter: int
    leave: int


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
        outputs: Names of the results; by default, the keys of a returned dict, or `output0` …
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
        keywords = next(
            (p.name for p in self._signature.parameters.values() if p.kind is p.VAR_KEYWORD), None
        )
        return bound, Arguments.of(bound.arguments, keywords)

    def _graph(self, bound: inspect.BoundArguments, arguments: Arguments) -> Graph:
        entry = self._graphs.get(arguments.key)
        if entry is None:
            graph = self._traced_graph(bound, arguments)
            entry = self._graphs[arguments.key] = (graph, arguments.kept_alive)
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
                for name, structure in arguments.structures.items():
                    bound.arguments[name] = structured(structure, parameters)
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
        structure = flattened(returned, _is_result, leaves)
        if self._outputs is not None and len(self._outputs) != len(leaves):
            raise SignatureMismatch(
                f"{self.name} returns {len(leaves)} tensors, but {len(self._outputs)} names are "
                "given for them; give one for each."
            )
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


def _is_result(value: Any) -> bool:
    return isinstance(value, Tensor | np.ndarray)


# -- arguments -------------------------------------------------------------------------------------


class Arguments(Struct):
    """Arguments of a call: structures by parameter, the arrays with their names, and the key.

    `kept_alive` has the objects that are in the key by their id.
    """

    structures: dict[str, Any] = {}
    names: list[str] = []
    arrays: list[Any] = []
    key: tuple[Any, ...] = ()
    kept_alive: list[Any] = []

    @classmethod
    def of(cls, values: dict[str, Any], keywords: str | None) -> Arguments:
        """Return the arguments of values by parameter; `keywords` is the name of `**keywords`."""
        arguments = cls()
        leaves: list[tuple[str | None, Any]] = []
        for name, value in values.items():
            path = None if name == keywords else name
            arguments.structures[name] = flattened(value, is_array, leaves, path)
        for path, array in leaves:
            if isinstance(array, TensorAnnotation):
                _check_spec(array, str(path))
            elif not isinstance(array, np.ndarray):
                array = np.asarray(array)
            arguments.names.append(str(path))
            arguments.arrays.append(array)
        types = tuple((shape, dtype) for _, shape, dtype in arguments.leaves())
        arguments.key = (types, _key(arguments.structures, arguments.kept_alive))
        return arguments

    def leaves(self) -> Iterator[tuple[str, tuple[int, ...], Dtype]]:
        """Yield name, shape and element type of each array."""
        for name, array in zip(self.names, self.arrays, strict=True):
            yield name, tuple(array.shape), native(np.dtype(array.dtype))


def is_array(argument: Any) -> bool:
    """Return whether an argument becomes a tensor: it has a shape and a type, and is no scalar."""
    if isinstance(argument, np.generic):
        return False
    return isinstance(argument, np.ndarray | TensorAnnotation) or (
        hasattr(argument, "shape") and hasattr(argument, "dtype") and not isinstance(argument, type)
    )


def _key(structure: Any, kept_alive: list[Any]) -> Any:
    """Return what makes a structure with its constants equal to that of another call."""
    if isinstance(structure, Leaf):
        return Leaf
    if isinstance(structure, dict):
        items = tuple(_key(value, kept_alive) for value in structure.values())
        return (dict, tuple(structure), items)
    if isinstance(structure, tuple | list):
        return (type(structure), *(_key(value, kept_alive) for value in structure))
    if isinstance(structure, float):  # `repr` differs for signed zeros, and is equal for NaN
        return (type(structure), repr(structure))
    try:
        hash(structure)
    except TypeError:
        kept_alive.append(structure)
        return (type(structure), id(structure))
    return (type(structure), structure)


def _check_spec(spec: TensorAnnotation, name: str) -> None:
    whole = spec.shape is not None and all(isinstance(n, int) and n >= 0 for n in spec.shape)
    if spec.dtype is None or not whole:
        raise SignatureMismatch.here(
            f"the argument {name} is given as an annotation without an element type or with "
            "extents that are not numbers from 0 on; write them all, as tensor[float32, (8, 4)]"
        )
