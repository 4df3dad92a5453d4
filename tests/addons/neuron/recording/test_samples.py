"""What tiles held, kept with tensors="all", against the arguments that they were loaded from."""

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
    found: dict[str, list[dict[str, Any]]] = {}
    for row in trace.table(VALUES).to_pylist():
        found.setdefault(names[row["buffer"]], []).append(row)
    return found


def kept(row: dict[str, Any]) -> Any:
    return np.array(row["values"], float).reshape(row["rows"], -1)


def test_tiles_hold_what_was_loaded_and_nothing_where_a_mask_left_it_out(tmp_path: Path) -> None:
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


def test_of_a_large_tile_its_first_elements_are_kept_and_of_the_first_program_only(
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


def test_no_more_tiles_are_kept_than_there_is_room_for(tmp_path: Path) -> None:
    with kvtrace.capture(tmp_path / "out", tensors="all"):
        many_tiles(np.ones((4, 4), np.float32))

    assert len(tiles_of(tmp_path / "out")["tile"]) == TILES_LIMIT


@pytest.mark.parametrize("tensors", ["index", "int"])
def test_nothing_is_kept_where_not_all_that_tensors_hold_is(tmp_path: Path, tensors: str) -> None:
    with kvtrace.capture(tmp_path / "out", tensors=tensors):
        many_tiles(np.ones((4, 4), np.float32))

    assert tiles_of(tmp_path / "out") == {}
