"""Exercise: count the bytes that training keeps."""

from typing import Any

from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import mistake, without
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.counts import INTEGER, flag
from course_utils.measure import training_memory_bytes

RIGHT = """
def training_memory_bytes(num_parameters, num_trainable, num_activations, optimizer, mixed):
    is_mixed = mixed
    states = {"sgd": 0, "momentum": 1, "adam": 2}
    if optimizer not in states:
        raise ValueError(f"unknown optimizer {optimizer!r}")
    kept = states[optimizer]
    size = 2 if is_mixed else 4
    weights = size * num_parameters
    gradients = size * num_trainable
    activations = size * num_activations
    state_size = 4
    moments = state_size * kept * num_trainable
    copied = num_trainable
    master = 4 * copied if is_mixed else 0
    total = weights + gradients + activations + moments + master
    return total
"""


def _error(fn: Function, *args: Any) -> str:
    """Return which error came, if any."""
    try:
        fn(*args)
    except Exception as error:
        return type(error).__name__
    return "no error"


_ELSE = 'kept = 0 if optimizer == "sgd" else 1 if optimizer == "momentum" else 2'


def _without_refusal(*lines: str) -> str:
    """Return the right answer without its error, and with these lines first."""
    body = "\n".join(line for line in RIGHT.split("\n") if "raise" not in line and "not in states" not in line)
    for line in lines:
        old = next(one for one in body.split("\n") if one.strip().startswith(line.split(" = ")[0] + " = "))
        body = body.replace(old, f"    {line}")
    return body.strip("\n")


# The name is looked at in one of the two precisions only, or only where something is trained.
_ONE_ONLY = tuple(
    RIGHT.replace("if optimizer not in states:", f"if {where} and optimizer not in states:")
    .replace("states[optimizer]", "states.get(optimizer, 0)").strip("\n")
    for where in ("mixed", "not mixed", "num_trainable")
)

EXERCISE = exercise(
    training_memory_bytes,
    right=RIGHT,
    asks="Count the bytes of weights, gradients, optimizer states and saved activations.",
    minutes=8,
    difficulty=2,
    importance=4,
    cases=(
        case("100 weights, plain descent", given(100, 100, 0, "sgd", False)),
        case("100 weights, 37 activations, plain descent", given(100, 100, 37, "sgd", False)),
        case("momentum", given(101, 101, 17, "momentum", False)),
        case("Adam", given(103, 103, 19, "adam", False)),
        case("Adam, 29 of 107 weights trained", given(107, 29, 23, "adam", False)),
        case("momentum, 31 of 109 weights trained", given(109, 31, 0, "momentum", False)),
        case("mixed, plain descent", given(113, 113, 0, "sgd", True)),
        case("mixed, 41 activations", given(127, 127, 41, "sgd", True)),
        case("mixed, momentum", given(131, 131, 43, "momentum", True)),
        case("mixed, Adam", given(137, 137, 47, "adam", True)),
        case("mixed, Adam, 53 of 139 weights trained", given(139, 53, 59, "adam", True)),
        case("mixed, plain descent, 61 of 149 weights trained", given(149, 61, 7, "sgd", True)),
        case("nothing trained", given(151, 0, 11, "adam", False)),
        case("nothing trained, mixed", given(157, 0, 13, "adam", True)),
        case("nothing at all", given(0, 0, 0, "adam", True)),
        case("an unknown optimizer", given(100, 100, 10, "lion", False), run=_error),
        case("an unknown optimizer, nothing trained", given(100, 0, 10, "lion", True), run=_error),
        *(case(f"an unknown optimizer: {name!r}", given(100, 100, 10, name, True), run=_error)
          for name in ("Adam", "adamw", "adam ", "ada", "rmsprop", "")),
        case("Llama 7B with Adam", given(6_738_415_616, 6_738_415_616, 0, "adam", False)),
        case("Llama 7B with Adam, mixed", given(6_738_415_616, 6_738_415_616, 10**9, "adam", True)),
        case("Llama 7B, 4.2 million trained, mixed", given(6_738_415_616, 4_200_000, 0, "adam", True)),
    ),
    mistakes=(
        mistake("no master copy", "In mixed precision the updates are too small for numbers of 2 bytes. Where are the "
                "weights that they are added to?", "master = 0"),
        mistake("a master copy without mixed precision", "A second copy of the weights was counted where all numbers "
                "have 4 bytes anyway. What would it be for?", "master = 4 * copied", "master = 0 if is_mixed else 4 * "
                "copied"),
        mistake("a master copy of frozen weights", "Frozen weights got a copy in 4 bytes. Nothing is ever added to "
                "them: who needs it?", "copied = num_parameters"),
        mistake("a master copy of 2 bytes", "The master copy was counted at another size. It is in float32.",
                "master = 2 * copied if is_mixed else 0", "master = 8 * copied if is_mixed else 0"),
        mistake("a master copy instead of the weights", "Weights of 2 bytes are missing next to the copy of 4. The "
                "forward pass reads the small ones.",
                "weights = 4 * num_parameters\ncopied = 0", "weights = 0 if is_mixed else 4 * num_parameters"),
        mistake("weights of 4 bytes in mixed precision", "The weights were counted at 4 bytes besides the master copy. "
                "How many bytes does the forward pass read of each?", "weights = 4 * num_parameters"),
        mistake("activations not halved", "The activations have 4 bytes in mixed precision, too. In which numbers are "
                "they computed?", "activations = 4 * num_activations"),
        mistake("activations of 2 bytes in any case", "The activations have 2 bytes without mixed precision, too. How "
                "many bytes does a number in float32 have?", "activations = 2 * num_activations"),
        mistake("activations left out", "What the backward pass needs from the forward pass takes memory, too.",
                "activations = 0"),
        mistake("activations counted twice", "The activations were counted more than once, or in numbers instead of "
                "bytes. They are kept once.",
                "activations = 2 * size * num_activations", "activations = num_activations"),
        mistake("gradients of 4 bytes in mixed precision", "The gradients were counted at 4 bytes. They come from a "
                "backward pass in 2.", "gradients = 4 * num_trainable"),
        mistake("gradients forgotten", "Before the optimizer can do anything, there is a number for each weight that "
                "is trained: which?", "gradients = 0"),
        mistake("gradients of frozen weights", "Frozen weights got a gradient. Which weights need one?",
                "gradients = size * num_parameters"),
        mistake("gradients of activations", "The gradients were counted for the activations. They are computed on the "
                "way and given back at once: which gradients stay until the optimizer reads them?",
                "gradients = size * num_activations"),
        mistake("frozen weights of 4 bytes in mixed precision", "The frozen weights were counted at 4 bytes in mixed "
                "precision. The forward pass reads them as it reads the others: in how many?",
                "weights = size * num_trainable + 4 * (num_parameters - num_trainable)"),
        mistake("frozen weights trained", "Frozen weights got gradients and states, as if they were trained. Which "
                "number says how many are?", "num_trainable = num_parameters\nkept = states[optimizer]",
                "gradients = size * num_parameters\nmoments = state_size * kept * num_parameters"),
        mistake("states of frozen weights", "Frozen weights got optimizer states. What would they be for?",
                "moments = state_size * kept * num_parameters"),
        mistake("only the trained weights", "The weights that are frozen take memory, too: the forward pass reads "
                "them.", "weights = size * num_trainable"),
        mistake("states halved", "The optimizer's states have 2 bytes, at least in mixed precision. Small changes "
                "would be lost in them: how many bytes do they keep?", "state_size = size", "state_size = 2"),
        mistake("one moment", "Adam keeps two numbers for each weight: a mean of the gradients, and one of what "
                "else?", 'states = {"sgd": 0, "momentum": 1, "adam": 1}'),
        mistake("states for plain descent", "A number was kept from step to step for each weight under plain descent. "
                "What would it be for?", 'states = {"sgd": 1, "momentum": 1, "adam": 2}',
                'states = {"sgd": 1, "momentum": 2, "adam": 3}', 'states = {"sgd": 1, "momentum": 2, "adam": 2}'),
        mistake("one state too many", "Momentum, or Adam, keeps a number more for each weight than it needs. Momentum "
                "remembers one thing, and Adam two: which?", 'states = {"sgd": 0, "momentum": 1, "adam": 3}',
                'states = {"sgd": 0, "momentum": 2, "adam": 2}', 'states = {"sgd": 0, "momentum": 2, "adam": 3}'),
        mistake("momentum without a state", "Momentum remembers which way it was going. How many numbers for each "
                "weight is that?", 'states = {"sgd": 0, "momentum": 0, "adam": 2}',
                'states = {"sgd": 0, "momentum": 0, "adam": 1}'),
        mistake("the optimizer ignored", "The optimizer changes nothing. What does each of the three keep from step to "
                "step?", "kept = 0", "kept = 1", "kept = 2", "moments = 0"),
        *flag("mixed", "is_mixed",
              ignored="`mixed` changes nothing. How many bytes do weights, gradients and activations take then?",
              turned="Mixed precision came out as the setting with 4 bytes for everything. What does True mean?"),
        mistake("one number in both precisions", "`mixed` changed some of the sizes and not others. Weights, gradients "
                "and activations all go to 2 bytes, and the optimizer's numbers all stay at 4.",
                "size = 1 if is_mixed else 4", "size = 1 if is_mixed else 2", "size = 4 if is_mixed else 8",
                "size = 2"),
        mistake("half of everything", "Mixed precision halved the whole sum. Which of the numbers keep their 4 bytes?",
                "return (4 * (num_parameters + num_trainable + num_activations) + moments) // (2 if is_mixed else 1)"),
        mistake("numbers instead of bytes", "These are numbers, not bytes. How many bytes does one of them take?",
                "return num_parameters + num_trainable + num_activations + kept * num_trainable + (copied if is_mixed "
                "else 0)"),
        mistake("an unknown optimizer accepted", "A name that is none of the three got an answer. What should happen "
                "to a misspelt one?", _without_refusal("kept = states.get(optimizer, 0)"),
                _without_refusal("kept = states.get(optimizer, 2)"), _without_refusal(_ELSE),
                _without_refusal("kept = states.get(optimizer.lower(), 0)"), *_ONE_ONLY,
                matches=lambda args, got: got == "no error"),
        mistake("another error", "A name that is none of the three raised an error other than the one required: which "
                "kind of error says that a value is wrong?", _without_refusal(),
                _without_refusal("kept = states.get(optimizer)"),
                matches=lambda args, got: isinstance(got, str) and got not in ("ValueError", "no error")),
        mistake("a name that only resembles one", "A name was accepted that only begins like one of the three, "
                "contains one or is contained in one, has a blank too many, or is another method's. To what must it be "
                "equal?",
                *(f'optimizer = {line}\nstates = {{"sgd": 0, "momentum": 1, "adam": 2}}' for line in (
                    "next((name for name in ('sgd', 'momentum', 'adam') if optimizer.startswith(name)), optimizer)",
                    "next((name for name in ('sgd', 'momentum', 'adam') if name in optimizer), optimizer)",
                    "next((name for name in ('sgd', 'momentum', 'adam') if name.startswith(optimizer)), optimizer)",
                    "next((name for name in ('sgd', 'momentum', 'adam') if optimizer in name), optimizer)",
                    "optimizer.strip()", "optimizer.strip().lower()")),
                'states = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2}',
                'states = {"sgd": 0, "momentum": 1, "adam": 2, "rmsprop": 1}',
                'states = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2, "rmsprop": 1}',
                'states = {"": 0, "sgd": 0, "momentum": 1, "adam": 2}'),
        mistake("upper and lower case the same", "A name in capitals was taken for one of the three. Only these three "
                "strings are allowed; any other is an error.", "optimizer = optimizer.lower()\n"
                'states = {"sgd": 0, "momentum": 1, "adam": 2}'),
        mistake("bits instead of bytes", "These are bits. How many bytes are there?", "return 8 * total"),
        mistake("in GiB", "The bytes were divided. How many are there, one by one?", "return total // 2**30",
                "return total // 2**20", "return total / 2**30", "return total / 1e9"),
        *without(INTEGER, "return total / 1e9"),
    ),
    hints=(
        "Make a table with a row for each kind of number: weights, gradients, states, activations, and in mixed "
        "precision one more. How many numbers, and how many bytes each?",
        "A weight that is not trained has no gradient, no state, and no second copy. It still is a weight.",
        "States stay at 4 bytes in either precision, and the master copy has 4 bytes, too. What is left for 2?",
        "A dictionary from the optimizer's name to the number of its states also shows which names are known.",
    ),
)
