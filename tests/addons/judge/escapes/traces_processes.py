"""Traces, reads and takes descriptors of any process that it can name."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
held = ctypes.create_string_buffer(64)
vector = (ctypes.c_size_t * 2)(ctypes.addressof(held), 64)
for process in {1, 2, os.getpid(), os.getppid(), *range(3, 300)}:
    for request in (16, 0x4206):  # attach, seize
        if libc.ptrace(request, process, None, None) == 0:
            print("ESCAPED: traces", process)
    if libc.process_vm_readv(process, vector, 1, vector, 1, 0) >= 0:
        print("ESCAPED: reads", process)
    opened = libc.syscall(434, process, 0)  # pidfd_open
    if opened >= 0 and libc.syscall(438, opened, 0, 0) >= 0:  # pidfd_getfd
        print("ESCAPED: takes a descriptor of", process)
