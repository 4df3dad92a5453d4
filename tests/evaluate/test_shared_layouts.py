"""Places of elements in shared memory, beside Triton's own linear layouts."""

import itertools
import re

import numpy as np
import pytest

pytest.importorskip("torch")
triton = pytest.importorskip("triton")
if triton.__version__ < "3.7":
    pytest.skip("needs Gluon's linear layouts", allow_module_level=True)

from triton._C.libtriton import gluon_ir, ir  # noqa: E402
from triton.experimental.gluon import language as gl  # noqa: E402
from triton.experimental.gluon.language.nvidia.blackwell import TensorMemoryLayout  # noqa: E402

from kvtrace.evaluate.errors import UnsupportedOp  # noqa: E402
from kvtrace.evaluate.shared_layouts import element_places  # noqa: E402
from kvtrace.ir import parse  # noqa: E402


def placed(text, type_):
    """The places of a buffer's elements, whose layout has this text."""
    op = f'%0 = "ttg.local_alloc"() : () -> {type_}'
    module = parse(f'#a = {text}\n"builtin.module"() ({{\n{op}\n}}) : () -> ()')
    return element_places(module, module.ops[1].results[0])


def by_bases(shape, bases):
    """The first place of each element by the coordinates that each bit of a place stands for."""
    places = np.full(shape, -1)
    for place in reversed(range(1 << len(bases))):
        at = [0] * len(shape)
        for bit, basis in enumerate(bases):
            if place >> bit & 1:
                at = [a ^ b for a, b in zip(at, basis, strict=True)]
        places[tuple(at)] = place
    return places


def triton_layout(layout, shape):
    context = ir.context()
    ir.load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)
    return builder.to_linear_layout(layout._to_ir(builder), list(shape))


PRODUCTS = [
    (width, bits, transposed, shape, False)
    for width, bits in [(128, 16), (64, 16), (32, 16), (128, 32), (64, 8), (128, 8), (0, 16)]
    for transposed in (False, True)
    for shape in [(64, 128), (128, 128), (16, 256)]
    if width or not transposed
    if (shape[0] if transposed else shape[1]) * bits >= 8 * width
]
#: Bytes with two 4-bit floats each, with pads between.
PAIRS = [(128, 8, transposed, shape, True) for transposed in (False, True) for shape in [(64, 128)]]


@pytest.mark.parametrize(("width", "bits", "transposed", "shape", "fp4"), [*PRODUCTS, *PAIRS])
def test_layouts_of_products(width, bits, transposed, shape, fp4):
    layout = gl.NVMMASharedLayout(width, bits, 2, transposed, fp4)
    text = (
        f"#ttg.nvmma_shared<{{swizzlingByteWidth = {width}, transposed = {str(transposed).lower()},"
        f" elementBitWidth = {bits}, fp4Padded = {str(fp4).lower()}}}>"
    )
    rows, columns = shape
    places = placed(text, f"!ttg.memdesc<{rows}x{columns}xi{bits}, #a, #ttg.shared_memory>")
    assert (places == by_bases(shape, triton_layout(layout, shape).offset_bases)).all()


@pytest.mark.parametrize("order", [[1, 0], [0, 1]])
@pytest.mark.parametrize(("vec", "per_phase", "phases"), [(1, 1, 1), (8, 1, 8), (4, 2, 4)])
def test_swizzled_layouts(order, vec, per_phase, phases):
    layout = gl.SwizzledSharedLayout(vec, per_phase, phases, order)
    text = (
        f"#ttg.swizzled_shared<{{vec = {vec}, perPhase = {per_phase}, maxPhase = {phases},"
        f" order = {order}}}>"
    )
    places = placed(text, "!ttg.memdesc<3x32x64xf16, #a, #ttg.shared_memory>")
    one = by_bases((32, 64), triton_layout(layout, (32, 64)).offset_bases)
    assert (places == np.arange(3)[:, None, None] * 2048 + one).all()


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(
    ("tall", "shape"),
    [(64, (64, 64)), (64, (64, 256)), *itertools.product((64, 128), [(128, 64), (256, 128)])],
)
def test_tensor_memory(shape, tall, stride):
    made = triton_layout(TensorMemoryLayout((tall, 64), stride), shape)
    text = f"#ttng.tensor_memory_encoding<blockM = {tall}, blockN = 64, colStride = {stride}>"
    rows, columns = shape
    places = placed(text, f"!ttg.memdesc<{rows}x{columns}xf16, #a, #ttng.tensor_memory>")
    columns = [basis for basis in made.cols if any(basis)]  # a stride repeats no element
    at = by_bases(shape, [*(b for b in columns), *made.rows])
    width = 1 << len(columns)
    assert (places == at // width * width * stride + at % width * stride).all()


@pytest.mark.parametrize("kind", ["shared_linear<", "padded_shared<[8:+4] "])
def test_layouts_by_bases(kind):
    bases = [[0, 4], [1, 0], [2, 1], [0, 2], [4, 0], [0, 1], [8, 1]]
    text = f"#ttg.{kind}{{offset = {bases}, block = []}}>"
    places = placed(text, "!ttg.memdesc<2x16x8xf16, #a, #ttg.shared_memory>")
    both = np.arange(2)[:, None, None] * 128 + by_bases((16, 8), bases)
    assert (places == both + (both // 8 * 4 if "pad" in kind else 0)).all()


def test_pads_lie_between_elements():
    text = "#ttg.padded_shared<[32:+8] {order = [1, 0], shape = [4, 32]}>"
    places = placed(text, "!ttg.memdesc<2x4x32xf16, #a, #ttg.shared_memory>")
    assert (places == np.arange(256).reshape(2, 4, 32) + np.arange(8).reshape(2, 4, 1) * 8).all()


def test_other_layouts_are_named():
    text = "#ttg.partitioned_shared<{n = 2}>"
    with pytest.raises(UnsupportedOp, match=re.escape(text)):
        placed(text, "!ttg.memdesc<2xf16, #a, #ttg.shared_memory>")
