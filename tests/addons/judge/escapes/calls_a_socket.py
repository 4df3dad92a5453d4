"""Connects to a socket of the host, as that of Docker or D-Bus is."""

import socket

try:
    socket.socket(socket.AF_UNIX).connect("@HOST@/socket")
except OSError as error:
    print(f"kept out: {error!r}")
else:
    print("ESCAPED: connected")
