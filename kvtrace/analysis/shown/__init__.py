"""HTML of results in notebooks: tables, findings, profiles, differences and pages.

`markup.py` has the elements, and is the only file that writes tags around text; each other file
shows one kind of object. Nothing is fetched, and all text of a trace is escaped.
"""
