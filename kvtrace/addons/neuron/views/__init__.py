"""Views of NKI kernels in profiles and reports, from their tables.

`chip_profile.py` has each call's peaks and the work of engines. `on_chip.py` adds memory over time
and flows, which `report.py` shows. No figure is measured.
"""
