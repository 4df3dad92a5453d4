"""Names and keywords that public kernels use and the reference documents."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kvtrace.addons.neuron.newer.collectives as ncc
import kvtrace.addons.neuron.newer.isa as nisa
import kvtrace.addons.neuron.newer.language as nl
import kvtrace.addons.neuron.older.compiler as compiler
import kvtrace.addons.neuron.older.language as older_nl
from kvtrace.addons.neuron.errors import NkiError
from tests.addons.neuron.conftest import Run
from tests.addons.neuron.running_ops import X, Y, run_op

ROWS = np.random.default_rng(7).standard_normal((16, 24), np.float32)


@pytest.mark.parametrize("name", ["exp", "square", "relu", "negative"])
def test_unary_ops_accept_their_operand_by_name(run_older: Run, name: str) -> None:
    by_name = run_op(run_older, lambda x: getattr(older_nl, name)(x=x), X)
    assert np.array_equal(by_name, run_op(run_older, getattr(older_nl, name), X))


@pytest.mark.parametrize("name", ["add", "subtract", "maximum", "less"])
def test_binary_ops_accept_operands_by_name(run_older: Run, name: str) -> None:
    op = getattr(older_nl, name)
    expected = run_op(run_older, lambda x, y: op(x, y), X, Y)
    for call in (lambda x, y: op(x=x, y=y), lambda x, y: op(x, y=y), lambda x, y: op(y=y, x=x)):
        assert np.array_equal(run_op(run_older, call, X, Y), expected)


def test_a_missing_operand_is_an_error(run_older: Run) -> None:
    with pytest.raises(NkiError, match=r"nl\.add has 2 operands, dtype and mask"):
        run_op(run_older, lambda x: older_nl.add(x=x), X)
    with pytest.raises(NkiError, match=r"nl\.exp has 1 operand, dtype and mask"):
        run_op(run_older, lambda x: older_nl.exp(z=x), X)


def test_none_adds_the_second_axis_of_a_reduced_tile(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        tile = older_nl.load(x)
        column = older_nl.sum(tile, axis=1)[:, None]
        assert column.shape == (16, 1)
        assert older_nl.sum(tile, axis=1)[0:8, None].shape == (8, 1)
        assert older_nl.sum(tile, axis=1, keepdims=True)[:, None].shape == (16, 1, 1)
        out = older_nl.ndarray(x.shape, x.dtype, buffer=older_nl.shared_hbm)
        older_nl.store(out, value=tile / column)
        return out

    result = run_older(kernel, ROWS).result
    assert np.allclose(result, ROWS / ROWS.sum(axis=1, keepdims=True), rtol=1e-5)


def test_memories_are_builtin_names_in_kernels(run_newer: Run) -> None:
    def copied(x: Any) -> Any:
        tile = sbuf.view(dtype=x.dtype, size=x.shape)  # type: ignore[name-defined]  # noqa: F821
        out = nl.ndarray(x.shape, x.dtype, buffer=shared_hbm)  # type: ignore[name-defined]  # noqa: F821
        nisa.dma_copy(tile, x)
        nisa.dma_copy(out, tile)
        return out

    assert np.array_equal(run_newer(copied, ROWS).result, ROWS)
    with pytest.raises(NameError):
        copied(ROWS)  # outside of kernels they are not there


def test_no_reorder_of_the_older_compiler_is_accepted(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        out = older_nl.ndarray(x.shape, x.dtype, buffer=older_nl.shared_hbm)
        with compiler.no_reorder():
            older_nl.store(out, value=older_nl.load(x))
        return out

    assert np.array_equal(run_older(kernel, ROWS).result, ROWS)


def test_a_constant_is_read_from_a_file(run_newer: Run, tmp_path: Path) -> None:
    path = tmp_path / "table.npy"
    np.save(path, ROWS)

    def kernel(file: str) -> Any:
        out = nl.ndarray(ROWS.shape, nl.float16, buffer=nl.shared_hbm)
        nisa.dma_copy(out, nl.load(nl.shared_constant(file, dtype=nl.float16)))
        return out

    assert np.array_equal(run_newer(kernel, str(path)).result, ROWS.astype(np.float16))
    with pytest.raises(NkiError, match=r"shared_constant cannot read .*none\.npy"):
        run_newer(kernel, str(tmp_path / "none.npy"))


@pytest.mark.parametrize(
    ("target", "mebibytes", "usable"), [("trn1", 24, 180_224), ("trn2", 28, 212_984)]
)
def test_tile_size_has_the_targets_sizes(
    run_newer: Run, target: str, mebibytes: int, usable: int
) -> None:
    observed = []

    def kernel(x: Any) -> None:
        size = nl.tile_size
        observed.append((size.sbuf_fmax_bytes, size.sbuf_fmax, size.total_available_sbuf_size))
        observed.append((size.psum_num_banks, size.psum_bank_fmax, size.psum_bank_fmax_bytes))
        observed.append((size.sbuf_size_bytes, size.psum_fmax_bytes))

    run_newer(kernel, ROWS, target=target)
    assert observed == [(usable, usable // 4, usable), (8, 512, 2048), (mebibytes << 20, 2048)]


def test_dynamic_range_accepts_keywords_and_registers(run_newer: Run) -> None:
    observed: list[list[int]] = []

    def kernel(x: Any) -> None:
        observed.append([int(i) for i in nl.dynamic_range(start=1, stop=7, step=2)])
        observed.append([int(i) for i in nl.dynamic_range(nisa.register_alloc(3))])

    run_newer(kernel, ROWS)
    assert observed == [[1, 3, 5], [0, 1, 2]]


def test_an_identity_matrix_is_written_to_dst(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        tile = nl.ndarray((16, 16), nl.float32, buffer=nl.sbuf)
        result = nl.shared_identity_matrix(16, dtype=nl.float32, dst=tile)
        assert result is tile
        out = nl.ndarray((16, 16), nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, tile)
        return out

    assert np.array_equal(run_newer(kernel, ROWS).result, np.eye(16))


def test_a_broadcast_can_be_of_another_type(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        wide = nl.broadcast_to(nl.load(x)[:, 0:1], (16, 24), dtype=nl.float16)
        out = nl.ndarray((16, 24), nl.float16, buffer=nl.shared_hbm)
        nisa.dma_copy(out, wide)
        return out

    expected = np.broadcast_to(ROWS[:, :1], ROWS.shape).astype(np.float16)
    assert np.array_equal(run_newer(kernel, ROWS).result, expected)


@pytest.mark.parametrize("command", ["", "reset_reduce"])
def test_reduce_res_negate_changes_the_sign(run_newer: Run, command: str) -> None:
    settings = {"reduce_cmd": nisa.reduce_cmd[command]} if command else {}

    def kernel(x: Any) -> Any:
        tile = nl.ndarray(x.shape, nl.float32, buffer=nl.sbuf)
        least = nl.ndarray((16, 1), nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar_reduce(
            tile,
            nl.load(x),
            nl.multiply,
            2.0,
            nl.maximum,
            least,
            reduce_res_negate=True,
            **settings,
        )
        out = nl.ndarray((16, 1), nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, least)
        return out

    assert np.array_equal(run_newer(kernel, ROWS).result, -(2 * ROWS).max(axis=1, keepdims=True))


@pytest.mark.parametrize("scatter", [False, True])
def test_dma_compute_skips_rows_out_of_bounds(run_newer: Run, scatter: bool) -> None:
    indices = np.array([[3], [16], [0], [5]], np.int32)

    def kernel(table: Any, x: Any, indices: Any) -> Any:
        out = nl.ndarray(table.shape, table.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, table)
        tile, row_numbers = nl.load(x), nl.load(indices)
        picked = out.ap([[24, 4], [1, 24]], vector_offset=row_numbers)
        skip = nisa.oob_mode.skip
        if scatter:
            nisa.dma_compute(picked, [picked, tile], nl.add, oob_mode=skip)
            return out
        nisa.dma_compute(tile, [tile, picked], nl.add, oob_mode=skip)
        sums = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(sums, tile)
        return sums

    outcome = run_newer(kernel, ROWS, X[:4, :24].copy(), indices)

    in_bounds = [0, 2, 3]
    expected = ROWS.copy() if scatter else X[:4, :24].copy()
    if scatter:
        expected[indices[in_bounds, 0]] += X[in_bounds, :24]
    else:
        expected[in_bounds] += ROWS[indices[in_bounds, 0]]
    assert np.array_equal(outcome.result, expected)
    assert outcome.recorder.findings == []


def test_operand_orders_of_all_releases_are_accepted(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        tile, tiles = nl.load(x), []
        for operands in (
            (1, tile, -1.0, nl.greater_equal, -4),
            (-4, 1, tile, -1.0, nl.greater_equal),
        ):
            tiles.append(nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf))
            nisa.affine_select(tiles[-1], [[1, 24]], *operands)
        for operands in (((1.0, 1.0), nl.add), (nl.add, (1.0, 1.0))):
            tiles.append(nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf))
            nisa.dma_compute(tiles[-1], [tile, tile], *operands)
        outs = tuple(nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm) for _ in tiles)
        for out, result in zip(outs, tiles, strict=True):
            nisa.dma_copy(out, result)
        return outs

    outcome = run_newer(kernel, ROWS)

    inside = np.arange(16)[:, None] + np.arange(24) >= 4
    expected = [np.where(inside, ROWS, -1)] * 2 + [ROWS * 2] * 2
    assert all(np.array_equal(*pair) for pair in zip(outcome.result, expected, strict=True))
    assert [finding.rule for finding in outcome.recorder.findings] == []


def test_grids_are_allocated(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        geometry = {"tile_shape": (16, 8), "element_shape": (16, 24), "dtype": nl.float32}
        tile = nl.alloc_tiles(**geometry, buffer=nl.sbuf)
        out = nl.alloc_blocks(**geometry, block_shape=(1, 3), buffer=nl.shared_hbm)
        source = nl.tiles(x, tile_shape=(16, 8))
        for index in range(tile.shape[1]):
            nisa.dma_copy(tile[0, index].data, source[0, 2 - index].data)
        nisa.dma_copy(out.data, tile.data)
        return out.data

    expected = np.concatenate([ROWS[:, 16:], ROWS[:, 8:16], ROWS[:, :8]], axis=1)
    assert np.array_equal(run_newer(kernel, ROWS).result, expected)

    def tall(x: Any) -> None:
        nl.alloc_tiles(tile_shape=(128, 8), element_shape=(256, 8), buffer=nl.sbuf, dtype=x.dtype)

    with pytest.raises(NkiError, match="a grid on chip cannot have 256 rows"):
        run_newer(tall, ROWS)


def test_assignments_to_parts_of_tensors_write_their_elements(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        tile, sums = nl.load(x), nl.zeros((16, 3), nl.float32, buffer=nl.sbuf)
        for index in nl.affine_range(3):
            sums[0:16, index : index + 1] = nl.sum(tile, axis=1, keepdims=True)
        sums[:, 2:3] = tile[:, 0:1]
        out = nl.ndarray((16, 4), nl.float32, buffer=nl.shared_hbm)
        out[:, 0:3] = sums
        out[:, 3:4] = 2.0
        return out

    outcome = run_newer(kernel, ROWS)

    total = ROWS.sum(axis=1, keepdims=True)
    expected = np.concatenate([total, total, ROWS[:, :1], np.full((16, 1), 2)], axis=1)
    assert np.allclose(outcome.result, expected, rtol=1e-5)
    assert outcome.recorder.findings == []


def test_tile_size_has_the_limits_of_tiles() -> None:
    size = nl.tile_size
    assert (size.pmax, size.psum_fmax, size.gemm_stationary_fmax) == (128, 512, 128)
    assert (size.gemm_moving_fmax, size.bn_stats_fmax) == (512, 512)
    assert (size.psum_min_align, size.sbuf_min_align) == (4, 1)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("placed", [False, True])
def test_all_gather_v_reads_counts_from_a_tensor(run_newer: Run, split: bool, placed: bool) -> None:
    metadata = np.array([[3, 0], [4, 0], [0, 0], [1, 12]], np.uint32)

    def kernel(x: Any, metadata: Any) -> Any:
        out = nl.zeros((20,), x.dtype, buffer=nl.shared_hbm)
        counts = nl.ndarray(metadata.shape, metadata.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(counts, metadata)
        operands = ([x], [out], ncc.ReplicaGroup([[0, 1]]), counts)
        if split:
            begun = ncc.all_gather_v_prepare(*operands, has_rdispls=placed)
            ncc.all_gather_v_trigger(begun)
        else:
            ncc.all_gather_v(*operands, has_rdispls=placed)
        return out, counts

    out, counts = run_newer(kernel, np.arange(20, dtype=np.float32), metadata).result

    expected = np.zeros(20)
    for start in (1, 12) if placed else (0, 10):
        expected[start : start + 3] = [4, 5, 6]
    assert np.array_equal(out, expected)
    assert counts[2].tolist() == [3, 3]


def test_a_prepared_collective_is_triggered_exactly_once(run_newer: Run) -> None:
    metadata = np.array([[3, 3], [4, 4], [0, 0]], np.uint32)

    def kernel(x: Any, metadata: Any, order: str) -> None:
        out = nl.zeros((20,), x.dtype, buffer=nl.shared_hbm)
        begun = [ncc.all_to_all_v_prepare([x], [out], [[0, 1]], metadata)]
        if order == "twice":
            ncc.all_to_all_v_prepare([x], [out], [[0, 1]], metadata)
        ncc.all_to_all_v_trigger(*begun)
        ncc.all_to_all_v_trigger(*begun)

    source = np.arange(20, dtype=np.float32)
    with pytest.raises(NkiError, match="prepared before the previous collective was triggered"):
        run_newer(kernel, source, metadata, "twice")
    with pytest.raises(NkiError, match="triggered exactly once, after its prepare"):
        run_newer(kernel, source, metadata, "once")


@pytest.mark.parametrize(
    ("op", "operand", "groups"),
    [
        ("bitwise_and", 0, [[0, 1, 2, 3, 4, 5, 6, 7]]),
        ("div", 4, [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ("mod", 4, [[0, 4], [1, 5], [2, 6], [3, 7]]),
    ],
)
def test_from_partition_op_groups_ranks(op: str, operand: int, groups: Any) -> None:
    result = ncc.ReplicaGroup.from_partition_op(8, ncc.rg_partition_op[op], operand)
    assert result.groups == groups
