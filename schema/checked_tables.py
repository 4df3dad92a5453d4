"""Tables of what tensors held at launches: memory that is kept to be checked, digests, numbers."""

from typing import Final

import pyarrow as pa

from kvtrace.schema.private import ARTIFACT, OPEN, leaf
from kvtrace.schema.table_types import BOOL, F64, I32, I64, NAME, OF_LAUNCH, SPAN, Column, Table

_C = Column

#: What is private in a number that was computed from elements.
_OF_ELEMENTS: Final = leaf("tensors")

#: Shares of the finite elements other than zero that are at most each of `quantiles`. They are
#: denser towards the ends: a normal distribution, drawn linearly between them, is 1.7% too wide.
LEVELS: Final = (
    0.0, 0.001, 0.003, 0.01, 0.03, 0.07, 0.15, 0.3, 0.5,
    0.7, 0.85, 0.93, 0.97, 0.99, 0.997, 0.999, 1.0,
)  # fmt: skip


def _number(name: str, meaning: str, number_type: pa.DataType = I64) -> Column:
    return _C(name, number_type, meaning, private=_OF_ELEMENTS)


#: The storage, named by the first argument that has it, and the time relative to the launch.
_STORAGE: Final = (
    _C(
        "arg",
        I32,
        "index in the call's args of the first argument with that storage",
        key=True,
    ),
    _C("when", NAME, "before or after the launch", key=True, private=OPEN),
)

CHECKED: Final = (
    Table(
        "checked_launches",
        "a launch whose memory was kept, so that it can be computed again",
        "captured",
        (
            *OF_LAUNCH,
            _C("why", NAME, "why it was chosen: first, sample, kernel or finite", private=OPEN),
            _C(
                "programs",
                pa.list_(I64),
                "the programs whose memory was kept, by linear id, x fastest; null: the grid's",
            ),
            _C("bytes", I64, "bytes kept, before and after", "bytes"),
        ),
        sort=("seq",),
        since="1.6",
    ),
    Table(
        "checked_memory",
        "what one storage held before or after a launch that is checked",
        "captured",
        (
            *OF_LAUNCH,
            *_STORAGE,
            _C(
                "spans",
                pa.list_(SPAN),
                "the parts of the storage that were kept, in order; the rest is not known",
            ),
            _C(
                "artifact",
                NAME,
                "sha256 of the bytes of the spans, one after another",
                private=ARTIFACT,
            ),
        ),
        sort=("seq", "arg"),
        since="1.6",
    ),
    Table(
        "digests",
        "a digest of what one storage held before or after a launch",
        "captured",
        (
            *OF_LAUNCH,
            *_STORAGE,
            _C("digest", I64, "64 bits", private=leaf("tensors")),
            _C(
                "lines",
                I32,
                "N: one in N lines of 128 bytes was hashed; 1: every byte",
            ),
        ),
        sort=("seq", "arg"),
        since="1.6",
    ),
    Table(
        "non_finite",
        "whether one storage held a NaN or an infinity before or after a launch",
        "captured",
        (
            *OF_LAUNCH,
            *_STORAGE,
            _C("nan", BOOL, "whether there was a NaN", private=leaf("tensors")),
            _C("infinity", BOOL, "whether there was an infinity", private=leaf("tensors")),
        ),
        sort=("seq", "arg"),
        since="1.6",
    ),
    Table(
        "tensor_statistics",
        "numbers of one argument's tensor, as one launch found it: of all elements, or a sample",
        "captured",
        (
            *OF_LAUNCH,
            _C("arg", I32, "index of the argument in the call's args", key=True),
            _C("elements", I64, "elements in memory; those that a stride of 0 repeats count once"),
            _C("sampled", I64, "elements that the numbers are of, spread over the tensor"),
            _number("nans", "NaNs"),
            _number("infinities", "infinities of both signs"),
            _number("negative_infinities", "negative infinities"),
            _number("zeros", "zeros of both signs"),
            _number("negatives", "finite elements below zero"),
            _number("minimum", "least finite element", F64),
            _number("maximum", "greatest finite element", F64),
            _number("mean", "mean of the finite elements", F64),
            _number("deviation", "standard deviation of the finite elements", F64),
            _number(
                "quantiles",
                f"of the finite elements other than zero, those below which a share of "
                f"{', '.join(f'{level:g}' for level in LEVELS)} lies; null: there are none",
                pa.list_(F64),
            ),
            _C(
                "sorted",
                NAME,
                "ascending or descending, in the order of memory; null: neither, all equal, or "
                "not all finite",
                private=_OF_ELEMENTS,
            ),
        ),
        sort=("seq", "arg"),
        since="1.12",
    ),
)
