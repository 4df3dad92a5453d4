"""Run as a script under any Triton: prints the corpus as JSON, for tests that compare versions.

For each kernel: the generic form, and the ops' names as libtriton walks them (inner ops first).
"""

import json
import sys
import tempfile
from pathlib import Path

from triton._C.libtriton import ir, nvidia

from kvtrace.backends.compiled_kernels.generic import generic_ttir
from tests.support.corpus_cases import CORPUS


def walked_names(text: str) -> list[str]:
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    names: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "module.mlir"
        path.write_text(text)
        module = ir.parse_mlir_module(str(path), context)
        module.context = context
        module.walk(lambda op: names.append(op.get_name()))
    return names


def main() -> None:
    found = {}
    for name, compiled in CORPUS.items():
        text = compiled(debug=name == "messages")
        found[name] = {"generic": generic_ttir(text), "walk": walked_names(text)}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
