"""Whether TTGIR reads or writes shared memory too early, while an operation on it is in flight.

`explore.py` visits all states of a program (`state.py`, `views.py`), of loops whatever they
count (`numbers.py`), and looks at no more than decides them (`relevance.py`). What comes too early
(`faults.py`) is looked for in evaluations of calls (`replay.py`). `rule.py` puts it into words.
"""
