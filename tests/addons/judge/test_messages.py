"""Messages of a process that may write anything."""

import os
import struct

import pytest

from kvtrace.addons.judge.messages import SIZES, Malformed, receive, send


def heard(content, most=100):
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    try:
        return receive(reading, most)
    finally:
        os.close(reading)


def test_what_is_sent_is_received():
    reading, writing = os.pipe()
    send(writing, {"call": 3}, b"bytes")
    os.close(writing)
    assert receive(reading, 5) == ({"call": 3}, b"bytes")
    assert receive(reading, 5) is None
    os.close(reading)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x01\x02", "ends in its first bytes"),
        (struct.pack("<IQ", 0xFFFFFFFF, 0), "4,294,967,295 bytes"),
        (SIZES.pack(2, 101) + b"{}", "a message of 103 bytes"),
        (SIZES.pack(2, 1 << 60) + b"{}", "bytes"),
        (SIZES.pack(9, 0) + b"{}", "cut off"),
        (SIZES.pack(2, 9) + b"{}1234", "cut off"),
        (SIZES.pack(2, 0) + b"[]", "not an object"),
        (SIZES.pack(3, 0) + b"\x80\x04.", "not JSON"),
        (SIZES.pack(200_000, 0) + b"[" * 200_000, "not JSON"),
    ],
)
def test_what_is_none_is_a_sentence(content, said):
    if len(content) < 1 << 16:
        with pytest.raises(Malformed, match=said):
            heard(content)
        return
    reading, writing = os.pipe()
    if os.fork() == 0:
        send_all(writing, content)
        os._exit(0)
    os.close(writing)
    with pytest.raises(Malformed, match=said):
        receive(reading, 100)
    os.close(reading)
    os.wait()


def send_all(descriptor, content):
    while content:
        content = content[os.write(descriptor, content) :]
