"""The rule pipeline-order: accesses to shared memory while an operation on it is in flight.

`explore.py` visits all states of a program (`state.py`, `views.py`) for any trip counts
(`relevance.py`), restricted to relevant ops (`relevance.py`). Faults (`views.py`), which are
operations that come too early, are replayed in evaluations of calls by `rule.py`, which makes
verdicts and messages.
"""
