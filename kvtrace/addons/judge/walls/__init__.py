"""What a confined process cannot get out of, a kind of wall a file.

`mounts.py` gives it a separate root, and namespaces, and `neighbors.py` copies of what lies beside
the judged file; `privileges.py` takes its capabilities, and limits its resources; `filters.py`
refuses system calls; `landlock.py` keeps files as they are. `processes.py` says what it takes, and
`leftovers.py` takes over the files that it leaves. `confining.py`, above this folder, puts the
walls up and waits. docs/design.md says why they are not bubblewrap's or nsjail's.
"""
