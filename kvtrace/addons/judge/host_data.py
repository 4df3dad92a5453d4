"""What the candidate's Python gave to kernels, and whether the results are made of it.

Two recorded runs on inputs that differ in some values are compared, launch by launch. What differs
was made of those values on the host. Where it is followed into results, taint is per storage: a
launch whose stored values may be made of it taints all that the launch writes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvtrace.ir import Module, Op, Value
from kvtrace.ir.constants import constant_of
from kvtrace.ir.flow import Flow, backward, deciding, flow_of
from kvtrace.ir.memo import once_per_module
from kvtrace.ir.ops import (
    BRANCHES,
    KINDS,
    LOOPS,
    READING,
    WRITING,
    address_of,
    computing,
    data_of,
    mask_of,
    positions_of,
)
from kvtrace.verdicts.contents.index_arguments import PointerRoots, leads_to_memory

_COMPARING = computing("compare")
_SELECTING = computing("where")


@dataclass(frozen=True, slots=True)
class HostData:
    """Something that the host made for a step of the log.

    `storage` is that of contents, `scalar` the position of a number among a launch's arguments; a
    launch of another kernel, or with other constants, has neither. `places`: it only says which
    elements PyTorch moves, or how many programs run.
    """

    at: int
    told: str
    storage: int | None = None
    scalar: int | None = None
    places: bool = False


def host_differences(
    steps: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]]
) -> Iterator[HostData]:
    """Give what the host made otherwise in another run."""
    for at, step in enumerate(steps):
        other = others[at] if at < len(others) else {}
        kernel = step.get("launch")
        if other.get("launch") != kernel or ("moved" in step) != ("moved" in other):
            yield HostData(at, f"which kernels are launched, from {kernel or 'a copy'} on")
            return
        if step.get("ttir") != other.get("ttir"):
            yield HostData(at, f"the constants of {kernel}")
        made = _contents(other)
        for role, (number, file) in _contents(step).items():
            if made.get(role, (0, ""))[1] != file:
                told = f"the contents of {role} of {kernel}" if kernel else "what PyTorch moves"
                yield HostData(at, told, storage=number)
        if step.get("grid") != other.get("grid"):
            yield HostData(at, f"the grid of {kernel}", places=True)
        if step.get("picked") != other.get("picked"):
            yield HostData(at, "which elements PyTorch moves", places=True)
        pairs = zip(step.get("arguments", ()), other.get("arguments", ()), strict=False)
        for position, (each, new) in enumerate(pairs):
            if "storage" not in each and each["value"] != new.get("value"):
                yield HostData(at, f"the argument {each['name']} of {kernel}", scalar=position)


def _contents(step: Mapping[str, Any]) -> dict[str, tuple[int, str]]:
    """Return what a step was given that nothing explains, by the tensor: storage and contents.

    Two runs number their storages otherwise, as memory is freed and used again.
    """
    tensors = step.get("arguments") or [step.get("moved"), *step.get("sources", ())]
    roles: dict[str, str] = {}
    for place, each in enumerate(tensors):
        if each and "storage" in each:
            roles.setdefault(str(each["storage"]), str(each.get("name", place)))
    contents = step.get("contents", {})
    return {role: (int(n), str(contents[n]["file"])) for n, role in roles.items() if n in contents}


def host_made_storages(
    host: Sequence[HostData], steps: Sequence[Mapping[str, Any]], modules: Mapping[str, Module],
    floats: Collection[int],
) -> set[int]:  # fmt: skip
    """Return the storages whose values may be made of what the host made, after all steps.

    What only decides where a kernel reads and writes, how far it goes and what it compares with is
    not followed, as long as it decides about floats of the inputs. Where it decides about numbers
    that are the same for all inputs, it is a value in disguise: looked up in a table of whole
    numbers, counted by programs that add one each, or the place of a one among zeros.

    Args:
        host: What the host made.
        steps: Launches and moves, in order.
        modules: The kernels' IR.
        floats: Storages of the inputs that are floats.

    """
    tainted: set[int] = set()
    varying = set(floats)
    for at, step in enumerate(steps):
        here = [each for each in host if each.at == at and not each.places]
        given = {int(key) for key in step["contents"]}
        tainted -= given
        varying -= given - set(floats)
        tainted |= {each.storage for each in here if each.storage is not None}
        other = any(each.storage is None and each.scalar is None for each in here)
        places = any(each.at == at and each.places for each in host)
        if "launch" not in step:
            target = step["moved"]
            taken = {int(each["storage"]) for each in step["sources"]}
            if target:
                number, varies = int(target["storage"]), bool(taken & varying)
                looked_up = places and not varies and len(taken) > 0
                tainted |= {number} if other or taken & tainted or looked_up else set()
                varying |= {number} if varies else set()  # of what it held, a part may be left
            continue
        arguments = step["arguments"]
        numbers = [int(each["storage"]) if "storage" in each else None for each in arguments]
        scalars = {each.scalar for each in here if each.scalar is not None}
        followed: set[int] = set()
        for store in stores_of(modules[str(step["ttir"])]):
            to = _numbers(range(len(numbers)) if store.to is None else store.to, numbers)
            varies = store.of is not None and bool(_numbers(store.of, numbers) & varying)
            counts = places and store.adds and not varies
            if other or counts or _is_host_made(store, numbers, scalars, tainted, varying):
                tainted |= to
            followed |= to if varies else set()
        varying |= followed
    return tainted


@dataclass(frozen=True, slots=True)
class Store:
    """What a store writes; the arguments are of the kernel, and None where they are not known.

    `to` are those that it writes to, `of` those that its values may be made of: of a pointer, it is
    what memory holds there. `chosen` has, for each place where a value is chosen or looked up, the
    arguments that choose, and those that it is chosen from; so has where it is stored, unless it
    is zero. `adds`: it combines with what memory holds.
    """

    to: Arguments
    of: Arguments
    chosen: tuple[tuple[Arguments, Arguments], ...]
    adds: bool


Arguments = frozenset[int] | None


def _is_host_made(
    store: Store, numbers: Sequence[int | None], scalars: Collection[int],
    tainted: Collection[int], varying: Collection[int],
) -> bool:  # fmt: skip
    def is_tainted(arguments: Arguments) -> bool:
        return arguments is None or any(
            place in scalars or numbers[place] in tainted for place in arguments
        )

    def is_varying(arguments: Arguments) -> bool:
        return arguments is not None and any(numbers[place] in varying for place in arguments)

    return is_tainted(store.of) or any(
        is_tainted(by) and not is_varying(among) for by, among in store.chosen
    )


def _numbers(arguments: Iterable[int], numbers: Sequence[int | None]) -> set[int]:
    return {number for place in arguments if (number := numbers[place]) is not None}


def _places_of(op: Op) -> list[Value]:
    """Return what says where an op reads or writes, and in which lanes."""
    mask = mask_of(op)
    return [address_of(op), *positions_of(op), *([] if mask is None else [mask])]


@once_per_module
def stores_of(module: Module) -> tuple[Store, ...]:
    """Return all stores of a kernel."""
    return tuple(_Stores(module).found())


@once_per_module
def places_are_loaded(module: Module) -> bool:
    """Tell whether what a kernel loads may decide where it goes: addresses, masks, trips."""
    return _Stores(module).loads_places()


class _Stores:
    """Follows what is stored back to the arguments of the kernel."""

    def __init__(self, module: Module) -> None:
        self._stores = [op for op in module.ops if op.name in WRITING]
        self._flow: Flow = flow_of(module)
        self._roots = PointerRoots(module)
        self._position = {value.id: at for at, value in enumerate(module.main.arguments)}

    def found(self) -> Iterator[Store]:
        for op in self._stores:
            data = data_of(op)
            chosen = [self._chosen(value) for value in backward(data, self._selected)]
            if not all(constant_of(value) == 0 for value in data):
                by = self._made_of(_places_of(op), self._all)
                chosen.append((by, self._made_of(data, self._selected)))
            yield Store(
                self._roots.of([op]), self._made_of(data, self._values),
                tuple(each for each in chosen if each is not None), op.name in READING,
            )  # fmt: skip

    def loads_places(self) -> bool:
        """Tell whether places are made of what is loaded, or it is not known of what."""
        places = [
            value
            for op in self._flow.module.ops
            for value in (
                _places_of(op)
                if op.name in READING or op.name in WRITING
                else deciding(op)
                if op.name in LOOPS | BRANCHES
                else ()
            )
        ]
        made_of = self._made_of(places, self._all)
        pointers = {
            at for at, each in enumerate(self._flow.module.main.arguments) if leads_to_memory(each)
        }
        return made_of is None or not pointers.isdisjoint(made_of)

    def _chosen(self, value: Value) -> tuple[Arguments, Arguments] | None:
        """Return what decides about a value, and what it is chosen from; None: nothing does."""
        owner = value.owner
        op = owner if isinstance(owner, Op) else None if owner is None else owner.region.owner
        if op is None:
            return None
        if op.name in READING:
            by = _places_of(op)
        elif op.name in LOOPS | BRANCHES:
            by = list(deciding(op))
        elif op.name in _SELECTING:
            by = [op.operand("condition")]
        elif op.name in _COMPARING:
            by = list(op.operands)
        else:
            return None
        among = frozenset() if op.name in _COMPARING else self._made_of((value,), self._selected)
        return self._made_of(by, self._all), among

    def _made_of(
        self, values: Iterable[Value], through: Callable[[Value], Sequence[Value]]
    ) -> Arguments:
        """Return the arguments that values are made of; pointers count for what is loaded there."""
        reached = list(backward(values, through))
        loads = [e.owner for e in reached if isinstance(e.owner, Op) and e.owner.name in READING]
        read = self._roots.of(loads)
        if read is None:
            return None
        places = {
            self._position[each.id]
            for each in reached
            if each.id in self._position and not leads_to_memory(each)
        }
        return read | places

    def _values(self, value: Value) -> Sequence[Value]:
        """Go through what a value is made of, and not where it was, nor through comparisons."""
        owner = value.owner
        if not isinstance(owner, Op) or owner.name not in READING | _COMPARING:
            return self._flow.made_of(value)
        if owner.name in _COMPARING:
            return ()
        other = owner.optional("other") if KINDS[owner.name].has("other") else None
        return (*data_of(owner), *(() if other is None else (other,)))

    def _selected(self, value: Value) -> Sequence[Value]:
        """Go the same way, and not through what selects."""
        owner = value.owner
        if isinstance(owner, Op) and owner.name in _SELECTING:
            return owner.operand("first"), owner.operand("second")
        return self._values(value)

    def _all(self, value: Value) -> Sequence[Value]:
        return self._flow.made_of(value)
