"""The rules, one per file, and their table (`table.py`): id, severity, judging function.

`choice.py` has the rules of add-ons, and selects rules by the names that users pass. A new rule
needs a file and a row in the table.
"""
