"""The ops that the installed Triton has in the dialects that TTIR is written in: JSON of names.

libtriton has no list of them, so all texts of its binary that may be a name are tried: MLIR's
parser says whether an op of that name is registered. Run as a program.
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

DIALECTS: Final = ("tt", "scf", "arith", "math", "cf", "ub")
_REST: Final = rb"\.[a-z_][a-z0-9_.]*"
_UNREGISTERED: Final = "unregistered operation"


def main() -> None:
    from triton._C import libtriton

    binary = Path(str(libtriton.__file__)).read_bytes()
    names = sorted(
        {
            found.decode().rstrip(".")
            for dialect in DIALECTS
            for found in re.findall(re.escape(dialect.encode()) + _REST, binary)
        }
    )
    context = libtriton.ir.context()
    libtriton.ir.load_dialects(context)
    print(json.dumps([name for name in names if _is_registered(libtriton.ir, context, name)]))


def _is_registered(ir: Any, context: Any, name: str) -> bool:
    """Tell by what MLIR prints of a module with that op whether there is one."""
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file, tempfile.TemporaryFile() as said:
        file.write(f'"builtin.module"() ({{ "{name}"() : () -> () }}) : () -> ()')
        file.flush()
        kept = os.dup(2)
        os.dup2(said.fileno(), 2)
        try:
            ir.parse_mlir_module(file.name, context)
        except RuntimeError:
            pass  # what is wrong with it was printed
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
        said.seek(0)
        return _UNREGISTERED not in said.read().decode(errors="replace")


if __name__ == "__main__":
    main()
