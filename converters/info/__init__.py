"""Overviews of a trace: `info.read_overview` for recorded runs, `live.py` while programs run."""
