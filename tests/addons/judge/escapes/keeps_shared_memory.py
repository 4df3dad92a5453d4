"""Keeps shared memory that is mapped nowhere: all but a page of each piece is given back."""

import ctypes
import mmap

libc = ctypes.CDLL(None, use_errno=True)
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
PIECE = 16 << 20
kept = []
while len(kept) < 64:
    try:
        memory = mmap.mmap(-1, PIECE)
    except OSError as error:
        print(f"kept out: {error!r}")
        break
    memory[:] = bytes([1]) * PIECE
    libc.munmap(ctypes.addressof(ctypes.c_char.from_buffer(memory)) + 4096, PIECE - 4096)
    kept.append(memory)
    print("HOLDS", len(kept) * 16, flush=True)
