"""The causes of errors from torch and Python whose messages point elsewhere."""

import re

_KNOWN = (
    (
        r"unsupported ScalarType|Can't call numpy\(\) on Tensor",
        "A tensor was turned into a numpy array. Its dtype is not the real trouble: no gradient "
        "can flow through numpy, so nothing would be learned through this function. torch has the "
        "same operations under nearly the same names: which of them is needed here?",
    ),
    (
        r"(?i)same dtype.*(float.*double|double.*float)|expected .*(float.*double|double.*float)",
        "Two tensors of different dtypes met: the inputs are float64 here, and a tensor made "
        "inside the function is float32, torch's default. A new tensor can take the dtype of an "
        "input: `x.new_zeros(...)`, or `torch.zeros(..., dtype=x.dtype)`.",
    ),
    (
        r"modified by an inplace operation|leaf Variable that requires grad",
        "A tensor that the gradient still needs was overwritten in place. Which line writes into a "
        "tensor (`+=`, `[...] =`, a method that ends in `_`) where a new one could be made?",
    ),
)


def explained(message: str) -> str:
    """Return what a learner should know of an error with this message, or nothing."""
    return next((says for pattern, says in _KNOWN if re.search(pattern, message)), "")
