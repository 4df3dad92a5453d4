"""Code of matrix products: one product of tall matrices for all programs of a chunk."""

from __future__ import annotations

from typing import Any

import numpy as np

from kvtrace.evaluate.plan import torch_kernels
from kvtrace.evaluate.plan.code.cells import Cell
from kvtrace.evaluate.plan.code.writer import Writer, listed
from kvtrace.evaluate.plan.instructions import Dot
from kvtrace.evaluate.plan.layouts import Layout, folding, identity
from kvtrace.evaluate.plan.values import Register


def write_product(
    writer: Writer, dot: Dot, depth: int, dying: set[Register]
) -> frozenset[Register]:
    """Write a product plus its addend; return the addend (if any) whose cell it reuses."""
    register = dot.target
    assert register is not None
    left, right = dot.sources()[:2]
    addend = dot.sources()[2] if len(dot.operands) > 2 else None
    cell = writer.cell_of(register)
    axes = tuple(a or b for a, b in zip(left.axes, right.axes, strict=True))
    product = Cell(axes, register.lanes, register.dtype, writer.layouts.of_product(dot))
    if addend is None or (addend not in dying and product == cell):
        name = writer.into_cell(register)
        _multiply(writer, dot, name, product.layout, depth)
        if addend is not None:
            _add(writer, writer.names[addend], name, name, depth)
        return frozenset()
    reuses_addend = addend in dying and writer.cell_of(addend) == cell
    name = writer.into_cell(register, writer.names[addend] if reuses_addend else None)
    if reuses_addend and writer.torch and product == cell:
        _multiply(writer, dot, name, product.layout, depth, onto=True)
        return frozenset({addend})
    scratch = writer.take(product)
    _multiply(writer, dot, scratch, product.layout, depth)
    _add(writer, writer.names[addend], scratch, name, depth)
    writer.free[product].append(scratch)
    return frozenset({addend}) if reuses_addend else frozenset()


def _add(writer: Writer, first: str, second: str, out: str, depth: int) -> None:
    writer.write(depth, f"{writer.constant(np.add, 'f')}({first}, {second}, {out})")


def _multiply(
    writer: Writer,
    dot: Dot,
    out: str,
    layout: Layout,
    depth: int,
    *,
    onto: bool = False,
) -> None:
    """Write a product, as one of tall matrices, into `out`; with `onto`, added to `out`."""
    left, right = dot.sources()[:2]
    fold, count = folding(left, right), len(writer.axes)
    rank = len(left.lanes)
    batch = tuple(range(count, count + rank - 2))
    row, column = count + rank - 2, count + rank - 1
    shared = (*fold.shared, *fold.neither, *batch)
    stack = [f"n{axis}" for axis in fold.shared] + writer.numbers(left.lanes[:-2])
    sizes = ["*".join(stack)] if stack else []
    rows = "*".join([*(f"n{axis}" for axis in fold.left), *writer.numbers(left.lanes[-2:-1])])
    columns = "*".join([*(f"n{axis}" for axis in fold.right), *writer.numbers(right.lanes[-1:])])
    (inner,) = writer.numbers(left.lanes[-1:])
    if writer.layouts.transposed:
        left_order = (*shared, *fold.right, column, *fold.left, row)
        right_order = (*shared, *fold.left, *fold.right, column, row)
        left_code = _as_matrices(writer, right, right_order, [*sizes, columns, inner])
        right_code = _as_matrices(writer, left, left_order, [*sizes, inner, rows])
        shape = [*sizes, columns, rows]
    else:
        left_order = (*shared, *fold.right, *fold.left, row, column)
        right_order = (*shared, *fold.left, row, *fold.right, column)
        left_code = _as_matrices(writer, left, left_order, [*sizes, rows, inner])
        right_code = _as_matrices(writer, right, right_order, [*sizes, inner, columns])
        shape = [*sizes, rows, columns]
    if layout != tuple(range(len(layout))):
        out += f".transpose({listed(layout)})"
    function = writer.constant(_torch_function(onto=onto) if writer.torch else np.matmul, "f")
    writer.write(depth, f"{function}({left_code}, {right_code}, {out}.reshape({listed(shape)}))")


def _torch_function(*, onto: bool) -> Any:
    return torch_kernels.multiplied_onto if onto else torch_kernels.multiplied


def _as_matrices(writer: Writer, register: Register, order: Layout, shape: list[str]) -> str:
    """Return the code of a register transposed and reshaped to a stack of matrices."""
    name = writer.names[register]
    if order != identity(register):
        name += f".transpose({listed(order)})"
    return f"{name}.reshape({listed(shape)})"
