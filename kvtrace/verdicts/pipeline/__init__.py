"""The rule pipeline-order: TTGIR that reads or writes shared memory before an operation on it ends.

`explore.py` visits all states of a program (`state.py`, `views.py`) for any trip counts
(`numbers.py`), restricted to the ops that matter (`relevance.py`). Faults (`faults.py`), operations
that come too early, are replayed in evaluations of calls (`replay.py`). `rule.py` makes verdicts
and messages.
"""
