"""Starts threads without an end, with stacks as small as may be."""

import threading
import time

threading.stack_size(32 << 10)
while True:
    try:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    except RuntimeError:
        time.sleep(0.01)
