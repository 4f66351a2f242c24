"""Exercise: the loss of a text that is longer than a model reads at once."""

from typing import Any

import torch
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import NOTHING, overwritten, writing
from course_utils.measure import windowed_loss
from torch import Tensor, nn

RIGHT = """
def windowed_loss(model, tokens, window, stride):
    length = len(tokens)
    size = window
    step = stride
    total, judged = 0.0, 1
    starts = range(0, length, step)
    for start in starts:
        end = min(start + size, length)
        part = tokens[start:end]
        batch = part.unsqueeze(0)
        logits = model(batch)[0]
        guesses = logits[:-1]
        target = part[1:]
        logs = guesses.log_softmax(-1)
        right = logs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
        losses = -right
        new = end - judged
        counted = losses[len(losses) - new :]
        amount = counted.sum().item()
        total += amount
        judged = end
        is_over = end == length
        if is_over:
            break
    number = length - 1
    loss = total / number
    return loss
"""
_STATES = 997


class Reader(nn.Module):
    """Logits looked up by a number in which every token read so far left its trace, and its place in the window.

    Attributes:
        window: How many tokens it reads at once.
        weights: The trace of a token at each place of the window.
    """

    def __init__(
        self, generator: torch.Generator, num_words: int, window: int, dtype: torch.dtype, size: float
    ) -> None:
        """Draw the logits of every state, with a standard deviation of `size`."""
        super().__init__()
        table = size * torch.randn(_STATES, num_words, generator=generator, dtype=torch.float64)
        self.table = nn.Parameter(table.to(dtype), requires_grad=False)
        self.window = window
        self.weights = (7 * torch.arange(window) + 11) ** 2

    def forward(self, tokens: Tensor) -> Tensor:
        """Read tokens (B, T); return logits (B, T, V)."""
        if not isinstance(tokens, Tensor) or tokens.dim() != 2 or tokens.is_floating_point():
            raise TypeError("the model reads tokens with the axes (B, T), as integers")
        length, words = tokens.shape[1], self.table.shape[1]
        if not 1 <= length <= self.window:
            raise ValueError(f"the model reads 1 to {self.window} tokens at once, got {length}")
        least, most = tokens.aminmax()
        if least < 0 or most >= words:
            raise IndexError(f"the model knows the tokens 0 to {words - 1}, got others")
        return self.table[((tokens + 3) * self.weights[:length]).cumsum(1) % _STATES]


def _case(
    name: str, length: int, window: int, stride: int, words: int = 11, dtype: torch.dtype = torch.float64,
    size: float = 1.0, absolute: float = 1e-5,
) -> Case:  # fmt: skip
    def make(g: torch.Generator) -> tuple[Any, ...]:
        return Reader(g, words, window, dtype, size), torch.randint(words, (length,), generator=g), window, stride

    return case(f"{name}: {length} tokens, windows of {window}, stride {stride}", make, absolute=absolute)


def _divided(args: tuple[Any, ...], got: float) -> bool:
    """Return whether the sum over all tokens was divided by another whole number."""
    number = windowed_loss(*args) * (len(args[1]) - 1) / got
    return round(number) > 0 and abs(number / round(number) - 1) < 1e-5


def _of_one_window(args: tuple[Any, ...], got: float) -> bool:
    """Return whether this is the loss of a single window."""
    model, tokens, window, stride = args
    parts = (tokens[start : start + window] for start in range(0, len(tokens) - 1, stride))
    return any(abs(windowed_loss(model, part, window, stride) - got) < 1e-6 for part in parts)


_WINDOWS = "number = max(0, -(-(length - size) // step)) + 1"
_MEANS = f"amount = counted.mean().item()\n{_WINDOWS}"
_TALLIED = (
    "tally = []\nstarts = range(0, length, step)\n{}\ntally.append(len(counted))\namount = counted.sum().item()\n"
    "number = max(sum(tally), 1)"
)
_ALL_WINDOWS = """
def windowed_loss(model, tokens, window, stride):
    known = [[] for _ in tokens]
    for start in range(0, len(tokens), stride):
        part = tokens[start : start + window]
        losses = F.cross_entropy(model(part.unsqueeze(0))[0, :-1], part[1:], reduction="none")
        for place, loss in enumerate(losses.double()):
            known[start + 1 + place].append(loss)
        if start + window >= len(tokens):
            break
    return sum(float({}) for one in known[1:]) / (len(tokens) - 1)
"""
_BEYOND = "end = min(start + size + 1, length)\nbatch = part[:-1].unsqueeze(0)\nguesses = logits"
_KEPT = "kept = []\nstarts = range(0, length, step)\nkept.append(counted)\namount = counted.sum().item()\n"
_SIDE_BY_SIDE = "starts = range(0, length, size)\ncounted = losses"
_PADDED = "part = F.pad(tokens[start:end], (0, start + size - end), value={})\nnew = start + size - judged\n"

EXERCISE = exercise(
    windowed_loss,
    right=RIGHT,
    asks="Average the loss of a long text over windows that overlap, each token judged once.",
    minutes=12,
    difficulty=3,
    importance=4,
    cases=(
        _case("three windows", 7, 4, 2),
        _case("four windows", 9, 4, 2),
        _case("the last window full", 12, 6, 3),
        _case("one new token in the last window", 13, 7, 5),
        _case("a text shorter than the window", 5, 8, 3),
        _case("a text as long as the window", 6, 6, 2),
        _case("one token more than the window", 7, 6, 3),
        _case("two tokens", 2, 4, 1),
        _case("the shortest windows", 8, 2, 1),
        _case("each window one token further", 10, 5, 1),
        _case("one token shared", 17, 5, 4),
        _case("much shared", 16, 9, 2, words=5),
        _case("little shared", 22, 9, 7),
        _case("two words", 15, 6, 4, words=2),
        _case("many words", 20, 8, 3, words=200),
        _case("a longer text", 61, 16, 6),
        _case("float32", 30, 8, 3, dtype=torch.float32),
        _case("float32, a text shorter than the window", 6, 9, 4, dtype=torch.float32),
        _case("logits of thousands", 18, 7, 3, size=1000.0, absolute=1e-3),
    ),
    mistakes=(
        NOTHING,
        mistake("unshifted", "Each place is asked for the token that it has just read. Which token does the row of "
                "place 0 predict?", "guesses = logits\ntarget = part",
                "guesses = logits\ntarget = part\nnew = end - judged + (start == 0)",
                "guesses = logits\ntarget = part\nnew = end - judged + (start == 0)\nnumber = length",
                "guesses = logits[1:]\ntarget = part[1:]"),
        mistake("shifted the wrong way", "Each place is asked for the token before it. Which of the two loses its "
                "first place, and which its last?", "guesses = logits[1:]\ntarget = part[:-1]"),
        mistake("the last token predicts the first", "The tokens of a window were rolled, so that its last place has a "
                "target: the first token. What comes after the last one?",
                "guesses = logits\ntarget = part.roll(-1)", "guesses = logits\ntarget = part.roll(-1)\n"
                "counted = losses"),
        mistake("window ignored", "The model was given more of the text than a window holds. How many tokens does it "
                "read at once?", "size = length", "part = tokens[:end]", "part = tokens[start:]"),
        mistake("one token too many for the model", "The model was given window + 1 tokens, so that the window's last "
                "place has a target too. Its target is in the next window: how many tokens may the model read?",
                "end = min(start + size + 1, length)", "size = window + 1"),
        mistake("the token behind a window judged with it", "A window's last place predicts the token behind it, and "
                "that was counted too, with more context than the windows give it. Which tokens does a window hold?",
                _BEYOND, "step = 1\n" + _BEYOND, _BEYOND + "\ncounted = losses[-step:] if start else losses",
                _BEYOND + "\ncounted = losses[-step:] if start and end < length else losses[len(losses) - new :]"
                "\nnumber = length"),
        mistake("only one window", "Only one window of the text was judged. Where does the next one begin?",
                "starts = [0]", "starts = [0]\nnumber = judged - 1",
                "starts = [max(length - size, 0)]\ncounted = losses\nnumber = min(size, length) - 1",
                matches=_of_one_window),
        mistake("only the last token of each window", "Of each window only the last token was judged. How many of its "
                "tokens are in no earlier window?", "counted = losses[-1:]\nnumber = len(starts[: start // step + 1])"),
        mistake("the rest dropped", "The last tokens were not judged, because they do not fill a window. The last "
                "window may be shorter: it is the first that reaches the end.",
                "starts = range(0, length - size + 1, step)", "starts = range(0, length - size + 1, step)\n"
                "number = max(judged - 1, 1)", "starts = range(0, length - size + 1, step)\ncounted = losses\n"
                "amount = losses.mean().item()\nnumber = max(len(starts), 1)",
                _TALLIED.replace("length, step", "length - size + 1, step").format("counted = losses"),
                _TALLIED.replace("length, step", "length - size + 1, step").format("counted = losses[-step:]"),
                "starts = range(0, max(length - size, 0) + 1, step)",
                "starts = range(0, max(length - size, 0) + 1, step)\nnumber = judged - 1",
                "starts = range(0, max(length - size, 1), step)", "starts = range(0, max(length - size, 1), step)\n"
                "number = judged - 1", "starts = range(0, length - size, step)",
                "starts = range(0, length - size, step)\nnumber = max(judged - 1, 1)"),
        mistake("the last window moved back", "The last window was moved back until it was full, and so its tokens see "
                "more than they should. Windows begin at multiples of the stride.",
                "part = tokens[max(end - size, 0) : end]"),
        mistake("windows side by side", "The windows do not overlap, so that the first token of each has nothing "
                "before it. By how much is each window further than the last?", _SIDE_BY_SIDE,
                _TALLIED.replace("step)\n{}", "size)\ncounted = losses"),
                "tally = []\nstarts = range(0, length, size)\ntally.append(len(losses) > 0)\n"
                "amount = losses.mean().item() if len(losses) else 0.0\nnumber = sum(tally)"),
        mistake("windows as far apart as they can be", "The windows share one token, whatever the stride is. By how "
                "much is each window further than the last?", "step = window - 1"),
        mistake("stride taken for the overlap", "The windows share `stride` tokens. It is the distance between their "
                "beginnings.", "step = window - stride"),
        mistake("stride ignored", "The windows are not `stride` apart. Which argument says how far each begins behind "
                "the one before?", "step = 1", "step = max(window // 2, 1)"),
        mistake("only the new tokens fed", "The model was given the new tokens of a window alone, without those that "
                "it shares with the one before. What are the windows' overlaps for?",
                "part = tokens[judged - 1 : end]"),
        mistake("a shorter window", "The windows have one token less than they may.", "size = window - 1",
                "size = max(window - 1, stride + 1)"),
        mistake("mean of window means", "The means of the windows were averaged: a token of a short window weighs more "
                "than one of a long one. Add up the tokens' losses, and divide once.", _MEANS,
                "counted = losses\n" + _MEANS),
        mistake("means weighted by new tokens", "The mean of each window was multiplied by its number of new tokens, "
                "and the first window counted one too many: its first token has no loss. Over how many tokens is each "
                "of these means taken?",
                "amount = counted.mean().item() * (end - (judged if start else 0))\nnumber = length",
                "amount = counted.mean().item() * (end - (judged if start else 0))",
                "amount = losses.mean().item() * (end - (judged if start else 0))\nnumber = length",
                "amount = losses.mean().item() * (end - judged)",
                "amount = losses.mean().item() * (end - (judged if start else 0))"),
        mistake("means weighted by the windows' lengths", "The mean of each window was weighted by all its tokens, so "
                "that those in two windows count twice. How often does each token count?",
                "tally = []\nstarts = range(0, length, step)\ntally.append(len(part))\n"
                "amount = losses.mean().item() * len(part)\nnumber = sum(tally)"),
        mistake("overlaps counted again", "Tokens that two windows share count twice. In which of them were they "
                "judged already?", "counted = losses", _TALLIED.format("counted = losses"),
                "is_over = False\ncounted = losses", "is_over = False\n" + _TALLIED.format("counted = losses")),
        mistake("windows behind the end counted", "Further windows were judged after one had reached the end of the "
                "text. With no new token, `[-0:]` takes all. Which window is the last?",
                "is_over = False\ncounted = losses[-new:]",
                "is_over = False\n" + _TALLIED.format("counted = losses[-new:]")),
        mistake("the last `stride` of each", "The last `stride` tokens of each window were judged. That is not enough "
                "in the first window, and too many in a short last one. How many tokens are new?",
                "counted = losses[-step:]", _TALLIED.format("counted = losses[-step:]"),
                "counted = losses[-step:] if end < length else losses[len(losses) - new :]",
                _TALLIED.format("counted = losses[-step:] if end < length else losses[len(losses) - new :]"),
                "counted = losses[-step:] if start else losses",
                _TALLIED.format("counted = losses[-step:] if start else losses"),
                "amount = losses[-step:].mean().item()\n" + _WINDOWS),
        mistake("the last window that holds it", "A token was judged in the last window that holds it, where it sees "
                "least. The first one is wanted.", "counted = losses[:step] if end < length else losses"),
        mistake("every window that holds it", "A token in several windows was judged by all of them: by the mean of "
                "its losses there, or by the smallest or largest. The first window that holds it is enough.",
                *map(_ALL_WINDOWS.format, ("torch.tensor(one).mean()", "min(one)", "max(one)"))),
        mistake("one token of each window lost", "One token of each window, or of all but the first, has no loss. The "
                "row before the first new token predicts it: is it still there when the new tokens are cut out?",
                "counted = losses[len(losses) - new + (start > 0) :]",
                "rows = end - (judged if start else 0)\n"
                "amount = F.cross_entropy(logits[-rows:-1], part[-rows + 1 :], reduction='sum').item()",
                _TALLIED.format("counted = losses[len(losses) - new + (start > 0) :]"),
                "counted = losses[len(losses) - new : -1]",
                _TALLIED.format("counted = losses[len(losses) - new : -1]"),
                "counted = losses[len(losses) - new + 1 :]",
                _TALLIED.format("counted = losses[len(losses) - new + 1 :]")),
        mistake("the first tokens of a window", "The new tokens were looked for at the beginning of a window. Its "
                "first tokens are those that it shares with the window before.", "counted = losses[:new]",
                _TALLIED.format("counted = losses[:new]"), "counted = losses[:step] if start else losses",
                _TALLIED.format("counted = losses[:step] if start else losses")),
        mistake("one old token counted again", "Each window but the first counts one token that the one before it had "
                "judged.", "counted = losses[max(len(losses) - new - 1, 0) :]",
                _TALLIED.format("counted = losses[max(len(losses) - new - 1, 0) :]")),
        mistake("the first window left out", "The tokens of the first window have no loss. Only its first token has "
                "none.", "counted = losses[len(losses) - new :] if start else losses[:0]",
                _TALLIED.format("counted = losses[len(losses) - new :] if start else losses[:0]")),
        mistake("padding counted", "The last window was filled up, and what fills it was judged like the text.",
                _PADDED.format(0) + "judged = start + size", _PADDED.format(0) + "judged = start + size\n"
                "number = judged - 1"),
        mistake("divided by N", "The sum is divided by the number of all tokens. How many of them have a loss?",
                "number = length"),
        mistake("sum for mean", "This is the sum over all tokens. By what must it be divided to compare texts of "
                "different lengths?", "number = 1"),
        mistake("divided by another number", "The losses are right, but their sum was divided by a number other than "
                "that of the tokens that have one.", _WINDOWS, "number = window", "number = stride",
                "number = max(length - 2, 1)", "number = length + 1", matches=_divided),
        mistake("perplexity", "This is the exponential of the loss. What is asked for is the mean itself.",
                "return math.exp(loss)", "return 2**loss"),
        mistake("in bits", "The loss is in bits, or in powers of ten. Nats are asked for: which logarithm is that?",
                "return loss / math.log(2)", "return loss / math.log(10)"),
        mistake("the sign", "The loss is negative: it gets smaller as the right token becomes less likely. What is "
                "missing?", "return -loss", "return math.exp(-loss)"),
        mistake("softmax, then log", "Large logits give an infinite loss, NaN or a bound: `exp` became infinite, or a "
                "probability 0, before the logarithm was taken. Which function does both at once?",
                "logs = guesses.softmax(-1).log()", "logs = guesses - guesses.exp().sum(-1, keepdim=True).log()",
                *(f"logs = (guesses.softmax(-1) + {one}).log()" for one in ("1e-9", "1e-12", "1e-10", "1e-8")),
                *(f"logs = guesses.softmax(-1).clamp(min={one}).log()" for one in ("1e-9", "1e-12", "1e-10"))),
        mistake("softmax twice", "A softmax was taken of what is a softmax already. What does torch's cross-entropy do "
                "with the logits it is given?", "logs = guesses.softmax(-1).log_softmax(-1)"),
        mistake("no softmax", "The logit itself was taken as the log of a probability. What makes the probabilities of "
                "a place sum to 1?", "logs = guesses", "logs = F.logsigmoid(guesses)"),
        mistake("the probability itself", "The probability of the right token was averaged, not its logarithm.",
                "logs = guesses.softmax(-1)", "losses = 1 - right.exp()", "losses = right.exp()",
                "losses = right.exp()\nreturn -math.log(loss)", "logs = guesses.softmax(-1)\nreturn -math.log(-loss)"),
        mistake("softmax over another axis", "The probabilities sum to 1 over the places of a window. Which axis holds "
                "the words?", "logs = guesses.log_softmax(0)", "logs = logits.log_softmax(0)[:-1]"),
        mistake("another loss", "Something other than the negative logarithm of the right token's probability was "
                "averaged. What is cross-entropy?", "losses = (guesses.argmax(-1) != target).to(guesses.dtype)",
                "losses = (guesses.argmax(-1) == target).to(guesses.dtype)",
                "losses = torch.special.entr(logs.exp()).sum(-1)", "losses = -logs.amax(-1)",
                "losses = -logs.mean(-1)"),
        overwritten(*writing(windowed_loss, 1),
                    "part = tokens[start:end]\npart[: len(part) - end + (judged if start else 0)] = -100\n"
                    "batch = part.unsqueeze(0)"),
        mistake("rounded", "The loss lost its digits: `round` does that. Give it as it is.", "return round(loss, 2)",
                "return round(loss, 3)", "return round(loss, 4)"),
        mistake("a tensor", "The loss came as a tensor, where Python's `float` is asked for: which call makes one?",
                "return torch.tensor(loss, dtype=torch.float64)", "return torch.tensor(loss)",
                "return torch.tensor([loss])", "return torch.tensor([loss], dtype=torch.float64)",
                "return torch.tensor(loss, dtype=guesses.dtype)"),
        mistake("not one number", "There is a number for each token, or for each window. One is asked for: the mean "
                "over all tokens.", _KEPT + "return torch.cat(kept)", _KEPT + "return torch.cat(kept).tolist()",
                _KEPT + "return [float(one.mean()) for one in kept]",
                _KEPT + "return [float(one.sum()) for one in kept]",
                _KEPT + "return torch.stack([one.mean() for one in kept])", _KEPT + "return kept",
                _KEPT + "return torch.cat(kept).mean(-1, keepdim=True)"),
        mistake("another average", "The losses were not averaged: their median, smallest or largest came back.",
                *(_KEPT + f"loss = float(torch.cat(kept).{how}())" for how in ("median", "min", "max", "std"))),
        mistake("another kind of result", "One number is asked for: the mean loss. What came back?",
                "return [loss]", "return loss, math.exp(min(loss, 700))", "return str(loss)",
                "return {'loss': loss}", "return loss, number", "return total, number", "return f'{loss:.4f}'"),
    ),
    hints=(
        "Draw the tokens in a row, and the windows as brackets below them, each `stride` further than the last. Mark "
        "for every token the first bracket that holds it. Which token has no loss at all?",
        "Remember up to where the tokens have been judged. In each window the new ones are the last of it: the "
        "window's end minus that place.",
        "The row of one place predicts the next token: for k new tokens at the end of a window take the last k + 1 "
        "rows without the very last.",
        "Add up sums, never means, and stop behind the window that reaches the end.",
    ),
)  # fmt: skip
