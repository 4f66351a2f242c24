"""The causes of errors from torch and Python whose messages point elsewhere; and our own, plain."""

import re

_GRADIENT = (
    "A tensor was turned into a numpy array, and no gradient can flow through numpy: nothing would "
    "be learned through this function. torch has the same operations under nearly the same names: "
    "which of them is needed here?"
)
_DTYPES = (
    "Two tensors of different dtypes met{found}. A tensor made inside the function is float32, "
    "torch's default, unless it takes the dtype of an input: `x.new_zeros(...)`, "
    "`torch.zeros(..., dtype=x.dtype)`, `y.to(x.dtype)`."
)
_DTYPE = re.compile(r"\b(?:c10::)?(Float|Double|BFloat16|Half|Long|Bool|Int)\b", re.IGNORECASE)
_CALLED = {"float": "float32", "double": "float64", "half": "float16", "long": "int64"}

_KNOWN = (
    (
        r"unsupported ScalarType BFloat16",
        "numpy has no bfloat16. `x.float().numpy()` is a way in, and `torch.from_numpy(y).to("
        "x.dtype)` one back. But no gradient can flow through numpy: where one is asked for, use "
        "the same operations in torch.",
    ),
    (r"unsupported ScalarType|Can't call numpy\(\) on Tensor", _GRADIENT),
    (
        r"Both operands must be same dtype",
        "`tl.dot` multiplies no two types: one tile is in 16 bits here, the other in 32. Which "
        "type should both have?",
    ),
    (
        r"(?i)same (scalar )?(dtype|type)|dtypes match|expected scalar type|expected dtype"
        r"|dtype to be equal|expected .*(float.*double|double.*float)",
        _DTYPES,
    ),
    (
        r"modified by an inplace operation|leaf Variable that requires grad",
        "A tensor that the gradient still needs was overwritten in place. Which line writes into a "
        "tensor (`+=`, `[...] =`, a method that ends in `_`) where a new one could be made?",
    ),
    (
        r"view size is not compatible",
        "The input's memory is not contiguous here, as after a transpose, and `view` only rereads "
        "memory as it is. `reshape` copies where it has to; so does `.contiguous()` before `view`.",
    ),
    (
        r"sort\(\) takes from 1 to 0 positional|argsort\(\) received an invalid "
        r"combination.*stable",
        "torch means: with `stable=`, every argument of `sort` must be named. Write `dim=-1`.",
    ),
    (
        r"index -\d+ is out of bounds",
        "A negative number was used as an index by `gather`, `scatter` or `one_hot`. A mark for "
        "padding, such as -100, need not be a class: what could be looked up instead, and left out "
        "afterwards?",
    ),
    (
        r"refer to a single memory location",
        "Both sides of an assignment are parts of the same memory, and one would be overwritten "
        "while it is read. A `clone()` of the right side is read first.",
    ),
    (
        r"torch\.return_types\.",
        "With an axis, `max`, `min`, `median` and `sort` give back two tensors: the values and "
        "their places. Which of the two is meant?",
    ),
    (
        r"operand type\(s\) for @: 'tensor' and 'tensor'"
        r"|argument 'input'.*must be Tensor, not tensor$",
        "In a kernel there is no torch: its functions do not take Triton's tiles, and `@` means "
        "nothing between two of them. What are the operations called that the exercise lists?",
    ),
    (
        r"tensors used as indices must be",
        "A tensor of fractions was used as an index: `/` gives fractions, even where a division "
        "comes out even. Which division gives whole numbers?",
    ),
    (
        r"number of subscripts in the equation .* does not match",
        "An einsum with a letter for every axis fits one number of axes only. `...` stands for any "
        "leading ones: where do they belong in this equation?",
    ),
    (
        r"batch\d must be a 3D tensor",
        "`bmm` takes three axes, no more and no fewer. Which product takes any leading axes?",
    ),
    (
        r"Number of dimensions of repeat dims can not be smaller",
        "`repeat` needs a number for every axis, and this tensor has more axes than were thought "
        "of. `expand` adds the missing ones on the left by itself.",
    ),
    (
        r"Provided sizes .* don't multiply up",
        "An axis was cut into equal pieces, and its length is not a multiple of theirs. What "
        "becomes of the rest, or of an axis shorter than one piece?",
    ),
    (
        r"upper bound and lower bound inconsistent with step sign|larger bound inconsistent",
        "`arange` was asked for numbers up to an end that lies before their beginning. Which of "
        "the two is wrong, and for which piece?",
    ),
    (
        r"^AssertionError: .*(Tensor-likes|Scalars|Tensor-like) are not",
        "`torch.testing.assert_close` raises an error where its arguments differ. If a function "
        "has to say whether they do, the error is one of the two answers: what returns the other?",
    ),
    (
        r"must be tuple of ints,but got float|must be tuple of ints, but found .*float"
        r"|'float' object cannot be interpreted as an integer|slice indices must be integers",
        "A size, or the edge of a slice, was a float: `/` gives one, even where a division comes "
        "out even. Which division gives whole numbers?",
    ),
    (
        r"expects a non-empty TensorList|expected a non-empty list of Tensors",
        "There was nothing to join here: the list of parts is empty. What is the right result "
        "then?",
    ),
    (
        r"iteration over a 0-d tensor",
        "One number came, a tensor without axes, and that has no rows to go through. What works on "
        "a tensor of any shape?",
    ),
    (
        r"selected index k out of range",
        "`topk` was asked for more entries than the axis has. How many are there here?",
    ),
    (
        r"not implemented for '(Long|Int|Bool)'|could not infer output dtype|a floating point or",
        "Whole numbers came where torch wants fractions. Which tensor should be of a float dtype?",
    ),
    (
        r"previously seen size 0\b|\(\d+x0 and \d+x[1-9]",
        "An empty slice met a full one. Where a size can be 0, `[:-0]` keeps nothing and `[-0:]` "
        "everything: from which end can be counted instead?",
    ),
    (
        r"^UnboundLocalError: cannot access local variable",
        "A name has no value here: it is set in a loop or behind an `if` that this input does not "
        "enter. What should it hold then?",
    ),
    (
        r"Inference tensors? cannot|Cannot set version_counter for inference tensor",
        "A tensor from outside the function was made under `torch.inference_mode()`, and no "
        "gradient can be taken with it. Run its cell once more, outside of that mode.",
    ),
)


def explained(message: str) -> str:
    """Return what a learner should know of an error with this message, or nothing."""
    says = next((says for pattern, says in _KNOWN if re.search(pattern, message)), "")
    names = [name.lower() for name in dict.fromkeys(_DTYPE.findall(message))]
    two = " and ".join(_CALLED.get(name, name) for name in names)
    return says.format(found=f": {two}" if len(names) == 2 else "") if "{" in says else says


def brief(error: BaseException | None) -> str:
    """Return an error's kind and the first line of its message, whatever its `__str__` does."""
    try:
        message = str(error).strip().split("\n")[0][:300]
    except BaseException:
        message = "(its message cannot be shown)"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


class _Plain:
    """An error that a notebook shows as its message alone, without a traceback."""

    def __str__(self) -> str:
        return str(self.args[0])  # type: ignore[attr-defined]  # a KeyError would quote it

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class PlainValueError(_Plain, ValueError):
    """A value that a learner's call cannot take."""


class PlainKeyError(_Plain, KeyError):
    """A name that a learner's call does not know."""
