"""Why planted kernels leave bytes out."""

import pytest
import torch

from kvtrace.addons.memory.effects import effects_of
from kvtrace.addons.memory.missing_stores import missing_stores
from kvtrace.metrics.byte_ranges import ByteRanges
from tests.addons.memory import effect_kernels as kernels
from tests.addons.memory.brute_force import call_of

pytestmark = pytest.mark.usefixtures("free_driver")

X, B = torch.ones(4096), {"BLOCK": 64}
TILE = {"BM": 16, "BN": 16}
LEFT_OUT = {
    "a mask too narrow": (
        (kernels.copied, (8,), {"x": X, "out": torch.zeros(500), "n": 499}, B), "mask",
    ),
    "a grid too small": (
        (kernels.copied, (7,), {"x": X, "out": torch.zeros(500), "n": 500}, B), "grid",
    ),
    "a row left out": (
        (kernels.copied_rows, (8,), {"x": X, "out": torch.zeros(512), "rows": 7}, B), "branch",
    ),
    "an early exit": (
        (kernels.left_early, (8,), {"x": X, "out": torch.zeros(512), "last": 3}, B), "branch",
    ),
    "rows that no program has, beside a ragged edge": (
        (kernels.tile, (2, 2), {"x": X, "out": torch.zeros(800), "rows": 40, "columns": 20}, TILE),
        "grid",
    ),
    "a loop too short": (
        (kernels.stored_block_by_block, (3,), {"out": torch.zeros(1000), "n": 300},
         {"COUNT": 4, **B}),
        "grid",
    ),
    "a triangle": (
        (kernels.triangle, (1,), {"x": X, "out": torch.zeros(144), "n": 12}, {"B": 16}), "mask",
    ),
    "a scatter": (
        (kernels.scattered, (2,), {"index": torch.arange(128), "x": X, "out": torch.zeros(300)}, B),
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("planted", LEFT_OUT)
def test_the_reason_for_missing_bytes_is_named(planted):
    launch, why = LEFT_OUT[planted]
    call = call_of(*launch)
    effect = next(effect for effect in effects_of(call).storages if effect.stores)

    (reason,) = missing_stores(call, effect, ByteRanges.of(0, effect.size) - effect.may_write)

    assert reason == why
