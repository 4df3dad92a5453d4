"""Keeps pages in pipes that it maps no more: 2 MiB by each byte, where pages are large."""

import ctypes
import mmap
import os

libc = ctypes.CDLL(None, use_errno=True)
reading, writing = os.pipe()
memory = mmap.mmap(-1, 4 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
vector = (ctypes.c_size_t * 2)(ctypes.addressof(ctypes.c_char.from_buffer(memory)), 1)
with open(os.environ["HOME"] + "/file", "w+b") as file:
    file.write(bytes(4096))
    file.flush()
    for name, arguments in (
        ("vmsplice", (writing, vector, 1, 0)),
        ("splice", (file.fileno(), (ctypes.c_int64 * 1)(0), writing, None, 4096, 0)),
        ("tee", (reading, writing, 4096, 2)),
    ):
        if getattr(libc, name)(*arguments) > 0:
            print("ESCAPED:", name)
