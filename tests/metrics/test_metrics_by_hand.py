"""Sectors, distinct bytes and reuse of small kernels, against arithmetic done by hand."""

import json
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
import triton
import triton.language as tl

from kvtrace.metrics import access_records, footprint
from tests.metrics.touching import addresses_of, observed


@triton.jit
def strided(x, out, n, step: tl.constexpr, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + index, tl.load(x + index * step, mask=index < n), mask=index < n)


@triton.jit
def transposed(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, COLUMNS)[None, :]
    tl.store(out + column * ROWS + row, tl.load(x + row * COLUMNS + column))


@triton.jit
def same_row(x, out, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * BLOCK + lane, tl.load(x + lane))


@triton.jit
def gather(index, x, out, BLOCK: tl.constexpr):
    lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lane, tl.load(x + tl.load(index + lane)))


def memory_rows(ops):
    return [row for row in ops if row["kind"] in ("load", "store", "atomic")]


def figures(row):
    return row["bytes"], row["unique_bytes"], row["sectors"]


def strided_ops(x, n, step=1):
    """Rows of a copy of every `step`-th of `n` floats by four programs of 256 lanes."""
    arguments = {"x": x, "out": torch.empty(1024), "n": n}
    ops, *_ = observed(strided, (4,), arguments, {"step": step, "BLOCK": 256})
    return ops


def test_a_contiguous_access_touches_a_sector_for_each_32_bytes():
    ops = strided_ops(torch.ones(1024), 1024)
    load, store = memory_rows(ops)
    assert figures(load) == figures(store) == (4096, 4096, 128)


def test_equal_accesses_of_two_arguments_are_counted_once(monkeypatch):
    patterns, rows = Mock(wraps=footprint.patterns_of), Mock(wraps=access_records._single_rows)
    monkeypatch.setattr(footprint, "patterns_of", patterns)
    monkeypatch.setattr(access_records, "_single_rows", rows)
    ops = strided_ops(torch.ones(1000), 1000)
    assert [figures(row) for row in memory_rows(ops)] == [(4000, 4000, 125)] * 2
    assert patterns.call_count == rows.call_count == 1


def test_a_stride_of_two_touches_twice_the_sectors_and_no_more_bytes():
    ops = strided_ops(torch.ones(2048), 1024, step=2)
    load, store = memory_rows(ops)
    assert figures(load) == (4096, 4096, 256)
    assert figures(store) == (4096, 4096, 128)


def test_a_masked_tail_touches_only_active_lanes():
    ops = strided_ops(torch.ones(1024), 1001)
    load, _ = memory_rows(ops)
    assert figures(load) == (4004, 4004, 126)  # 125 whole sectors and one for the last float


def test_a_view_that_starts_inside_a_sector_touches_one_more_in_each_group():
    x = torch.ones(1100)[3:]
    ops = strided_ops(x, 1024)
    load, store = memory_rows(ops)
    assert load["sectors"] == 4 * 8 * 5  # programs, groups of 32 floats, sectors
    assert store["sectors"] == 4 * 8 * 4


def test_a_transposed_store_touches_a_sector_with_each_lane():
    ops, accesses, *_ = observed(
        transposed, (1,), {"x": torch.ones(64, 32), "out": torch.empty(32, 64)},
        {"ROWS": 64, "COLUMNS": 32},
    )  # fmt: skip
    load, store = memory_rows(ops)
    assert figures(load) == (8192, 8192, 256)
    assert figures(store) == (8192, 8192, 2048)
    assert [json.loads(row["layout"])["lanes"] for row in accesses] == [
        [[64, 128], [32, 4]],
        [[64, 4], [32, 256]],
    ]


def test_a_row_that_all_programs_read_is_reused():
    ops, accesses, *_ = observed(
        same_row, (50,), {"x": torch.ones(128), "out": torch.empty(6400)}, {"BLOCK": 128}
    )
    load, store = memory_rows(ops)
    assert figures(load) == (50 * 512, 512, 50 * 16)
    assert figures(store) == (25600, 25600, 800)
    load_row, store_row = accesses
    assert json.loads(load_row["layout"])["programs"] == [0, [[50, 1, 0]]]
    assert json.loads(store_row["layout"])["programs"] == [0, [[50, 1, 512]]]
    assert (store_row["first"], store_row["last"], store_row["active"]) == (0, 25596, 6400)


def test_a_gather_is_counted_from_its_recorded_indices():
    index = torch.tensor([0, 0, 8, 16] * 16)  # 64 lanes in three sectors
    x, out = torch.ones(32), torch.empty(64)
    ops, *_ = observed(gather, (2,), {"index": index, "x": x, "out": out}, {"BLOCK": 32})
    _, gathered, _ = memory_rows(ops)
    assert figures(gathered) == (256, 12, 6)  # three floats; two groups of three sectors


def test_a_gather_without_recorded_indices_has_null_figures():
    index = torch.zeros(64, dtype=torch.int64)
    x, out = torch.ones(32), torch.empty(64)
    ops, accesses, notes, _ = observed(
        gather, (2,), {"index": index, "x": x, "out": out}, {"BLOCK": 32}, unknown=["index"]
    )
    _, gathered, _ = memory_rows(ops)
    assert figures(gathered) == (256, None, None)
    assert gathered["op_index"] not in {row["op_index"] for row in accesses}
    assert notes == []  # not a limit of ours


@pytest.mark.parametrize(("programs", "rows"), [(8, 8), (32, 32), (33, 1)])
def test_few_executions_have_rows_of_their_own_and_many_share_one(programs, rows):
    x, out = torch.ones(32), torch.empty(32 * programs)
    _, accesses, *_ = observed(same_row, (programs,), {"x": x, "out": out}, {"BLOCK": 32})
    stores = [row for row in accesses if row["arg"] == "out"]
    assert len(stores) == rows
    assert stores[0]["program"] == (0 if rows > 1 else None)
    assert {row["iteration"] for row in stores} == {None}


def test_figures_beyond_a_limit_are_null_with_a_note(monkeypatch):
    monkeypatch.setattr("kvtrace.metrics.footprint.MOST_RANGES", 100)
    ops, _, notes, _ = observed(
        strided, (4,), {"x": torch.ones(2048), "out": torch.empty(1024), "n": 1024},
        {"step": 2, "BLOCK": 256},
    )  # fmt: skip
    load, store = memory_rows(ops)
    assert (load["unique_bytes"], load["sectors"]) == (None, None)
    assert store["unique_bytes"] == 4096
    (note,) = notes
    assert f"op {load['op_index']} (tt.load): sectors and unique bytes are null" in note


def test_accesses_that_are_too_irregular_to_describe_are_counted():
    index = torch.randint(0, 1000, (100 * 256,), generator=torch.Generator().manual_seed(0))
    x, out = torch.ones(1000), torch.empty(100 * 256)
    ops, accesses, notes, _ = observed(
        gather, (100,), {"index": index, "x": x, "out": out}, {"BLOCK": 256}
    )
    _, gathered, _ = memory_rows(ops)
    rows = [row for row in accesses if row["op_index"] == gathered["op_index"]]
    assert len(rows) == 64
    assert all(json.loads(row["layout"])["runs"] is None for row in rows)
    assert any("64 of 100 executions are described" in note for note in notes)


def test_the_page_on_accesses_lists_addresses_as_the_passes_mean_them():
    page = (Path(__file__).parents[2] / "docs" / "accesses.md").read_text(encoding="utf-8")
    reader = page.split("```python\n")[1].split("```")[0]
    names = {}
    exec(reader, names)  # the reader that the page shows
    example = page.split("```json\n")[1].split("```")[0]
    small = json.loads(example) | {"trips": [0, [[2, 1, 128]]], "lanes": [[2, 8192], [3, 2]]}
    listed = names["addresses"](json.dumps(small))
    assert len(listed) == 1024 * 2 * 6
    assert listed == addresses_of(json.dumps(small))
    assert max(listed) == 7 * 1048576 + 3 * 8388608 + 128 + 8192 + 4
