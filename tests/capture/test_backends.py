"""Which backends there are, and which of them have kernels that `kvtrace.trace` can watch."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kvtrace
from kvtrace.capture import backends
from kvtrace.schema.errors import BadSetting

PLACE = "tests.capture.test_backends"
ENTRIES = f"[kvtrace.backends]\none = {PLACE}:ONE\nwatching = {PLACE}:TWO\n"


class Recording:
    """A backend of another package, which only records."""

    name = "recording"
    libraries = ("a_library",)

    def install(self, session: Any) -> None: ...

    def uninstall(self) -> None: ...


class Watching(Recording):
    """One whose kernels can be watched."""

    name = "watching"

    def watcher(self, client: Any, session_of: Callable[[str], Any]) -> Callable[[Any], Any]:
        return lambda kernel: (client, session_of, kernel)


ONE, TWO = Recording(), Watching()


@pytest.fixture
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = tmp_path / "others-1.0.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(tmp_path)


def test_a_backend_is_found_by_its_name() -> None:
    assert backends.watching_backend("triton").name == "triton"


@pytest.mark.usefixtures("others")
def test_kvtrace_trace_returns_what_another_packages_backend_makes() -> None:
    client, session_of, kernel = kvtrace.trace("a kernel", client="any", backend="watching")
    assert (client, kernel) == ("any", "a kernel")
    assert callable(session_of)
    around = kvtrace.trace(client="any", backend="watching")
    assert around("another")[2] == "another"


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize("name", ["jax", "numpy", "inductor", "recording"])
def test_backend_that_cannot_trace_is_refused_with_those_that_can(name: str) -> None:
    with pytest.raises(BadSetting, match=rf"'{name}' cannot trace .* one of .*triton, .*watching"):
        kvtrace.trace(client="sanitizer", backend=name)


def test_kvtrace_trace_of_a_triton_kernel_needs_a_client() -> None:
    with pytest.raises(BadSetting, match='is traced by a client: client="sanitizer"'):
        kvtrace.trace()


def test_a_backend_that_stays_hooked_disturbs_no_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Hooked(Recording):
        def uninstall(self) -> None:
            raise RuntimeError("its library is gone")

    backends._uninstall(Hooked())
    assert capsys.readouterr().err.endswith("recording stays hooked: its library is gone\n")
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO()))
    sys.stderr.close()
    backends._uninstall(Hooked())
