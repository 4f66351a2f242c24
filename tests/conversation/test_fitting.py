"""A learner's functions run the released model; what is wrong or too slow is named and left out."""

from functools import wraps

import pytest
import torch

from course_utils.answers.chosen import Chosen, Functions
from course_utils.conversation import fitting
from course_utils.conversation.dialogue import Dialogue, Settings
from course_utils.conversation.fitting import TRIALS, fit
from course_utils.exercises import find
from course_utils.models.released.gguf import gguf_model
from course_utils.models.released.gguf.gguf_file import read_gguf
from tests.models.released.gguf.gguf_files import write_gguf

REFERENCES = {name: find(name).reference for name in TRIALS}
SETTINGS = Settings(temperature=0.5, top_p=0.5, max_tokens=6)


def reply(path, own) -> str:
    """Return what the small model replies when it runs on these functions."""
    model = gguf_model.from_gguf(read_gguf(path), functions=own)
    dialogue = Dialogue(model, Functions(REFERENCES | own), SETTINGS)
    return "".join([*dialogue.reply("the thing"), *dialogue.reply("in the")])


@pytest.mark.parametrize("left_out", ["scaled_dot_product_attention", "grouped_query_attention"])
def test_every_part_is_used_and_the_reply_is_the_same(tmp_path, left_out) -> None:
    path = write_gguf(tmp_path / "small.gguf")
    called = set()

    def counted(name):
        @wraps(REFERENCES[name])
        def own(*given, **named):
            called.add(name)
            return REFERENCES[name](*given, **named)

        return own

    own = {name: counted(name) for name in TRIALS if name != left_out}
    assert reply(path, own) == reply(path, {})
    assert called == own.keys()


def test_right_functions_are_used_and_one_attention_stands_for_the_other() -> None:
    fitted = fit(Chosen(REFERENCES, REFERENCES, {}))
    assert fitted.refused == {}
    assert TRIALS.keys() - fitted.chosen.own.keys() == {"scaled_dot_product_attention"}
    assert next(fitted.lines()) == "All parts are yours."


def mean_of_all(x, gain, eps=1e-6):
    return x * torch.rsqrt(x.square().mean() + eps) * gain


def from_the_start(cache_key, cache_value, length, key, value):
    cache_key[:, :, : key.shape[2]], cache_value[:, :, : value.shape[2]] = key, value
    return length + key.shape[2]


def lost(*given):
    raise KeyError("lost")


@pytest.mark.parametrize(
    ("name", "wrong", "says"),
    [
        ("rms_norm", mean_of_all, "is wrong here (`result"),
        ("append_kv", from_the_start, "is wrong here (`argument 1["),
        ("top_p_filter", lost, "stops with KeyError: 'lost'"),
        ("chat_prompt", lambda messages, system, opened: "", "is wrong here (`result"),
    ],
)
def test_a_wrong_function_is_named_and_the_courses_is_used(name, wrong, says) -> None:
    own = {name: wrong, "causal_mask": REFERENCES["causal_mask"]}
    fitted = fit(Chosen(REFERENCES, own, {}))
    assert fitted.chosen.own.keys() == {"causal_mask"}
    assert [*fitted.refused] == [name]
    (sentence,) = fitted.refused.values()
    assert sentence.startswith(f"Your `{name}` {says}")
    assert sentence.endswith("; the course's is used.")
    assert sentence in [*fitted.lines()]


def test_a_function_that_takes_too_long_is_named(monkeypatch) -> None:
    monkeypatch.setitem(fitting.LONGEST, fitting.STEP, -1.0)
    fitted = fit(Chosen(REFERENCES, {"decode_step": REFERENCES["decode_step"]}, {}))
    assert "`decode_step` is right, but each token would take" in fitted.refused["decode_step"]
    assert fitted.chosen.own == {}
