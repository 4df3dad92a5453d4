"""What notebooks show of a trace: HTML of its tables, findings, profiles, differences and pages.

`markup.py` is what all of it is made of, and the only place that writes tags around text; the other
files are of one kind of object each. Nothing is fetched, and all text of a trace is escaped.
"""
