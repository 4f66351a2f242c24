"""The files of a new exercise can be run at once, and nothing is overwritten."""

import ast
import re

import pytest

from tools.check_exercise import commands, unfinished
from tools.new_exercise import texts


def test_the_stubs_hold_the_reference_s_signature_and_its_right_answer() -> None:
    (file, stub), (source, chapter) = texts("gated_linear_step", "17").items()
    assert file.name == "gated_linear_step.py"
    ast.parse(stub)
    assert "def gated_linear_step(query, key, value, gate, state):" in stub
    assert len(re.findall(r"B=\d, H=\d, d_k=\d, d_v=\d", stub)) == 3
    assert "check_" not in stub
    assert 'step="TODO"' in "".join(texts("adamw_step", "11").values())
    before = source.read_text(encoding="utf-8")
    added = chapter.replace(before[: len(before) // 4], "", 1)
    assert '# %% exercise="gated_linear_step"' in added
    assert chapter.index("### Exercise: TODO") < chapter.index("## Yours")


@pytest.mark.parametrize(
    ("name", "chapter", "message"),
    [
        ("nothing", "03", "nothing must be a public function of one of attention"),
        ("soft_cap", "33", "there is no chapter 33"),
        ("stable_softmax", "03", "stable_softmax.py exists"),
    ],
)
def test_what_cannot_be_begun_is_refused(name: str, chapter: str, message: str) -> None:
    with pytest.raises((LookupError, FileExistsError), match=message):
        texts(name, chapter)


def test_a_finished_exercise_is_handed_to_every_tool() -> None:
    assert unfinished("stable_softmax") == []
    tools = {command[1]: " ".join(command[2:]) for command in commands("stable_softmax")}
    assert [*tools][-1] == "tools.build_notebooks"
    for tool in ("tools.mutation.misconceptions", "tools.mutation.run", "pytest"):
        assert "stable_softmax" in tools[tool]
