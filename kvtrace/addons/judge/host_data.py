"""What the candidate's Python gave to kernels, and whether the results are made of it.

Two recorded runs on inputs that differ in some values are compared, launch by launch. What differs
was made of those values on the host. Where it is followed into results, taint is per storage: a
launch whose stored values may be made of it taints all that the launch writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kvtrace.ir import Module, Op, Value
from kvtrace.ir.flow import backward, flow_of
from kvtrace.ir.memo import once_per_module
from kvtrace.ir.ops import KINDS, READING, WRITING, computing, data_of
from kvtrace.verdicts.index_arguments import PointerRoots

_COMPARING = computing("compare")


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


def differing(
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


def made_of(
    host: Sequence[HostData], steps: Sequence[Mapping[str, Any]], modules: Mapping[str, Module]
) -> set[int]:
    """Return the storages whose values may be made of what the host made, after all steps.

    What only decides where a kernel reads and writes, how far it goes and what it compares with is
    not followed.
    """
    tainted: set[int] = set()
    for at, step in enumerate(steps):
        here = [each for each in host if each.at == at and not each.places]
        tainted -= {int(key) for key in step["contents"]}
        tainted |= {each.storage for each in here if each.storage is not None}
        other = any(each.storage is None and each.scalar is None for each in here)
        if "launch" not in step:
            target = step["moved"]
            taken = {int(each["storage"]) for each in step["sources"]}
            if target and (other or taken & tainted):
                tainted.add(int(target["storage"]))
            continue
        arguments = step["arguments"]
        numbers = [int(each["storage"]) if "storage" in each else None for each in arguments]
        scalars = {each.scalar for each in here if each.scalar is not None}
        stored, written = stored_arguments(modules[str(step["ttir"])])
        if other or stored is None or any(p in scalars or numbers[p] in tainted for p in stored):
            places = range(len(arguments)) if written is None else written
            tainted |= {n for place in places if (n := numbers[place]) is not None}
    return tainted


@once_per_module
def stored_arguments(module: Module) -> tuple[frozenset[int] | None, frozenset[int] | None]:
    """Return the arguments that stored values may be made of, and those that are written to.

    Of a pointer, it is what memory holds there. None: it is not known which.
    """
    flow = flow_of(module)
    stores = [op for op in module.ops if op.name in WRITING]
    loads: list[Op] = []
    position = {value.id: at for at, value in enumerate(module.main.arguments)}
    found: set[int] = set()

    def through(value: Value) -> Sequence[Value]:
        owner = value.owner
        if value.id in position:
            found.add(position[value.id])
        if not isinstance(owner, Op) or owner.name not in READING | _COMPARING:
            return flow.made_of(value)
        if owner.name in _COMPARING:
            return ()
        loads.append(owner)
        other = owner.optional("other") if KINDS[owner.name].has("other") else None
        return (*data_of(owner), *(() if other is None else (other,)))

    for _ in backward((value for op in stores for value in data_of(op)), through):
        pass
    roots = PointerRoots(module)
    read = roots.of(loads)
    return None if read is None else read | found, roots.of(stores)
