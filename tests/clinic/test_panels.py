"""The panels hold what they say, and each test of the package judges its own rightly."""

import pytest
import torch

from course_utils import clinic
from course_utils.checking.judge import judge
from course_utils.clinic import PANELS, Implementation, cache_panel
from course_utils.exercises import find

EACH = [(name, one) for name, panel in PANELS.items() for one in panel]


@pytest.mark.parametrize(("name", "one"), EACH, ids=[f"{n}: {o.name}" for n, o in EACH])
def test_each_implementation_is_judged_as_what_it_is(name: str, one: Implementation) -> None:
    test = getattr(clinic, name)
    assert test(one.make()) is one.is_right
    assert test(one.make()) is one.is_right  # twice asked


@pytest.mark.parametrize("name", PANELS)
def test_a_panel_has_at_least_four_right_ways_and_names_of_its_own(name: str) -> None:
    panel = PANELS[name]
    assert sum(one.is_right for one in panel) >= 4
    assert len({one.name for one in panel}) == len(panel)


@pytest.mark.parametrize("name", PANELS)
def test_no_test_moves_the_global_random_state(name: str) -> None:
    before = torch.get_rng_state()
    getattr(clinic, name)(PANELS[name][0].make())
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", PANELS)
def test_an_error_and_a_wrong_kind_of_result_are_refused(name: str) -> None:
    def raising(*args: object) -> None:
        raise ArithmeticError

    test = getattr(clinic, name)
    for wrong in (raising, lambda *args: None, lambda *args: args[0][..., :1], lambda *args: 3):
        assert test(wrong) is False


@pytest.mark.thorough
@pytest.mark.parametrize("name", PANELS)
def test_a_verdict_names_the_implementation_and_whether_it_was_accepted(name: str) -> None:
    fault = next(one.name for one in PANELS[name] if not one.is_right)
    way = next(one.name for one in PANELS[name] if one.is_right)
    assert judge(find(name), lambda f: True).case == f"a fault, to be refused: {fault}"
    assert judge(find(name), lambda f: False).case == f"a right way, to be accepted: {way}"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("exercise", "says"),
    [
        ("accepts_attention", "The test accepted a fault: dropout left on."),
        ("accepts_tiling", "The test accepted a fault: the output not rescaled."),
        ("accepts_cache", "The test accepted a fault: a cache that is not accepted."),
        ("accepts_rotation", "The test accepted a fault: the other direction."),
    ],
)
def test_what_nobody_foresaw_is_told_with_the_implementation_s_name(exercise, says) -> None:
    wanted = says.rpartition(": ")[2].rstrip(".")
    count = iter(range(10**6))
    panel = PANELS[exercise]
    at = next(i for i, one in enumerate(panel) if one.name == wanted)

    def test(implementation: object) -> bool:
        return getattr(clinic, exercise)(implementation) or next(count) == at - right

    right = sum(one.is_right for one in panel)
    report = judge(find(exercise), test)
    assert (report.status, report.says) == ("different", says)


def test_strict_implementations_refuse_what_the_contract_does_not_promise() -> None:
    step = PANELS["accepts_cache"][1].make()
    x = torch.zeros(1, 1, 2, 3, dtype=torch.float64)
    with pytest.raises(TypeError, match="promises another dtype"):
        step(x.float(), x, x, None)
    with pytest.raises(TypeError, match="promises another number of tokens"):
        step(x[:, :, :0], x[:, :, :0], x[:, :, :0], None)
    assert cache_panel.ROOM == 64
