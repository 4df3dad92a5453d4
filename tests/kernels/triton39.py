"""IR that Triton 3.9 compiled (`tests/fixtures/triton39`), for tests with any Triton.

The IR is stored as text, because some ops are new: `tl.atomic_load`, `atomic_store`, `atomic_poll`.
"""

import re
from pathlib import Path

from kvtrace.evaluate import Storage, TensorArgument

FOLDER = Path(__file__).parents[1] / "fixtures" / "triton39"


def text_of(kernel):
    """Return the TTIR of a kernel of `atomics39.py`, in generic form."""
    return (FOLDER / f"{kernel}.mlir").read_text(encoding="utf-8")


def line_of(kernel, op):
    (found,) = re.findall(rf'^.*"{op}".*$', text_of(kernel), re.MULTILINE)
    return found


#: Lines of `hand_over`, for tests that change them.
STORE_OF_FLAG = line_of("hand_over", "tt.atomic_store")
ONE_POLL = line_of("hand_over", "tt.atomic_poll")


def int_tensor(name, array):
    """Return an argument with an array's numbers as int32."""
    held = array if array.dtype == "int32" else array.astype("int32")
    storage = Storage(held.nbytes, held.reshape(-1).view("uint8"))
    return TensorArgument(name, storage, 0, "i32", held.shape, (1,))
