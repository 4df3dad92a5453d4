"""All samples, each named once."""

from collections import Counter

from tests.kernels.defects import (
    assertions,
    blocks,
    data,
    division,
    grids,
    hints,
    lanes,
    loops,
    masks,
    overflow,
    races,
    reported,
    strides,
    views,
)
from tests.kernels.defects.sample import Sample

_THEMES = (
    masks, strides, grids, loops, blocks, views, overflow, races, lanes, hints, division,
    assertions, data, reported,
)  # fmt: skip

CORPUS: tuple[Sample, ...] = tuple(sample for theme in _THEMES for sample in theme.SAMPLES)

_repeated = [name for name, count in Counter(s.name for s in CORPUS).items() if count > 1]
assert not _repeated, _repeated
