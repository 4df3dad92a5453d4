"""Timelines: built as plain data from a run's tables, written for Perfetto and Chrome.

`drawing.py` builds the data that `timeline.py` defines. `perfetto.py` and `chrome.py` encode it
with `pieces.py`, `protobuf.py` and `nesting.py`.
"""
