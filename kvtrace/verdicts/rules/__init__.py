"""The rules, one per file, and their table (`table.py`): id, severity, judging function.

`choice.py` selects rules by the names that users pass; `added.py` has the rules of add-ons. A new
rule needs a file and a row in the table.
"""
