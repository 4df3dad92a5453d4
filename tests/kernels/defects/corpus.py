"""All samples, each named once."""

from collections import Counter

from tests.kernels.defects import (
    assertions,
    blocks,
    data,
    descriptors,
    division,
    grids,
    hints,
    lane_conflicts,
    lanes,
    loops,
    masks,
    overflow,
    races,
    reported,
    serving_attention,
    serving_batches,
    serving_cache,
    serving_experts,
    serving_layouts,
    serving_lookups,
    serving_lora,
    serving_sampling,
    serving_scans,
    serving_sizes,
    strides,
    views,
    within,
)
from tests.kernels.defects.sample import Sample

_THEMES = (
    masks, strides, grids, loops, blocks, descriptors, views, overflow, races, lane_conflicts,
    lanes, hints, division, assertions, data, reported,
    serving_attention, serving_cache, serving_experts, serving_lora,
    serving_sampling, serving_scans, serving_batches, serving_sizes,
    serving_layouts, serving_lookups, within,
)  # fmt: skip

CORPUS: tuple[Sample, ...] = tuple(sample for theme in _THEMES for sample in theme.SAMPLES)

_repeated = [name for name, count in Counter(s.name for s in CORPUS).items() if count > 1]
assert not _repeated, _repeated
