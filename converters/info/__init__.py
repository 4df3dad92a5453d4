"""What a trace holds at a glance: `info.read_overview`, and `live.py` while it is recorded."""
