"""Views of NKI kernels in profiles, timelines, reports and differences, from their tables.

`on_chip.py` reads memory, flows and engines of each call as plain data. `chip_profile.py` derives
how busy engines are at published rates, for profiles and differences. `drawing.py`, with the
earliest times of ops, and `report.py` show these data. No figure is measured.
"""
