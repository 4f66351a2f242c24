"""Mistakes on the way back: through a softmax, and by leaving the work to autograd.

The lines of `THROUGH_SOFTMAX` speak of the steps

    grad_weights = grad_out @ value.mT
    average = (weights * grad_weights).sum(-1, keepdim=True)
    grad_scores = weights * (grad_weights - average)
"""

from course_utils.checking.mistakes import Mistake, Trace, mistake


def calls_autograd(trace: Trace) -> bool:
    """Return whether derivatives were taken inside, or torch's own backward pass of a softmax called."""
    return trace.used_autograd or "_softmax_backward_data" in trace.calls


def autograd_inside(says: str, *versions: str) -> Mistake:
    """Return the mistake of letting autograd do the work, as these lines do."""
    return mistake("autograd inside", says, *versions, detects=calls_autograd)


THROUGH_SOFTMAX = (
    mistake("half the Jacobian", "Only the diagonal of the softmax's Jacobian was used. A score also changes the other "
            "weights of its row: which term is missing?", "grad_scores = grad_weights * weights * (1 - weights)",
            "grad_scores = grad_weights * weights * (1 - weights).square()"),
    mistake("the softmax forgotten", "The gradient of the weights was used as that of the scores. What comes between "
            "scores and weights?", "grad_scores = grad_weights"),
    mistake("the row's average not subtracted", "The gradients of a row's scores do not sum to 0. Raising all scores "
            "alike changes no weight: what is missing?", "grad_scores = weights * grad_weights"),
    mistake("the weight forgotten outside the bracket", "The row's average is subtracted, but the difference is not "
            "weighted. A score whose weight is 0 should move nothing: which factor sees to that?",
            "grad_scores = grad_weights - average"),
    mistake("the average outside the bracket", "The weight multiplies only the first of the two terms. Which part of "
            "the formula stands inside the bracket?", "grad_scores = weights * grad_weights - average"),
    mistake("row sum over the wrong axis", "The sum that the softmax subtracts runs over the wrong axis. Over what "
            "does a row of weights sum to 1?", "average = (weights * grad_weights).sum(-2, keepdim=True)"),
    mistake("row sum without the weights", "What is subtracted from a row's gradient must be its average under the "
            "weights: a sum of products. Of which two?",
            "average = grad_weights.sum(-1, keepdim=True)", "average = grad_weights.mean(-1, keepdim=True)",
            "average = (weights * grad_weights).mean(-1, keepdim=True)", "average = weights.sum(-1, keepdim=True)",
            "average = (weights @ value).square().sum(-1, keepdim=True)"),
    mistake("row sum with the wrong sign", "The average of the row's gradient was added. If one score rises, do the "
            "other weights rise or fall?",
            "grad_scores = weights * (grad_weights + average)", "grad_scores = -weights * (grad_weights + average)"),
    mistake("the softmax's sign flipped", "The gradients of query and key point the other way, that of the value is "
            "right. Which two terms of the softmax's derivative were exchanged?",
            "grad_scores = weights * (average - grad_weights)"),
)
