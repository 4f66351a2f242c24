"""The source of an answer: what it needs comes with it, and what cannot is said."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.answers.literals import LARGEST, NoTextError, literal
from course_utils.answers.source import module_source
from course_utils.attention import stable_softmax as soft

SIZES = {"width": (3,), "names": ["a", "ä"], 2: {True}}
TABLE = torch.tensor([[0.5, math.inf], [2.0, -1.0]])
SCALE = 2.0
BIG = torch.zeros(LARGEST + 1)
RANDOM = torch.Generator()
KIND = torch.float64
near = lambda x: x + 1  # noqa: E731


def doubled(x):
    return SCALE * x


class Adder:
    def __init__(self, more=SCALE):
        self.more = more

    def __call__(self, x):
        return doubled(x) + self.more


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


@torch.no_grad()
def answer(x: Tensor, by=Adder()) -> Tensor:  # noqa: B008
    """Use everything once; SIZE in a text is no name."""
    inner = [near(one) for one in by(x).unbind()]
    SIZE = SIZES["width"][0]
    return soft(F.relu(torch.stack(inner) + TABLE[0, 0] + SIZE).to(KIND))


def imported(text: str, name: str):
    space: dict = {"__name__": "elsewhere"}
    exec(compile(text, "<kept>", "exec"), space)
    return space[name]


def test_a_module_is_made_that_needs_nothing_else() -> None:
    text = module_source(answer, "their_name")
    x = torch.tensor([1.0, -20.0, 0.5])
    assert torch.equal(imported(text, "their_name")(x), answer(x))
    assert "BIG" not in text
    assert "from course_utils.attention import stable_softmax as soft" in text


def test_functions_that_call_each_other_come_once_each() -> None:
    text = module_source(even, "even")
    assert (text.count("def even"), text.count("def odd")) == (1, 1)
    assert imported(text, "even")(10)


def test_a_name_inside_an_attribute_is_not_needed() -> None:
    def plain(x):
        return x.doubled

    assert "def doubled" not in module_source(plain, "plain")


def test_lambdas_have_a_source_where_one_stands_alone_in_its_line() -> None:
    assert imported(module_source(lambda x: near(x) * SCALE, "name"), "name")(2) == 6.0
    pair = (lambda x: x, lambda x: -x)
    with pytest.raises(NoTextError, match="cannot be told from what is beside it"):
        module_source(pair[0], "name")


def uses_big(x):
    return x + BIG


def uses_random(x):
    return x + torch.rand(3, generator=RANDOM)


def closed():
    more = 1

    def inner(x):
        return x + more

    return inner


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (uses_big, "it uses `BIG`, and no text can hold that Tensor"),
        (uses_random, "it uses `RANDOM`, and no text can hold that Generator"),
        (closed(), "`name` was made inside another function"),
        (torch.softmax, "it is not a function with a source of its own"),
        (torch.nn.Softmax(-1), "it is not a function with a source of its own"),
        (F.softmax, "it is a library's function, not one that was written here"),
        (soft, "it is a library's function, not one that was written here"),
        (eval("lambda x: x"), "the source of `<lambda>` is not known any more"),
    ],
)
def test_what_cannot_be_kept_is_said(given, says) -> None:
    with pytest.raises(NoTextError) as caught:
        module_source(given, "name")
    assert str(caught.value) == says


@pytest.mark.parametrize(
    "value",
    [
        1, -2.5, "it's\n", b"\0", 1j, None, ..., True, [], (), {}, set(), (1,), [1, [2]], {3},
        (1, 2), {"a": (1, math.inf)}, torch.float16, torch.device("cpu"),
    ],
)  # fmt: skip
def test_values_are_read_back_as_they_were(value) -> None:
    assert eval(literal(value)) == value


def test_tensors_are_read_back_with_their_dtype() -> None:
    read = eval(literal(TABLE))
    assert torch.equal(read, TABLE)
    assert read.dtype == TABLE.dtype
