"""Samples of tiles, recorded with tensors="all", against the loaded arguments."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kvtrace
import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron import older
from kvtrace.addons.neuron.recorder import TILES_LIMIT
from kvtrace.schema.trace import open_trace
from tests.addons.neuron.kernels.additions import add_masked, add_spmd

VALUES = "client_nki_values"


def tiles_of(out: Path) -> dict[str, list[dict[str, Any]]]:
    """The kept tiles by their names."""
    trace = open_trace(out)
    names = {row["buffer"]: row["name"] for row in trace.table("client_nki_buffers").to_pylist()}
    tiles: dict[str, list[dict[str, Any]]] = {}
    for row in trace.table(VALUES).to_pylist():
        tiles.setdefault(names[row["buffer"]], []).append(row)
    return tiles


def kept(row: dict[str, Any]) -> Any:
    return np.array(row["values"], float).reshape(row["rows"], -1)


def test_samples_are_the_loaded_values_and_null_where_masked_off(tmp_path: Path) -> None:
    a = np.random.default_rng(5).normal(size=(200, 8)).astype(np.float32)
    with kvtrace.capture(tmp_path / "out", tensors="all"):
        add_masked(a, 2 * a)

    left = tiles_of(tmp_path / "out")["left"]
    assert [(row["partitions"], row["elements"], row["dtype"]) for row in left] == [
        (128, 8, "fp32"),
        (128, 8, "fp32"),
    ]
    assert np.array_equal(kept(left[0]), a[:128])
    assert np.array_equal(kept(left[1])[:72], a[128:])
    assert left[1]["values"][72 * 8 :] == [None] * (56 * 8)


def test_only_a_corner_of_the_first_programs_tiles_is_kept(
    tmp_path: Path,
) -> None:
    a = np.arange(256 * 1536, dtype=np.float32).reshape(256, 1536)
    with kvtrace.capture(tmp_path / "out", tensors="all"):
        total = add_spmd[2, 3](a, a)

    tiles = [row for rows in tiles_of(tmp_path / "out").values() for row in rows]
    assert 1 <= len(tiles) <= 3
    for row in tiles:
        assert (row["partitions"], row["elements"], row["rows"]) == (128, 512, 32)
        corners = [a[:32, :32], np.asarray(total)[:32, :32]]
        assert any(np.array_equal(kept(row), corner) for corner in corners)


@older.jit
def many_tiles(source: Any) -> Any:
    result = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.shared_hbm)
    for _ in nl.sequential_range(TILES_LIMIT + 9):
        tile = nl.load(source)
        nl.store(result, value=tile)
    return result


def test_the_number_of_kept_tiles_is_limited(tmp_path: Path) -> None:
    with kvtrace.capture(tmp_path / "out", tensors="all"):
        many_tiles(np.ones((4, 4), np.float32))

    assert len(tiles_of(tmp_path / "out")["tile"]) == TILES_LIMIT


@pytest.mark.parametrize("tensors", ["index", "int"])
def test_no_tile_is_kept_unless_tensors_is_all(tmp_path: Path, tensors: str) -> None:
    with kvtrace.capture(tmp_path / "out", tensors=tensors):
        many_tiles(np.ones((4, 4), np.float32))

    assert tiles_of(tmp_path / "out") == {}
