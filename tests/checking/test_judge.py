import functools
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from course_utils.checking.judge import judge
from course_utils.checking.report import NotPassedError, Report
from course_utils.exercises import find
from tests.checking.toy import TOY, double


def verdict(answer: object) -> Report:
    return judge(TOY, answer)


@pytest.mark.parametrize(
    "answer",
    [
        double,
        lambda x: x + x,
        functools.partial(torch.mul, 2),
        lambda x: x * 2.0,
        lambda anything: (anything.mT.contiguous().mT if anything.dim() > 1 else anything) * 2,
    ],
)
def test_right_answers_pass(answer) -> None:
    assert verdict(answer).passed


def test_a_passed_report_can_be_required_and_another_cannot() -> None:
    verdict(double).require()
    with pytest.raises(NotPassedError, match="It was squared"):
        verdict(lambda x: x * x).require()


@pytest.mark.parametrize("answer", [None, ..., lambda x: None, lambda x: ...])
def test_nothing_yet_is_not_attempted(answer) -> None:
    assert verdict(answer).status == "not_attempted"


def test_a_stub_that_raises_is_not_attempted() -> None:
    def double(x):
        raise NotImplementedError

    assert verdict(double).status == "not_attempted"


def test_a_missing_case_is_no_missing_attempt() -> None:
    def half_done(x):
        if x.dim() > 1:
            raise NotImplementedError("tables")
        return 2 * x

    report = verdict(half_done)
    assert report.status == "crashed"
    assert report.case == "a table"
    assert "For this input" in report.says


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (lambda x: [2.0, 3.0], "wrong_type", "got a list of 2"),
        (lambda x: (2 * x).numpy(), "wrong_type", "numpy.ndarray"),
        (lambda x: np.float64(3.0), "wrong_type", "numpy.float64"),
        (lambda x: print("x"), "wrong_type", "Is a `return` missing"),
        (lambda x: (2 * x).half(), "wrong_type", "must keep the dtype torch.float64"),
        (lambda x: (2 * x).to_sparse(), "wrong_type", "ordinary dense tensor"),
        (lambda x: (x for _ in "ab"), "wrong_type", "got a generator"),
        (lambda x: 2 * x[:1], "wrong_shape", "must have the shape (3,), got (1,)"),
        (torch.ones(3), "wrong_type", "needs the function itself"),
        (lambda x, y: 2 * x, "crashed", "signature `double(x)`"),
        (lambda x: x @ torch.ones(9), "crashed", "The arguments were x (3,)"),
        (lambda x: 1 / 0, "crashed", "ZeroDivisionError"),
        (lambda x: x.mul_(2), "changed_input", "its input `x`"),
        (lambda x: 2 * x.detach(), "no_gradient", "no gradient can flow"),
        (lambda x: 2 * x + 1e-3, "different", "Every value is off by the same 0.001"),
        (lambda x: 2.5 * x, "different", "Every value is 1.25 times what was expected"),
        (lambda x: -2 * x, "broken_property", "A sign was lost. The law: signs stay."),
        (lambda x: x * x, "misconception", "It was squared"),
        (lambda x: 2 * x + 0 * x.softmax(-1), "misconception", "Why softmax?"),
    ],
)
def test_each_kind_of_mistake_has_its_verdict(answer, status, words) -> None:
    report = verdict(answer)
    assert report.status == status
    assert words in report.says
    assert not report.passed


def test_a_wrong_gradient_is_named_too() -> None:
    report = verdict(lambda x: 2 * x.detach() + 0 * x)
    assert (report.status, report.misconception) == ("misconception", "cut off")
    report = verdict(lambda x: 2 * x.detach() + (x - x.detach()))
    assert report.status == "no_gradient"
    assert "Every value is 0.5 times" in report.says


def test_an_answer_that_fails_only_where_a_gradient_is_asked_for_gets_a_verdict() -> None:
    def softmax_repaired_in_place(scores):
        weights = torch.softmax(scores, dim=-1)
        weights[weights.isnan()] = 0.0
        return weights

    report = judge(find("stable_softmax"), softmax_repaired_in_place)
    assert report.status == "no_gradient"
    assert "inplace operation" in report.says


def test_of_two_mistakes_that_look_alike_the_one_that_fits_everywhere_is_named() -> None:
    assert verdict(lambda x: x.view(3) * 2 if x.dim() == 1 else 3 * x).misconception in (
        "the first case only",
        "triple by chance",
    )


def test_a_right_value_by_too_dear_a_way_is_too_costly() -> None:
    def through_all_pairs(x):
        pairs = x.unsqueeze(-1) * torch.ones_like(x).unsqueeze(-2)
        return 2 * pairs.mean(-1)

    report = verdict(through_all_pairs)
    assert report.status == "too_costly"
    assert "grows from 4,096 at size 64 to 65,536 at size 256" in report.says


def endless(x):
    while True:
        x = x + 0


def endless_and_deaf(x):
    while True:
        try:  # noqa: SIM105
            x = x + 0
        except:  # noqa: E722
            pass


@pytest.mark.parametrize("answer", [endless, endless_and_deaf, lambda x: time.sleep(1000)])
def test_an_endless_answer_is_stopped_and_said(answer, monkeypatch) -> None:
    monkeypatch.setattr("course_utils.checking.judge.SECONDS", 0.3)
    report = verdict(answer)
    assert report.status == "crashed"
    assert "did not come to an end" in report.says


def test_an_endless_answer_is_stopped_outside_the_main_thread_too(monkeypatch) -> None:
    monkeypatch.setattr("course_utils.checking.judge.SECONDS", 0.3)
    found: list[Report] = []
    thread = threading.Thread(target=lambda: found.append(verdict(endless_and_deaf)), daemon=True)
    thread.start()
    thread.join(60)
    assert "did not come to an end" in found[0].says


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        (lambda x: x * x + 1, ("squared", "one too many")),
        (lambda x: x * x + 2, ()),
        # The first case does not tell which of the two was meant: what they share is said.
        (lambda x: x * x if x.dim() == 1 else x * x + 7, ("squared",)),
    ],
)
def test_two_mistakes_at_once_are_named(answer, names) -> None:
    assert verdict(answer).misconceptions == names


def test_each_case_is_run_once() -> None:
    seen: list[tuple[int, ...]] = []

    def counting(x):
        seen.append(tuple(x.shape))
        return x * x + 2 + len(seen)

    assert not verdict(counting).passed
    assert sorted(set(seen)) == sorted(seen)


def test_sys_exit_is_caught_and_said() -> None:
    report = verdict(lambda x: exit(3))
    assert report.status == "crashed"
    assert "sys.exit" in report.says


def test_megabytes_of_output_are_held_back_and_counted(capsys) -> None:
    report = verdict(lambda x: (print("spam " * 10**6), 2 * x)[1])
    assert report.passed
    assert "printed 5,000,001 characters" in str(report.note)
    assert capsys.readouterr().out == ""


def test_a_little_output_is_shown_with_the_verdict() -> None:
    report = verdict(lambda x: (print("shape", tuple(x.shape)), 3 * x)[1])
    assert report.note == "The call printed: shape (3,)"


def replace_softmax(x):
    torch.softmax = None
    return 2 * x


def replace_method(x):
    torch.Tensor.softmax = lambda *args: None
    return 2 * x


def replace_functional(x):
    F.softmax = len
    return 2 * x


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (replace_softmax, "torch.softmax"),
        (replace_method, "torch.Tensor.softmax"),
        (replace_functional, "torch.nn.functional.softmax"),
        (lambda x: (torch.set_default_dtype(torch.float64), 2 * x)[1], "torch's default dtype"),
    ],
)
def test_what_an_answer_replaces_is_put_back_and_named(answer, name) -> None:
    before = (torch.softmax, torch.Tensor.softmax, F.softmax, torch.get_default_dtype())
    report = verdict(answer)
    assert report.status == "changed_input"
    assert name in report.says
    assert before == (torch.softmax, torch.Tensor.softmax, F.softmax, torch.get_default_dtype())


def test_a_list_that_an_answer_empties_is_a_changed_input() -> None:
    exercise = find("accumulated_gradient")

    def emptying(loss, parameters, micro_batches):
        found = exercise.reference(loss, parameters, micro_batches)
        micro_batches.clear()
        return found

    report = judge(exercise, emptying)
    assert report.status == "changed_input"
    assert "`micro_batches`" in report.says


ODD_TENSORS = (
    lambda x: torch.empty(x.shape, dtype=x.dtype, device="meta"),
    lambda x: x.to_sparse(),
    lambda x: torch.quantize_per_tensor(x.float(), 0.1, 0, torch.qint8),
    lambda x: torch.nested.as_nested_tensor([x.flatten(), x.flatten()]),
    lambda x: x + 0j,
    lambda x: torch.tensor(0.5, dtype=x.dtype),
)


@pytest.mark.parametrize("name", ["stable_softmax", "attention_weights"])
@pytest.mark.parametrize("odd", ODD_TENSORS)
def test_odd_tensors_get_a_verdict_and_no_error(name, odd) -> None:
    report = judge(find(name), lambda x, *rest: odd(x))
    assert report.status in ("wrong_type", "wrong_shape")


@pytest.mark.thorough
def test_what_torch_wraps_itself_on_a_late_import_is_no_change_of_the_answer_s() -> None:
    # In a fresh process: counting FLOPs imports torch._dynamo, which wraps torch.manual_seed.
    code = """
import torch
from course_utils.checking.isolation import GlobalState
world, before = GlobalState(), torch.manual_seed
import torch._dynamo
assert torch.manual_seed is not before
print(world.restore())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "((), False)\n", done.stderr


def test_a_seed_set_inside_is_put_back_and_harms_no_right_answer() -> None:
    def seeded(scores):
        torch.manual_seed(3)
        empty = (scores == -torch.inf).all(-1, keepdim=True)
        return torch.softmax(scores.masked_fill(empty, 0.0), -1).masked_fill(empty, 0.0)

    before = torch.get_rng_state()
    assert judge(find("stable_softmax"), seeded).passed
    assert torch.equal(before, torch.get_rng_state())


def test_random_numbers_and_grad_mode_outside_stay_as_they_were() -> None:
    state, np_state = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002

    def noisy(x):
        torch.manual_seed(1)
        np.random.seed(2)  # noqa: NPY002
        torch.set_grad_enabled(False)
        return 2 * x + torch.rand(1)

    verdict(noisy)
    assert torch.equal(state, torch.get_rng_state())
    assert (np_state == np.random.get_state()[1]).all()  # noqa: NPY002
    assert torch.is_grad_enabled()


def test_an_exception_without_words_is_survived() -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def odd(x):
        raise Odd

    assert "cannot be shown" in verdict(odd).says


@pytest.mark.parametrize("error", [MemoryError, RecursionError, GeneratorExit, BaseException])
def test_any_exception_becomes_a_verdict(error) -> None:
    def raising(x):
        raise error("no")

    assert verdict(raising).status == "crashed"


def test_a_user_s_own_interrupt_goes_through() -> None:
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verdict(interrupted)
