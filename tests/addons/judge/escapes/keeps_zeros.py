"""Keeps shared memory of the device of zeros, which is mapped nowhere."""

import ctypes
import mmap
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
PIECE = 16 << 20
kept = []
while len(kept) < 64:
    try:
        memory = mmap.mmap(os.open("/dev/zero", os.O_RDWR), PIECE)
    except OSError as error:
        print(f"kept out: {error!r}")
        break
    memory[:] = bytes([1]) * PIECE
    libc.munmap(ctypes.addressof(ctypes.c_char.from_buffer(memory)) + 4096, PIECE - 4096)
    kept.append(memory)
    print("HOLDS", len(kept) * 16, flush=True)
