"""Builders of NumPy's functions, one file per family.

May import primitives, and names of other families without an underscore. Importing this package
imports every file in it, which fills the registry, and adds the methods to `Tensor`. A function is
added in one file, and nothing else lists it:

    from kvtrace.addons.graphs.hlo.builders import operation
    from kvtrace.addons.graphs.hlo.primitives import lift, multiply


    @operation("cube")
    def cube(x):
        x = lift(x)
        return multiply(x, multiply(x, x))

`@implements(np.square, methods=("squared",))` registers for a NumPy function, and for a tensor's
method.
"""

import pkgutil
from importlib import import_module

from kvtrace.addons.graphs.hlo.builders import METHODS
from kvtrace.addons.graphs.hlo.wrapper import Tensor

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

for _name, _builder in METHODS.items():
    setattr(Tensor, _name, _builder)
