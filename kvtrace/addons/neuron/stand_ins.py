"""Modules that replace Neuron's own, `neuronxcc.nki` and `nki`, where those are missing.

A module of either name has kvtrace's names. What only asks whether the package is there learns the
truth, that it is not: `importlib.util.find_spec`, and `import neuronxcc` for its own sake, by which
libraries find out whether they run on a Neuron device.
"""

import dis
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any, Final

#: Name of a replacement → kvtrace's module; empty for a package that only holds others.
MODULES: Final = {
    "neuronxcc": "",
    "neuronxcc.nki": "kvtrace.addons.neuron.older",
    "neuronxcc.nki.language": "kvtrace.addons.neuron.older.language",
    "neuronxcc.nki.isa": "kvtrace.addons.neuron.older.isa",
    "neuronxcc.nki.typing": "kvtrace.addons.neuron.older.typing",
    "neuronxcc.nki.compiler": "kvtrace.addons.neuron.older.compiler",
    "nki": "kvtrace.addons.neuron.newer",
    "nki.language": "kvtrace.addons.neuron.newer.language",
    "nki.collectives": "kvtrace.addons.neuron.newer.collectives",
    "nki.tensor": "kvtrace.addons.neuron.newer.tensor",
    "nki.dtype": "kvtrace.addons.neuron.newer.dtype",
    "nki.isa": "kvtrace.addons.neuron.newer.isa",
    "nki.isa.constants": "kvtrace.addons.neuron.newer.constants",
    "nki.typing": "kvtrace.addons.neuron.newer.typing",
}

_MARK: Final = "__kvtrace_stands_in__"


def spec_of(
    name: str, path: Sequence[str] | None, target: ModuleType | None, others: Sequence[Any]
) -> ModuleSpec | None:
    """Return the spec of a replacement; None where it is another name, or the real one is there."""
    if name not in MODULES or _only_asked(sys._getframe(1)):
        return None
    if name == "neuronxcc" and not _wants_kernels(sys._getframe(1)):
        return None
    top = sys.modules.get(name.partition(".")[0])
    if top is not None and not hasattr(top, _MARK):
        return None
    for finder in others:
        find = getattr(finder, "find_spec", None)
        if find is not None and find(name, path, target) is not None:
            return None
    spec = ModuleSpec(name, _StandInLoader(), origin="kvtrace", is_package=True)
    spec.submodule_search_locations = []
    return spec


def _wants_kernels(frame: FrameType | None) -> bool:
    """Whether `neuronxcc` is imported on the way to `neuronxcc.nki`."""
    while frame is not None:
        module = frame.f_globals.get("__name__")
        if module == "importlib._bootstrap":
            if str(frame.f_locals.get("name", "")).startswith("neuronxcc.nki"):
                return True
        elif module not in ("kvtrace._boot", __name__):
            return _names_kernels(frame)
        frame = frame.f_back
    return False


def _names_kernels(frame: FrameType) -> bool:
    """Whether the statement that a frame is at is `from neuronxcc import nki`."""
    named: Any = None
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset > frame.f_lasti:
            return False
        if instruction.opname == "LOAD_CONST":
            named = instruction.argval
        if instruction.opname == "IMPORT_NAME" and instruction.offset == frame.f_lasti:
            return isinstance(named, tuple) and "nki" in named
    return False


def _only_asked(frame: FrameType | None) -> bool:
    """Whether `importlib.util.find_spec` is what wants to know."""
    while frame is not None:
        module = frame.f_globals.get("__name__")
        if module == "importlib.util":
            return True
        if module not in ("kvtrace._boot", "importlib._bootstrap", __name__):
            return False
        frame = frame.f_back
    return False


class _StandInLoader(Loader):
    """Fills a module with kvtrace's names."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave the making to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Return the module with kvtrace's public names."""
        setattr(module, _MARK, True)
        ours = MODULES[module.__name__]
        if not ours:
            return
        for key, value in vars(import_module(ours)).items():
            if not key.startswith("_") or key == "__getattr__":
                setattr(module, key, value)
        module.__doc__ = import_module(ours).__doc__
