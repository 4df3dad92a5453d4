"""Labeled kernels of `corpus/defects` that the installed Triton can compile."""

from typing import Final

from corpus import load
from corpus.questions.defects import Sample
from tests.support.triton_versions import missing_for

_ALL: Final[tuple[Sample, ...]] = load("defects")
#: What this Triton lacks, by the sample that needs it.
LEFT_OUT: Final[dict[Sample, str]] = {
    sample: lacking for sample in _ALL if (lacking := missing_for(sample.kernel, sample.constexprs))
}
CORPUS: Final[tuple[Sample, ...]] = tuple(sample for sample in _ALL if sample not in LEFT_OUT)
