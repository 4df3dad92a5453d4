"""Makes a system call as a program of 32 bits does, whose numbers a filter may not know."""

import ctypes
import mmap
import os

if os.uname().machine != "x86_64":
    os.abort()  # there is no such way
memory = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)
memory.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20 (getpid); int 0x80; ret
code = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
print("asks", flush=True)
print("ESCAPED:", code())
