"""Exercise: one token of RWKV-4's WKV, as a recurrence that never overflows."""

from typing import Any

import torch
from course_utils.attention import wkv_step
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import adding, mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import NOTHING, batch_mixed, overwritten, writing
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.states import LEFT_OUT, cut_off, in_place, returned
from torch import Tensor

RIGHT = """
def wkv_step(key, value, decay, bonus, state):
    numerator, denominator, top = state
    own = bonus + key
    read_top = torch.maximum(top, own)
    past = (top - read_top).exp()
    now = (own - read_top).exp()
    above = past * numerator + now * value
    below = past * denominator + now
    out = above / below
    faded = top - decay
    kept = key
    new_top = torch.maximum(faded, kept)
    left = (faded - new_top).exp()
    added = (kept - new_top).exp()
    new_numerator = left * numerator + added * value
    new_denominator = left * denominator + added
    new_state = new_numerator, new_denominator, new_top
    return out, new_state
"""


def _packed(fn: Function, key: Tensor, value: Tensor, decay: Tensor, bonus: Tensor, *state: Tensor) -> Any:
    return fn(key, value, decay, bonus, state)


def _walked(fn: Function, key: Tensor, value: Tensor, decay: Tensor, bonus: Tensor) -> Any:
    """Walk over the tokens (B, L, d) from nothing; return what each of them read."""
    zeros = torch.zeros_like(key[:, 0])
    state, read = (zeros, zeros, zeros - torch.inf), []
    for token in range(key.shape[1]):
        out, state = fn(key[:, token], value[:, token], decay, bonus, tuple(state))
        read.append(out)
    return torch.stack(read, 1)


def _run(*args: Tensor) -> Any:
    """Return what is right on a case: of one token and a state, or of several tokens."""
    return (_packed if len(args) > 4 else _walked)(wkv_step, *args)


def _overwriting(
    key: Tensor, value: Tensor, decay: Tensor, bonus: Tensor, state: tuple[Tensor, Tensor, Tensor]
) -> Any:
    """Give what is right, and write the new state over the old one."""
    out, new = wkv_step(key, value, decay, bonus, state)
    for old, part in zip(state, new, strict=True):
        old.data.copy_(part)
    return out, new


def _made(*shape: int, size: float = 1.0, start: bool = False, decay: float = 1.0, dtype: str = "float64",
          apart: bool = False) -> Make:
    """Return a maker of one token (B, d) and a state, or of several tokens (B, L, d); keys have this size."""
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Tensor, ...]:
        key, value = normal(g, *shape, size=size, dtype=kind), normal(g, *shape, dtype=kind)
        fades, bonus = decay * normal(g, shape[-1]).abs().to(kind), normal(g, shape[-1], dtype=kind) + 0.5
        state = [normal(g, shape[0], shape[-1], dtype=kind) for _ in range(3)]
        state[1] = state[1].abs() + 1.0
        state[2] = state[2] * size
        if start:
            state = [torch.zeros_like(state[0]), torch.zeros_like(state[0]), torch.zeros_like(state[0]) - torch.inf]
        made = (key, value, fades, bonus) if len(shape) == 3 else (key, value, fades, bonus, *state)
        return tuple(strided(x) if x.dim() > 1 else x for x in made) if apart else made

    return make


EXERCISE = exercise(
    wkv_step,
    right=RIGHT,
    asks="Read the past and the token itself, then fade the past and write the token into it.",
    minutes=12,
    difficulty=4,
    importance=3,
    parts=("out", "state"),
    inputs=("key", "value", "decay", "bonus", "numerator", "denominator", "top"),
    cases=(
        # No gradients where the state is handed out: its top may count as a constant, as long as what is read later is
        # right on the way back too.
        case("a later token", _made(2, 3), run=_packed),
        case("the first token: its own value", _made(3, 2, start=True), run=_packed),
        case("two tokens from nothing", _made(2, 2, 3), run=_walked),
        case("one sequence, one channel", _made(1, 1), run=_packed),
        case("every size 4", _made(4, 4), run=_packed),
        case("seven tokens from nothing", _made(2, 7, 3), run=_walked, gradient="equal"),
        case("nothing fades", _made(2, 5, 3, decay=0.0), run=_walked),
        case("fast fades", _made(2, 6, 3, decay=20.0), run=_walked),
        case("keys of about ±10,000", _made(3, 5, size=1e4), run=_packed),
        case("a sequence with keys of about ±10,000", _made(2, 6, 3, size=1e4), run=_walked,
             gradient="finite"),
        case("non-contiguous inputs", _made(3, 5, apart=True), run=_packed),
        case("float32", _made(2, 9, 4, dtype="float32"), run=_walked, tolerance=1e-4),
        case("bfloat16", _made(3, 4, dtype="bfloat16"), run=_packed, tolerance=0.4),
    ),
    mistakes=(
        mistake("bonus forgotten", "The token counts as if there were no bonus, or the past has it too, so that it "
                "cancels. What is added to the logarithm of the token itself, and to that alone?", "own = key",
                "read_top = torch.maximum(top + bonus, own)\npast = (top + bonus - read_top).exp()"),
        mistake("bonus kept in the state", "The state holds the token with its bonus. Who else than the token itself "
                "may gain from the bonus?", "kept = own", "added = (own - new_top).exp()",
                "kept = own if bool(top.isinf().all()) else key", "kept = own.where(top.isinf(), key)"),
        mistake("bonus on the past", "The bonus raises the past against the token itself, or takes away from that "
                "token. Which one stands out because of it?",
                "own = key\nread_top = torch.maximum(top + bonus, own)\npast = (top + bonus - read_top).exp()",
                "own = key - bonus"),
        mistake("bonus outside the exponential", "The bonus multiplies the weight or the key, or is added to the "
                "weight. It is added to a logarithm: where does it stand in e^(…)?",
                "own = key\nnow = bonus * (own - read_top).exp()",
                "own = key\nnow = bonus + (own - read_top).exp()", "own = bonus * key",
                "own = key\nnow = (1 + bonus) * (own - read_top).exp()"),
        mistake("decay and bonus swapped", "The decay raises the token itself, and the past sinks by the bonus. Which "
                "of the two is for the token, which for the past?", "own = decay + key\nfaded = top - bonus"),
        mistake("past faded before it is read", "The newest past token has faded already when it is read. How many "
                "steps of decay has token t - 1 behind it at token t?",
                "read_top = torch.maximum(top - decay, own)\npast = (top - decay - read_top).exp()"),
        mistake("past not faded", "The weights of old tokens never sink. What happens to the logarithm of a weight "
                "with each token?", "faded = top"),
        mistake("decay with the wrong sign", "The past grows with every token. A decay is at least 0: which way does "
                "it move a logarithm?", "faded = top + decay"),
        mistake("decay taken for a factor", "The decay multiplies a weight or a logarithm, or was taken to the power "
                "of e once more. It is subtracted from a logarithm.", "faded = top\nleft = (faded - new_top).exp() * "
                "decay", "faded = top * decay", "faded = top - decay.exp()", "faded = top - (-decay).exp()",
                "faded = top + (decay + 1e-9).log()", "faded = top + decay.exp()", "faded = top + (-decay).exp()",
                "faded = top\nleft = (faded - new_top).exp() * (1 - decay)"),
        mistake("past faded twice", "The past sinks by two steps with each token. How many does one token take?",
                "faded = top - 2 * decay", "faded = top - decay\nleft = (faded - decay - new_top).exp()"),
        mistake("the state normalised", "The state came back as an average, or not measured against its top. What are "
                "the two sums divided by when they are handed on?",
                "new_state = new_numerator / new_denominator, new_denominator / new_denominator, new_top",
                "new_state = new_numerator / new_denominator, new_denominator, new_top",
                "new_state = new_numerator * new_top.exp(), new_denominator * new_top.exp(), new_top"),
        mistake("new token faded as well", "The token that is written is faded at once. When it is read next, at the "
                "token after it, how many steps has it faded?", "kept = key - decay"),
        mistake("no running maximum", "The exponentials are taken of the keys as they are. What is e^10,000, and what "
                "is a fraction of two numbers that have vanished?",
                "read_top = torch.zeros_like(top)\nnew_top = torch.zeros_like(top)", "read_top = torch.zeros_like(top)",
                "new_top = torch.zeros_like(top)",
                "past = torch.ones_like(top)\nnow = own.exp()\nleft = (-decay).exp()\nadded = kept.exp()\n"
                "new_top = top",
                "past = torch.ones_like(top)\nnow = own.exp()\nleft = (-decay).exp()\nadded = kept.exp()",
                "past = top.exp()\nnow = own.exp()\nleft = faded.exp() / new_top.exp()\n"
                "added = kept.exp() / new_top.exp()", "past = top.exp()\nnow = own.exp()",
                "past = top.exp()\nnow = own.exp()\nnew_top = torch.zeros_like(top)",
                "past = top.exp()\nnow = own.exp()\nout = (above / below).nan_to_num()",
                "past = top.exp()\nnow = own.exp()\nout = above / (below + 1e-9)"),
        mistake("measured against the past alone", "The exponentials are measured against the old top, however large "
                "the new token is. What comes out where the past is empty, its top -inf, or a key is 10,000 larger?",
                "past = torch.ones_like(top)\nnow = (own - top).exp()",
                "left = torch.ones_like(top)\nadded = (kept - faded).exp()\nnew_top = faded", "read_top = top",
                "past = torch.ones_like(top)\nnow = (own - top).exp()\nleft = torch.ones_like(top)\n"
                "added = (kept - faded).exp()\nnew_top = faded"),
        mistake("measured against the token alone", "The exponentials are measured against the new token, however "
                "large the past is. What comes out where the past is 10,000 larger?", "read_top = own",
                "read_top = own\nnew_top = kept"),
        mistake("keys cut off", "The exponents were cut off at a bound, as the first versions of RWKV did. Which keys "
                "are then all alike?", *(f"own = (bonus + key).clamp({bound})\nkept = key.clamp({bound})"
                                         for bound in ("max=60.0", "-60.0, 60.0", "max=30.0", "max=50.0")),
                *(f"own = (bonus + key).clamp({bound})" for bound in ("max=60.0", "-60.0, 60.0")),
                *(f"key = key.clamp({bound})\nown = bonus + key" for bound in (
                  "max=80.0", "-80.0, 80.0", "-60.0, 60.0", "max=60.0", "-50.0, 50.0", "-100.0, 100.0", "max=88.0")),
                "past = top.clamp(-60.0, 60.0).exp()\nnow = own.exp()",
                "past = (top - read_top).clamp(min=-10.0).exp()\nnow = (own - read_top).clamp(min=-10.0).exp()"),
        mistake("the first top replaced", "The state that holds nothing got another top than -inf, as if a token had "
                "been there. What becomes of a first key near -10,000?",
                "numerator, denominator, top = state[0], state[1], state[2].masked_fill(state[2].isinf(), 0.0)",
                "numerator, denominator, top = state[0], state[1], state[2].clamp(min=-1e4)"),
        mistake("one maximum for all channels", "One maximum was taken for all channels, or all sequences. A channel "
                "whose keys are far below it vanishes: over what is each maximum taken?",
                "new_top = torch.maximum(faded, kept).amax(-1, keepdim=True).expand_as(top)",
                "new_top = torch.maximum(faded, kept).amax().expand_as(top)",
                "read_top = torch.maximum(top, own).amax(-1, keepdim=True)",
                "read_top = torch.maximum(top, own).amax()",
                "new_top = torch.maximum(faded, kept).amax(0, keepdim=True).expand_as(top)",
                "read_top = torch.maximum(top, own).amax()\n"
                "new_top = torch.maximum(faded, kept).amax().expand_as(top)"),
        mistake("another running maximum", "The top that comes back is not the largest of the faded keys, or that of "
                "what was read: its bonus is in it, or the fade is not. What is the state measured against?",
                "new_top = torch.maximum(top, kept)", "new_top = torch.maximum(faded, own)",
                "new_top = read_top", "new_top = read_top - decay",
                "new_top = torch.maximum(read_top - decay, kept)", "new_top = kept", "new_top = faded",
                "new_state = new_numerator, new_denominator, read_top",
                "new_state = new_numerator, new_denominator, new_top + new_denominator.log()",
                "new_state = new_numerator, new_denominator, top.clone()"),
        mistake("a maximum of at least 0", "The running maximum is never below 0. Where all keys are near -10,000, "
                "every exponential is then 0: from which value must it start?",
                "new_top = torch.maximum(faded, kept).clamp(min=0.0)", "read_top = torch.maximum(top, own).clamp("
                "min=0.0)", "new_top = torch.maximum(faded, kept).clamp(min=0.0)\nread_top = torch.maximum(top, "
                "own).clamp(min=0.0)"),
        mistake("denominator not faded", "The sum of the weights keeps the past at full size, the values do not. Which "
                "factor do both sums share?",
                "new_denominator = denominator + added",
                "new_denominator = (top - new_top).exp() * denominator + added"),
        mistake("numerator not faded", "The values of the past keep their full size, the sum of the weights does not. "
                "Which factor do both sums share?", "new_numerator = numerator + added * value",
                "new_numerator = (top - new_top).exp() * numerator + added * value"),
        mistake("old sums not rescaled", "The sums of the past are used as they came, though another maximum is "
                "subtracted now. What were they divided by when they were made?", "past = torch.ones_like(top)",
                "left = torch.ones_like(top)", "left = (-decay).exp().expand_as(top)",
                "past = torch.ones_like(top)\nleft = (-decay).exp().expand_as(top)",
                "past = torch.ones_like(top)\nleft = torch.ones_like(top)"),
        mistake("own token not read", "The token does not see itself, and the first one reads 0/0. Whose value has the "
                "bonus?", "now = torch.zeros_like(top)", "above = past * numerator", "below = past * denominator"),
        mistake("own token read twice", "The token was written first, and what was read holds it once more, with its "
                "bonus. Which comes first, reading or writing?",
                "again = torch.maximum(new_top, own)\nbefore = (new_top - again).exp()\nhere = (own - again).exp()\n"
                "return (before * new_numerator + here * value) / (before * new_denominator + here), new_state"),
        mistake("read after the write", "What is read is the state with the token in it, faded and without the bonus. "
                "Which comes first, reading or writing?", "return new_numerator / new_denominator, new_state"),
        mistake("not normalised", "The output is a sum and not an average. By what is it divided?", "out = above",
                "out = above / denominator", "return above / new_denominator, new_state"),
        mistake("the value in the denominator", "The sum of the weights was made with the values, so that they cancel. "
                "What is divided by what?", "new_denominator = left * denominator + added * value",
                "below = past * denominator + now * value", "new_denominator = left * denominator + value"),
        mistake("value without its weight", "The new token was added with the weight 1, above or below the line. How "
                "much does it count beside the past?",
                "new_numerator = left * numerator + value", "above = past * numerator + value",
                "added = torch.ones_like(top)", "now = torch.ones_like(top)",
                "new_denominator = left * denominator + 1.0", "below = past * denominator + 1.0"),
        mistake("the past left out", "The token sees itself alone, or the state holds it alone. What became of those "
                "before it?", "out = value + 0.0 * own", "left = torch.zeros_like(top)",
                "new_numerator = added * value\nnew_denominator = added"),
        mistake("powers of another base", "Powers of 2 were taken where powers of e are meant.",
                "past = torch.exp2(top - read_top)\nnow = torch.exp2(own - read_top)",
                "left = torch.exp2(faded - new_top)\nadded = torch.exp2(kept - new_top)",
                "past = torch.exp2(top - read_top)\nnow = torch.exp2(own - read_top)\n"
                "left = torch.exp2(faded - new_top)\nadded = torch.exp2(kept - new_top)"),
        mistake("epsilon in the denominator", "Something was added to the sum of the weights. One of the terms is "
                "1: can it vanish?", "out = above / (below + 1e-3)", "out = above / (below + 1e-5)",
                "out = above / (below + 1e-6)"),
        in_place("new_numerator = numerator.mul_(left).add_(added * value)",
                 "new_denominator = denominator.mul_(left).add_(added)",
                 "new_numerator = numerator.mul_(left).add_(added * value)\n"
                 "new_denominator = denominator.mul_(left).add_(added)",
                 "new_numerator = numerator.mul_(left).add_(added * value)\n"
                 "new_denominator = denominator.mul_(left).add_(added)\nreturn out, (numerator, denominator, "
                 "top.copy_(new_top))", _overwriting),
        overwritten(*writing(wkv_step, 0, 1, 2, 3)),
        returned("new_state = tuple(part.clone() for part in state)",
                 "new_state = numerator.clone(), new_denominator, new_top"),
        batch_mixed("numerator, denominator, top = (part[:1].expand_as(part) for part in state)",
                    "key = key[:1].expand_as(key)\nown = bonus + key",
                    "value = value[:1].expand_as(value)\nown = bonus + key"),
        mistake("a gate on the output", "The output went through a gate, as RWKV's receptance does around this step. "
                "What is asked for is the average alone.", "out = key.sigmoid() * above / below",
                "out = value.sigmoid() * above / below"),
        mistake("the state stacked", "The three parts came back as one tensor. They are handed on as they came in: in "
                "which kind of value?", "return out, torch.stack(new_state)"),
        cut_off("numerator, denominator, top = (part.detach() for part in state)",
                "new_numerator = (left * numerator + added * value).detach()",
                "new_state = tuple(part.detach() for part in (new_numerator, new_denominator, new_top))"),
        *adding(LEFT_OUT, {"not all parts returned": ("return out, new_state[:2]", "return out, new_numerator")}),
        NOTHING,
        mistake("state not in one tuple", "Four results came back side by side. What is asked for is two: the output "
                "and, as one tuple, the state.", "return out, *new_state"),
        mistake("parts of the state swapped", "The state's parts come back in another order. In which order did they "
                "come in?", "new_state = new_denominator, new_numerator, new_top",
                "new_state = new_top, new_numerator, new_denominator",
                "denominator, numerator, top = state\nnew_state = new_denominator, new_numerator, new_top"),
        lower_precision(_run, "above = (past.float() * numerator.float() + now.float() * value.float()).to(key.dtype)"),
    ),
    hints=(
        "Two sums are kept, one with the values and one without, both divided by e^top so that they stay small. What "
        "is the weight of the token itself, as a logarithm, and that of the whole past?",
        "To read: subtract the larger of `top` and `bonus + key` from both logarithms before `exp`. The past counts "
        "with the one, its own value with the other, above and below the line.",
        "To write: the past's logarithm sinks by `decay`, the new one is the bare key. The larger of these two is the "
        "new top, and both sums are brought to it.",
        "-inf as the first top needs no case of its own: e^(-inf) is 0, and the maximum with it is the other number.",
    ),
)
