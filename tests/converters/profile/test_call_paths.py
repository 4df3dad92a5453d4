"""Where calls are placed: by stack, module, source line and operator."""

import pytest

from kvtrace.converters.profile.call_paths import GROUPINGS, TreeLeaf, pass_of, path_of
from kvtrace.converters.profile.call_tree import CallFigures, CallSums, call_tree

TORCH = "/venv/lib/python3.12/site-packages/torch/"


def frame(function, file="/src/model.py", line=1):
    return {"file": file, "line": line, "column": None, "function": function}


def module_frames():
    """The two frames by which torch calls a module's forward."""
    file = f"{TORCH}nn/modules/module.py"
    return [frame("Module._call_impl", file), frame("Module._wrapped_call_impl", file)]


def kernel(name="kernel", origin="jit", origins=None):
    return {
        "name": name, "module": "kernels", "source": None, "file": "/src/kernels.py", "line": 9,
        "origin": origin,
        "origins": origins or [],
    }  # fmt: skip


def origin(**known):
    fields = ("op", "node", "module", "file", "line", "function", "code")
    return dict.fromkeys(fields) | known


def labels(placed, grouping):
    *steps, last = path_of(placed, grouping)
    assert last.label == (placed.kernel or {"name": "gemm"})["name"]
    return [step.label for step in steps]


#: A launch from an eager module inside another, with an autograd function in between.
EAGER = [
    frame("launch", "/src/ops.py", 5),
    frame("Attend.forward", "/src/ops.py", 20),
    frame("Function.apply", f"{TORCH}autograd/function.py"),
    frame("Block.forward", line=30),
    *module_frames(),
    frame("Sequential.forward", f"{TORCH}nn/modules/container.py"),
    *module_frames(),
    frame("Model.<locals>.Inner.forward", line=40),
    *module_frames(),
    frame("main.<locals>.step", "/src/train.py", 3),
]


#: A launch from the backward of that function, in autograd's thread.
BACKWARD = [
    frame("Attend.backward", "/src/ops.py", 25),
    frame("BackwardCFunction.apply", f"{TORCH}autograd/function.py"),
]


def test_call_path_lists_program_frames_from_the_outermost():
    placed = TreeLeaf(kernel(), EAGER)
    assert labels(placed, "stack") == [
        "main.step train.py:3", "Model.Inner.forward model.py:40", "Block.forward model.py:30",
        "Attend.forward ops.py:20", "launch ops.py:5",
    ]  # fmt: skip
    assert len(labels(placed, "frames")) == len(EAGER)
    assert path_of(placed, "stack")[0].file == "/src/train.py"


def test_modules_of_a_stack_are_those_that_torch_called_and_no_autograd_function():
    assert labels(TreeLeaf(kernel(), EAGER), "module") == ["Model.Inner", "Sequential", "Block"]
    assert labels(TreeLeaf(kernel(), EAGER[:3]), "module") == ["launch()"]
    adam = [frame("AdamW.step", f"{TORCH}optim/adamw.py", 9), *EAGER]
    assert labels(TreeLeaf(kernel(), adam[:1]), "module") == ["optimizer AdamW"]
    assert labels(TreeLeaf(kernel(), [frame("run", "<string>")]), "module") == ["in no module"]


def test_two_files_of_one_name_are_told_apart_in_the_tree():
    leaves = [
        TreeLeaf(kernel(), [frame("f", file, 2)]) for file in ("/src/a/net.py", "/src/b/net.py")
    ]
    tree = call_tree(CallSums((), tuple((leaf, CallFigures(runs=1)) for leaf in leaves)), "source")
    assert [branch.step.label for branch in tree.branches] == ["a/net.py", "b/net.py"]
    alone = call_tree(CallSums((), ((leaves[0], CallFigures(runs=1)),)), "source")
    assert [branch.step.label for branch in alone.branches] == ["net.py"]


@pytest.mark.parametrize(
    "file",
    [
        f"{TORCH}_inductor/utils.py",
        "/venv/lib/python3.12/site-packages/triton/runtime/jit.py",
        "/usr/lib/python3.12/threading.py",
        "/home/me/pytorch/torch/_functorch/aot.py",
        "/cache/torchinductor_me/i3/ci3v7zobhq7edny4.py",
        "<string>",
        None,
    ],
)
def test_frames_between_the_program_and_its_kernels_are_left_out(file):
    frames = [frame("call", file), frame("train", "/src/train.py", 7)]
    assert labels(TreeLeaf(kernel(), frames), "stack") == ["train train.py:7"]
    alone = [frame("Node.backward", file)]
    assert labels(TreeLeaf(kernel(), alone), "stack") == [
        "no frame of the program (backward, by autograd)"
    ]


@pytest.mark.parametrize(
    "file", ["/venv/lib/python3.12/site-packages/vllm/model.py", "/src/i3/main.py", "/src/torch.py"]
)
def test_frames_of_unknown_libraries_count_as_program_frames(file):
    (label,) = labels(TreeLeaf(kernel(), [frame("f", file, 2)]), "stack")
    assert label.startswith("f ")


@pytest.mark.parametrize(
    ("modules", "steps"),
    [
        (["blocks.0.norm"], ["blocks", "0", "norm"]),
        (["blocks.0.norm", "blocks.1.norm", "blocks.12.norm"], ["blocks", "*", "norm"]),
        (["blocks.0.attention", "blocks.0.attention.merge"], ["blocks", "0", "attention"]),
        (["blocks.0.merge", "blocks.0.norm"], ["blocks", "0", "merge + norm"]),
        (["words", "blocks.0.norm"], ["blocks.0.norm + words"]),
        (list("abcdef"), ["a + b + c + d + 2 more"]),
    ],
)
def test_kernel_of_several_modules_has_one_path_that_merges_them(modules, steps):
    origins = [origin(module=module) for module in [*modules, None]]
    outer = ["Model.Inner", "Sequential", "Block"]
    assert labels(TreeLeaf(kernel("k", "inductor", origins), EAGER), "module") == [*outer, *steps]


def test_views_of_a_kernel_s_inputs_are_in_no_module_of_its_own():
    origins = [
        origin(op="aten.silu", module="mlp.act"), origin(op="aten.view", module="mlp.down"),
        origin(op="aten.permute", module="mlp.up"),
    ]  # fmt: skip
    assert labels(TreeLeaf(kernel("k", "inductor", origins)), "module") == ["mlp", "act"]
    # but a kernel that only copies a view is of the view's module
    assert labels(TreeLeaf(kernel("k", "inductor", origins[1:2])), "module") == ["mlp", "down"]


def test_call_of_a_library_has_the_module_of_its_own_operator_alone():
    # given attention's backward, which reads a view of the gradient of the projection behind it
    own = origin(op="aten.sdpa_backward", node="sdpa_1", module="self_attn", line=1, file="a.py")
    view = origin(op="aten.view", node="view_6", module="o_proj", line=2, file="a.py")
    leaf = TreeLeaf(None, EAGER[:1], ("cuDNN", "gemm"), [own, view])
    assert labels(leaf, "module") == ["self_attn"]
    assert labels(leaf, "op") == ["sdpa_backward"]
    assert labels(leaf, "source") == ["a.py", "a.py:1"]


def test_backward_has_the_module_and_the_line_of_its_forward():
    backward = TreeLeaf(None, (), ("cuBLAS", "gemm"), forward_frames=EAGER)
    assert labels(backward, "module") == ["Model.Inner", "Sequential", "Block"]
    assert labels(backward, "source") == ["model.py", "Block.forward model.py:30"]
    assert labels(backward, "stack") == ["autograd backward (no Python stack)", "cuBLAS"]
    function = TreeLeaf(kernel(), BACKWARD, forward_frames=EAGER)
    assert labels(function, "module") == ["Model.Inner", "Sequential", "Block"]
    assert labels(function, "source") == ["ops.py", "Attend.backward ops.py:25"]
    # and of an operator outside of modules, the function of the program
    loss = TreeLeaf(None, (), ("torch", "gemm"), forward_frames=EAGER[-1:])
    assert labels(loss, "module") == ["main.step()"]


def test_forward_that_a_checkpoint_computes_again_is_in_its_own_module():
    again = [frame("Norm.forward"), *module_frames(), *EAGER[3:6], *BACKWARD[1:]]
    model = EAGER[8:]
    for forward_frames in (EAGER, model):
        leaf = TreeLeaf(kernel(), again, forward_frames=forward_frames)
        assert labels(leaf, "module")[-2:] == ["Block", "Norm"]
        assert labels(leaf, "module")[0] == "Model.Inner"


@pytest.mark.parametrize(
    ("leaf", "name"),
    [
        (TreeLeaf(kernel(), EAGER), "forward"),
        (TreeLeaf(None, EAGER, ("cuBLAS", "gemm")), "forward"),
        (TreeLeaf(None, None, ("cuBLAS", "gemm")), None),
        (TreeLeaf(None, (), ("cuBLAS", "gemm")), "backward"),
        (TreeLeaf(kernel(), EAGER, forward_frames=EAGER), "backward"),
        (TreeLeaf(kernel(), [frame("f", line=2), frame("test_backward")]), "forward"),
        (TreeLeaf(kernel(), [frame("AdamW.step", f"{TORCH}optim/adamw.py"), *EAGER]), None),
    ],
)
def test_pass_is_that_of_autograd_or_of_no_optimizer(leaf, name):
    assert pass_of(leaf) == name
    assert pass_of(TreeLeaf(kernel(), BACKWARD)) == "backward"


def test_lines_behind_a_kernel_are_one_step_with_their_code():
    origins = [
        origin(file="/src/model.py", line=line, function="forward", code=f"x{line}")
        for line in (33, 35, 34, 33, 40)
    ]
    placed = TreeLeaf(kernel("k", "inductor", origins), EAGER)
    assert labels(placed, "source") == ["model.py", "model.py:33–35, 40 forward"]
    step = path_of(placed, "source")[1]
    assert (step.file, step.line) == ("/src/model.py", 33)
    assert step.note == "33: x33\n34: x34\n35: x35\n40: x40"

    two = [*origins, origin(file="/src/rope.py", line=2), origin(file="/src/rope.py")]
    assert labels(TreeLeaf(kernel("k", "inductor", two)), "source") == [
        "model.py + rope.py", "model.py:33–35, 40 + rope.py:2 forward",
    ]  # fmt: skip


def test_without_lines_the_source_is_the_programs_line_that_launched():
    assert labels(TreeLeaf(kernel(), EAGER), "source") == ["ops.py", "launch ops.py:5"]
    assert labels(TreeLeaf(kernel(), EAGER[2:3]), "source") == ["no frame of the program"]


def test_operators_are_those_that_were_recorded_or_in_the_name():
    origins = [origin(op="aten.mul", node="y"), origin(op="aten.add"), origin(op="prims.iota")]
    (step, _) = path_of(TreeLeaf(kernel("k", "inductor", origins)), "op")
    assert step.label == "add, mul, prims.iota"
    assert step.note == "add, mul, prims.iota\nnodes: y"
    named = TreeLeaf(kernel("triton_poi_fused__to_copy_add_12", "inductor"))
    assert labels(named, "op") == ["_to_copy_add"]
    assert path_of(named, "op")[0].note == "read from the kernel's name"
    assert labels(TreeLeaf(kernel("other", "inductor")), "op") == ["operators not recorded"]
    assert labels(TreeLeaf(kernel()), "op") == ["not generated by Inductor"]


def test_generated_kernel_with_unknown_modules_is_not_reported_as_outside_modules():
    placed = TreeLeaf(kernel("k", "inductor", [origin(op="aten.mul")]), [frame("f")])
    assert labels(placed, "module") == ["module not recorded"]


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_library_and_unlaunched_kernels_without_a_stack_have_a_path(grouping):
    library = TreeLeaf(None, library=("cuBLAS", "gemm"))
    assert labels(library, grouping) == [
        "library kernels (cuBLAS, cuDNN, torch)", "cuBLAS",
    ]  # fmt: skip
    native = TreeLeaf(None, (), library=("cuBLAS", "gemm"))
    assert labels(native, grouping) == ["autograd backward (no Python stack)", "cuBLAS"]
    steps = labels(TreeLeaf(kernel()), grouping)
    if grouping in ("stack", "frames"):
        assert steps == ["compiled, never launched"]
    redacted = [{"file": None, "line": None, "column": None, "function": None}]
    assert path_of(TreeLeaf(kernel(), redacted), grouping)


def test_path_of_a_deep_recursion_has_its_outer_and_inner_frames():
    frames = [{"file": "a.py", "line": n, "function": f"f{n}"} for n in range(50_000)]
    path = path_of(TreeLeaf(kernel(), frames), "stack")
    assert len(path) == 202
    assert path[100].label == "(49,800 frames in between)"
    assert (path[0].line, path[-2].line) == (49_999, 0)
