"""Learning rates over the steps of training: a warm-up, then a slow decay.

Source: Vaswani et al. 2017, section 5.3, Eq. 3, https://arxiv.org/abs/1706.03762 (inverse root);
    Loshchilov and Hutter 2017, SGDR, Eq. 5, https://arxiv.org/abs/1608.03983 (cosine)
Ours / theirs: step = step_num;  warmup = warmup_steps;  peak = η_max
Differs: the cosine runs once, without restarts, down to 0.
"""

import math

from course_utils.validation import check_at_least, check_positive


def warmup_inverse_sqrt(step: int, d_model: int, warmup: int) -> float:
    """Return d_model^-½ · min(step^-½, step · warmup^-1½), and 0 at step 0.

    Args:
        step: The step that is about to be taken; the first has the number 1.
        d_model: Width of the stream.
        warmup: The step with the highest rate.
    """
    check_at_least(0, step=step)
    check_at_least(1, d_model=d_model, warmup=warmup)
    return float(min(step**-0.5, step * warmup**-1.5) / math.sqrt(d_model)) if step else 0.0


def warmup_cosine(step: int, peak: float, warmup: int, last: int) -> float:
    """Return a rate that rises linearly to its peak and falls along half a cosine to 0.

    Args:
        step: The step that is about to be taken.
        peak: The highest rate.
        warmup: The step that has it.
        last: The step from which on the rate is 0.

    Raises:
        ValueError: `last` does not come after `warmup`.
    """
    check_at_least(0, step=step, warmup=warmup)
    check_positive(peak=peak)
    check_at_least(warmup + 1, last=last)
    if step < warmup:
        return peak * step / warmup
    done = min(1.0, (step - warmup) / (last - warmup))
    return peak * (1 + math.cos(math.pi * done)) / 2
