"""The condition on a kernel's parameters under which each access stays inside: `condition.py`.

It is found for all sizes at once, as a formula, and no size is tried. `wording.py` writes it as
text, `compared_calls.py` compares recorded calls with it; `verdicts/ranges` puts sizes into it as
the first of several ways to prove that an access stays inside in a range of them.
"""
