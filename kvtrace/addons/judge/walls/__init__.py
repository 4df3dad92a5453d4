"""What a confined process cannot get out of, a kind of wall a file.

`mounts.py` gives it a separate root, and namespaces; `privileges.py` takes its capabilities, and
limits its resources; `filters.py` refuses system calls; `landlock.py` keeps files as they are.
`processes.py` finds what it started and what all of them take, and `leftovers.py` takes over the
files that it leaves. `confining.py`, above this folder, puts the walls up and waits.

They are namespaces by Python itself, not bubblewrap: bubblewrap executes a program, so each process
would import torch and Triton again, where a fork of a process that has imported them takes 20 ms.
"""
