"""The table of public names in docs/nki.md, against the code."""

import re
from pathlib import Path

import pytest

import kvtrace.addons.neuron.newer.isa as nisa
from kvtrace.addons.neuron.errors import REFUSED
from tests.addons.neuron import documentation
from tests.addons.neuron.public_names import PUBLIC
from tests.addons.neuron.public_signatures import SIGNATURES


def test_the_table_of_names_is_up_to_date() -> None:
    text = documentation.PAGE.read_text(encoding="utf-8")

    assert documentation.written(text) == text, "run python -m tests.addons.neuron.documentation"


def test_names_are_classified_as_works_refused_or_missing() -> None:
    assert documentation.state("neuronxcc.nki.language", "load") == "works"
    assert documentation.state("neuronxcc.nki.compiler", "sbuf.mod_alloc") == "works"
    assert documentation.state("nki.isa", "tensor_copy_dynamic_src") == "refused"
    assert documentation.state("nki.language", "invented") == "missing"
    assert documentation.state("nki.language.NkiTensor", "invented") == "missing"
    assert documentation.state("nki.invented", "load") == "missing"


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module in SIGNATURES for name in SIGNATURES[module]]
)
def test_a_function_takes_its_documented_parameters(module: str, name: str) -> None:
    assert documentation.state(module, name) == "works"


def test_a_signature_is_compared_by_names_and_order() -> None:
    def function(dst: int, data: int, scale: int = 1, name: str = "") -> None: ...

    assert documentation.takes(function, ["dst", "data", "scale", "name"])
    assert documentation.takes(function, ["dst", "data"])
    assert not documentation.takes(function, ["dst", "scale", "data"])
    assert not documentation.takes(function, ["dst", "data", "bias"])


def test_refused_names_are_public_and_name_an_alternative() -> None:
    public = {f"{module}.{name}" for module, _, name in documentation.names()}
    assert set(REFUSED) <= public
    with pytest.raises(AttributeError, match=r"is refused: use tensor_copy with a view"):
        _ = nisa.tensor_copy_dynamic_src


def test_no_name_is_listed_twice() -> None:
    for module, parts in PUBLIC.items():
        listed = [name for part in parts.values() for name in dict.fromkeys(part.split())]
        assert len(listed) == len(set(listed)), module


def test_every_working_name_is_used_by_a_test() -> None:
    here = Path(__file__).parent
    excluded = {"public_names.py", "documentation.py", "test_neuron_documentation.py"}
    texts = [
        path.read_text(encoding="utf-8") for path in here.rglob("*.py") if path.name not in excluded
    ]
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    unused = {
        f"{module}.{name}"
        for module, _, name in documentation.names()
        if documentation.state(module, name) == "works" and name.split(".")[-1] not in words
    }
    assert unused == set()
