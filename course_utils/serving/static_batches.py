"""Static batching: requests in groups, padded to one length, until the last of a group is done.

Source: the baseline of Yu et al. 2022, Orca, section 3 (early-finished requests),
    https://www.usenix.org/conference/osdi22/presentation/yu
Same contract as: `generate` with each request alone
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from course_utils.models import GPT, left_pad
from course_utils.serving.request import Request
from course_utils.validation import check_at_least


@dataclass(frozen=True)
class StaticStep:
    """A record of one call of the model.

    Attributes:
        fed: Rows that were read, padding and ended requests among them.
        useful: Those that an answer needed.
        drawn: Tokens that were written.
    """

    fed: int
    useful: int
    drawn: int


def static_batches(
    model: GPT, requests: Sequence[Request], batch_size: int
) -> Iterator[StaticStep]:
    """Answer the requests in groups, in order, and yield what each call of the model did.

    Args:
        model: The model that answers.
        requests: New requests; their answers are in `written` at the end.
        batch_size: How many are read side by side.
    """
    check_at_least(1, batch_size=batch_size)
    for start in range(0, len(requests), batch_size):
        yield from _batch(model, requests[start : start + batch_size])


def _batch(model: GPT, group: Sequence[Request]) -> Iterator[StaticStep]:
    fed, first = left_pad([one.prompt for one in group])
    cache = model.new_cache(
        len(group), fed.shape[1] + max(one.num_tokens for one in group) - 1, first
    )
    while not all(one.ended for one in group):
        with torch.inference_mode():
            logits, _ = model(fed, cache)
        writers = [one for one in group if not one.ended]
        useful = sum(len(one.prompt) if not one.written else 1 for one in writers)
        for request, row in zip(group, logits[:, -1:], strict=True):
            if not request.ended:
                request.write(row)
        yield StaticStep(fed=fed.numel(), useful=useful, drawn=len(writers))
        last = [one.written[-1] if one.written else 0 for one in group]
        fed = torch.tensor(last).unsqueeze(-1)
