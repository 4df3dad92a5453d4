"""For which sizes a kernel is proven: the engine of `kvtrace sizes`.

Two questions are answered. What has to hold of all sizes for an access to stay inside is a formula,
`condition.py`, found by elimination and certified; `wording.py` writes it as text, and
`compared_calls.py` compares recorded calls with it. Up to which size everything is fine is a range,
`envelope.py`: `growth.py` finds which recorded numbers vary together, `sized.py` makes one of them
a symbol, and `sized_claims.py` says what has to hold, by that formula where there is one.
`at_size.py` judges one size that was not recorded; `contracts.py` reads what a user promises.
"""
