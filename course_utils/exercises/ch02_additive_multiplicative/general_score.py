"""Exercise: Luong's general score."""

from course_utils.attention import general_score
from course_utils.checking.exercise import exercise
from course_utils.checking.mistakes import adding, mistake, saying, without
from course_utils.exercises.shared.kinds import cut_off, overwritten, through_numpy, writing
from course_utils.exercises.shared.scores import PRODUCT, score_cases, table

RIGHT = """
def general_score(query, key, W):
    asked = query
    offered = key
    left = asked @ W
    scores = left @ offered.mT
    return scores
"""

EXERCISE = exercise(
    general_score,
    right=RIGHT,
    asks="Score each query against each key through a matrix: q W kᵀ.",
    minutes=5,
    difficulty=1,
    importance=4,
    cases=score_cases("every size is 3: a transpose keeps the shape", (3, 3, 3, 3, 3, 1),
                      shapes=lambda s: ((s.d_q, s.d_k),)),
    mistakes=(
        mistake("weight matrix transposed", "`W` is used with its rows and columns swapped, as `F.linear` would have "
                "it. It has a row for each feature of the query: on which side does the query stand?",
                "left = asked @ W.mT", "left = asked\nscores = left @ (offered @ W).mT"),
        mistake("W left out", "The matrix changes nothing: this is the dot score, which needs equal widths. Where does "
                "`W` stand?", "left = asked"),
        mistake("W applied twice", "Both query and key went through `W`. Only one of the two has to be brought into "
                "the other's space.", "scores = left @ (offered @ W).mT", "scores = left @ (offered @ W.mT).mT",
                "left = asked @ W.mT\nscores = left @ (offered @ W.mT).mT", "left = asked @ W @ W.mT"),
        mistake("W made symmetric", "`W` was averaged with its transpose, so a query scores a key as the key would "
                "score it. May the relation be one-sided?",
                "left = asked @ (W + W.mT) / 2", "left = asked @ (W + W.mT)"),
        mistake("product with W entry by entry", "`*` multiplies entries in the same place. Which operator sums over "
                "the query's features?", "left = asked * W", "left = asked\nscores = left @ (W * offered).mT",
                "left = asked\nscores = (left @ offered.mT) * W"),
        mistake("W changed first", "Something was applied to `W` before it was used. It is used as given.",
                "left = asked @ W.softmax(-1)", "left = asked @ W.softmax(0)", "left = asked @ torch.linalg.pinv(W).mT",
                "left = asked @ torch.linalg.pinv(W)", "left = asked @ W.tanh()", "left = asked @ W.abs()",
                "left = asked @ (W + torch.eye(*W.shape, dtype=W.dtype))", "left = asked @ F.normalize(W, dim=-1)",
                "left = asked @ F.normalize(W, dim=0)"),
        mistake("the diagonal of W alone", "Only the diagonal of `W` counts. Which entries let feature 1 of a query "
                "speak to feature 2 of a key?", "left = asked * W.diagonal()"),
        mistake("the matrix in between", "`W` came after the scores and mixed the keys, or before the query and mixed "
                "the queries. Between which two does it stand in q W kᵀ?",
                "left = asked\nscores = left @ offered.mT @ W", "left = W @ asked",
                "left = asked\nscores = W @ (left @ offered.mT)"),
        mistake("tanh inside", "Something like a tanh stands in between, as in additive scoring. A general score is a "
                "plain product of three: where does it bend?", "left = (asked @ W).tanh()", "left = (asked @ W).relu()",
                "left = asked\nscores = left @ (offered @ W.mT).tanh().mT",
                "left = (asked @ W).tanh()\noffered = key.tanh()", "asked = query.tanh()\noffered = key.tanh()",
                "left = (asked @ W).sigmoid()", "left = (asked @ W).softmax(-1)"),
        mistake("the keys not used", "One of the two inputs plays no part. What is scored against what?",
                "scores = left", "scores = offered @ W", "scores = offered @ W.mT"),
        *adding(saying(PRODUCT, {
            "key not transposed": "The last product ran over the keys instead of the features. Which axis do the "
                "projected query and the key share?",
            "added instead of multiplied": "The projected query was added to the key. Which operation compares two "
                "vectors?",
        }), {"key not transposed": ("left = asked\nscores = left @ (offered @ W.mT)",)}),
        cut_off(
            "left = asked @ W.detach()",
            "left = asked @ torch.nn.Parameter(W)",
            "asked = query.detach()",
            "offered = key.detach()",
            "return scores.detach()",
        ),
        overwritten(*writing(general_score, 0, 1, 2)),
        through_numpy("return torch.from_numpy(scores.detach().numpy())"),
        *without(table(general_score), "offered = key.transpose(0, 1)"),
    ),
    hints=(
        "It is a dot product again, but of the key with something made from the query. What turns a vector of width "
        "d_q into one of width d_k?",
        "`W` has a row for each feature of the query. On which side of it does the query stand?",
        "Two products in a row: (B, L, d_q) with (d_q, d_k), then with the keys, turned so that their features meet. "
        "What is the shape after each?",
    ),
)
