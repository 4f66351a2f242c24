"""Exercise: attention to the text nearby, mixed with the memories that score highest."""

from typing import Any

import torch
from course_utils.attention import memory_attention
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import adding, mistake, without
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import batch_mixed, other_kinds
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.scale import DEFAULT
from course_utils.exercises.shared.values import average_law
from torch import Tensor

RIGHT = """
def memory_attention(query, key, value, memory_key, memory_value, top_k, gate):
    default = 1 / math.sqrt(query.shape[-1])
    length, size = query.shape[2], memory_key.shape[2]
    products = query @ key.mT
    scaled = products * default
    visible = torch.ones(length, length, dtype=torch.bool).tril()
    scores = scaled.masked_fill(~visible, -torch.inf)
    weights = stable_softmax(scores)
    near = weights @ value
    similar = query @ memory_key.mT
    far_scores = similar * default
    count = min(top_k, size)
    compared = far_scores
    chosen = compared.topk(count, dim=-1).indices
    is_chosen = torch.zeros_like(far_scores, dtype=torch.bool).scatter(-1, chosen, True)
    kept = far_scores.masked_fill(~is_chosen, -torch.inf)
    far_weights = stable_softmax(kept)
    far = far_weights @ memory_value
    opened = gate.sigmoid()
    g = opened.view(-1, 1, 1)
    mixed = g * far + (1 - g) * near
    return mixed
"""
_SIZES = {"B": 2, "H": 3, "L": 4, "M": 6, "d_k": 5, "d_v": 3}


def _made(
    top_k: int, *, size: float = 1.0, dtype: str = "float64", apart: bool = False, gate: float | None = None,
    **sizes: int,
) -> Make:  # fmt: skip
    B, H, L, M, d_k, d_v = ({**_SIZES, **sizes}[name] for name in _SIZES)

    def make(g: torch.Generator) -> tuple[Any, ...]:
        def drawn(length: int, width: int, wide: float) -> Tensor:
            made = normal(g, B, H, length, width, size=wide, dtype=getattr(torch, dtype))
            return strided(made) if apart else made

        text = drawn(L, d_k, size), drawn(L, d_k, size), drawn(L, d_v, 1.0)
        memory = drawn(M, d_k, size), drawn(M, d_v, 1.0)
        opened = normal(g, H, dtype=getattr(torch, dtype))
        return (*text, *memory, top_k, opened if gate is None else torch.full_like(opened, gate))

    return make


def _read_only(
    fn: Function, query: Tensor, key: Tensor, value: Tensor, memory_key: Tensor, memory_value: Tensor, *rest: Any
) -> Any:
    """Call the function with a memory into which no gradient flows: whether one would is not judged."""
    return fn(query, key, value, memory_key.detach(), memory_value.detach(), *rest)


def _learned(name: str, make: Make) -> Case:
    return case(name, make, run=_read_only, gradient="equal")


def _everything(args: tuple[Any, ...]) -> Tensor:
    return torch.cat([args[2], args[4]], dim=2)


_PARTED = ("joint = stable_softmax(torch.cat([kept, scores], -1))\n"
           "far = joint[..., :size] @ memory_value\n"
           "mixed = g * far + (1 - g) * (joint[..., size:] @ value)")
_SOFTENED = "far_weights = stable_softmax(far_scores) * is_chosen"
_JOINT = ("joint = stable_softmax(torch.cat([kept, scores], -1))\n"
          "return joint @ torch.cat([memory_value, value], 2)")
_GATED = ("joint = stable_softmax(torch.cat([kept + gate.view(-1, 1, 1), scores], -1))\n"
          "return joint @ torch.cat([memory_value, value], 2)")

EXERCISE = exercise(
    memory_attention,
    right=RIGHT,
    asks="Mix causal attention to the text with attention to the memories that score highest for each query.",
    minutes=15,
    difficulty=3,
    importance=3,
    cases=(
        case("4 tokens, the best 2 of 6 memories", _made(2)),
        case("3 tokens, the best 3 of 8 memories, one head", _made(3, B=1, H=1, L=3, M=8, d_k=4)),
        case("the best 7 of 10 memories of width 5", _made(7, M=10)),
        case("the best memory alone", _made(1, L=3, M=5)),
        case("top_k as large as the memory", _made(5, M=5)),
        case("top_k larger than the memory", _made(9, M=4)),
        case("one memory", _made(3, M=1)),
        case("one token", _made(2, L=1, M=7)),
        case("every size is 3", _made(2, B=3, H=3, L=3, M=3, d_k=3, d_v=3)),
        case("every size is 4, 2 of 4 memories", _made(2, B=4, H=4, L=4, M=4, d_k=4, d_v=4)),
        case("gates of 0: near and far count alike", _made(2, gate=0.0)),
        case("gates of -30: the text alone", _made(2, gate=-30.0)),
        case("gates of 30: the memory alone", _made(3, gate=30.0)),
        case("scores of hundreds", _made(3, size=20.0)),
        case("non-contiguous inputs", _made(3, apart=True)),
        case("float32", _made(3, dtype="float32")),
        _learned("gradients", _made(2)),
        _learned("gradients of one token, one memory", _made(2, L=1, M=1)),
    ),
    mistakes=(
        mistake("gate without sigmoid", "The gate's number is used as the share of the memory, though it may be "
                "negative or above 1. What makes a share of it?", "opened = gate", "opened = gate.clamp(0, 1)"),
        mistake("the gate swapped", "Near has the share that far should have. Which of the two does a large gate "
                "favour?", "mixed = g * near + (1 - g) * far", "opened = (-gate).sigmoid()"),
        mistake("another curve than the sigmoid", "The gate's number is bent by another function than the sigmoid. At "
                "a gate of 0, which share should the memory have?", "opened = gate.tanh()", "opened = gate.exp()",
                "opened = gate.softmax(0)", "opened = gate.relu()", "opened = (gate > 0).to(gate.dtype)"),
        mistake("gate ignored", "Near and far count alike, or one of them not at all, whatever the gate says. Where is "
                "it used?", "g = 0.5", "mixed = far", "mixed = near"),
        mistake("far added on top", "The two shares do not sum to 1. What is left for near, if far has g?",
                "mixed = near + g * far", "mixed = near + far", "mixed = g * (near + far)", "mixed = g * far",
                "mixed = (1 - g) * near", "mixed = g * far - (1 - g) * near", "mixed = g * far + g * near"),
        mistake("heads before the batch", "The heads came back before the batch. Which of the two is the first axis?",
                "return mixed.transpose(0, 1)"),
        mistake("tokens before heads", "The axes came back as (B, L, H, d_v), or with the heads joined. Heads stand "
                "before tokens here.", "return mixed.transpose(1, 2)", "return mixed.transpose(1, 2).flatten(2)"),
        mistake("one gate for all heads", "All heads were given the same gate. There is a number for each of them.",
                "g = opened.mean()", "g = opened[0]", "g = opened[-1]"),
        mistake("a gate for each token or number", "The gates were laid along another axis than the heads. Where do "
                "the heads stand in (B, H, L, d_v)?", "g = opened.view(-1, 1)", "g = opened",
                "g = opened.view(-1, 1, 1, 1)", "g = opened.unsqueeze(-1)", "g = opened.view(1, 1, -1, 1)",
                "g = opened.view(1, 1, 1, -1)", "g = opened.view(-1, 1, 1, 1).transpose(0, 2)"),
        mistake("one softmax over both", "Text and memories share one softmax, so that they compete with each other. "
                "Here each has a softmax of its own, and the gate mixes the two.", _JOINT, _GATED, _PARTED),
        mistake("softmax before the choice", "The weights of the chosen memories do not sum to 1: the softmax had been "
                "taken over all of them. Over which ones is it taken here?", _SOFTENED),
        mistake("one choice for all queries", "All queries read the same memories. Each chooses for itself.",
                "chosen = compared.mean(2, keepdim=True).topk(count, dim=-1).indices.expand(-1, -1, length, -1)",
                "chosen = compared.amax(2, keepdim=True).topk(count, dim=-1).indices.expand(-1, -1, length, -1)",
                "chosen = compared[:, :, -1:].topk(count, dim=-1).indices.expand(-1, -1, length, -1)",
                "chosen = compared[:, :, :1].topk(count, dim=-1).indices.expand(-1, -1, length, -1)"),
        mistake("one choice for all heads", "All heads read the same memories. Each chooses for itself.",
                "chosen = compared.mean(1, keepdim=True).topk(count, dim=-1).indices.expand(-1, len(gate), -1, -1)",
                "chosen = compared[:, :1].topk(count, dim=-1).indices.expand(-1, len(gate), -1, -1)"),
        mistake("one choice for all sequences", "All sequences of the batch read the same memories. Each has its own.",
                "chosen = compared[:1].topk(count, dim=-1).indices.expand(len(query), -1, -1, -1)"),
        mistake("the best queries", "For each memory the queries that score highest were chosen. Who chooses among "
                "whom?",
                "best = compared.topk(min(top_k, length), dim=-2).indices\nchosen = compared.topk(count).indices\n"
                "is_chosen = torch.zeros_like(far_scores, dtype=torch.bool).scatter(-2, best, True)"),
        mistake("the lowest scores", "The memories that score lowest were read. Which end of the order is wanted?",
                "chosen = compared.topk(count, dim=-1, largest=False).indices"),
        mistake("chosen by size", "The scores were compared without their sign. Is a score of -9 a good one?",
                "compared = far_scores.abs()"),
        mistake("chosen by another similarity", "The memories were chosen by an angle or a distance, and then weighted "
                "by their scores. By which number does a memory score here?",
                "compared = -torch.cdist(query, memory_key)",
                "compared = query @ F.normalize(memory_key, dim=-1).mT"),
        mistake("cosine similarity", "The scores are those of vectors of length 1. Does a dot product divide by the "
                "lengths?",
                "similar = F.normalize(query, dim=-1) @ F.normalize(memory_key, dim=-1).mT",
                "far_scores = F.normalize(query, dim=-1) @ F.normalize(memory_key, dim=-1).mT",
                "similar = query @ F.normalize(memory_key, dim=-1).mT"),
        mistake("distances for scores", "The memories were compared by their distance. Which product compares query "
                "and key?", "far_scores = -torch.cdist(query, memory_key)",
                "far_scores = -torch.cdist(query, memory_key) * default",
                "far_scores = -torch.cdist(query, memory_key).square()"),
        mistake("chosen by place", "The first or the last memories were read, whatever they hold. Which ones score "
                "highest?", "chosen = torch.arange(count).expand(*far_scores.shape[:-1], -1)",
                "chosen = torch.arange(size - count, size).expand(*far_scores.shape[:-1], -1)"),
        mistake("the keys of the text did the search", "The keys of the text asked the memory. Who asks?",
                "similar = key @ memory_key.mT"),
        mistake("memories compared with their values", "The scores come from the values of the memory. What is a query "
                "compared with?", "similar = query @ memory_value.mT"),
        mistake("all memories read", "All memories have a share. How many are read?", "count = size",
                "kept = far_scores"),
        mistake("only the best memory", "Only one memory is read. How many should be?", "count = 1"),
        mistake("one too many, or one too few", "The number of memories that are read is off by one.",
                "count = min(top_k + 1, size)", "count = max(min(top_k, size) - 1, 1)"),
        mistake("top_k cut by another size", "Fewer memories are read than asked for: their number was cut by the "
                "width or by the length of the text. Which size alone can be too small for top_k?",
                "count = min(top_k, size, query.shape[-1])", "count = min(top_k, size, length)",
                "count = min(top_k, size, value.shape[-1])"),
        mistake("values of other memories", "The weights are those of the chosen memories, the values those of others. "
                "Where does `topk` say which ones were chosen?",
                "far = far_scores.topk(count, dim=-1).values.softmax(-1) @ memory_value[:, :, :count]",
                "far = far_weights @ memory_value[:1, :1]", "far = far_weights @ memory_value[:1]",
                "far = far_weights @ memory_value[:, :1]"),
        mistake("top_k larger than the memory", "There are fewer memories than top_k, and the call fails or nothing is "
                "read. What should be read then?", "count = top_k"),
        mistake("the chosen ones averaged", "The chosen memories all have the same weight. What do their scores say "
                "beyond the choice?", "far_weights = is_chosen.to(query.dtype) / count"),
        mistake("raw scores as weights", "The chosen scores are used as weights as they are, or divided by their sum. "
                "They may be negative: what makes shares of them?", "far_weights = far_scores * is_chosen",
                "raw = far_scores * is_chosen\nfar_weights = raw / raw.sum(-1, keepdim=True)"),
        mistake("the others left with a score of 0", "Memories that were not chosen got the score 0, whose exponential "
                "is 1. Which score has none?", "kept = far_scores * is_chosen"),
        mistake("a causal mask on the memory", "A query sees only as many memories as there are tokens up to it. All "
                "of the memory is past: what would the mask hide?",
                "early = torch.ones(length, size, dtype=torch.bool).tril()\n"
                "compared = far_scores.masked_fill(~early, -torch.inf)\nkept = compared.masked_fill(~is_chosen, "
                "-torch.inf)", "early = torch.ones(length, size, dtype=torch.bool).tril()\n"
                "kept = far_scores.masked_fill(~(is_chosen & early), -torch.inf)"),
        mistake("the future of the text seen", "The attention to the text is not causal. Which of its keys may a query "
                "see?", "visible = torch.ones(length, length, dtype=torch.bool)"),
        mistake("the text's mask the wrong way", "In the text, the past is hidden and the future seen. Which triangle "
                "is kept?", "visible = torch.ones(length, length, dtype=torch.bool).triu()"),
        mistake("own key hidden", "In the text, a query does not see its own key, and the first query sees nothing. Is "
                "a token its own future?", "visible = torch.ones(length, length, dtype=torch.bool).tril(-1)"),
        mistake("one key of the future seen", "In the text, every query sees one key too many.",
                "visible = torch.ones(length, length, dtype=torch.bool).tril(1)"),
        mistake("hidden keys with a score of 0", "Hidden keys of the text got the score 0, whose exponential is 1. "
                "Which score has none?", "scores = scaled * visible"),
        mistake("the text's top_k too", "The choice was made in the text as well. Only the memory is searched: how "
                "much of the text nearby is read?",
                "best = scaled.masked_fill(~visible, -torch.inf).topk(min(top_k, length), dim=-1)\n"
                "scores = torch.full_like(scaled, -torch.inf).scatter(-1, best.indices, best.values)"),
        *adding(without(DEFAULT, "scale after softmax"), {
            "no scale": ("far_scores = similar", "scaled = products"),
            "the root of the wrong size": ("far_scores = similar / math.sqrt(size)",),
        }),
        mistake("keys averaged instead of values", "The weights average keys. A key says where to look; what says what "
                "is found there?", "far = far_weights @ memory_key", "near = weights @ key"),
        mistake("softmax over the queries", "The columns of the weights sum to 1, not the rows. Who distributes "
                "attention among whom?", "weights = stable_softmax(scores.mT).mT",
                "far_weights = stable_softmax(kept.mT).mT"),
        mistake("no shift before exp", "Scores in the hundreds give NaN: their exponentials overflow. What does a "
                "stable softmax subtract first?", "far_weights = kept.exp() / kept.exp().sum(-1, keepdim=True)",
                "weights = scores.exp() / scores.exp().sum(-1, keepdim=True)",
                "far_weights = kept.exp() / kept.exp().sum(-1, keepdim=True)\n"
                "weights = scores.exp() / scores.exp().sum(-1, keepdim=True)"),
        mistake("cut from the gradient", "The values are right, but no gradient reaches the gate, the queries, or the "
                "text. Only the memory need not learn: what cuts the others off?",
                "g = opened.detach().view(-1, 1, 1)", "far = far_weights.detach() @ memory_value",
                "far_weights = stable_softmax(kept).detach()", "near = (weights @ value).detach()",
                "weights = stable_softmax(scores).detach()", "return mixed.detach()"),
        batch_mixed("similar = query @ memory_key[:1].mT", "similar = query @ memory_key[:1].mT\n"
                    "far = far_weights @ memory_value[:1]"),
        mistake("one head for all", "All heads compare with the memories, or the text, of one head. Each has its own.",
                "similar = query @ memory_key[:, :1].mT",
                "similar = query @ memory_key[:, :1].mT\nfar = far_weights @ memory_value[:, :1]",
                "similar = query[:, :1] @ memory_key.mT"),
        *other_kinds("mixed"),
        lower_precision(memory_attention, "kind = query.dtype\n"
                        "query, key, value = (x.float() for x in (query, key, value))\n"
                        "memory_key, memory_value, gate = (x.float() for x in (memory_key, memory_value, gate))\n"
                        "default = 1 / math.sqrt(query.shape[-1])\nreturn mixed.to(kind)"),
    ),
    laws=(average_law(_everything),),
    hints=(
        "Two attentions, each with a softmax of its own. What differs is which keys a query may see: in one by place, "
        "in the other by score.",
        "`topk` along the memories gives scores and places, for each query by itself. What if there are fewer "
        "memories than top_k?",
        "Softmax over the chosen scores alone. Then either gather the chosen values, or put the weights into a row of "
        "zeros with `scatter` and multiply.",
        "The gate has a number for each head: it needs two more axes after it, and its sigmoid is the memory's share.",
    ),
)
