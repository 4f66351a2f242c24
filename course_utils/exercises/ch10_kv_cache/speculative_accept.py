"""Exercise: decide which drafted tokens stay, and draw the one that follows them."""

from typing import Any

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make
from course_utils.checking.mistakes import Trace, mistake
from course_utils.exercises.shared.kinds import NOTHING
from course_utils.models import speculative_accept
from torch import Tensor

# `above` is what is left where a guess was refused, `after` what is drawn from where all stay.
RIGHT = """
def speculative_accept(draft_tokens, draft_probs, target_probs, uniforms):
    count = len(draft_tokens)
    p = target_probs
    q = draft_probs
    accepted = 0
    for t, token in enumerate(draft_tokens.tolist()):
        stays = uniforms[t] * q[t, token] < p[t, token]
        if not stays:
            break
        accepted = accepted + 1
    full = accepted == count
    place = min(accepted, count - 1)
    above = (p[place] - q[place]).clamp_min(0) if count else p[0]
    after = p[count]
    rest = after if full else above
    sums = rest.cumsum(0)
    total = sums[-1]
    u = uniforms[count]
    chosen = int((sums > u * total).int().argmax())
    return accepted, chosen
"""


def _random(
    count: int, size: int, sharpness: float = 1.0, dtype: torch.dtype = torch.float64, stay: int | None = None
) -> Make:
    """Make random distributions and guesses drawn from them; `stay` of these are made to stay."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        while True:
            args = _drawn(g, count, size, sharpness)
            kept = speculative_accept(*args)[0]
            if (stay is None or kept == stay) and _clear(*args):
                return (args[0], *(one.to(dtype) for one in args[1:]))

    return make


def _drawn(g: torch.Generator, count: int, size: int, sharpness: float) -> tuple[Tensor, ...]:
    logits = torch.randn(2 * count + 1, size, generator=g, dtype=torch.float64)
    q, p = (sharpness * logits).softmax(-1).split([count, count + 1])
    tokens = torch.multinomial(q, 1, generator=g).squeeze(-1) if count else torch.empty(0, dtype=torch.long)
    return tokens, q, p, torch.rand(count + 1, generator=g, dtype=torch.float64)


def _clear(tokens: Tensor, q: Tensor, p: Tensor, u: Tensor) -> bool:
    """Return whether no decision hangs on rounding: no ratio and no sum is nearly met."""
    kept, _ = speculative_accept(tokens, q, p, u)
    ratios = p[:-1].gather(1, tokens[:, None]).squeeze(1) - u[:-1] * q.gather(1, tokens[:, None]).squeeze(1)
    rest = p[kept] if kept == len(tokens) else (p[kept] - q[kept]).clamp_min(0)
    sums = rest.cumsum(0) / rest.sum()
    return bool((ratios.abs() > 1e-5).all() and ((sums - u[-1]).abs() > 1e-5).all())


def _nearly_met(g: torch.Generator) -> tuple[Tensor, ...]:
    """Let a guess stay by so little that it would not with p or q in 16 bits."""
    while True:
        tokens, q, p, u = _drawn(g, 2, 6, 0.5)
        ratios = [float(p[t, token] / q[t, token]) for t, token in enumerate(tokens)]
        u[0] = 0.99985 * ratios[0]
        if u[0] < 1 and _clear(tokens, q, p, u) and speculative_accept(tokens, q, p, u)[0] == 1:
            shorter = [
                speculative_accept(tokens, *pair, u)[0]
                for dtype in (torch.bfloat16, torch.float16)
                for pair in ((q.to(dtype).double(), p), (q, p.to(dtype).double()))
            ]
            if not any(shorter):
                return tokens, q, p, u


def _given(
    tokens: tuple[int, ...],
    q: tuple[tuple[float, ...], ...],
    p: tuple[tuple[float, ...], ...],
    uniforms: tuple[float, ...],
    dtype: torch.dtype = torch.float64,
) -> Make:
    """Make a round of binary fractions."""
    size = len(p[0])
    return lambda g: (
        torch.tensor(tokens, dtype=torch.long), torch.tensor(q, dtype=dtype).view(len(tokens), size),
        torch.tensor(p, dtype=dtype), torch.tensor(uniforms, dtype=dtype),
    )  # fmt: skip


_HALVES = (0.5, 0.25, 0.125, 0.125)
_OTHER = (0.125, 0.125, 0.5, 0.25)
_NEVER = (0.0, 0.5, 0.5, 0.0)
_EVEN = (0.25, 0.25, 0.25, 0.25)


def _not_ints(args: tuple[Any, ...], got: Any) -> str | None:
    if isinstance(got, tuple) and len(got) == 2 and all(type(one) is int for one in got):
        kept, token = got
        if not 0 <= kept <= len(args[0]):
            return f"{kept} of {len(args[0])} drafted tokens cannot stay."
        if not 0 <= token < args[2].shape[1]:
            return f"Token {token} is not in a vocabulary of {args[2].shape[1]}."
    return None


def _draws_itself(trace: Trace) -> bool:
    return bool({"multinomial", "rand", "bernoulli", "rand_like"} & trace.calls) or trace.used_global_random


_REFUSED = "[t for t, x in enumerate(draft_tokens.tolist()) if not uniforms[t] * q[t, x] < p[t, x]]"
_COUNT_ALL = (
    "accepted = sum(bool(uniforms[t] * q[t, token] < p[t, token]) for t, token in enumerate(draft_tokens.tolist()))"
)

EXERCISE = exercise(
    speculative_accept,
    right=RIGHT,
    asks="Return how many drafted tokens stay, and the token that comes after them.",
    minutes=30,
    difficulty=4,
    importance=4,
    parts=("num_accepted", "token"),
    cases=(
        case("3 guesses of 5 tokens, the second refused", _random(3, 5, stay=1)),
        case("the first refused", _random(3, 6, stay=0)),
        case("the last refused", _random(4, 6, stay=3)),
        case("all 2 stay", _random(2, 5, stay=2)),
        case("all 4 of 4 tokens stay", _random(4, 4, stay=4)),
        case("a guess after a refused one that would have stayed",
             _given((0, 1, 2), (_HALVES, _OTHER, _EVEN), (_OTHER, _HALVES, _EVEN, _OTHER),
                    (0.75, 0.125, 0.25, 0.4375))),
        case("no guess at all", _random(0, 5)),
        case("no guess, and the last token is drawn", _given((), (), (_HALVES,), (0.9375,))),
        case("one guess", _random(1, 7)),
        case("one guess that stays", _random(1, 5, stay=1)),
        case("one token in the vocabulary", _given((0, 0), ((1.0,), (1.0,)), ((1.0,),) * 3, (0.5, 0.75, 0.25))),
        *(case(f"{count} guesses of {size} tokens", _random(count, size, sharpness))
          for count, size, sharpness in (
              (2, 9, 0.3), (3, 8, 2.0), (5, 7, 0.6), (4, 12, 1.0), (6, 5, 0.2), (3, 3, 1.5))),
        *(case(f"{count} guesses, {stay} stay", _random(count, 11, 0.7, stay=stay))
          for count, stay in ((4, 2), (5, 1), (5, 4), (3, 0), (6, 3))),
        case("u = p/q exactly", _given((0,), (_HALVES,), (_OTHER, _EVEN), (0.25, 0.5))),
        case("u a little below p/q", _nearly_met),
        case("u just below p/q", _given((0,), (_HALVES,), (_OTHER, _EVEN), (0.2490234375, 0.5))),
        case("a guess that the target never says, and u = 0", _given((0,), (_HALVES,), (_NEVER, _EVEN), (0.0, 0.5))),
        case("draft and target agree",
             _given((1, 2), (_EVEN, _HALVES), (_EVEN, _HALVES, _OTHER), (0.875, 0.9375, 0.0))),
        case("a draft that is sure and wrong",
             _given((3, 0), ((0.0, 0.0, 0.0, 1.0), _EVEN), (_HALVES, _EVEN, _EVEN), (0.5, 0.5, 0.53125))),
        case("a draft that is sure and right",
             _given((2,), ((0.0, 0.0, 1.0, 0.0),), ((0.0, 0.0, 1.0, 0.0), _OTHER), (0.9375, 0.4375))),
        case("the last uniform is 0, and the residual begins with 0",
             _given((0,), (_HALVES,), (_OTHER, _EVEN), (0.5, 0.0))),
        case("the last uniform is 0, and the target begins with 0", _given((), (), (_NEVER,), (0.0,))),
        case("the last uniform meets a sum exactly", _given((0,), (_HALVES,), (_OTHER, _EVEN), (0.75, 0.75))),
        case("a sum met exactly after a full acceptance", _given((1,), (_EVEN,), (_EVEN, _HALVES), (0.5, 0.75))),
        case("the last uniform is almost 1",
             _given((0,), (_HALVES,), ((0.0, 0.75, 0.25, 0.0), _EVEN), (0.5, 0.9990234375))),
        case("float32", _random(4, 9, 0.8, torch.float32)),
        case("float32, all stay", _random(3, 9, 0.5, torch.float32, stay=3)),
        case("float32, one stays", _random(3, 16, 0.8, torch.float32, stay=1)),
    ),
    mistakes=(
        mistake("guesses behind the first refusal counted", "A guess after a refused one was counted. It was made for "
                "a text that was never written: where must counting end?",
                _COUNT_ALL + "\nfull = accepted == count", f"{_COUNT_ALL.replace('accepted =', 'return')}, chosen",
                *(f"{_COUNT_ALL}\nfull = accepted == count\nplace = ({_REFUSED} or [0])[{which}]"
                  for which in (0, -1))),
        mistake("the refused guess was counted", "One guess too many is counted: the refused one is not among those "
                "that stay.", "return accepted + (not full), chosen", "return min(accepted + 1, count), chosen"),
        mistake("the token that follows counted as well", "The number is that of all tokens written. Return how many "
                "of the drafted ones stay.", "return accepted + 1, chosen"),
        mistake("the index of the last guess that stays", "The number is one less than the guesses that stay. Which "
                "index has the first of them, and how many are there then?",
                "return accepted - 1, chosen", "return max(accepted - 1, 0), chosen"),
        mistake("all guesses or none", "Either all guesses stay or none of them. What becomes of those before the "
                "first refusal?", "return accepted if full else 0, chosen",
                "place = 0\nreturn accepted if full else 0, chosen"),
        mistake("every guess stays", "All guesses stay, whatever the target says of them. When is one refused?",
                "stays = True", "stays = uniforms[t] < max(1.0, float(p[t, token] / q[t, token]))"),
        mistake("how many were refused", "This counts the guesses that do not stay. Which of the two numbers says how "
                "far the text has come?",
                "return count - accepted, chosen"),
        mistake("drawn from the target after a refusal", "After a refusal the token came from the target itself. But "
                "what the draft says often was let through already: what does the target give beyond the draft?",
                "above = p[place]"),
        mistake("the likeliest token taken", "The likeliest token was taken, not the one that the last uniform "
                "draws. The text must be distributed as the target's.",
                "chosen = int(rest.argmax())", "chosen = int(p[accepted].argmax())",
                "chosen = int(rest.argmax()) if not full else int((sums > u * total).int().argmax())",
                "chosen = int(rest.argmax()) if full else int((sums > u * total).int().argmax())",
                "chosen = int(p[accepted].argmax()) if not full else int((sums > u * total).int().argmax())"),
        mistake("p/q upside down", "The ratio is upside down: guesses that the target likes more than the draft were "
                "refused. Which of the two decides what may be written?",
                "stays = uniforms[t] * p[t, token] < q[t, token]"),
        mistake("the target's chance alone", "A guess stays as often as the target would say it. It came from the "
                "draft in the first place: how often was it said, and how often should it be?",
                "stays = uniforms[t] < p[t, token]", "stays = uniforms[t] < p[t, token] / p[t].max()"),
        mistake("the draft's chance alone", "A guess stays as often as the draft says it. What does the target think "
                "of it?", "stays = uniforms[t] < q[t, token]", "stays = uniforms[t] < 1 - q[t, token]",
                "stays = uniforms[t] < q[t, token] / q[t].max()"),
        mistake("the uniforms ignored", "The same two probabilities always give the same decision: no uniform was "
                "looked at. A guess with half of the probability that it needs should stay in half of all cases.",
                "stays = p[t, token] > q[t, token]", "stays = p[t, token] >= q[t, token]",
                "stays = 0.5 < p[t, token] / q[t, token]", "stays = 0.5 <= p[t, token] / q[t, token]"),
        mistake("another comparison than the ratio", "The two probabilities were multiplied, subtracted or put into "
                "another quotient. How many of a hundred guesses may stay that the draft says twice as often as it "
                "should?", "stays = uniforms[t] < p[t, token] * q[t, token]",
                "stays = uniforms[t] < p[t, token] - q[t, token]",
                "stays = uniforms[t] < p[t, token] / (p[t, token] + q[t, token])",
                "stays = uniforms[t] < 1 - (p[t, token] - q[t, token]).abs()",
                "stays = uniforms[t] < 1 - (p[t] - q[t]).abs().sum() / 2",
                "stays = uniforms[t] < torch.minimum(p[t], q[t]).sum()",
                "stays = uniforms[t] < torch.minimum(p[t, token], q[t, token])",
                "stays = uniforms[t] < (p[t, token] / q[t, token]).sqrt()",
                "stays = uniforms[t] < (p[t, token] / q[t, token]) ** 2",
                "stays = uniforms[t] < torch.exp(p[t, token] - q[t, token])"),
        mistake("the likeliest tokens compared", "A guess stayed only where it is the target's likeliest. That is "
                "right for greedy text; here a token may be right without being the likeliest.",
                "stays = token == int(p[t].argmax())", "stays = int(q[t].argmax()) == int(p[t].argmax())"),
        mistake("accepted and refused exchanged", "The guesses that should be refused stay. On which side of p/q does "
                "the uniform have to lie?", "stays = uniforms[t] * q[t, token] >= p[t, token]",
                "stays = uniforms[t] * q[t, token] > p[t, token]",
                "stays = 1 - uniforms[t] < p[t, token] / q[t, token]"),
        mistake("<= for <", "A guess stays at equality, and so does a guess of probability 0 when the uniform is 0. "
                "Which comparison keeps it out?", "stays = uniforms[t] * q[t, token] <= p[t, token]",
                "stays = uniforms[t] <= min(1.0, float(p[t, token] / q[t, token]))"),
        mistake("the residual not normalised", "The uniform was compared with sums that end below 1: the last tokens "
                "come too often, or none at all. What is the sum of what is left?", "total = 1",
                "total = 1\nchosen = min(int((sums <= u).sum()), len(sums) - 1)",
                "total = 1\nchosen = int((sums <= u).sum())"),
        mistake("a softmax of probabilities", "A softmax was taken of what are probabilities already, or differences "
                "of them: even a token of which nothing is left gets a share. What makes numbers sum to 1 and leaves 0 "
                "at 0?", "chosen = int((rest.softmax(-1).cumsum(0) > u).int().argmax())",
                "above = (p[place] - q[place]).softmax(0) if count else p[0]",
                "above = (p[place] - q[place]).clamp_min(0).softmax(0) if count else p[0]"),
        mistake("the absolute difference", "The residual holds |p - q|, so tokens that the draft already says too "
                "often can come again. What is max(0, p - q)?",
                "above = (p[place] - q[place]).abs() if count else p[0]"),
        mistake("the residual with negative parts", "p - q was used with its negative entries, so the sums rise and "
                "fall. Of which tokens is nothing missing?", "above = p[place] - q[place] if count else p[0]",
                "above = p[place] - q[place] if count else p[0]\ntotal = 1"),
        mistake("the residual the wrong way round", "The residual is what the draft gives beyond the target. Of which "
                "tokens are there too few so far?", "above = (q[place] - p[place]).clamp_min(0) if count else p[0]"),
        mistake("drawn from the draft", "The last token was drawn from the draft. Whose text should it be?",
                "above = q[place] if count else p[0]"),
        mistake("only the refused token left out", "The target without the refused token: close, but other tokens that "
                "the draft says too often still come too often. What is max(0, p - q)?",
                "above = p[place] * (torch.arange(p.shape[1]) != draft_tokens[place]) if count else p[0]"),
        mistake("the refused token's uniform used again", "The draw used a uniform that had decided about a guess, "
                "so it is known to be large, or small. Which one was never looked at?", "u = uniforms[accepted]"),
        mistake("another uniform than the last", "The draw used a uniform that belongs to one of the guesses. The one "
                "for the draw always stands at the same place, however many stay: where?",
                "u = uniforms[min(accepted + 1, count)]", "u = uniforms[count - 1]", "u = uniforms[0]",
                "u = uniforms[max(accepted - 1, 0)]"),
        mistake("ratios multiplied up", "A guess was judged by the product of all ratios so far. Those before it have "
                "been accepted already: which ratio alone decides?",
                "stays = uniforms[t] * q[range(t + 1), draft_tokens[: t + 1]].prod() < "
                "p[range(t + 1), draft_tokens[: t + 1]].prod()"),
        mistake("one uniform for all guesses", "All guesses were judged by the same uniform. Each decision has its own "
                "uniform: with which index?", "stays = uniforms[0] * q[t, token] < p[t, token]",
                "stays = uniforms[-1] * q[t, token] < p[t, token]",
                "stays = uniforms[t + 1] * q[t, token] < p[t, token]"),
        mistake("another place", "The rows belong to another place than the guess. Row t of both tables is about "
                "guess t: which row is about the refused one?", "stays = uniforms[t] * q[t, token] < p[t + 1, token]",
                "stays = uniforms[t] * q[t, token] < p[t - 1, token]",
                "place = max(min(accepted, count) - 1, 0)", "place = 0", "place = count - 1", "above = p[count]",
                "place = min(accepted + 1, count - 1)",
                "above = (p[place + 1] - q[place]).clamp_min(0) if count else p[0]",
                "above = (p[count] - q[place]).clamp_min(0) if count else p[0]"),
        mistake("rounded probabilities", "A guess that stays by a hair was refused: p or q has fewer digits than it "
                "was drawn with. Where were they lost?",
                *(f"{one}.to(torch.{dtype}).to({name}.dtype)" for dtype in ("bfloat16", "float16")
                  for name, one in (("draft_probs", "q = draft_probs"), ("target_probs", "p = target_probs")))),
        mistake("no guess is a special case", "Without any guess the call fails: something was stacked, or looked up, "
                "of which there is none. What is left of the task then?",
                "count = len(torch.stack(list(draft_tokens)))", "above = (p[place] - q[place]).clamp_min(0)",
                "count = len(torch.cat([token[None] for token in draft_tokens]))"),
        mistake("another place after a full acceptance", "All guesses stay, and the token after them was drawn from "
                "another row than the last of the target's. Which row is about the place after them?",
                "after = p[count - 1]", "after = p[0]",
                "after = (p[count - 1] - q[count - 1]).clamp_min(0) if count else p[0]",
                "after = (p[count] - q[count - 1]).clamp_min(0) if count else p[0]",
                "after = q[count - 1] if count else p[0]"),
        mistake("no token after a full acceptance", "All guesses stay and nothing follows. The target read one more "
                "place: what does its last row say?", "return accepted, None if full else chosen",
                "return accepted, -1 if full else chosen",
                "return accepted, int(draft_tokens[-1]) if full and count else chosen"),
        mistake("the refused guess returned", "The token is the guess that was just refused, or the next one. It was "
                "refused: what comes in its place?", "return accepted, chosen if full else int(draft_tokens[place])",
                "return accepted, int(draft_tokens[place]) if count else chosen"),
        mistake("the token before or after", "The token is the neighbour of the one that the uniform meets, or one of "
                "probability 0. Which is the first sum *above* u times the total?",
                "chosen = int((sums >= u * total).int().argmax())", "chosen = int((sums <= u * total).sum()) - 1",
                "chosen = max(int((sums <= u * total).sum()) - 1, 0)", "chosen = int((sums < u * total).sum())",
                "chosen = min(int((sums <= u * total).sum()) + 1, len(sums) - 1)"),
        mistake("drawn from sorted tokens", "The sums were taken in another order than that of the vocabulary. A draw "
                "needs no sorting: in which order do the tokens lie on the line from 0 to the total?",
                "ranked = rest.sort(descending=True)\n"
                "chosen = int(ranked.indices[(ranked.values.cumsum(0) > u * total).int().argmax()])",
                "ranked = rest.sort()\n"
                "chosen = int(ranked.indices[(ranked.values.cumsum(0) > u * total).int().argmax()])",
                "sums = rest.flip(0).cumsum(0)\nchosen = len(sums) - 1 - int((sums > u * total).int().argmax())"),
        mistake("1 - u", "The draw used 1 - u. A small u must give one of the first tokens: which sums does it lie "
                "below?",
                "u = 1 - uniforms[count]"),
        mistake("drawn anew", "The function draws by itself. The uniforms are passed in, so that a run can be repeated "
                "and checked: which of them is for this draw?", "chosen = int(torch.multinomial(rest, 1))",
                "u = torch.rand(())", detects=_draws_itself),
        mistake("tensors instead of ints", "One of the two numbers is a tensor or a float. Both must be Python ints: "
                "one counts, the other indexes. What turns a tensor of one number into an int?",
                "return torch.tensor(accepted), torch.tensor(chosen)",
                "return accepted, torch.tensor(chosen)", "return accepted, torch.tensor([chosen])",
                "return accepted, torch.tensor([[chosen]])", "return torch.tensor([accepted]), torch.tensor([chosen])",
                "return torch.tensor(accepted), chosen",
                "return float(accepted), chosen",
                "return accepted, float(chosen)"),
        mistake("the two exchanged", "The two numbers are exchanged. Which of them comes first: how many stay, or the "
                "token?", "return chosen, accepted"),
        mistake("the text instead of its end", "Return two numbers: how many guesses stay, and the one token after "
                "them.", "return draft_tokens[:accepted].tolist(), chosen",
                "return [*draft_tokens[:accepted].tolist(), chosen]", "return accepted", "return chosen",
                "return torch.cat([draft_tokens[:accepted], torch.tensor([chosen])])",
                "return draft_tokens[:accepted], chosen"),
        NOTHING,
    ),
    laws=(Law("both are possible", _not_ints),),
    hints=(
        "p(x) is .1 and q(x) is .4. In how many of 100 cases may the draft's x stay, so that it is not written too "
        "often? Compare with p/q.",
        "Go through the guesses in order and stop at the first with uniforms[t] >= p/q. `for ... else` or a running "
        "product both do.",
        "What has been written of each token so far is min(p, q). What is still missing from p is max(0, p - "
        "q): draw from "
        "that, unless all guesses stay.",
        "`sums = rest.cumsum(0)`; the token is the first whose sum is above `uniforms[-1] * sums[-1]`. Multiply "
        "instead of dividing: u · q < p needs no case for q = 0.",
    ),
)
