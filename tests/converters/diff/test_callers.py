"""Values given to launches: programs of equal text, or a line that hands over something else."""

import ast
from pathlib import Path
from types import CodeType

import pytest

from kvtrace.capture import running_texts
from kvtrace.capture.records import Frame
from kvtrace.capture.running_texts import launching_files
from kvtrace.converters.diff.callers import _changes, _Program, _tree, _unrecorded
from kvtrace.converters.diff.outside_values import outside_uses
from kvtrace.converters.diff.program_forms import ProgramText
from tests.converters.diff.programs import HEAD, LAUNCH, evidence


@pytest.mark.parametrize(
    "after",
    [
        HEAD + LAUNCH,
        HEAD.replace("pass", "return") + "# a comment\n" + LAUNCH,
        HEAD.replace("BLOCK = 128", "BLOCK = 64") + LAUNCH.replace("8,", "16,"),
    ],
)
def test_kernels_their_numbers_and_comments_change_nothing_that_is_handed_over(tmp_path, after):
    word, text = evidence(tmp_path, HEAD + LAUNCH, after)

    assert (word, text) == ("yes", "for equal inputs: no code or argument of 1 kernel changed")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (LAUNCH, "scale[(8,)](y, x, 9, BLOCK=BLOCK)\n",
         "y is handed over where x was, x is handed over where y was (run.py:14)"),
        (LAUNCH, "scale[(8,)](halved(x), y, 9, BLOCK=BLOCK)\n",
         "halved(x) is handed over where x was (run.py:14)"),
        ("x.relu_()\n" + LAUNCH, LAUNCH, "`x.relu_()`, run.py:14 of BEFORE, is gone"),
        (LAUNCH, "x += 1\n" + LAUNCH, "`x += 1`, run.py:14, is new"),
        ("if n:\n    x = y\n" + LAUNCH, "if n:\n    y = x\n" + LAUNCH,
         "`y = x` was `x = y` (run.py:15)"),
        ("x.fill_(1.0)\n" + LAUNCH, "x.fill_(2.0)\n" + LAUNCH,
         "2.0 is handed over where 1.0 was (run.py:14)"),
        (LAUNCH, "size = 9\nscale[(8,)](x, y, size, BLOCK=BLOCK)\n",
         "size is handed over where a number was (run.py:15)"),
        ("xs = [x, y]\nscale[(8,)](xs[0], y, 9, BLOCK=BLOCK)\n",
         "xs = [x, y]\nscale[(8,)](xs[1], y, 9, BLOCK=BLOCK)\n",
         "xs[1] is handed over where xs[0] was (run.py:15)"),
        ("x = full(9, device=x.device)\n" + LAUNCH,
         "x = full(9, dtype=n, device=y.device)\n" + LAUNCH,
         "device=y.device is handed over where device=x.device was, dtype=n is handed over, too "
         "(run.py:14)"),
        ("x.add_(y, alpha=n)\n" + LAUNCH, "x.add_(y)\n" + LAUNCH,
         "alpha=n is handed over no more (run.py:14)"),
        (f"{LAUNCH}x += 1\n", f"x += 1\n{LAUNCH}", "`x += 1`, run.py:14, has moved"),
        (f"{LAUNCH}x += 1\nx += 1\n", f"x += 1\n{LAUNCH}x += 1\nx += 1\n",
         "`x += 1`, run.py:14, is new"),
        ("def made(): return x\n" + LAUNCH, "@cache\ndef made(): return x\n" + LAUNCH,
         "`@cache`, run.py:14, is new"),
        ("@cache\ndef made(): return x\n" + LAUNCH, "@cached(n)\ndef made(): return x\n" + LAUNCH,
         "`@cached(n)` was `@cache` (run.py:14)"),
    ],
)  # fmt: skip
def test_caller_that_hands_over_something_else_is_named(tmp_path, before, after, expected):
    assert evidence(tmp_path, HEAD + before, HEAD + after) == ("not known", expected)


@pytest.mark.parametrize(
    ("options", "hook"),
    [("[], key=[], reset_to_zero=['y_ptr']", "reset_to_zero = ['y_ptr']"),
     ("[triton.Config({}, pre_hook=halved)], key=[]", "pre_hook = halved")],
)  # fmt: skip
def test_another_hook_of_an_autotuner_is_named(tmp_path, options, hook):
    before, after = (
        HEAD.replace("@triton.jit", f"@triton.autotune({given})\n@triton.jit") + LAUNCH
        for given in ("[], key=[]", options)
    )

    expected = "not known", f"`{hook}`, run.py:4, is new"
    assert evidence(tmp_path, before, after) == expected
    assert evidence(tmp_path, HEAD + LAUNCH, after) == expected


@pytest.mark.parametrize(
    ("decorator", "is_known"),
    [
        ("triton.heuristics({'B': lambda a: a['o'].fill_(1.0).numel() and 128})", False),
        ("triton.autotune([], key=[], prune_configs_by={'top': lambda c, a: set(a, 1.0)})", False),
        ("filled('y_ptr', 1.0)", False),
        ("triton.heuristics({'B': lambda a: max(triton.cdiv(a['n'], 2), 1.0)})", True),
        ("triton.heuristics({'B': lambda a: a['x'].numel() * 1.0})", True),
    ],
)
def test_decorator_that_changes_tensors_is_compared(tmp_path, decorator, is_known):
    before = HEAD.replace("@triton.jit", f"@{decorator}\n@triton.jit") + LAUNCH

    word, text = evidence(tmp_path, before, before.replace("1.0", "2.0"))

    assert word == ("yes" if is_known else "not known")
    assert is_known or "run.py:4" in text


def test_functions_are_paired_by_name_before_the_rest():
    old, new, other = (
        _Program(tuple(ProgramText("run.py", ast.parse(text)) for text in texts))
        for texts in (
            ["import torch\nx = made()\nscale[(8,)](x)"],
            ["import torch\ndef run(x):\n    scale[(8,)](x)", "import torch\nx = made()\nrun(x)"],
            ["import torch\ndef call(x):\n    scale[(8,)](x)", "import torch\nx = made()\ncall(x)"],
        )
    )

    assert _changes(old, new)[0].text == "`run(x)` was `scale[8,](x)` (run.py:3)"
    assert _changes(new, other)[0].text == "`def call(x):` was `def run(x):` (run.py:2)"


@pytest.mark.parametrize(
    ("body", "change", "follows"),
    [
        ("o = called(x)", ("", "o = o.flip(0)"), True),  # in the caller's frame
        ("for _ in range(2):\n    o = called(x)", ("", "o = o.flip(0)"), True),
        ("for _ in range(2):\n    o = called(x)", ("", "    o += 1"), True),  # in the last trip
        ("o = called(x)", ("o = called(x)", "o = called(x) * 2"), True),
        ("o = called(x)\ny = x", ("y = x", "y = o"), True),
        ("o = called(x)\no = post(o)", ("def post(v): return v", "def post(v): return -v"), True),
        ("s = 2.0 / n\no = called(x)\no *= s", ("s = 2.0 / n", "s = 3.0 / n"), True),
        ("x.mul_(2.0)\no = called(x)\no += x", ("x.mul_(2.0)", "x.mul_(3.0)"), True),
        ("x = x + 1\nif n:\n    o = called(y)", ("x = x + 1", "x = x + 2"), True),
        ("x += 1\no = called(x)", ("x += 1", "x += 2"), True),  # as `called` may use it later
        ("z = x + 1\nscale[(8,)](z)\no = called(x)", ("x + 1", "1 + x"), False),
        ("with stream():\n    y = x\no = called(x)", ("with stream():", "with other():"), False),
        ("for i in range(2):\n    z = x + 1\n    o = called(y)", ("z = x + 1", "z = x"), False),
        ("torch.manual_seed(1)\nif n:\n    o = y\no = called(x)", ("seed(1)", "seed(2)"), False),
        ("z = n + 1\nw = z * 3\no = called(x)\no *= w", ("n + 1", "n + 2"), True),
        ("w = 1.0\nif n > 3: w = 2.0\no = called(x)\no *= w", ("n > 3", "n > 4"), True),
        ("z = n + 1\nw = z * 3\no = called(x)\no *= n", ("n + 1", "n + 2"), False),
        ("class C:\n    g = 1.0\no = called(x)\no *= C.g", ("1.0", "2.0"), True),
        ("class C(Enum):\n    if n:\n        G = 1.\no = called(x)\no *= C.G", ("1.", "2."), True),
        ("class B: g = 1.0\nclass C(B): pass\no = called(x)\no *= C.g", ("1.0", "2.0"), True),
        ("class B: pass\nclass C(B):\n    g = 1.0\no = called(x)\no *= B.kids[0].g", ("1.", "2."),
         True),
        ("setattr(C, 'g', 1.0)\no = called(x)\no *= C.g", ("1.0", "2.0"), True),
        ("vars(C)['g'] = 1.0\no = called(x)\no *= C.g", ("1.0", "2.0"), True),
        ("init.constant_(w, 1.0)\no = called(x)\no *= w", ("1.0", "2.0"), True),
        ("def use(g):\n    global G\n    G = g\nuse(1.0)\no = called(x)\no *= G", ("1.0", "2.0"),
         True),
        ("R = []\ndef add(v): R.append(v)\ndef more(v): return add(v)\nn = more(1.0)\n"
         "o = called(x)\no *= R[0]", ("1.0", "2.0"), True),
        ("class C:\n    g = 1.0\nz = C.g\nscale[(8,)](z)\no = called(x)", ("1.0", "2.0"), False),
        ("print(x, 1.0)\no = called(y)\no *= x", ("1.0", "2.0"), False),
        ("logging.info('%s', x, 1.0)\no = called(y)\no *= x", ("1.0", "2.0"), False),
        ("def made(n):\n    t = [n]\n    t.append(n)\n    return t\nz = made(1.0)\n"
         "scale[(8,)](z)\no = called(x)", ("1.0", "2.0"), False),
    ],
)  # fmt: skip
def test_change_is_known_to_precede_a_launch_only_if_one_must_follow(body, change, follows):
    def program(main, is_new):
        head = "def called(x):\n    scale[(8,)](x)\n    return x\ndef post(v): return v\n"
        text = head + main
        text = text.replace(*change) if is_new and change[0] else text
        text += f"\n{change[1]}" if is_new and not change[0] else ""
        calls = {number for number, line in enumerate(text.split("\n"), 1) if "called(" in line}
        return _Program((ProgramText("run.py", ast.parse(text), {2, *calls}, {2}),))

    sides = [program(body, is_new) for is_new in (False, True)]

    assert any(change.follows for change in _changes(*sides)) == follows


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("from inputs import made\n", "the text of made, of run.py:14, was not recorded"),
        ("import inputs.made\n", "the text of inputs, of run.py:14, was not recorded"),
        ("from . import made\n", "the text of made, of run.py:14, was not recorded"),
        ("x = eval('y')\n", "run.py:14 uses eval"),
        ("import os\nn = os.environ['N']\n", "run.py:15 uses os.environ"),
        ("swapped = open('c').read()\n", "run.py:14 uses open"),
    ],
)
def test_program_that_uses_what_was_not_recorded_is_not_known(tmp_path, line, reason):
    text = HEAD + line + LAUNCH

    assert evidence(tmp_path, text, text) == (
        "not known",
        f"what its launches are given is not known: {reason}",
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("from os import environ as cfg\nn = cfg['N']\n", "run.py:15 uses os.environ"),
        ("from numpy import loadtxt as read\nn = read('c')\n", "run.py:15 uses loadtxt"),
        ("from glob import glob as find\nn = find('*')\n", "run.py:15 uses glob.glob"),
        ("from os.path import getsize as s\nn = s('c')\n", "run.py:15 uses os.path.getsize"),
        ("import os\nn = 1.0 + os.path.exists('flag')\n", "run.py:15 uses os.path.exists"),
        ("import pathlib as p\nn = p.Path('c').exists()\n", "run.py:15 uses exists"),
        (
            "import xml.etree.ElementTree as ET\nn = ET.parse('c')\n",
            "run.py:15 uses xml.etree.ElementTree.parse",
        ),
        (
            "import configparser\nc = configparser.ConfigParser()\n",
            "run.py:15 uses configparser.ConfigParser",
        ),
        ("from operator import methodcaller as m\nn = m('read')\n", "run.py:15 uses methodcaller"),
        ("import inspect\nn = len(inspect.getsource(f))\n", "run.py:15 uses inspect.getsource"),
        ("n = halved.__code__.co_firstlineno\n", "run.py:14 uses __code__"),
        ("n = len(dir()[-1])\n", "run.py:14 uses dir()"),
        ("n = len(f.tb_frame.f_locals)\n", "run.py:14 uses f_locals"),
        ("n = len(scale.src)\n", "run.py:14 uses scale.src"),
        ("n = float(scale.fn.__doc__)\n", "run.py:14 uses scale.fn.__doc__"),
    ],
)  # fmt: skip
def test_what_a_program_takes_from_outside_is_named_by_its_import(line, reason):
    assert reason in list(gaps(HEAD + line + LAUNCH))


@pytest.mark.parametrize(
    "line",
    [
        "import os, shutil\nos.makedirs('out', exist_ok=True)\nshutil.rmtree('out')\n",
        "stat = home = 1.0\nimport os\nos.chdir('out')\nprint(stat, home)\n",
        "import argparse, math, sys, time\nbegin = time.perf_counter()\nn = math.pi\n"
        "p = argparse.ArgumentParser(description=__doc__)\nlast = sys.argv[-1]\n",
        "import os, platform\nprint(platform.node(), os.urandom(4).hex())\n",
        "import os\nfrom pathlib import Path\nroot = Path(os.path.dirname(__file__)) / 'out'\n",
        "scale.warmup(x)\nprint(scale.best_config)\n",
    ],
)
def test_usual_calls_take_nothing_from_outside(line):
    assert list(gaps(HEAD + line + LAUNCH)) == []


@pytest.mark.parametrize(
    ("path", "is_own"),
    [
        ("/w/colorsys.py", True),
        ("/w/bdb/__init__.py", True),
        ("/w/package/colorsys.py", False),
        ("/w/colorsys_of.py", False),
    ],
)
def test_recorded_module_beside_the_program_hides_the_one_of_python(tmp_path, path, is_own):
    text = "import bdb, colorsys\n" + HEAD + LAUNCH
    used = set()
    modules = {path: ProgramText(path, ast.parse("A = 1"), is_module=True)}

    found = list(gaps(text, {Path("/w")}, modules, used))  # no matter what is on this machine
    sides = [[("/w/run.py", "<module>", 17, text), (path, "", 0, f"A = {n}\n")] for n in (1, 2)]

    assert (found, used) == ([], {path} if is_own else set())
    assert evidence(tmp_path, *sides)[0] == ("not known" if is_own else "yes")


def gaps(text, roots=(), modules=None, used=None):
    own = ProgramText("run.py", _tree(text, {"scale"}))
    used = set() if used is None else used
    found = _unrecorded(own, {"scale"}, {"scale"}, roots, modules or {}, used)
    uses = outside_uses([*ast.walk(own.tree)], {"scale"})
    return [*found, *(f"{own.line(line)} uses {name}" for line, name in uses)]


def test_launches_without_stacks_are_not_known(tmp_path):
    word, text = evidence(tmp_path, None, None)

    assert word == "not known"
    assert text.endswith("stacks of launches were not recorded")


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ({"command": "python run.py --swap"}, "the command ends with --swap, was nothing"),
        ({"versions": [("torch", "2.9")]}, "torch has another version"),
    ],
)
def test_other_option_or_torch_is_not_known(tmp_path, run, expected):
    options = {"0002": run}

    assert evidence(tmp_path, HEAD + LAUNCH, HEAD + LAUNCH, **options) == ("not known", expected)


REGISTRY = "REG = {}\ndef reg(f):\n    REG[f.__name__] = f\n    return f\n"
FA = "def fa(n):\n    return torch.full((n,), 3.0)\n"
NAMED = 'x = REG["fa"](9)\n'


@pytest.mark.parametrize(
    ("code", "is_known"),
    [
        (REGISTRY + "@reg\n" + FA + NAMED, False),
        (REGISTRY + "class Fill:\n    @reg\n    def fa(n): return 3.0\n" + NAMED, False),
        (REGISTRY + FA + "def unused(k=reg(fa)): pass\n" + NAMED, False),
        ("FS = []\n@FS.append\n" + FA + "x = FS[0](9)\n", False),
        ("import functools\n@functools.singledispatch\ndef made(n): pass\n"
         "@made.register\ndef _(n: int): return torch.full((n,), 3.0)\nx = made(9)\n", False),
        ("class Base: pass\nclass Kid(Base):\n    def made(self): return 3.0\n"
         "x = Base.__subclasses__()[0]().made()\n", False),
        ("class Base:\n    kids = []\n    def __init_subclass__(cls): Base.kids.append(cls)\n"
         "class Kid(Base):\n    fill = 3.0\nx = Base.kids[0].fill\n", False),
        (FA + 'x = globals()["f" + "a"](9)\n', False),
        (FA + 'import sys\nx = getattr(sys.modules[__name__], "f" + "a")(9)\n', False),
        (FA + 'import sys as s\nx = getattr(s.modules[__name__], "f" + "a")(9)\n', False),
        (FA + 'x = vars()["f" + "a"](9)\n', False),
        (FA + 'x = halved.__globals__["f" + "a"](9)\n', False),
        ("import functools\n@functools.singledispatch\ndef made(n): pass\n" + FA
         + "made.register(int, fa)\nx = made(9)\n", False),
        ("def made(n): return made.fill\nsetattr(made, 'fill', 3.0)\nx = made(9)\n", False),
        ("def made(n): return made.fill\ndef fill(k): made.fill = k\nfill(3.0)\n", False),
        (FA + "def made(n):\n    def of(fa): return fa\n    return of(n) * fa(n)\nx = made(9)\n",
         False),
        ("def patch(): torch.sigmoid = lambda x: 3.0\npatch()\n", False),
        (FA + "x = float(vars(torch)['pi'])\n", True),
        (REGISTRY + "@reg\ndef other(n):\n    '''Not 3.0.'''  # 3.0\n" + FA, True),
        ("def fa(n, k=3.0): return k\n", True),
        ("@triton.jit\n" + FA, True),
        ("from kernels import scale\n" + FA, True),
    ],
)  # fmt: skip
def test_changed_function_is_not_known_unless_nothing_runs_it(tmp_path, code, is_known):
    before, after = (
        recorded(tmp_path / side, HEAD + text)
        for side, text in (("a", code), ("b", code.replace("3.0", "3.5")))
    )

    word, text = evidence(tmp_path, before, after)
    same, _ = evidence(tmp_path / "same", before, before)

    assert word == ("yes" if is_known else "not known")
    assert is_known or "helper.py:" in text
    assert same == ("not known" if " uses " in text else "yes")


def recorded(folder, text):
    """Return what is recorded of a program that launches in a module with a text."""
    folder.mkdir()
    frames = []
    for name, function, content in (
        ("helper.py", "launched", f"{text}def launched():\n    {LAUNCH}"),
        ("run.py", "<module>", "from helper import launched\nlaunched()\n"),
    ):
        (folder / name).write_text(content)
        code = compile(content, str(folder / name), "exec")
        named = {one.co_name: one for one in code.co_consts if isinstance(one, CodeType)}
        frames.append((name, function, content.count("\n"), named.get(function, code)))
    stack = [Frame(code.co_filename, line, 1, name, code) for _, name, line, code in frames]
    texts = zip(frames, launching_files(stack, "used"), strict=True)
    return [(*frame[:3], text.content.decode()) for frame, text in texts]


MODULES = {
    "/w/run.py": "import sizes\nfrom model import Net as N\n"
    + HEAD
    + "x = N()(sizes.A)\n"
    + LAUNCH,
    "/w/sizes.py": "A = 4\n",
    "/w/model/__init__.py": "from .net import *\n",
    "/w/model/net.py": "class Net:\n    def __call__(self, a): return a * 2.0\n",
}


@pytest.mark.parametrize(
    ("path", "change", "expected"),
    [
        ("", (), ("yes", "for equal inputs: no code or argument of 1 kernel changed")),
        ("/w/sizes.py", ("4", "5"), ("not known", "`A = 5` was `A = 4` (sizes.py:1)")),
        (
            "/w/model/net.py",
            ("2.0", "3.0"),
            ("not known", "`return a * 3.0` was `return a * 2.0` (net.py:2)"),
        ),
        (
            "/w/run.py",
            ("import sizes", "import sizes; from sizes import B"),
            ("not known", "the text of B, of run.py:1, was not recorded"),
        ),
        (
            "/w/model/net.py",
            ("class", "import os\nB = os.environ['B']\nclass"),
            ("not known", "net.py:2 uses os.environ"),
        ),
        ("/w/sizes.py", ("4", "float(print.__doc__)"), ("not known", "sizes.py:1 uses __doc__")),
    ],
)
def test_modules_that_a_program_imports_are_compared(tmp_path, path, change, expected):
    before = path if " was `" not in expected[1] else ""
    sides = [
        [
            (name, "<module>" * ("run" in name), 17, text.replace(*change) if name == own else text)
            for name, text in MODULES.items()
        ]
        for own in (before, path)
    ]

    word, text = evidence(tmp_path, *sides)

    assert (word, text.removeprefix("what its launches are given is not known: ")) == expected


def test_a_module_is_recorded_if_it_is_what_was_imported(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, text in {
        "run_of_it": "import beside_it\n",
        "beside_it": "def f(): return 1\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    path = str(tmp_path / "run_of_it.py")
    code = compile("import beside_it\n", path, "exec")
    exec(code, {})
    frames = [Frame(path, 1, 1, "<module>", code)]

    found = [(text.path, text.content) for text in launching_files(frames, "used")]
    running_texts._module_texts.cache_clear()
    (tmp_path / "beside_it.py").write_text("def f(): return 2\n")
    changed = [(text.path, text.content) for text in launching_files(frames, "used")]

    beside = str(tmp_path / "beside_it.py")
    assert found == [(path, b"import beside_it\n"), (beside, b"def f(): return 1\n")]
    assert changed == [found[0], (beside, b"")]


def test_module_whose_text_is_not_known_is_named(tmp_path):
    frames = [("/w/run.py", "<module>", HEAD.count("\n") + 1, HEAD + LAUNCH)]
    before, after = frames, [*frames, ("/w/json.py", "", 0, "")]

    word, text = evidence(tmp_path, before, after)

    assert (word, text.rpartition(": ")[2]) == (
        "not known",
        "the text of /w/json.py was not recorded",
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("for name in {'a', 'b'}: x += len(name)\n", "the order of a set"),
        ("names = set(x)\nprint(len(names))\nf = dict(zip(names, x))\n", "the order of a set"),
        (
            "class A:\n    seen = set()\n    def f(self): return [*self.seen]\n",
            "the order of a set",
        ),
        ("xs = list(x.keys() - y.keys())\n", "the order of a set"),
        ("groups = dict.fromkeys(x, defaultdict(set))\n", "the order of a set"),
        ("torch.manual_seed(hash('run'))\n", "hash"),
        ("x *= torch.get_num_threads()\n", "get_num_threads"),
        ("x *= len(torch.__config__.parallel_info())\n", "__config__"),
        ("banned = {4, -9}\nfor b in banned: x[b] = 0\n", ""),
        ("seen = set()\nif x not in seen: seen.add(x)\nn = len(seen)\n", ""),
        ("names = sorted(set(x) | {'a'})\nok = isinstance(x, set)\n", "the order of a set"),
        ("names = sorted({'b', 'a'}.union(x))\nok = isinstance(x, set)\n", ""),
        ("class A:\n    def __hash__(self): return hash(self.a)\n", ""),
    ],
)
def test_what_hashes_and_threads_decide_is_not_known(tmp_path, line, reason):
    word, text = evidence(tmp_path, HEAD + line + LAUNCH, HEAD + line + LAUNCH)

    assert word == ("not known" if reason else "yes")
    assert text.endswith(f" uses {reason}") or not reason
