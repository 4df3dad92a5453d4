"""Tensors as grids of tiles and of blocks, and other views and names of the newer interface."""

from typing import Any

import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa
import kvtrace.addons.neuron.newer.language as nl
import kvtrace.addons.neuron.older.isa as older_isa
import kvtrace.addons.neuron.older.language as older_nl
from kvtrace.addons.neuron import newer
from kvtrace.addons.neuron.errors import NkiError
from tests.addons.neuron.conftest import Run

X = np.arange(3 * 200 * 70, dtype=np.float32).reshape(3, 200, 70)


def test_a_tensor_is_copied_tile_by_tile(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        sources, targets = nl.tiles(x, tile_shape=(128, 32)), nl.tiles(out, tile_shape=(128, 32))
        assert (sources.shape, sources.tile_shape) == ((3, 2, 3), (128, 32))
        assert (sources.index_step_elements, sources.is_remainder) == ((1, 128, 32), True)
        for slab in range(3):
            for i in range(sources.shape[1]):
                for j in range(sources.shape[2]):
                    tile = sources[slab, i, j]
                    loaded = nl.ndarray(tile.element_shape, tile.dtype, buffer=nl.sbuf)
                    nisa.dma_copy(dst=loaded.data, src=tile.data)
                    nisa.dma_copy(dst=targets[slab][i, j].data, src=loaded)
        assert sources[2, 1, 2].element_shape == (72, 6)
        assert isinstance(sources[0], nl.NkiTileGrid)
        assert not isinstance(sources, nl.NkiBlockGrid)
        assert issubclass(nl.NkiBlockGrid, nl.NkiGrid)
        return out

    outcome = run_newer(kernel, X)

    assert np.array_equal(outcome.result, X)
    assert outcome.recorder.findings == []


def test_a_block_is_loaded_at_once_and_used_tile_by_tile(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        grid = nl.blocks(x, tile_shape=(32, 16), block_shape=(2, 3))
        target = nl.blocks(out, tile_shape=(32, 16), block_shape=(2, 3))
        assert (grid.shape, grid.block_shape) == ((4, 2), (2, 3))
        assert grid.buffer == "hbm"
        assert len(grid) == 4
        for i in range(4):
            for j in range(2):
                block = grid[i, j]
                loaded = nl.ndarray(block.element_shape, x.dtype, buffer=nl.sbuf)
                nisa.dma_copy(loaded, block.data)
                tiles = nl.tiles(nl.blocks(loaded, tile_shape=(32, 16), block_shape=(2, 3)))
                for p in range(tiles.shape[0]):
                    for f in range(tiles.shape[1]):
                        tile = tiles[p, f].data
                        nisa.tensor_scalar(tile, tile, nl.multiply, float(10 * p + f + 1))
                nisa.dma_copy(target[i, j].data, loaded)
        return out

    outcome = run_newer(kernel, X[0])

    rows, columns = (np.arange(size) // step for size, step in ((200, 32), (70, 16)))
    factor = 10 * (rows % 2)[:, None] + (columns % 3)[None, :] + 1
    assert np.array_equal(outcome.result, X[0] * factor)
    assert outcome.recorder.findings == []


def test_slices_of_a_grid_keep_their_coordinates(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        grid = nl.tiles(x, tile_shape=(64, 16))
        part = grid[1:3, 4]
        assert (part.shape, part.element_shape) == ((2,), (128, 6))
        assert grid[3:4, 0:1].shape == (1, 1)
        out = nl.ndarray((128, 6), x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, part.data)
        return out

    assert np.array_equal(run_newer(kernel, X[0]).result, X[0, 64:192, 64:70])


def test_cells_outside_and_grids_without_tiles_are_refused(run_newer: Run) -> None:
    for use, text in (
        (
            lambda x: nl.tiles(x, tile_shape=(64, 16))[4],
            "cell 4 is outside of a dimension of 4 cells",
        ),
        (lambda x: nl.tiles(x), "needs tile_shape"),
        (lambda x: nl.tiles(x, tile_shape=(1, 2, 3)), "cannot be divided into tiles of"),
        (
            lambda x: nl.tiles(x, tile_shape=(64, 16))[0, 0, 0],
            "3 indices are given for a grid of 2",
        ),
    ):
        with pytest.raises(NkiError, match=text):
            run_newer(use, X[0])


def test_reinterpret_cast_takes_a_type_of_equal_width(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        tile = nl.sbuf.view(x.dtype, x.shape)
        assert tile.name == "tile"
        nisa.dma_copy(tile, x)
        bits = tile.reinterpret_cast(nl.int32)
        nisa.tensor_scalar(bits, bits, nl.bitwise_and, 0x7FFFFFFF)
        with pytest.raises(NkiError, match="needs a type of 4 bytes"):
            tile.reinterpret_cast(nl.int16)
        out = nl.MemoryRegion.shared_hbm.view(dtype=x.dtype, size=x.shape)
        nisa.dma_copy(out, tile)
        return out

    outcome = run_newer(kernel, -X[0, :128])

    assert np.array_equal(outcome.result, X[0, :128])
    assert outcome.recorder.findings == []


def test_further_names_of_the_newer_interface_have_their_values() -> None:
    assert isinstance(nl.add, nl.Op)
    assert nl.MemoryRegion.sbuf is nl.sbuf
    assert nl.float8_e8m0fnu.itemsize == 1
    assert newer.tensor.identity(3, nl.int8).tolist() == np.identity(3).tolist()
    assert newer.tensor.arange(4).tolist() == [0, 1, 2, 3]
    assert [newer.tensor.full((2,), 7).tolist(), newer.tensor.ones(2).tolist()] == [[7, 7], [1, 1]]
    assert not newer.tensor.zeros((2, 2)).any()


def test_register_move_accepts_src_and_imm(run_newer: Run) -> None:
    def kernel() -> list[int]:
        register, other = nisa.register_alloc(), nisa.register_alloc(4)
        nisa.register_move(register, src=3)
        first = int(register)
        nisa.register_move(dst=register, imm=other)
        return [first, int(register)]

    assert run_newer(kernel).result == [3, 4]


def test_older_instructions_accept_a_name(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        out = older_nl.ndarray(x.shape, x.dtype, older_nl.shared_hbm, name="out")
        tile = older_nl.load(x, name="load")
        older_nl.store(out, older_isa.tensor_scalar(tile, np.add, 1.0, name="add"), name="store")
        return out

    assert np.array_equal(run_older(kernel, X[0, :128]).result, X[0, :128] + 1)
