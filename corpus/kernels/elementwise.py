"""Kernels that apply one function or operator, named by a constant, to every element."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def of_one(x, out, NAME: tl.constexpr, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + lanes, getattr(tl, NAME)(tl.load(x + lanes)))


@triton.jit
def of_two(x, y, out, NAME: tl.constexpr, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + lanes, getattr(tl, NAME)(tl.load(x + lanes), tl.load(y + lanes)))


@triton.jit
def of_three(x, y, z, out, NAME: tl.constexpr, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    a, b, c = tl.load(x + lanes), tl.load(y + lanes), tl.load(z + lanes)
    tl.store(out + lanes, getattr(tl, NAME)(a, b, c))


@triton.jit
def library_of_one(x, out, NAME: tl.constexpr, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + lanes, getattr(libdevice, NAME)(tl.load(x + lanes)))


@triton.jit
def library_of_two(x, y, out, NAME: tl.constexpr, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + lanes, getattr(libdevice, NAME)(tl.load(x + lanes), tl.load(y + lanes)))


@triton.jit
def library_of_three(x, y, z, out, NAME: tl.constexpr, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    a, b, c = tl.load(x + lanes), tl.load(y + lanes), tl.load(z + lanes)
    tl.store(out + lanes, getattr(libdevice, NAME)(a, b, c))


@triton.jit
def library_of_four(x, y, z, w, out, NAME: tl.constexpr, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    a, b, c, d = tl.load(x + lanes), tl.load(y + lanes), tl.load(z + lanes), tl.load(w + lanes)
    tl.store(out + lanes, getattr(libdevice, NAME)(a, b, c, d))


@triton.jit
def operator(x, y, out, OP: tl.constexpr, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    a, b = tl.load(x + lanes), tl.load(y + lanes)
    if OP == "+":
        r = a + b
    elif OP == "-":
        r = a - b
    elif OP == "*":
        r = a * b
    elif OP == "/":
        r = a / b
    elif OP == "//":
        r = a // b
    elif OP == "%":
        r = a % b
    elif OP == "&":
        r = a & b
    elif OP == "|":
        r = a | b
    elif OP == "^":
        r = a ^ b
    elif OP == "<<":
        r = a << b
    elif OP == ">>":
        r = a >> b
    elif OP == "==":
        r = a == b
    elif OP == "!=":
        r = a != b
    elif OP == "<":
        r = a < b
    elif OP == "<=":
        r = a <= b
    elif OP == ">":
        r = a > b
    elif OP == ">=":
        r = a >= b
    elif OP == "where":
        r = tl.where(a > b, a, b)
    elif OP == "maximum, NaN kept":
        r = tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
    else:
        tl.static_assert(OP == "minimum, NaN kept")
        r = tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out + lanes, r)


@triton.jit
def unary_operator(x, out, OP: tl.constexpr, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    a = tl.load(x + lanes)
    if OP == "-x":
        r = -a
    elif OP == "~x":
        r = ~a
    else:
        tl.static_assert(OP == "not x")
        r = not a
    tl.store(out + lanes, r)


@triton.jit
def clamped(x, low, high, out, KEEP: tl.constexpr, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    a, b, c = tl.load(x + lanes), tl.load(low + lanes), tl.load(high + lanes)
    if KEEP:  # noqa: SIM108
        r = tl.clamp(a, b, c, propagate_nan=tl.PropagateNan.ALL)
    else:
        r = tl.clamp(a, b, c)
    tl.store(out + lanes, r)


@triton.jit
def converted(x, out, ROUNDING: tl.constexpr, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    a = tl.load(x + lanes)
    if ROUNDING == "":
        r = a.to(out.dtype.element_ty)
    else:
        r = a.to(out.dtype.element_ty, fp_downcast_rounding=ROUNDING)
    tl.store(out + lanes, r)


@triton.jit
def recast(x, out, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes).to(out.dtype.element_ty, bitcast=True))


@triton.jit
def multiplied_and_added(x, y, z, out, N: tl.constexpr):
    """Store x * y + z, a product and a sum that the compiler may fuse."""
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes) * tl.load(y + lanes) + tl.load(z + lanes))
