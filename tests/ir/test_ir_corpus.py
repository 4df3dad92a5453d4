"""The parser on IR that Triton prints, compared with libtriton's own walk over the module."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from kvtrace.ir import Op, parse, source_stack
from kvtrace.ir.attributes import DenseAttribute
from kvtrace.ir.types import OpaqueType, TensorDescriptorType
from tests.support.kept import kept
from tests.support.triton_versions import INSTALLED, ROOT, run_with, versions

CORPUS_FILE = ROOT / "tests" / "support" / "corpus_cases.py"
DUMPED = tuple(
    CORPUS_FILE.with_name(name) for name in ("dump_corpus.py", "corpus_cases.py", "compile_ttir.py")
)


#: What another version compiles is not kept: it is run each time.
VERSIONS = [
    version if version == INSTALLED else pytest.param(version, marks=pytest.mark.process)
    for version in versions()
]


@pytest.fixture(scope="module", params=VERSIONS)
def corpus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("triton")
    folder = tmp_path_factory.mktemp("corpus")
    if request.param == INSTALLED:
        text = (kept(_dump, folder / "kept", *DUMPED) / "corpus.json").read_text()
    else:
        text = run_with(request.param, [str(DUMPED[0])], folder).stdout
    return json.loads(text)


def _dump(folder: Path) -> None:
    with TemporaryDirectory() as cache:
        done = run_with(INSTALLED, [str(DUMPED[0])], Path(cache))
    (folder / "corpus.json").write_text(done.stdout)


def inner_first(op: Op) -> Iterator[str]:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from inner_first(inner)
    yield op.name


def test_ops_are_those_that_libtriton_walks(corpus: Any) -> None:
    for name, texts in corpus.items():
        names = list(inner_first(parse(texts["generic"]).op))
        assert names[-2:] == ["tt.return", "builtin.module"]  # the one that generic_ttir added
        assert names[:-2] + names[-1:] == texts["walk"], name


def test_ops_are_numbered_in_text_order(corpus: Any) -> None:
    for texts in corpus.values():
        module = parse(texts["generic"])
        assert [op.index for op in module.op.walk()] == list(range(len(module.ops)))
        assert list(module.op.walk()) == list(module.ops)


def test_every_type_is_known(corpus: Any) -> None:
    for name, texts in corpus.items():
        kinds = {kind for op in parse(texts["generic"]).ops for kind in op.result_types}
        assert not [kind for kind in kinds if isinstance(kind, OpaqueType)], name
        if name == "descriptors":
            assert any(isinstance(kind, TensorDescriptorType) for kind in kinds)


def test_locations_are_correct_in_every_version(corpus: Any) -> None:
    lines = CORPUS_FILE.read_text().splitlines()
    for name, texts in corpus.items():
        module = parse(texts["generic"])
        assert module.main.name == name
        stacks = [(op, source_stack(op)) for op in module.ops]
        stores = [stack[-1] for op, stack in stacks if op.name == "tt.store"]
        for frame in stores:
            assert frame.file == str(CORPUS_FILE)
            assert "tl.store" in lines[frame.line - 1]
            assert frame.function == name
        assert all(frame.column >= 1 for _, stack in stacks for frame in stack)
        assert "/proc/" not in texts["generic"]


def test_inlined_functions_come_with_their_callers(corpus: Any) -> None:
    lines = CORPUS_FILE.read_text().splitlines()
    module = parse(corpus["softmax"]["generic"])
    (total,) = (
        stack
        for op in module.ops
        if op.name == "tt.reduce"
        for stack in [source_stack(op)]
        if "tl.sum" in lines[stack[-1].line - 1]
    )
    assert len(total) == 2
    assert total[0].file.endswith("standard.py")
    assert total[1].function == "softmax"


def test_constants_are_exact(corpus: Any) -> None:
    module = parse(corpus["literals"]["generic"])
    numbers = {
        repr(value)
        for op in module.ops
        if isinstance(constant := op.attributes.get("value"), DenseAttribute)
        for value in constant.values
    }
    # fp32's nearest values to 0.1 and 1e-45, and values without a decimal form
    assert {"0.10000000149011612", "1.401298464324817e-45", "nan", "-inf"} <= numbers


def test_parsing_takes_microseconds_per_op(corpus: Any) -> None:
    texts = [kernel["generic"] for kernel in corpus.values()]
    best = float("inf")
    for _ in range(5):
        begin = time.process_time()
        count = sum(len(parse(text).ops) for text in texts)
        best = min(best, time.process_time() - begin)
    assert best / count < 200e-6  # some 25 on an idle machine; eight times that is a defect
