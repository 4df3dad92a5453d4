"""Taint analysis of values that the candidate's Python computes on the host for kernels.

Two recorded runs on inputs that differ in some values are compared launch by launch: if scalars,
constants, grids or unexplained contents differ, the host computed them from these values. Taint is
then propagated, one bit per storage: a launch that may store values made of tainted values taints
the storages it writes. For example, if the host passes the sum of the inputs as a scalar to a
kernel, the kernel's output is tainted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvtrace.addons.judge.launches import memory_steps
from kvtrace.ir import Module, Op, Value
from kvtrace.ir.flow import Flow, backward, constant_of, deciding, flow_of
from kvtrace.ir.memory_sites import PointerRoots, leads_to_memory
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import BRANCHES, KINDS, LOOPS, READING, WRITING, address_of, computing, mask_of
from kvtrace.ir.updates import data_of, positions_of

_COMPARING = computing("compare")
_SELECTING = computing("where")


@dataclass(frozen=True, slots=True)
class HostData:
    """A value or a choice that the host computed for a step (launch or move) of the log.

    `at`: the step's index. `storage`: the storage with computed contents. `scalar`: the position of
    a computed scalar among the launch's arguments. Both are None for a choice of kernel or
    constants. `places`: the value only decides which elements PyTorch moves, or how many programs
    run.
    """

    at: int
    description: str
    storage: int | None = None
    scalar: int | None = None
    places: bool = False


def host_differences(
    steps: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]]
) -> Iterator[HostData]:
    """Yield the host's values and choices in `steps` that differ from those of another run.

    Ends at the first step with another kernel.
    """
    for index, step in enumerate(steps):
        other_step = others[index] if index < len(others) else {}
        kernel = step.get("launch")
        if other_step.get("launch") != kernel or ("moved" in step) != ("moved" in other_step):
            yield HostData(index, f"which kernels are launched, from {kernel or 'a copy'} on")
            return
        if step.get("ttir") != other_step.get("ttir"):
            yield HostData(index, f"the constants of {kernel}")
        other_contents = _contents(other_step)
        for role, (number, file) in _contents(step).items():
            if other_contents.get(role, (0, ""))[1] != file:
                description = (
                    f"the contents of {role} of {kernel}" if kernel else "what PyTorch moves"
                )
                yield HostData(index, description, storage=number)
        if step.get("grid") != other_step.get("grid"):
            yield HostData(index, f"the grid of {kernel}", places=True)
        if step.get("picked") != other_step.get("picked"):
            yield HostData(index, "which elements PyTorch moves", places=True)
        pairs = zip(step.get("arguments", ()), other_step.get("arguments", ()), strict=False)
        for position, (argument, other_argument) in enumerate(pairs):
            if "storage" not in argument and argument["value"] != other_argument.get("value"):
                yield HostData(
                    index, f"the argument {argument['name']} of {kernel}", scalar=position
                )


def _contents(step: Mapping[str, Any]) -> dict[str, tuple[int, str]]:
    """Return storage number and digest of a step's unexplained contents, by the tensor's name.

    Storage numbers differ between runs, since memory is freed and used again.
    """
    tensors = step.get("arguments") or [step.get("moved"), *step.get("sources", ())]
    roles: dict[str, str] = {}
    for position, entry in enumerate(tensors):
        if entry and "storage" in entry:
            roles.setdefault(str(entry["storage"]), str(entry.get("name", position)))
    contents = step.get("contents", {})
    return {role: (int(n), str(contents[n]["file"])) for n, role in roles.items() if n in contents}


def host_made_storages(
    host: Sequence[HostData], steps: Sequence[Mapping[str, Any]], modules: Mapping[str, Module],
    floats: Collection[int],
) -> set[int]:  # fmt: skip
    """Return the storages whose final values may be made of the host's values.

    Values that only decide addresses, masks, trip counts and comparisons are not followed, as long
    as the data they select are floats of the inputs. If the selected data are the same for all
    inputs, the result encodes the value: for example as an index into a table of integers, as a
    count of programs that add one each, or as the position of a one among zeros.

    `steps` are launches and moves in order, `modules` the kernels' IR by digest, `floats` the
    storages of inputs of floats.
    """
    tainted: set[int] = set()
    varying = set(floats)
    for index, step in enumerate(steps):
        step_data = [data for data in host if data.at == index and not data.places]
        new_contents = {int(key) for key in step["contents"]}
        tainted -= new_contents
        varying -= new_contents - set(floats)
        tainted |= {data.storage for data in step_data if data.storage is not None}
        has_other_kernel = any(data.storage is None and data.scalar is None for data in step_data)
        decides_places = any(data.at == index and data.places for data in host)
        if "launch" not in step:
            target = step["moved"]
            sources = {int(source["storage"]) for source in step["sources"]}
            if target:
                number, is_varying = int(target["storage"]), bool(sources & varying)
                is_lookup = decides_places and not is_varying and len(sources) > 0
                tainted |= {number} if has_other_kernel or sources & tainted or is_lookup else set()
                varying |= {number} if is_varying else set()  # some old contents may remain
            continue
        arguments = step["arguments"]
        storage_numbers = [
            int(entry["storage"]) if "storage" in entry else None for entry in arguments
        ]
        scalars = {data.scalar for data in step_data if data.scalar is not None}
        varying_targets: set[int] = set()
        for store in stores_of(modules[str(step["ttir"])]):
            targets = _storage_numbers(
                range(len(storage_numbers)) if store.to is None else store.to, storage_numbers
            )
            is_varying = store.of is not None and bool(
                _storage_numbers(store.of, storage_numbers) & varying
            )
            is_count = decides_places and store.adds and not is_varying
            if (
                has_other_kernel
                or is_count
                or _is_host_made(store, storage_numbers, scalars, tainted, varying)
            ):
                tainted |= targets
            varying_targets |= targets if is_varying else set()
        varying |= varying_targets
    return tainted


def difference_between_runs(
    given_log: Sequence[Mapping[str, Any]], logs: Sequence[Sequence[Mapping[str, Any]]]
) -> str | None:
    """Return a phrase on the first difference of the host's values in other runs of a candidate.

    "" if the host's values are the same in these runs; None if there is no such run.
    """
    description: str | None = None
    for log in logs:
        if any("raised" in entry for entry in log):
            continue
        difference = next(host_differences(memory_steps(given_log), memory_steps(log)), None)
        description = description or ("" if difference is None else difference.description)
        for index, (given_result, other_result) in enumerate(
            zip(_returned_entries(given_log), _returned_entries(log), strict=False)
        ):
            if (given_result.get("content"), given_result.get("value")) != (
                other_result.get("content"),
                other_result.get("value"),
            ):
                description = description or f"result {index}"
    return description


def places_from_host(
    given_log: Sequence[Mapping[str, Any]], other_log: Sequence[Mapping[str, Any]],
    modules: Mapping[str, Module], floats: Collection[int],
) -> list[HostData] | None:  # fmt: skip
    """Return what the host computed from integers, if it decides no more than addresses.

    None if results may be made of it. `other_log` is of a run with other integers; `floats` are the
    storages of inputs of floats.
    """
    if any("raised" in entry for entry in other_log):
        return None
    steps = memory_steps(given_log)
    host = list(host_differences(steps, memory_steps(other_log))) if other_log else []
    returned, other_returned = _returned_entries(given_log), _returned_entries(other_log)
    contents, other_contents = (
        [result.get("content") for result in results] for results in (returned, other_returned)
    )
    if other_log and contents != other_contents:
        return None
    tainted = host_made_storages(host, steps, modules, floats)
    result_storages = {int(result["storage"]) for result in returned if "storage" in result}
    return None if tainted & result_storages or (tainted and not returned) else host


def _returned_entries(entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [result for entry in entries for result in entry.get("returned", ())]


@dataclass(frozen=True, slots=True)
class Store:
    """A store of a kernel, described by positions of the kernel's arguments; None: unknown.

    `to`: pointers that the store may write through. `of`: arguments that its values may be made of;
    a pointer stands for the memory behind it. `chosen`: for each selection or lookup of a value,
    the arguments that decide and the arguments selected from; the store's address counts as a
    selection unless the value is zero. `adds`: the store combines its value with memory's.
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
    """Return whether a store's values, or decisions about constant data, may be tainted."""

    def is_tainted(arguments: Arguments) -> bool:
        return arguments is None or any(
            position in scalars or numbers[position] in tainted for position in arguments
        )

    def is_varying(arguments: Arguments) -> bool:
        return arguments is not None and any(numbers[position] in varying for position in arguments)

    return is_tainted(store.of) or any(
        is_tainted(deciding_arguments) and not is_varying(options)
        for deciding_arguments, options in store.chosen
    )


def _storage_numbers(arguments: Iterable[int], numbers: Sequence[int | None]) -> set[int]:
    return {number for position in arguments if (number := numbers[position]) is not None}


def _places_of(op: Op) -> list[Value]:
    """Return the values that decide where an op reads or writes, and in which lanes."""
    mask = mask_of(op)
    return [address_of(op), *positions_of(op), *([] if mask is None else [mask])]


@once_per_module
def stores_of(module: Module) -> tuple[Store, ...]:
    """Return all stores of a kernel, with the arguments that their values depend on."""
    return tuple(_StoreAnalysis(module).stores())


@once_per_module
def places_are_loaded(module: Module) -> bool:
    """Return whether loaded values may decide addresses, masks or trip counts of a kernel."""
    return _StoreAnalysis(module).loads_places()


class _StoreAnalysis:
    """Backward search from a kernel's stored values to the arguments that they are made of."""

    def __init__(self, module: Module) -> None:
        self._store_ops = [op for op in module.ops if op.name in WRITING]
        self._flow: Flow = flow_of(module)
        self._roots = PointerRoots(module)
        self._position = {value.id: at for at, value in enumerate(module.main.arguments)}

    def stores(self) -> Iterator[Store]:
        for op in self._store_ops:
            data = data_of(op)
            selections = [
                self._choice_of(value) for value in backward(data, self._unselected_operands)
            ]
            if not all(constant_of(value) == 0 for value in data):
                deciding_arguments = self._made_of(_places_of(op), self._operands)
                selections.append(
                    (deciding_arguments, self._made_of(data, self._unselected_operands))
                )
            yield Store(
                self._roots.of([op]), self._made_of(data, self._value_operands),
                tuple(choice for choice in selections if choice is not None), op.name in READING,
            )  # fmt: skip

    def loads_places(self) -> bool:
        """Return whether addresses, masks or trip counts may be made of loaded values."""
        deciding_values = [
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
        made_of = self._made_of(deciding_values, self._operands)
        pointers = {
            at
            for at, argument in enumerate(self._flow.module.main.arguments)
            if leads_to_memory(argument)
        }
        return made_of is None or not pointers.isdisjoint(made_of)

    def _choice_of(self, value: Value) -> tuple[Arguments, Arguments] | None:
        """Return the arguments that decide a value, and those it is selected from.

        None if the value is no result of a load, selection, comparison, loop or branch.
        """
        owner = value.owner
        op = owner if isinstance(owner, Op) else None if owner is None else owner.region.owner
        if op is None:
            return None
        if op.name in READING:
            deciding_values = _places_of(op)
        elif op.name in LOOPS | BRANCHES:
            deciding_values = list(deciding(op))
        elif op.name in _SELECTING:
            deciding_values = [op.operand("condition")]
        elif op.name in _COMPARING:
            deciding_values = list(op.operands)
        else:
            return None
        candidates = (
            frozenset()
            if op.name in _COMPARING
            else self._made_of((value,), self._unselected_operands)
        )
        return self._made_of(deciding_values, self._operands), candidates

    def _made_of(
        self, values: Iterable[Value], through: Callable[[Value], Sequence[Value]]
    ) -> Arguments:
        """Return the arguments that values are made of, following operands by `through`.

        A pointer stands for the memory behind it. None if a load's pointer is not known.
        """
        reached = list(backward(values, through))
        loads = [v.owner for v in reached if isinstance(v.owner, Op) and v.owner.name in READING]
        pointers = self._roots.of(loads)
        if pointers is None:
            return None
        scalars = {
            self._position[value.id]
            for value in reached
            if value.id in self._position and not leads_to_memory(value)
        }
        return pointers | scalars

    def _value_operands(self, value: Value) -> Sequence[Value]:
        """Return the operands that a value is made of: no addresses, masks or compared operands."""
        owner = value.owner
        if not isinstance(owner, Op) or owner.name not in READING | _COMPARING:
            return self._flow.sources(value)
        if owner.name in _COMPARING:
            return ()
        other = owner.optional("other") if KINDS[owner.name].has("other") else None
        return (*data_of(owner), *(() if other is None else (other,)))

    def _unselected_operands(self, value: Value) -> Sequence[Value]:
        """Return `_value_operands`, for selections without their condition."""
        owner = value.owner
        if isinstance(owner, Op) and owner.name in _SELECTING:
            return owner.operand("first"), owner.operand("second")
        return self._value_operands(value)

    def _operands(self, value: Value) -> Sequence[Value]:
        return self._flow.sources(value)
