"""`tt`: atomics."""
