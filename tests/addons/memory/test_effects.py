"""Effects of planted kernels: what each leaves out, and what it reads before it stores it."""

import time

import pytest
import torch

from kvtrace.addons.memory.effects import effects_of
from kvtrace.evaluate import Storage
from kvtrace.metrics.byte_ranges import ByteRanges
from tests.addons.memory import effect_kernels as kernels
from tests.addons.memory.brute_force import assert_bounds, call_of, marked, without_data
from tests.support.replacing import replace

pytestmark = pytest.mark.usefixtures("free_driver")

X = torch.ones(4096)


def out(size, dtype=torch.float32):
    return torch.zeros(size, dtype=dtype)


def effect(call, name):
    """The effect on the storage of a named tensor."""
    (found,) = [
        storage
        for storage in effects_of(call).storages
        if name in [call.arguments[index].name for index in storage.args]
    ]
    return found


def elements(*ranges, size=4):
    """Ranges of elements as bytes."""
    return ByteRanges.union_of([ByteRanges.of(a * size, b * size) for a, b in ranges])


def planted(kernel, grid, stored, read_first=(), **arguments):
    """The call, the tensor it stores to, and the elements stored to it, and those read first.

    Arguments in capitals are constants; a block has 64 elements. Results, and `x` in place, are
    named with their sizes.
    """
    sizes = {n: out(arguments[n]) for n in ("scratch", "total", "out", "x") if n in arguments}
    constants = {n: value for n, value in arguments.items() if n.isupper()}
    constants |= B if "BLOCK" in kernel.arg_names else {}
    others = {"x": X} | arguments | sizes
    tensors = {n: others[n] for n in kernel.arg_names if n in others and n not in constants}
    grid = grid if isinstance(grid, tuple) else (grid,)
    return (kernel, grid, tensors, constants), next(iter(sizes)), stored, read_first


B = {"BLOCK": 64}
EXACT = {
    "a row left out": planted(kernels.copied_rows, 8, [(0, 448)], out=512, rows=7),
    "a grid too small": planted(kernels.copied, 7, [(0, 448)], out=500, n=500),
    "a mask too narrow": planted(kernels.copied, 8, [(0, 499)], out=500, n=499),
    "its right twin": planted(kernels.copied, 8, [(0, 500)], out=500, n=500),
    "an early exit": planted(kernels.left_early, 8, [(0, 192), (256, 512)], out=512, last=3),
    "an exchange": planted(kernels.exchanged, 8, [(0, 500)], out=500, n=500),
    "an exchange whose old values are kept": planted(
        kernels.exchanged_and_kept, 8, [(0, 500)], [(0, 500)], out=500, n=500,
    ),
    "an exchange before a read": planted(kernels.exchanged_and_read, 8, [(0, 500)], out=500, n=500),
    "an accumulator": planted(kernels.accumulated, 4, [(0, 256)], [(0, 256)], total=256),
    "in place, in a loop": planted(
        kernels.scaled_in_place, 3, [(0, 300)], [(0, 300)], x=400, n=100, COUNT=2,
    ),
    "a column": planted(
        kernels.columns, 2, [(10 * row, 10 * row + 1) for row in range(128)], out=1280, stride=10,
    ),
    "even and odd elements": planted(kernels.pairs, 4, [(0, 512)], out=512),
    "a tile with ragged edges": planted(
        kernels.tile, (3, 2), [(0, 800)], out=40 * 20, rows=40, columns=20, BM=16, BN=16,
    ),
    "a tile of too few columns": planted(
        kernels.tile, (3, 1), [(20 * row, 20 * row + 16) for row in range(40)], out=40 * 20,
        rows=40, columns=20, BM=16, BN=16,
    ),
    "a triangle": planted(
        kernels.triangle, 1, [(12 * row, 12 * row + row + 1) for row in range(12)], out=144, n=12,
        B=16,
    ),
    "a scatter by recorded indices": planted(
        kernels.scattered, 2, [(2 * i, 2 * i + 1) for i in range(128)],
        index=torch.arange(128) * 2, out=300,
    ),
    "a mask by a recorded count": planted(
        kernels.masked_by_count, 2, [(0, 70)], count=torch.tensor([70]), out=128,
    ),
    "a store under a recorded flag": planted(
        kernels.stored_if, 3, [(0, 64), (128, 192)], flag=torch.tensor([1, 0, 1]), out=192,
    ),
    "an atomic sum": planted(kernels.added, 2, [(0, 32)], [(0, 32)], total=40),
    "a descriptor's store past its extents": planted(
        kernels.past_the_extents, (2, 2), [(0, 800)], out=20 * 40, rows=20, columns=40, BM=16,
        BN=32,
    ),
    "a pointer that a loop carries": planted(
        kernels.stored_block_by_block, 3, [(0, 256), (300, 556), (600, 856)], out=1000, n=300,
        COUNT=4,
    ),
    "what a program stored, and one element more": planted(
        kernels.through_scratch, 3, [(0, 192)], [(63, 64), (127, 128)], scratch=192, out=192,
    ),
    "elements divided by 20 and 12": planted(
        kernels.divided, 12, [(0, 720)], out=720, n=720, INNER=20, OUTER=12,
    ),
    "elements divided by 129, and a mask": planted(
        kernels.divided, 12, [(0, 571)], out=774, n=700, INNER=129, OUTER=2,
    ),
    "rows with padding, divided in a loop": planted(
        kernels.divided_in_loop, 2,
        [(70 * row + base, min(70 * row + 67, 206) + base) for row in range(3)
         for base in (0, 8192)],
        out=16384, n=200, INNER=67, COUNT=4,
    ),
    "rows read where the trip before stored": planted(
        kernels.divided_in_place, 1, [(67 * row, 67 * row + 64) for row in range(1, 5)], [(0, 64)],
        x=1024, n=256, INNER=64, COUNT=4,
    ),
    "what the trip before stored": planted(
        kernels.shifted_in_loop, 2, [(64, 320), (384, 640)], [(0, 64), (320, 384)], x=640, COUNT=4,
    ),
}  # fmt: skip


@pytest.mark.parametrize("planted", EXACT)
def test_effects_of_planted_kernels_are_exact(planted):
    launch, name, stored, read_first = EXACT[planted]
    call = call_of(*launch)

    result = effect(call, name)

    assert not result.reason
    assert result.writes == result.may_write == elements(*stored)
    assert result.reads == result.may_read == elements(*read_first)
    assert_bounds(effects_of(call), marked(call))


@pytest.mark.parametrize("planted", EXACT)
def test_effects_need_no_contents_where_addresses_are_formulas(planted):
    call = call_of(*EXACT[planted][0])
    indices = [a.name for a in call.arguments if a.name in ("index", "count", "flag")]
    names = [a.name for a in call.arguments if hasattr(a, "storage")]

    effects = effects_of(without_data(call, *names))

    assert_bounds(effects, marked(call))
    assert any(effect.reason for effect in effects.storages) == bool(indices)


UNKNOWN = {
    "a scatter": (
        (kernels.scattered, (2,), {"index": torch.arange(128), "x": X, "out": out(300)}, B),
        "index", [], [(0, 300)],
    ),
    "a mask": (
        (kernels.masked_by_count, (2,), {"count": torch.tensor([70]), "x": X, "out": out(140)}, B),
        "count", [], [(0, 128)],
    ),
    "a branch": (
        (kernels.stored_if, (3,), {"flag": torch.tensor([1, 0, 1]), "x": X, "out": out(200)}, B),
        "flag", [], [(0, 192)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("planted", UNKNOWN)
def test_unrecorded_contents_leave_bounds_and_name_the_tensor(planted):
    launch, hidden, stored, may_store = UNKNOWN[planted]

    result = effect(without_data(call_of(*launch), hidden), "out")

    assert hidden in result.reason
    assert result.writes == elements(*stored)
    assert result.may_write == elements(*may_store)
    assert not result.may_read


def test_slots_that_programs_draw_in_any_order_are_stored_together():
    flags, counter = torch.ones(4), torch.zeros(1, dtype=torch.int32)
    call = call_of(kernels.appended, (4,), {"flags": flags, "counter": counter, "out": out(8)}, B)

    result = effect(call, "out")

    assert result.writes == result.may_write == elements((0, 4))
    assert not result.reason


def test_assembly_that_touches_memory_leaves_upper_bounds_open():
    x = torch.ones(64, dtype=torch.int32)
    call = call_of(kernels.by_assembly, (1,), {"x": x, "out": out(80, torch.int32)}, B)

    result = effect(call, "out")

    assert result.writes == elements((0, 64))
    assert result.may_write == result.may_read == elements((0, 80))
    assert "assembly" in result.reason
    assert result.first_reading_op is result.stores[0].op


def test_tensors_in_one_storage_have_one_effect():
    whole = out(512)
    call = call_of(kernels.copied, (4,), {"x": whole[:256], "out": whole[128:384], "n": 256}, B)

    (result,) = effects_of(call).storages

    assert result.args == (0, 1)
    assert result.writes == elements((128, 384))
    assert result.reads == elements((0, 256))
    assert_bounds(effects_of(call), marked(call))


def test_a_store_that_no_program_runs_is_listed():
    call = call_of(kernels.copied_rows, (8,), {"x": X, "out": out(512), "rows": 0}, B)

    result = effect(call, "out")

    assert not result.may_write
    assert [site.runs for site in result.stores] == [False]


def test_stores_by_a_table_of_addresses_may_be_to_any_memory():
    target = torch.zeros(64)
    table = torch.tensor([target.data_ptr()])
    by_table = effects_of(call_of(kernels.stored_by_table, (1,), {"table": table}, {"BLOCK": 64}))
    own = call_of(kernels.padded, (8,), {"x": target, "out": target, "n": 60}, {"BLOCK": 8})
    assert by_table.elsewhere
    assert not effects_of(own).elsewhere


def test_a_call_that_does_not_fit_its_kernel_is_unknown_with_the_reason():
    call = call_of(kernels.copied, (8,), {"x": X, "out": out(512), "n": 500}, B)

    result = effect(replace(call, arguments=call.arguments[:2]), "out")

    assert result.reason
    assert not result.writes
    assert result.may_write == elements((0, 512))


def sized(call, name, nbytes):
    """The call with a storage of another size, without data."""
    arguments = tuple(
        replace(a, storage=Storage(nbytes), shape=(nbytes // 4,)) if a.name == name else a
        for a in without_data(call, name).arguments
    )
    return replace(call, arguments=arguments)


def test_a_huge_grid_takes_no_longer_than_a_small_one():
    call = call_of(kernels.scaled_in_place, (1 << 20,), {"x": out(64), "n": 64}, {"COUNT": 1, **B})
    call = sized(call, "x", 1 << 28)
    begin = time.process_time()

    result = effect(call, "x")

    assert not result.reason
    assert result.writes == result.reads == ByteRanges.of(0, 1 << 28)
    assert time.process_time() - begin < 5


def test_a_large_grid_with_an_unrecorded_condition_is_bounded_by_formulas():
    rows, n = 1 << 16, 1000
    targets = torch.zeros(1, dtype=torch.int64)
    call = call_of(
        kernels.cross_entropy, (rows,),
        {"targets": targets, "logits": out(8), "loss": out(8), "n": n}, {"COUNT": 16, **B},
    )  # fmt: skip
    call = sized(sized(call, "logits", 4 * rows * (n + 1)), "loss", 8 * rows)
    call = sized(call, "targets", 8 * rows)

    logits, loss = effect(call, "logits"), effect(call, "loss")

    assert "data of targets" in logits.reason
    assert not logits.writes
    assert not logits.reads
    assert logits.may_write == logits.may_read == elements((0, rows * n))
    assert loss.may_write == elements((0, rows))
    assert not effect(call, "targets").reason


def test_too_many_ranges_are_unknown_between_their_ends():
    call = call_of(kernels.columns, (1 << 15,), {"x": X, "out": out(8), "stride": 2}, B)
    call = sized(sized(call, "x", 1 << 23), "out", 1 << 24)

    result = effect(call, "out")

    assert result.unlisted_writes
    assert "scattered" in result.reason
    assert result.may_write == ByteRanges.of(0, (1 << 24) - 4)


def test_a_scatter_over_a_huge_grid_ends_early():
    index = torch.zeros(1, dtype=torch.int64)
    call = call_of(kernels.scattered, (1 << 20,), {"index": index, "x": X, "out": out(8)}, B)
    call = sized(call, "index", 1 << 29)
    begin = time.process_time()

    result = effect(call, "out")

    assert result.reason
    assert result.may_write == elements((0, 8))
    assert time.process_time() - begin < 20
