"""Has capabilities, or gets them by namespaces; calls what reaches other processes."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
header, held = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
libc.capget(header, held)
if any(held):
    print("ESCAPED: capabilities", *held)
for number in range(41):
    if libc.prctl(23, number, 0, 0, 0) == 1:  # the bound of capabilities
        print("may get capability", number)
for name, arguments in (
    ("unshare", (0x10000000,)),
    ("mount", (b"none", b"/tmp", b"tmpfs", 0, None)),
    ("umount2", (b"/proc", 2)),
    ("ptrace", (0, 0, 0, 0)),
    ("prctl", (1, 0, 0, 0, 0)),
    ("chroot", (b"/",)),
    ("memfd_create", (b"hidden", 0)),
):
    if getattr(libc, name)(*arguments) >= 0:
        print("ESCAPED:", name)
