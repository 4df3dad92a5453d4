"""Views of NKI kernels in profiles, timelines, reports and differences, from their tables.

`on_chip.py` reads memory, flows and engines of each call as plain data. `chip_profile.py` derives
how busy engines are at published rates (`devices.py`). `drawing.py`, with the
earliest times of ops, `report.py` and `differences.py` show these data. No figure is measured.
"""
