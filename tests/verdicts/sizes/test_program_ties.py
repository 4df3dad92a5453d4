"""Formulas that the text of a program states of a launch's numbers."""

import ast

import pytest

from kvtrace.verdicts.sizes.program_ties import ties_of_program

NUMBERS = ("x.shape[0]", "x.stride[0]", "part.shape[0]", "n", "grid_x", "grid_y", "grid_z")
PARAMETERS = ("x", "part", "n", "B")


def ties(text, *, marks=("kernel[",), parameters=PARAMETERS, numbers=NUMBERS):
    tree = ast.parse(text)
    lines = text.splitlines()
    frames = [(tree, next(i for i, line in enumerate(lines, 1) if mark in line)) for mark in marks]
    found = ties_of_program(frames, parameters, {"B": 32}, numbers)
    return {name: text for name, text in found.items() if name != text}  # without variables


@pytest.mark.parametrize(
    ("part", "grid", "stated"),
    [
        ("n // 32", "triton.cdiv(n, 32)", ("n // 32", "cdiv(n, 32)")),
        ("(n + 30) // 32", "-(-n // 32)", ("(n + 30) // 32", "-(-n // 32)")),
        ("max(1, n // 32)", "math.ceil(n / 32)", ("max(1, n // 32)", "cdiv(n, 32)")),
        ("n % 32", "n >> 5", ("n - 32 * (n // 32)", "n // 32")),
        ("next_power_of_2(n)", "min(n, 4, m)", (None, "min(min(n, 4), cdiv(n, 7))")),
        ("8", "n // BLOCK + 1", ("8", "n // 32 + 1")),
        ("int(n / 32 + 0.5)", "int(n / 32)", ("(2 * n + 32) // (2 * 32)", "n // 32")),
    ],
)
def test_extents_and_grids_are_those_of_the_function_that_launches(part, grid, stated):
    found = ties(f"""
BLOCK = 32
def run(n):
    m = cdiv(n, 7)
    x = torch.zeros(n, device="cpu").half()
    part = torch.empty(({part},), dtype=torch.float32)
    kernel[({grid},)](x, part, n, B=BLOCK)
""")

    assert (found.get("part.shape[0]"), found.get("grid_x")) == stated
    assert found["x.shape[0]"] == "n"


@pytest.mark.parametrize(
    "grid",
    [
        'lambda meta: (triton.cdiv(n, meta["B"]),)',
        "(triton.cdiv(x.numel(), B),)",
        "(triton.cdiv(x.shape[0], 32), 1)",
        "(triton.cdiv(len(x), 32),)",
    ],
)
def test_what_a_function_is_given_follows_from_its_arguments(grid):
    found = ties(f"""
def run(x, part, B=32):
    x = x.contiguous()
    n = x.size(-1)
    grid = {grid}
    kernel[grid](x, part, n, B)
""")

    assert found["grid_x"] == "cdiv(n, 32)"
    assert found["x.shape[0]"] == "n"
    assert "part.shape[0]" not in found


def test_what_a_function_is_given_is_followed_to_its_caller():
    found = ties(
        """
def run(x, part):
    kernel[(cdiv(x.numel(), 32),)](x, part, x.numel(), B=32)

def main(n):
    run(torch.zeros(n), torch.zeros(n // 32))

main(64)
""",
        marks=("kernel[", "run(torch", "main(64)"),
    )

    assert found["part.shape[0]"] == "n // 32"
    assert found["grid_x"] == "cdiv(n, 32)"


@pytest.mark.parametrize(
    "text",
    [
        "    if n > 9:\n        part = torch.empty(n)\n    else:\n        part = torch.empty(2)",
        "    part = made(n)",
        "    part = torch.empty(n)\n    part = part[:3]",
        "    part = torch.empty(*sizes)",
        "    part = torch.empty(n * 1.5)",
        "    part = torch.empty(k)\n    for k in (n, 3):\n        k = 4",
    ],
)
def test_names_of_several_values_and_unknown_functions_state_nothing(text):
    found = ties(f"def run(n):\n{text}\n    kernel[(n,)](torch.zeros(n), part, n, B=32)")

    assert "part.shape[0]" not in found
    assert found["grid_x"] == "n"


@pytest.mark.parametrize("call", ["run(*sizes)", "run(**sizes)", "run(n=1); run(n=2)"])
def test_a_call_that_is_not_read_leaves_what_it_gives_open(call):
    found = ties(
        f"def run(n, m=3):\n    kernel[(n,)](torch.zeros(n), torch.zeros(m), n, B=32)\n\n{call}",
        marks=("kernel[", "run("),
    )

    assert "part.shape[0]" not in found or call.startswith("run(n")


@pytest.mark.parametrize("line", ["kernel[(2,)](x, part, 64, B=32)", "start(x)"])
def test_numbers_without_a_name_state_nothing(line):
    assert ties(f"x, part = torch.zeros(64), torch.zeros(2)\n{line} # kernel[") == {}


def test_variables_of_the_program_are_their_own_expressions():
    """Their launches may change one of them alone."""
    text = """
def run(n, m):
    part = torch.empty(m)
    kernel[(triton.cdiv(n, 32),)](torch.empty(n), part, n)
"""

    found = ties_of_program([(ast.parse(text), 4)], PARAMETERS, {}, NUMBERS)

    assert found["n"] == "n"
    assert found["part.shape[0]"] == "part.shape[0]"
    assert (found["x.shape[0]"], found["grid_x"]) == ("n", "cdiv(n, 32)")


@pytest.mark.parametrize("of", ["n", "x.shape[0]"])
def test_a_padded_number_follows_from_what_is_padded(of):
    """It was equal in launches at multiples of 32, which is no formula."""
    text = """
def run(size):
    padded = triton.cdiv(size, 32) * 32
    kernel[(4,)](torch.empty(size), None, padded)
"""
    numbers = ("x.shape[0]", "n", "grid_x")
    parameters = ("x", "part", "n")
    if of == "n":
        text, numbers = text.replace("padded)", "size, padded)"), (*numbers, "padded")
        parameters = (*parameters, "padded")

    found = ties_of_program([(ast.parse(text), 4)], parameters, {}, numbers)

    assert found["padded" if of == "n" else "n"] == f"cdiv({of}, 32) * 32"
