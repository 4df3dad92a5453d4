"""Views of NKI kernels in profiles, reports and differences, from their tables.

`chip_profile.py` has each call's peaks, and derives how busy engines are at published rates, for
profiles and differences. `on_chip.py` adds memory over time and flows, which `report.py` shows.
No figure is measured.
"""
