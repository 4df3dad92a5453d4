"""Plans as plain data and back, for the cache on disk: facts, and the code that is run.

Ops go by their index, blocks by the op that they are in. What the code refers to goes by its name,
if it is a function of NumPy or of a file of the evaluator, or by its bytes, if it is a number, an
array or a dtype. A plan that refers to anything else is not kept.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from kvtrace.evaluate.plan.affine import Affine
from kvtrace.evaluate.plan.code.cells import Cell, Generated
from kvtrace.evaluate.plan.execute import Executable
from kvtrace.evaluate.plan.records import AccessRecord, LaunchPlan, LoopRecord, Region, RegionPlan
from kvtrace.evaluate.store import Plain
from kvtrace.ir import Block, Module

_OURS = "kvtrace.evaluate."
_MOST_ARRAY_BYTES = 1 << 16


def plain_plan(plan: LaunchPlan, counts: Mapping[int, tuple[int, int]]) -> Plain:
    """Give a plan as plain data; ValueError if it refers to what cannot be named.

    `counts`: elements and floating-point operations of one execution of the compute ops.
    """
    if plan.refusal is not None:
        return (plan.refusal,)
    if plan.left:
        raise ValueError("some programs are left to array evaluation")
    executed = {op.index for part in plan.regions for block, _ in part.executed for op in block.ops}
    return (
        None,
        plan.runs,
        tuple(plan.offsets.items()),
        tuple(_plain_region(part) for part in plan.regions),
        tuple(_plain_code(part) for part in plan.executables),
        tuple((index, *counts[index]) for index in sorted(executed & set(counts))),
    )


def plan_of(plain: Plain, module: Module) -> LaunchPlan | None:
    """Make the plan of a launch of a module; None if `plain_plan` gave no such."""
    if not isinstance(plain, tuple) or not plain:
        return None
    try:
        if plain[0] is not None:
            return LaunchPlan([], {}, runs=False, refusal=plain[0])
        _, runs, offsets, regions, codes, counts = plain
        return LaunchPlan(
            [_region_of(part, module) for part in regions],
            dict(offsets),
            runs,
            executables=[_code_of(code) for code in codes],
            counts={index: (elements, flops) for index, elements, flops in counts},
        )
    except (AttributeError, ImportError, IndexError, KeyError, TypeError, ValueError):
        return None  # made by a kvtrace that called itself the same


# -- facts ----------------------------------------------------------------------------------------


def _plain_form(form: Affine) -> tuple[Any, ...]:
    return form.constant, form.outer, form.lanes


def _plain_region(part: RegionPlan) -> tuple[Any, ...]:
    regions = list({id(r): r for r in (part.region, *(a.region for a in part.accesses))}.values())
    numbers = {id(region): number for number, region in enumerate(regions)}
    accesses = tuple(
        (
            numbers[id(record.region)], record.op.index, record.kind, record.argument,
            _plain_form(record.form), record.shape, record.lanes,
            tuple(map(_plain_form, record.conditions)), record.element_bytes, record.trips,
            record.extremes,
        )
        for record in part.accesses
    )  # fmt: skip
    return (
        tuple(
            (region.grid, tuple(region.ranges.items()), region.order,
             tuple(map(_plain_form, region.ids)))
            for region in regions
        ),
        accesses,
        tuple((loop.op.index, loop.trips, loop.executions) for loop in part.loops),
        tuple((*_place_of(block), executions) for block, executions in part.executed),
    )  # fmt: skip


def _region_of(plain: tuple[Any, ...], module: Module) -> RegionPlan:
    region_rows, accesses, loops, executed = plain
    regions = [
        Region(grid, dict(ranges), order, (Affine(*x), Affine(*y), Affine(*z)))
        for grid, ranges, order, (x, y, z) in region_rows
    ]
    ops = module.ops
    records = tuple(
        [
            AccessRecord(
                ops[index], kind, argument, Affine(*form), shape, lanes,
                tuple([Affine(*condition) for condition in conditions]), size, regions[number],
                trips, extremes,
            )
            for number, index, kind, argument, form, shape, lanes, conditions, size, trips, extremes
            in accesses
        ]
    )  # fmt: skip
    return RegionPlan(
        regions[0],
        [],
        records,
        tuple([LoopRecord(ops[index], trips, executions) for index, trips, executions in loops]),
        tuple([
            (ops[index].regions[inner].blocks[number], executions)
            for index, inner, number, executions in executed
        ]),
    )  # fmt: skip


def _place_of(block: Block) -> tuple[int, int, int]:
    """Say where a block is: index of its op, which of the op's regions, which of their blocks."""
    owner = block.region.owner
    return owner.index, owner.regions.index(block.region), block.region.blocks.index(block)


# -- code -----------------------------------------------------------------------------------------


def _plain_code(part: Executable) -> tuple[Any, ...]:
    code = part.code
    run: Any = code.run
    names = set(run.__code__.co_names) & set(run.__globals__)
    return (
        run.__code__,
        tuple((name, _named(run.__globals__[name])) for name in sorted(names)),
        tuple(map(_plain_cell, code.cells)),
        tuple(map(_plain_cell, code.made)),
        code.source,
        code.has_products,
        part.chunks,
    )


def _code_of(plain: tuple[Any, ...]) -> Executable:
    code, names, cells, made, source, has_products, chunks = plain
    if not isinstance(code, CodeType):
        raise TypeError("no code")
    scope = {name: _value_of(named) for name, named in names}
    generated = Generated(
        FunctionType(code, scope),
        tuple([_cell_of(cell) for cell in cells]),
        tuple([_cell_of(cell) for cell in made]),
        source,
        has_products,
    )
    return Executable(generated, chunks)


def _plain_cell(cell: Cell) -> tuple[Any, ...]:
    return cell.axes, cell.lanes, _dtype_name(cell.dtype), cell.layout


def _cell_of(plain: tuple[Any, ...]) -> Cell:
    axes, lanes, name, layout = plain
    return Cell(axes, lanes, _dtype_of(name), layout)


def _dtype_name(dtype: np.dtype[Any]) -> str:
    if dtype.isbuiltin == 1 and not dtype.hasobject:
        return dtype.str
    if dtype.type.__module__ == "ml_dtypes":
        return dtype.name
    raise ValueError(f"{dtype} cannot be named")


def _dtype_of(name: str) -> np.dtype[Any]:
    if name[0] in "<>|=":
        return np.dtype(name)
    found: np.dtype[Any] = np.dtype(getattr(import_module("ml_dtypes"), name))
    return found


def _named(value: Any) -> tuple[Any, ...]:
    """Give an object that code refers to by kind and name, or by kind and content."""
    if value is None or type(value) in (bool, int, float, str):
        return "plain", value
    if isinstance(value, tuple):
        return "tuple", tuple(map(_named, value))
    if isinstance(value, np.dtype):
        return "dtype", _dtype_name(value)
    if isinstance(value, np.generic | np.ndarray):
        if value.nbytes > _MOST_ARRAY_BYTES:
            raise ValueError("a large array")
        return "array", _dtype_name(value.dtype), value.tobytes(), _shape_of(value)
    name = getattr(value, "__name__", None)
    if name is not None and getattr(np, name, None) is value:
        return "numpy", name
    owner: Any = getattr(value, "__self__", None)
    if isinstance(owner, np.ufunc):
        function = _named(owner)
        return "method", function[1], name
    if type(value) is functools.partial and not value.keywords:
        return "partial", _named(value.func), tuple(map(_named, value.args))
    module = getattr(value, "__module__", None) or ""
    found = getattr(sys.modules.get(module), name or "", None)
    if module.startswith(_OURS) and found is value:
        return "ours", module, name
    raise ValueError(f"{value!r} cannot be named")


def _shape_of(value: np.generic | np.ndarray[Any, Any]) -> tuple[int, ...] | None:
    """Give the shape of an array, None for a number."""
    return value.shape if isinstance(value, np.ndarray) else None


def _value_of(named: tuple[Any, ...]) -> Any:
    kind, *rest = named
    if kind == "plain":
        return rest[0]
    if kind == "tuple":
        return tuple(map(_value_of, rest[0]))
    if kind == "dtype":
        return _dtype_of(rest[0])
    if kind == "array":
        name, content, shape = rest
        array = np.frombuffer(content, _dtype_of(name))
        return array[0] if shape is None else array.reshape(shape).copy()
    if kind == "numpy":
        return getattr(np, rest[0])
    if kind == "method":
        return getattr(getattr(np, rest[0]), rest[1])
    if kind == "partial":
        return functools.partial(_value_of(rest[0]), *map(_value_of, rest[1]))
    if kind != "ours" or not rest[0].startswith(_OURS):
        raise ValueError("no name of ours")
    return getattr(import_module(rest[0]), rest[1])
