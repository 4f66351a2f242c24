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
        r"sort\(\) takes from 1 to 0 positional",
        "torch means: with `stable=`, every argument of `sort` must be named. Write `dim=-1`.",
    ),
    (
        r"index -\d+ is out of bounds",
        "A negative number was used as an index by `gather`, `scatter` or `one_hot`. A mark for "
        "padding, such as -100, need not be a class: what could be looked up instead, and left out "
        "afterwards?",
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
