"""Means of naming GPU faults on this machine, for `kvtrace doctor`."""

import ctypes
from collections.abc import Mapping

from kvtrace.addons.fault.starting import dump_variables
from kvtrace.analysis.machine import Part

_DRIVER = "libcuda.so.1"


def faults_part(environment: Mapping[str, str]) -> Part:
    """Return the row on `KVTRACE_FAULTS`: CUDA's driver is there, and no variable is in the way."""
    try:
        ctypes.CDLL(_DRIVER)
    except OSError:
        return Part(
            "faults", "missing", f"there is no {_DRIVER} here: kvtrace fault reads dumps, but no "
            "program leaves any",
        )  # fmt: skip
    asked = dump_variables(environment.get("KVTRACE", ""))
    own = [name for name in asked if name in environment]
    if own:
        return Part(
            "faults", "missing", f"{', '.join(own)} are set, which KVTRACE_FAULTS=on leaves alone",
            "unset them; or pass the dumps that they lead to: kvtrace fault FILE",
        )  # fmt: skip
    return Part("faults", "ok", f"KVTRACE_FAULTS=on leaves dumps of GPU faults ({_DRIVER})")
