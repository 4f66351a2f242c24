"""A conversation keeps its cache, stops where it should, and says what it cannot do."""

import io

import pytest

import course_utils
from course_utils import model_file
from course_utils.answers import kept
from course_utils.answers.chosen import Chosen, Functions
from course_utils.conversation import notebook, opening, terminal
from course_utils.conversation.dialogue import Dialogue, Settings
from course_utils.conversation.fitting import TRIALS, Fitting
from course_utils.exercises import find
from course_utils.models.released.gguf import gguf_model
from course_utils.models.released.gguf.gguf_file import read_gguf
from tests.models.released.gguf.gguf_files import write_gguf

REFERENCES = {name: find(name).reference for name in TRIALS}
FITTING = Fitting(Chosen(REFERENCES, {}, {}), {})


@pytest.fixture
def path(tmp_path, monkeypatch):
    """Let a small file stand where the released model's would."""
    path = write_gguf(tmp_path / "small.gguf")
    monkeypatch.setenv(model_file.ELSEWHERE, str(path))
    monkeypatch.setattr(model_file, "check_model_file", lambda path: None)
    return path


def opened(path, **settings) -> Dialogue:
    model = gguf_model.from_gguf(read_gguf(path))
    return Dialogue(model, Functions(REFERENCES), Settings(**{"max_tokens": 5, **settings}))


def read_lengths(dialogue, monkeypatch) -> list[int]:
    """Return the list to which the number of tokens of each call will be added."""
    lengths, forward = [], dialogue.model.forward
    monkeypatch.setattr(
        dialogue.model,
        "forward",
        lambda tokens, *given, **how: (
            lengths.append(tokens.shape[1]) or forward(tokens, *given, **how)
        ),
    )
    return lengths


def test_only_what_is_new_is_read_and_the_reply_is_that_of_a_fresh_cache(path, monkeypatch) -> None:
    dialogue, fresh = opened(path, temperature=0.0), opened(path, temperature=0.0)
    lengths = read_lengths(dialogue, monkeypatch)
    first = "".join(dialogue.reply("the thing"))
    prompt = lengths[0]
    second = "".join(dialogue.reply("in"))
    assert len(lengths) == 10
    assert lengths[5] < prompt
    fresh.messages = dialogue.messages[:2]
    assert "".join(fresh.reply("in")) == second
    assert first.endswith(" … [cut off by max_tokens]")


def test_a_reply_ends_at_the_end_token_and_where_it_is_stopped(path, monkeypatch) -> None:
    dialogue = opened(path)
    (end,) = dialogue.tokenizer.encode("<|im_end|>").tolist()
    draws = iter([10, 11, end])
    monkeypatch.setattr(Dialogue, "_drawn", lambda self, logits: next(draws))
    assert len([*dialogue.reply("the")]) == 2
    answers = iter([False, True])
    draws = iter([10, 11, 12])
    assert len([*dialogue.reply("the", lambda: next(answers))]) == 1
    assert [one["role"] for one in dialogue.messages] == ["user", "assistant"] * 2


def test_an_interrupted_call_does_no_harm(path, monkeypatch) -> None:
    dialogue, want = opened(path, temperature=0.0), opened(path, temperature=0.0)
    for one in (dialogue, want):
        list(one.reply("the"))
    last = dialogue.model.layers[1]
    with monkeypatch.context() as patch:
        patch.setattr(last, "forward", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            list(dialogue.reply("thing"))
    del dialogue.messages[2:]
    assert list(dialogue.reply("in the")) == list(want.reply("in the"))


def test_the_context_is_a_limit_that_is_said(path) -> None:
    dialogue = opened(path, context=400, max_tokens=1000)
    assert list(dialogue.reply("the"))[-1] == " … [cut off by context]"
    said = len(dialogue.messages)
    with pytest.raises(ValueError, match=r"must fit in 400 tokens, got \d+ without a reply"):
        list(dialogue.reply("the " * 400))
    assert len(dialogue.messages) == said
    dialogue.begin()
    assert list(dialogue.reply("the"))


def test_draws_begin_anew_with_the_seed(path) -> None:
    dialogue = opened(path, temperature=5.0, top_p=1.0, seed=3)
    first = list(dialogue.reply("the"))
    dialogue.begin()
    assert list(dialogue.reply("the")) == first


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"temperature": -1.0}, "temperature must be at least 0 and finite, got -1.0"),
        ({"top_p": 0.0}, "top_p must be above 0 and at most 1, got 0.0"),
        ({"max_tokens": 0}, "max_tokens must be at least 1, got 0"),
    ],
)
def test_impossible_settings_are_refused(settings, says) -> None:
    with pytest.raises(ValueError, match=says):
        Settings(**settings)


def test_lines_are_answered_and_commands_obeyed(path, capsys, monkeypatch) -> None:
    lines = iter([
        "the thing", "/set temperature 0", "/set temperature warm", "/set warmth 1", "/template",
        "", "/new", "/settings", "/unknown", "/quit",
    ])  # fmt: skip
    dialogue = opened(path)
    terminal.talk(dialogue, FITTING, lambda prompt: next(lines))
    said = capsys.readouterr().out
    assert said.startswith("All parts are the course's.\nrms_norm ")
    assert "model> " in said
    assert "temperature must be of type float, got 'warm'" in said
    assert "the setting must be one of system, temperature, top_p" in said
    assert "<|im_start|>user\nthe thing<|im_end|>\n<|im_start|>assistant\n" in said
    assert dialogue.settings.temperature == 0.0
    assert dialogue.messages == []
    assert said.count("/quit") == 2


def test_an_interrupt_stops_the_reply_and_the_end_of_input_the_conversation(
    path, capsys, monkeypatch
) -> None:
    dialogue = opened(path)

    def stopped(said):
        yield "the"
        raise KeyboardInterrupt

    monkeypatch.setattr(dialogue, "reply", stopped)
    asked = iter(["hello"])

    def ask(prompt):
        for line in asked:
            return line
        raise EOFError

    terminal.talk(dialogue, FITTING, ask)
    assert "model> the … [stopped]\n" in capsys.readouterr().out


def test_the_panel_writes_stops_begins_anew_and_shows_what_the_model_reads(path) -> None:
    panel = notebook.Panel(opened(path, max_tokens=3), FITTING)
    panel.line.value = "<the> thing"
    panel.wait()
    assert "user&gt; &lt;the&gt; thing" in panel.shown.value
    assert panel.line.value == ""
    assert len(panel.dialogue.messages) == 2
    assert "&lt;|im_start|&gt;user" in panel.template.value
    panel.settings["top_p"].value = "2"
    assert "top_p must be above 0" in panel.said.value
    assert panel.settings["top_p"].value == "0.9"
    panel.renew()
    assert panel.dialogue.messages == []
    panel.settings["context"].value = "2"
    panel.renew()
    panel.line.value = "the"
    panel.wait()
    assert "must fit in 2 tokens" in panel.said.value


def test_chat_runs_on_what_was_passed_and_names_it(path, capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("ATTENTION_COURSE_PROGRESS", str(tmp_path / "progress.jsonl"))
    monkeypatch.setattr("sys.stdin", io.StringIO("the\n/quit\n"))
    kept.folder().mkdir()
    norm = "return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * gain"
    text = f"import torch\n\n\ndef rms_norm(x, gain, eps=1e-6):\n    {norm}\n"
    kept.kept_path("rms_norm").write_text(text, encoding="utf-8")
    text = "def stream_text(pieces):\n    return [one.decode(errors='replace') for one in pieces]\n"
    kept.kept_path("stream_text").write_text(text, encoding="utf-8")
    course_utils.chat(Settings(max_tokens=2))
    said = capsys.readouterr().out
    assert said.startswith("1 of 12 parts are yours.\nrms_norm                      yours\n")
    assert "Your `stream_text` is wrong here" in said


def test_without_the_file_it_is_one_sentence(path, capsys) -> None:
    path.unlink()
    opening.chat()
    assert capsys.readouterr().out == f"{model_file.MISSING}\n"
    with pytest.raises(TypeError, match="settings must be a Settings"):
        opening.chat({"temperature": 1.0})
