"""Exercise: linear attention as a recurrent network, one token."""

from typing import Any

import torch
from course_utils.attention import linear_attention_step
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import adding, mistake, only, saying, without
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import batch_mixed, left_in, overwritten, squeezed, through_numpy, writing
from course_utils.exercises.shared.linear import BRANCH, FEATURES, PLACES, TOTAL
from course_utils.exercises.shared.precision import lower_precision
from torch import Tensor
from torch.nn import functional as F

RIGHT = """
def linear_attention_step(state, normaliser, query, key, value):
    feature = lambda x: F.elu(x) + 1
    near = feature(query)
    far = feature(key)
    mixed = value
    below = far
    outer = far.unsqueeze(-1) * mixed.unsqueeze(-2)
    new_state = state + outer
    new_normaliser = normaliser + below
    read = new_state
    sums = new_normaliser
    top = (near.unsqueeze(-2) @ read).squeeze(-2)
    bottom = (near * sums).sum(-1, keepdim=True)
    out = top / bottom
    return new_state, new_normaliser, out
"""


def _made(*leading: int, d_k: int, d_v: int, start: bool = False, shift: float = 0.0, dtype: str = "float64",
          apart: bool = False) -> Make:
    """Return a maker of a state, of nothing at the `start`, and of one token whose numbers lie around `shift`."""
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Tensor, ...]:
        state, normaliser = normal(g, *leading, d_k, d_v, dtype=kind), normal(g, *leading, d_k, dtype=kind).abs() + 0.5
        if start:
            state, normaliser = torch.zeros_like(state), torch.zeros_like(normaliser)
        token = [normal(g, *leading, width, dtype=kind) for width in (d_k, d_k, d_v)]
        made = state, normaliser, token[0] + shift, token[1] + shift, token[2]
        return tuple(strided(x) if x.dim() > 1 else x for x in made) if apart else made

    return make


def _sequence(g: torch.Generator) -> tuple[Any, ...]:
    return tuple(normal(g, 2, 5, width) for width in (3, 3, 4))


def _walk(step: Function, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Walk over the tokens from zeros; return what each of them read."""
    state = query.new_zeros(len(query), query.shape[-1], value.shape[-1])
    normaliser, read = query.new_zeros(len(query), query.shape[-1]), []
    for token in range(query.shape[1]):
        state, normaliser, out = step(state, normaliser, query[:, token], key[:, token], value[:, token])
        read.append(out)
    return torch.stack(read, 1)


def _epsilon(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether only a number added to the sum of the weights, or held as its least value, explains the output."""
    if not isinstance(args[0], Tensor) or len(args) < 5 or len(got) != 3 or got[2].dtype != torch.float64:
        return False
    state, normaliser, out = linear_attention_step(*args)
    if not (torch.allclose(state, got[0]) and torch.allclose(normaliser, got[1]) and out.shape == got[2].shape):
        return False
    total = ((F.elu(args[2]) + 1) * normaliser).sum(-1)
    share = (got[2] * out).sum(-1) / out.square().sum(-1)
    added = (total / share - total).flatten().detach()
    in_step = torch.allclose(got[2], share.unsqueeze(-1) * out, rtol=1e-6, atol=0.0)
    small = bool(((added > -1e-9) & (added <= 10.0)).all())
    return in_step and small and bool((added > 1e-9).any())


_RESULT = "return {}, {}, out"
_RETURNED = "return new_state, new_normaliser, out{}"
# Over one token and its features alone there is no count of keys, and no axis of them.
_FEATURES = without(FEATURES, "near = query.softmax(-1)\nfar = key.softmax(-2)",
                    "near = query.softmax(-1)\nfar = key.softmax(-2)\nout = top")
_TOTAL = adding(without(
    only(TOTAL, "normaliser missing", "half of the normaliser", "a mean below", "raw keys below",
         "multiplied instead of divided", "normaliser cut off", "cut off from the gradient"),
    "far = feature(key) / feature(key).sum(-2, keepdim=True)\nout = top",
    "near = feature(query) / feature(query).sum(-1, keepdim=True)\n"
    "far = feature(key) / feature(key).sum(-2, keepdim=True)\nout = top",
    "out = top / far.sum((-2, -1), keepdim=True)",
    "out = top * key.shape[-2] / bottom",
), {"cut off from the gradient": ("return new_state.detach(), new_normaliser.detach(), out.detach()",)})

EXERCISE = exercise(
    linear_attention_step,
    right=RIGHT,
    asks="Add one token to the state and the normaliser, then let its query read them.",
    minutes=12,
    difficulty=3,
    importance=4,
    parts=("state", "normaliser", "out"),
    cases=(
        case("a later token, every size 3", _made(3, d_k=3, d_v=3), gradient="equal"),
        case("the first token: from zeros, every size 3", _made(3, d_k=3, d_v=3, start=True), gradient="equal"),
        case("one token, without leading axes", _made(d_k=4, d_v=5), gradient="equal"),
        case("leading axes (2, 3)", _made(2, 3, d_k=5, d_v=4), gradient="equal"),
        case("values wider than keys", _made(4, d_k=2, d_v=6)),
        case("one feature, one value", _made(2, d_k=1, d_v=1)),
        case("a single sequence", _made(1, d_k=4, d_v=3)),
        case("a sequence, token by token", _sequence, gradient="equal", run=_walk),
        case("small features: numbers about -14", _made(2, 3, d_k=4, d_v=2, start=True, shift=-14.0)),
        case("large features: numbers about 1000", _made(2, d_k=3, d_v=4, shift=1000.0), gradient="equal"),
        case("non-contiguous inputs", _made(2, 3, d_k=4, d_v=5, apart=True)),
        case("float32", _made(3, d_k=8, d_v=4, dtype="float32")),
        case("bfloat16", _made(2, d_k=3, d_v=5, dtype="bfloat16")),
    ),
    mistakes=(
        mistake("the state read before it is updated", "The query does not see its own token, and the first one reads "
                "0/0. Is the state read before or after its token is added?", "read = state\nsums = normaliser"),
        mistake("the old normaliser", "The values above have the new token in them, and the sum of the weights below "
                "has not, so the weights do not sum to 1. Which normaliser belongs to the new state?",
                "sums = normaliser"),
        mistake("the old state", "The sum of the weights below has the new token in it, and the values above have not. "
                "Which state belongs to the new normaliser?", "read = state"),
        mistake("the state changed in place", "The state that was handed over was overwritten. Whoever keeps it, to "
                "continue it differently or to differentiate, loses it: which line writes in place?",
                "new_state = state.add_(outer)", "new_normaliser = normaliser.add_(below)",
                "new_state = state.add_(outer)\nnew_normaliser = normaliser.add_(below)"),
        mistake("the state replaced", "The state holds this token alone. What became of those before it?",
                "new_state = outer + 0.0 * state", "new_normaliser = below + 0.0 * normaliser",
                "new_state = outer + 0.0 * state\nnew_normaliser = below + 0.0 * normaliser"),
        mistake("the old state returned", "What comes back is what was handed over. What has this token added to it?",
                _RESULT.format("state.clone()", "normaliser.clone()"),
                _RESULT.format("state.clone()", "new_normaliser"), _RESULT.format("new_state", "normaliser.clone()")),
        mistake("what the token adds returned", "Only what this token adds came back, or an average of it. What should "
                "the next step be given?", _RESULT.format("outer", "below"), _RESULT.format("outer", "new_normaliser"),
                _RESULT.format("new_state", "below")),
        mistake("the outer product transposed", "The state has an axis of d_k and then one of d_v. Which of φ(k) and v "
                "lies along which?", "outer = mixed.unsqueeze(-1) * far.unsqueeze(-2)",
                "new_state = state.mT + mixed.unsqueeze(-1) * far.unsqueeze(-2)\nread = new_state.mT",
                "return new_state.mT, new_normaliser, out"),
        mistake("the state read along the wrong axis", "The query met the axis of the values. Which axis of the state "
                "is as long as φ(q), and means the same?", "top = (read @ near.unsqueeze(-1)).squeeze(-1)",
                "top = (read * near.unsqueeze(-1)).sum(-1)"),
        mistake("entry by entry instead of an outer product", "φ(k) met v entry by entry. Every feature of the key "
                "keeps a copy of the whole value: how many numbers does one token add?",
                "outer = (far * mixed).unsqueeze(-1)", "outer = torch.diag_embed(far * mixed)",
                "outer = (far * mixed).sum(-1)[..., None, None]", "outer = mixed.unsqueeze(-2)",
                "outer = far.unsqueeze(-1)"),
        mistake("the state normalised", "The state came back divided by the normaliser. The next token would be added "
                "to numbers that were divided already: when is the division due?",
                _RESULT.format("new_state / new_normaliser.unsqueeze(-1)", "new_normaliser"),
                _RESULT.format("new_state / bottom.unsqueeze(-1)", "new_normaliser")),
        mistake("the state forgets", "The old state was multiplied by something below 1, or averaged with the new "
                "token. Linear attention adds: nothing fades.",
                *(f"new_state = {kept} * state + {added}outer\nnew_normaliser = {kept} * normaliser + {added}below"
                  for kept, added in ((0.9, ""), (0.9, "0.1 * "), (0.99, ""), (0.5, "0.5 * "), (0.5, ""))),
                "new_state = 0.9 * state + outer", "new_normaliser = 0.9 * normaliser + below"),
        mistake("normalised by something else", "The sum above is divided by something other than φ(q)·Σφ(k). What do "
                "the weights of this query sum to?", "out = top / sums.sum(-1, keepdim=True)",
                "out = top / torch.linalg.vector_norm(sums, dim=-1, keepdim=True)",
                "out = top / math.sqrt(query.shape[-1])", "out = top / query.shape[-1]", "sums = below",
                "bottom = (near * far).sum(-1, keepdim=True)", "bottom = (near * sums).sum()",
                "bottom = (near * sums).sum(0, keepdim=True)"),
        mistake("softmax kept", "An exponential of a product was taken. exp(q·k) does not come apart into a part of "
                "the query and a part of the key: what takes its place here?",
                "outer = (query * key).sum(-1)[..., None, None].exp() * mixed.unsqueeze(-2)",
                "out = torch.softmax(top, -1)", "out = (query.softmax(-1).unsqueeze(-2) @ read).squeeze(-2)"),
        *adding(PLACES, {"the wrong two compared": ("below = near",
                                                    "outer = near.unsqueeze(-1) * mixed.unsqueeze(-2)")}),
        BRANCH,
        *saying(adding(_FEATURES, {
            "features of one side only": ("top = (query.unsqueeze(-2) @ read).squeeze(-2)",
                                          "outer = key.unsqueeze(-1) * mixed.unsqueeze(-2)"),
            "scaled": ("feature = lambda x: (F.elu(x) + 1) / math.sqrt(x.shape[-1])",
                       "far = feature(key) / math.sqrt(key.shape[-1])",
                       "out = top / bottom / math.sqrt(query.shape[-1])",
                       "outer = far.unsqueeze(-1) * mixed.unsqueeze(-2) / math.sqrt(key.shape[-1])"),
        }), {"scaled": "Something was divided by a root of d_k: queries or keys, their features, or the output. Which "
             "scale does the exercise ask for?"}),
        mistake("epsilon in the denominator", "Something was added to the sum of the weights, or a small sum was "
                "lifted. Where the features are small themselves, it is not small compared with them. The sum is "
                "positive.", *(f"out = top / {below}" for below in ("(bottom + 1e-6)", "bottom.clamp(min=1e-6)",
                                                                    "(bottom + 1e-8)", "(bottom + 1e-12)", "(bottom + "
                                                                    "1)")),
                matches=_epsilon),
        *_TOTAL,
        mistake("the state cut off from the gradient", "The values are right, but no gradient reaches the state that "
                "was handed over, so nothing learns across tokens. What cuts the thread?",
                "new_state = state.detach() + outer", "new_normaliser = normaliser.detach() + below",
                "new_state = state.detach() + outer\nnew_normaliser = normaliser.detach() + below"),
        mistake("divided entry by entry", "The state was divided by the normaliser feature by feature, and the "
                "quotients were added up. The output is one sum divided by another: which two?",
                "out = (read / sums.unsqueeze(-1)).sum(-2)", "out = (read / sums.unsqueeze(-1)).mean(-2)",
                "out = (near.unsqueeze(-1) * read / sums.unsqueeze(-1)).sum(-2)",
                "out = (near.unsqueeze(-1) * read / sums.unsqueeze(-1)).sum(-2) / near.sum(-1, keepdim=True)"),
        mistake("the delta rule", "What the state already answers for this key was subtracted from the value first. "
                "That is another recurrence: what does a token add here, whatever the state holds?",
                "mixed = value - (far.unsqueeze(-2) @ state).squeeze(-2)",
                "mixed = value - (far.unsqueeze(-2) @ state).squeeze(-2) / (far * normaliser).sum(-1, keepdim=True)"),
        batch_mixed("outer = (far.unsqueeze(-1) * mixed.unsqueeze(-2)).reshape(-1, *state.shape[-2:]).sum(0)",
                    "outer = (far.unsqueeze(-1) * mixed.unsqueeze(-2)).reshape(-1, *state.shape[-2:])[0]",
                    "below = far.reshape(-1, far.shape[-1]).sum(0)",
                    "outer = (far.unsqueeze(-1) * mixed.unsqueeze(-2)).reshape(-1, *state.shape[-2:]).sum(0)\n"
                    "below = far.reshape(-1, far.shape[-1]).sum(0)"),
        mistake("tokens counted", "All entries of the normaliser grew alike: by 1, or by a mean or a sum of the key's "
                "features. A mean of the values would be right if all weights were equal: what does each feature of a "
                "key add to the sum of the weights?",
                "below = torch.ones_like(far)", "below = far.mean(-1, keepdim=True)",
                "below = far.sum(-1, keepdim=True)"),
        mistake("not all three returned", "A part of the result is missing. What does the next step need, and what "
                "does this token read?", "return out", "return new_state, new_normaliser", "return new_state, out"),
        *adding((left_in(_RETURNED), squeezed(_RETURNED)),
                {"an axis of size 1 left in": ("return new_state, new_normaliser, out.unsqueeze(-2)",)}),
        mistake("results in another order", "The results come back in another order. In which order are they asked "
                "for?", "return out, new_state, new_normaliser", "return new_normaliser, new_state, out",
                "return new_state, out, new_normaliser", "return out, new_normaliser, new_state",
                "return new_normaliser, out, new_state"),
        overwritten("near = F.elu(query, inplace=True) + 1", "far = F.elu(key, inplace=True) + 1",
                    "near = F.elu(query, inplace=True) + 1\nfar = F.elu(key, inplace=True) + 1",
                    *writing(linear_attention_step, 2, 3, 4)),
        through_numpy("return tuple(torch.from_numpy(x.detach().numpy()) for x in (new_state, new_normaliser, out))"),
        mistake("another dtype", "The numbers are right, but not their dtype: it should be that of the inputs. Which "
                "dtype has a tensor that is made inside a function?", *(
                    f"return new_state.{kind}(), new_normaliser.{kind}(), out.{kind}()" for kind in ("float",
                    "double"))),
        lower_precision(linear_attention_step,
        "top = (near.float().unsqueeze(-2) @ read.float()).squeeze(-2).to(near.dtype)"),
    ),
    hints=(
        "Three lines: add to the state, add to the normaliser, read. φ(x) = elu(x) + 1 goes over queries and keys.",
        "What a token adds is the outer product of φ(k) and v: a new axis after φ(k), one before v, and `*`.",
        "`state + ...` makes a new tensor and `+=` writes into the one that was given.",
        "Read what is new: φ(q) times the state gives d_v numbers, φ(q)·normaliser gives the one that divides them.",
    ),
)
