"""Exercise: one token of the gated delta rule."""

import torch
from course_utils.attention import gated_delta_step
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared import kinds
from course_utils.exercises.shared.kinds import NOTHING, squeezed
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.states import LEFT_OUT, cut_off, in_place, returned
from torch import Tensor

RIGHT = """
def gated_delta_step(query, key, value, alpha, beta, state):
    gate = alpha
    strength = beta
    asked = key
    faded = gate[..., None, None] * state
    found = (asked.unsqueeze(-2) @ faded).squeeze(-2)
    difference = value - found
    change = strength.unsqueeze(-1) * difference
    place = key
    written = place.unsqueeze(-1) * change.unsqueeze(-2)
    new_state = faded + written
    read = new_state
    reader = query
    out = (reader.unsqueeze(-2) @ read).squeeze(-2)
    return out, new_state
"""


def _made(B: int, H: int, *, d_k: int, d_v: int, tokens: int | None = None, start: bool = False, alpha: float | None =
          None, beta: float | None = None, dtype: str = "float64", apart: bool = False) -> Make:
    """Return a maker of one token, or of several (B, H, L, ·), and of a state; keys are of about length 1."""
    kind, length = getattr(torch, dtype), () if tokens is None else (tokens,)

    def make(g: torch.Generator) -> tuple[Tensor, ...]:
        query, key, value = (normal(g, B, H, *length, width, dtype=kind) for width in (d_k, d_k, d_v))
        gates = [torch.rand(B, H, *length, generator=g, dtype=torch.float64).to(kind) for _ in range(2)]
        fixed = zip(gates, (alpha, beta), strict=True)
        gates = [gate if number is None else torch.full_like(gate, number) for gate, number in fixed]
        state = normal(g, B, H, d_k, d_v, dtype=kind) * (not start)
        made = query, key / d_k**0.5, value, *gates, state
        return tuple(strided(x) for x in made) if apart else made

    return make


def _walk(step: Function, *given: Tensor) -> Tensor:
    """Walk over the tokens; return what each of them read."""
    read, state = [], given[-1]
    for token in zip(*(x.unbind(2) for x in given[:-1]), strict=True):
        out, state = step(*token, state)
        read.append(out)
    return torch.stack(read, 2)


EXERCISE = exercise(
    gated_delta_step,
    right=RIGHT,
    asks="Fade the state, correct what the key finds in it, then let the query read.",
    minutes=10,
    difficulty=3,
    importance=5,
    parts=("out", "state"),
    cases=(
        # With as many features as values at first, whoever confuses the two has a result to be told about.
        case("a later token", _made(2, 3, d_k=4, d_v=4), gradient="equal"),
        case("more values than features", _made(2, 3, d_k=4, d_v=5), gradient="equal"),
        case("every size 3", _made(3, 3, d_k=3, d_v=3)),
        case("the first token: from zeros", _made(1, 1, d_k=2, d_v=3, start=True)),
        case("a later token, without a fade, written in full", _made(1, 2, d_k=2, d_v=3, alpha=1.0, beta=1.0)),
        case("width 1", _made(2, 1, d_k=1, d_v=1)),
        case("everything forgotten: alpha 0", _made(2, 2, d_k=3, d_v=4, alpha=0.0)),
        case("nothing written: beta 0", _made(2, 2, d_k=3, d_v=4, beta=0.0)),
        case("five tokens, one after another", _made(2, 3, d_k=4, d_v=2, tokens=5), run=_walk, gradient="equal"),
        case("non-contiguous inputs", _made(2, 3, d_k=4, d_v=5, apart=True)),
        case("float32", _made(3, 2, d_k=8, d_v=4, dtype="float32")),
        case("bfloat16", _made(2, 3, d_k=4, d_v=5, dtype="bfloat16"), tolerance=0.4),
    ),
    mistakes=(
        mistake("nothing removed", "The value is added to what the key found already, as linear attention does. What "
                "should the key find afterwards?", "difference = value"),
        mistake("removal read before the fade", "What the key finds was read from the unfaded state, and taken from "
                "the faded one. What does the key find at that moment?",
                "found = (asked.unsqueeze(-2) @ state).squeeze(-2)"),
        mistake("nothing fades", "The state keeps all of the past. What does alpha do to it?", "faded = state"),
        mistake("fade not kept", "The fade was used to read, and the unfaded state was kept. Which of the two is "
                "written to?", "new_state = state + written"),
        mistake("fade after the write", "The new token is faded too. Which comes first, the fade or the write?",
                "faded = state\nnew_state = gate[..., None, None] * (faded + written)",
                "new_state = gate[..., None, None] * (faded + written)"),
        mistake("the new token faded and the past not", "alpha weakens what is written, and the past keeps its size. "
                "Which of the two has to fade?", "faded = state\nnew_state = state + gate[..., None, None] * written",
                "new_state = state + gate[..., None, None] * written"),
        mistake("read before the write", "The query does not see its own token. Is the state read before or after the "
                "write?", "read = faded", "read = state"),
        mistake("beta on the value only", "The value is written with strength beta, but what was found is removed in "
                "full. What does beta multiply?", "change = strength.unsqueeze(-1) * value - found"),
        mistake("beta on the removal only", "What was found is removed with strength beta, but the value is written in "
                "full. What does beta multiply?", "change = value - strength.unsqueeze(-1) * found"),
        mistake("what was found removed twice", "What was found is taken away once in full, and once more with the "
                "difference. Which one term holds both the new value and the old answer?",
                "change = strength.unsqueeze(-1) * difference - found",
                "change = strength.unsqueeze(-1) * (difference - found)"),
        mistake("the whole state fades by beta", "All of the state gives way to the new pair, as in a moving average, "
                "and not only what the key finds. What else is in the state that should stay?",
                "new_state = faded - strength[..., None, None] * (faded - place.unsqueeze(-1) * value.unsqueeze(-2))"),
        mistake("beta forgotten", "The whole difference is written, whatever beta says. Where does it act?",
                "change = difference"),
        mistake("beta twice", "The difference is multiplied by beta twice. How much of it is written?",
                "change = strength.square().unsqueeze(-1) * difference",
                "place = strength.unsqueeze(-1) * key"),
        mistake("plus for minus", "What was found was added to the value, or the correction was subtracted. With which "
                "sign does the old answer go away?", "difference = value + found", "new_state = faded - written",
                "difference = found - value"),
        mistake("keys normalised", "Key or query was brought to another length. They are used as they are given.",
                "asked = F.normalize(key, dim=-1)\nplace = F.normalize(key, dim=-1)",
                "asked = F.normalize(key, dim=-1)", "place = F.normalize(key, dim=-1)",
                "asked = F.normalize(key, dim=-1)\nplace = F.normalize(key, dim=-1)\n"
                "reader = F.normalize(query, dim=-1)", "reader = F.normalize(query, dim=-1)",
                "found = (asked.unsqueeze(-2) @ faded).squeeze(-2) / key.square().sum(-1, keepdim=True)",
                "place = key / key.square().sum(-1, keepdim=True)", "place = key / key.norm(dim=-1, keepdim=True)",
                *(f"short = key * (key.square().sum(-1, keepdim=True) + 1e-6).rsqrt()\nasked = short\nplace = short\n"
                  f"reader = {reader}" for reader in (
                  "query", "query * (query.square().sum(-1, keepdim=True) + 1e-6).rsqrt()",
                  "query * (query.square().sum(-1, keepdim=True) + 1e-6).rsqrt() / math.sqrt(query.shape[-1])")),
                "asked = F.normalize(key, dim=-1)\nplace = F.normalize(key, dim=-1)\n"
                "reader = F.normalize(query, dim=-1) / math.sqrt(query.shape[-1])"),
        mistake("a scale", "The query or the key is divided by a root of the width. Nobody asked for a scale.",
                "reader = query / math.sqrt(query.shape[-1])", "asked = key / math.sqrt(key.shape[-1])",
                "place = key / math.sqrt(key.shape[-1])",
                "asked = key / math.sqrt(key.shape[-1])\nplace = key / math.sqrt(key.shape[-1])",
                "asked = key / math.sqrt(key.shape[-1])\nplace = key / math.sqrt(key.shape[-1])\n"
                "reader = query / math.sqrt(query.shape[-1])"),
        mistake("alpha and beta swapped", "The state fades by beta and the difference is written by alpha. Which of "
                "the two is the gate?", "gate = beta\nstrength = alpha"),
        mistake("the complement of a gate", "One of the gates works the other way round: 1 - alpha or 1 - beta. What "
                "does 1 mean for each?", "gate = 1 - alpha", "strength = 1 - beta",
                "gate = 1 - beta", "strength = 1 - alpha"),
        mistake("a gate through another function", "alpha or beta went through a function once more. Both are between "
                "0 and 1 already: what do they multiply?", "gate = alpha.sigmoid()", "strength = beta.sigmoid()",
                "gate = alpha.sigmoid()\nstrength = beta.sigmoid()", "gate = alpha.exp()", "gate = (-alpha).exp()",
                "gate = alpha.log()", "gate = -alpha.log()", "gate = alpha.square()", "gate = (-alpha.exp()).exp()",
                "gate = alpha.tanh()", "strength = beta.tanh()", "strength = 2 * beta",
                "strength = 2 * beta.sigmoid()"),
        mistake("query and key through a function", "Queries and keys went through a function first. They are used as "
                "they are given.",
                *(f"asked = {call.format('key')}\nplace = {call.format('key')}\nreader = {call.format('query')}"
                  for call in ("{}.softmax(-1)", "F.silu({})", "F.relu({})", "F.elu({}) + 1", "F.softplus({})"))),
        mistake("the value added", "The output is more than what was read: the token's own value, or what is written, "
                "was added to it. Where does the token's own value come from, if the state is read after the write?",
                "out = (reader.unsqueeze(-2) @ read).squeeze(-2) + value",
                "read = faded\nout = (reader.unsqueeze(-2) @ read).squeeze(-2) + change",
                "read = faded\nout = (reader.unsqueeze(-2) @ read).squeeze(-2) + value"),
        mistake("gates along the wrong axis", "alpha or beta lies along another axis than that of the heads, or one "
                "number serves several of them. Each head of each sequence has its own.",
                "faded = gate[:, None, :, None] * state",
                "faded = gate[:, None, None, :] * state", "faded = gate.unsqueeze(-1) * state",
                "gate = alpha[:1]", "gate = alpha[:, :1]", "strength = beta[:1]", "strength = beta[:, :1]",
                "change = strength.unsqueeze(-2) * difference", "change = strength * difference",
                "gate = alpha.mT", "strength = beta.mT", "gate = alpha[:1]\nstrength = beta[:1]",
                "gate = alpha[:, :1]\nstrength = beta[:, :1]", "gate = alpha.mean().expand_as(alpha)",
                "gate = alpha.mean(-1, keepdim=True)", "strength = beta.mean(-1, keepdim=True)"),
        mistake("query for key", "The state was asked, or written, with the query. What is the key for, and what the "
                "query?", "asked = query", "place = query", "asked = query\nplace = query", "reader = key",
                "asked = query\nplace = query\nreader = key"),
        mistake("the state transposed", "Rows and columns of the state changed places. It has a row for each feature "
                "of a key.", "written = change.unsqueeze(-1) * place.unsqueeze(-2)",
                "found = (faded @ asked.unsqueeze(-1)).squeeze(-1)",
                "out = (read @ reader.unsqueeze(-1)).squeeze(-1)",
                "written = change.unsqueeze(-1) * place.unsqueeze(-2)\n"
                "found = (faded @ asked.unsqueeze(-1)).squeeze(-1)\n"
                "out = (read @ reader.unsqueeze(-1)).squeeze(-1)", "return out, new_state.mT"),
        mistake("the state replaced", "The state holds this token alone. What became of the past?", "new_state = "
                "written + 0.0 * faded", "return out, written"),
        in_place("faded = state.mul_(gate[..., None, None])", "faded = state.mul_(gate[..., None, None])\n"
                 "new_state = faded.add_(written)", "faded = state\nfaded *= gate[..., None, None]"),
        returned("return out, state.clone()", "return out, faded"),
        cut_off("faded = gate[..., None, None] * state.detach()", "return out, new_state.detach()"),
        mistake("what was found cut off from the gradient", "The values are right, but what the key found counts as a "
                "constant on the way back, so that a part of the gradient is missing. Which line detaches it?",
                "found = (asked.unsqueeze(-2) @ faded.detach()).squeeze(-2)",
                "found = (asked.unsqueeze(-2) @ faded).squeeze(-2).detach()",
                "found = (asked.detach().unsqueeze(-2) @ faded).squeeze(-2)"),
        kinds.cut_off("gate = alpha.detach()", "strength = beta.detach()", "reader = query.detach()",
                      "asked = key.detach()\nplace = key.detach()", "difference = value.detach() - found",
                      "gate = alpha.detach()\nstrength = beta.detach()"),
        *LEFT_OUT,
        NOTHING,
        kinds.overwritten(*kinds.writing(gated_delta_step, 0, 1, 2, 3, 4)),
        squeezed("return out{}, new_state"),
        mistake("an axis of size 1 left in", "There is an axis of size 1 too many in the output. Which product leaves "
                "a row, and not a vector?", "out = reader.unsqueeze(-2) @ read", "return out.unsqueeze(2), new_state"),
        lower_precision(gated_delta_step, "written = (place.float().unsqueeze(-1) * change.float().unsqueeze(-2))"
                        ".to(state.dtype)"),
    ),
    hints=(
        "Four lines: fade, find, write, read. Which of them need the key, and which the query?",
        "A vector of d_k finds a vector of d_v in a state of d_k × d_v: `key.unsqueeze(-2) @ state`, less the axis of "
        "size 1.",
        "What is written is the outer product of the key and beta times the value minus what was found.",
        "alpha and beta are (B, H): two more axes let alpha meet the state, one lets beta meet a value.",
    ),
)
