"""A function is taken out of a notebook with what it needs, and with nothing else."""

from textwrap import dedent

from course_utils.grading.submission import slice_for


def sliced(name: str, *cells: str) -> str:
    found = slice_for(name, [dedent(cell) for cell in cells])
    assert found is not None
    return found


def test_imports_helpers_and_constants_come_along_in_the_notebooks_order() -> None:
    found = sliced(
        "answer",
        "import math\nimport torch\nROOT = math.sqrt(2)",
        "def helper(x):\n    return x * ROOT",
        "def answer(x):\n    return helper(x)",
    )
    space: dict[str, object] = {}
    exec(found, space)
    assert space["answer"](2) == 2 * 2**0.5  # type: ignore[operator]
    assert "torch" not in found


def test_what_only_does_something_is_left_behind() -> None:
    found = sliced(
        "answer",
        "raise SystemExit",
        "%matplotlib inline\n!rm -rf nothing\nimport os",
        "os.environ['X'] = 'changed'\nprint('hello')",
        "def answer(x):\n    return x",
        "this is not Python",
    )
    assert found == "def answer(x):\n    return x\n"


def test_a_local_name_brings_no_global_of_the_same_name() -> None:
    found = sliced(
        "answer",
        "scores = train_for_an_hour()",
        "def answer(x):\n    scores = x + 1\n    return scores",
    )
    assert "train" not in found


def test_every_binding_counts_also_in_a_condition_and_by_wrapping() -> None:
    found = sliced(
        "answer",
        "try:\n    import torch\nexcept ImportError:\n    torch = None",
        "def answer(x):\n    return torch.relu(x)",
        "answer = staticmethod(answer)",
    )
    assert found.startswith("try:")
    assert found.endswith("answer = staticmethod(answer)\n")


def test_classes_defaults_decorators_and_inner_functions_are_looked_into() -> None:
    found = sliced(
        "answer",
        "A, (B, C) = 1, (2, 3)",
        "def deco(f):\n    return f",
        "class Base:\n    pass",
        "@deco\ndef answer(x, y=B):\n    class Inner(Base):\n        pass\n    return lambda: C",
        "unused = 1",
    )
    assert all(part in found for part in ("A, (B, C)", "def deco", "class Base"))
    assert "unused" not in found


def test_a_name_that_nothing_defines_is_none() -> None:
    assert slice_for("answer", ["x = 1", "answer.y = 2", "answer"]) is None


def test_a_star_import_comes_along_where_something_is_bound_nowhere_else() -> None:
    cells = [
        "from math import *\nfrom os import *",
        "S = 3",
        "def answer(n):\n    return floor(n) + S",
    ]
    assert "from math import *" in sliced("answer", *cells)
    assert "import *" not in sliced("answer", *cells[:2], "def answer(n):\n    return len(S)")


def test_what_fills_a_wanted_table_comes_along() -> None:
    found = sliced(
        "answer",
        "TABLE, MORE, OTHER = {}, [], {}",
        "for n in range(3):\n    TABLE[n] = n + 1",
        "MORE.append(4)\nMORE.extend([5])",
        "OTHER[1] = print('not wanted')",
        "def answer(n):\n    return TABLE[n] + sum(MORE)",
    )
    space: dict[str, object] = {}
    exec(found, space)
    assert space["answer"](2) == 3 + 9  # type: ignore[operator]
    assert "OTHER[1]" not in found


def test_methods_that_are_attached_and_names_of_loops_and_globals_come_along() -> None:
    found = sliced(
        "answer",
        "class A:\n    pass",
        "def g(self):\n    return 1\nA.first = g\nsetattr(A, 'second', g)",
        "globals()['Z'] = 3",
        "for K in (1, 2):\n    pass",
        "def answer():\n    return A().first() + A().second() + Z + K",
    )
    space: dict[str, object] = {}
    exec(found, space)
    assert space["answer"]() == 7  # type: ignore[operator]


def test_a_module_s_settings_and_a_comprehension_s_names_are_left_behind() -> None:
    found = sliced(
        "answer",
        "import torch\ntorch.manual_seed(0)\ntorch.backends.x = 1",
        "squares = [n * n for n in slow()]",
        "def answer():\n    return torch, n",
    )
    assert found.startswith("import torch\n\ndef answer")
