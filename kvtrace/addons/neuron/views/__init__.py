"""What profiles, timelines, reports and differences show of NKI kernels, from their tables.

`on_chip.py` reads memory, flows and engines of each call as plain data, `chip_profile.py` how busy
engines are by published rates (`devices.py`, `engine_times.py`); `engine_schedule.py` when they
could run ops at the soonest. `drawing.py`, `report.py` and `differences.py` show it. All derived.
"""
