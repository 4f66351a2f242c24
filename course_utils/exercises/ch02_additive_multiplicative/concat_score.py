"""Exercise: Luong's concat score."""

from course_utils.attention import concat_score
from course_utils.checking.exercise import exercise
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import cut_off, overwritten, through_numpy, writing
from course_utils.exercises.shared.scores import HIDDEN, score_cases, table

RIGHT = """
def concat_score(query, key, W, v):
    asked = query
    offered = key
    W_q, W_k = W.split([query.shape[-1], key.shape[-1]])
    for_query = asked @ W_q
    for_key = offered @ W_k
    pairs = for_query.unsqueeze(-2) + for_key.unsqueeze(-3)
    hidden = torch.tanh(pairs)
    scores = hidden @ v
    return scores
"""

EXERCISE = exercise(
    concat_score,
    right=RIGHT,
    asks="Score each query against each key by tanh([q; k] W)·v, the query first.",
    minutes=8,
    difficulty=2,
    importance=3,
    cases=score_cases("query and key have width 2, every other size is 4: a transpose keeps the shape of `W`",
                      (4, 4, 4, 2, 2, 4), shapes=lambda s: ((s.d_q + s.d_k, s.d_a), (s.d_a,))),
    mistakes=(
        mistake("key before query", "The key was put first, so every row of `W` meets the wrong feature. Which of the "
                "two comes first in [q; k]?",
                "W_k, W_q = W.split([key.shape[-1], query.shape[-1]])\nfor_query = asked @ W_q"),
        mistake("the same rows of W for both", "Query and key meet the same rows of `W`. How many rows has it, and "
                "which belong to whom?", "W_q, W_k = W[:query.shape[-1]], W[:key.shape[-1]]",
                "W_q, W_k = W[-query.shape[-1]:], W[-key.shape[-1]:]"),
        mistake("W cut in the middle", "`W` was cut into two equal parts. Query and key may have different widths: "
                "after how many rows does the query's part end?",
                "W_q, W_k = W.chunk(2)", "W_q, W_k = W[:len(W) // 2], W[len(W) // 2:]",
                "W_q, W_k = W[:query.shape[-1]], W[-query.shape[-1]:]"),
        mistake("W cut at the key's width", "`W` was cut after as many rows as the key has features. Whose features "
                "come first in [q; k]?", "W_q, W_k = W[:key.shape[-1]], W[key.shape[-1]:]"),
        mistake("weight matrix transposed", "`W` is used with its rows and columns swapped, as `F.linear` would have "
                "it. It has a row for each feature of the pair: on which side does the pair stand?",
                "W_q, W_k = W.mT.split([query.shape[-1], key.shape[-1]])",
                "W_q, W_k = W[:, :query.shape[-1]].mT, W[:, query.shape[-1]:].mT"),
        mistake("joined along the length", "Queries and keys were put into one long sequence. Which axis grows when "
                "two vectors are joined into one?", "pairs = torch.cat([query, key], dim=1) @ W[:query.shape[-1]]"),
        mistake("joined without pairing", "Query i was joined to key i, and to no other. Each query must meet each "
                "key: which axes have to be there before `torch.cat`?",
                "pairs = torch.cat([query, key], dim=-1) @ W", "pairs = torch.cat([key, query], dim=-1) @ W"),
        mistake("joined twice", "The same vector is in both halves of the pair. Which two are joined?",
                "pairs = (torch.cat([query, query], -1) @ W).unsqueeze(-2).expand(-1, -1, key.shape[1], -1)",
                "pairs = (torch.cat([key, key], -1) @ W).unsqueeze(-3).expand(-1, query.shape[1], -1, -1)"),
        cut_off(
            "scores = hidden @ v.detach()",
            "W_q, W_k = W.detach().split([query.shape[-1], key.shape[-1]])",
            "W_q, W_k = W.detach().split([query.shape[-1], key.shape[-1]])\nscores = hidden @ v.detach()",
            "offered = key.detach()",
            "asked = query.detach()",
            "return scores.detach()",
        ),
        overwritten(*writing(concat_score, 0, 1, 2, 3)),
        through_numpy("return torch.from_numpy(scores.detach().numpy())"),
        *HIDDEN,
        *table(concat_score),
    ),
    hints=(
        "Every query is joined to every key: (B, L, S, d_q + d_k). What must happen to each of the two before "
        "`torch.cat` can join them?",
        "`unsqueeze` and `expand` give both the shape (B, L, S, ...). Along which axis are they joined then?",
        "Or look at `W`: its upper rows only ever meet the query, the lower ones only the key. What is the product of "
        "a joined vector with a matrix, part by part?",
    ),
)
