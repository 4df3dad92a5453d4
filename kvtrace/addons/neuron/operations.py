"""Definition of ops: one function defines an op's results, everything else is derived.

    @operation("nisa.tensor_tensor", engine="vector", kind="elementwise")
    def tensor_tensor(issue, data1, data2, op, *, dtype=None, mask=None):
        left, right = issue.read(data1), issue.read(data2)
        …
        return issue.result(values, dtype, left, right, mask=mask)

`tensor_tensor.older(data1, …)` then returns a new tile, as in the older interface;
`tensor_tensor.newer(dst, data1, …)` writes to `dst`, as in the newer interface. `issue.read` and
`issue.result` count bytes, check bounds and undefined elements, and record the execution. An op's
function reports violated limits with `issue.report`, and adds FLOPs to `issue.flops`.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import Parameter, Signature
from typing import Any, Final, Literal, Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kvtrace.addons.neuron import access, dtypes
from kvtrace.addons.neuron.access import Values
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import MEMORY_SPACE, Finding
from kvtrace.addons.neuron.indices import lanes_of
from kvtrace.addons.neuron.machine import Run, current
from kvtrace.addons.neuron.memory import Space
from kvtrace.addons.neuron.recorder import Execution
from kvtrace.addons.neuron.tensors import Tensor

Engine = Literal["tensor", "vector", "scalar", "gpsimd", "dma", "none"]

ENGINES: Final = ("tensor", "vector", "scalar", "gpsimd", "dma")

_NO_POSITIONS: Final = np.empty(0, np.int64)


class Result(Struct, eq=False):
    """One result of an op: values, type, space and active lanes."""

    values: NDArray[Any]
    dtype: np.dtype[Any]
    space: Space
    mask: NDArray[np.bool_] | None
    #: The compiler chooses the op's engine, and so whether the result is in SBUF or PSUM.
    placed_by_compiler: bool = False
    #: The program sees one dimension; `values` have a second one of size 1.
    has_added_axis: bool = False


@dataclass(slots=True, eq=False)
class Issue:
    """One execution of an op: the op's function reads operands and makes results through it."""

    operation: "Operation"
    run: Run
    #: The tensor to write the result to; None for a new tile.
    destination: Tensor | None
    engine: Engine = field(init=False)
    #: The program named the engine; otherwise a compiler chooses one that reaches the operands.
    has_named_engine: bool = False
    #: Floating-point operations; set by the op's function.
    flops: int = 0
    masked_off: int = 0
    device_bytes: int = 0
    chip_bytes: int = 0
    read_buffers: list[int] = field(default_factory=list)
    #: Results after the first, with the tensors to write them to.
    further_results: list[tuple[Tensor, Result]] = field(default_factory=list)
    #: Positions in the memory that the last access through a selection touched.
    positions: NDArray[np.int64] = field(default_factory=lambda: _NO_POSITIONS)
    #: Element type recorded for the op; that of the result, unless the op's function sets it.
    dtype: np.dtype[Any] | None = None
    order: int = field(init=False)
    site: int = field(init=False)

    def begun(self) -> Self:
        """Return the issue, with its order and the site in the user's program.

        This is no `__post_init__`: a generated constructor would be a frame of the site's stack.
        """
        self.engine = self.operation.engine
        self.order = self.run.recorder.count
        self._update_site(self.operation.kind)
        return self

    # -- operands ---------------------------------------------------------------------------

    def read(self, operand: Any, mask: Any = None, *, device: bool = False) -> Values:
        """Return the values of a tensor or number as an operand; a number has no dimensions.

        A tile of one dimension becomes a column: (partitions, 1). Active lanes outside of the
        tensor are garbage, and reported. Unless `device` is set, a tensor in device memory is
        reported.
        """
        if not isinstance(operand, Tensor):
            return access.number_operand(operand)
        if not device and operand.memory.space == "hbm":
            self.report(
                MEMORY_SPACE,
                f"{self.operation.name} reads a tensor in device memory; load it into SBUF first",
            )
        return access.read(self, operand, None if mask is None else lanes_of(mask))

    def report(self, rule: str, message: str, **facts: Any) -> None:
        """Add a finding, with further fields `facts`, that the op violates a rule."""
        self.run.report(self.finding(rule, message, **facts))

    def finding(self, rule: str, message: str, **facts: Any) -> Finding:
        """Return a finding of this op in the current iteration and program."""
        loops = self.run.loops
        iteration = loops[-1].trip if loops else None
        program = self.run.program
        return Finding(rule, self.site, message, program=program, iteration=iteration, **facts)

    def choose_engine(self, engine: Any) -> None:
        """Set the engine to the program's `engine=` argument, if that names an engine."""
        name = getattr(engine, "name", None)
        if name in ENGINES:
            self.engine = name
            self.has_named_engine = True
            self._update_site(self.operation.kind)

    def classify_copy(self, source: Tensor, destination: Tensor) -> None:
        """Set the op's kind to load, store or other, by the memories of the copied tensors."""
        spaces = (source.on_chip, destination.on_chip)
        self._update_site({(False, True): "load", (True, False): "store"}.get(spaces, "other"))

    def _update_site(self, kind: str) -> None:
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
    ) -> Result:
        """Return a result; without a `dtype`, its type is that of the first operand."""
        element_type = operands[0].dtype if dtype is None and operands else dtypes.as_dtype(dtype)
        lanes = None if mask is None else lanes_of(mask)
        return Result(values, element_type, space, lanes)

    def add_result(self, destination: Tensor, result: Result) -> None:
        """Add a result that is written to `destination` after the first result."""
        self.further_results.append((destination, result))

    def finish(self, result: Result | None) -> Tensor | None:
        """Write all results, record the execution, and return the first result's tensor or None."""
        if result is None:
            self._write_further_results()
            self._record(0, -1, 0)
            return None
        site = self.run.recorder.sites[self.site]
        if not site.dtype:
            site.dtype = dtypes.short_name(result.dtype if self.dtype is None else self.dtype)
        if self.destination is not None:
            access.write(self, self.destination, result)
            target = self.destination
            written_bytes = (target.size - self.masked_off) * target.itemsize
            self._write_further_results()
            self._record(target.size, target.memory.number, written_bytes)
            return self.destination
        tile = self._tile(result)
        self._write_further_results()
        self._record(tile.size, tile.memory.number, tile.size * tile.itemsize)
        tile.memory.producer_order = self.order
        return tile

    def _write_further_results(self) -> None:
        for destination, result in self.further_results:
            access.write(self, destination, result)

    def _tile(self, result: Result) -> Tensor:
        """Return a new tile that contains the result, of at least two dimensions."""
        values = dtypes.rounded(result.values, result.dtype)
        shape = values.shape
        if len(shape) < 2:
            shape = (values.size, 1) if shape else (1, 1)
        produced = None
        if result.mask is not None and not result.mask.all():
            produced = np.broadcast_to(result.mask, values.shape)
            off = ~produced
            values = np.where(off, dtypes.poison(result.dtype), values).astype(result.dtype)
            self.masked_off = max(self.masked_off, int(off.sum()))
        raw = _owned_copy(values).reshape(-1).view(np.uint8)
        memory = self.run.allocate(result.space, shape, result.dtype, raw=raw, site=self.site)
        memory.placed_by_compiler = result.placed_by_compiler
        memory.has_added_axis = result.has_added_axis
        memory.produced_lanes = (
            None if produced is None else np.ascontiguousarray(produced).reshape(-1)
        )
        memory.life.first = memory.life.last = self.order
        self.chip_bytes += raw.size
        return self.run.tensor(memory)

    def _record(self, elements: int, written: int, nbytes: int) -> None:
        self.run.recorder.add_execution(
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
                tuple(self.read_buffers),
            )
        )

    # -- limits -----------------------------------------------------------------------------

    def limit(self, size: int, most: int, rule: str, what: str) -> None:
        """Report `rule` if `size` exceeds the limit `most`; `what` names it in the message."""
        if size > most:
            self.report(rule, f"{what} is {size}, the limit is {most}")


def _owned_copy(values: NDArray[Any]) -> NDArray[Any]:
    """Return values as a contiguous, writable array that owns its memory; copied if necessary."""
    if values.flags.owndata and values.flags.c_contiguous and values.flags.writeable:
        return values
    return np.array(values, order="C")


class UnrecordedIssue(Issue):
    """An access on behalf of the last op, whose execution is already recorded."""

    def begun(self) -> Self:
        """Return the issue, with the order and the site of the last op."""
        super().begun()
        self.order = max(self.run.recorder.count - 1, 0)
        return self


Function = Callable[..., Result | None]


class Operation:
    """An op: name, engine and kind, and functions that both interfaces call."""

    def __init__(self, name: str, engine: Engine, kind: str, function: Function) -> None:
        self.name = name
        self.engine: Engine = engine
        #: load, store, dot, reduce, scan, elementwise or other, as the column `ops.kind` has it.
        self.kind = kind
        self.function = function
        #: The op's engine cannot access device memory. The tensor engine's ops check this
        #: themselves.
        self._stays_on_chip = engine in ("vector", "scalar", "gpsimd")
        _, *parameters = inspect.signature(function).parameters.values()
        self._names = tuple(parameter.name for parameter in parameters)
        self.older = self._with_metadata(self._older_function(), Signature(parameters))
        signature = _newer_signature(parameters)
        self.newer = self._with_metadata(self._newer_function(signature), signature)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Execute the op as in the older interface, and return a new tile."""
        return self.older(*args, **kwargs)

    def into(self, destination: Tensor | None, *args: Any, **kwargs: Any) -> Any:
        """Execute the op, write the result to `destination` (None: a new tile), and return it."""
        return self._execute(destination, args, kwargs)

    def _execute(
        self, destination: Tensor | None, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        issue = Issue(self, current(), destination).begun()
        result = self.function(issue, *args, **kwargs)
        if destination is not None and destination.memory.space == "hbm" and self._stays_on_chip:
            issue.report(
                MEMORY_SPACE,
                f"{self.name} writes to a tensor in device memory; store it with nisa.dma_copy",
            )
        return issue.finish(result)

    def _older_function(self) -> Callable[..., Any]:
        drops_name = "name" not in self._names

        def run(*args: Any, **kwargs: Any) -> Any:
            if drops_name:
                kwargs.pop("name", None)
            return self._execute(None, args, kwargs)

        return run

    def _newer_function(self, signature: Signature) -> Callable[..., Any]:
        operands = [name for name in signature.parameters if name not in ("dst", "name")]
        takes_dst = "dst" in self._names

        def run(dst: Any, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)
            if not isinstance(dst, Tensor):
                raise NkiError(f"dst of {self.name} is {type(dst).__name__}, not a tensor")
            if kwargs.get("mask") is not None:
                raise NkiError(
                    f"{self.name} has no argument mask in nki; slice its operands instead"
                )
            if len(args) > len(operands):
                raise NkiError(
                    f"{self.name} has {len(operands)} operands besides dst, not {len(args)}"
                )
            operands_by_name = dict(zip(operands, args, strict=False))
            if operands_by_name.keys() & kwargs.keys():
                twice = ", ".join(sorted(operands_by_name.keys() & kwargs.keys()))
                raise NkiError(f"{self.name} is passed {twice} both by position and by name")
            if takes_dst:
                kwargs["dst"] = dst
            self._execute(dst, (), operands_by_name | kwargs)

        return run

    def _with_metadata(self, run: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
        """Set the name, docstring and signature of an op's public function, and return it."""
        run.__name__ = run.__qualname__ = self.name.rpartition(".")[2]
        run.__doc__ = self.function.__doc__
        run.__wrapped__ = self.function  # type: ignore[attr-defined]
        run.__signature__ = signature  # type: ignore[attr-defined]
        return run


def _newer_signature(parameters: list[Parameter]) -> Signature:
    """Return the newer interface's signature: `dst`, then operands; no `dtype` or `mask`."""
    if any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters):
        return Signature(parameters)  # a token, which has no dst
    operands = [
        parameter.replace(kind=Parameter.POSITIONAL_OR_KEYWORD)
        for parameter in parameters
        if parameter.name not in ("dst", "name")
        and not (parameter.kind is Parameter.KEYWORD_ONLY and parameter.name in ("dtype", "mask"))
    ]
    dst = Parameter("dst", Parameter.POSITIONAL_OR_KEYWORD)
    name = Parameter("name", Parameter.POSITIONAL_OR_KEYWORD, default=None)
    return Signature([dst, *operands, name])


def operation(name: str, *, engine: Engine, kind: str) -> Callable[[Function], Operation]:
    """Return a decorator that makes a function an op; see the module's docstring.

    The function's first parameter is the `Issue`; the others are the public parameters of the older
    interface, and those that only the newer interface has.
    """

    def register(function: Function) -> Operation:
        return Operation(name, engine, kind, function)

    return register
