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
