"""The decorator `trace`, which makes a function of arrays run as a graph for each signature.

Array arguments become tensors; dicts, lists and tuples are searched for arrays; all other values
are constants of the trace, and part of the signature.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np

from kvtrace.addons.graphs.hlo import families
from kvtrace.addons.graphs.hlo.annotations import TensorAnnotation, annotations_of
from kvtrace.addons.graphs.hlo.builder import Builder, tracing
from kvtrace.addons.graphs.hlo.dtypes import INSTEAD, TARGETS, Dtype, native
from kvtrace.addons.graphs.hlo.errors import BadArgument, DtypeNotOnTarget, SignatureMismatch
from kvtrace.addons.graphs.hlo.graph import Graph
from kvtrace.addons.graphs.hlo.primitives import lift
from kvtrace.addons.graphs.hlo.run import Leaf, run
from kvtrace.addons.graphs.hlo.wrapper import Tensor

__all__ = ["Call", "TracedFunction", "families", "listeners", "trace"]


class Listener(Protocol):
    """An observer of every call of a traced function, such as a recording."""

    def called(self, function: TracedFunction, call: Call) -> None:
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


# -- arguments and results as leaves ---------------------------------------------------------------


@dataclass(slots=True)
class Arguments:
    """Arguments of a call: the arrays with their names, and the key of this signature.

    `kept_alive` has the objects that are in the key by their id.
    """

    names: list[str] = field(default_factory=list)
    arrays: list[Any] = field(default_factory=list)
    key: list[Any] = field(default_factory=list)
    kept_alive: list[Any] = field(default_factory=list)

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


def collect(value: Any, name: str, arguments: Arguments) -> None:
    """Append an argument's arrays (also in containers), their names and its key to `arguments`."""
    signature_key = arguments.key
    if is_array(value):
        if isinstance(value, TensorAnnotation):
            _check_spec(value, name)
        elif not isinstance(value, np.ndarray):
            value = np.asarray(value)
        arguments.names.append(name)
        arguments.arrays.append(value)
        signature_key.append((tuple(value.shape), native(value.dtype)))
    elif isinstance(value, dict):
        signature_key.append(("dict", tuple(value)))
        for entry_name, item in value.items():
            collect(item, f"{name}.{entry_name}", arguments)
    elif isinstance(value, tuple | list):
        signature_key.append((type(value), len(value)))
        entry_names = getattr(value, "_fields", range(len(value)))
        for entry_name, item in zip(entry_names, value, strict=True):
            collect(item, f"{name}.{entry_name}", arguments)
    else:
        signature_key.append(_constant_key(value, arguments.kept_alive))


def _constant_key(value: Any, kept_alive: list[Any]) -> Any:
    if isinstance(value, float):  # `repr` differs for signed zeros, and is equal for NaN
        return (type(value), repr(value))
    try:
        hash(value)
    except TypeError:
        kept_alive.append(value)
        return (type(value), id(value))
    return (type(value), value)


def _check_spec(spec: TensorAnnotation, name: str) -> None:
    whole = spec.shape is not None and all(isinstance(n, int) and n >= 0 for n in spec.shape)
    if spec.dtype is None or not whole:
        raise SignatureMismatch.here(
            f"the argument {name} is given as an annotation without an element type or with "
            "extents that are not numbers from 0 on; write them all, as tensor[float32, (8, 4)]"
        )


def with_tensors(value: Any, tensors: Iterator[Tensor]) -> Any:
    """Return an argument with each of its arrays replaced by the next tensor."""
    if is_array(value):
        return next(tensors)
    if isinstance(value, dict):
        return {entry_name: with_tensors(item, tensors) for entry_name, item in value.items()}
    if isinstance(value, tuple | list):
        items = [with_tensors(item, tensors) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def returned_leaves(value: Any, name: str | None, leaves: list[tuple[str | None, Any]]) -> Any:
    """Append the tensors and arrays in a result to `leaves`, with names; return the structure.

    In the structure, a `Leaf` with the number in `leaves` replaces each tensor and array.
    """
    if isinstance(value, Tensor | np.ndarray):
        leaves.append((name, value))
        return Leaf(len(leaves) - 1)
    if isinstance(value, dict):
        return {
            key: returned_leaves(item, str(key) if name is None else f"{name}.{key}", leaves)
            for key, item in value.items()
        }
    if isinstance(value, tuple | list):
        entry_names = getattr(value, "_fields", range(len(value)))
        items = [
            returned_leaves(item, None if name is None else f"{name}.{entry}", leaves)
            for entry, item in zip(entry_names, value, strict=True)
        ]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def returned_names(function: Callable[..., Any]) -> Sequence[str | None] | str | None:
    """Return the names of the variables that a function returns: one, or one per tuple element.

    A name is None where `return` statements differ, or where the value is no variable. Without
    source code, or without a `return` of a value, None is returned.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    body = tree.body[0] if tree.body else None
    if not isinstance(body, ast.FunctionDef):
        return None
    names_of_returns = [
        _names(node.value) for node in _returns(body.body) if node.value is not None
    ]
    if not names_of_returns or any(
        type(names) is not type(names_of_returns[0]) for names in names_of_returns
    ):
        return None
    if not isinstance(names_of_returns[0], list):
        return (
            names_of_returns[0]
            if all(name == names_of_returns[0] for name in names_of_returns)
            else None
        )
    if any(len(names or ()) != len(names_of_returns[0]) for names in names_of_returns):
        return None
    columns = zip(*(names for names in names_of_returns if isinstance(names, list)), strict=True)
    return [column[0] if len(set(column)) == 1 else None for column in columns]


def _returns(statements: Sequence[ast.stmt]) -> Iterator[ast.Return]:
    for statement in statements:
        if isinstance(statement, ast.Return):
            yield statement
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for _, value in ast.iter_fields(statement):
                if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                    yield from _returns(value)


def _names(value: ast.expr) -> list[str | None] | str | None:
    if isinstance(value, ast.Tuple | ast.List):
        return [_name(item) for item in value.elts]
    return _name(value)


def _name(value: ast.expr) -> str | None:
    if isinstance(value, ast.Name):
        return value.id
    return value.attr if isinstance(value, ast.Attribute) else None
