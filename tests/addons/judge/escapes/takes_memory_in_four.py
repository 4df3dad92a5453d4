"""Takes memory by four processes, each of which stays below the bound of one."""

import os
import time

children = []
for _ in range(4):
    child = os.fork()
    if child == 0:
        held = bytearray(b"x") * (100 << 20)
        time.sleep(60)
        os._exit(len(held) % 1)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
