"""Exercise: count the operations of one training step."""

from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import adding, mistake
from course_utils.exercises.shared.counts import INTEGER, MULTIPLY_ADD, flag
from course_utils.measure import training_flops

RIGHT = """
def training_flops(batch, num_tokens, d_model, num_layers, d_ff, vocab_size, recompute):
    per_multiply_add = 2
    is_recomputed = recompute
    tokens = batch * num_tokens
    pairs = batch * num_tokens * num_tokens
    projections = 4 * d_model * d_model
    feed_forward = 2 * d_model * d_ff
    attention = 2 * pairs * d_model
    layer = tokens * (projections + feed_forward) + attention
    layers = num_layers * layer
    look_up = 0
    output = tokens * d_model * vocab_size
    forward = look_up + layers + output
    backward = 2 * forward
    repeated = layers
    again = repeated if is_recomputed else 0
    total = per_multiply_add * (forward + backward + again)
    return total
"""
_EXACT = """
def training_flops(batch, num_tokens, d_model, num_layers, d_ff, vocab_size, recompute):
    tokens, sums = batch * num_tokens, lambda rows, inner, columns: rows * columns * (2 * inner - 1)
    layers = num_layers * (
        4 * sums(tokens, d_model, d_model) + sums(tokens, d_model, d_ff) + sums(tokens, d_ff, d_model)
        + sums(tokens, d_model, num_tokens) + sums(tokens, num_tokens, d_model)
    )
    return 3 * (layers + sums(tokens, d_model, vocab_size)) + (layers if recompute else 0)
"""
_SIX_N_D = "num_parameters = num_layers * (projections + feed_forward) + d_model * vocab_size\n"

EXERCISE = exercise(
    training_flops,
    right=RIGHT,
    asks="Count the matrix products of one training step, forward and backward.",
    minutes=10,
    difficulty=3,
    importance=5,
    cases=(
        case("one sequence of 3 tokens, one layer", given(1, 3, 4, 1, 7, 11, False)),
        case("one sequence of 5 tokens, 2 layers", given(1, 5, 6, 2, 13, 17, False)),
        case("3 sequences", given(3, 5, 7, 2, 11, 19, False)),
        case("recomputed", given(2, 5, 3, 4, 13, 23, True)),
        case("recomputed, one layer", given(5, 7, 11, 1, 3, 2, True)),
        case("a text longer than the width", given(2, 31, 3, 5, 7, 13, False)),
        case("d_ff below d_model", given(2, 7, 13, 3, 5, 29, True)),
        case("one token", given(7, 1, 5, 3, 11, 13, False)),
        case("one of everything", given(1, 1, 1, 1, 1, 1, True)),
        case("no layers", given(3, 5, 7, 0, 11, 13, True)),
        case("GPT-2, 8 texts of 1,024 tokens", given(8, 1024, 768, 12, 3072, 50257, False)),
        case("GPT-3, one text of 2,048 tokens", given(1, 2048, 12288, 96, 49152, 50257, False)),
        case("GPT-3, recomputed", given(1, 2048, 12288, 96, 49152, 50257, True)),
    ),
    mistakes=(
        *adding(MULTIPLY_ADD, {"multiplications only": (
            "return total // 2", "projections = 2 * d_model * d_model\nattention = pairs * d_model",
        )}),
        mistake("attention left out", "Only the products with weights were counted, as 6ND does. Between two matrices "
                "of activations there are products, too: which two?", "attention = 0", f"{_SIX_N_D}"
                "total = per_multiply_add * (3 * num_parameters * tokens + again)",
                f"{_SIX_N_D}return 6 * num_parameters * tokens"),
        mistake("the embedding counted in 6ND", "6 operations for each parameter and token, with the embedding among "
                "the parameters. Which of them is multiplied, and which products have no parameter?",
                f"{_SIX_N_D}return 6 * (num_parameters + d_model * vocab_size) * tokens"),
        mistake("half of attention's products", "Attention's products were counted at half of what they take. Either "
                "one of the two is missing, the scores or the average of the values; or a causal mask was taken for a "
                "saving, and it saves nothing in a plain product.", "attention = pairs * d_model"),
        mistake("another size in attention's products", "Attention's two products were counted with other sizes than "
                "theirs. Which shapes are multiplied, and how many multiply-adds does one score take?",
                "attention = 2 * tokens * d_model * d_model", "attention = 2 * pairs",
                "attention = 2 * pairs * num_tokens"),
        mistake("too many products of attention", "Attention's products were counted more than twice. Scores and "
                "average: each takes one, and all heads together are as wide as the stream.",
                "attention = 3 * pairs * d_model", "attention = 4 * pairs * d_model",
                "attention = 2 * pairs * d_model * d_model"),
        mistake("half of the pairs", "The causal mask was counted as a saving. A plain product computes all scores and "
                "hides half of them afterwards.", "attention = pairs * d_model + tokens * d_model",
                "pairs = batch * num_tokens * (num_tokens + 1) // 2",
                "pairs = batch * num_tokens * (num_tokens - 1) // 2", "pairs = batch * num_tokens * num_tokens // 2"),
        mistake("pairs across the batch", "The pairs grow with the square of the batch, or a token is paired only "
                "once. A query meets the keys of its own sequence: how many pairs is that in all?",
                "pairs = tokens * tokens", "pairs = num_tokens * num_tokens", "pairs = tokens", "pairs = num_tokens"),
        mistake("the softmax counted too", "More than matrix products was counted. Element-wise work is left out: it "
                "is a lower order of the same sizes.", "attention = 2 * pairs * d_model + 3 * pairs",
                "attention = 2 * pairs * d_model + 5 * pairs", "attention = 2 * pairs * d_model + pairs",
                *(f"return total + {n} * num_layers * pairs" for n in (1, 2, 3, 4, 5))),
        mistake("biases counted too", "More than matrix products was counted: adding a bias is none, and there is none "
                "here.", "projections = 4 * d_model * (d_model + 1)\n"
                "feed_forward = d_model * (d_ff + 1) + d_ff * (d_model + 1)",
                "feed_forward = 2 * d_model * d_ff + d_model + d_ff", "projections = 4 * d_model * (d_model + 1)",
                "return total + 3 * num_layers * tokens * (5 * d_model + d_ff)"),
        mistake("an addition less in each sum", "A sum of n products was counted with n - 1 additions. Here each "
                "multiply-add is 2 operations, the first one too.", _EXACT),
        mistake("another number of projections", "Attention multiplies by a matrix (d_model, d_model) for queries, "
                "keys and values, and by one more afterwards.", "projections = 3 * d_model * d_model",
                "projections = d_model * d_model", "projections = 2 * d_model * d_model",
                "projections = 5 * d_model * d_model", "projections = 4 * d_model", "projections = 0"),
        mistake("another number of feed-forward matrices", "The feed-forward network has two matrices here, one to "
                "d_ff and one back.", "feed_forward = d_model * d_ff", "feed_forward = 3 * d_model * d_ff",
                "feed_forward = 2 * d_ff * d_ff", "feed_forward = d_model * d_ff + d_ff * d_ff", "feed_forward = 0",
                "feed_forward = 4 * d_model * d_ff", "feed_forward = 2 * (d_model + d_ff)"),
        mistake("d_ff taken for granted", "The inner width was taken as 4 · d_model. Which argument gives it?",
                "feed_forward = 8 * d_model * d_model"),
        mistake("the layers forgotten", "The layers do not all count, or the output layer counts in each of them. "
                "What is there once, and what once per layer?", "layers = layer", "output = num_layers * tokens * "
                "d_model * vocab_size", "layers = num_layers**2 * layer"),
        mistake("the batch left out", "The products of one sequence, or of one token, were counted. A step takes the "
                "whole batch.", "tokens = num_tokens\npairs = num_tokens * num_tokens", "tokens = num_tokens",
                "tokens = 1\npairs = num_tokens", "tokens = batch", "return total // batch",
                "return total // (batch * num_tokens)"),
        mistake("the output layer left out", "The scores of all tokens of the vocabulary take a product, too, and not "
                "a small one.", "output = 0"),
        mistake("the output layer for one token", "The output layer was counted once for each sequence, or once in "
                "all. In training every position makes a prediction.", "output = batch * d_model * vocab_size",
                "output = d_model * vocab_size"),
        mistake("a target less in each sequence", "The output layer was counted for one token less in each sequence. "
                "The last one has no target, but has it a row in the product?",
                "output = batch * (num_tokens - 1) * d_model * vocab_size"),
        mistake("a look-up counted as a product", "The embedding was counted as a product with one-hot rows. Taking a "
                "row from a table multiplies nothing.", "look_up = tokens * d_model * vocab_size",
                "look_up = tokens * d_model", "look_up = tokens * vocab_size"),
        mistake("the backward pass left out", "Only the forward pass was counted. What else happens in a training "
                "step?", "backward = 0"),
        mistake("the backward pass counted once", "The backward pass was counted as one forward pass. Each product "
                "has two factors: how many gradients does it need?", "backward = forward"),
        mistake("the backward pass counted three times", "The backward pass was counted as three forward passes. A "
                "product's gradient takes one product for each of its factors.", "backward = 3 * forward"),
        mistake("a backward pass of another part only", "One part was left out on the way back. Every product of the "
                "forward pass has its two gradients.", "backward = 2 * layers", "backward = 2 * layers + output",
                "backward = 2 * forward - 2 * num_layers * attention", "backward = layers + 2 * output"),
        *flag("recompute", "is_recomputed",
              ignored="`recompute` changes nothing. What is done once more where activations were not kept?",
              turned="Recomputing came out as the cheaper setting. What does True mean?"),
        mistake("the output layer recomputed", "The whole forward pass was counted again. Only the layers are "
                "recomputed: what comes after "
                "them is still there when the backward pass begins.", "repeated = forward"),
        mistake("recomputed another number of times", "Every layer is computed once more, and its gradients are not "
                "computed twice. How many forward passes of the layers are added?", "repeated = 2 * layers",
                "repeated = layers // 2", "repeated = 3 * layers", "repeated = layer", "repeated = 3 * forward"),
        mistake("only a part of the layers recomputed", "A layer's forward pass is both: the products with weights and "
                "those of attention.", "repeated = layers - num_layers * attention",
                "repeated = num_layers * attention"),
        mistake("recomputed instead of computed", "With `recompute` something is missing that is there without it. The "
                "second forward pass comes on top of everything else.",
                "total = per_multiply_add * (again if is_recomputed else forward + backward)",
                "total = per_multiply_add * (forward + again if is_recomputed else forward + backward)",
                "total = per_multiply_add * (backward + again if is_recomputed else forward + backward)"),
        *adding(INTEGER, {"a float": ("return total / 1e12", "return total / 1e15")}),
    ),
    hints=(
        "Count one layer's forward pass first. A product of a vector and a matrix (m, n) has m · n multiply-adds.",
        "Two kinds of products: those with weights happen once for each token, those of attention once for each pair "
        "of tokens.",
        "Scores and average each take d_model multiply-adds per pair, all heads together. How many pairs does a batch "
        "have?",
        "Then: times the layers, plus the output layer, times three for both passes, and with `recompute` the layers' "
        "part once more. Each multiply-add is 2.",
    ),
)
