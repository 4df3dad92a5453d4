"""kvtrace records every kernel launch of a program; everything else is made later from the files.

Kept tiny on purpose: the autostart line imports this package in every Python process.
"""

from pathlib import Path

__version__ = "0.1.0"

_checkout = Path(__file__).parent.parent
if (_checkout / "converters" / "__init__.py").is_file() and (_checkout / "pyproject.toml").is_file():
    __path__.append(str(_checkout))  # in a checkout, schema/ and converters/ sit beside kvtrace/
