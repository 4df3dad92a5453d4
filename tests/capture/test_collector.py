"""Python's garbage collector beside work of the recording."""

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from kvtrace.capture.collector import Uncounted
from tests.capture.recorders import _hot

ROOT = Path(__file__).parents[2]

if _hot is None:
    pytest.skip("the C extension is not built", allow_module_level=True)


def test_objects_of_uncounted_work_bring_no_collection_nearer():
    with Uncounted():
        pass  # the counts are found
    gc.collect(1)
    before, counts = _hot.old_objects(), gc.get_count()

    with Uncounted(leaves_objects=True):
        kept = [[number] for number in range(20_000)]

    assert _hot.old_objects() == before
    assert gc.get_count()[1:] <= counts[1:]
    assert len(kept) == 20_000


def test_nested_and_overlapping_work_ends_with_the_counts_of_its_begin():
    outer, inner = Uncounted(leaves_objects=True), Uncounted()
    gc.collect(1)
    before = _hot.old_objects()
    outer.__enter__()
    inner.__enter__()
    kept = [[number] for number in range(5_000)]
    outer.__exit__()
    assert _hot.old_objects()[1] < 0  # the other work goes on
    inner.__exit__()
    assert _hot.old_objects() == before
    assert len(kept) == 5_000


#: In a process with few objects: a full collection of this one's would take long.
PROGRAM = """
import gc
from kvtrace.capture import _hot
from kvtrace.capture.collector import Uncounted, frozen_objects

def full():
    return gc.get_stats()[2]["collections"]

with Uncounted():
    pass
gc.collect()
begun = full()
with Uncounted():
    kept = [[number] for number in range(100_000)]
assert full() == begun, "a full collection began by itself"
more = [[number] for number in range(300_000)]
assert full() > begun, "the program's own do"

with Uncounted():
    kept += [[number] for number in range(1_000)]
    gc.collect()
    total = _hot.old_objects()
assert _hot.old_objects() == total, "the program's own collection counts"
assert total[0] > 200_000 and total[1] == 0

gc.disable()
with Uncounted(leaves_objects=True):
    kept += [[number] for number in range(5_000)]
assert not gc.isenabled()

class Frozen:
    pass

hidden = [Frozen(), type("Below", (Frozen,), {})()]
gc.freeze()
count = gc.get_freeze_count()
assert {id(value) for value in frozen_objects(Frozen)} == set(map(id, hidden))
assert gc.get_freeze_count() >= count
"""


@pytest.mark.process
def test_full_collections_are_those_of_the_program():
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
