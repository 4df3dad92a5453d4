"""Sizes for which a kernel is proven correct: the engine of `kvtrace sizes`.

`condition.py` derives, by certified elimination, the formula of all sizes under which an access
stays inside its tensor; `wording.py` makes text of it. `envelope.py` finds the range of a size in
which all rules hold: `relations.py` has the formulas (`ties.py`) by which other numbers follow from
the size, as the program's text (`program_ties.py`, `program_scopes.py`) or the user states them,
`sized.py` makes the size a symbol, and `sized_claims.py` lists the claims to prove. `at_size.py`
judges one size that was not recorded, and compares recorded calls with formulas; `unwritten.py`
tries whether outputs are wholly written. `index_tensors.py` has the values of index tensors.
"""
