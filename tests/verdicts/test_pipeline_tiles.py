"""Copies by AMD's data mover, ordered by waits and barriers (gfx1250): mutants are found."""

from functools import partial

import pytest

from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu((3, 7), "Gluon for gfx1250")

from triton.experimental import gluon  # noqa: E402
from triton.experimental.gluon import language as gl  # noqa: E402

from tests.verdicts.gluon_mutants import changed, judged, line_of, recorded_by  # noqa: E402

tdm, mbarrier, copies = (getattr(gl.amd.gfx1250, n) for n in ("tdm", "mbarrier", "async_copy"))
PADDED = gl.constexpr(gl.PaddedSharedLayout.with_identity_for([[32, 8]], [16, 32], [1, 0]))
PLANE = gl.constexpr(gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0]))
BARRIER = gl.constexpr(mbarrier.MBarrierLayout())
TRIPS = 5


@gluon.jit
def places(PITCH: gl.constexpr):
    rows = gl.arange(0, 16, layout=gl.SliceLayout(1, PLANE))[:, None]
    return rows * PITCH + gl.arange(0, 32, layout=gl.SliceLayout(0, PLANE))[None, :]


@gluon.jit
def loads(source, tiles, full, empty, TRIPS: gl.constexpr):
    for trip in range(TRIPS):
        mbarrier.wait(empty.index(trip % 2), (trip // 2 + 1) & 1)
        tdm.async_load(source, [trip * 16, 0], tiles.index(trip % 2))
        right, ready = tiles.index(trip % 2 + 2), full.index(trip % 2)
        tdm.async_load(source, [trip * 16, 32], right, mbarrier=ready)


@gluon.jit
def sums(result, tiles, full, empty, made, freed, out, TRIPS: gl.constexpr):
    for trip in range(TRIPS):
        mbarrier.wait(full.index(trip % 2), (trip // 2) & 1)
        left, right = tiles.index(trip % 2).load(PLANE), tiles.index(trip % 2 + 2).load(PLANE)
        mbarrier.arrive(empty.index(trip % 2), count=1)
        mbarrier.wait(freed, (trip + 1) & 1)
        out.store(left + right)
        mbarrier.arrive(made, count=1)


@gluon.jit
def stores(result, out, made, freed, TRIPS: gl.constexpr):
    for trip in range(TRIPS):
        mbarrier.wait(made, trip & 1)
        tdm.async_store(result, [trip * 16, 0], out, mbarrier=freed)


@gluon.jit
def in_partitions(source, result, TRIPS: gl.constexpr):
    before = tdm.make_tensor_descriptor(source, [TRIPS * 16, 64], [64, 1], [16, 32], PADDED)
    after = tdm.make_tensor_descriptor(result, [TRIPS * 16, 32], [32, 1], [16, 32], PADDED)
    tiles = gl.allocate_shared_memory(gl.float16, [4, 16, 32], PADDED)
    out = gl.allocate_shared_memory(gl.float16, [16, 32], PADDED)
    full = gl.allocate_shared_memory(gl.int64, [2, 1], BARRIER)
    empty = gl.allocate_shared_memory(gl.int64, [2, 1], BARRIER)
    made = gl.allocate_shared_memory(gl.int64, [1], BARRIER)
    freed = gl.allocate_shared_memory(gl.int64, [1], BARRIER)
    mbarrier.init(made, count=4 * 32)
    mbarrier.init(freed, count=1)
    for stage in gl.static_range(2):
        mbarrier.init(full.index(stage), count=2)
        mbarrier.init(empty.index(stage), count=4 * 32)
    gl.warp_specialize(
        [
            (sums, (result, tiles, full, empty, made, freed, out, TRIPS)),
            (loads, (before, tiles, full, empty, TRIPS)),
            (stores, (after, out, made, freed, TRIPS)),
        ],
        [2, 1],
    )


@gluon.jit
def in_stages(source, result, TRIPS: gl.constexpr):
    before = tdm.make_tensor_descriptor(source, [TRIPS * 16, 64], [64, 1], [16, 32], PADDED)
    after = tdm.make_tensor_descriptor(result, [TRIPS * 16, 32], [32, 1], [16, 32], PADDED)
    tiles = gl.allocate_shared_memory(gl.float16, [4, 16, 32], PADDED)
    out = gl.allocate_shared_memory(gl.float16, [16, 32], PADDED)
    tdm.async_load(before, [0, 0], tiles.index(0))
    tdm.async_load(before, [0, 32], tiles.index(2))
    for trip in range(TRIPS):
        ahead = (trip + 1) % 2
        tdm.async_load(before, [trip * 16 + 16, 0], tiles.index(ahead))
        tdm.async_load(before, [trip * 16 + 16, 32], tiles.index(ahead + 2))
        tdm.async_wait(2)
        left, right = tiles.index(trip % 2).load(PLANE), tiles.index(trip % 2 + 2).load(PLANE)
        out.store(left + right)
        tdm.async_store(after, [trip * 16, 0], out)


@gluon.jit
def by_threads(source, result, TRIPS: gl.constexpr):
    tiles = gl.allocate_shared_memory(gl.float16, [2, 16, 32], PADDED)
    full = gl.allocate_shared_memory(gl.int64, [1], BARRIER)
    mbarrier.init(full, count=2 * 4 * 32)
    for trip in range(TRIPS):
        copies.global_to_shared(tiles.index(0), source + trip * 1024 + places(64))
        copies.global_to_shared(tiles.index(1), source + trip * 1024 + 32 + places(64))
        copies.mbarrier_arrive(full)
        before = mbarrier.arrive(full, count=1)
        mbarrier.wait(full, before)
        both = tiles.index(0).load(PLANE) + tiles.index(1).load(PLANE)
        gl.store(result + trip * 512 + places(32), both)


def recorded(kernel, out):
    """The recorded call of a kernel, its generic TTGIR, and whether its results are right."""
    source, result = torch.randn(16 * TRIPS, 64).half(), torch.zeros(16 * TRIPS, 32).half()
    launch = partial(kernel[(1,)], source, result, TRIPS=TRIPS)
    call, text = recorded_by(launch, out, target="hip:gfx1250")
    return call, text, torch.equal(result, source[:, :32] + source[:, 32:])


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    made = (in_partitions, in_stages, by_threads)
    return {k.__name__: recorded(k, tmp_path_factory.mktemp(k.__name__)) for k in made}


def without_barrier(text, name, number):
    """The text in which a copy does not arrive at its barrier."""
    pattern = r", %\w+\)(.*), 1>}>(.*), !ttg.memdesc<1xi64[^>]*>"
    return changed(text, name, number, pattern, r")\1, 0>}>\2")


@pytest.mark.parametrize("name", ["in_partitions", "in_stages", "by_threads"])
def test_the_right_kernels_compute_and_show_no_disorder(name, kernels):
    call, text, is_right = kernels[name]
    answer = judged(call, text)
    assert is_right
    assert (answer.verdict, "show no disorder" in answer.message) == ("unknown", True)


_COUNT = r"count = \d+"
_LOAD, _STORE = "async_tdm_copy_global_to_local", "async_tdm_copy_local_to_global"
#: Of each mutant: its kernel, the change, and a part of the line that the finding is at.
MUTANTS = {
    "made counts one more": ("in_partitions", ("init_barrier", 0, _COUNT, "count = 129"), "wait("),
    "made counts a warp": ("in_partitions", ("init_barrier", 0, _COUNT, "count = 32"), "arrive("),
    "freed counts two": ("in_partitions", ("init_barrier", 1, _COUNT, "count = 2"), "wait("),
    "full counts three": ("in_partitions", ("init_barrier", 2, _COUNT, "count = 3"), "wait("),
    "full counts one": ("in_partitions", ("init_barrier", 4, _COUNT, "count = 1"), "tdm"),
    "empty counts once": ("in_partitions", ("init_barrier", 3, _COUNT, "count = 1"), "arrive("),
    "no wait for tiles": ("in_partitions", ("wait_barrier", 0), "left, right ="),
    "no wait for the store": ("in_partitions", ("wait_barrier", 1), "out.store"),
    "no wait for an empty tile": ("in_partitions", ("wait_barrier", 2), "tdm.async_load"),
    "no wait for the sum": ("in_partitions", ("wait_barrier", 3), "tdm.async_store"),
    "no arrival at empty": ("in_partitions", ("arrive_barrier", 0), "wait("),
    "no arrival at made": ("in_partitions", ("arrive_barrier", 1), "wait("),
    "empty twice": ("in_partitions", ("arrive_barrier", 0, _COUNT, "count = 2"), "arrive(empty"),
    "no tile at full": ("in_partitions", (_LOAD, 1), "wait("),
    "tile without a barrier": ("in_partitions", without_barrier, _LOAD, 1, "wait("),
    "store without a barrier": ("in_partitions", without_barrier, _STORE, 0, "wait("),
    "three in flight": ("in_stages", ("async_tdm_wait", 0, "num = 2", "num = 3"), "left, right ="),
    "four in flight": ("in_stages", ("async_tdm_wait", 0, "num = 2", "num = 4"), "left, right ="),
    "no wait": ("in_stages", ("async_tdm_wait", 0, "num = 2", "num = 9"), "left, right ="),
    "one thread more": ("by_threads", ("init_barrier", 0, _COUNT, "count = 257"), "wait("),
    "one thread less": ("by_threads", ("init_barrier", 0, _COUNT, "count = 255"), "arrive("),
    "no arrival of copies": ("by_threads", ("async_copy_mbarrier_arrive", 0), "wait("),
    "no wait of threads": ("by_threads", ("wait_barrier", 0), "both ="),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_each_mutant_is_found_at_its_line(name, kernels):
    kernel, change, *rest, line = MUTANTS[name]
    call, text, _ = kernels[kernel]
    mutant = change(text, *rest) if rest else changed(text, *change)
    answer = judged(call, mutant)
    assert answer.verdict == "violation", answer.message
    assert line in line_of(answer.op), answer.message
