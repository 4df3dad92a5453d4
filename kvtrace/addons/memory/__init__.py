"""Add-on: what happened to memory between launches.

`recording/` records it with `KVTRACE_MEMORY=on`: addresses of launches' tensors, calls of torch's
operators, and memory that generated code allocates.
"""
