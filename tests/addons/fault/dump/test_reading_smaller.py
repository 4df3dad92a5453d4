import shutil

import pytest

from kvtrace.addons.fault.dump.reading import UnreadableDump, read_dump, reduce_dump
from kvtrace.addons.fault.explaining import faults_of
from tests.addons.fault.recorded import DUMPS


def answer(path):
    return [
        (fault.kernel, fault.exception, fault.place, fault.effect, fault.address, fault.grid.size)
        for fault in faults_of(read_dump(path), None, ())
    ]


@pytest.mark.parametrize("name", ["gather", "called", "shifted", "spinning"])
def test_reducing_again_changes_no_answer(name, tmp_path):
    copy = tmp_path / "core"
    shutil.copy(DUMPS / f"{name}.nvcudmp", copy)
    before = answer(copy)
    assert reduce_dump(copy) == copy.stat().st_size
    assert answer(copy) == before
    assert list(tmp_path.iterdir()) == [copy]


def test_file_that_is_no_dump_stays_as_it_is(tmp_path):
    file = tmp_path / "core"
    file.write_bytes(b"not a dump")
    with pytest.raises(UnreadableDump, match="cannot be made smaller"):
        reduce_dump(file)
    assert file.read_bytes() == b"not a dump"
