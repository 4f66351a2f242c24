"""Exercise: the feed-forward layer, with a choice of three activations."""

from typing import Any

from course_utils.checking.exercise import case, exercise
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import TOKENS, cut_off, multiplied, other_kinds, overwritten, random_inside
from course_utils.models import feed_forward
from torch import Tensor

RIGHT = """
def feed_forward(x, W_1, b_1, W_2, b_2, activation="relu"):
    read = x
    hidden = read @ W_1
    shifted = hidden + b_1
    relu = shifted.clamp_min(0)
    share = 0.5 * (1 + torch.erf(shifted / math.sqrt(2)))
    gelu = shifted * share
    cubic = shifted + 0.044715 * shifted**3
    inner = math.sqrt(2 / math.pi) * cubic
    gelu_tanh = 0.5 * shifted * (1 + torch.tanh(inner))
    chosen = {"relu": relu, "gelu": gelu, "gelu_tanh": gelu_tanh}
    is_known = activation in chosen
    if not is_known:
        raise ValueError("unknown activation")
    bent = chosen[activation]
    back = bent @ W_2
    moved = back + b_2
    out = moved
    return out
"""

_LATE = """
def feed_forward(x, W_1, b_1, W_2, b_2, activation="relu"):
    bend = {{"relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda z: F.gelu(z, approximate="tanh")}}
    if activation not in bend:
        raise ValueError("unknown activation")
    return {}
"""
_DEFAULT = """
def feed_forward(x, W_1, b_1, W_2, b_2, activation="{}"):
    return EXERCISE.recipe.function()(x, W_1, b_1, W_2, b_2, activation)
"""
_KINDS = ("relu", "gelu", "gelu_tanh")
_NAMES = ("swish", "silu", "GELU", "gelu ", "", "tanh")


def _named(fn: Function, *args: Any) -> tuple[str, float]:
    """Return which error came for a name that is not one of the three; if none did, the output's sum."""
    try:
        out = fn(*args)
    except ValueError:
        return "ValueError", 0.0
    except Exception as error:
        return type(error).__name__, 0.0
    return "no error", float(out.sum()) if isinstance(out, Tensor) else 0.0


def _refused(fn: Function, *args: Any) -> list[str]:
    """Return which of the three names are answered with a ValueError."""
    refused = []
    for kind in _KINDS:
        try:
            fn(*args, kind)
        except ValueError:
            refused.append(kind)
    return refused


_SAYS = "A name that is not one of the three must be answered with a ValueError, and by nothing else."

EXERCISE = exercise(
    feed_forward,
    right=RIGHT,
    asks="Two matrix products with an activation between them; an unknown activation is a ValueError.",
    minutes=15,
    difficulty=2,
    importance=5,
    cases=(
        case("2 sequences of 3 tokens, width 4, hidden 7", batch=(2, 3), d_model=4, d_ff=7, gradient="equal"),
        case("each of the three names is known", batch=(2,), d_model=3, d_ff=5, run=_refused,
             says="One of the three names is answered with a ValueError."),
        case('activation="relu"', batch=(2, 3), d_model=4, d_ff=7, activation="relu"),
        case('activation="gelu"', batch=(2, 3), d_model=4, d_ff=7, activation="gelu", gradient="equal"),
        case('activation="gelu_tanh"', batch=(2, 3), d_model=4, d_ff=7, activation="gelu_tanh", gradient="equal"),
        *(case(f"one token, {kind}", d_model=5, d_ff=9, activation=kind) for kind in _KINDS),
        *(case(f"every size is 4, {kind}", batch=(4, 4), d_model=4, d_ff=4, activation=kind) for kind in _KINDS),
        case("a hidden layer that is narrower", batch=(3,), d_model=6, d_ff=2, activation="gelu"),
        case("three leading axes", batch=(2, 1, 3), d_model=3, d_ff=5, activation="gelu_tanh"),
        case("large numbers", batch=(2,), d_model=3, d_ff=5, size=30.0, activation="gelu"),
        case("non-contiguous inputs", batch=(2, 3), d_model=4, d_ff=7, strided=True),
        case("float32", batch=(2, 3), d_model=4, d_ff=7, dtype="float32", activation="gelu"),
        case("bfloat16", batch=(2, 3), d_model=4, d_ff=7, dtype="bfloat16"),
        *(case(f"activation={name!r}: which error comes", batch=(2,), d_model=3, d_ff=5, activation=name, run=_named,
               says=_SAYS) for name in _NAMES),
    ),
    mistakes=(
        mistake("an unknown name becomes GELU", "Every name that is not one of the others became GELU without a word: "
                "so a typo trains a different model. What should the function say?",
                "is_known = True\nbent = chosen.get(activation, gelu)",
                "is_known = True\nbent = relu if activation == 'relu' else gelu",
                "is_known = True\nbent = chosen.get(activation, gelu_tanh)"),
        mistake("an unknown name becomes ReLU or nothing", "An unknown name was accepted, and another activation, or "
                "none, was used instead. What should the function say?",
                "is_known = True\nbent = chosen.get(activation, relu)",
                "is_known = True\nbent = chosen.get(activation, shifted)",
                "if activation not in chosen:\n    return None\nis_known = True",
                "is_known = True\nbent = chosen.get(activation, torch.zeros_like(shifted))"),
        mistake("another error than ValueError", "An unknown name raises a different error, for example the KeyError "
                "of a dict. Callers wait for a ValueError that says which names there are.", "is_known = True",
                'if activation not in chosen:\n    raise TypeError("unknown")\nis_known = True',
                'if activation not in chosen:\n    raise NotImplementedError("unknown activation")\nis_known = True',
                'if activation not in chosen:\n    raise AssertionError("unknown activation")\nis_known = True',
                'if activation not in chosen:\n    raise UnboundLocalError("unknown activation")\nis_known = True'),
        mistake("a known name refused", "One of the three names ends in your own error. In a chain of `if`s, to which "
                "of them does the `else` belong?", 'is_known = activation in ("relu", "gelu")',
                'is_known = activation in ("relu", "gelu_tanh")', 'is_known = activation == "relu"'),
        mistake("any function of torch accepted", "A name was looked up among all of torch's functions, so that many "
                "more are accepted than the three. Which names does the exercise know?",
                "is_known = True\n"
                "bent = chosen[activation] if activation in chosen else getattr(F, activation)(shifted)",
                "is_known = activation in chosen or hasattr(F, activation)\n"
                "bent = chosen[activation] if activation in chosen else getattr(F, activation)(shifted)"),
        mistake("nearly the right name accepted", "A name in capitals, or with a space, was accepted. Only the three "
                "names count, as they are written.",
                "activation = activation.lower()\nis_known = activation in chosen",
                "activation = activation.strip()\nis_known = activation in chosen",
                "activation = activation.strip().lower()\nis_known = activation in chosen",
                "activation = activation or 'relu'\nis_known = activation in chosen",
                "is_known = activation in (*chosen, 'silu', 'swish', 'tanh')\n"
                "chosen |= dict.fromkeys(('silu', 'swish'), F.silu(shifted)) | {'tanh': shifted.tanh()}\n"
                "bent = chosen[activation]"),
        mistake("the activation on the output", "The activation bends what leaves the layer, so the two products are "
                "one. Between which two steps does it belong?",
                _LATE.format("bend[activation]((x @ W_1 + b_1) @ W_2 + b_2)"),
                _LATE.format("bend[activation]((x @ W_1 + b_1) @ W_2) + b_2")),
        mistake("the activation twice", "The activation bends the hidden layer and the output: the layer could never "
                "subtract from the stream. How many times does it act?",
                _LATE.format("bend[activation](bend[activation](x @ W_1 + b_1) @ W_2 + b_2)")),
        mistake("the activation before the first product", "The stream itself was bent. What is in the hidden layer "
                "when the activation comes?", _LATE.format("(bend[activation](x) @ W_1 + b_1) @ W_2 + b_2")),
        mistake("the bias after the activation", "The first bias was added to what was bent already. What decides "
                "where the bend lies?", "shifted = hidden\nbent = chosen[activation] + b_1"),
        mistake("no activation", "Nothing is bent: two products in a row are one product. What belongs between them?",
                "bent = shifted"),
        mistake("the activation chosen is ignored", "The same activation came out for two names. Where is the argument "
                "used?", "bent = relu", "bent = gelu", "bent = gelu_tanh"),
        mistake("another default than ReLU", "Without an argument the activation is another one. What does the "
                "signature say?", _DEFAULT.format("gelu"), _DEFAULT.format("gelu_tanh")),
        mistake("the form with tanh for GELU", 'The two forms of GELU differ by up to 5e-4, which a model with copied '
                'weights shows. "gelu" is z times the normal distribution function: which function computes that '
                "exactly?", "gelu = gelu_tanh", "gelu = F.gelu(shifted, approximate='tanh')"),
        mistake("the exact GELU for the form with tanh", '"gelu_tanh" is GPT-2\'s approximation, and models that were '
                "trained with it need exactly that one. Which formula does the exercise give?", "gelu_tanh = gelu",
                "gelu_tanh = F.gelu(shifted)"),
        mistake("the sigmoid form of GELU", "z·σ(1.702·z) is a third form of GELU, coarser than both that are asked "
                "for.", "gelu = shifted * torch.sigmoid(1.702 * shifted)",
                "gelu_tanh = shifted * torch.sigmoid(1.702 * shifted)"),
        mistake("SiLU for GELU", "z·σ(z) is SiLU. Which distribution function gives GELU its name?",
                "gelu = shifted * torch.sigmoid(shifted)", "gelu_tanh = shifted * torch.sigmoid(shifted)"),
        mistake("the wrong distribution function", "The share that is let through does not run from 0 to 1, or too "
                "steeply: look at the root of 2 inside erf, and at what is around it.",
                "share = 0.5 * (1 + torch.erf(shifted))", "share = torch.erf(shifted / math.sqrt(2))",
                "share = 1 + torch.erf(shifted / math.sqrt(2))", "share = 1 + torch.erf(shifted)",
                "share = 0.5 * (1 - torch.erf(shifted / math.sqrt(2)))",
                "share = 0.5 + torch.erf(shifted / math.sqrt(2))",
                "share = 0.5 * (1 + torch.erf(shifted * math.sqrt(2)))", "share = torch.erf(shifted)",
                "share = 0.5 * (1 + torch.erf(shifted / math.sqrt(math.pi)))",
                "share = 0.5 * torch.erf(shifted / math.sqrt(2))", "share = 0.5 * (1 + torch.erf(shifted / 2))",
                "share = torch.exp(-shifted.square() / 2) / math.sqrt(2 * math.pi)"),
        mistake("the share alone", "What came out is the share that is let through, not what passes. What does the "
                "share multiply?", "gelu = share", "gelu_tanh = 0.5 * (1 + torch.tanh(inner))"),
        mistake("a constant of the form with tanh", "GPT-2's formula is different in one place. Compare it factor by "
                "factor and sign by sign, and look at what each bracket holds.",
                "cubic = shifted + 0.44715 * shifted**3", "cubic = shifted + 0.044715 * shifted**2",
                "cubic = shifted", "cubic = 0.044715 * shifted**3", "inner = math.sqrt(2 * math.pi) * cubic",
                "inner = 2 / math.pi * cubic", "inner = cubic",
                "inner = math.sqrt(2 / math.pi) * shifted + 0.044715 * shifted**3",
                "gelu_tanh = shifted * (1 + torch.tanh(inner))",
                "inner = math.sqrt(math.pi / 2) * cubic", "gelu_tanh = shifted * torch.tanh(inner)",
                "gelu_tanh = 0.5 * shifted * torch.tanh(inner)", "cubic = shifted + 0.0044715 * shifted**3",
                "gelu_tanh = 0.5 * shifted * (1 - torch.tanh(inner))", "cubic = shifted + (0.044715 * shifted) ** 3",
                "gelu_tanh = 0.5 * shifted + torch.tanh(inner)", "cubic = shifted - 0.044715 * shifted**3",
                "gelu_tanh = 0.5 * shifted * (1 + torch.sigmoid(inner))", "inner = math.sqrt(2) / math.pi * cubic",
                "inner = math.sqrt(2) * cubic", "cubic = shifted + 0.04715 * shifted**3",
                "gelu_tanh = 0.5 * shifted * 1 + torch.tanh(inner)", "cubic = shifted + 0.44715 * shifted**2",
                "cubic = shifted * 1.044715", "cubic = (shifted + 0.044715 * shifted) ** 3"),
        mistake("another function for ReLU", "Numbers below 0 did not become 0, or those above changed. What does ReLU "
                "do on each side of 0?", "relu = shifted.abs()", "relu = F.leaky_relu(shifted)",
                "relu = shifted.clamp_max(0)", "relu = F.softplus(shifted)", "relu = shifted.clamp(0, 1)",
                "relu = shifted.clamp(0, 6)", "relu = F.elu(shifted)", "relu = (shifted > 0).to(x.dtype)",
                "relu = shifted.clamp_min(0).square()", "relu = shifted.sigmoid()", "relu = shifted.tanh()",
                "relu = F.silu(shifted)", "relu = -shifted.clamp_min(0)", "relu = shifted.clamp_min(1)",
                "relu = shifted.where(shifted > shifted.mean(), 0)", "relu = F.leaky_relu(shifted, 0.1)",
                "relu = F.leaky_relu(shifted, 0.2)", "relu = shifted.clamp_min(0) + 1e-6", "relu = F.selu(shifted)"),
        mistake("the first bias left out", "b_1 changes nothing. Which of the products does it follow?",
                "shifted = hidden"),
        mistake("the second bias left out", "b_2 changes nothing. Which of the products does it follow?",
                "moved = back"),
        mistake("the input added", "The input was added to the output. The residual belongs to the layer around this "
                "one, which may normalise in between. What is asked for here?", "out = x + moved"),
        mistake("the input normed", "The input was normalised first. Who does that in a Transformer's layer?",
                "read = F.layer_norm(x, x.shape[-1:])"),
        mistake("a matrix transposed", "A matrix was applied transposed, as an `nn.Linear` keeps its own. Which axis "
                "of W_1 has the width of the stream here?", "hidden = read @ W_1.mT", "back = bent @ W_2.mT",
                "hidden = read @ W_1.mT\nback = bent @ W_2.mT", "hidden = F.linear(read, W_1)",
                "shifted = F.linear(read, W_1, b_1)\nmoved = F.linear(bent, W_2, b_2)"),
        mistake("the matrices exchanged", "W_2 was used where W_1 belongs. Which of them widens?",
                "hidden = read @ W_2\nback = bent @ W_1"),
        mistake("one matrix for both products", "One of the two matrices changes nothing: the other was used on the "
                "way back, too, turned round. Which matrix leads where?", "back = bent @ W_1.mT",
                "hidden = read @ W_2.mT"),
        mistake("the biases exchanged", "b_2 was added to the hidden layer, or b_1 to the output. Which of them is as "
                "long as the hidden layer?", "shifted = hidden + b_2\nmoved = back + b_1"),
        mistake("a bias added again and again", "A bias counts several times: once for each product that it follows is "
                "enough. Does a loop add it in each round?", "moved = back + W_1.shape[1] * b_2",
                "shifted = hidden + W_1.shape[0] * b_1", "moved = back + 2 * b_2", "shifted = hidden + 2 * b_1"),
        mistake("a hidden number left out", "One number of the hidden layer has no effect. Where does your loop, or "
                "your slice, begin and end?", "back = bent[..., :-1] @ W_2[:-1]", "back = bent[..., 1:] @ W_2[1:]"),
        mistake("scaled on the way", "Something was divided by the root of a size, as scores are. Is there a softmax "
                "to come?", "hidden = read @ W_1 / math.sqrt(x.shape[-1])", "back = bent @ W_2 / math.sqrt(len(W_2))",
                "hidden = read @ W_1 / x.shape[-1]", "back = bent @ W_2 / len(W_2)",
                "read = x * math.sqrt(x.shape[-1])"),
        random_inside("back = torch.dropout(bent, 0.1, True) @ W_2", "out = torch.dropout(moved, 0.1, True)"),
        overwritten("out = x.copy_(moved)", "out = x.add_(moved)"),
        cut_off("return out.detach()", "bent = chosen[activation].detach()", "hidden = (read @ W_1).detach()",
                "gelu = (shifted * share).detach()", "share = 0.5 * (1 + torch.erf(shifted.detach() / math.sqrt(2)))",
                "gelu_tanh = (0.5 * shifted * (1 + torch.tanh(inner))).detach()",
                "inner = math.sqrt(2 / math.pi) * cubic.detach()", "shifted = hidden + b_1.detach()",
                "moved = back + b_2.detach()"),
        *TOKENS,
        *other_kinds("out"),
        multiplied(feed_forward, "return out / 2", "return 2 * out"),
    ),
    hints=(
        "Wider, bent, back: three steps, and a bias with each product. What are the shapes on the way?",
        "`x @ W_1` works for any leading axes. The activation stands between the two products and nowhere else.",
        "Φ is the normal distribution function, ½·(1 + erf(z / √2)): torch has erf. It multiplies z itself.",
        "Look the name up among the three first, and raise the ValueError yourself if it is not there.",
    ),
)
