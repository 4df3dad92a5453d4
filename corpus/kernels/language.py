"""Small kernels that use one corner of the language each."""

import triton
import triton.language as tl
from triton.language.extra import cuda


@triton.jit
def _product_and_difference(a, b):
    return a * b + 1, a - b


@triton.jit
def _branching(a, b):
    if a > b:
        return a
    else:  # noqa: RET505
        return b * 2


@triton.jit
def mapped(x, y, out, other_out, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + lanes), tl.load(y + lanes)
    c, d = tl.map_elementwise(_product_and_difference, a, b)
    tl.store(out + lanes, c + d)
    tl.store(other_out + lanes, tl.map_elementwise(_branching, a, b))


@triton.jit
def inline_tanh(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    a = tl.load(x + lanes)
    y = tl.inline_asm_elementwise(
        "tanh.approx.f32 $0, $1;", "=f,f", [a], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(out + lanes, y)


@triton.jit
def unknown_assembly(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    a = tl.load(x + lanes)
    y = tl.inline_asm_elementwise(
        "shfl.sync.bfly.b32 $0, $1, 1, 31, -1;", "=f,f", [a], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(out + lanes, y)


@triton.jit
def swapped_operands(x, y, out, other_out, BLOCK: tl.constexpr):
    """One instruction with operands in another order, and a piece of assembly with two results."""
    lanes = tl.arange(0, BLOCK)
    a, b = tl.load(x + lanes), tl.load(y + lanes)
    difference = tl.inline_asm_elementwise(
        "sub.f32 $0, $2, $1;", "=f,f,f", [a, b], dtype=tl.float32, is_pure=True, pack=1
    )
    total, product = tl.inline_asm_elementwise(
        """
        add.f32 $0, $2, $3;
        mul.f32 $1, $2, $3;
        """,
        "=f,=f,f,f",
        [a, b],
        dtype=(tl.float32, tl.float32),
        is_pure=True,
        pack=1,
    )
    tl.store(out + lanes, difference)
    tl.store(other_out + lanes, total + product)


@triton.jit
def shifted_words(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    a = tl.load(x + lanes)
    shifted = tl.inline_asm_elementwise(
        "shl.b32 $0, $1, 3;", "=r,r", [a], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(out + lanes, shifted)


SOFTPLUS = tl.constexpr("""{
    .reg .pred large;
    setp.gt.f32 large, $1, 20.;
    @large  mov.f32 $0, $1;
    @!large mul.f32 $0, $1, 1.4426950408889634;
    @!large ex2.approx.ftz.f32 $0, $0;
    @!large add.f32 $0, $0, 1.0;
    @!large lg2.approx.ftz.f32 $0, $0;
    @!large mul.f32 $0, $0, 0f3F317218; // ln 2
}""")


@triton.jit
def softplus(x, out, BLOCK: tl.constexpr):
    """A program of predicated instructions, as gates have it."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.inline_asm_elementwise(
        SOFTPLUS, "=r,r", [tl.load(x + lanes)], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(out + lanes, y)


@triton.jit
def bytes_in_fours(x, y, whole, largest, BLOCK: tl.constexpr):
    """Four bytes share a register; results are two tensors of four registers each."""
    lanes = tl.arange(0, BLOCK)
    a, b = tl.inline_asm_elementwise(
        """
        {
            .reg .b8 part<4>;
            mov.b32 {part0, part1, part2, part3}, $8;
            cvt.u32.u8 $0, part0;
            cvt.u32.u8 $1, part1;
            cvt.u32.u8 $2, part2;
            cvt.u32.u8 $3, part3;
        }
        cvt.rn.f32.s32 $4, $0;
        cvt.rn.f32.s32 $5, $1;
        cvt.rn.f32.s32 $6, $2;
        cvt.rn.f32.s32 $7, $3;
        max.f32 $4, $4, $9;
        max.f32 $5, $5, $10;
        max.f32 $6, $6, $11;
        max.f32 $7, $7, $12;
        """,
        "=r,=r,=r,=r,=r,=r,=r,=r,r,r,r,r,r",
        [tl.load(x + lanes), tl.load(y + lanes)],
        dtype=(tl.int32, tl.float32),
        is_pure=True,
        pack=4,
    )
    tl.store(whole + lanes, a)
    tl.store(largest + lanes, b)


@triton.jit
def halves_in_pairs(x, y, out, BLOCK: tl.constexpr):
    """Two bfloat16 numbers share a register."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    z = tl.inline_asm_elementwise(
        "{ .reg .b32 two; mov.b32 two, 0x40004000; fma.rn.bf16x2 $0, $1, two, $2; }",
        "=r,r,r",
        [tl.load(x + lanes), tl.load(y + lanes)],
        dtype=tl.bfloat16,
        is_pure=True,
        pack=2,
    )
    tl.store(out + lanes, z)


@triton.jit
def custom_floats(x, stored, back, BLOCK: tl.constexpr):
    """Triton's own conversion to and from fp8e4b15 is inline assembly."""
    lanes = tl.arange(0, BLOCK)
    narrow = tl.load(x + lanes).to(tl.float8e4b15)
    tl.store(stored + lanes, narrow.to(tl.int8, bitcast=True))
    tl.store(back + lanes, narrow.to(tl.float16))


@triton.jit
def row_by_assembly(x, out, BLOCK: tl.constexpr):
    """Assembly makes the integers that an address depends on."""
    lanes = tl.arange(0, BLOCK)
    place = tl.inline_asm_elementwise(
        "{ .reg .b32 t; mul.lo.s32 t, $1, 2; add.s32 $0, t, 1; }",
        "=r,r", [lanes], dtype=tl.int32, is_pure=True, pack=1,
    )  # fmt: skip
    tl.store(out + lanes, tl.load(x + place))


@triton.jit
def asks_the_processor(out):
    cuda.gdc_wait()
    begin = cuda.globaltimer()
    tl.store(out, begin)
    tl.store(out + 1, cuda.smid().to(tl.int64))
    tl.store(out + 2, cuda.globaltimer() - begin)
    cuda.gdc_launch_dependents()


@triton.jit
def _pair_sum(a, b, c, d):
    return a + c, b * d


@triton.jit
def mapped_in_pairs(x, y, out, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + lanes), tl.load(y + lanes)
    tl.store(out + lanes, tl.map_elementwise(_pair_sum, a, b, pack=2)[0])


@triton.jit
def any_of_three(counts, first, second, third, BLOCK: tl.constexpr):
    """Programs update one of three tensors atomically, through one pointer; old values are used."""
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    target = first
    if pid % 3 == 1:
        target = second
    if pid % 3 == 2:
        target = third
    before = tl.atomic_add(target + lanes, pid + 1)
    tl.store(counts + pid * BLOCK + lanes, before)


@triton.jit
def table_of_arguments(table, first, second, third, out, BLOCK: tl.constexpr):
    """As a grouped product does it: addresses of arguments, loaded from memory."""
    lanes = tl.arange(0, BLOCK)
    source = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    values = tl.load(source + lanes)
    tl.store(out + tl.program_id(0) * BLOCK + lanes, values)
    tl.store(source + lanes, values + 1)
    if tl.program_id(0) > 99:
        tl.store(first + lanes, tl.load(second + lanes) + tl.load(third + lanes))


@triton.jit
def printing(x, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + tl.program_id(0) * BLOCK + lanes)
    tl.device_print("pair", values, lanes)
    tl.device_print("bits", tl.program_id(0), hex=True)
    tl.device_print("here")
    tl.device_print("at", x)


@triton.jit
def narrowed(x, fp8_out, fp8e5_out, bf16_out, bf16_rtz_out, fp16_rtz_out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    a = tl.load(x + lanes)
    tl.store(fp8_out + lanes, a.to(tl.float8e4nv))
    tl.store(fp8e5_out + lanes, a.to(tl.float8e5))
    tl.store(bf16_out + lanes, a.to(tl.bfloat16))
    tl.store(bf16_rtz_out + lanes, a.to(tl.bfloat16, fp_downcast_rounding="rtz"))
    tl.store(fp16_rtz_out + lanes, a.to(tl.float16, fp_downcast_rounding="rtz"))


@triton.jit
def through_integers(x, out, shift, BLOCK: tl.constexpr):
    """Stores through a pointer made from an integer."""
    lanes = tl.arange(0, BLOCK)
    address = out.to(tl.int64) + shift
    target = address.to(tl.pointer_type(tl.float32))
    tl.store(target + lanes, tl.load(x + lanes))


@triton.jit
def stored_pointers(x, table, equal, number, BLOCK: tl.constexpr):
    """Pointers lie in memory; some are only numbers, and of some nothing is ever loaded."""
    lanes = tl.arange(0, BLOCK)
    pointers = table.to(tl.pointer_type(tl.pointer_type(tl.float32)))
    tl.store(pointers, x + 3)
    places = (number + lanes * 8).to(tl.pointer_type(tl.float32))
    tl.store(pointers + 1 + lanes, places + 1)
    again = tl.load(pointers)
    tl.store(again, 7.0)
    same = again.to(tl.int64) == (x + 3).to(tl.int64)
    tl.store(equal, same.to(tl.int32))
    nowhere = tl.load(pointers + 1 + lanes, mask=lanes < 2)
    tl.store(nowhere, 1.0, mask=lanes < 0)
    tl.store(equal + 1, tl.sum(tl.load(nowhere, mask=lanes < 0, other=2.0)).to(tl.int32))
    tl.store(equal + 2, tl.sum((places.to(tl.int64) == x.to(tl.int64)).to(tl.int32)))


@triton.jit
def loaded_pointers(table, out, BLOCK: tl.constexpr):
    """One tensor a program, by addresses in a table."""
    source = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    lanes = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * BLOCK + lanes, tl.load(source + lanes))


@triton.jit
def scaled_product(a, a_scale, b, b_scale, out):
    m, k = tl.arange(0, 32), tl.arange(0, 64)
    half, s = tl.arange(0, 32), tl.arange(0, 2)
    left = tl.load(a + m[:, None] * 64 + k[None, :])
    right = tl.load(b + half[:, None] * 32 + m[None, :])
    left_scale = tl.load(a_scale + m[:, None] * 2 + s[None, :])
    right_scale = tl.load(b_scale + m[:, None] * 2 + s[None, :])
    total = tl.dot_scaled(left, left_scale, "e5m2", right, right_scale, "e2m1")
    tl.store(out + m[:, None] * 32 + m[None, :], total)


@triton.jit
def early_return(flags, x, out, n, BLOCK: tl.constexpr):
    """Programs whose flag is 0 write nothing; negative ones write -1 and stop."""
    pid = tl.program_id(0)
    lanes = pid * BLOCK + tl.arange(0, BLOCK)
    flag = tl.load(flags + pid)
    if flag == 0:
        return
    mask = lanes < n
    values = tl.load(x + lanes, mask=mask)
    if flag < 0:
        tl.store(out + lanes, -1.0, mask=mask)
        return
    tl.store(out + lanes, values * flag, mask=mask)


@triton.jit
def collatz_steps(start, out, n, BLOCK: tl.constexpr):
    """A while loop whose trips differ from program to program."""
    pid = tl.program_id(0)
    value = tl.load(start + pid)
    steps = 0
    while value != 1:
        if value % 2 == 0:  # noqa: SIM108
            value = value // 2
        else:
            value = 3 * value + 1
        steps += 1
    tl.store(out + pid, steps)


@triton.jit
def ragged_sums(lengths, x, out, stride, BLOCK: tl.constexpr):
    """A for loop to a bound that is loaded."""
    pid = tl.program_id(0)
    length = tl.load(lengths + pid)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, length, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        total += tl.load(x + pid * stride + lanes, mask=lanes < length, other=0.0)
    tl.store(out + pid, tl.sum(total))


@triton.jit
def one_of_two(left, right, out, n, BLOCK: tl.constexpr):
    """Even programs read one tensor, odd ones another, through one pointer."""
    pid = tl.program_id(0)
    lanes = pid * BLOCK + tl.arange(0, BLOCK)
    source = left if pid % 2 == 0 else right
    tl.store(out + lanes, tl.load(source + lanes, mask=lanes < n), mask=lanes < n)


@triton.jit(noinline=True)
def _far(a, b):
    return a * 2 + b, a - b


@triton.jit
def squeezed(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    column = tl.unsqueeze(tl.load(x + lanes), 1)
    tl.store(out + lanes, tl.squeeze(column + tl.to_tensor(2.0), 1))


@triton.jit
def expecting_zeros(x, out, least, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes)
    tl.store(out + lanes, tl.expect_zero(values, values < least))


@triton.jit
def calling(x, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    a, b = _far(pid, n)
    lanes = tl.arange(0, BLOCK)
    tl.store(out + pid * BLOCK + lanes, tl.load(x + lanes) + a * 10 + b)


@triton.jit
def _sum_of_positives(a, b):
    tl.device_assert((a >= 0) & (b >= 0), "negative element")
    return a + b


@triton.jit
def asserting_while_combining(x, out, BLOCK: tl.constexpr):
    row, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * BLOCK + lanes)
    out += row * (BLOCK + 1)
    tl.store(out, tl.reduce(values, 0, _sum_of_positives))
    tl.store(out + 1 + lanes, tl.associative_scan(values, 0, _sum_of_positives))


@triton.jit
def asserting(x, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n, other=0)
    tl.device_assert(values >= 0, "negative value")
