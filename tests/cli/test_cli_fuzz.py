"""Traces that nobody wrote, through every command; longer by hand: `python -m tests.cli.fuzz`."""

import pytest

from kvtrace.cli import own_commands
from tests.cli.fuzz import CALLS, fuzz
from tests.support.thorough import usually


@pytest.mark.process
@pytest.mark.night("eight seconds; a part of its finds is in test_cli_bad_rows.py")
@pytest.mark.timeout(900)
def test_mutated_traces_end_in_results_or_sentences():
    assert set(CALLS) >= set(own_commands())
    faults, called = fuzz(seed=14, cases=usually(8, thorough=80), each=6)
    assert faults == []
    assert set(called) == set(own_commands())
