"""Right answers to the exercise of chapter 10 that writes a text, in other styles."""

import torch
from torch import nn

# greedy_decode


def greedy_with_a_table(model, prompt, num_tokens):
    out = torch.empty(prompt.shape[0], num_tokens, dtype=torch.long)
    step, cache = prompt, None
    for i in range(num_tokens):
        logits, cache = model(step, cache)
        out[:, i] = logits[:, -1].argmax(dim=-1)
        step = out[:, i : i + 1]
    return out


def greedy_token_by_token(model, prompt, num_tokens):
    """The prompt is read one token at a time, and the last new token too."""
    cache, written = None, []
    for token in prompt.split(1, dim=1):
        logits, cache = model(token, cache)
    for _ in range(num_tokens):
        token = logits[:, -1].topk(1).indices
        written.append(token)
        logits, cache = model(token, cache)
    return torch.cat([prompt[:, :0], *written], dim=-1)


def greedy_prompt_in_two_pieces(model, prompt, num_tokens):
    cache = None
    if prompt.shape[1] > 1:
        _, cache = model(prompt[:, :-1], cache)
    text = prompt
    for _ in range(num_tokens):
        logits, cache = model(text[:, -1:], cache)
        text = torch.cat((text, logits[:, -1].max(-1, keepdim=True).indices), dim=1)
    return text[:, prompt.shape[1] :]


@torch.no_grad()
def greedy_by_softmax(model, prompt, n):
    if n == 0:
        return torch.zeros((len(prompt), 0), dtype=torch.long)
    logits, cache = model(prompt, None)
    new = [logits.log_softmax(-1)[:, -1].argmax(-1)]
    while len(new) < n:
        logits, cache = model(new[-1].unsqueeze(1), cache)
        new.append(logits.softmax(-1)[:, -1].argmax(-1))
    return torch.stack(new, dim=1)


def greedy_by_recursion(model, prompt, num_tokens, cache=None):
    if num_tokens == 0:
        return prompt.new_zeros(prompt.shape[0], 0)
    logits, cache = model(prompt, cache)
    new = torch.argmax(logits[:, -1, :], -1)[:, None]
    return torch.hstack([new, greedy_by_recursion(model, new, num_tokens - 1, cache)])


def greedy_sequence_by_sequence(model, prompt, num_tokens):
    rows = []
    for text in prompt.split(1):
        cache, row, new = None, [text[:, :0]], text
        for _ in range(num_tokens):
            logits, cache = model(new, cache)
            new = logits[:, -1:].argmax(-1)
            row.append(new)
        rows.append(torch.cat(row, dim=1))
    return torch.cat(rows)


class Writer(nn.Module):
    def forward(self, model, prompt, num_tokens):
        tokens, cache, rows = prompt, None, []
        for _ in range(num_tokens):
            logits, cache = model(tokens, cache)
            rows.append([int(row.argmax()) for row in logits[:, -1]])
            tokens = torch.tensor(rows[-1]).view(-1, 1)
        return torch.tensor(rows, dtype=torch.long).view(num_tokens, len(prompt)).T


greedy_module = Writer()
greedy_module.__name__ = "greedy_module"


RIGHT_WAYS_WRITING = {
    "greedy_decode": (
        greedy_with_a_table,
        greedy_token_by_token,
        greedy_prompt_in_two_pieces,
        greedy_by_softmax,
        greedy_by_recursion,
        greedy_sequence_by_sequence,
        greedy_module,
    ),
}
