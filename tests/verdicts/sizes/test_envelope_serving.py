"""The first bad sizes of serving kernels, by hand: each is a line of arithmetic in the table."""

import pytest

from kvtrace.verdicts.sizes.envelope import envelope
from kvtrace.verdicts.sizes.relations import Relations
from tests.support.defects import CORPUS
from tests.support.thorough import THOROUGH
from tests.verdicts.sizes.envelope_rows import by_kind

WRAP = 2**31
SAMPLES = {sample.name: sample for sample in CORPUS}


def one_more(step):
    """So many programs that the last one's number times a step is 2^31 or more."""
    return (WRAP - 1) // step + 2


def most(number):
    """The first step that wraps around in the program of a number."""
    return (WRAP - 1) // number + 1


ROWS = [
    # Three sequences of 6 heads of 16 numbers: the last starts at (batch - 1) * 96.
    ("decode over pages, tables filled up with -1", "q.shape[0]", "overflow", one_more(96)),
    ("decode over pages, tables filled up with -1", "stride_table", "overflow", most(2)),
    # (seq * 2 + split) * 16 with two splits.
    ("split decode, a part for each split", "q.shape[0]", "overflow", WRAP // 32 + 1),
    # 12 pages are in the cache.
    ("window over the last tokens, cut at the first", "values of block_tables", "tensor", 12),
    # (seq * 4 + i) * 16 with i up to 3, and parts of 16 numbers: 64 numbers a sequence.
    ("parts merged, as many as recorded", "part.shape[0]", "overflow", WRAP // 64 + 1),
    ("window over the last tokens, cut at the first", "block_tables.shape[0]", "overflow",
     WRAP // 16 + 1),
    ("decode over a list of slots", "q.shape[0]", "overflow", WRAP // 16 + 1),
    # 20 slots are in the cache; slot * 16 + 15 fits up to slot 2^27 - 1, which is later.
    ("decode over a list of slots", "values of kv_indices", "tensor", 20),
    ("tokens written to their slots", "key.shape[0]", "overflow", one_more(24)),
    ("tokens written to their slots", "width", "overflow", most(6)),
    # (token * 3 + head) * 12 with head up to 2 is at most (3 * tokens - 1) * 12.
    ("quantised tokens with a scale for each head", "value.shape[0]", "overflow",
     ((WRAP - 1) // 12 + 1) // 3 + 1),
    # A program's part ends at (pid + 1) * per_program, of three programs.
    ("choices counted in parts", "per_program", "overflow", most(3)),
    ("the two largest of five experts", "experts", "overflow", most(5)),
    ("the two largest of five experts", "logits.shape[0]", "overflow", one_more(5)),
    ("experts' products, tiles filled up", "expert_ids.shape[0]", "overflow", WRAP // 16 + 1),
    ("rows put back by their tokens", "width", "constants", 33),
    ("rows put back by their tokens", "values of places", "tensor", 8),
    ("best token of each part of a row", "logits.shape[0]", "overflow", one_more(50)),
    ("best token of each part of a row", "parts", "grid", 65_536),
    ("penalties, rows filled up with the vocabulary's size", "logits.shape[0]", "overflow",
     one_more(20)),
    ("top-k of each row, 0 for none", "vocabulary", "overflow", most(3)),
    # Two integers a chunk.
    ("running sums of chunks", "chunk_indices.shape[0]", "overflow", WRAP // 2 + 1),
    # (sequence * 2 + head) * 256.
    ("states before each chunk", "final.shape[0]", "overflow", WRAP // 512 + 1),
    ("convolution's step, states in slots", "x.shape[0]", "overflow", one_more(20)),
    # A block has four rows, and grid_y ends at 65,535.
    ("ragged rows filled up", "most", "grid", 4 * 65_535 + 1),
    ("ragged rows filled up", "width", "constants", 9),
    ("page 16,384 of 256 KiB, made wide first", "values of block_tables", "tensor", 16_400),
    ("page 16,384 of 256 KiB, made wide first", "block_tables.shape[0]", "overflow",
     WRAP // 64 + 1),
    ("slot 2,097,151 of 1,024 numbers in 32 bits", "values of slots", "overflow", WRAP // 1024),
    ("slot 2,097,151 of 1,024 numbers in 32 bits", "key.shape[0]", "overflow", one_more(1000)),
]  # fmt: skip
NAMES = list(dict.fromkeys(name for name, *_ in ROWS))


#: Ties of each kernel: numbers that are a size, and other formulas.
TIES = {
    "decode over pages, tables filled up with -1": (
        "q.shape[0]",
        "out.shape[0] block_tables.shape[0] seq_lens.shape[0] grid_x",
        ["block_tables.shape[1] = stride_table", "grid_y = q.shape[1]"],
    ),
    "split decode, a part for each split": (
        "q.shape[0]",
        "part.shape[0] part_lse.shape[0] block_tables.shape[0] seq_lens.shape[0] grid_x",
        [],
    ),
    "window over the last tokens, cut at the first": (
        "block_tables.shape[0]",
        "seq_lens.shape[0] out.shape[0] grid_x",
        [],
    ),
    "parts merged, as many as recorded": (
        "part.shape[0]",
        "part_lse.shape[0] counts.shape[0] out.shape[0] grid_x",
        [],
    ),
    "decode over a list of slots": (
        "q.shape[0]",
        "out.shape[0] grid_x",
        ["kv_indptr.shape[0] = grid_x + 1"],
    ),
    "tokens written to their slots": (
        "key.shape[0]",
        "value.shape[0] slot_mapping.shape[0] grid_x",
        [
            "stride_token = width",
            "stride_slot = width",
            "key.shape[1] = width",
            "value.shape[1] = width",
            "key_cache.shape[2] = width",
            "value_cache.shape[2] = width",
            "stride_page = value_cache.stride[0]",
        ],
    ),
    "quantised tokens with a scale for each head": ("value.shape[0]", "slots.shape[0] grid_x", []),
    "the two largest of five experts": (
        "logits.shape[0]",
        "weights.shape[0] ids.shape[0] grid_x",
        ["stride = experts", "logits.shape[1] = experts"],
    ),
    "experts' products, tiles filled up": ("expert_ids.shape[0]", "grid_x", []),
    "rows put back by their tokens": ("width", "permuted.shape[1] out.shape[1]", []),
    "best token of each part of a row": (
        "logits.shape[0]",
        "values.shape[0] places.shape[0] grid_x",
        [
            "stride = vocabulary",
            "logits.shape[1] = vocabulary",
            "values.shape[1] = parts",
            "places.shape[1] = parts",
            "grid_y = parts",
        ],
    ),
    "penalties, rows filled up with the vocabulary's size": (
        "logits.shape[0]",
        "seen.shape[0] lengths.shape[0] grid_x",
        [],
    ),
    "top-k of each row, 0 for none": (
        "vocabulary",
        "logits.shape[1] ordered.shape[1]",
        ["grid_x = logits.shape[0]"],
    ),
    "running sums of chunks": ("chunk_indices.shape[0]", "grid_x", []),
    "states before each chunk": (
        "final.shape[0]",
        "chunk_offsets.shape[0] grid_x",
        ["cu_seqlens.shape[0] = grid_x + 1"],
    ),
    "convolution's step, states in slots": (
        "x.shape[0]",
        "slots.shape[0] out.shape[0] grid_x",
        ["grid_y = 2"],
    ),
    "ragged rows filled up": (
        "most",
        "out.shape[1]",
        [
            "grid_x = out.shape[0]",
            "grid_y = cdiv(most, 4)",
            "x.shape[1] = width",
            "out.shape[2] = width",
        ],
    ),
    "page 16,384 of 256 KiB, made wide first": ("block_tables.shape[0]", "out.shape[0] grid_x", []),
    "slot 2,097,151 of 1,024 numbers in 32 bits": ("key.shape[0]", "slots.shape[0] grid_x", []),
}


def ties_of(name):
    size, equal, others = TIES.get(name, ("", "", []))
    return [*(f"{number} = {size}" for number in equal.split()), *others]


def test_there_are_twenty_serving_kernels():
    assert len(NAMES) >= 20


@pytest.mark.parametrize("name", NAMES if THOROUGH else NAMES[::4])
def test_first_bad_sizes_are_those_of_the_arithmetic(name):
    found = by_kind(envelope(Relations(SAMPLES[name].call(), ties=ties_of(name))))
    bad = {(row.quantity, row.kind): row.first_bad for row in found.values()}

    wanted = {(quantity, kind): first for of, quantity, kind, first in ROWS if of == name}
    assert {key: bad.get(key) for key in wanted} == wanted
