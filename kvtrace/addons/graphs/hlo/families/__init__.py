"""Builders of NumPy's functions, one file per family.

May import primitives, and names of other families without an underscore. Importing this package
imports every file in it, which fills the registry, and adds the methods to `Tensor`.
"""

import pkgutil
from importlib import import_module

from kvtrace.addons.graphs.hlo.builders import METHODS
from kvtrace.addons.graphs.hlo.wrapper import Tensor

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

for _name, _builder in METHODS.items():
    setattr(Tensor, _name, _builder)
