"""Results that are changed on purpose: each is found, who wrote it, and what it has in common."""

import math

import numpy as np
import pytest

from corpus.kernels import basic, blocks
from corpus.kernels import oracle_kernels as kernels
from kvtrace.evaluate.scope import program_at
from kvtrace.recorded_calls.thread_layouts import BlockedLayout
from tests.addons.check.launched import Launched
from tests.backends.compiled_kernels import check_kernels
from tests.kernels.case import random_of

F32 = np.float32
ROWS, COLUMNS, BM, BN = 64, 96, 16, 32
LANES = 256


def tiles(layouts=lambda _module: {}):
    """A matrix of 4 x 3 tiles, doubled."""
    x = random_of("tiles").uniform(1, 2, (ROWS, COLUMNS)).astype(F32)
    return Launched(
        kernels.scaled,
        {"x": x, "out": np.zeros_like(x), "rows": ROWS, "columns": COLUMNS},
        ("out",), {"BM": BM, "BN": BN}, (ROWS // BM, COLUMNS // BN), layouts,
    )  # fmt: skip


def softmax():
    x = random_of("planted").uniform(-3, 3, (8, 100)).astype(F32)
    sizes = {"x_stride": 100, "out_stride": 100, "rows": 8, "columns": 100}
    return Launched(
        basic.softmax, {"out": np.zeros_like(x), "x": x, **sizes}, ("out",), {"BLOCK": 128}, (8,)
    )


def added(layouts=lambda _module: {}):
    rng = random_of("added")
    x, y = (rng.uniform(1, 2, 1000).astype(F32) for _ in range(2))
    return Launched(
        check_kernels.add, {"x": x, "y": y, "out": np.zeros(1000, F32), "n": 1000}, ("out",),
        {"BLOCK": LANES}, (4,), layouts,
    )  # fmt: skip


def product():
    rng = random_of("product")
    a, b = (rng.uniform(-1, 1, (32, 32)).astype(np.float16) for _ in range(2))
    c = np.zeros((32, 32), F32)
    return Launched(
        blocks.product, {"a": a, "b": b, "c": c, "out": np.zeros_like(c)}, ("out",),
        {"PRECISION": "", "M": 32, "N": 32, "K": 32},
    )  # fmt: skip


def changed(launched, change):
    (name,) = launched.outputs
    out = launched.meant()[name].copy()
    change(out)
    return {name: out}


@pytest.mark.parametrize("make", [tiles, softmax, added, product])
@pytest.mark.parametrize("seed", range(4))
def test_element_two_bounds_off_is_located(make, seed):
    """Half a bound is still agreement; two of them name the element, its program and its lane."""
    launched = make()
    meant = launched.meant()["out"]
    place = tuple(int(random_of(make.__name__, seed).integers(n)) for n in meant.shape)
    flat = int(np.ravel_multi_index(place, meant.shape))

    def off(by):
        return changed(launched, lambda out: out.__setitem__(place, out[place] + F32(by)))

    bound = launched.one(off(1.0)).worst.bound
    if bound:
        assert not len(launched.one(off(bound / 2)).differing)
    found = launched.one(off(max(2 * bound, 4 * np.spacing(abs(meant[place])))))
    assert found.differing.tolist() == [4 * flat]
    assert (found.worst.index, found.worst.offset) == (flat, 4 * flat)
    assert found.worst.bound == bound
    assert found.worst.expected == pytest.approx(float(meant[place]), rel=1e-6)
    call, places = launched.located(found)
    assert places.op.name == "tt.store"
    program, lane = places.at(found.worst.offset)
    expected = {
        "tiles": lambda: (
            (place[0] // BM, place[1] // BN, 0), (place[0] % BM, place[1] % BN)
        ),
        "softmax": lambda: ((place[0], 0, 0), (place[1],)),
        "added": lambda: ((place[0] // LANES, 0, 0), (place[0] % LANES,)),
        "product": lambda: ((0, 0, 0), place),
    }[make.__name__]()  # fmt: skip
    assert (program_at(program, call.grid), lane) == expected


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_nan_or_infinity_only_on_the_device_is_a_difference(number):
    launched = softmax()
    found = launched.one(changed(launched, lambda out: out.__setitem__((3, 7), number)))
    assert found.differing.tolist() == [4 * 307]
    assert repr(found.worst.got) == repr(number)


@pytest.mark.parametrize(
    ("launched", "place", "pattern"),
    [
        (tiles, np.s_[35:37],
         "3 programs of 12: (2, 0, 0), (2, 1, 0), (2, 2, 0), whole rows 3 to 4"),
        (tiles, np.s_[16:32, 64:96:2],
         "1 program, the last along axis 1, whole columns 0 to 30 in steps of 2"),
        (tiles, np.s_[48:64], "3 programs, the last along axis 0, all lanes"),
        (added, np.s_[768:], "1 program, the last along axis 0, lanes 0 to 231"),
    ],
    ids=["rows", "columns of a tile", "last tiles", "tail"],
)  # fmt: skip
def test_wrong_places_are_described_as_a_pattern(launched, place, pattern):
    one = launched()
    assert one.said(changed(one, lambda out: out.__setitem__(place, -1))) == pattern


def test_wrong_elements_in_all_lanes_are_described_as_a_pattern():
    launched = product()
    assert launched.said(changed(launched, lambda out: out.__imul__(2))) == (
        "the one program, all lanes"
    )


def stored_as(layout):
    """The layouts of a kernel whose one store has this one."""

    def layouts(module):
        (store,) = [op for op in module.ops if op.name == "tt.store"]
        return {store.index: layout}

    return layouts


def test_wrong_lanes_of_one_warp_are_described_as_a_pattern():
    """Four warps, a thread has two lanes: of each 256, the third warp has 128 to 191."""
    launched = added(stored_as(BlockedLayout((2,), (32,), (4,), (0,))))

    def drop(out):
        for start in range(0, 768, LANES):
            out[start + 128 : start + 192] = 0

    said = launched.said(changed(launched, drop))
    programs = "3 programs of 4: (0, 0, 0), (1, 0, 0), (2, 0, 0)"
    assert said == f"{programs}, warp 2 alone, lanes 128 to 191"


@pytest.mark.parametrize(("order", "warp"), [((1, 0), 1), ((0, 1), 2)])
def test_warps_are_counted_along_the_fastest_axis_first(order, warp):
    """Two warps down and two across, of tiles of 16 x 32."""
    launched = tiles(stored_as(BlockedLayout((1, 4), (8, 4), (2, 2), order)))
    tile = (slice(0, 8), slice(16, 32))  # of warps (0, 1)
    said = launched.said(changed(launched, lambda out: out.__setitem__(tile, 0)))
    assert said == f"1 program of 12: (0, 0, 0), warp {warp} alone, 128 lanes of 512"


def test_changed_element_that_the_kernel_does_not_write_is_a_difference():
    x = np.ones(64, F32)
    launched = Launched(
        check_kernels.double,
        {
            "x": x,
            "n": 60,
        },
        ("x",),
        {"BLOCK": 32},
        (2,),
    )
    made = launched.meant()
    assert launched.checked(made).answer == "agrees"
    made["x"][62] = 2
    found = launched.one(made)
    assert (found.worst.index, found.worst.expected, found.worst.bound) == (62, 1.0, 0.0)
    assert launched.located(found)[1] is None


def test_error_map_has_the_largest_error_of_each_cell():
    launched = tiles()
    found = launched.one(changed(launched, lambda out: out.__setitem__((slice(32, 48), 5), 0)))
    rows, columns = found.map.shape
    assert (rows, columns) == (32, 64)
    wrong = np.argwhere(found.map > 0)
    assert set(wrong[:, 0]) == set(range(16, 24))  # rows are joined in pairs
    assert set(wrong[:, 1]) == {3}
    assert found.map.max() == pytest.approx(1.0, rel=0.5)  # of the root mean square


def test_integer_kernel_has_zero_bounds():
    x = np.arange(64, dtype=np.int32)
    launched = Launched(check_kernels.double, {"x": x, "n": 64}, ("x",), {"BLOCK": 32}, (2,))
    made = launched.meant()
    made["x"][40] += 1
    found = launched.one(made)
    assert (found.worst.index, found.worst.got, found.worst.expected) == (40, 81, 80)
