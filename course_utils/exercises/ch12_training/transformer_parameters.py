"""Exercise: count what a whole model learns, from its published sizes."""

from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import adding, mistake, without
from course_utils.exercises.shared.counts import INTEGER, conditional, flag
from course_utils.measure import transformer_parameters

RIGHT = """
def transformer_parameters(
    vocab_size, d_model, num_layers, d_ff, num_heads, num_kv_heads, num_positions, gated, bias, tied
):
    is_gated = gated
    is_biased = bias
    is_tied = tied
    d_head = d_model // num_heads
    d_kv = d_head * num_kv_heads
    queries = d_model * d_model
    keys_values = 2 * d_model * d_kv
    back = d_model * d_model
    into = 2 if is_gated else 1
    up = into * d_model * d_ff
    down = d_ff * d_model
    matrices = queries + keys_values + back + up + down
    attention_bias = 2 * d_model + 2 * d_kv
    ff_bias = into * d_ff + d_model
    vectors = attention_bias + ff_bias
    norm_bias = d_model if is_biased else 0
    norm = d_model + norm_bias
    norms = 2 * norm
    layer = matrices + (vectors if is_biased else 0) + norms
    layers = num_layers * layer
    last = norm
    embedding = vocab_size * d_model
    positions = num_positions * d_model
    output = 0 if is_tied else vocab_size * d_model
    total = embedding + positions + layers + last + output
    return total
"""


def _case(name: str, *sizes: int, gated: bool = False, bias: bool = False, tied: bool = True) -> Case:
    return case(name, given(*sizes, gated, bias, tied))


EXERCISE = exercise(
    transformer_parameters,
    right=RIGHT,
    asks="Count every number that a stack of Transformer layers learns, with embedding and output.",
    minutes=12,
    difficulty=3,
    importance=5,
    cases=(
        _case("2 layers of width 6, tied, no biases", 11, 6, 2, 13, 3, 3, 0),
        _case("an output matrix of its own", 17, 10, 3, 23, 5, 5, 0, tied=False),
        _case("7 learned positions", 19, 10, 3, 29, 2, 2, 7),
        _case("with biases", 23, 15, 4, 31, 3, 3, 0, bias=True),
        _case("gated", 29, 14, 3, 37, 7, 7, 0, gated=True),
        _case("6 query heads, 2 of keys and values", 31, 18, 5, 41, 6, 2, 0),
        _case("one head of keys and values", 37, 20, 3, 43, 5, 1, 9, tied=False),
        _case("gated, with biases and shared heads", 41, 24, 5, 53, 8, 2, 11, gated=True, bias=True, tied=False),
        _case("gated, with biases, tied", 43, 22, 7, 59, 11, 11, 13, gated=True, bias=True),
        _case("one layer, one head", 13, 5, 1, 7, 1, 1, 3, bias=True, tied=False),
        _case("no layers at all", 13, 6, 0, 7, 2, 2, 4, bias=True),
        _case("GPT-2", 50257, 768, 12, 3072, 12, 12, 1024, bias=True),
        _case("GPT-3", 50257, 12288, 96, 49152, 96, 96, 2048, bias=True),
        _case("Llama 7B", 32000, 4096, 32, 11008, 32, 32, 0, gated=True, tied=False),
        _case("Llama 3 8B", 128256, 4096, 32, 14336, 32, 8, 0, gated=True, tied=False),
        _case("Llama 3.2 1B", 128256, 2048, 16, 8192, 32, 8, 0, gated=True),
    ),
    mistakes=(
        mistake("every head as wide as the model", "The count grows with the number of heads: each was given matrices "
                "of its own of the full width. The heads share d_model; how many columns does one of them have?",
                "queries = num_heads * d_model * d_model\nkeys_values = 2 * num_kv_heads * d_model * d_model",
                "queries = num_heads * d_model * d_model\nkeys_values = 2 * num_kv_heads * d_model * d_model\n"
                "back = num_heads * d_model * d_model", "d_kv = d_model * num_kv_heads",
                "queries = num_heads * d_model * d_model", "back = num_heads * d_model * d_model"),
        mistake("the heads of keys and values ignored", "Keys and values were projected to the full width though fewer "
                "heads have them. How wide are all their heads together?", "d_kv = d_model",
                "keys_values = 2 * d_model * d_model"),
        mistake("keys and values as wide as one head", "The width of one head was counted for keys and values. How "
                "many heads of them are there?", "d_kv = d_head", "keys_values = 2 * d_model * d_head"),
        mistake("heads of another width", "A key/value head is as wide as a query head. Which number of heads divides "
                "d_model?", "d_kv = d_model // num_kv_heads", "d_kv = num_heads // num_kv_heads * d_head",
                "d_kv = num_kv_heads", "d_kv = d_model * d_head", "d_kv = num_heads * num_kv_heads",
                "d_kv = d_model // num_kv_heads * num_heads"),
        mistake("a second attention in each layer", "Each layer has a second attention, as a decoder has that reads an "
                "encoder. How many are there in one stack?",
                "matrices = 2 * (queries + keys_values + back) + up + down",
                "matrices = 2 * (queries + keys_values + back) + up + down\n"
                "attention_bias = 2 * (2 * d_model + 2 * d_kv)\nnorms = 3 * norm",
                "matrices = 2 * (queries + keys_values + back) + up + down\nnorms = 3 * norm"),
        mistake("queries shared like keys", "W_q or W_o was made as narrow as W_k. Every query head has its own "
                "columns in W_q and its own rows in W_o: only keys and values are shared.",
                "queries = d_model * d_kv\nback = d_model * d_kv", "queries = d_model * d_kv", "back = d_kv * d_model"),
        mistake("one of keys and values", "A layer has one of two matrices too few, or too many: keys need one, and "
                "values another.", "keys_values = d_model * d_kv", "keys_values = 3 * d_model * d_kv",
                "keys_values = 0"),
        mistake("W_q or W_o missing", "Each layer has a matrix (d_model, d_model) too few. One of them makes the "
                "queries, and one mixes the heads afterwards: which was left out?", "back = 0"),
        mistake("one head's output projection", "W_o was counted for one head. It reads all heads side by side, and "
                "writes the stream: how wide are both?", "back = d_model * d_head"),
        mistake("one feed-forward matrix missing", "The feed-forward network goes to d_ff and back again. How many "
                "matrices is that without a gate?", "down = 0", "up = 0", "down = 0\nup = 0",
                "up = (into - 1) * d_model * d_ff"),
        mistake("d_ff taken for granted", "The inner width is not always 4 · d_model, and with a gate it is given as "
                "it is. Which argument says it?", "d_ff = 4 * d_model\nup = into * d_model * d_ff",
                "d_ff = 2 * d_ff // 3 if is_gated else d_ff\nup = into * d_model * d_ff",
                "layer = 12 * d_model * d_model", "layer = 12 * d_model * d_model + norms",
                "layer = 12 * d_model * d_model + 13 * d_model if is_biased else 12 * d_model * d_model + norms"),
        mistake("d_ff × d_ff", "A matrix from d_ff to d_ff was counted. From which width to which does each of the "
                "two go?", "up = into * d_ff * d_ff", "down = d_ff * d_ff", "up = into * d_model * d_model",
                "down = d_model * d_model"),
        *flag("gated", "is_gated",
              ignored="`gated` changes nothing. A gate is a matrix of its own besides those on the way in and back: "
                      "how many are there then?",
              turned="The network with a gate has fewer matrices than the one without. What does True mean?"),
        mistake("four matrices with a gate", "With a gate there is one matrix too many, or only a vector more. What "
                "comes in, what gates it, and what goes back?", "into = 3 if is_gated else 1",
                "up = d_model * d_ff + (d_ff if is_gated else 0)"),
        *flag("tied", "is_tied",
              ignored="`tied` changes nothing. A matrix that serves twice: how often is it stored?",
              turned="The model with one shared matrix has more parameters than the one with "
            "two. What does True mean?"),
        mistake("a bias on the output matrix", "The output matrix got a vector of its own. `bias` speaks of the "
                "matrices of a layer and of the norms.",
                "output = 0 if is_tied else vocab_size * d_model + (vocab_size if is_biased else 0)",
                "output = (0 if is_tied else vocab_size * d_model) + (vocab_size if is_biased else 0)",
                "output = 0 if is_tied else vocab_size * (d_model + 1)",
                "output = vocab_size if is_tied else vocab_size * (d_model + 1)"),
        mistake("the embedding forgotten", "A large table at the bottom of the stack is missing. What turns a token "
                "into a vector, and where are those vectors kept?", "embedding = 0", "embedding = 0\nlast = 0",
                "embedding = 0\npositions = 0", "embedding = 0\npositions = 0\noutput = 0",
                "embedding = 0\npositions = 0\noutput = 0\nlast = 0", "embedding = vocab_size"),
        mistake("the positions forgotten", "Learned positions are parameters, too. Each has a vector: how long?",
                "positions = 0"),
        mistake("positions of another length", "Each position has a vector, but not one of this length. To what is it "
                "added?", "positions = num_positions", "positions = num_positions * d_head",
                "positions = num_positions * vocab_size"),
        mistake("counted in every layer", "Something that the stack has once was counted once per layer. What is below "
                "the first layer and above the last one?", "positions = num_layers * num_positions * d_model",
                "last = num_layers * norm", "layers = num_layers * (layer + vocab_size * d_model)\nembedding = 0",
                "total = num_layers * (embedding + positions + layer + last + output)"),
        mistake("positions of their own for queries and keys", "Positions were counted more than once, or though "
                "`num_positions` is 0. Where is one added to the token's vector?",
                "positions = 2 * num_positions * d_model", "positions = (num_positions + 2) * d_model",
                "positions = (num_positions or 1) * d_model", "positions = (num_positions or 512) * d_model",
                "positions = (num_positions or 1024) * d_model"),
        mistake("one layer only", "The layers are not counted as many times as there are. Does each have its own "
                "matrices?", "layers = layer", "layers = (num_layers + 1) * layer", "layers = (num_layers - 1) * layer",
                "layers = 2 * num_layers * layer", "layers = num_layers * (layer - norms) + norms",
                "layers = num_layers * (layer - vectors) + vectors"),
        mistake("the last norm forgotten", "The layers add up, but something after the last one is missing. What "
                "brings the stream to one size before the output matrix?", "last = 0"),
        mistake("another number of norms in a layer", "A layer has one norm before, or after, each of its two parts. "
                "How many is that?", "norms = norm", "norms = 3 * norm", "norms = 4 * norm"),
        mistake("a norm too many outside the layers", "Besides the norms of the layers there are two: one after the "
                "last layer, and another one. Which of them does the stack have?", "last = 2 * norm"),
        mistake("the norms forgotten", "Norms learn something, too: at least a number for each feature.",
                "norm = 0", "norms = 0", "norm = norm_bias"),
        mistake("the norm's bias forgotten", "Every norm has only its gain, even where biases are asked for. What else "
                "does a LayerNorm have?", "norm_bias = 0"),
        mistake("a bias in every norm", "Every norm has gain and bias, even where no bias is asked for. What does an "
                "RMSNorm have?", "norm_bias = d_model"),
        mistake("a norm of two numbers", "A norm was counted as one or two numbers, or as a matrix. It has a gain for "
                "each feature of the stream.", "norm = 2 if is_biased else 1", "norm = d_model * (d_model + 1)"),
        *flag("bias", "is_biased",
              ignored="`bias` changes nothing. What does each matrix of a layer add to its product, and each norm?",
              turned="There are more parameters without biases than with them. What does True mean?"),
        mistake("the matrices' biases forgotten", "The norms have their bias, but the matrices do not all have theirs. "
                "How many matrices does a layer have, with a gate and without, and how many columns does each "
                "have?", "vectors = 0",
                "vectors = ff_bias", "vectors = attention_bias", "attention_bias = d_model + 2 * d_kv",
                "ff_bias = d_ff + d_model", "ff_bias = d_model", "ff_bias = d_ff",
                "attention_bias = 2 * d_kv", "attention_bias = d_model", "attention_bias = 2 * d_model",
                "attention_bias = 2 * d_model + d_kv"),
        mistake("a bias of another length", "There is a bias for every matrix, but not one number for each of its "
                "columns. How long is what comes out of W_k, and of each feed-forward matrix?",
                "attention_bias = 4 * d_model", "attention_bias = 4 * d_kv", "ff_bias = 2 * d_ff",
                "ff_bias = (into + 1) * d_model", "ff_bias = (into + 1) * d_ff", "ff_bias = into * d_model + d_ff",
                "attention_bias = 2 * d_model + 2 * d_head"),
        conditional("layer = matrices + vectors + norms if is_biased else 0",
                    "layer = matrices + vectors if is_biased else norms",
                    "layer = matrices + norms + vectors if is_biased else 0",
                    "total = embedding + positions + layers + last + vocab_size * d_model if not is_tied else 0"),
        mistake("everything counted twice, or in bytes", "The count is two, four or eight times as large as it should "
                "be: there are two stacks in it, perhaps, or these are bytes. How many numbers does one stack hold?",
                "return 2 * total", "return 4 * total", "return 8 * total"),
        mistake("counted in thousands or millions", "The count was divided. How many numbers are there, one by one?",
                "return total // 1000", "return total // 10**6"),
        *adding(without(INTEGER, "return total / 1e3", "return total / 1e9"), {"a float": ("return total / 1000",)}),
    ),
    hints=(
        "Write the stack down from below: embedding, positions, then what one layer holds, then what comes after the "
        "last layer.",
        "One layer: four matrices of attention, two or three of the feed-forward network, two norms. Write the shape "
        "of each next to it.",
        "W_k and W_v have as many columns as all key/value heads together: d_model / num_heads for each.",
        "With `bias`, each matrix adds as many numbers as it has columns, and a norm twice d_model instead of once. "
        "Count the layer without biases first.",
    ),
)
