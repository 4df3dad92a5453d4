"""The timeline of a trace as plain data (`timeline.py`, drawn by `drawing.py`), and its formats.

`perfetto.py` and `chrome.py` write it; `pieces.py`, `protobuf.py` and `nesting.py` are how.
"""
