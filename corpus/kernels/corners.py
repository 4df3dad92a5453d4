"""Kernels in little-used corners of the language, each asked about with a guess written first."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def chosen(c, out, N: tl.constexpr):
    """A condition that is no Boolean."""
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.where(tl.load(c + lanes), 1, 2))


@triton.jit
def branched(x, y, out):
    """Conditions of scalars that are no Booleans: 1 and 2 are added for each that holds."""
    total = 0
    if tl.load(x + tl.program_id(0)):
        total += 1
    if tl.load(y + tl.program_id(0)):
        total += 2
    tl.store(out + tl.program_id(0), total)


@triton.jit
def copied(x, out, N: tl.constexpr):
    """A store that converts."""
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes))


@triton.jit
def filled(x, out, OTHER: tl.constexpr, N: tl.constexpr):
    """Values of masked-off lanes, of a type that cannot hold `OTHER`."""
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < 1, other=OTHER))


@triton.jit
def filled_scalar(x, out, flag):
    tl.store(out, tl.load(x, mask=flag > 0, other=7))
    tl.store(out + 1, tl.load(x, mask=flag <= 0, other=7))


@triton.jit
def filled_rows(x, out, M: tl.constexpr, N: tl.constexpr):
    """A mask of rows and `other` of columns, both broadcast."""
    m, n = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(out + m * N + n, tl.load(x + m * N + n, mask=m % 2 == 0, other=n * 10))


@triton.jit
def mixed(x, y, out, OP: tl.constexpr, N: tl.constexpr):
    """Operators on two types."""
    lanes = tl.arange(0, N)
    a, b = tl.load(x + lanes), tl.load(y + lanes)
    if OP == ">>":
        r = a >> b
    elif OP == "<":
        r = a < b
    elif OP == "==":
        r = a == b
    elif OP == "/":
        r = a / b
    elif OP == "maximum":
        r = tl.maximum(a, b)
    elif OP == "%":
        r = a % b
    else:
        tl.static_assert(OP == "where")
        r = tl.where(a > 0, a, b)
    tl.store(out + lanes, r)


@triton.jit
def with_number(x, out, OP: tl.constexpr, C: tl.constexpr, N: tl.constexpr):
    """Operators on a block and a number of Python's."""
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes)
    if OP == "+":
        r = a + C
    elif OP == "-":
        r = a - C
    elif OP == "number -":
        r = C - a
    elif OP == "*":
        r = a * C
    elif OP == "/":
        r = a / C
    elif OP == "//":
        r = a // C
    elif OP == "%":
        r = a % C
    elif OP == "maximum":
        r = tl.maximum(a, C)
    elif OP == "pow":
        r = libdevice.pow(a, C)
    else:
        tl.static_assert(OP == "<")
        r = a < C
    tl.store(out + lanes, r)


@triton.jit
def negated_unsigned(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, (-tl.load(x + lanes)).to(tl.int32))


@triton.jit
def folded(x, out, N: tl.constexpr):
    """Expressions that a compiler would simplify if integers did not wrap around."""
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes)
    tl.store(out + lanes, (a * 2) // 2)
    tl.store(out + N + lanes, (a + 1 > a).to(tl.int32))
    tl.store(out + 2 * N + lanes, (tl.abs(a) >= 0).to(tl.int32))
    tl.store(out + 3 * N + lanes, (a - 1) * (a - 1) // 3)


@triton.jit
def folded_floats(x, out, N: tl.constexpr):
    """Expressions that a compiler would simplify without NaN, infinity and negative zero."""
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes)
    tl.store(out + lanes, a + 0.0)
    tl.store(out + N + lanes, a - 0.0)
    tl.store(out + 2 * N + lanes, 0.0 - a)
    tl.store(out + 3 * N + lanes, a * 0.0)
    tl.store(out + 4 * N + lanes, a - a)
    tl.store(out + 5 * N + lanes, a / a)


@triton.jit
def chained(x, y, z, out, N: tl.constexpr):
    """Two additions, each rounded."""
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes) + tl.load(y + lanes) + tl.load(z + lanes))


@triton.jit
def constant(out, C: tl.constexpr, N: tl.constexpr):
    tl.store(out + tl.arange(0, N), tl.full([N], C, out.dtype.element_ty))


@triton.jit
def summed_as(x, out, DTYPE: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """The sum of a whole matrix, in a type that is named."""
    block = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    if DTYPE == "":
        tl.store(out, tl.sum(block))
    else:
        tl.store(out, tl.sum(block, dtype=getattr(tl, DTYPE)))


@triton.jit
def summed_inside(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    """The middle axis of three, kept, and the last by a negative number."""
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    block = tl.load(x + a[:, None, None] * B * C + b[None, :, None] * C + c[None, None, :])
    middle = tl.sum(block, axis=1, keep_dims=True)
    tl.store(out + a[:, None, None] * C + c[None, None, :], middle)
    last = tl.max(block, axis=-1)
    tl.store(out + A * C + a[:, None] * B + b[None, :], last)


@triton.jit
def summed_running(x, out, NAME: tl.constexpr, REVERSE: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, getattr(tl, NAME)(tl.load(x + lanes), 0, reverse=REVERSE))


@triton.jit
def summed_running_as(x, out, DTYPE: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.cumsum(tl.load(x + lanes), 0, dtype=getattr(tl, DTYPE)))


@triton.jit
def _composed(a, b, c, d):
    """x -> a x + b, then x -> c x + d: no order but the given one gives this."""
    return a * c, b * c + d


@triton.jit
def maps_composed(x, y, out, REVERSE: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    both = (tl.load(x + lanes), tl.load(y + lanes))
    a, b = tl.associative_scan(both, 0, _composed, reverse=REVERSE)
    tl.store(out + lanes, a)
    tl.store(out + N + lanes, b)


@triton.jit
def _first(a, b):
    return a


@triton.jit
def first_of_three_axes(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    place = a[:, None, None] * B * C + b[None, :, None] * C + c[None, None, :]
    tl.store(out + place, tl.associative_scan(tl.load(x + place), 1, _first, reverse=True))


@triton.jit
def _larger_with_place(a, i, b, j):
    later = b > a
    return tl.where(later, b, a), tl.where(later, j, i)


@triton.jit
def running_place(x, out, N: tl.constexpr):
    """A scan of a float and a 64-bit integer."""
    lanes = tl.arange(0, N)
    both = (tl.load(x + lanes), lanes.to(tl.int64))
    _, places = tl.associative_scan(both, 0, _larger_with_place)
    tl.store(out + lanes, places)


@triton.jit
def _three(a, b, c, d, e, f):
    return a + d, tl.maximum(b, e), c + f


@triton.jit
def reduced_together(x, out, M: tl.constexpr, N: tl.constexpr):
    """Sum, maximum and count along rows, of three types."""
    block = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    ones = tl.full((M, N), 1, tl.int64)
    total, largest, count = tl.reduce((block, block.to(tl.float32), ones), 0, _three)
    n = tl.arange(0, N)
    tl.store(out + n, total)
    tl.store(out + N + n, largest.to(tl.int32))
    tl.store(out + 2 * N + n, count)


@triton.jit
def largest_with_place(x, out, places, M: tl.constexpr, N: tl.constexpr):
    block = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    value, place = tl.max(block, 0, return_indices=True, keep_dims=True)
    n = tl.arange(0, N)[None, :]
    tl.store(out + n, value)
    tl.store(places + n, place)


@triton.jit
def sorted_cube(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    place = a[:, None, None] * B * C + b[None, :, None] * C + c[None, None, :]
    tl.store(out + place, tl.sort(tl.load(x + place), descending=True))


@triton.jit
def first_of_all(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + tl.arange(0, 2), tl.topk(tl.load(x + lanes), 2))


@triton.jit
def counted_few(x, out, N: tl.constexpr, BINS: tl.constexpr):
    """A histogram that leaves the lanes of a mask."""
    lanes = tl.arange(0, N)
    bins = tl.histogram(tl.load(x + lanes), BINS, mask=lanes % 4 != 0)
    tl.store(out + tl.arange(0, BINS), bins)


@triton.jit
def gathered_fewer(x, index, out, M: tl.constexpr, N: tl.constexpr, R: tl.constexpr):
    """More rows than are asked for."""
    n = tl.arange(0, N)[None, :]
    block = tl.load(x + tl.arange(0, M)[:, None] * N + n)
    r = tl.arange(0, R)[:, None] * N + n
    tl.store(out + r, tl.gather(block, tl.load(index + r), 0))


@triton.jit
def woven(x, y, out, N: tl.constexpr):
    """Join, split, interleave and permute: bits alone are moved."""
    lanes = tl.arange(0, N)
    a, b = tl.load(x + lanes), tl.load(y + lanes)
    mixed_lanes = tl.interleave(a, b)
    even, odd = tl.split(tl.reshape(mixed_lanes, (N // 2, 2, 2)))
    rows = tl.permute(tl.join(even, odd), (2, 0, 1))
    tl.store(out + tl.arange(0, 2 * N), tl.reshape(tl.flip(rows, 1), (2 * N,)))


@triton.jit
def distances(x, out):
    """Pointers as integers."""
    tl.store(out, (x + 5).to(tl.int64) - x.to(tl.int64))
    tl.store(out + 1, ((x + 3).to(tl.uint64) - (x + 1).to(tl.uint64)).to(tl.int64))


@triton.jit
def halves(x, out, N: tl.constexpr):
    """Floats read as 16-bit integers."""
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x.to(tl.pointer_type(tl.int16)) + lanes))


@triton.jit
def by_integers(x, out, N: tl.constexpr):
    """A pointer made of an integer."""
    lanes = tl.arange(0, N)
    place = x.to(tl.int64) + lanes * 8
    tl.store(out + lanes, tl.load(place.to(tl.pointer_type(tl.float32))))


@triton.jit
def counted_programs(counter, total, N: tl.constexpr):
    """An atomic of one scalar counts programs, not threads."""
    before = tl.atomic_add(counter, 1)
    tl.atomic_add(total, before)
    tl.atomic_max(counter + 1, tl.program_id(0) - 9)
    tl.atomic_xor(counter + 2, (tl.program_id(0) + 1) * N)


@triton.jit
def added_unread(x, memory, N: tl.constexpr):
    """An atomic addition whose old value nobody reads."""
    lanes = tl.arange(0, N)
    tl.atomic_add(memory + lanes, tl.load(x + lanes))


@triton.jit
def won(lock, winners):
    """One program alone finds the lock free."""
    free = tl.atomic_cas(lock, 0, 5) == 0
    tl.atomic_add(winners, free.to(tl.int32))


@triton.jit
def window(
    x, out, row, column, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STRIDE: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, PADDING: tl.constexpr,
):  # fmt: skip
    """A block of a descriptor that reaches over its edges."""
    source = tl.make_tensor_descriptor(
        x, [ROWS, COLUMNS], [STRIDE, 1], [M, N], padding_option=PADDING
    )
    tl.store(
        out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], source.load([row, column])
    )


@triton.jit
def window_of_one(x, out, start, SIZE: tl.constexpr, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [SIZE], [1], [N])
    tl.store(out + tl.arange(0, N), source.load([start]))


@triton.jit
def clipped(x, out, row, column, ROWS: tl.constexpr, COLUMNS: tl.constexpr, B: tl.constexpr):
    """A store that a descriptor cuts off at its upper edges."""
    block = tl.load(x + tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :])
    tl.make_tensor_descriptor(out, [ROWS, COLUMNS], [COLUMNS, 1], [B, B]).store(
        [row, column], block
    )


@triton.jit
def block_window(x, out, row, column, ROWS: tl.constexpr, COLUMNS: tl.constexpr, B: tl.constexpr):
    """A block pointer, by columns, that is checked along both axes."""
    source = tl.make_block_ptr(x, (ROWS, COLUMNS), (1, ROWS), (row, column), (B, B), (0, 1))
    block = tl.load(source, boundary_check=(0, 1), padding_option="zero")
    tl.store(out + tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :], block)


@triton.jit
def product_with(
    a, b, c, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BY_COLUMNS: tl.constexpr
):
    """A product that is added to a start, of factors as they are or transposed."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + m[:, None] * K + k[None, :])
    if BY_COLUMNS:
        right = tl.trans(tl.load(b + n[:, None] * K + k[None, :]))
    else:
        right = tl.load(b + k[:, None] * N + n[None, :])
    start = tl.load(c + m[:, None] * N + n[None, :])
    total = tl.dot(left, right, start, out_dtype=c.dtype.element_ty)
    tl.store(out + m[:, None] * N + n[None, :], total)


@triton.jit
def batched(a, b, out, B: tl.constexpr, M: tl.constexpr, K: tl.constexpr):
    i, m, k = tl.arange(0, B)[:, None, None], tl.arange(0, M), tl.arange(0, K)
    left = tl.load(a + i * M * K + m[None, :, None] * K + k[None, None, :])
    right = tl.load(b + i * M * K + k[None, :, None] * M + m[None, None, :])
    place = i * M * M + m[None, :, None] * M + m[None, None, :]
    tl.store(out + place, tl.dot(left, right))


@triton.jit
def counted_down(out, n):
    """Loops that count down, that have no trip, and that end by a condition on data."""
    total = 0
    for i in range(10, 0, -3):
        total += i
    tl.store(out, total)
    total = 5
    for i in range(n, 0):
        total += i
    tl.store(out + 1, total)
    total = 0
    for i in tl.range(n, -n, -2):
        total = total * 10 + i
    tl.store(out + 2, total)
    while total > 3:
        total = total // 2 - 1
    tl.store(out + 3, total)


@triton.jit
def exchanged(out, n):
    """Carried values that trade places, until they wrap around."""
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    tl.store(out, a)
    tl.store(out + 1, b)


# Before Triton 3.9 a square block is divided by other sums: findings/triton_softmax_rows.sh
@triton.jit
def of_softmax(x, out, KEEP: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + place, tl.softmax(tl.load(x + place), 1, keep_dims=KEEP))


@triton.jit
def assembled(x, y, out, CODE: tl.constexpr, KINDS: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    operands = [tl.load(x + lanes), tl.load(y + lanes)]
    tl.store(out + lanes, tl.inline_asm_elementwise(
        CODE, KINDS, operands, dtype=out.dtype.element_ty, is_pure=True, pack=1
    ))  # fmt: skip


@triton.jit
def fused_in_sum(x, y, out, M: tl.constexpr, N: tl.constexpr):
    """A sum of products, whose additions may take the products unrounded."""
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + tl.arange(0, M), tl.sum(tl.load(x + place) * tl.load(y + place), 1))


@triton.jit
def two_products(x, y, z, out, N: tl.constexpr):
    """x * y - z, z - x * y and x * y + y * z: which product keeps its bits?"""
    lanes = tl.arange(0, N)
    a, b, c = tl.load(x + lanes), tl.load(y + lanes), tl.load(z + lanes)
    tl.store(out + lanes, a * b - c)
    tl.store(out + N + lanes, c - a * b)
    tl.store(out + 2 * N + lanes, a * b + b * c)
