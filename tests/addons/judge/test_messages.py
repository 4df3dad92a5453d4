"""Messages of a process that may send anything."""

import os
import struct

import pytest

from kvtrace.addons.judge.messages import SIZES, Malformed, receive, send


def received(content, most=100):
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    try:
        return receive(reading, most)
    finally:
        os.close(reading)


def test_sent_message_is_received():
    reading, writing = os.pipe()
    send(writing, {"call": 3}, b"bytes")
    os.close(writing)
    assert receive(reading, 5) == ({"call": 3}, b"bytes")
    assert receive(reading, 5) is None
    os.close(reading)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x01\x02", "ends before its sizes"),
        (struct.pack("<IQ", 0xFFFFFFFF, 0), "4,294,967,295 bytes"),
        (SIZES.pack(2, 101) + b"{}", "a message is too large .103 bytes."),
        (SIZES.pack(2, 1 << 60) + b"{}", "bytes"),
        (SIZES.pack(9, 0) + b"{}", "cut off"),
        (SIZES.pack(2, 9) + b"{}1234", "cut off"),
        (SIZES.pack(2, 0) + b"[]", "not a JSON object"),
        (SIZES.pack(3, 0) + b"\x80\x04.", "not JSON"),
        (SIZES.pack(200_000, 0) + b"[" * 200_000, "not JSON"),
    ],
)
def test_malformed_message_is_a_one_sentence_error(content, message):
    if len(content) < 1 << 16:
        with pytest.raises(Malformed, match=message):
            received(content)
        return
    reading, writing = os.pipe()
    if os.fork() == 0:
        send_all(writing, content)
        os._exit(0)
    os.close(writing)
    with pytest.raises(Malformed, match=message):
        receive(reading, 100)
    os.close(reading)
    os.wait()


def send_all(descriptor, content):
    while content:
        content = content[os.write(descriptor, content) :]
