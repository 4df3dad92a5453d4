"""The condition on a kernel's parameters under which each access stays inside: `condition.py`.

`wording.py` writes it as text, `compared_calls.py` compares recorded calls with it.
"""
