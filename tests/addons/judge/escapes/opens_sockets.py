"""Opens sockets of every family and kind, and talks to one of the host without a path."""

import ctypes
import socket

libc = ctypes.CDLL(None, use_errno=True)
for family in range(46):  # netlink, packet, vsock, alg, bluetooth, xdp and all others
    for kind in (1, 2, 3, 5):
        for found in (
            libc.socket(family, kind, 0),
            libc.socket(family, kind, 17),
            libc.socketpair(family, kind, 0, (ctypes.c_int * 2)()) or None,
        ):
            if found is None or found >= 0:
                print("ESCAPED:", family, kind)
for address in ("\0@HOST@", "@HOST@/socket"):
    try:
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).connect(address)
    except OSError as error:
        print(f"kept out: {error!r}")
    else:
        print("ESCAPED: connected to", repr(address))
for name in ("localhost", "example.com", "127.0.0.1"):
    try:
        print("ESCAPED:", socket.create_connection((name, 80), 1))
    except OSError as error:
        print(f"kept out: {error!r}")
