"""What a walk does not follow has a reason and, where one is found, a range; nothing raises."""

import triton
import triton.language as tl

from kvtrace.ir import parse
from kvtrace.symbolic.terms import Symbol
from kvtrace.symbolic.walk import Walk, summarize
from tests.support.compile_ttir import compile_generic

F32, I32 = "*fp32", "i32"


def summary_of(kernel, constexprs=None, options=None, **signature):
    types = {**signature, **dict.fromkeys(constexprs or {}, "constexpr")}
    return summarize(parse(compile_generic(kernel, types, constexprs or {}, **(options or {}))))


def unknowns(term):
    return {a.key[1] for a in term.atoms() if isinstance(a, Symbol) and a.kind == "unknown"}


@triton.jit
def swapping(x, y, n):
    first, second = x, y
    for _ in range(n):
        tl.store(first, 1.0)
        first, second = second, first


def test_pointers_swapped_in_a_loop_are_unknown_with_a_reason():
    summary = summary_of(swapping, x=F32, y=F32, n=I32)

    (access,) = summary.accesses
    assert access.argument is None
    assert access.unknown == "carried by a loop, and not followed"


@triton.jit
def ring(x, n, STAGES: tl.constexpr):
    slot = 0
    for _ in range(n):
        tl.store(x + slot, 1.0)
        slot = (slot + 1) % STAGES


def test_counter_with_remainder_keeps_its_range():
    (access,) = summary_of(ring, {"STAGES": 3}, x=F32, n=I32).accesses

    assert (access.offset.low, access.offset.high) == (0, 8)
    assert unknowns(access.offset) == {"carried by a loop"}


@triton.jit
def best(index, x, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    found = 0
    for i in range(n):
        values = tl.load(x + i * BLOCK + lanes)
        found = tl.where(tl.max(values, 0) > 0, tl.argmax(values, 0), found)
    tl.store(index + found, 1)


def test_argmax_is_within_the_axis():
    summary = summary_of(best, {"BLOCK": 64}, index="*i32", x=F32, n=I32)

    store = summary.accesses[-1]
    assert (store.offset.low, store.offset.high) == (0, 63 * 4)


@triton.jit
def spinning(lock, x):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(x, tl.load(x) + 1)
    tl.atomic_xchg(lock, 0)


def test_spin_lock_has_unknown_trips_and_known_addresses():
    summary = summary_of(spinning, lock="*i32", x=F32)

    (loop,) = summary.loops
    assert unknowns(loop.trips) == {"the trips of a while loop"}
    assert [access.kind for access in summary.accesses] == ["atomic", "load", "store", "atomic"]
    assert [access.operator for access in summary.accesses] == ["cas", "", "", "xchg"]
    assert all(access.offset == 0 for access in summary.accesses)


@triton.jit
def chased(table, out):
    row = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(row, 1.0)
    tl.store(out + tl.program_id(0), 1.0)


def test_only_the_pointer_from_memory_is_unknown():
    summary = summary_of(chased, table="*i64", out=F32)

    *_, through_table, plain = summary.accesses
    assert through_table.argument is None
    assert through_table.unknown == "a pointer that was loaded from memory"
    assert plain.argument == 1


@triton.jit
def random_places(x, seed, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(x + (tl.randint(seed, lanes) & 1023), 1.0)


def test_hashes_are_unknown_and_masked_bits_are_bounded():
    (access,) = summary_of(random_places, {"BLOCK": 64}, x=F32, seed=I32).accesses

    assert access.offset.low >= 0
    assert access.offset.high <= 1023 * 4


@triton.jit
def checked(x, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.assume(n > 0)
    tl.device_assert(lanes < n, "too many lanes")
    tl.store(tl.multiple_of(x + lanes * n, 4), 1.0)


def test_summary_has_assertions_assumptions_and_hints():
    summary = summary_of(checked, {"BLOCK": 64}, x=F32, n=I32)
    in_debug = summary_of(checked, {"BLOCK": 64}, {"debug": True}, x=F32, n=I32)

    assert len(summary.assumptions) == 1
    assert "divisibility" in {hint.what for hint in summary.hints}
    assert "too many lanes" in {found.message for found in in_debug.assertions}
    assert any("overflow detected" in found.message for found in in_debug.assertions)
    (access,) = in_debug.accesses
    assert access.offset == summary.accesses[0].offset


def test_arithmetic_that_may_overflow_is_recorded_with_its_ideal_result():
    summary = summary_of(checked, {"BLOCK": 64}, x=F32, n=I32)

    products = [found for found in summary.arithmetic if found.op.name == "arith.muli"]
    assert [found.bits for found in products] == [32]
    assert products[0].result.high == 63 * ((1 << 31) - 1)


HEAD = """
"builtin.module"() ({
  "tt.func"() <{sym_name = "blocks", sym_visibility = "public"}> ({
  ^bb0(%x: !tt.ptr<f32>, %m: i64, %n: i64, %k: i32):
    %one = "arith.constant"() <{value = 1 : i64}> : () -> i64
    %zero = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %by = "arith.constant"() <{value = 32 : i32}> : () -> i32
    %p = "tt.make_tensor_ptr"(%x, %m, %n, %n, %one, %zero, %zero) <{order = array<i32: 1, 0>}>
      : (!tt.ptr<f32>, i64, i64, i64, i64, i32, i32) -> !tt.ptr<tensor<16x32xf32>>
"""
LOOP = (
    HEAD
    + """
    %step = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %end = "scf.for"(%zero, %k, %step, %p) ({
    ^bb1(%i: i32, %q: !tt.ptr<tensor<16x32xf32>>):
      %v = "tt.load"(%q) <{boundaryCheck = array<i32: 1>, padding = 1 : i32,
        operandSegmentSizes = array<i32: 1, 0, 0>}>
        : (!tt.ptr<tensor<16x32xf32>>) -> tensor<16x32xf32>
      "tt.store"(%q, %v) <{boundaryCheck = array<i32>}>
        : (!tt.ptr<tensor<16x32xf32>>, tensor<16x32xf32>) -> ()
      %next = "tt.advance"(%q, %zero, %by)
        : (!tt.ptr<tensor<16x32xf32>>, i32, i32) -> !tt.ptr<tensor<16x32xf32>>
      "scf.yield"(%next) : (!tt.ptr<tensor<16x32xf32>>) -> ()
    }) : (i32, i32, i32, !tt.ptr<tensor<16x32xf32>>) -> !tt.ptr<tensor<16x32xf32>>
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""
)


def test_block_pointers_advance_and_check_the_stated_axes():
    load, store = summarize(parse(LOOP)).accesses

    numbers = dict.fromkeys(load.offset.atoms() | load.mask.atoms(), 0)
    by_kind = {(symbol.kind, symbol.key): symbol for symbol in numbers}
    trip = load.loops[0].trip
    point = numbers | {
        by_kind["scalar", 2]: 70,
        by_kind["lane", 0]: 3,
        by_kind["lane", 1]: 5,
        trip: 2,
    }
    assert load.offset.value(point) == 4 * (3 * 70 + 2 * 32 + 5)
    assert load.offset == store.offset
    assert load.mask.value(point)
    assert not load.mask.value({**point, by_kind["lane", 1]: 6})
    assert store.mask.decided


JUMPING_BACK = """
"builtin.module"() ({
  "tt.func"() <{sym_name = "blocks", sym_visibility = "public"}> ({
  ^bb0(%x: !tt.ptr<i32>, %n: i32):
    %zero = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %one = "arith.constant"() <{value = 1 : i32}> : () -> i32
    "cf.br"(%zero)[^bb1] : (i32) -> ()
  ^bb1(%i: i32):
    %more = "arith.cmpi"(%i, %n) <{predicate = 2 : i64}> : (i32, i32) -> i1
    "cf.cond_br"(%more)[^bb2, ^bb3] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
  ^bb2:
    %p = "tt.addptr"(%x, %i) : (!tt.ptr<i32>, i32) -> !tt.ptr<i32>
    "tt.store"(%p, %i) : (!tt.ptr<i32>, i32) -> ()
    %next = "arith.addi"(%i, %one) : (i32, i32) -> i32
    "cf.br"(%next)[^bb1] : (i32) -> ()
  ^bb3:
    "tt.store"(%x, %n) : (!tt.ptr<i32>, i32) -> ()
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""


def test_loop_of_blocks_is_unknown_except_for_its_guards():
    summary = summarize(parse(JUMPING_BACK))

    inside, after = sorted(summary.accesses, key=lambda access: access.op.index)
    assert len(inside.loops) == 1
    assert unknowns(inside.offset) == {"carried by a loop of blocks (0)"}
    assert inside.guard.decided is None
    assert after.loops == ()
    assert after.offset == 0


def test_results_of_an_unknown_dialect_are_unknown():
    text = (
        HEAD
        + """
    %a = "other.thing"(%k) : (i32) -> i32
    %c = "other.flag"(%k) : (i32) -> i1
    %q = "tt.addptr"(%x, %a) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
    %f = "arith.constant"() <{value = 1.0 : f32}> : () -> f32
    "tt.store"(%q, %f, %c) : (!tt.ptr<f32>, f32, i1) -> ()
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""
    )
    (access,) = summarize(parse(text)).accesses

    assert unknowns(access.offset) == {"comes from other.thing"}
    assert {leaf.reason for leaf in access.mask.opaques()} == {"comes from other.flag"}


def test_summary_of_a_module_is_computed_once():
    module = parse(JUMPING_BACK)

    assert summarize(module) is summarize(module)
    assert Walk(module).summary() is not summarize(module)
