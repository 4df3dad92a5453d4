"""Where there is no Triton, nothing here can be compiled."""

from importlib.util import find_spec

from tests.support.free_driver import free_driver

__all__ = ["free_driver"]

if find_spec("triton") is None:  # macOS and Windows
    collect_ignore_glob = ["test_*.py"]
