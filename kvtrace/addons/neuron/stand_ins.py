"""Replacements for Neuron's modules `neuronxcc.nki` and `nki`, if Neuron's packages are missing.

A replacement has the names that kvtrace implements. For libraries that only test for a Neuron
device, by `importlib.util.find_spec` or a bare `import neuronxcc`, the package is missing.
"""

import dis
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any, Final

from kvtrace.addons.neuron.errors import REFUSED, refused

#: Name of a replacement → kvtrace's module; empty for one that contains modules or refused names.
MODULES: Final = {
    "neuronxcc": "",
    "neuronxcc.nki": "kvtrace.addons.neuron.older",
    "neuronxcc.nki.language": "kvtrace.addons.neuron.older.language",
    "neuronxcc.nki.isa": "kvtrace.addons.neuron.older.isa",
    "neuronxcc.nki.typing": "kvtrace.addons.neuron.typing",
    "neuronxcc.nki.compiler": "kvtrace.addons.neuron.older.compiler",
    "nki": "kvtrace.addons.neuron.newer",
    "nki.language": "kvtrace.addons.neuron.newer.language",
    "nki.collectives": "",
    "nki.tensor": "",
    "nki.dtype": "kvtrace.addons.neuron.newer.dtype",
    "nki.isa": "kvtrace.addons.neuron.newer.isa",
    "nki.isa.constants": "kvtrace.addons.neuron.constants",
    "nki.typing": "kvtrace.addons.neuron.typing",
}

_MARK: Final = "__kvtrace_stands_in__"


def spec_of(
    name: str, path: Sequence[str] | None, target: ModuleType | None, others: Sequence[Any]
) -> ModuleSpec | None:
    """Return the spec of a replacement, or None for tests of availability and real packages."""
    if name not in MODULES or _is_availability_test(sys._getframe(1)):
        return None
    if name == "neuronxcc" and not _imports_kernels(sys._getframe(1)):
        return None
    top_package = sys.modules.get(name.partition(".")[0])
    if top_package is not None and not hasattr(top_package, _MARK):
        return None
    for finder in others:
        find = getattr(finder, "find_spec", None)
        if find is not None and find(name, path, target) is not None:
            return None
    spec = ModuleSpec(name, _StandInLoader(), origin="kvtrace", is_package=True)
    spec.submodule_search_locations = []
    return spec


def _imports_kernels(frame: FrameType | None) -> bool:
    """Return whether `neuronxcc` is imported as the parent package of `neuronxcc.nki`."""
    while frame is not None:
        module = frame.f_globals.get("__name__")
        if module == "importlib._bootstrap":
            if str(frame.f_locals.get("name", "")).startswith("neuronxcc.nki"):
                return True
        elif module not in ("kvtrace._boot", __name__):
            return _is_from_import_of_nki(frame)
        frame = frame.f_back
    return False


def _is_from_import_of_nki(frame: FrameType) -> bool:
    constant: Any = None
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset > frame.f_lasti:
            return False
        if instruction.opname == "LOAD_CONST":
            constant = instruction.argval
        if instruction.opname == "IMPORT_NAME" and instruction.offset == frame.f_lasti:
            return isinstance(constant, tuple) and "nki" in constant
    return False


def _is_availability_test(frame: FrameType | None) -> bool:
    while frame is not None:
        module = frame.f_globals.get("__name__")
        if module == "importlib.util":
            return True
        if module not in ("kvtrace._boot", "importlib._bootstrap", __name__):
            return False
        frame = frame.f_back
    return False


class _StandInLoader(Loader):
    """The loader that fills a replacement module with kvtrace's names."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None, so that Python creates the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Copy the public names of kvtrace's module to the replacement."""
        setattr(module, _MARK, True)
        source_name = MODULES[module.__name__]
        if not source_name:
            vars(module).update(refused(module.__name__) if module.__name__ in REFUSED else {})
            return
        for key, value in vars(import_module(source_name)).items():
            if not key.startswith("_") or key == "__getattr__":
                setattr(module, key, value)
        module.__doc__ = import_module(source_name).__doc__
