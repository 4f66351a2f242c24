"""The judge's settings are its own; the session's come back, and so do those that a call leaves."""

import numpy as np
import pytest
import torch

from course_utils.checking.judge import judge
from course_utils.checking.settings import SETTINGS, judging, session
from tests.checking.toy import TOY
from tests.laws.sessions import STATES, all_at_once


@pytest.mark.parametrize("state", [*STATES, "all of them at once"])
def test_the_judge_has_its_own_settings_and_the_session_s_come_back(state: str) -> None:
    fresh = session()
    with STATES.get(state, all_at_once)():
        before = session()
        with judging():
            assert session() == fresh
            assert all(setting.read() == setting.own for setting in SETTINGS)
            assert torch.zeros(2).device.type == "cpu"
        assert session() == before
        assert judge(TOY, lambda x: x + x).passed
        assert session() == before
    assert session() == fresh


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda: torch.set_grad_enabled(False), "torch's gradient mode"),
        (lambda: torch.set_default_device("meta"), "torch's default device"),
        (lambda: torch.set_autocast_enabled("cpu", True), "torch's autocast for cpu"),
        (lambda: torch.use_deterministic_algorithms(True), "torch's deterministic algorithms"),
        (lambda: torch.set_anomaly_enabled(True), "torch's anomaly detection"),
        (lambda: torch.set_float32_matmul_precision("medium"), "precision of matrix products"),
        (lambda: torch.backends.cuda.enable_math_sdp(False), "choice of attention kernels"),
        (lambda: np.seterr(all="raise"), "numpy's handling of floating-point errors"),
    ],
)
def test_a_setting_that_a_call_changes_is_put_back_and_named(change, name) -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        change()
        return (2 * x.cpu()).cpu()

    before = session()
    report = judge(TOY, double)
    assert report.status == "changed_input"
    assert name in report.says
    assert session() == before


def test_a_mode_that_a_call_leaves_entered_is_left() -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        torch.device("meta").__enter__()
        return x + x

    assert "the modes that torch's functions run in" in judge(TOY, double).says
    assert torch.zeros(1).device.type == "cpu"
