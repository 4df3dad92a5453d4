"""The unique calls of a run as arguments of the evaluator; `reading` makes them of tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct, structs

from kvtrace.evaluate import Argument, ScalarArgument, TensorArgument
from kvtrace.ir import Module

if TYPE_CHECKING:
    from kvtrace.recorded_calls.compiled_code import CompiledFacts
    from kvtrace.recorded_calls.thread_layouts import BlockedLayout
    from kvtrace.schema.contents import CallContents, ContentSet

#: The first fields of a call, by which calls are equal.
_COMPARED: Final = 10


class Call(Struct, frozen=True, eq=False):
    """A unique call: a row of `calls`, with its kernel's name and IR.

    `recorded` has the names of tensors with recorded contents, for which conclusions hold.
    `warps` and `ctas` are a program's numbers of warps and CTAs, `stages` the pipeline stages of
    loops, `triton` the version that compiled the kernel, if recorded, and `compiled` facts from the
    compiled code. `launches` has the contents of all launches, as far as known. `others` are calls
    that differ in contents alone, of which verdicts on this call are to hold, too. Calls are equal
    if all else of them is: `compiled`, `launches` and `others` do not count.
    """

    call_id: int
    kernel: str
    grid: tuple[int, int, int]
    module: Module
    arguments: tuple[Argument, ...]
    recorded: tuple[str, ...]
    warps: int | None = None
    ctas: int | None = None
    stages: int | None = None
    triton: str | None = None
    compiled: CompiledFacts | None = None
    launches: KnownLaunches | None = None
    others: tuple[Call, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Call) and self._compared == other._compared

    def __hash__(self) -> int:
        return hash(self._compared)

    @property
    def _compared(self) -> tuple[object, ...]:
        return structs.astuple(self)[:_COMPARED]

    @property
    def argument_layouts(self) -> list[tuple[object, ...]]:
        """Scalar values, and each tensor's type, shape, strides, storage and offset."""
        storages: list[int] = []
        layouts: list[tuple[object, ...]] = []
        for argument in self.arguments:
            if isinstance(argument, ScalarArgument):
                layouts.append((repr(argument.value),))
                continue
            storage = id(argument.storage)
            if storage not in storages:
                storages.append(storage)
            storage_and_offset = storages.index(storage), argument.offset_bytes
            layouts.append((argument.dtype, argument.shape, argument.strides, *storage_and_offset))
        return layouts

    @property
    def scalars(self) -> dict[str, int | float | None]:
        """The values of scalar arguments by their names."""
        scalars = (entry for entry in self.arguments if isinstance(entry, ScalarArgument))
        return {scalar.name: scalar.value for scalar in scalars}

    def tensor(self, position: int) -> TensorArgument:
        """Return the argument at a position, which is a tensor."""
        tensor = self.tensor_at(position)
        assert tensor is not None
        return tensor

    def tensor_at(self, position: int | None) -> TensorArgument | None:
        """Return the tensor at a position; None for a scalar, or without a position."""
        argument = None if position is None else self.arguments[position]
        return argument if isinstance(argument, TensorArgument) else None

    def positions_in_storage(self, position: int) -> tuple[int, ...]:
        """Return the positions of all tensors in the storage of the tensor at a position."""
        storage = self.tensor(position).storage
        return tuple(
            other_position
            for other_position, other in enumerate(self.arguments)
            if isinstance(other, TensorArgument) and other.storage is storage
        )

    @property
    def layouts(self) -> Mapping[int, BlockedLayout]:
        """The known layouts with which memory ops were compiled, by op index."""
        return {} if self.compiled is None else self.compiled.layouts


class KnownLaunches(Struct, frozen=True):
    """The distinct recorded contents of a call's launches, and the call for each of these.

    Attributes:
        contents: the distinct contents.
        call: returns the call with given contents (None: no contents), and the names of tensors of
            which only the view was recorded, with zeros outside the view.
        unplaced: names of tensors with contents at launches that did not record the view's offset.
    """

    contents: CallContents
    call: Callable[[ContentSet | None], tuple[Call, frozenset[str]]]
    unplaced: frozenset[str] = frozenset()

    def views_that_may_move(self) -> tuple[str, ...]:
        """Return the tensors whose contents another launch may have read at another offset."""
        if self.contents.launches < 2 or not self.unplaced:
            return ()
        call, _ = self.call(self.contents.sets[0])
        return tuple(
            argument.name
            for argument in call.arguments
            if isinstance(argument, TensorArgument)
            and argument.name in self.unplaced
            and argument.storage.data is not None
            and argument.view_bytes[1] - argument.view_bytes[0] < len(argument.storage.data)
        )


class UnreadyCall(Struct, frozen=True):
    """A call that cannot be evaluated, and the reason as a sentence."""

    call_id: int
    kernel: str
    reason: str
