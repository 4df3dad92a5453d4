"""Public names that kvtrace does not run: each is refused in one sentence with the line."""

from importlib import import_module
from pathlib import Path

import pytest

import kvtrace
from kvtrace.addons.neuron.errors import REFUSED, NkiError
from kvtrace.addons.neuron.stand_ins import MODULES
from tests.addons.neuron.conftest import Run

NAMES = [(module, name) for module, names in REFUSED.items() for name in names.split()]


@pytest.mark.parametrize(("module", "name"), [pair for pair in NAMES if MODULES[pair[0]]])
def test_a_refused_name_says_what_runs_it(run_newer: Run, module: str, name: str) -> None:
    function = getattr(import_module(MODULES[module]), name)

    def kernel() -> None:
        function(1, key=2)

    with pytest.raises(NkiError, match=rf"not run {module}\.{name}; use nki\.simulate \(.*py:\d+"):
        run_newer(kernel)


@pytest.mark.parametrize("module", [module for module in REFUSED if not MODULES[module]])
def test_a_module_of_refused_names_is_imported_while_recording(module: str, tmp_path: Path) -> None:
    with kvtrace.capture(tmp_path / "out"):
        stand_in = import_module(module)
        for name in REFUSED[module].split():
            with pytest.raises(NkiError, match=rf"not run {module}\.{name}; use nki\.simulate"):
                getattr(stand_in, name)()
