"""For which sizes a kernel is proven, from launches at a few: `envelope.envelope` is the way in.

`growth.py` finds which recorded numbers vary together, `sized.py` makes one of them a symbol, and
`sized_claims.py` says what has to hold up to which size. `contracts.py` reads what a user promises.
"""
