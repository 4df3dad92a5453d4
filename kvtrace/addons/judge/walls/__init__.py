"""Walls: measures that confine a process, one kind per file.

`mounts.py` gives the process a separate root folder and namespaces, and `neighbors.py` copies the
files of the judged file's folder. `privileges.py` removes capabilities, limits resources and
protects files (Landlock); `filters.py` refuses system calls. `processes.py` measures memory and
threads, and `leftovers.py` copies the files that the process leaves. `confining.py`, in the parent
folder, puts the walls up and waits for the process.

bubblewrap and nsjail need the same namespaces and execute a program, so each process would import
torch and Triton again (seconds, where a fork takes 50 ms). bubblewrap bounds no memory and needs
our filter of system calls anyway; nsjail bounds several processes by a control group, which is
rarely ours to make: so judged code starts none, and the limits of one process suffice.
"""
