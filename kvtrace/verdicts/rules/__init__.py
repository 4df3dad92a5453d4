"""The rules, a file each, and `table.py`, which lists them: id, severity, function that judges.

`choice.py` reads which of them a user asks for; `added.py` has those of add-ons. A new rule is its
file and its row in the table.
"""
