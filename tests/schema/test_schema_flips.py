"""A flipped bit in any file of a trace is found by `validate` where it changes what is read."""

import pytest

from tests.schema.flips import flips, write_trace
from tests.support.thorough import usually


@pytest.mark.sweep
@pytest.mark.night("a trace with every table; a bit of a segment stays in test_journal.py")
def test_flipped_bits_are_found_and_cost_only_their_batch_or_file(tmp_path):
    tried = list(flips(write_trace(tmp_path), count=usually(70, thorough=700), seed=14))

    assert [flip for flip in tried if flip.is_wrong] == []
    assert sum(flip.changes for flip in tried) > 20
