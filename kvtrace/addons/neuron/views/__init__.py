"""Views of NKI kernels in profiles, timelines, reports and differences, from their tables.

`chip_profile.py` has each call's peaks, and derives how busy engines are at published rates, for
profiles and differences. `on_chip.py` adds memory over time and flows. `drawing.py`, with the
earliest times of ops, and `report.py` show these data. No figure is measured.
"""
