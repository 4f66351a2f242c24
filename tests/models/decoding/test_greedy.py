import pytest
import torch

from course_utils.exercises.ch10_kv_cache.greedy_decode import Toy
from course_utils.models import greedy_decode


def toy(keeps_one: bool = False) -> Toy:
    return Toy(torch.Generator().manual_seed(3), 11, keeps_one)


def from_scratch(model: Toy, prompt: torch.Tensor, num_tokens: int) -> torch.Tensor:
    """Read the whole text again for every token, one sequence at a time."""
    texts = []
    for text in prompt.tolist():
        for _ in range(num_tokens):
            logits, _ = model(torch.tensor([text]), None)
            text = [*text, int(logits[0, -1].argmax())]
        texts.append(text[prompt.shape[1] :])
    return torch.tensor(texts)


@pytest.mark.parametrize("keeps_one", [False, True])
@pytest.mark.parametrize(("batch", "length", "new"), [(3, 4, 6), (1, 1, 5), (2, 7, 1)])
def test_writes_what_reading_everything_again_would(keeps_one, batch, length, new) -> None:
    prompt = torch.arange(batch * length).view(batch, length) % 11
    got = greedy_decode(toy(keeps_one), prompt, new)
    assert torch.equal(got, from_scratch(toy(), prompt, new))


def test_reads_the_prompt_at_once_and_each_token_once() -> None:
    model = toy()
    greedy_decode(model, torch.tensor([[1, 2, 3], [4, 5, 6]]), 9)
    assert (model.calls, model.fed) == (9, 2 * (3 + 8))


def test_no_token_is_an_empty_text_and_no_call() -> None:
    model = toy()
    got = greedy_decode(model, torch.tensor([[1, 2], [3, 4]]), 0)
    assert got.shape == (2, 0)
    assert got.dtype == torch.long
    assert model.calls == 0


def test_keeps_no_graph() -> None:
    seen = []

    def model(tokens, cache):
        logits = torch.zeros(*tokens.shape, 5, requires_grad=True) * 2
        seen.append(logits.requires_grad)
        return logits, cache

    greedy_decode(model, torch.tensor([[1]]), 2)
    assert seen == [False, False]


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(ValueError, match="prompt needs at least one token"):
        greedy_decode(toy(), torch.zeros(2, 0).long(), 1)
