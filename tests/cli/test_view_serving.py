"""A served page: at its own address, for this machine alone."""

import http.client
import socket
import struct
import threading
import time
from urllib.parse import urlsplit

import pytest

from kvtrace.cli.view import PageServer
from kvtrace.schema.errors import BadSetting

PAGE = b"<!doctype html><title>page</title>"


@pytest.fixture
def server():
    with PageServer(PAGE) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server, path, method="GET", **headers):
    connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=300)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_page_is_served_to_this_machine(server, host):
    status, headers, body = ask(server, server.path, Host=f"{host}:{server.server_port}")

    assert (status, body) == (200, PAGE)
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert len(server.path) > 20


@pytest.mark.parametrize("path", ["/", "/report.html", "/../etc/passwd", "{0}x", "{0}../x"])
def test_no_other_path_is_served(server, path):
    assert ask(server, path.format(server.path))[::2] == (404, b"")


def test_a_foreign_name_for_this_machine_is_refused(server):
    answer = ask(server, server.path, Host=f"evil.example:{server.server_port}")

    assert answer[::2] == (404, b"")


def test_head_has_no_body_and_other_methods_are_refused(server):
    status, headers, body = ask(server, server.path, method="HEAD")

    assert (status, headers["Content-Length"], body) == (200, str(len(PAGE)), b"")
    assert ask(server, server.path, method="POST")[0] == 501


def test_an_occupied_port_is_reported(server):
    with pytest.raises(BadSetting, match=f"be started on port {server.server_port}: "):
        PageServer(PAGE, server.server_port)


def test_page_is_sent_with_its_policy_and_a_ban_on_framing(server):
    for path in (server.path, "/"):
        _, headers, _ = ask(server, path)
        assert headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"

    page = (
        b'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        b"script-src 'sha256-x'\">"
    )
    with PageServer(page) as other:
        assert other.policy == ("default-src 'none'; script-src 'sha256-x'; frame-ancestors 'none'")


def test_a_connection_closed_by_the_browser_prints_nothing(capfd):
    with PageServer(bytes(32 << 20)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        with socket.create_connection(("127.0.0.1", server.server_port)) as browser:
            browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            text = f"GET {server.path} HTTP/1.1\r\nHost: localhost:{server.server_port}\r\n\r\n"
            browser.sendall(text.encode())
            browser.recv(1000)  # and then it is reset
        server.shutdown()
        thread.join()
        time.sleep(0.5)  # the answer's own thread sees the reset
    assert capfd.readouterr().err == ""
