"""Exercise: keep a few beginnings of a text alive, and find a likelier one than greedy decoding."""

from typing import Any

import torch
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, given
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import NOTHING
from course_utils.models import beam_search
from torch import Tensor

RIGHT = """
def beam_search(step, start, end, width, max_length, alpha=0.0):
    alive, done = [([start], 0.0)], []
    rounds = max_length
    for _ in range(rounds):
        texts = torch.tensor([tokens for tokens, _ in alive])
        sofar = torch.tensor([[total] for _, total in alive], dtype=torch.float64)
        log_p = step(texts).double()
        sums = sofar + log_p
        places = width - len(done)
        flat = sums.flatten()
        best, index = flat.topk(min(places, len(flat)))
        grown = []
        for rank, (total, at) in enumerate(zip(best.tolist(), index.tolist())):
            parent = at // sums.shape[1]
            token = at % sums.shape[1]
            text = [*alive[parent][0], token]
            is_possible = total > -math.inf
            grown += [(text, total)] * is_possible
        ended = [one for one in grown if one[0][-1] == end]
        done = done + ended
        alive = [one for one in grown if one[0][-1] != end]
        is_over = not alive
        if is_over:
            break
    pool = done + alive
    scored = []
    for tokens, total in pool:
        length = len(tokens) - 1
        power = length**alpha
        quotient = total / power
        scored.append((quotient, tokens))
    score, tokens = max(scored)
    written = tokens[1:]
    return written, score
"""


class Language:
    """A toy that knows log-probabilities for every text: after each, they come from a table of its own.

    Attributes:
        start: The token that every text begins with.
        end: The token that finishes one.
        table: The rows of log-probabilities.
    """

    def __init__(
        self, seed: int, num_words: int, marks: tuple[int, int] = (1, 0), spread: float = 1.0, hidden: int = 0,
        wanted: float = 0.0, dtype: torch.dtype = torch.float64,
    ) -> None:  # fmt: skip
        """Draw the table.

        Args:
            seed: For the table.
            num_words: How many words there are, marks included.
            marks: The start and the end.
            spread: How different the probabilities are.
            hidden: How many words are impossible after each text.
            wanted: Is added to the logit of the end.
            dtype: Of the rows.
        """
        self.start, self.end = marks
        generator = torch.Generator().manual_seed(seed)
        logits = spread * torch.randn(499, num_words, generator=generator, dtype=torch.float64)
        logits[:, self.end] += wanted
        if hidden:
            least = torch.rand(logits.shape, generator=generator).argsort(-1) < hidden
            logits = logits.masked_fill(least, -torch.inf)
        self.table = logits.log_softmax(-1).to(dtype)

    def __call__(self, prefixes: Tensor) -> Tensor:
        """Return a row (num_words) for each text so far (n, t)."""
        if not isinstance(prefixes, Tensor) or prefixes.dim() != 2 or prefixes.dtype not in (torch.int64, torch.int32):
            raise TypeError("step takes the texts so far as one tensor of whole numbers, of shape (n, t)")
        if not prefixes.shape[1] or bool((prefixes[:, 0] != self.start).any()):
            raise ValueError("each row that step is given begins with `start`, and holds all that was written since")
        state = torch.full((len(prefixes),), 5)
        for place, token in enumerate(prefixes.unbind(1)):
            state = (state * 31 + (token + 3) * (7 * place + 11)) % len(self.table)
        return self.table[state]


def _made(seed: int, num_words: int, width: int, max_length: int, alpha: float | None = None, **how: Any) -> Make:
    """Make a language, its marks, and the sizes of the beam."""
    language, rest = Language(seed, num_words, **how), () if alpha is None else (alpha,)
    return given(language, language.start, language.end, width, max_length, *rest)


_PER_HYPOTHESIS = """
flat = sums.flatten()
each, tokens = sums.topk(min(max(places // len(sums), 1), sums.shape[1]))
index = (tokens + torch.arange(len(sums)).unsqueeze(-1) * sums.shape[1]).flatten()
best, index = flat[index], index
"""
_CUT_EACH = """
least = sums.topk(min(max(width // len(sums), 1), sums.shape[1])).values[:, -1:]
flat = sums.masked_fill(sums < least, -torch.inf).flatten()
"""
_GROWING = """
flat = sums.flatten()
each, tokens = sums.topk(min(width, sums.shape[1]))
index = (tokens + torch.arange(len(sums)).unsqueeze(-1) * sums.shape[1]).flatten()
best, index = flat[index], index
"""
_DEFAULT = """
def beam_search(step, start, end, width, max_length, alpha={}):
    return EXERCISE.recipe.function()(step, start, end, width, max_length, alpha)
"""
# The best finished text against the best unfinished one, each measured so.
_LEADS = (
    "worth = lambda one: {}\n"
    "is_over = not alive or bool(done) and max(map(worth, done)) {} max(map(worth, alive))"
)
_SUM, _QUOTIENT = "one[1]", "one[1] / (len(one[0]) - 1) ** alpha"

_PUSHED_OUT = """
def beam_search(step, start, end, width, max_length, alpha=0.0):
    beam = [([start], 0.0)]
    for _ in range(max_length):
        grown = [one for one in beam if one[0][1:] and one[0][-1] == end]
        alive = [one for one in beam if one not in grown]
        if not alive:
            break
        rows = step(torch.tensor([tokens for tokens, _ in alive])).tolist()
        for (tokens, total), row in zip(alive, rows):
            grown += [([*tokens, token], total + log_p) for token, log_p in enumerate(row) if log_p > -math.inf]
        beam = sorted(grown, key=lambda one: -one[1])[:width]
    scored = [(total / (len(tokens) - 1) ** alpha, tokens[1:]) for tokens, total in beam]
    return max(scored)[1], max(scored)[0]
"""



def _asked_again(fn: Function, step: Language, start: int, end: int, *rest: Any) -> bool:
    """Return whether `step` is asked for a text that has ended."""
    asked = []

    def watched(prefixes: Tensor) -> Tensor:
        rows = step(prefixes)
        asked.append(bool((prefixes[:, 1:] == end).any()))
        return rows

    fn(watched, start, end, *rest)
    return any(asked)


# The seeds are those of toys on which the mistakes below come to other texts.
CASES = (
    case("3 words, 2 places, 3 rounds", _made(21, 3, 2, 3)),
    case("one place: greedy", _made(6, 4, 1, 5, wanted=0.3)),
    case("4 words, 2 places, 5 rounds", _made(46, 4, 2, 5, wanted=1.0)),
    case("alpha=1", _made(51, 5, 3, 4, 1.0, wanted=1.0)),
    case("alpha=0.5", _made(10, 4, 3, 6, 0.5, wanted=0.5)),
    case("alpha=1.5: long texts are preferred", _made(0, 4, 2, 6, 1.5)),
    case("alpha=1, 3 places, 6 rounds", _made(17, 5, 3, 6, 1.0, wanted=0.5)),
    case("more places than words", _made(48, 3, 7, 3)),
    case("places for all texts", _made(14, 4, 30, 3, 2.0)),
    case("one round", _made(1, 5, 4, 1)),
    case("most tokens impossible, alpha=1", _made(47, 6, 3, 4, 1.0, hidden=4)),
    case("fewer possible tokens than places", _made(11, 5, 4, 4, hidden=3)),
    case("fewer possible tokens than places, again", _made(126, 5, 4, 4, hidden=3)),
    case("steep probabilities, alpha=0.7", _made(8, 6, 4, 5, 0.7, spread=2.0, wanted=0.7)),
    case("texts that end early", _made(13, 5, 3, 7, wanted=2.0)),
    case("alpha=-1: short texts are preferred", _made(52, 4, 2, 4, -1.0)),
    case("a finished text among likelier beginnings", _made(46, 4, 3, 4, wanted=0.5)),
    case("a finished text among likelier beginnings, alpha=-1", _made(9, 4, 3, 5, -1.0)),
    case("other numbers for start and end", _made(5, 6, 3, 5, 1.0, marks=(2, 4), wanted=1.0)),
    case("float32", _made(3, 5, 3, 4, 1.0, dtype=torch.float32), tolerance=1e-5),
    case("which texts `step` is asked for", _made(13, 5, 3, 7, wanted=2.0), run=_asked_again,
         says="`step` was asked for a text that has ended. In a real model each row costs a pass through all layers."),
)

EXERCISE = exercise(
    beam_search,
    right=RIGHT,
    asks="Search for the likeliest text with a beam of `width` places.",
    minutes=30,
    difficulty=4,
    importance=3,
    cases=CASES,
    mistakes=(
        mistake("a beam of copies of the start", "However many places there are, one text was followed, the greedy "
                "one. Either a single place was used, or all of them held copies of the start, which go the same way: "
                "how many different texts are there before the first round?",
                "alive, done = [([start], 0.0)] * width, []", "places = 1"),
        mistake("the parent ignored", "A kept token was appended to a hypothesis other than the one it continues. "
                "Which hypothesis does a place in the flat list belong to?",
                "parent = 0", "parent = min(rank, len(alive) - 1)", "parent = -1"),
        mistake("token and parent exchanged", "A place in the flat list was divided by the wrong number, or quotient "
                "and remainder were exchanged. How many candidates does each hypothesis have?",
                "parent = at % len(alive)\ntoken = at // len(alive)"),
        mistake("the best of each hypothesis kept", "Every hypothesis kept a continuation of its own. Two of a good "
                "one may be better than the best of a poor one: among which candidates is the choice made?",
                _PER_HYPOTHESIS, _CUT_EACH),
        mistake("one place too many or too few", "The beam is wider or narrower than `width` by one place.",
                "places = width - len(done) + 1", "places = max(width - 1, 1) - len(done)\nif not places:\n    break\n"
                "flat = sums.flatten()"),
        mistake("the places of finished hypotheses filled again", "A finished hypothesis lost its place in the beam, "
                "and another took it. That is one of two rules, and the one that Hugging Face uses; here it keeps its "
                "place. "
                "How many places are left for the unfinished?", "places = width",
                "places = width\nis_over = not alive or len(done) >= width"),
        mistake("a finished hypothesis pushed out", "Finished texts compete with the unfinished ones in every round, "
                "and were pushed out of the beam by likelier beginnings. From there on, a beginning can only lose. "
                "What should happen to a finished text's place?", _PUSHED_OUT),
        mistake("every hypothesis kept", "The beam grows from round to round: nothing was pruned, or each hypothesis "
                "kept `width` continuations of its own. How many texts does a round keep in all?",
                "places = sums.numel()",
                _GROWING),
        mistake("more candidates asked for than there are", "There are more places than candidates, as in the first "
                "round with few words. How many can be kept then?", "best, index = flat.topk(places)",
                "best, index = flat.topk(width)"),
        mistake("stopped when the best text had ended", "The search stopped as soon as the best text so far had ended. "
                "A longer one has a smaller sum, but not always a smaller quotient. What ends the search?",
                *(_LEADS.format(worth, sign) for worth in (_SUM, _QUOTIENT) for sign in (">=", ">")),
                "is_over = not alive or bool(grown) and grown[0][0][-1] == end",
                "worth = lambda one: one[1] / (len(one[0]) - 1) ** alpha\n"
                "is_over = not alive or bool(done) and max(map(worth, done)) >= max(map(worth, alive))\n"
                "pool = done or alive"),
        mistake("stopped when as many had ended as there are places", "The search stopped, or went on, by the number "
                "of finished texts. What else can be unfinished then?",
                "is_over = len(done) >= max(width - 1, 1)"),
        mistake("the first finished hypothesis returned", "The first text that ended was returned. A longer one may "
                "overtake it. What ends the search, and which of the texts wins?",
                "is_over = not alive or bool(done)\npool = done or alive",
                "is_over = not alive or bool(done)", "pool = done[:1] or alive"),
        mistake("step asked for what has ended", "`step` was given texts that have ended, and its answer thrown away; "
                "or, when all had ended, no text at all. Which texts need a next word?",
                "old = [[*tokens, *texts.shape[1] * [end]][: texts.shape[1]] for tokens, _ in done]\n"
                "log_p = step(torch.tensor([*texts.tolist(), *old])).double()[: len(texts)]", "is_over = False"),
        mistake("finished hypotheses extended", "A text that had ended was continued. What does `end` mean for it?",
                "alive = grown\ndone = []", "alive = grown", "ended = []\nalive = grown"),
        mistake("finished hypotheses forgotten", "A text that ended before the last round is lost. Where are finished "
                "ones kept?", "done = ended", "pool = alive or done", "done = ended or done"),
        mistake("cut-off hypotheses dropped", "A text that had not ended when the rounds were over was dropped "
                "although it was the best. Among which texts is the winner chosen?", "pool = done or alive"),
        mistake("the start counted in the length", "The length counts the start, which nobody wrote.",
                "length = len(tokens)"),
        mistake("the end not counted in the length", "The length leaves out the end, which has its probability too.",
                "length = len(tokens) - 1 - (tokens[-1] == end) or 1",
                "length = max(len(tokens) - 2, 1)"),
        mistake("alpha ignored", "With a different alpha the result stays the same. Where does the length come in?",
                "power = 1.0", "power = length"),
        mistake("alpha used another way", "The sum is not divided by length^alpha. Sums are negative: which way should "
                "length push them?", "power = length**-alpha", "power = length * alpha or 1",
                "power = 1 + alpha * length",
                "power = ((5 + length) / 6) ** alpha", "power = alpha**length or 1", "power = length ** (1 - alpha)",
                "power = math.exp(-alpha * length)", "quotient = total + alpha * length",
                "quotient = total - alpha * length"),
        mistake("the winner chosen by its sum", "The score is divided by the length, but the winner was chosen before "
                "that, by its sum.",
                "score, tokens = max(scored, key=lambda one: one[0] * (len(one[1]) - 1) ** alpha)"),
        mistake("one length for all", "All sums were divided by the same length. How long is each text?",
                "length = max_length", "length = max(len(one[0]) - 1 for one in pool)"),
        mistake("another default than 0", "Without an argument the sums are divided by something. What does the "
                "signature say?", *(_DEFAULT.format(n) for n in (0.6, 0.7, 1.0, 0.75, 0.5))),
        mistake("the sign", "The score came back with the other sign. Is the logarithm of a probability positive?",
                "return written, -score"),
        mistake("normalised again", "The logarithms were normalised once more, over the whole table or over what was "
                "kept. Whose probabilities sum to 1 in what `step` returns?",
                "log_p = step(texts).double().flatten().log_softmax(0).view(len(texts), -1)",
                "sums = (sofar + log_p).flatten().log_softmax(0).view(len(texts), -1)"),
        mistake("only a part of the text shown to step", "`step` was not shown the whole text: it got the last token "
                "alone, or the text without its start. What does the next word depend on?",
                "texts = torch.tensor([tokens[-1:] for tokens, _ in alive])",
                "texts = torch.tensor([tokens[1:] or [start] for tokens, _ in alive])",
                "texts = torch.tensor([tokens[:1] for tokens, _ in alive])",
                "texts = torch.tensor([tokens[:1] + tokens[-1:] if tokens[1:] else tokens for tokens, _ in alive])"),
        mistake("the end taken for granted", "`end` is not always the same number. Which argument says what it is?",
                *(f"end = {n}\nalive, done = [([start], 0.0)], []" for n in range(4))),
        mistake("the sum returned instead of the score", "The right text, but its score is not divided.",
                "return written, score * (len(tokens) - 1) ** alpha"),
        mistake("probabilities instead of their logarithms", "Logarithms were treated as probabilities, or the other "
                "way round: `step` returns logarithms. What becomes of a product under a logarithm?",
                "log_p = step(texts).double().exp()", "log_p = step(texts).double().exp()\nsums = sofar * log_p",
                "alive, done = [([start], 1.0)], []\nlog_p = step(texts).double().exp()\nsums = sofar * log_p",
                "sums = sofar * log_p", "log_p = step(texts).double().log_softmax(-1).exp().log().exp().log1p()",
                "return written, math.exp(score)"),
        mistake("only the last token's probability", "A hypothesis was judged by its last token alone. Where does what "
                "came before go?", "sums = log_p"),
        mistake("the impossible kept", "A candidate of probability 0 was kept and took a place, or won.",
                "is_possible = True",
                "is_possible = True\nbest, index = flat.sort(descending=True, stable=True)\n"
                "best, index = best[:places], index[:places]"),
        mistake("the start returned", "The start is part of the result. Which tokens were written?",
                "written = tokens"),
        mistake("tensors for numbers", "The tokens, or the score, came as tensors. A list of Python's whole numbers "
                "and a float are asked for: which calls make them?", "return torch.tensor(written), score",
                "return [torch.tensor(token) for token in written], score",
                "return written, torch.tensor(score, dtype=torch.float64)", "return written, torch.tensor(score)",
                "return torch.tensor([written]), score", "return torch.tensor(written), torch.tensor(score)"),
        mistake("other results than these two",
                "The text comes first, then its score, and nothing else. What came back?",
                "return score, written", "return written", "return score, tokens", "return [written], [score]",
                "return tokens", "return score", "return [(written, score)]",
                "return [one[0][1:] for one in pool], [one[0] for one in scored]"),
        NOTHING,
        mistake("the end left out", "A text that ended comes back without its `end`.",
                "written = [token for token in tokens[1:] if token != end]"),
        mistake("another number of rounds", "The text may have `max_length` tokens, `end` among them.",
                "rounds = max_length - 1", "rounds = max_length + 1"),
        mistake("the worst kept", "The smallest sums were kept, or the smallest score returned.",
                "best, index = flat.topk(min(places, len(flat)), largest=False)",
                "score, tokens = min(scored)"),
        mistake("drawn instead of searched", "Tokens were drawn at random. A beam keeps the best.",
                "index = flat.exp().multinomial(min(places, len(flat)))\nbest, index = flat[index], index",
                detects=lambda trace: trace.used_global_random, even_if_right=False),
    ),
    hints=(
        "A hypothesis is a list of tokens and a sum. What does the beam hold before the first round?",
        "One round: all unfinished texts to `step`, each sum added to its row, and the best of the flattened table. "
        "From a place in it, quotient and remainder by V tell whose row it was and which token.",
        "Sort what was kept: what ends with `end` goes to the finished, takes one place for good, and is never "
        "given to `step` again.",
        "At the end all that the beam holds compete, finished or not: sum / length^alpha, without the start.",
    ),
)
