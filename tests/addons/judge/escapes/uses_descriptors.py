"""Uses descriptors that its parents may have left open: folders, files, sockets, pipes."""

import errno
import os
import stat

for number in range(4096):
    try:
        mode = os.fstat(number).st_mode
    except OSError as error:
        if error.errno != errno.EBADF:
            print("ESCAPED:", number, error)
        continue
    if number > 3 and not stat.S_ISREG(mode):  # the program itself may be open
        print("ESCAPED:", number, oct(mode))
    if stat.S_ISDIR(mode) or stat.S_ISSOCK(mode) or stat.S_ISBLK(mode):
        print("ESCAPED:", number, oct(mode))
for number in range(3):
    try:
        print("ESCAPED: lists", number, os.listdir(number))
    except OSError as error:
        print(f"kept out: {error!r}")
    try:
        if os.read(number, 100):
            print("ESCAPED: reads", number)
    except OSError as error:
        print(f"kept out: {error!r}")
