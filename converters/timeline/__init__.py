"""Timelines of runs for Perfetto and Chrome.

`drawing.py` builds a timeline from tables, as the dataclasses of `timeline.py`. `perfetto.py` and
`chrome.py` encode it with `pieces.py`, `protobuf.py` and `nesting.py`.
"""
