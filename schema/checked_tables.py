"""Tables of launches that are kept so that they can be checked: memory, digests, NaNs."""

from typing import Final

import pyarrow as pa

from kvtrace.schema.private import ARTIFACT, OPEN, leaf
from kvtrace.schema.table_types import BOOL, I32, I64, NAME, OF_LAUNCH, SPAN, Column, Table

_C = Column

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
)
