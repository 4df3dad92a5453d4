"""Programs whose texts differ: edits that keep every value, and neighbors that do not."""

import pytest

from tests.converters.diff.programs import HEAD, LAUNCH, evidence

MAIN = "from a import f\nimport b\n" + HEAD + "x = f(x)\n" + LAUNCH
A, B = "def f(x): return x\n", "def f(x): return x * 2\n"


def side(main=MAIN, **modules):
    """Return the frames of a program, and modules beside it."""
    texts = [(f"/w/{name}.py", "", 0, text) for name, text in sorted(modules.items())]
    return [("/w/run.py", "<module>", main.count("\n"), main), *texts]


@pytest.mark.parametrize(
    ("after", "word"),
    [
        (side(a=A, b=B), "yes"),
        (side(MAIN.replace(" a ", " c "), c=A, b=B), "yes"),  # a renamed file
        (side(a=B, b=A), "not known"),
        (side("from b import f\nimport a\n" + MAIN.partition("import b\n")[2], a=A, b=B),
         "not known"),
        (side(MAIN.replace("import b\n", "import c\n"), a=A, c=B), "not known"),  # `c` is bound
    ],
)  # fmt: skip
def test_file_may_be_renamed_but_not_exchanged(tmp_path, after, word):
    assert evidence(tmp_path, side(a=A, b=B), after)[0] == word


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("if __name__ == '__main__': f(1)\n", "yes"),
        ("n = len(__name__)\n", "not known"),
        ("n = len(f.__module__)\n", "not known"),
        ("root = __file__\n", "not known"),
    ],
)
def test_file_may_not_be_renamed_where_its_name_is_read(tmp_path, text, word):
    after = side(MAIN.replace(" a ", " c "), c=A + text, b=B)

    assert evidence(tmp_path, side(a=A + text, b=B), after)[0] == word


@pytest.mark.parametrize(
    ("imports", "word"),
    [
        ("from d import f\nfrom d import g", "yes"),
        ("from a import f\nfrom d import g", "not known"),  # which runs the text twice
        ("from d import f\nfrom a import g", "not known"),
    ],
)
def test_modules_of_equal_text_are_told_apart(tmp_path, imports, word):
    text = "import torch\nx = torch.randn(3)\ndef f(y): return x\ndef g(y): return x + y\n"
    main = "from a import f\nfrom a import g\n" + HEAD + "x = f(g(x))\n" + LAUNCH
    after = main.replace("from a import f\nfrom a import g", imports)

    assert evidence(tmp_path, side(main, a=text), side(after, a=text, d=text))[0] == word


def test_modules_that_import_each_other_may_be_renamed(tmp_path):
    main = "from a import f\n" + HEAD + "x = f(x)\n" + LAUNCH
    a, b = "from b import g\ndef f(x): return g(x)\n", "from a import f\ndef g(x): return x\n"
    renamed = [text.replace(" a ", " c ") for text in (main, a, b)]

    word, _ = evidence(
        tmp_path / "1", side(main, a=a, b=b), side(renamed[0], c=renamed[1], b=renamed[2])
    )
    other, _ = evidence(tmp_path / "2", side(main, a=a, b=b), side(main, a=a, b=b + "g = f\n"))

    assert (word, other) == ("yes", "not known")


def test_what_a_module_of_kernels_runs_is_compared(tmp_path):
    main = "from kernels import scale\n" + HEAD + LAUNCH
    text = "import torch\ntorch.manual_seed(1)\n@triton.jit\ndef scale(x): pass\n"

    words = [
        evidence(
            tmp_path / new, side(main, kernels=text), side(main, kernels=text.replace("1", new))
        )[0]
        for new in "12"
    ]

    assert words == ["yes", "not known"]


FUNCTION = "def call(x, y):\n    z = x * 2\n    w = z + y\n    return w\nx = call(x, y)\n"

NESTED = """def f(x):
    u = x
    def g():
        w = 1
        return u
    return g()
x = f(x)
"""
REBOUND = FUNCTION.replace("x = call", "call = torch.add\nx = call")


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        # names of local variables
        (FUNCTION, FUNCTION.replace("z", "doubled"), "yes"),
        (FUNCTION, FUNCTION.replace("z", "w"), "not known"),
        (FUNCTION, FUNCTION.replace("z + y", "z + z"), "not known"),
        (FUNCTION, FUNCTION.replace("return w", "return z"), "not known"),
        ("def f(a=x):\n    x = 1\n    return a\n" + FUNCTION,
         "def f(a=y):\n    y = 1\n    return a\n" + FUNCTION, "not known"),
        (NESTED, NESTED.replace("u = x", "v = x").replace("return u", "return v"), "yes"),
        (NESTED, NESTED.replace("return u", "return w"), "not known"),
        ("def f(x):\n    u = x\n    v = 1\n    return [u for v in x]\nx = f(x)\n",
         "def f(x):\n    u = x\n    v = 1\n    return [v for v in x]\nx = f(x)\n", "not known"),
        ("def f(x):\n    global n\n    n = x\nf(x)\n", "def f(x):\n    global m\n    m = x\nf(x)\n",
         "not known"),
        # annotations
        (FUNCTION, FUNCTION.replace("x, y):", "x: torch.Tensor, y) -> 'Tensor':"), "yes"),
        (FUNCTION, "from typing import Any\n" + FUNCTION.replace("y):", "y: Any):"), "yes"),
        (FUNCTION, FUNCTION.replace("y):", "y: x.zero_()):"), "not known"),
        (FUNCTION + "n = call.__annotations__\n",
         FUNCTION.replace("y):", "y: int):") + "n = call.__annotations__\n", "not known"),
        ("@wrap\n" + FUNCTION, "@wrap\n" + FUNCTION.replace("y):", "y: int):"), "not known"),
        ("class C:\n    n: int = 1\n", "class C:\n    n: float = 1\n", "not known"),
        # order of what only binds names, imports without use
        ("import math\nimport os\nn = math.pi, os.sep\n",
         "import os\nimport math\nn = math.pi, os.sep\n", "yes"),
        ("import math\n", "import sys\nfrom time import time\n", "yes"),
        ("def f(x): return x\n" + FUNCTION,
         FUNCTION.replace("x = call", "def f(x): return x\nx = call"), "yes"),
        ("from math import e\nfrom cmath import e\nn = e\n",
         "from cmath import e\nfrom math import e\nn = e\n", "not known"),
        ("def f(x): return x\ndef f(x): return -x\nx = f(x)\n",
         "def f(x): return -x\ndef f(x): return x\nx = f(x)\n", "not known"),
        ("x.add_(1)\nx.mul_(2)\n", "x.mul_(2)\nx.add_(1)\n", "not known"),
        ("def f(x, k=x.add_(1)): return x\ndef g(x, k=x.mul_(2)): return x\nx = f(g(x))\n",
         "def g(x, k=x.mul_(2)): return x\ndef f(x, k=x.add_(1)): return x\nx = f(g(x))\n",
         "not known"),
        ("def f(x): return x\ndef g(x): return x\nfs = list(vars(torch))\n",
         "def g(x): return x\ndef f(x): return x\nfs = list(vars(torch))\n", "not known"),
        # numbers
        ("x *= 0.5\n", "x *= 1 / 2\n", "yes"),
        ("x *= 1\n", "x *= 1.0\n", "not known"),
        ("x *= 0.3\n", "x *= 0.1 + 0.2\n", "not known"),
        ("x *= 0.0\n", "x *= -1 * 0.0\n", "not known"),
        # arguments by name
        (FUNCTION, FUNCTION.replace("(x, y)\n", "(x=x, y=y)\n"), "yes"),
        (FUNCTION, FUNCTION.replace("(x, y)\n", "(y=y, x=x)\n"), "yes"),
        (FUNCTION, FUNCTION.replace("(x, y)\n", "(x=y, y=x)\n"), "not known"),
        (FUNCTION.replace("(x, y)\n", "(-1.0, y)\n"), FUNCTION.replace("(x, y)\n", "(-1.0, y=y)\n"),
         "yes"),
        (FUNCTION.replace("(x, y)\n", "(-1.0, y)\n"),
         FUNCTION.replace("(x, y)\n", "(y=-1.0, x=y)\n"), "not known"),
        (FUNCTION.replace("(x, y)\n", "(x.add_(1), x.mul_(2))\n"),
         FUNCTION.replace("(x, y)\n", "(x.add_(1), y=x.mul_(2))\n"), "yes"),
        (FUNCTION.replace("(x, y)\n", "(x.add_(1), x.mul_(2))\n"),
         FUNCTION.replace("(x, y)\n", "(y=x.mul_(2), x=x.add_(1))\n"), "not known"),
        (REBOUND, REBOUND.replace("(x, y)\n", "(x=x, y=y)\n"), "not known"),
    ],
)  # fmt: skip
def test_edits_that_keep_every_value(tmp_path, before, after, word):
    sides = [HEAD + text + LAUNCH for text in (before, after)]

    assert evidence(tmp_path, *sides)[0] == word
