"""Exercise: the mask for documents packed into one sequence."""

import torch
from course_utils.attention import document_mask
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.inputs import strided
from course_utils.checking.mistakes import mistake, saying
from course_utils.exercises.shared.kinds import squeezed
from course_utils.exercises.shared.masks import AXES, KINDS, PAST, left_out, rows_tell

RIGHT = """
def document_mask(document_ids):
    length = document_ids.shape[-1]
    i = torch.arange(length).unsqueeze(-1)
    j = torch.arange(length)
    past = j <= i
    ids = document_ids
    ours = ids.unsqueeze(-1)
    theirs = ids.unsqueeze(-2)
    same = ours == theirs
    mask = (same & past).unsqueeze(1)
    return mask
"""


def _rows(name: str, *rows: list[int]) -> Case:
    return case(name, lambda g: (torch.tensor(rows),))


EXERCISE = exercise(
    document_mask,
    right=RIGHT,
    asks="Let each query see the past of its own document, and nothing of any other.",
    minutes=10,
    difficulty=2,
    importance=4,
    cases=(
        _rows("two documents in one sequence", [1, 1, 1, 4, 4, 4]),
        _rows("2 sequences with other documents", [1, 1, 2, 2, 2, 3], [4, 5, 5, 5, 6, 6]),
        _rows("4 sequences of 4 positions", [2, 2, 2, 7], [3, 3, 4, 4], [6, 7, 8, 9], [5] * 4),
        _rows("numbers neither in order nor without gaps", [7, 7, 3, 3, 12, 5], [9, 2, 2, 8, 8, 1]),
        _rows("a document that returns later", [1, 1, 2, 1, 2, 1, 3], [4, 5, 4, 4, 5, 6, 4]),
        _rows("the number 0", [0, 0, 1, 1, 2], [3, 3, 0, 0, 0], [4, 0, 0, 4, 4]),
        _rows("negative numbers", [-1, -1, 4, 4, -7], [5, -100, -100, -3, -3], [1, -1, 2, -2, 2]),
        _rows("very large numbers", [2**53, 2**53, 2**53 + 1, 2**53 + 1, 2**60]),
        _rows("one document", [3, 3, 3, 3]),
        _rows("every position its own document", [4, 2, 3, 1], [1, 2, 3, 4]),
        _rows("sequences of one position", [2], [2], [5]),
        case("non-contiguous ids", lambda g: (strided(torch.randint(-2, 3, (3, 8), generator=g)),)),
        case("2 sequences of 40 positions, six documents mixed",
             lambda g: (torch.randint(0, 6, (2, 40), generator=g),)),
    ),
    mistakes=(
        *KINDS,
        left_out("0", "-1", "..., 0, :", "..., -1, :", "..., 0", "..., -1"),
        *saying(PAST, {
            "own key hidden": "A query does not see its own key, so the first of a document sees nothing. Which "
                "comparison allows equality?",
            "one key of the future seen": "Each query sees the next key of its document, the one to be predicted. "
                "Which diagonal is the last one allowed?",
            "the future instead of the past": "Each query sees its own document from itself on. On which side of the "
                "diagonal does a row's past stand?",
            "not causal": "Each query sees its own document, its future included. Which second condition holds for "
                "every pair?",
        }),
        mistake("documents ignored", "This is the causal mask: a document reads the one before it. Where are the ids "
                "compared?", "mask = past.repeat(len(ids), 1, 1, 1)"),
        mistake("one condition enough", "A query sees the past of other documents, and the future of its own. Take one "
                "of those keys: which of the two conditions does it fail, and why is it seen all the same?",
                "mask = (same | past).unsqueeze(1)"),
        mistake("other documents seen", "Each query sees the past of every document except its own. Which of `==` and "
                "`!=` says 'the same'?", "same = ours != theirs", "mask = (ours != theirs).unsqueeze(1)"),
        mistake(AXES.name, "The values are right, but the axes are not (B, 1, L, L). With (B, L, L) a batch lines up "
                "with the heads, silently where there are as many. Where does the new axis go?", "return mask[:, 0]",
                "return mask.movedim(0, 1)", "return mask[0, 0]", "return mask[0]", "return mask.flatten()"),
        mistake("ids compared by order", "Ids are names, not ranks: a larger one is just another document. Which "
                "comparison of two names is meant?", "same = ours >= theirs", "same = ours <= theirs",
                "mask = (ours >= theirs).unsqueeze(1)", "mask = (ours <= theirs).unsqueeze(1)",
                "same = (ours - theirs).abs() <= 1", "same = ours.abs() == theirs.abs()"),
        mistake("only unbroken stretches", "A document that returns after another one was taken for a new document. "
                "Equal id means the same document, wherever it stands: what is compared instead of the ids?",
                "ids = F.pad(document_ids.diff() != 0, (1, 0)).cumsum(-1)"),
        mistake("only the key before", "A query sees itself and the key just before it, and none of those further "
                "back. How far does the past of a document reach?", "past = (j <= i) & (j >= i - 1)"),
        mistake("all between the first and the last of a document", "A document was taken for everything between its "
                "first and its last position, though another one may stand in between. Which two ids decide about one "
                "pair?",
                "mask = torch.zeros(len(ids), 1, length, length, dtype=torch.bool)\n"
                "for table, row in zip(mask, ids, strict=True):\n    for number in row.unique():\n"
                "        places = (row == number).nonzero()\n"
                "        part = slice(int(places[0]), int(places[-1]) + 1)\n        table[0, part, part] = True\n"
                "return mask.tril()"),
        mistake("documents assumed in order", "The ids were used as if documents came sorted, one after the other. "
                "They may come in any order and be mixed. Does the rule need more than two ids at a time?",
                "ids = document_ids.sort(-1).values", "ids = document_ids.cummax(-1).values",
                "ids = document_ids.sort(-1, descending=True).values"),
        mistake("id 0 read as padding", "The document with the number 0 was hidden. No id means padding here: is there "
                "anything about 0 in the rule?", "same = (ours == theirs) & (theirs != 0)",
                "same = (ours == theirs) & (ours * theirs > 0)", "same = (ours == theirs) & (theirs > 0)"),
        mistake("document 0 open to all", "The document with the number 0 is read by all others. An id is only a name: "
                "is there anything about 0 in the rule?", "same = (ours == theirs) | (theirs == 0)",
                "same = (ours == theirs) | (ours == 0)", "same = (ours == theirs) | (ours * theirs == 0)"),
        mistake("last document left out", "The document with the largest number sees nothing. Which is the last number "
                "that `range(n)` gives?", "same = (ours == theirs) & (theirs != ids.max())"),
        mistake("negative ids read as padding", "Documents with a negative number were hidden. No id means padding "
                "here; an id is only a name. Is there anything about the sign in the rule?",
                "same = (ours == theirs) & (theirs >= 0)", "same = (ours == theirs) & (theirs != -1)",
                "same = (ours == theirs) & (theirs != -100)"),
        mistake("ids rounded", "Different ids were taken for equal: on the way they became numbers of a type that does "
                "not hold them all. Which comparison needs no other type, and no arithmetic?",
                *(f"ids = document_ids.{cast}" for cast in ("double()", "float()", "half()", "bfloat16()")),
                *(f"ids = document_ids.to(torch.{kind})" for kind in ("int8", "int16", "uint8"))),
        mistake("ids compared as true and false", "All documents but number 0 were taken for one: 0 is false, and "
                "every other number true. What is to be compared?", "ids = document_ids.bool()",
                "same = ours.bool() & theirs.bool()"),
        mistake("ids used as places", "An id was used as a place in a table, so it stops at a negative one, or makes a "
                "huge table for a large one. An id is only a name: which operation takes any two numbers?",
                *(f"table = F.one_hot(document_ids{more}).double()\nsame = table @ table.mT > 0" for more in (
                    "", ", int(document_ids.max()) + 1")),
                "rows = [torch.bincount(row) for row in ids]\nsame = (ours == theirs) & (len(rows) > 0)"),
        squeezed("mask = (same & past){}.unsqueeze(1)"),
        mistake("one sequence for all", "Every sequence was given the table of one of them. Which axis tells the "
                "sequences apart?",
                "ids = document_ids[:1].expand_as(document_ids)", "ids = document_ids[-1:].expand_as(document_ids)",
                "theirs = ids[:1].expand_as(ids).unsqueeze(-2)", "ids = document_ids[:1]"),
    ),
    laws=rows_tell("query i sees the keys j <= i whose id equals its own, and no other", document_mask),
    hints=(
        "Two questions for each pair: does it belong to the same document, and is the key no later than the query? "
        "Answer them one by one.",
        "To compare every id of a sequence with every other, let the ids stand once as a column and once as a row. "
        "Which two new axes do that to (B, L)?",
        "The causal mask is (L, L) and broadcasts over the batch. Both must hold: which operator? Last comes an axis "
        "of size 1 for the heads: (B, 1, L, L).",
    ),
)
