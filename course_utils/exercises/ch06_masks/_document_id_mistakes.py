"""What goes wrong with the ids of packed documents."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.attention import document_mask
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch06_masks._document_rules import by, every


def _of(change: Callable[[Tensor], Tensor]) -> Function:
    """Return the right mask of other ids."""
    return lambda document_ids: document_mask(change(document_ids))


def _runs(ids: Tensor) -> Tensor:
    """Number the stretches of equal ids: a document that returns gets a new number."""
    new = torch.ones_like(ids)
    new[:, 1:] = ids[:, 1:] != ids[:, :-1]
    return new.cumsum(-1)


def _without(padding: Callable[[Tensor], Tensor]) -> Function:
    def wrong(document_ids: Tensor) -> Tensor:
        real = ~padding(document_ids)
        return document_mask(document_ids) & real[:, None, None, :]

    return wrong


def _without_both(padding: Callable[[Tensor], Tensor]) -> Function:
    def wrong(document_ids: Tensor) -> Tensor:
        real = ~padding(document_ids)
        return document_mask(document_ids) & (real[:, None, :, None] & real[:, None, None, :])

    return wrong


def _previous_only(document_ids: Tensor) -> Tensor:
    length = document_ids.shape[-1]
    near = torch.ones(length, length).tril().triu(-1).bool()
    return document_mask(document_ids) & near


def _from_first_to_last(document_ids: Tensor) -> Tensor:
    """Open all that lies between the first and the last position of a document."""
    length = document_ids.shape[-1]
    mask = torch.zeros(len(document_ids), 1, length, length, dtype=torch.bool)
    for b, row in enumerate(document_ids):
        for number in row.unique():
            places = (row == number).nonzero()
            part = slice(int(places[0]), int(places[-1]) + 1)
            mask[b, 0, part, part] = True
    return mask.tril()


def _flattened(document_ids: Tensor) -> Tensor:
    """Compare across the batch and keep the first sequence's rows."""
    first = document_ids[:1].expand_as(document_ids)
    pair = document_ids.unsqueeze(-1) == first.unsqueeze(-2)
    return (pair & torch.ones(pair.shape[-2:]).tril().bool()).unsqueeze(1)


IDS = (
    Misconception(
        "ids compared by order",
        by(torch.ge),
        "Ids are names, not ranks: a larger one is just another document. Which comparison of two "
        "names is meant?",
        also=(
            by(torch.ge, every),
            by(torch.le),
            by(torch.le, every),
            by(lambda q, k: (q - k).abs() <= 1),
            by(lambda q, k: q.abs() == k.abs()),
        ),
    ),
    Misconception(
        "only unbroken stretches",
        _of(_runs),
        "A document that returns after another one was taken for a new document. Equal id means "
        "the same document, wherever it stands: what is compared instead of the ids?",
        also=(_previous_only,),
    ),
    Misconception(
        "all between the first and the last of a document",
        _from_first_to_last,
        "A document was taken for everything between its first and its last position, though "
        "another one may stand in between. Which two ids decide about one pair?",
    ),
    Misconception(
        "documents assumed in order",
        _of(lambda ids: ids.sort(-1).values),
        "The ids were used as if documents came sorted, one after the other. They may come in any "
        "order and be mixed. Does the rule need more than two ids at a time?",
        also=(
            _of(lambda ids: ids.cummax(-1).values),
            _of(lambda ids: ids.sort(-1, descending=True).values),
        ),
    ),
    Misconception(
        "id 0 read as padding",
        _without(lambda ids: ids == 0),
        "The document with the number 0 was hidden. No id means padding here: is there anything "
        "about 0 in the rule?",
        also=(
            _without_both(lambda ids: ids == 0),
            by(lambda q, k: (q * k > 0) & (q == k)),
            _without(lambda ids: ids <= 0),
            _without_both(lambda ids: ids <= 0),
        ),
    ),
    Misconception(
        "document 0 open to all",
        by(lambda q, k: (q == k) | (k == 0)),
        "The document with the number 0 is read by all others. An id is only a name: is there "
        "anything about 0 in the rule?",
        also=(by(lambda q, k: (q == k) | (q == 0)), by(lambda q, k: (q == k) | (q * k == 0))),
    ),
    Misconception(
        "last document left out",
        lambda document_ids: _without(lambda ids: ids == ids.max())(document_ids),
        "The document with the largest number sees nothing. Which is the last number that "
        "`range(n)` gives?",
    ),
    Misconception(
        "negative ids read as padding",
        _without(lambda ids: ids < 0),
        "Documents with a negative number were hidden. No id means padding here; an id is only a "
        "name. Is there anything about the sign in the rule?",
        also=(
            _without_both(lambda ids: ids < 0),
            _without(lambda ids: ids == -1),
            _without_both(lambda ids: ids == -1),
            _without(lambda ids: ids == -100),
            _without_both(lambda ids: ids == -100),
        ),
    ),
    Misconception(
        "ids rounded",
        by(lambda q, k: q.double() == k.double()),
        "Two large ids that differ by 1 were taken for equal: somewhere they became floats. Which "
        "comparison needs no arithmetic at all?",
        also=(
            by(lambda q, k: q.float() == k.float()),
            by(lambda q, k: torch.isclose(q.double(), k.double())),
            _of(lambda ids: ids.to(torch.int8)),
            _of(lambda ids: ids.to(torch.int16)),
            _of(lambda ids: ids.to(torch.int32)),
        ),
    ),
    Misconception(
        "one sequence for all",
        _of(lambda ids: ids[:1].expand_as(ids)),
        "Every sequence was given the table of one of them. Which axis tells the sequences apart?",
        also=(
            _of(lambda ids: ids[-1:].expand_as(ids)),
            _flattened,
            lambda document_ids: document_mask(document_ids[:1]),
        ),
    ),
)
