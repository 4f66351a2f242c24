"""Exercise: Luong's dot score."""

from course_utils.attention import dot_score
from course_utils.checking.exercise import exercise
from course_utils.checking.mistakes import mistake, without
from course_utils.exercises.shared.kinds import cut_off, overwritten, through_numpy, writing
from course_utils.exercises.shared.scores import PRODUCT, score_cases, table

RIGHT = """
def dot_score(query, key):
    asked = query
    offered = key
    left = asked
    scores = left @ offered.mT
    return scores
"""

EXERCISE = exercise(
    dot_score,
    right=RIGHT,
    asks="Score each query against each key by their dot product.",
    minutes=4,
    difficulty=1,
    importance=5,
    cases=score_cases("every size is 3: a transpose keeps the shape", (3, 3, 3, 3, 3, 1), same_width=True),
    mistakes=(
        # Nothing comes between the query and the product, and the widths are the same.
        *without(PRODUCT, "scores = F.normalize(left, dim=-1) @ F.normalize(offered, dim=-1).mT",
                 "asked = query.mT\nscores = left @ offered", "scores = left + offered"),
        mistake("query and key changed first", "Something was applied to query and key before the product. They are "
                "taken as they are.",
                "asked = query.tanh()\noffered = key.tanh()", "asked = query.softmax(-1)\noffered = key.softmax(-1)",
                "asked = query.softmax(-1)", "offered = key.softmax(-1)", "asked = query.relu()\noffered = key.relu()",
                "asked = F.layer_norm(query, query.shape[-1:])\noffered = F.layer_norm(key, key.shape[-1:])",
                "asked = query.exp()\noffered = key.exp()",
                "asked = query - query.mean(-1, keepdim=True)\noffered = key - key.mean(-1, keepdim=True)"),
        cut_off("asked = query.detach()", "offered = key.detach()", "return scores.detach()"),
        overwritten(*writing(dot_score, 0, 1)),
        through_numpy("return torch.from_numpy(scores.detach().numpy())"),
        *without(table(dot_score), "query and key swapped", "offered = key.transpose(0, 1)",
                 "return scores / math.sqrt(key.shape[-1])", "return (scores / math.sqrt(key.shape[-1])).softmax(-1)"),
    ),
    hints=(
        "One number for each query and key: what are the shapes of the two, and of the table?",
        "A matrix product sums over the last axis of the left and the last but one of the right. Which of the two "
        "inputs must be transposed for that?",
        "Swap only its last two axes, so that the batch stays in front: `.mT` does that.",
    ),
)
