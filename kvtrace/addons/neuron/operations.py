"""Registration of ops. One function says what an op means; this file makes all else of it.

    @operation("nisa.tensor_tensor", engine="vector", kind="elementwise")
    def tensor_tensor(issue, data1, data2, op, *, dtype=None, mask=None):
        left, right = issue.read(data1), issue.read(data2)
        …
        return issue.result(values, dtype, left, right, mask=mask)

`tensor_tensor.older(data1, …)` then gives a new tile, as the older interface has it, and
`tensor_tensor.newer(dst, data1, …)` writes one, as the newer one. Reads, writes, their bytes, what
is defined, bounds, and the record of the execution come from `issue.read` and `issue.result`;
limits are reported with `issue.find`, operations with `issue.flops`.
"""

import inspect
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.neuron import access, dtypes
from kvtrace.addons.neuron.access import Values
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import MEMORY_SPACE, Finding
from kvtrace.addons.neuron.indices import lanes_of
from kvtrace.addons.neuron.machine import Run, current
from kvtrace.addons.neuron.memory import GARBAGE, Space
from kvtrace.addons.neuron.recorder import Execution
from kvtrace.addons.neuron.refusals import REFUSALS, Call
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import Token

Engine = Literal["tensor", "vector", "scalar", "gpsimd", "dma", "none"]

ENGINES: Final = ("tensor", "vector", "scalar", "gpsimd", "dma")

#: Every registered op by its name.
OPERATIONS: Final[dict[str, "Operation"]] = {}


_NO_PLACES: Final = np.empty(0, np.int64)

#: Represents states that the operands' go over to.
_SPREAD: Final = object()


class Result:
    """What an op's function gives: values, their states (None: all defined), type and space."""

    __slots__ = ("dtype", "flat", "mask", "placed_later", "space", "states", "values")

    def __init__(
        self,
        values: NDArray[Any],
        states: NDArray[np.uint8] | None,
        dtype: np.dtype[Any],
        space: Space,
        mask: NDArray[np.bool_] | None,
    ) -> None:
        self.values = values
        self.states = states
        self.dtype = dtype
        self.space: Space = space
        self.mask = mask
        #: Whether a compiler chooses the engine that makes it, and so where it lies.
        self.placed_later = False
        #: Whether it has one dimension for the program, and a second here.
        self.flat = False


class Issue:
    """One execution of an op: reads its operands, takes its result, and keeps the record."""

    __slots__ = (
        "chip_bytes",
        "combines",
        "destination",
        "device_bytes",
        "dtype",
        "engine",
        "flops",
        "further",
        "masked_off",
        "named_engine",
        "operation",
        "order",
        "places",
        "readers",
        "reduces",
        "run",
        "site",
    )

    def __init__(self, operation: "Operation", run: Run, destination: Tensor | None) -> None:
        self.operation = operation
        self.run = run
        #: Where the newer interface wants the result; None where a new tile is given.
        self.destination = destination
        self.engine: Engine = operation.engine
        #: Whether the program named the engine: a compiler chooses one that reaches the operands.
        self.named_engine = False
        #: What combines the result with what the destination held, if the op does nothing else
        #: with that; the op's function sets it.
        self.combines: Token | None = None
        #: Whether it adds to what another iteration of a parallel loop has left.
        self.reduces = False
        #: Floating-point operations; the op's function sets it.
        self.flops = 0
        self.masked_off = 0
        self.device_bytes = 0
        self.chip_bytes = 0
        self.readers: list[int] = []
        #: Results beside the first, and where they go.
        self.further: list[tuple[Tensor, Result]] = []
        #: Elements of the memory that the last access through a selection touched.
        self.places: NDArray[np.int64] = _NO_PLACES
        #: Element type of what the op is about: of its result, if the op's function sets no other.
        self.dtype: np.dtype[Any] | None = None
        self.order = run.recorder.count
        if run.held:
            run.let_go()
        self.site = run.recorder.site(
            operation.name, operation.engine, operation.kind, run.loop_number
        )

    # -- operands ---------------------------------------------------------------------------

    def read(self, operand: Any, mask: Any = None, *, device: bool = False) -> Values:
        """Return the values of a tensor, or of a number, which has no dimensions.

        A tile of one dimension is a column: (partitions, 1). Elements outside of the tensor that
        `mask` lets through are a finding, and garbage. `device`: the op reads device memory; else
        a tensor there is a finding.
        """
        if not isinstance(operand, Tensor):
            return access.number(operand)
        if not device and operand.memory.space == "hbm":
            self.find(
                MEMORY_SPACE,
                f"{self.operation.name} reads a tensor in device memory; load it into SBUF first",
            )
        return access.read(self, operand, None if mask is None else lanes_of(mask))

    def find(self, rule: str, message: str, **facts: Any) -> None:
        """Report that a rule is violated here; the run continues."""
        self.run.find(self.finding(rule, message, **facts))

    def finding(self, rule: str, message: str, **facts: Any) -> Finding:
        """Make a finding of this op in this iteration and program."""
        loops = self.run.loops
        iteration = loops[-1].trip if loops else None
        program = self.run.program
        return Finding(rule, self.site, message, program=program, iteration=iteration, **facts)

    def runs_on(self, engine: Any) -> None:
        """Take the engine that the program asks for, if it asks for one."""
        name = getattr(engine, "name", None)
        if name in ENGINES:
            self.engine = name
            self.named_engine = True
            self._at_site(self.operation.kind)

    def moves(self, source: Tensor, destination: Tensor) -> None:
        """Count a copy as a load or a store, by the memories that it goes between."""
        spaces = (source.on_chip, destination.on_chip)
        self._at_site({(False, True): "load", (True, False): "store"}.get(spaces, "other"))

    def _at_site(self, kind: str) -> None:
        run = self.run
        self.site = run.recorder.site(self.operation.name, self.engine, kind, run.loop_number)

    # -- results ----------------------------------------------------------------------------

    def result(
        self,
        values: NDArray[Any],
        dtype: Any,
        *operands: Values,
        space: Space = "sbuf",
        mask: Any = None,
        states: Any = _SPREAD,
    ) -> Result:
        """Make the result. Without a `dtype`, it has that of the first operand.

        States of `operands` that can be broadcast to the result go over to it, unless the op has
        worked out its `states` itself (None: all defined). Lanes that `mask` leaves out are
        garbage.
        """
        given = operands[0].dtype if dtype is None and operands else dtypes.as_dtype(dtype)
        if states is _SPREAD:
            states = access.least(values.shape, operands)
        lanes = None if mask is None else lanes_of(mask)
        return Result(values, states, given, space, lanes)

    def also(self, destination: Tensor, result: Result) -> None:
        """Write a second result, once the first is written: it may lie inside of that."""
        self.further.append((destination, result))

    def finish(self, result: Result | None) -> Tensor | None:
        """Write the results, where there are any, and keep the record."""
        if result is None:
            self._write_further()
            self._keep(0, -1, 0)
            return None
        site = self.run.recorder.sites[self.site]
        if not site.dtype:
            site.dtype = dtypes.short_name(result.dtype if self.dtype is None else self.dtype)
        if self.destination is not None:
            access.write(self, self.destination, result)
            target = self.destination
            written = (target.size - self.masked_off) * target.itemsize
            self._write_further()
            self._keep(target.size, target.memory.number, written)
            return self.destination
        tile = self._tile(result)
        self._write_further()
        self._keep(tile.size, tile.memory.number, tile.size * tile.itemsize)
        tile.memory.fresh = self.order
        return tile

    def _write_further(self) -> None:
        for destination, result in self.further:
            access.write(self, destination, result)

    def _tile(self, result: Result) -> Tensor:
        """Make a tile of the result; it keeps at least two dimensions."""
        values = dtypes.rounded(result.values, result.dtype)
        states = result.states
        shape = values.shape
        if len(shape) < 2:
            shape = (values.size, 1) if shape else (1, 1)
        made = None
        if result.mask is not None and not result.mask.all():
            made = np.broadcast_to(result.mask, values.shape)
            off = ~made
            values = np.where(off, dtypes.poison(result.dtype), values).astype(result.dtype)
            given = np.full(values.shape, 2, np.uint8) if states is None else states
            states = np.where(off, np.minimum(given, GARBAGE), given).astype(np.uint8)
            self.masked_off = max(self.masked_off, int(off.sum()))
        raw = _own(values).reshape(-1).view(np.uint8)
        memory = self.run.allocate(result.space, shape, result.dtype, raw=raw, site=self.site)
        if memory.unrounded is not None:
            lanes = np.True_ if made is None else made.reshape(-1)
            np.copyto(memory.unrounded, result.values.reshape(-1), where=lanes, casting="unsafe")
        if states is not None:
            memory.states = _own(states).reshape(-1)
        memory.placed_later = result.placed_later
        memory.flat = result.flat
        memory.lanes = None if made is None else np.ascontiguousarray(made).reshape(-1)
        memory.life.first = memory.life.last = self.order
        self.chip_bytes += raw.size
        return self.run.tensor(memory)

    def _keep(self, elements: int, written: int, nbytes: int) -> None:
        self.run.recorder.execute(
            Execution(
                self.site,
                self.run.program,
                elements,
                self.masked_off,
                self.device_bytes,
                self.chip_bytes,
                self.flops,
                written,
                nbytes,
                tuple(self.readers),
                self.run.serial,
            )
        )

    def refuse(self, operands: dict[str, Any]) -> bool:
        """Say what the instruction refuses of its operands, which have their names.

        Gives whether it refuses nothing.
        """
        operation = self.operation
        operands.setdefault("dst", self.destination)
        operands["target"] = self.run.target
        call = Call(operands)
        broken = [refusal for refusal in operation.refusals if not refusal.holds(call)]
        for refusal in broken:
            self.find(refusal.rule, refusal.message(operation.name, call))
        return not broken

    # -- limits -----------------------------------------------------------------------------

    def limit(self, size: int, most: int, rule: str, what: str) -> None:
        """Say that a size is above its limit, if it is."""
        if size > most:
            self.find(rule, f"{what} is {size}, the limit is {most}")


def _own(values: NDArray[Any]) -> NDArray[Any]:
    """Return values that nothing else holds: what an op gives may be an operand's own elements."""
    if values.flags.owndata and values.flags.c_contiguous and values.flags.writeable:
        return values
    return np.array(values, order="C")


class Quiet(Issue):
    """Access on behalf of the op that ran last, whose record is there already."""

    def __init__(self, operation: "Operation", run: Run) -> None:
        super().__init__(operation, run, None)
        self.order = max(run.recorder.count - 1, 0)


def _trait(operand: Any) -> Any:
    """Return what refusals may ask of an operand, as something that can be compared."""
    if not isinstance(operand, Tensor):
        return operand
    memory = operand.memory
    return operand.shape, operand.dtype, memory.space, memory.placed_later, memory.shared


Function = Callable[..., Result | None]


class Operation:
    """A registered op: its name, engine and kind, and how both interfaces call it."""

    def __init__(self, name: str, engine: Engine, kind: str, function: Function) -> None:
        self.name = name
        self.engine: Engine = engine
        #: load, store, dot, reduce, scan, elementwise or other, as the column `ops.kind` has it.
        self.kind = kind
        self.function = function
        self.refusals = REFUSALS.get(name, [])
        #: Whether its engine reaches no device memory. The tensor engine defines this itself.
        self._stays_on_chip = engine in ("vector", "scalar", "gpsimd")
        self._by_place = any(refusal.by_place for refusal in self.refusals)
        _, *parameters = inspect.signature(function).parameters.values()
        self._names = tuple(each.name for each in parameters)
        self._defaults = {
            each.name: each.default for each in parameters if each.default is not Parameter.empty
        }
        self.older = self._named(self._older(), Signature(parameters))
        signature = _writing(parameters)
        self.newer = self._named(self._newer(signature), signature)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Execute the op, and give a new tile."""
        return self.older(*args, **kwargs)

    def into(self, destination: Tensor | None, *args: Any, **kwargs: Any) -> Any:
        """Execute the op, and write its result to `destination`; without one, to a new tile."""
        return self._execute(destination, args, kwargs)

    def _execute(
        self, destination: Tensor | None, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        issue = Issue(self, current(), destination)
        result = self.function(issue, *args, **kwargs)
        if destination is not None and destination.memory.space == "hbm" and self._stays_on_chip:
            issue.find(
                MEMORY_SPACE,
                f"{self.name} writes to a tensor in device memory; store it with nisa.dma_copy",
            )
        if self.refusals:
            self._refuse(issue, args, kwargs)
        return issue.finish(result)

    def _refuse(self, issue: Issue, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Look at the operands, except for such as an earlier call of the run has had."""
        key = (self, _trait(issue.destination), *[_trait(each) for each in args])
        if kwargs:
            key += (*kwargs, *[_trait(each) for each in kwargs.values()])
        accepted = issue.run.accepted
        try:
            if key in accepted and not self._by_place:
                return
        except TypeError:  # a list among the operands
            key = ()
        named = dict(zip(self._names, args, strict=False))
        if issue.refuse({**self._defaults, **named, **kwargs}) and key:
            accepted.add(key)

    def _older(self) -> Callable[..., Any]:
        unnamed = "name" not in self._names

        def run(*args: Any, **kwargs: Any) -> Any:
            if unnamed:
                kwargs.pop("name", None)
            return self._execute(None, args, kwargs)

        return run

    def _newer(self, signature: Signature) -> Callable[..., Any]:
        operands = [name for name in signature.parameters if name not in ("dst", "name")]

        def run(dst: Any, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)
            if not isinstance(dst, Tensor):
                raise NkiError(f"dst of {self.name} is {type(dst).__name__}, not a tensor")
            if kwargs.get("mask") is not None:
                raise NkiError(f"{self.name} of this interface has no mask; slice its operands")
            if len(args) > len(operands):
                raise NkiError(
                    f"{self.name} takes dst and {len(operands)} operands, not {len(args)}"
                )
            named = dict(zip(operands, args, strict=False))
            if named.keys() & kwargs.keys():
                twice = ", ".join(named.keys() & kwargs.keys())
                raise NkiError(f"{self.name} is given {twice} twice")
            self._execute(dst, (), named | kwargs)

        return run

    def _named(self, run: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
        run.__name__ = run.__qualname__ = self.name.rpartition(".")[2]
        run.__doc__ = self.function.__doc__
        run.__wrapped__ = self.function  # type: ignore[attr-defined]
        run.__signature__ = signature  # type: ignore[attr-defined]
        return run


def _writing(parameters: list[Parameter]) -> Signature:
    """Return the newer interface's signature: `dst` first, any by position, no dtype or mask."""
    if any(each.kind is Parameter.VAR_POSITIONAL for each in parameters):
        return Signature(parameters)  # a token, which writes to no dst
    kept = [
        each.replace(kind=Parameter.POSITIONAL_OR_KEYWORD)
        for each in parameters
        if each.name not in ("dst", "name")
        and (each.kind is not Parameter.KEYWORD_ONLY or each.name not in ("dtype", "mask"))
    ]
    first = Parameter("dst", Parameter.POSITIONAL_OR_KEYWORD)
    last = Parameter("name", Parameter.POSITIONAL_OR_KEYWORD, default=None)
    return Signature([first, *kept, last])


def operation(name: str, *, engine: Engine, kind: str) -> Callable[[Function], Operation]:
    """Register a function as the meaning of an op; see the top of this file.

    The function's first parameter is the `Issue`; the others are the public ones of the older
    interface, and those that the newer one has besides.
    """

    def register(function: Function) -> Operation:
        made = OPERATIONS[name] = Operation(name, engine, kind, function)
        return made

    return register
