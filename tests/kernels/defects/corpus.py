"""All samples that the installed Triton can compile, each named once."""

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
from tests.support.triton_versions import missing_for

_THEMES = (
    masks, strides, grids, loops, blocks, descriptors, views, overflow, races, lane_conflicts,
    lanes, hints, division, assertions, data, reported,
    serving_attention, serving_cache, serving_experts, serving_lora,
    serving_sampling, serving_scans, serving_batches, serving_sizes,
    serving_layouts, serving_lookups, within,
)  # fmt: skip

_ALL: tuple[Sample, ...] = tuple(sample for theme in _THEMES for sample in theme.SAMPLES)

#: What this Triton lacks, by the sample that needs it.
LEFT_OUT: dict[Sample, str] = {
    sample: lacking for sample in _ALL if (lacking := missing_for(sample.kernel, sample.constexprs))
}
CORPUS: tuple[Sample, ...] = tuple(sample for sample in _ALL if sample not in LEFT_OUT)

_repeated = [name for name, count in Counter(s.name for s in _ALL).items() if count > 1]
assert not _repeated, _repeated
