"""Exports of suites: `calls.py` reads the calls, `program.py` writes the code that launches them.

Each format has a module of its name, registered in the group `suite_exports`.
"""
