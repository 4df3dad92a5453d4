"""Names and folders of a program that it reads: uses that may change a result, and others."""

import ast

import pytest

from kvtrace.converters.diff.own_places import place_uses
from kvtrace.converters.diff.program_forms import ProgramText
from tests.converters.diff.programs import HEAD, LAUNCH, evidence


def uses(*codes):
    texts = [ProgramText(f"/w/{n}.py", ast.parse(code)) for n, code in enumerate(codes)]
    return [use.name for use in place_uses(texts)]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("x = len(__file__) + y", "__file__"),
        ("torch.manual_seed(len(Path(__file__).stem))", "__file__"),
        ("here = os.path.dirname(__file__)\nx = x * len(here)", "__file__"),
        ("class C:\n    root = Path(__file__).parent\nif C.root.name == 'a': x = -x", "__file__"),
        ("def here(): return Path(__file__).parent\nx *= len(str(here()))", "__file__"),
        ("def fill(x, folder): return x * len(folder)\nfill(x, folder=__file__)", "__file__"),
        ("p.add_argument('--out', default=__file__)\nx *= len(p.parse_args().out)", "__file__"),
        ("torch.save((x, __file__), 'r.pt')", "__file__"),
        ("x *= ord(os.path.basename(os.getcwd()))", "os.getcwd"),
        ("x *= len(Path('.').resolve().name)", "Path"),
        ("x *= len(sys.argv[0])", "sys.argv"),
        ("for word in sys.argv: x *= len(word)", "sys.argv"),
        ("x *= len(sys.path[0])", "sys.path"),
    ],
)
def test_use_of_a_name_or_folder_that_may_change_a_result_counts(code, name):
    assert uses(code) == [name]


@pytest.mark.parametrize(
    "code",
    [
        "sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))",
        "HERE = Path(__file__).resolve().parent\nif str(HERE) not in sys.path:\n"
        "    sys.path.append(str(HERE))",
        "HERE = Path(__file__).parent\nout = HERE / 'out'\nout.mkdir()\n"
        "torch.save(x, out / 'r.pt')",
        "HERE = os.path.dirname(__file__)\nwith open(os.path.join(HERE, 'log'), 'w') as f: pass",
        "class C:\n    root = Path(__file__).parent\nnp.save(C.root / 'x.npy', x)",
        "def here(): return Path(__file__).parent\nplt.savefig(f'{here()}/x.png')",
        "def kept(x, folder): torch.save(x, folder / 'x.pt')\nkept(x, Path(__file__).parent)",
        "p.add_argument('--out', default=__file__)\nos.makedirs(p.parse_args().out)",
        "p = argparse.ArgumentParser(prog=os.path.basename(sys.argv[0]))\nargs = p.parse_args()",
        "log = logging.getLogger(Path(__file__).stem)\nlog.info('in %s', os.getcwd())",
        "print('run', __file__, sys.argv)\nn = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0",
        "os.chdir(os.path.dirname(os.path.abspath(__file__)))",
    ],
)
def test_ordinary_uses_of_names_and_folders_change_no_result(code):
    assert uses(code) == []


def test_names_are_followed_to_other_files_of_the_program():
    assert uses("ROOT = __file__", "from a import ROOT\nx = len(ROOT)") == ["__file__"]
    assert uses("ROOT = __file__", "from a import ROOT\nprint(ROOT)") == []


@pytest.mark.parametrize(
    ("code", "path", "word"),
    [
        ("x *= len(__file__)\n", "/b/run.py", "not known"),
        ("x *= len(__file__)\n", "/a/run.py", "yes"),
        ("x *= len(Path(__file__).stem)\n", "/b/run.py", "yes"),
        ("x *= len(Path(__file__).stem)\n", "/a/other.py", "not known"),
        ("x *= ord(Path(__file__).parent.name)\n", "/b/run.py", "not known"),
        ("print(__file__)\n", "/b/other.py", "yes"),
    ],
)
def test_names_and_folders_count_only_where_they_differ(tmp_path, code, path, word):
    text = HEAD + code + LAUNCH
    sides = [[(one, "<module>", text.count("\n"), text)] for one in ("/a/run.py", path)]

    answer, reason = evidence(tmp_path, *sides)

    assert answer == word
    assert word == "yes" or "uses __file__, which is another on each side" in reason


@pytest.mark.parametrize(
    ("code", "field", "values"),
    [
        ("x *= len(os.getcwd())\n", "directory", ("/a", "/b")),
        ("x *= len(sys.argv[0])\n", "command", ("python run.py", "python other.py")),
    ],
)
def test_working_directories_and_commands_are_compared(tmp_path, code, field, values):
    def asked(folder, ends):
        runs = {run: {field: end} for run, end in zip(("0001", "0002"), ends, strict=True)}
        return evidence(tmp_path / folder, HEAD + code + LAUNCH, HEAD + code + LAUNCH, **runs)[0]

    assert asked("other", values) == "not known"
    assert asked("same", values[:1] * 2) == "yes"
