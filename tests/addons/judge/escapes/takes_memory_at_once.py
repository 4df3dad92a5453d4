"""Takes memory by four threads at a time, whose pieces are hidden by their protection."""

import ctypes
import mmap
import threading

libc = ctypes.CDLL(None, use_errno=True)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
PIECE = 8 << 20
kept, begin = [], threading.Event()


def take():
    begin.wait()
    while True:
        try:
            memory = mmap.mmap(-1, PIECE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as error:
            print(f"kept out: {error!r}")
            return
        ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(memory)), 1, PIECE)
        libc.mprotect(ctypes.addressof(ctypes.c_char.from_buffer(memory)), PIECE, 0)
        kept.append(memory)
        print("HOLDS", len(kept) * 8, flush=True)


threading.stack_size(256 << 10)
threads = [threading.Thread(target=take) for _ in range(4)]
for each in threads:
    each.start()
begin.set()
for each in threads:
    each.join()
