"""Exercise: the padding mask, from the length of each sequence."""

import torch
from course_utils.attention import padding_mask
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.mistakes import mistake, saying
from course_utils.exercises.shared.kinds import squeezed
from course_utils.exercises.shared.masks import AXES, EMPTY, KINDS, left_out, rows_tell

RIGHT = """
def padding_mask(lengths, num_keys):
    j = torch.arange(num_keys)
    until = lengths.unsqueeze(-1)
    real = j < until
    mask = real[:, None, None, :]
    return mask
"""


def _lengths(name: str, lengths: list[int], num_keys: int, step: int = 1) -> Case:
    return case(name, lambda g: (torch.tensor(lengths)[::step], num_keys))


EXERCISE = exercise(
    padding_mask,
    right=RIGHT,
    asks="Say which keys of each sequence are real: key j where j < lengths[b].",
    minutes=6,
    difficulty=1,
    importance=5,
    cases=(
        _lengths("3 sequences, 5 keys", [3, 5, 2], 5),
        _lengths("4 sequences, 4 keys", [2, 4, 1, 3], 4),
        _lengths("5 sequences, 3 keys, not sorted", [2, 3, 1, 1, 3], 3),
        _lengths("more keys than the longest sequence has", [2, 3], 7),
        _lengths("a sequence of length 0", [4, 0, 2], 6),
        _lengths("nothing but padding", [0, 0], 3),
        _lengths("no padding", [4, 4], 4),
        _lengths("one sequence", [2], 5),
        _lengths("one key", [1, 0, 1], 1),
        _lengths("non-contiguous lengths", [3, 9, 0, 9, 5, 9, 2, 9], 6, step=2),
        _lengths("2 sequences, 300 keys", [299, 256], 300),
    ),
    mistakes=(
        *KINDS,
        left_out("0", "-1"),
        mistake("padded keys marked", "True marks padding, all but its first key. Which keys may be attended to, and "
                "what is the number of the last of them?", "real = j > until"),
        mistake("lengths added up", "The lengths before a sequence were counted with its own. Does each sequence start "
                "a new row, or go on where the last one ended?", "until = lengths.cumsum(0).unsqueeze(-1)"),
        mistake("one padded key taken for real", "Each sequence has one real key too many. The first key is number 0: "
                "what is the number of the last one in a sequence of length 3?",
                "real = j <= until", "real = j <= until + 1"),
        mistake("last real key hidden", "The last real key of each sequence is called padding. The first key is number "
                "0: what is the number of the last one in a sequence of length 3?",
                "real = j < until - 1", "real = (j < until) & (j < num_keys - 1)"),
        mistake("padding on the left", "The real keys stand at the end of the row. Here they come first: key j is real "
                "when j < lengths[b]. From which side do you count?",
                "real = j >= num_keys - until", "real = j > num_keys - until", "real = j >= until - 1"),
        mistake("queries masked instead of keys", "The lengths run along the queries' axis, the last but one. A padded "
                "query does no harm, a padded key does: which axis of the scores are the keys?",
                "mask = real[:, None, :, None]", "mask = real[:, None, :, None].expand(-1, 1, -1, num_keys).clone()"),
        mistake("queries masked as well", "The rows of padded queries were hidden with the padded keys, so they see "
                "nothing at all, and the mask is as large as the scores. Who reads what a padded query computes?",
                "mask = real[:, None, None, :] & real[:, None, :, None]"),
        mistake("causal as well", "Each query sees only its past besides. This mask says which keys are real, the same "
                "for every query: which other mask is that, and who joins the two?",
                "mask = real[:, None, None, :] & torch.ones(num_keys, num_keys, dtype=torch.bool).tril()"),
        mistake("a row for every query", "The rows are right, but each of them stands there once for every query. What "
                "does broadcasting do with an axis of size 1?",
                "mask = real[:, None, None, :].expand(-1, 1, num_keys, -1)", "mask = real[:, None, :].expand(-1, "
                "num_keys, -1)"),
        mistake("as many keys as the longest sequence has", "The mask is as wide as the longest sequence. The scores "
                "have `num_keys` columns, and those may be more. Which argument is not used?",
                "j = torch.arange(int(lengths.max()))"),
        mistake("sequences and keys exchanged", "Row and column are mixed up: the comparison put the lengths along the "
                "keys. Which of the two needs a new axis, and where?",
                "real = j.unsqueeze(-1) < lengths", "real = (j < lengths).repeat(len(lengths), 1)",
                "mask = (j.unsqueeze(-1) < lengths).reshape(len(lengths), 1, 1, num_keys)"),
        mistake("one length for all", "Every sequence got the same row. Which index tells the sequences apart?",
                "until = lengths[:1].expand(len(lengths), 1)", "until = lengths[-1:].expand(len(lengths), 1)",
                "until = lengths.max().expand(len(lengths), 1)", "until = lengths.min().expand(len(lengths), 1)",
                "until = lengths.sum().expand(len(lengths), 1)"),
        mistake("lengths sorted", "The rows come in the order of the lengths, not in that of the sequences. Whose row "
                "is which?", "until = lengths.sort(descending=True).values.unsqueeze(-1)",
                "until = lengths.sort().values.unsqueeze(-1)"),
        *saying([EMPTY], {
            EMPTY.name: "A sequence of length 0 sees something, though all of its keys are padding. An empty row is "
                "a legal mask: the softmax has to bear it. Which rule holds for length 0?",
        }),
        squeezed("mask = real{}[:, None, None]"),
        mistake("negative index counted from the end", "A sequence without padding was hidden altogether: there are 0 "
                "keys to hide, and a slice from -0 begins at the front. Which slice is empty in that case?",
                "mask = torch.ones(len(lengths), 1, 1, num_keys, dtype=torch.bool)\n"
                "for row, length in zip(mask, lengths.tolist(), strict=True):\n"
                "    row[..., -(num_keys - length) :] = False\nreturn mask"),
        mistake("only the last real key", "One key per sequence is marked. A length counts all that come before: which "
                "comparison marks them too?", "real = j == until - 1", "real = j == until", "real = j != until"),
        mistake("nothing is padding", "All keys of all sequences are called real. What are the lengths compared with?",
                "real = torch.ones(len(lengths), num_keys, dtype=torch.bool)"),
        mistake(AXES.name, "The values are right, but the axes are not (B, 1, 1, S). Without the two axes of size 1 "
                "the sequences line up with the heads or the queries, silently where the sizes happen to be equal. "
                "Where do the new axes go?", "mask = real", "mask = real[:, None]", "mask = real[None, :, None]",
                "mask = real[None, None]", "mask = real.mT", "mask = real[:, :, None, None]", "mask = real.flatten()",
                "mask = real\nreturn mask.tolist()"),
    ),
    laws=rows_tell("key j is real when j < lengths[b], and no other is", padding_mask),
    hints=(
        "For a single sequence of length 3 and 5 keys the answer is T T T F F. What is compared with 3?",
        "`torch.arange(num_keys)` are the places of the keys, (S,). The lengths are (B,). Which of the two needs a new "
        "axis so that a comparison gives (B, S)?",
        "Scores are (B, H, L, S). A padding mask says the same for every head and every query: two axes of size 1 "
        "stand between B and S.",
    ),
)
