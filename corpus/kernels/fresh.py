"""Kernels of further little-used corners, asked about after `corners.py`; guesses came first."""

import triton
import triton.language as tl


@triton.jit
def product_used_twice(x, y, z, out, N: tl.constexpr):
    """A product that is stored, added and subtracted from."""
    lanes = tl.arange(0, N)
    c = tl.load(z + lanes)
    product = tl.load(x + lanes) * tl.load(y + lanes)
    tl.store(out + lanes, product)
    tl.store(out + N + lanes, product + c)
    tl.store(out + 2 * N + lanes, c - product)


@triton.jit
def products_alone(x, y, out, N: tl.constexpr):
    """A product with itself, less itself, and squares."""
    lanes = tl.arange(0, N)
    a, b = tl.load(x + lanes), tl.load(y + lanes)
    tl.store(out + lanes, a * b + a * b)
    tl.store(out + N + lanes, a * b - a * b)
    tl.store(out + 2 * N + lanes, a * a - b * b)


@triton.jit
def product_negated(x, y, z, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, -(tl.load(x + lanes) * tl.load(y + lanes)) + tl.load(z + lanes))


@triton.jit
def product_widened(x, y, z, out, N: tl.constexpr):
    """A product in a narrow type, added in float32."""
    lanes = tl.arange(0, N)
    product = tl.load(x + lanes) * tl.load(y + lanes)
    tl.store(out + lanes, product.to(tl.float32) + tl.load(z + lanes).to(tl.float32))


@triton.jit
def product_narrowed(x, y, z, out, N: tl.constexpr):
    """A product in float32 of narrow factors, made narrow before the addition."""
    lanes = tl.arange(0, N)
    c = tl.load(z + lanes)
    product = tl.load(x + lanes).to(tl.float32) * tl.load(y + lanes).to(tl.float32)
    tl.store(out + lanes, product.to(c.dtype) + c)


@triton.jit
def product_in_loop(x, y, z, out, n, N: tl.constexpr):
    """A product made before a loop that adds it."""
    lanes = tl.arange(0, N)
    product, total = tl.load(x + lanes) * tl.load(y + lanes), tl.load(z + lanes)
    for _ in range(n):
        total += product
    tl.store(out + lanes, total)


@triton.jit
def products_in_loop(x, y, z, out, n, N: tl.constexpr):
    """A carried sum of products, as a dot by hand."""
    lanes = tl.arange(0, N)
    total = tl.load(z + lanes)
    for i in range(n):
        total += tl.load(x + i * N + lanes) * tl.load(y + i * N + lanes)
    tl.store(out + lanes, total)


@triton.jit
def product_in_branch(x, y, z, out, flag, N: tl.constexpr):
    lanes = tl.arange(0, N)
    total = tl.load(x + lanes) * tl.load(y + lanes)
    if flag > 0:
        total = total + tl.load(z + lanes)
    tl.store(out + lanes, total)


@triton.jit
def product_chosen(x, y, z, out, N: tl.constexpr):
    """A choice stands between a product and the sum."""
    lanes = tl.arange(0, N)
    c = tl.load(z + lanes)
    product = tl.load(x + lanes) * tl.load(y + lanes)
    tl.store(out + lanes, tl.where(c < 0, product, 0.0) + c)


@triton.jit
def product_spread(x, y, z, out, M: tl.constexpr, N: tl.constexpr):
    """Products of rows, spread along columns before the sum."""
    m, n = tl.arange(0, M), tl.arange(0, N)
    product = tl.load(x + m) * tl.load(y + m)
    tl.store(out + m[:, None] * N + n[None, :], product[:, None] + tl.load(z + n)[None, :])


@triton.jit
def product_of_scalars(x, y, z, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x) * tl.load(y) + tl.load(z + lanes))


@triton.jit
def product_by_number(x, z, out, C: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes) * C + tl.load(z + lanes))


@triton.jit
def by_horner(x, out, N: tl.constexpr):
    """A polynomial of degree 3, whose products are all fused, in float32."""
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes)
    tl.store(out + lanes, ((a * 0.1 + 0.7) * a - 0.3) * a + 1.1)


@triton.jit
def interpolated(x, y, z, out, N: tl.constexpr):
    """a + t (b - a), and (1 - t) a + t b."""
    lanes = tl.arange(0, N)
    a, b, t = tl.load(x + lanes), tl.load(y + lanes), tl.load(z + lanes)
    tl.store(out + lanes, a + t * (b - a))
    tl.store(out + N + lanes, (1 - t) * a + t * b)


@triton.jit
def divided_and_added(x, y, z, out, N: tl.constexpr):
    """A quotient rounded as IEEE 754 says, then a sum."""
    lanes = tl.arange(0, N)
    quotient = tl.div_rn(tl.load(x + lanes), tl.load(y + lanes))
    tl.store(out + lanes, quotient + tl.load(z + lanes))


@triton.jit
def divided_constants(x, out, A: tl.constexpr, B: tl.constexpr):
    """Python's division of constants, and the machine's of what is loaded."""
    tl.store(out, A // B)
    tl.store(out + 1, A % B)
    tl.store(out + 2, tl.load(x) // B)
    tl.store(out + 3, tl.load(x) % B)


@triton.jit
def read_as_boolean(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    flag = tl.load(x + lanes)
    tl.store(out + lanes, tl.where(flag, 1, 2))
    tl.store(out + N + lanes, flag.to(tl.int32))


@triton.jit
def converted_to_boolean(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes).to(tl.int1).to(tl.int32))


@triton.jit
def converted(x, out, DTYPE: tl.constexpr, N: tl.constexpr):
    """A conversion that is named, then the store's own."""
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes).to(getattr(tl, DTYPE)))


@triton.jit
def of_two(x, y, out, OP: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    a, b = tl.load(x + lanes), tl.load(y + lanes)
    if OP == "^":
        r = a ^ b
    elif OP == "+":
        r = a + b
    elif OP == "*":
        r = a * b
    elif OP == "/":
        r = a / b
    elif OP == "<<":
        r = a << b
    elif OP == "<":
        r = a < b
    elif OP == "&":
        r = a & b
    else:
        tl.static_assert(OP == "cdiv")
        r = tl.cdiv(a, b)
    tl.store(out + lanes, r)


@triton.jit
def of_one(x, out, OP: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes)
    if OP == "~":
        r = ~a
    elif OP == "abs":
        r = tl.abs(a)
    elif OP == "-":
        r = -a
    else:
        tl.static_assert(OP == "+ 1e-8")
        r = a + 1e-8
    tl.store(out + lanes, r)


@triton.jit
def with_constant(x, out, OP: tl.constexpr, C: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes)
    if OP == "+":
        r = a + C
    elif OP == "*":
        r = a * C
    elif OP == "<<":
        r = a << C
    elif OP == ">>":
        r = a >> C
    elif OP == "&":
        r = a & C
    elif OP == "number /":
        r = C / a
    else:
        tl.static_assert(OP == "number //")
        r = C // a
    tl.store(out + lanes, r)


@triton.jit
def _first_of_two(a, b):
    return a


@triton.jit
def _complex_product(a, b, c, d):
    return a * c - b * d, a * d + b * c


@triton.jit
def reduced_to_first(x, out, N: tl.constexpr):
    tl.store(out, tl.reduce(tl.load(x + tl.arange(0, N)), 0, _first_of_two))


@triton.jit
def complex_products(x, y, out, M: tl.constexpr, N: tl.constexpr):
    """Products of complex integers along rows."""
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    real, other = tl.reduce((tl.load(x + place), tl.load(y + place)), 1, _complex_product)
    tl.store(out + tl.arange(0, M), real)
    tl.store(out + M + tl.arange(0, M), other)


@triton.jit
def summed_wide(x, out, M: tl.constexpr, N: tl.constexpr):
    """Sums of rows, in float32."""
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + tl.arange(0, M), tl.sum(tl.load(x + place), 1, dtype=tl.float32))


@triton.jit
def extremes_of_all(x, out, M: tl.constexpr, N: tl.constexpr):
    """Extremes of all elements, kept as a block, and the exclusive or."""
    block = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    zero = tl.arange(0, 1)[:, None] + tl.arange(0, 1)[None, :]
    tl.store(out + zero, tl.max(block, keep_dims=True))
    tl.store(out + 1 + zero, tl.min(block, keep_dims=True))
    tl.store(out + 2, tl.xor_sum(block.to(tl.int32)))


@triton.jit
def least_with_place(x, out, places, M: tl.constexpr, N: tl.constexpr):
    block = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    value, place = tl.min(block, 1, return_indices=True)
    tl.store(out + tl.arange(0, M), value)
    tl.store(places + tl.arange(0, M), place)


@triton.jit
def scalars_joined(x, out):
    """Join and split of scalars."""
    a, b = tl.split(tl.join(tl.load(x), tl.load(x + 1)))
    tl.store(out + tl.arange(0, 2), tl.join(b, a))
    tl.store(out + 2, a)


@triton.jit
def turned(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, D: tl.constexpr):
    """Four axes in another order."""
    lanes = tl.arange(0, A * B * C * D)
    block = tl.reshape(tl.load(x + lanes), (A, B, C, D))
    tl.store(out + lanes, tl.ravel(tl.permute(block, (3, 1, 0, 2))))


@triton.jit
def flipped_first(x, out, M: tl.constexpr, N: tl.constexpr):
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + place, tl.flip(tl.load(x + place), 0))


@triton.jit
def gathered_columns(x, index, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    block = tl.load(x + m * N + tl.arange(0, N)[None, :])
    place = m * K + tl.arange(0, K)[None, :]
    tl.store(out + place, tl.gather(block, tl.load(index + place), 1))


@triton.jit
def window_of_three(x, out, a, b, c, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    """A descriptor of three axes, read over its edges."""
    source = tl.make_tensor_descriptor(x, [A, B, C], [B * C, C, 1], [2, 4, 16])
    i, j, k = tl.arange(0, 2), tl.arange(0, 4), tl.arange(0, 16)
    place = i[:, None, None] * 64 + j[None, :, None] * 16 + k[None, None, :]
    tl.store(out + place, source.load([a, b, c]))


@triton.jit
def clipped_addition(x, out, row, column, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """An atomic addition that a descriptor cuts off at its upper edges."""
    place = tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :]
    block = tl.load(x + place)
    target = tl.make_tensor_descriptor(out, [ROWS, COLUMNS], [COLUMNS, 1], [8, 16])
    target.atomic_add([row, column], block)


@triton.jit
def moved_window(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr, B: tl.constexpr):
    """A block pointer that is advanced, also backward, and stores inside its edges."""
    target = tl.make_block_ptr(out, (ROWS, COLUMNS), (COLUMNS, 1), (B, 0), (B, B), (1, 0))
    block = tl.load(x + tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :])
    tl.store(target, block, boundary_check=(0, 1))
    target = tl.advance(target, (-2 * B + 1, B))
    tl.store(target, block * 2, boundary_check=(0, 1))


@triton.jit
def assembled_three(x, y, z, out, CODE: tl.constexpr, KINDS: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    operands = [tl.load(x + lanes), tl.load(y + lanes), tl.load(z + lanes)]
    tl.store(out + lanes, tl.inline_asm_elementwise(
        CODE, KINDS, operands, dtype=out.dtype.element_ty, is_pure=True, pack=1
    ))  # fmt: skip


@triton.jit
def few_rounds(out, seed, ROUNDS: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.randint(seed, lanes, n_rounds=ROUNDS))


@triton.jit
def _steps_to_one(n):
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@triton.jit
def mapped(x, out, N: tl.constexpr):
    """A function of one element, with a loop and branches of its own."""
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.map_elementwise(_steps_to_one, tl.load(x + lanes)))


@triton.jit
def left_early(x, out):
    """A program that returns early, nested loops, and an end that data decides."""
    program = tl.program_id(0)
    if program == 1:
        return
    total = 0
    for i in range(program + 2):
        for j in range(i, tl.load(x + program)):
            total += i * 10 + j
    tl.store(out + program, total)


@triton.jit
def chosen_scalars(x, out, n):
    """Conditional expressions, `and` and `or` of scalars."""
    a = tl.load(x)
    b = tl.load(x + 1)
    tl.store(out, a if n > 2 else b)
    tl.store(out + 1, 1 if (a > 0 and b > 0) else 2)
    tl.store(out + 2, 3 if (a > 0 or b > 0) else 4)
    tl.store(out + 3, 5 if a == 0 else 6)
    tl.store(out + 4, min(a, b) * 100 + max(a, n))


@triton.jit
def unrolled_backward(x, out, N: tl.constexpr):
    """A loop of constants that runs down, and one that is unrolled."""
    total = 0
    for i in tl.static_range(N, -N, -3):
        total = total * 2 + i
    for i in tl.range(0, N, 1, loop_unroll_factor=2):
        total += i * tl.load(x)
    tl.store(out, total)


@triton.jit
def masked_by_numbers(x, out, N: tl.constexpr):
    """A mask that is false where there is no number."""
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes)
    tl.store(out + lanes, a * 2, mask=a == a)


@triton.jit
def atomic_with_mask(x, memory, old, NAME: tl.constexpr, N: tl.constexpr):
    """An atomic of every other lane, relaxed, in the scope of a block of threads."""
    lanes = tl.arange(0, N)
    before = getattr(tl, NAME)(
        memory + lanes, tl.load(x + lanes), mask=lanes % 2 == 0, sem="relaxed", scope="cta"
    )
    tl.store(old + lanes, before, mask=lanes % 2 == 0)


@triton.jit
def small_product(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + m[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(out + m[:, None] * N + n[None, :], tl.dot(left, right))


@triton.jit
def largest_rows(x, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    block = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    place = tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :]
    tl.store(out + place, tl.topk(block, K))


@triton.jit
def counted_rows(x, out, M: tl.constexpr, N: tl.constexpr):
    """A reversed running sum along rows, and a running extreme along columns."""
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    block = tl.load(x + place)
    tl.store(out + place, tl.cumsum(block, 1, reverse=True))
    tl.store(out + M * N + place, tl.associative_scan(block, 0, _larger, reverse=True))


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def spread_flag(x, y, out, flag, N: tl.constexpr):
    """A scalar condition of a choice between blocks, and axes added on both sides."""
    lanes = tl.arange(0, N)
    chosen = tl.where(flag > 0, tl.load(x + lanes), tl.load(y + lanes))
    wide = tl.expand_dims(chosen, (0, -1))
    place = lanes[None, :, None] * 2 + tl.arange(0, 2)[None, None, :]
    tl.store(out + place, tl.broadcast_to(wide, (1, N, 2)))


@triton.jit
def complex_multiplied(x, y, z, w, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    a, b, c, d = (
        tl.load(x + lanes), tl.load(y + lanes), tl.load(z + lanes), tl.load(w + lanes)
    )  # fmt: skip
    tl.store(out + lanes, a * c - b * d)
    tl.store(out + N + lanes, a * d + b * c)


@triton.jit
def products_shared(x, y, z, out, N: tl.constexpr):
    """Of two products the first is used again; three squares; a difference from a mean's square."""
    lanes = tl.arange(0, N)
    a, b, c = tl.load(x + lanes), tl.load(y + lanes), tl.load(z + lanes)
    product = a * b
    tl.store(out + lanes, product - b * c)
    tl.store(out + N + lanes, product)
    tl.store(out + 2 * N + lanes, a * a + b * b + c * c)
    tl.store(out + 3 * N + lanes, c * 0.25 - a * a)


@triton.jit
def scaled_by_scalar(x, y, z, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes) * tl.load(y) - tl.load(z + lanes))


@triton.jit
def product_and_zero(x, y, out, N: tl.constexpr):
    """A product plus zero, less zero, and taken from zero."""
    lanes = tl.arange(0, N)
    a, b = tl.load(x + lanes), tl.load(y + lanes)
    tl.store(out + lanes, a * b + 0.0)
    tl.store(out + N + lanes, a * b - 0.0)
    tl.store(out + 2 * N + lanes, 0.0 - a * b)


@triton.jit
def joined_and_summed(x, y, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    pairs = tl.join(tl.load(x + lanes), tl.load(y + lanes))
    tl.store(out + lanes, tl.sum(pairs, -1))
    tl.store(out + N, tl.sum(tl.max(pairs, 1)))


@triton.jit
def transposed(x, out, M: tl.constexpr, N: tl.constexpr):
    block = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out + tl.arange(0, M * N), tl.reshape(block.T, (M * N,)))


@triton.jit
def pointers_carried(x, out, n, N: tl.constexpr):
    """Pointers that a loop moves, down and up."""
    lanes = tl.arange(0, N)
    source = x + (n - 1) * N + lanes
    target = out + lanes
    for _ in range(n):
        tl.store(target, tl.load(source))
        source -= N
        target += N


@triton.jit
def _factorial(n: tl.constexpr):
    if n <= 1:
        return 1
    else:  # noqa: RET505 - Triton refuses code after a constant condition's return
        return n * _factorial(n - 1)


@triton.jit
def _both(pair, scale=2, shift=1):
    first, second = pair
    return second * scale + shift, first


@triton.jit
def called_oddly(x, out):
    """Recursion by constants, tuples, keywords and defaults."""
    a, b = _both((tl.load(x), tl.load(x + 1)), shift=5)
    c, d = _both((a, b), 3)
    tl.store(out, a)
    tl.store(out + 1, b)
    tl.store(out + 2, c)
    tl.store(out + 3, d)
    tl.store(out + 4, _factorial(6))
    tl.store(out + 5, tl.cdiv(-7, 2))


@triton.jit
def two_conditions(x, out, N: tl.constexpr):
    place = 0
    total = 0
    while (place < N) & (total < 10):
        total += tl.load(x + place)
        place += 1
    tl.store(out, total)
    tl.store(out + 1, place)


@triton.jit
def slots_taken(x, counter, out, N: tl.constexpr):
    """Each program takes a slot and marks it."""
    slot = tl.atomic_add(counter, 2)
    tl.store(out + slot, tl.load(x + slot // 2) + 1)
    tl.store(out + slot + 1, tl.num_programs(0) + N)


@triton.jit
def packed(x, y, out, CODE: tl.constexpr, PACK: tl.constexpr, N: tl.constexpr):
    """Assembly on several narrow elements in one register."""
    lanes = tl.arange(0, N)
    operands = [tl.load(x + lanes), tl.load(y + lanes)]
    tl.store(out + lanes, tl.inline_asm_elementwise(
        CODE, "=r,r,r", operands, dtype=out.dtype.element_ty, is_pure=True, pack=PACK
    ))  # fmt: skip


@triton.jit
def uniform_few(out, seed, ROUNDS: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.rand(seed, lanes, n_rounds=ROUNDS))


@triton.jit
def rows_swizzled(out, M: tl.constexpr, N: tl.constexpr, G: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    row, column = tl.swizzle2d(i, j, M, N, G)
    tl.store(out + i * N + j, row * 10 + column)


@triton.jit
def wide_product(a, b, out, N: tl.constexpr):
    """A product of matrices that is transposed and multiplied once more, in the narrow type."""
    n = tl.arange(0, N)
    place = n[:, None] * N + n[None, :]
    left, right = tl.load(a + place), tl.load(b + place)
    once = tl.dot(left, right).to(left.dtype)
    tl.store(out + place, tl.dot(tl.trans(once), right))
