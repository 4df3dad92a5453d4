"""Add-on: memory that nobody wrote, across launches.

`recording/` records what happens to memory with `KVTRACE_MEMORY=on`: addresses of launches'
tensors, calls of torch's operators, and memory that generated code allocates. `effects.py` derives
which bytes a call stores and reads, `uses.py` which of these matter and which are copied,
`following.py` follows all storages in the order of the run, and `judged.py` makes findings of it.
"""
