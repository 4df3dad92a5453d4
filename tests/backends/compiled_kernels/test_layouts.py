"""Bank ways and conversions, beside the addresses of every thread and Triton's own count."""

import itertools
import random
import re

import numpy as np
import pytest

pytest.importorskip("triton")

import triton
from triton._C.libtriton.gluon_ir import GluonOpBuilder

from kvtrace.backends.compiled_kernels.generic import GenericFormFailed, parsed_by_triton
from kvtrace.backends.compiled_kernels.layouts import layout_costs
from kvtrace.converters.line_layouts import SHARED_OP, LayoutOp, kernel_layouts
from kvtrace.evaluate.shared_layouts import element_places
from kvtrace.ir import parse
from tests.backends.compiled_kernels.layout_kernels import compiled
from tests.support.triton_versions import since

pytestmark = since(3, 7, "linear layouts of shared memory")

BANKS = 32


def elements_of(linear):
    """The element of each warp, lane and register: XOR of the bases of set bits."""
    numbers = []
    for bases in (linear.warp_bases, linear.lane_bases, linear.reg_bases):
        held = np.zeros((1, len(linear.shape)), np.int64)
        for basis in bases:
            held = np.concatenate([held, held ^ np.array(basis)])
        numbers.append(held)
    warps, lanes, registers = numbers
    return warps[:, None, None] ^ lanes[None, :, None] ^ registers[None, None, :]


def placed(head, memory):
    """The place of each element of a buffer in shared memory, as the evaluator has it."""
    op = f'%0 = "ttg.local_alloc"() : () -> {memory}'
    module = parse(f'{head}"builtin.module"() ({{\n{op}\n}}) : () -> ()')
    return element_places(module, module.ops[1].results[0])


def counted_ways(places, bits, lanes_at_once=BANKS):
    """Most words that one access asks of one bank, of all accesses lane by lane; its bytes."""
    first = places[0, 0].tolist()
    units = [1 << bit for bit in range(len(first).bit_length() - 1)]
    of_units = [first[unit] for unit in units]
    vector = 1
    while vector * 2 * bits <= 128 and vector in of_units:
        others = [place for place in of_units if place not in _powers(vector * 2)]
        if any(place % (vector * 2) for place in (*others, *places[:, :, 0].flat)):
            break
        vector *= 2
    group = [first.index(n) for n in range(vector)]
    lanes_at_once //= max(1, vector * bits // 32)
    worst = 1
    for head, warp in itertools.product(range(len(first)), range(len(places))):
        instruction = places[warp][:, [head ^ register for register in group]]
        for lanes in instruction.reshape(-1, max(1, lanes_at_once), vector):
            words = np.unique(lanes * bits // 32)
            worst = max(worst, int(np.bincount(words % BANKS).max()))
    return worst, vector * bits // 8


def _powers(limit):
    return [1 << bit for bit in range(limit.bit_length() - 1)]


def compare(head, tensor, memory, within=None):
    """Compare kvtrace's ways with those of all lanes, and these with Triton's own count.

    The accessed buffer may be the first part `within` another one.
    """
    shape = [int(n) for n in re.findall(r"(\d+)x", tensor)]
    bits = int(re.search(r"x[a-z]+(\d+)", tensor)[1])
    if within:
        memory = memory.replace("mutable>", f"mutable, {re.search('<(.*)x', within)[1]}>")
    text = f"{head}module {{ tt.func public @f(%a: {tensor}, %b: {memory}) {{ tt.return }} }}"
    with parsed_by_triton(text) as (module, context, _):
        builder, function = GluonOpBuilder(context), module.get_function("f")
        layout = builder.get_gluon_layout_from_tensor(function.args(0))._to_ir(builder)
        elements = elements_of(builder.to_linear_layout(layout, shape))
        places = placed(head, within or memory)[tuple(map(slice, shape))]
        places = places[tuple(np.moveaxis(elements, -1, 0))]
        (cost,) = layout_costs(head, [LayoutOp(0, False, memory, tensor)])
        ways, size = counted_ways(places, bits)
        assert cost.value == ways, (tensor, memory, head)
        # Triton's count misses some of vectors below a word; from 3.8 on it wants a target.
        if size >= 4 and triton.__version__.startswith("3.7.") and not (within or "pad" in head):
            shared = builder.get_gluon_layout_from_memdesc(function.args(1))._to_ir(builder)
            conflicts = builder.get_shared_bank_conflicts(layout, shared, shape, bits)
            assert conflicts + 1 == counted_ways(places, bits, places.shape[1])[0]


def split(draw, threads):
    first = draw.choice([1 << bit for bit in range(threads.bit_length())])
    return [first, threads // first]


def random_layouts(draw):
    """Texts of a blocked and a swizzled layout, and the types with them."""
    lanes = draw.choice([32, 32, 64])
    shape = [draw.choice([16, 32, 64]) for _ in "mn"]
    per_thread = [draw.choice([1, 2, 4, 8]) for _ in "mn"]
    order, fast = draw.choice([[0, 1], [1, 0]]), draw.choice([[0, 1], [1, 0]])
    vector, phases = draw.choice([1, 2, 4, 8]), draw.choice([1, 2, 4, 8])
    phases = min(phases, shape[fast[0]] // vector)
    dtype = draw.choice(["i8", "f16", "f32", "f64"])
    head = (
        f"#b = #ttg.blocked<{{sizePerThread = {per_thread}, threadsPerWarp = {split(draw, lanes)}, "
        f"warpsPerCTA = {split(draw, 4)}, order = {order}}}>\n"
        f"#s = #ttg.swizzled_shared<{{vec = {vector}, perPhase = {draw.choice([1, 2, 4])}, "
        f"maxPhase = {phases}, order = {fast}}}>\n#smem = #ttg.shared_memory\n"
    )
    block = f"{shape[0]}x{shape[1]}x{dtype}"
    return head, f"tensor<{block}, #b>", f"!ttg.memdesc<{block}, #s, #smem, mutable>"


def test_ways_of_random_layouts_are_those_of_all_lanes():
    draw = random.Random(7)
    for _ in range(30):
        compare(*random_layouts(draw))


def test_ways_of_pads_linear_layouts_and_parts_are_those_of_all_lanes():
    draw = random.Random(3)
    for _ in range(15):
        head, tensor, memory = random_layouts(draw)
        rows, columns = map(int, re.search(r"<(\d+)x(\d+)x", tensor).groups())
        within = draw.choice([None, re.sub(r"<\d+x\d+", f"<{2 * rows}x{4 * columns}", memory)])
        shape = [2 * rows, 4 * columns] if within else [rows, columns]
        bases = [[1 << bit, 0] for bit in range(shape[0].bit_length() - 1)]
        bases += [[0, 1 << bit] for bit in range(shape[1].bit_length() - 1)]
        draw.shuffle(bases)
        pads = f"[{draw.choice([32, 64])}:+{draw.choice([1, 2, 4, 8])}, 128:+{draw.choice([2, 4])}]"
        other = draw.choice([
            f"padded_shared<{pads} {{order = [1, 0], shape = {shape}}}>",
            f"padded_shared<{pads} {{offset = {bases}, block = []}}>",
            f"shared_linear<{{offset = {bases}, block = []}}, alignment = 16>",
            "swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 4, order = [1, 0]}>",
        ])  # fmt: skip
        compare(re.sub(r"swizzled_shared<.*>", other, head), tensor, memory, within)


@pytest.mark.costly("compiles twelve products; random layouts stay by day")
def test_ways_of_compiled_products_are_those_of_all_lanes():
    compared = 0
    tiles = ({"M": 64, "N": 64, "K": 32}, {"M": 128, "N": 32, "K": 64})
    cases = itertools.product(("sm_80", "gfx942"), ("fp16", "fp32", "bf16"), tiles)
    for arch, dtype, sizes in cases:
        ttgir = compiled("product", arch, dtype, last="ttgir", **sizes)["ttgir"]
        head = "".join(re.findall(r"^#(?!loc)\w+ = #.*\n", ttgir, re.MULTILINE))
        pairs = set()
        for line in ttgir.split("\n"):
            match = SHARED_OP.match(line.rpartition(" loc(")[0])
            if match and match[1] in ("local_load", "local_store"):
                pairs.add(tuple(sorted((match[2], match[3]), key=lambda t: "memdesc" in t)))
        swizzles = set(re.findall(r"^(#\w+) = #ttg\.swizzled_shared", head, re.MULTILINE))
        for tensor, memory in pairs:
            if re.search(r"#\w+", memory)[0] in swizzles and "mutable, " not in memory:
                compare(head, tensor, memory)
                compared += 1
    assert compared >= 20


def test_layouts_that_triton_does_not_tell_are_unknown():
    head, tensor, memory = random_layouts(random.Random(1))
    access = LayoutOp(0, False, memory, tensor)
    of_blocks = layout_costs(f'{head}"ttg.num-ctas" = 2 : i32', [access])
    assert of_blocks == [(None, "its programs have several thread blocks", False)]
    strange = "#ttg.amd_rotating_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"
    (cost,) = layout_costs(re.sub(r"#ttg.swizzled_shared<.*>", strange, head), [access])
    assert cost.unknown == "Triton has no linear layout of amd_rotating_shared"
    with pytest.raises(GenericFormFailed, match="cannot read the IR"):
        layout_costs("#b = #ttg.newer<{}>\n#s = #b\n#smem = #b\n", [access])


_SHARED = re.compile(
    r"\b(?:ld|st)\.shared(?:::cta)?(?:\.v(\d))?\.b(\d+)|\b(?:ldmatrix|stmatrix)\S*\.x(\d)"
    r"|\bds_(?:read|write)(2)?(?:st64)?_[bui](\d+)"
)


def shared_bytes(assembly, threads):
    """Bytes that all threads read and write in shared memory, by each instruction."""
    total = 0
    for count, bits, matrices, two, amd_bits in _SHARED.findall(assembly):
        size = int(matrices) * 4 if matrices else int(bits or amd_bits) // 8 * int(count or 1)
        total += size * threads * (2 if two else 1)
    return total


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "gfx942"])
@pytest.mark.parametrize(
    ("dtype", "rows", "columns"), [("fp32", 64, 64), ("fp16", 64, 32), ("i8", 32, 128)]
)
def test_bytes_of_conversions_are_those_of_the_instructions(arch, dtype, rows, columns):
    stages = compiled("transpose", arch, dtype, M=rows, N=columns)
    moved = sum(of.values.get("converted_bytes", 0) for of in kernel_layouts(stages.get).values())
    instructions = stages.get("ptx") or stages["amdgcn"]
    assert moved == shared_bytes(instructions, 256 if arch == "gfx942" else 128) > 0


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "gfx942"])
@pytest.mark.parametrize(("dtype", "size"), [("i8", 1), ("fp16", 2), ("fp32", 4), ("fp64", 8)])
def test_vectors_are_as_wide_as_alignment_and_the_threads_elements_allow(arch, dtype, size):
    threads = 256 if arch == "gfx942" else 128
    for block, aligned in ((2048, True), (512, True), (2048, False)):
        stages = compiled("copy", arch, dtype, aligned=aligned, BLOCK=block)
        lines = kernel_layouts(stages.get)
        expected = min(16, block // threads * size) if aligned else size
        unknown = [of for of in lines.values() if of.unknown]
        assert not unknown or arch == "gfx942"  # whose loads may lose their line in LLVM
        widths = [of.values["vector_bytes"] for of in lines.values() if not of.unknown]
        assert widths == [expected] * (2 - len(unknown))
