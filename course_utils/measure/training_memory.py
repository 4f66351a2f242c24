"""Count the bytes that training keeps: weights, gradients, the optimizer's states and activations.

Source: Rajbhandari et al. 2020, ZeRO, section 3.1, https://arxiv.org/abs/1910.02054;
    Micikevicius et al. 2018, Mixed Precision Training, section 3.1,
    https://arxiv.org/abs/1710.03740 (the master copy)
Ours / theirs: num_parameters = Ψ;  4 + 8 bytes per parameter of Adam's in mixed precision = K = 12
Differs: parameters may be frozen, which have neither a gradient nor states nor a master copy.
"""

from course_utils.validation import check_at_least, check_instance

# How many numbers an optimizer keeps for each weight that it trains.
STATES = {"sgd": 0, "momentum": 1, "adam": 2}


def training_memory_bytes(
    num_parameters: int, num_trainable: int, num_activations: int, optimizer: str, mixed: bool
) -> int:
    """Count the bytes held when the backward pass begins, including the optimizer's.

    Args:
        num_parameters: How many weights there are.
        num_trainable: How many of them are trained.
        num_activations: How many numbers the backward pass needs from the forward pass.
        optimizer: "sgd", "momentum" or "adam".
        mixed: Whether weights, gradients and activations take 2 bytes instead of 4, beside a copy
            in 4 bytes of each weight that is trained.

    Raises:
        ValueError: More are trained than exist, or the optimizer is unknown.
    """
    check_at_least(0, num_parameters=num_parameters, num_trainable=num_trainable)
    check_at_least(0, num_activations=num_activations)
    if num_trainable > num_parameters:
        raise ValueError(
            f"num_trainable must be at most num_parameters {num_parameters}, got {num_trainable}"
        )
    check_instance(str, optimizer=optimizer)
    if optimizer not in STATES:
        raise ValueError(f"optimizer must be one of {', '.join(STATES)}, got {optimizer!r}")
    check_instance(bool, mixed=mixed)
    size = 2 if mixed else 4
    kept = STATES[optimizer] + (1 if mixed else 0)  # in 4 bytes, for each weight that is trained
    return size * (num_parameters + num_trainable + num_activations) + 4 * kept * num_trainable
