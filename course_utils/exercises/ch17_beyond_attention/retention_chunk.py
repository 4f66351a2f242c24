"""Exercise: retention over a chunk of tokens behind a state."""

import torch
from course_utils.attention import retention_chunk
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import normal
from course_utils.checking.mistakes import adding, mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.ch17_beyond_attention.retention_parallel import decays
from course_utils.exercises.shared import kinds
from course_utils.exercises.shared.kinds import NOTHING, squeezed
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.states import COMPARED, FADING, LEFT_OUT, SCALED, cut_off, in_place, returned
from torch import Tensor

RIGHT = """
def retention_chunk(query, key, value, decay, state):
    default = 1 / math.sqrt(query.shape[-1])
    length = query.shape[-2]
    place = torch.arange(length)
    rate = decay[:, None, None]
    ages = place.unsqueeze(-1) - place
    powers = rate ** ages.clamp(min=0)
    faded = powers.tril()
    products = query @ key.mT
    weights = products * default * faded
    inner = weights @ value
    since = rate ** (place + 1).unsqueeze(-1)
    found = query @ state
    outer = since * found * default
    out = inner + outer
    until = rate ** (length - 1 - place).unsqueeze(-1)
    written = (until * key).mT @ value
    keep = rate ** length
    new_state = keep * state + written
    return out, new_state
"""


def _chunks(*lengths: int) -> Function:
    """Return a run over chunks of these lengths, each behind the last."""

    def run(fn: Function, query: Tensor, key: Tensor, value: Tensor, decay: Tensor, state: Tensor) -> Tensor:
        parts = []
        for q, k, v in zip(*(x.split(lengths, -2) for x in (query, key, value)), strict=True):
            out, state = fn(q, k, v, decay, state)
            parts.append(out)
        return torch.cat(parts, -2)

    return run


def _long(g: torch.Generator) -> tuple[Tensor, ...]:
    return (*(normal(g, 1, 1, 70, width, dtype=torch.float32) for width in (2, 2, 3)),
            torch.tensor([0.1]), normal(g, 1, 1, 2, 3, dtype=torch.float32))


EXERCISE = exercise(
    retention_chunk,
    right=RIGHT,
    asks="Read the state and the chunk's own past, and hand the state on with the chunk in it.",
    minutes=12,
    difficulty=4,
    importance=4,
    parts=("out", "state"),
    cases=(
        case("a batch: 5 tokens, three heads", B=2, H=3, T=5, d_k=4, d_v=6, decay=lambda g: decays(g, 3),
             gradient="equal"),
        case("every size 3", B=3, H=3, T=3, d_k=3, d_v=3, decay=lambda g: decays(g, 3), gradient="equal"),
        case("one token: the recurrent form", B=1, H=1, T=1, d_k=4, d_v=2, decay=lambda g: decays(g, 1)),
        case("a chunk from zeros: the parallel form", B=2, H=1, T=4, d_k=3, d_v=5, decay=lambda g: decays(g, 1),
             state=lambda g: torch.zeros(2, 1, 3, 5, dtype=torch.float64)),
        case("two tokens", B=1, H=2, T=2, d_k=5, d_v=3, decay=lambda g: decays(g, 2)),
        case("width 1", B=2, H=1, T=4, d_k=1, d_v=1, decay=lambda g: decays(g, 1)),
        case("a decay of 1", B=1, H=2, T=4, d_k=3, d_v=4,
             decay=lambda g: torch.tensor([1.0, 0.5], dtype=torch.float64)),
        case("chunks of 3, 1 and 4, one behind the other", B=2, H=2, T=8, d_k=3, d_v=4, decay=lambda g: decays(g, 2),
             run=_chunks(3, 1, 4), gradient="equal"),
        case("non-contiguous inputs", B=2, H=4, T=6, d_k=3, d_v=5, decay=lambda g: decays(g, 4), strided=True),
        case("70 tokens in float32, decay 0.1", _long, tolerance=1e-4, gradient="finite"),
        case("bfloat16", B=2, H=3, T=4, d_k=5, d_v=3, dtype="bfloat16", tolerance=1.0,
             decay=lambda g: decays(g, 3, torch.bfloat16)),
    ),
    mistakes=(
        mistake("past not faded inside a chunk", "Every token of the chunk reads the state at the same size. What has "
                "happened to it by the chunk's last token?", "since = torch.ones_like(place).unsqueeze(-1)",
                "since = rate", "since = rate ** length"),
        mistake("past faded by one power too few", "The chunk's first token reads the state unfaded. How many steps "
                "lie between it and the last token of the past?", "since = rate ** place.unsqueeze(-1)"),
        mistake("past faded by one power too many", "The chunk's first token reads the state faded twice. How many "
                "steps lie between it and the last token of the past?", "since = rate ** (place + 2).unsqueeze(-1)"),
        mistake("past faded the wrong way round", "The first token of the chunk reads the most faded past. For which "
                "token is the past longest ago?", "since = rate ** (length - place).unsqueeze(-1)",
                "since = rate ** (length - 1 - place).unsqueeze(-1)"),
        mistake("state faded once a chunk", "The old state fades by one step, however many tokens the chunk has. How "
                "many steps lie between the old last token and the new one?", "keep = rate"),
        mistake("state not faded", "The old state is handed on at full size. How many steps have passed?",
                "keep = torch.ones_like(rate)"),
        mistake("state faded by another power", "The old state fades by one step too many or too few. How many "
                "tokens has the chunk?", "keep = rate ** (length - 1)", "keep = rate ** (length + 1)"),
        mistake("new keys unfaded", "All tokens of the chunk are written at full size. Which of them is one step old "
                "at the chunk's end?", "until = torch.ones_like(place).unsqueeze(-1)"),
        mistake("new keys faded the wrong way round", "The chunk's last token fades most in the state. Which of its "
                "tokens is the oldest?", "until = rate ** place.unsqueeze(-1)",
                "until = rate ** (place + 1).unsqueeze(-1)"),
        mistake("new keys faded by another power", "The chunk's last token is faded when it is written, or the others "
                "by one step too few. How old is the last token at the chunk's end?",
                "until = rate ** (length - place).unsqueeze(-1)",
                "until = rate ** (length - 2 - place).clamp(min=0).unsqueeze(-1)"),
        mistake("scale missing on the past", "What is read from the state is not scaled, what is read from the chunk "
                "is. Which of the two is a product of query and key?", "outer = since * found"),
        mistake("scale missing inside the chunk", "What is read from the chunk is not scaled, what is read from the "
                "state is.", "weights = products * faded"),
        mistake("scale in the state", "The state came back scaled. The scale acts when a query reads: what would two "
                "chunks do to it?", "written = (until * key).mT @ value * default",
                "new_state = (keep * state + written) * default",
                "written = (until * key).mT @ value * default\nouter = since * found"),
        mistake("the past left out", "The queries see their own chunk alone. What does the state hold?", "out = inner"),
        mistake("its own chunk left out", "The queries see the past alone. What of the tokens of their chunk?",
                "out = outer"),
        mistake("own chunk read from the new state", "Every query read the state with the whole chunk in it, the "
                "future too. When is the state read, before or after the write?",
                "return since * (query @ new_state) * default, new_state", "return query @ new_state * default, "
                "new_state", "return inner + since * (query @ new_state) * default, new_state",
                "return inner + query @ new_state * default, new_state"),
        mistake("the state replaced", "The state holds this chunk alone. What became of the past?",
                "new_state = written"),
        mistake("the state transposed", "Rows and columns of the state changed places. It has a row for each feature "
                "of a key.", "written = value.mT @ (until * key)", "found = query @ state.mT",
                "written = value.mT @ (until * key)\nfound = query @ state.mT", "return out, new_state.mT"),
        mistake("queries written instead of keys", "The state was made of queries, or read with keys. Which of the two "
                "asks?", "written = (until * query).mT @ value", "found = key @ state"),
        *adding(FADING, {"nothing fades": ("faded = torch.ones_like(powers).tril()\n"
                                           "since = torch.ones_like(rate)\nuntil = torch.ones_like(rate)\n"
                                           "keep = torch.ones_like(rate)",),
                         "γⁿ · γ⁻ᵐ": (
                             "forth = rate ** (place + 1).unsqueeze(-1)\n"
                             "weights = ((query * forth) @ (key / forth).mT * default).tril()\n"
                             "new_state = keep * (state + (key / forth).mT @ value)",
                             "forth = rate ** (place + 1).unsqueeze(-1)\n"
                             "new_state = keep * (state + (key / forth).mT @ value)",
                             "since = rate ** (place + 1).unsqueeze(-1)\nback = rate ** -(place + 1).unsqueeze(-1)\n"
                             "weights = ((query * rate ** (place + 1).unsqueeze(-1)) @ (key * back).mT * "
                             "default).tril()\n"
                             "new_state = keep * (state + (key * back).mT @ value)",
                             "back = rate ** -(place + 1).unsqueeze(-1)\n"
                             "new_state = keep * (state + (key * back).mT @ value)"),
                         "a moving average": (
                             "faded = powers.tril() * (1 - rate)\nwritten = (until * key).mT @ value * (1 - rate)",
                             "written = (until * key).mT @ value * (1 - rate)")}),
        *SCALED,
        *COMPARED,
        mistake("weights transposed", "The values were added up along the wrong axis of the weights. Which axis of "
                "the weights meets the keys of the values?", "inner = weights.mT @ value"),
        in_place("new_state = state.mul_(keep).add_(written)", "new_state = state.mul_(keep)\nnew_state += written"),
        returned("new_state = state.clone()", "new_state = keep * state"),
        cut_off("found = query @ state.detach()\nnew_state = keep * state.detach() + written",
                "found = query @ state.detach()", "new_state = keep * state.detach() + written",
                "new_state = (keep * state + written).detach()"),
        kinds.cut_off("rate = decay.detach()[:, None, None]", "products = query @ key.detach().mT",
                      "products = query.detach() @ key.mT", "inner = weights @ value.detach()",
                      "written = (until * key).mT.detach() @ value", "written = (until * key).mT @ value.detach()"),
        mistake("heads and positions exchanged", "The output has the positions before the heads. Which of them comes "
                "first in (B, H, T, d_v)?", "return out.transpose(1, 2), new_state"),
        mistake("a norm on the output", "The output was normalised, as RetNet does behind its heads. That is a layer "
                "of its own: what did the exercise ask for?", "out = F.layer_norm(inner + outer, value.shape[-1:])",
                "out = F.rms_norm(inner + outer, value.shape[-1:])"),
        *LEFT_OUT,
        mistake("the last token alone returned", "Only what the last token reads came back. What is asked for each "
                "token?", "return out[:, :, -1], new_state", "return out[:, :, -1:], new_state"),
        squeezed("return out{}, new_state"),
        NOTHING,
        kinds.overwritten(*kinds.writing(retention_chunk, 0, 1, 2, 3)),
        lower_precision(retention_chunk, "inner = (weights.float() @ value.float()).to(query.dtype)"),
    ),
    hints=(
        "The output has two parts: what a query finds in its own chunk, as in the parallel form, and what it finds in "
        "the state. How far has the state faded when token t reads it?",
        "The state was made right after the last token of the past. The chunk's token 0 comes one step later, so it "
        "reads the state times decay; token t reads it times decay to the power t + 1.",
        "At the chunk's end, its last token has not faded, the one before it once. The old state has faded T times.",
        "Two things carry the scale: the scores inside and what is read from the state. The state itself does not.",
    ),
)
