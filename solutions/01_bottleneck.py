# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
r"""
# Read a sequence into one vector, and see where that fails

Two models read a row of digits and write it down again. One must keep all that it has read in a single vector of 64 numbers; the other may look back at every step.

Play for one minute: move the length. **Which model makes the first mistake, at which length, and which part of its copy is still right at 40?** At the end of the chapter you can explain it.
"""

# %% tags=["remove-input"]
from course_utils.measure import read_record
from course_utils.widgets import length_explorer

names, copies = ("fixed", "attention"), read_record("chapter_01_copies")
samples = [(one["source"], {name: one[name] for name in names}) for one in copies["runs"]]
curves = {name: {one["length"]: one[name] for one in copies["accuracy"]} for name in names}
length_explorer(samples, curves, trained=40, length=20)

# %% [markdown]
r"""
*You will be able to*

1. write the step of a recurrent network and an encoder that copes with padding;
2. say exactly what a decoder sees of its source, with and without attention;
3. measure where a fixed context fails, and say what the measurement does not show;
4. measure the gradient that reaches the first symbol, and say why it is not the whole story;
5. count an encoder–decoder's memory and its sequential steps.

*You need* matrix products, PyTorch tensors, and the idea of training: parameters are moved along a gradient until a loss is small. The other words are explained below or where they first appear.

*Core path · further*
"""

# %% [markdown]
"""
How to read: a question comes before each experiment. Write your guess down, run the cell, then open the answer. A guess that was wrong is worth more than one that was right.

The problem is *sequence to sequence*: symbols x₁ … xₙ come in and symbols y₁ … yₘ go out, where n and m may differ, as in translation, summarising and answering questions. In shapes, B counts sequences, S source symbols and T target symbols; `d_in` is the width of an input, `d_h` that of a state.
"""

# %% [markdown]
r"""
Five words:

- **embedding**: the vector that represents a symbol; one row of a table, learned like every other parameter.
- **softmax**: turns any numbers $z_i$ into positive ones that sum to 1, $\exp(z_i) / \sum_j \exp(z_j)$.
- **loss**: here the mean of $-\ln p$, where $p$ is the probability that the model gave to the right symbol. It is 0 when every right symbol had probability 1.
- **gated recurrent unit**, GRU: a recurrent step that learns how much of its state to keep and how much to overwrite.
- **seed**: the number that starts a random generator. Other seeds mean other first parameters and another order of the data, so several of them show how much of a result is chance.
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
import datetime
import math
import sys
import time
from functools import partial
from statistics import mean

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from tqdm import tqdm

from course_utils import data, measure, models, plotting
from course_utils.attention import context_vector as average
from course_utils.attention import dot_score, stable_softmax
from course_utils.data import END, FIRST_SYMBOL, PAD, START, repeat_pairs
from course_utils.guessing import draw_guess, guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.models import train_seq2seq, write_all
from course_utils.widgets import length_explorer, overwriting_stepper

plotting.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
"""
The chapter's first model as a whole, before its parts:
"""

# %% tags=["remove-input"]
from course_utils.diagrams import diagram

diagram("01")

# %% [markdown]
r"""
## 1. One step, by hand

A recurrent network reads one symbol at a time. What it remembers is one vector, the **state** $h$. Each step makes a new state from the input and the old state:

$$h_t = \tanh(x_t W_{xh} + h_{t-1} W_{hh} + b) \tag{1}$$

Two inputs of width 2, a state of width 2, starting at zero:

$$W_{xh} = \begin{pmatrix}1 & -0.5\\ 0.5 & 1\end{pmatrix},\quad W_{hh} = \begin{pmatrix}0.6 & 0.2\\ -0.2 & 0.6\end{pmatrix},\quad b = (0,\ 0.1)$$

For $x_1 = (1, 0)$ the first row of $W_{xh}$ is added to $b$, and $h_0 = 0$ adds nothing: $h_1 = \tanh(1,\ -0.4)$.

**Predict.** $x_2 = (0, 1)$. Which sign does each entry of $h_2$ have?
"""

# %%
x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
W_xh = torch.tensor([[1.0, -0.5], [0.5, 1.0]])
W_hh = torch.tensor([[0.6, 0.2], [-0.2, 0.6]])
b = torch.tensor([0.0, 0.1])
h1 = torch.tanh(x[0] @ W_xh + torch.zeros(2) @ W_hh + b)
print("h1", h1)
print("h1 W_hh", h1 @ W_hh)
print("h2", torch.tanh(x[1] @ W_xh + h1 @ W_hh + b))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Both are positive. The new input adds (0.5, 1), the bias (0, 0.1), and the old state only $h_1 W_{hh} = (0.533,\ -0.076)$: not enough to change the sign of the second entry.

</details>

**Predict.** Now the same two inputs in the other order. Is the last state the same?
"""

# %%
for name, order in (("x1, x2", [0, 1]), ("x2, x1", [1, 0])):
    h = torch.zeros(1, 2)
    for t in order:
        h = models.rnn_step(x[t : t + 1], h, W_xh, W_hh, b)
    print(name, "->", h[0])

# %% [markdown]
"""
<details><summary>Answer</summary>

No: whatever was read earlier has passed through W_hh once more. So a state depends on the order of what was read. Without that it could not hold a sentence; and for the same reason an early symbol is harder to recover.

</details>
"""

# %% [markdown]
r"""
### Exercise: `rnn_step`

*Difficulty · importance · minutes*

Write `rnn_step(x, h, W_xh, W_hh, b) -> h_next`, formula (1) for a whole batch.

- `x` is (B, d_in), `h` is (B, d_h), `W_xh` (d_in, d_h), `W_hh` (d_h, d_h), `b` (d_h,).
- The result is (B, d_h). Each sequence has its own row, and no row depends on another.
- Inputs are not changed, and gradients reach all five.
"""


# %% exercise="rnn_step"
def rnn_step(x, h, W_xh, W_hh, b):
    """Return the next state of each sequence of a batch."""
    ### BEGIN SOLUTION: Add what comes in, what is remembered and the bias; then tanh.
    return torch.tanh(x @ W_xh + h @ W_hh + b)
    ### END SOLUTION


# %%
check("rnn_step", rnn_step)
# hint("rnn_step")  # remove the first # for a hint; each call gives one more

# %% [markdown]
"""
**The oracle.** `nn.RNNCell` is the same step. It keeps its matrices transposed and has two biases that only ever appear as their sum.
"""

# %%
torch.manual_seed(0)
cell = nn.RNNCell(3, 5).double()
x, h = torch.randn(4, 3).double(), torch.randn(4, 5).double()
ours = models.rnn_step(x, h, cell.weight_ih.T, cell.weight_hh.T, cell.bias_ih + cell.bias_hh)
torch.testing.assert_close(ours, cell(x, h))
print("equal to nn.RNNCell:", tuple(ours.shape))

# %% [markdown]
"""
**Check yourself.** A batch holds 4 sequences, d_in = 3, d_h = 5. How many numbers does the step have to learn?

- A. 45
- B. 180
- C. 40

<details><summary>Answer</summary>

- **A is right**: 3·5 + 5·5 + 5. They are the same at every step and for every sequence, however long.
- B is wrong: that counts them once for each sequence.
- C is wrong: the bias is missing.

</details>
"""

# %% [markdown]
r"""
## 2. A whole sequence into one vector

The **encoder** applies the step to $x_1, \dots, x_n$. Its last state is the **context**, all that is handed on:

$$h_t = \mathrm{RNN}(x_t,\ h_{t-1}), \qquad c = h_n . \tag{2}$$

The sequences of a batch differ in length, so short ones are filled up with padding. The loop runs over the padding too: row 1 below has length 2 of 5.

**Predict.** Is `states[1, 4]` the same as `states[1, 1]` if the padding is all zeros?
"""

# %%
generator = torch.Generator().manual_seed(7)
normal = partial(torch.randn, generator=generator)
x = normal(2, 5, 3)
x[1, 2:] = 0.0  # padding
weights = (normal(3, 4), normal(4, 4) * 0.5, normal(4) * 0.5)
states, context = models.encode(x, torch.tensor([5, 2]), *weights)
print("states of row 1\n", states[1])
print("its context", context[1])

# %% [markdown]
"""
<details><summary>Answer</summary>

No. An input of zeros is an input: W_hh and the bias go on working, and the state drifts. A context taken from the last position tells the decoder about the padding as well. Nothing fails; the numbers just mean something else.

</details>
"""

# %% [markdown]
r"""
### Exercise: `encode`

*Difficulty · importance · minutes*

Write `encode(x, lengths, W_xh, W_hh, b) -> (states, context)`.

- `x` is (B, S, d_in); `lengths` is (B,), each from 1 to S. The first state comes from zeros.
- `states` is (B, S, d_h), for all S steps: those on padding are computed like any other, neither frozen nor set to zero.
- `context` is (B, d_h): for each sequence the state at step `lengths - 1`.
- Inputs may be float64. A new tensor is float32 unless you say otherwise: `x.new_zeros(...)` takes the dtype of `x`.
"""


# %% exercise="encode"
def encode(x, lengths, W_xh, W_hh, b):
    """Return the states of all steps, and the one after each sequence's last real symbol."""
    ### BEGIN SOLUTION: Step through the positions, stack the states, pick one from each row.
    h = x.new_zeros(x.shape[0], b.shape[0])
    states = []
    for step in x.unbind(dim=1):
        h = torch.tanh(step @ W_xh + h @ W_hh + b)
        states.append(h)
    states = torch.stack(states, dim=1)
    return states, states[torch.arange(len(x)), lengths - 1]
    ### END SOLUTION


# %%
check("encode", encode)
# hint("encode")

# %% [markdown]
"""
**The oracle.** `nn.RNN` with a *packed* batch stops each sequence at its end. Its last state must be our context.
"""

# %%
rnn = nn.RNN(3, 4, batch_first=True).double()
x, lengths = normal(3, 6, 3).double(), torch.tensor([6, 1, 4])
matrices = (rnn.weight_ih_l0.T, rnn.weight_hh_l0.T, rnn.bias_ih_l0 + rnn.bias_hh_l0)
states, context = models.encode(x, lengths, *matrices)
packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
torch.testing.assert_close(context, rnn(packed)[1][0])
torch.testing.assert_close(states, rnn(x)[0])
print("context equals nn.RNN's last state on the packed batch; states equal those on the padded")

# %% [markdown]
r"""
## 3. What the decoder sees

The **decoder** is a second recurrent network. At each step it gets the symbol written before, $y_{t-1}$, and the context:

$$s_t = \mathrm{RNN}([y_{t-1};\ c],\ s_{t-1}), \qquad p(y_t) = \mathrm{softmax}(s_t W_o) . \tag{3}$$

In training $y_{t-1}$ is the right symbol (*teacher forcing*); later it is the model's own.

**Predict.** The encoder has left its states for a sequence of 6 symbols. On which of them do $s_1, \dots, s_4$ depend *directly*?
"""

# %%
states = normal(1, 6, 4).requires_grad_()
context = states[:, -1]  # the fixed context
W_in, W_state, bias = normal(2 + 4, 5), normal(5, 5) * 0.5, normal(5)
s, written = torch.zeros(1, 5), normal(1, 4, 2)
for symbol in written.unbind(dim=1):
    s = models.rnn_step(torch.cat([symbol, context], dim=1), s, W_in, W_state, bias)
(felt,) = torch.autograd.grad(s.sum(), states)
print("size of the gradient at each encoder state:", felt.norm(dim=-1)[0])

# %% [markdown]
r"""
<details><summary>Answer</summary>

Only the last. Whatever the decoder writes, and however long the source is, it looks at the same $d_h$ numbers at every step. Two sources whose contexts are equal get equal answers.

</details>

**Find the error.** Text C (A to E are listed on the page *What is measured here*) says: "The encoder must compress 50 words … into a 512-dimensional vector. This is fundamentally insufficient".

**Predict.** How many bits do 512 float32 numbers hold? And how many does a sentence of 50 words need?
"""

# %% guess={"name": "01.bits", "kind": "number", "asks": "How many bits does it take to name one of all possible texts of {words} words from a vocabulary of {vocabulary}?", "low": 10, "high": 10000000, "log": true, "unit": "bits", "reads": "50 words of 30,000: {} bits", "varied": [{"words": 50, "vocabulary": 30000}, {"words": 20, "vocabulary": 100000}, {"words": 200, "vocabulary": 50000}, {"words": 10, "vocabulary": 1000}], "becomes": "words * log2(vocabulary)"}
guess("01.bits")

# %%
room, sentence = 512 * 32, 50 * math.log2(30_000)
print(f"512 numbers of 32 bits: {room:,} bits")
print(f"50 words of 30,000:     {sentence:,.0f} bits, {room / sentence:.0f} times less")
print(f"40 of our ten symbols:  {40 * math.log2(10):,.0f} bits; 64 numbers: {64 * 32:,} bits")

# %% [markdown]
r"""
<details><summary>Answer</summary>

There is room for the sentence twenty-two times over<!-- shown: 22 -->. Counting bits refutes the argument, but it does not save the model: what matters is how much a *trained* network can write into a vector step by step, keep there and read back. Section 6 measures that.

</details>

**Predict.** For n = m = 50 and states of width 1024 in float32: how large is the fixed context, and how large are all states of encoder and decoder together?
"""

# %%
print("words   context   all states of encoder and decoder (n = m)")
for n in (1, 10, 50, 500):
    print(f"{n:5} {1024 * 4 / 1024:7.0f} KiB {2 * n * 1024 * 4 / 1024:11,.0f} KiB")

# %% [markdown]
r"""
<details><summary>Answer</summary>

4 KiB for the context at any length. The states, (50 + 50) · 1024 · 4 bytes, make 400 KiB<!-- shown: 4 400 -->. That is O(n + m), as text C says. Training has to keep these states anyway, for the backward pass. The fixed-context decoder ignores nearly all of them.

</details>
"""

# %% [markdown]
r"""
**Watch it.** One vector, overwritten with every symbol. Its numbers are those of section 6's model with the fixed context, trained to copy. After each symbol a *linear readout*, fitted on other sources, names all symbols read so far from the 64 numbers alone.

**Predict.** After 20 symbols: which one is named best? And how many of the 20?
"""

# %% guess={"name": "01.named", "kind": "choice", "asks": "The fixed-context copier has read twenty symbols: which of them does a linear readout of its state name right most often?", "take": "largest", "options": {"the first": "20 symbols read: first {}%", "the second": "20 symbols read: {_}second {}%", "the last": "20 symbols read: {_}last {}%"}}
guess("01.named")

# %%
overwritten = measure.read_record("chapter_01_overwriting")
overwriting_stepper(overwritten)

# %%
for share in (overwritten["runs"][0]["shares"][step - 1] for step in (2, 3, 5, 20)):
    first, last = f"first {share[0]:4.0%}, second {share[1]:4.0%}", f"last {share[-1]:4.0%}"
    print(f"{len(share):2} symbols read: {first}, {last}; {sum(share):.1f} named right")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The first: it is still named in 96% of the sources. The second falls from 100% to 56% when the third is read, and after 20 symbols about 6 are named, where guessing names 2.<!-- shown: 96% 100% 56% 5.8 --> The vector does not lose the oldest, as a queue would. This model has learned to keep what its decoder is asked first, and each further symbol is written over the rest.

</details>
"""

# %% [markdown]
r"""
## 4. A context for each step

Attention lets the decoder see all states. Each step has its own context, a weighted average:

$$c_t = \sum_{i=1}^{n} \alpha_{t,i}\, h_i, \qquad \sum_i \alpha_{t,i} = 1 . \tag{4}$$

Take "The cat sat on the mat", translated as "Le chat était assis sur le tapis". Say that *chat* has the weights (0.05, 0.82, 0.03, 0.02, 0.03, 0.05) and *assis* has (0.03, 0.08, 0.75, 0.04, 0.05, 0.05). The numbers are text C's, an illustration and not a measurement.

**Predict.** Do both rows sum to 1? The two contexts are $c_2$ and $c_4$. Why not $c_3$?
"""

# %%
words = ["The", "cat", "sat", "on", "the", "mat"]
rows = {
    "chat": [0.05, 0.82, 0.03, 0.02, 0.03, 0.05],
    "assis": [0.03, 0.08, 0.75, 0.04, 0.05, 0.05],
}
target = ["Le", "chat", "était", "assis", "sur", "le", "tapis"]
for word, row in rows.items():
    top = max(range(6), key=row.__getitem__)
    print(f"{word:5} sum {sum(row):.2f}, most ({row[top]:.0%}) from word {top + 1}, ", end="")
    print(f"{words[top]!r}; context number {target.index(word) + 1}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Both sum to 1. A context belongs to the word being *written*: *assis* is the fourth word of the French sentence, though it looks at the third of the English. Output and input positions are two different counts.

</details>

Chapter 02 is about where the weights come from. Here we only use them.
"""

# %% [markdown]
r"""
### Exercise: `context_vector`

*Difficulty · importance · minutes*

Write `context_vector(weights, states) -> context`, formula (4) for a batch.

- `weights` is (B, S), `states` is (B, S, d_h); the result is (B, d_h).
- The weights are used as given: they need not sum to 1, and may be negative.
"""


# %% exercise="context_vector"
def context_vector(weights, states):
    """Return the sum of the states, each times its weight."""
    ### BEGIN SOLUTION: Give each state its weight and sum over the states.
    return torch.einsum("bs,bsh->bh", weights, states)
    ### END SOLUTION


# %%
check("context_vector", context_vector)
# hint("context_vector")

# %% [markdown]
r"""
**Predict.** The question of section 3 again, with this context: on which states does the decoder depend now? And which weights turn it back into the fixed context?
"""

# %%
states = normal(1, 6, 4).requires_grad_()
weights = torch.tensor([rows["chat"]])
context = torch.einsum("bs,bsh->bh", weights, states)
(felt,) = torch.autograd.grad(context.sum(), states)
print("each entry of the gradient:", felt[0, :, 0])
only_last = torch.tensor([[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]])
same = torch.equal(torch.einsum("bs,bsh->bh", only_last, states), states[:, -1])
print("all weight on the last state gives the fixed context:", same)

# %% [markdown]
"""
<details><summary>Answer</summary>

All of them, each as strongly as its weight. With all weight on the last state, attention *is* the fixed context: it can do everything the other can.

</details>
"""

# %% [markdown]
"""
**Check yourself.** Attention lets a model "look at" all positions simultaneously, says text B. Take the source symbol that is farthest from the first output symbol. How many recurrent steps lie on the *shortest* path between the two?

- A. n with a fixed context, 1 with attention
- B. 1 in both cases
- C. n in both cases

<details><summary>Answer</summary>

- **A is right.** With a fixed context the first symbol passes through all n steps of the encoder. With attention each symbol's own state enters the average directly, one step after the symbol was read.
- B and C are wrong: the shortcut is what attention adds. The long way stays open as well.

</details>
"""

# %% [markdown]
"""
## 5. How often is a whole sentence right?

A translation with one wrong word is wrong. **Token accuracy** counts symbols, **exact match** counts whole sequences. Padding in the target is not part of the task, so it must count in neither.

**Predict.** Suppose that 99% of the symbols are right, independently of each other. What share of the sequences of 40 is right from end to end?
"""

# %%
for share in (0.9, 0.99, 0.999):
    print(f"symbols right {share}: whole sequences of 10 {share**10:.2f}, of 40 {share**40:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

$0.99^{40} \approx 0.67$<!-- shown: 0.67 -->. Where errors come in clusters, as in section 6, more sequences stay whole.

</details>
"""

# %% [markdown]
r"""
### Exercise: `exact_match`

*Difficulty · importance · minutes*

Write `exact_match(predicted, target, pad_id) -> float`.

- `predicted` and `target` are (B, T), long.
- A sequence counts as right if it is right at *every* position where `target` is not `pad_id`; what was predicted elsewhere does not matter.
- A target that is padding alone counts as right.
- Return a Python `float`.
"""


# %% exercise="exact_match"
def exact_match(predicted, target, pad_id):
    """Return the share of sequences that are right wherever the target is not padding."""
    ### BEGIN SOLUTION: Right or padding at every position; then the mean over sequences.
    right = (predicted == target) | (target == pad_id)
    return right.all(dim=1).double().mean().item()
    ### END SOLUTION


# %%
check("exact_match", exact_match)
# hint("exact_match")

# %% [markdown]
"""
## 6. The experiment: copy what you read

The smallest task that needs all of the source: write it again. Sources are 1 to 40 random symbols out of ten, so nothing can be guessed from its neighbours. Two models of width 64 have the same number of parameters, the same start and the same data. In both, one GRU reads and another one writes. They differ in one thing:

- **fixed**: the decoder gets the last state, at its start and at *every* step;
- **attention**: at every step it gets a new average, with softmax weights of dot products (chapter 02).

Here is the whole model, in two cells: first what is learned, then what is done with it.
"""


# %%
class Layers(nn.Module):
    """Two tables of symbols, a GRU that reads, one that writes, and two matrices."""

    def __init__(self, look, width=64, embedding=32, symbols=FIRST_SYMBOL + 10):
        super().__init__()
        self.look = look  # what the two models differ in
        self.read_symbol = nn.Embedding(symbols, embedding)
        self.reader = nn.GRU(embedding, width, batch_first=True)
        self.written_symbol = nn.Embedding(symbols, embedding)
        self.first = nn.Linear(width, width)
        self.writer = nn.GRUCell(embedding + width, width)
        self.predict = nn.Linear(2 * width, symbols)

    def read(self, x, lengths):
        """Return all states and each sequence's last; packing stops each at its end."""
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.reader(packed)
        return pad_packed_sequence(states, True, total_length=x.shape[1])[0], last[0]

    def move(self, x, s):
        """Return the decoder's next state."""
        return self.writer(x, s)


# %%
class Seq2Seq(Layers):
    """Read a source; write with the right symbols in training, with its own afterwards."""

    def start(self, source):
        real = source != PAD
        states, last = self.read(self.read_symbol(source), real.sum(dim=1))
        return torch.tanh(self.first(last)), (states, last, real)

    def step(self, y, s, encoded):
        context = self.look(s, *encoded)
        s = self.move(torch.cat([y, context], dim=-1), s)
        return s, torch.cat([s, context], dim=-1)

    def forward(self, source, target):
        (s, encoded), seen = self.start(source), []
        for y in self.written_symbol(target[:, :-1]).unbind(dim=1):
            s, features = self.step(y, s, encoded)
            seen.append(features)
        return self.predict(torch.stack(seen, dim=1))

    @torch.no_grad()
    def write(self, source, length):
        (s, encoded), tokens = self.start(source), [torch.full((len(source),), START)]
        for _ in range(length):
            s, features = self.step(self.written_symbol(tokens[-1]), s, encoded)
            tokens.append(self.predict(features).argmax(dim=-1))
        tokens = torch.stack(tokens[1:], dim=1)
        over = (tokens == END).cumsum(dim=1) > (tokens == END).long()  # behind the end
        return models.Written(tokens.masked_fill(over, PAD), None)


# %% [markdown]
"""
And the one difference. `~real` marks padding: a score of -inf gives it the weight 0.

**Predict.** After 1000 training steps of 64 pairs: what share of the symbols does each get right at lengths 5, 20, 40 and 50?
"""


# %%
def fixed_context(s, states, last, real):
    """Return the encoder's last state, whatever is asked."""
    return last


def attention_context(s, states, last, real, average=average):
    """Return the average of all states, weighted by how well each fits the decoder's."""
    scores = dot_score(s[:, None], states)[:, 0].masked_fill(~real, -torch.inf)
    return average(stable_softmax(scores), states)


contexts = {"fixed": fixed_context, "attention": attention_context}


# %%
def training_pairs(steps):
    """Draw as many pairs as are needed, so that none is seen twice."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 41, (64 * steps,), generator=generator)
    return repeat_pairs(lengths, generator)


def unseen_pairs(length, count=200):
    """Draw the fixed test set of one length."""
    generator = torch.Generator().manual_seed(1000 + length)
    return repeat_pairs(torch.full((count,), length), generator)


def new_model(context, seed):
    """Return an untrained model of width 64."""
    torch.manual_seed(seed)
    return Seq2Seq(context)


pairs = training_pairs(1000)
live = {name: new_model(context, 0) for name, context in contexts.items()}
for name, model in live.items():
    print(f"{name:9} {sum(tensor.numel() for tensor in model.parameters()):,} parameters")

# %% tags=["nbval-ignore-output"] reason="a progress bar; training differs in the last digits between machines"
bar = partial(tqdm, desc="fixed", ncols=70, mininterval=1, file=sys.stdout)
_ = train_seq2seq(live["fixed"], pairs, steps=1000, seed=0, progress=bar)

# %% tags=["nbval-ignore-output"] reason="a progress bar; training differs in the last digits between machines"
bar = partial(tqdm, desc="attention", ncols=70, mininterval=1, file=sys.stdout)
_ = train_seq2seq(live["attention"], pairs, steps=1000, seed=0, progress=bar)

# %% tags=["nbval-ignore-output"] reason="training differs in the last digits between machines"
lengths = (2, 5, 10, 15, 20, 25, 30, 35, 40, 50)
measured = {name: {} for name in live}
print("           " + "".join(f"{length:6}" for length in lengths))
for name, model in live.items():
    for length in lengths:
        test = unseen_pairs(length)
        written = write_all(model, test).tokens
        tokens = models.token_accuracy(written, test.target)
        measured[name][length] = (tokens, measure.exact_match(written, test.target[:, 1:], PAD))
    symbols, whole = zip(*measured[name].values(), strict=True)
    for what, row in (("symbols", symbols), ("whole", whole)):
        print(f"{name:9} {what:8}" + "".join(f"{share:6.2f}" for share in row))

# %% [markdown]
"""
<details><summary>Answer</summary>

At length 5 both are good. At 20 the fixed context is right for about a quarter of the symbols, while guessing gives a tenth; attention is right nearly everywhere. Beyond 40, the longest length in training, attention falls too. It is not a cure for lengths that were never seen.

</details>

One seed is an anecdote. A script in the repository (`benchmarks/chapters/ch01/chapter_01_bottleneck.py`) trained the same models with three seeds and four widths; the next cell reads its record. The stars are the two models trained above.
"""


# %%
record = measure.read_record("chapter_01_bottleneck")
print(f"recorded {record['date']}: {record['command']}")


def recorded(context, width, what="token_accuracy", steps=1000):
    """Return, for each length, a recorded quantity, one number a seed."""
    wanted = {"context": context, "width": width, "steps": steps}
    runs = [run for run in record["runs"] if wanted.items() <= run.items()]
    return {int(length): [run[what][length] for run in runs] for length in runs[0][what]}


fixed, attended = recorded("fixed", 64), recorded("attention", 64)
(longer,) = zip(*recorded("fixed", 64, steps=8000).values(), strict=True)
ranges = (f"{min(attended[n]):.2f} to {max(attended[n]):.2f} at {n}" for n in (40, 50))
print("attention, three seeds:", ", ".join(ranges))

# %% mystnb={"image": {"alt": "Share of symbols copied right against source length. Attention stays above 0.94 up to length 40, the longest trained, and falls to 0.89 at 50. The fixed context falls from 0.9 at 5 to 0.27 at 20 and 0.17 at 40. Trained eight times longer, it falls later: 0.95 at 10, 0.49 at 20, 0.25 at 40."}}
axes = plotting.new_figure(
    "A fixed context collapses with length;\nattention holds to the trained length",
    "source length   (bands: three seeds; stars: the live runs)",
    "symbols right",
)
axes.set(ylim=(0, 1.12), xlim=(0, 52))
axes.axvline(40, color=plotting.QUIET, linestyle=":", linewidth=1)
axes.text(39.5, 0.53, "trained up to 40", color=plotting.QUIET, ha="right")
axes.axhline(0.1, color=plotting.QUIET, linestyle=":", linewidth=1)
axes.text(0.5, 0.05, "guessing", color=plotting.QUIET, va="center")
plotting.band(axes, lengths, list(attended.values()), "attention", "blue", (24, 1.06))
plotting.band(axes, lengths, list(fixed.values()), "fixed", "orange", (3.2, 0.4))
plotting.line(axes, lengths, longer, "fixed, 8 × longer", "green", (19.5, 0.75), "s--")
for name, colour in (("attention", "blue"), ("fixed", "orange")):
    stars = [tokens for tokens, _ in measured[name].values()]
    plotting.line(axes, lengths, stars, "", colour, style="*", markersize=11, mec="white")

# %% [markdown]
"""
What was measured, and no more:

- **At this budget** the fixed context of 64 numbers loses its grip between 5 and 15 symbols, in all three seeds.
- **Eight times the training** (one seed, recorded) moves the collapse to the right, but does not remove it within the lengths tested. A statement like "a fixed context cannot hold 20 symbols" is not supported.
- **Attention** with the same width and budget keeps at least 0.94 up to 40, and falls to between 0.86 and 0.92 at 50<!-- shown: 0.94 0.86 0.92 -->.

**Predict.** At length 40 the attention models get 94 to 97% of the symbols right<!-- shown: 94% 97% -->. If errors were independent, how many whole sequences would be right? And how many are?
"""

# %% guess={"name": "01.clusters", "kind": "number", "asks": "A copier with attention gets 96% of the symbols right at length 40: what share of the whole sequences does it get right?", "low": 0, "high": 1, "reads": "seed 2: symbols {_}; whole {}"}
guess("01.clusters")

# %%
whole = recorded("attention", 64, "exact_match")[40]
for seed, (tokens, sequences) in enumerate(zip(attended[40], whole, strict=True)):
    print(f"seed {seed}: symbols {tokens:.3f}; whole {sequences:.2f}, independent {tokens**40:.2f}")

# %% [markdown]
"""
<details><summary>Answer</summary>

Between a tenth and a third<!-- shown: 0.09 0.33 -->. In fact 59 to 73% were<!-- shown: 59% 73% -->: errors come in clusters. A model that has lost its place goes on from the wrong one. Token accuracy alone would not have shown it.

</details>

**Predict.** Where in a copy of 40 symbols is the fixed context right: at the first symbols written, which were read longest ago, or at the last?
"""

# %% tags=["nbval-ignore-output"] reason="training differs in the last digits between machines"
test = unseen_pairs(40)
print("place    " + "".join(f"{place:5}" for place in (1, 2, 3, 5, 10, 20, 30, 40)))
for name, model in live.items():
    right = (write_all(model, test).tokens == test.target[:, 1:]).float().mean(dim=0)
    shown = [right[place - 1].item() for place in (1, 2, 3, 5, 10, 20, 30, 40)]
    print(f"{name:9}" + "".join(f"{share:5.2f}" for share in shown))

# %% [markdown]
"""
<details><summary>Answer</summary>

At the first. The symbol that has travelled through *all* of the encoder's steps is kept best; from about the tenth on, the copy is little better than guessing. So distance alone does not explain the loss. This model (one seed) keeps a few symbols: those that are asked for first. Section 8 comes back to this.

</details>

Look for yourself. Move the length, and find the first error of each model.
"""


# %% tags=["nbval-ignore-output"] reason="a widget has a new id in every run, and what it shows comes from the training above"
def digits(tokens):
    """Return the symbols before the end as text, one digit each."""
    return "".join(str(token - FIRST_SYMBOL) for token in tokens.tolist() if token >= FIRST_SYMBOL)


shown = repeat_pairs(torch.arange(1, 51).repeat(4), torch.Generator().manual_seed(5))
copies = {name: write_all(model, shown).tokens for name, model in live.items()}
samples = [
    (digits(source), {name: digits(tokens[row]) for name, tokens in copies.items()})
    for row, source in enumerate(shown.source)
]
length_explorer(samples, {"fixed": fixed, "attention": attended}, trained=40, length=20)

# %% [markdown]
"""
**Check yourself.** Someone shows you a curve of translation quality against sentence length that falls for a model without attention. What must the figure show before you believe that the fixed vector is the cause?

<details><summary>Answer</summary>

At least: the same model with attention, at equal size and training; several seeds; the number of sentences at each length; and the lengths seen in training, since models of any kind fail beyond them.

</details>
"""

# %% [markdown]
"""
## 7. A wider vector

If room is what is missing, a wider context must move the collapse to greater lengths.

**Predict.** Widths 16, 32, 64 and 128 at the same number of steps. At which width is half of the symbols right at length 10? At 20?
"""

# %% mystnb={"image": {"alt": "Share of symbols right against context width, 16 to 128, fixed context. At length 5 it rises from 0.31 to 1.0, at length 10 from 0.21 to 0.73, at length 20 from 0.16 to 0.36. Attention of width 64 at length 20 is at 0.99."}}
widths = (16, 32, 64, 128)
axes = plotting.new_figure(
    "A wider context holds more,\nand the same lengths stay hard",
    "width of the fixed context   (bands: three seeds)",
    "symbols right",
)
plotting.power_axis(axes, widths)
axes.set(ylim=(0, 1.12), xlim=(14, 260))
for length, colour in ((5, "green"), (10, "blue"), (20, "orange")):
    shares = [recorded("fixed", width)[length] for width in widths]
    plotting.band(axes, widths, shares, f"length {length}", colour, (136, mean(shares[-1])))
    print(f"length {length:2}:", "  ".join(f"{mean(runs):.2f}" for runs in shares))
plotting.line(axes, 64, mean(attended[20]), "", "orange", style="D")
orange = plotting.COLOURS["orange"]
_ = axes.text(60, 1.06, "attention 64, length 20", color=orange, ha="right", va="center")
size = {run["width"]: run["parameters"] for run in record["runs"] if run["context"] == "fixed"}
print("parameters:", ", ".join(f"{size[2 * w] / size[w]:.1f} times from {w}" for w in widths[:-1]))

# %% [markdown]
"""
<details><summary>Answer</summary>

At length 10, at about width 64, which gets 0.49<!-- shown: 0.49 -->, just short of a half; at 20 not even at 128. Twice the width costs about three times the parameters<!-- shown: 3.1 --> and buys a few symbols. A wider vector moves the limit; attention at width 64 all but removes it up to the trained length.

</details>

Attention needs width too: its weights come from states that must tell one place from another.

**Predict.** Attention of width 16: is it closer to the fixed context of its own width, or to attention of width 64?
"""

# %% guess={"name": "01.narrow", "kind": "number", "asks": "Trained on up to 40 symbols: what share of the symbols does a copier with attention of width 16 get right at length 20 (lowest of three seeds)?", "low": 0, "high": 1, "reads": "attention 16: {} to"}
guess("01.narrow")

# %%
for context in ("fixed", "attention"):
    for width in (16, 32, 64):
        shares = recorded(context, width)[20]
        print(f"{context:9} {width:3}: {min(shares):.2f} to {max(shares):.2f} at length 20")

# %% [markdown]
"""
<details><summary>Answer</summary>

In between, and nearer to its own width: 0.35 to 0.37, compared with 0.16 and 0.99<!-- shown: 0.35 0.37 0.16 0.99 -->. "Attention solves it" is too simple.

</details>
"""

# %% [markdown]
r"""
## 8. The gradient that reaches the first symbol

Training tells the encoder about symbol 1 through the gradient. In formula (1) each step back multiplies it by $W_{hh}^\top$ and the slope of tanh, at most 1. With a fixed context the message crosses n steps; with attention one shortcut is always there. That recurrent networks struggle with long distances because of *vanishing gradients* is an old finding (Bengio et al., 1994).

We take the loss of the *first* output symbol, which is a copy of source symbol 1. Its **pull** at a source symbol is the size of its gradient at that symbol's embedding. First the untrained models.

**Predict.** From 5 to 50 symbols, by what factor does the pull at symbol 1 fall in each model?
"""


# %%
def source_pull(model, pairs):
    """Return the size of the first output symbol's gradient at each source symbol."""
    kept = []
    handle = model.read_symbol.register_forward_hook(lambda *call: kept.append(call[-1]))
    logits = model(pairs.source, pairs.target[:, :2])
    handle.remove()
    loss = cross_entropy(logits[:, 0], pairs.target[:, 1], reduction="sum")
    (gradient,) = torch.autograd.grad(loss, kept)
    return gradient.norm(dim=-1)


reached = {}
for name, context in contexts.items():
    untrained = new_model(context, 0)
    pulls = [source_pull(untrained, unseen_pairs(n))[:, 0].mean().item() for n in lengths]
    reached[name] = dict(zip(lengths, pulls, strict=True))
    print(f"{name:9}", "  ".join(f"{n}: {reached[name][n]:.1e}" for n in (2, 5, 10, 20, 50)))
factor = (reached["fixed"][50] / reached["fixed"][5]) ** (1 / 45)
print(f"fixed: times {factor:.2f} with each further symbol")
law = measure.fit_power_law(lengths[1:], list(reached["attention"].values())[1:])
print(f"attention, against length: {law}")

# %% [markdown]
"""
<details><summary>Answer</summary>

With attention by about 10: the weights of an untrained model are nearly equal, so each state gets about 1/n. With the fixed context by about $10^9$: each further symbol leaves 63%<!-- shown: 0.63 -->. One falls like a power of the length, the other exponentially.

</details>

So an untrained fixed-context model learns next to nothing from the start of a long sentence. Is that why it fails?

**Predict.** Now after training. Spread equally over 40 source symbols, the pull would be 2.5% on each. How much does symbol 1 get?
"""


# %% guess={"name": "01.gradient", "kind": "curve", "asks": "A trained copier with the fixed context: what share of the first output symbol's gradient is on source symbol 1, at each source length?", "low": 0, "high": 0.8, "x": [2, 5, 10, 20, 30, 40, 50], "across": "source length", "reads": "{} at {x}"}
guess("01.gradient")


# %% mystnb={"image": {"alt": "Share of the gradient on the first source symbol against length, before and after training. Before, on a logarithmic axis: attention falls like one over n, the fixed context exponentially, to about 10 to the power of minus 11 at 50. After training: the fixed context stays near 0.21 and attention near 0.43 at length 40."}}
def pull(context, when, what="share"):
    """Return, for each length, what is recorded of the gradient at symbol 1, one number a seed."""
    runs = [run for run in record["runs"] if run["steps"] == 1000]
    runs = [run for run in runs if (run["context"], run["width"]) == (context, 64)]
    return [[run[f"gradient_{when}"][what][str(n)] for run in runs] for n in lengths]


panels = plotting.new_panels(
    "Exponential before training;\nafter it, the gradient arrives in both",
    "source length   (bands: three seeds)",
    ["share on symbol 1,\nbefore training", "share on symbol 1,\nafter training"],
)
for panel, when, places in zip(
    panels, ("before", "after"), (((27, 1e-8), (30, 0.3)), ((30, 0.15), (36, 0.56))), strict=True
):
    for context, colour, at in zip(("fixed", "attention"), ("orange", "blue"), places, strict=True):
        plotting.band(panel, lengths, pull(context, when), context, colour, at)
    plotting.line(panel, lengths, [1 / n for n in lengths], "1/n", "green", None, ":")
panels[0].set(yscale="log", ylim=(1e-12, 9))
panels[1].set(ylim=(0, 0.8))
panels[1].text(12, 0.13, "1/n", color=plotting.COLOURS["green"], fontweight="bold")
draw_guess(panels[1], "01.gradient")
trained = zip(pull("fixed", "after"), lengths, strict=True)
print("fixed, after training:", ", ".join(f"{mean(runs):.2f} at {n}" for runs, n in trained))

# %%
print("at length 40, after training (mean of three seeds):")
for context in ("fixed", "attention"):
    share, size = (mean(pull(context, "after", what)[-2]) for what in ("share", "reached"))
    accuracy = mean(recorded(context, 64)[40])
    print(f"{context:9} share {share:.0%}, size {size:.3f}; symbols right {accuracy:.2f}")

# %% [markdown]
"""
<details><summary>Answer</summary>

Far more: 21%, compared with 43% with attention<!-- shown: 21% 43% -->. The gradient arrives: training has made gates that keep the first symbol. And section 6 showed that the first symbol is the one that this model copies best.

The *size* of the pull does not tell the two apart: at the outputs the gradient of the loss is $p - 1$ for the right symbol, so it vanishes wherever a symbol is already right with certainty. That is why shares are compared.

</details>
"""

# %% [markdown]
"""
So vanishing gradients are real at the start, but they are not the whole story. At length 40 the trained fixed-context model does get a gradient at symbol 1, copies that symbol better than any other, and yet gets only one symbol in six right<!-- shown: 0.17 -->. What it has not learned in 1000 steps is to keep *many* symbols apart in 64 numbers. The same 64 hold more after longer training (section 6), and more numbers hold more (section 7). How much of the slow learning is due to the weak gradients of the first steps, this experiment cannot say.
"""

# %% [markdown]
r"""
## 9. Steps that must wait

A GRU reads a batch of 32 sequences of 50 symbols.

**Predict.** How many steps have to wait for another: 50, or 32 × 50 = 1600? How would the times at batch 1 and batch 32 compare in each case?
"""


# %% tags=["nbval-ignore-output"] reason="times vary"
def best_time(run, repeats=7):
    """Return the shortest of several times, in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


with torch.no_grad():
    gru = nn.GRU(64, 64, batch_first=True)
    one, many = (best_time(partial(gru, torch.zeros(batch, 50, 64))) for batch in (1, 32))
    print(f"GRU, 50 steps: batch 1 {one:.2f} ms, batch 32 {many:.2f} ms: {many / one:.1f} times")
    width, n = 256, 500
    matrix, states = torch.randn(width, width) / 16, torch.randn(n, width)

    def in_turn():
        h = states[:1]
        for _ in range(n):
            h = h @ matrix

    turns, at_once = best_time(in_turn), best_time(lambda: states @ matrix)
    print(f"{n} products in turn {turns:.2f} ms, one batched {at_once:.2f} ms", end="")
    print(f": {turns / at_once:.0f} times")

# %%
print(f"in turn: {n * measure.count_flops(lambda: states[:1] @ matrix):,} operations")
print(f"at once: {measure.count_flops(lambda: states @ matrix):,} operations")
print("GRU, batch 32: 50 steps that wait,", 32 * 50, "updates of a state")

# %% [markdown]
"""
<details><summary>Answer</summary>

50. The 32 sequences move on together; 1600 counts updates of a state. If all of them had to wait, batch 32 would take 32 times as long; it takes far less.

The second pair does the same work, operation for operation. In turn it takes several times as long, even on one CPU core: each product is too small to use the machine well, and no two may overlap.

</details>
"""

# %% [markdown]
"""
**Find the error.** Text C says that attention, in training, "transforms the sequential O(m) decoder steps into a single parallel operation".

**Predict.** The target is known in advance. Does that spare a decoder any of its steps?
"""

# %% guess={"name": "01.calls", "kind": "choice", "asks": "A recurrent decoder with attention is trained on a known target of 20 symbols and the end mark: how often does it run its cell?", "take": "printed", "options": {"once, for all positions together": "attention the cell ran 1 times", "21 times, one after another": "attention the cell ran 21 times", "441 times, once for each pair": "attention the cell ran 441 times"}}
guess("01.calls")

# %%
test = unseen_pairs(20, count=4)
for name, model in live.items():
    calls = []
    handle = model.writer.register_forward_hook(lambda *_, calls=calls: calls.append(1))
    model(test.source, test.target)
    handle.remove()
    print(f"{name:9} the cell ran {len(calls)} times, one after another")

# %% [markdown]
r"""
<details><summary>Answer</summary>

21 times in both<!-- shown: 21 -->. Draw the step: $s_t$ needs $c_t$ and $s_{t-1}$; the weights of $c_t$ need $s_{t-1}$ (or $s_t$). The edge $s_{t-1} \to s_t$ forbids computing all $t$ at once, with attention as without. Attention inside a recurrent decoder parallelises *nothing*.

What does parallelise is dropping the recurrence: queries, keys and values made from the symbols themselves (chapters 03 and 04). Then all positions of a *known* target are computed together. Transformers, and with them GPT, BERT and T5, rest on that. A new text is still written one symbol at a time (chapter 10).

</details>
"""

# %% [markdown]
r"""
**What attention costs.** Training keeps a weight for each pair of positions, O(nm) instead of O(n + m).

**Predict.** How many bytes are the weights in float32 for n = m = 50, for n = m = 1000, and for 32 sequences of the latter? And how many weights does a decoder need at a time when it only writes?
"""

# %%
for n, batch in ((50, 1), (1000, 1), (1000, 32)):
    whole, row = (batch * weights * 4 / 1e3 for weights in (n * n, n))
    print(f"n = m = {n:4}, batch {batch:2}: {n * n:9,} weights each, {whole:9,.0f} kB", end="")
    print(f"; while writing {row:5.1f} kB")

# %% [markdown]
"""
<details><summary>Answer</summary>

10 kB, 4 MB and 128 MB<!-- shown: 10 4,000 128,000 --> for one table of weights in each sequence. It is the price of *training*. While writing, a step needs its own row, O(n), and then forgets it.

</details>
"""

# %% [markdown] tags=["further"]
"""
## 10. What was published, and what it showed

Copying is a toy. **BLEU** rates a translation from 0 to 100 by the runs of one to four words that it shares with a reference. Table 1 of Bahdanau et al. (2015) gives it for English–French, without and with attention, after training on sentences of up to 30 or of up to 50 words; all are tested on the same sentences of any length.

**Predict.** If the model without attention only lacked practice with long sentences, what would happen to the gain from attention when it is trained up to 50 words instead of 30?
"""

# %%
table = {"trained up to 30 words": (13.93, 21.50), "trained up to 50 words": (17.82, 26.75)}
for name, (without, attention) in table.items():
    gain = attention - without
    print(f"{name}: {without:.2f} -> {attention:.2f} with attention, {gain:+.2f} BLEU")

# %% [markdown]
"""
<details><summary>Answer</summary>

It would shrink. It grows, from 7.6 to 8.9 points<!-- shown: 7.6 8.9 -->: practice helps both, and helps attention more.

</details>
"""

# %% [markdown]
"""
**Find the error.** Text C says of English–French LSTMs "with 1000-dimensional hidden states" that quality "remained stable for source sentences up to 20-25 words", fell by "5-10 points" at 30-40, and was "nearly incomprehensible" above 50. Attention "improved BLEU scores by 3-5 points". Compare the last with the table, the rest with the papers.

<details><summary>Answer</summary>

- The collapse was shown for *gated recurrent units* (Cho et al., 2014b; Bahdanau et al., figure 2). The four-layer LSTM of Sutskever et al. (2014) has other gates and read its source *backwards*. Its abstract says: "the LSTM did not have difficulty on long sentences".
- No table was found with the "5-10 points".
- The table shows more than 3–5 points. Up to 5.0 is the gain of Luong et al. (2015), English–German, over systems without attention.

</details>
"""

# %% [markdown]
"""
Try the reversal yourself: `repeat_pairs(..., reverse=True)` makes the target start with the source's *last* symbol.
"""

# %% [markdown] tags=["further"]
"""
## 11. How much has to pass: dates

A random copy is the hardest case: nothing in it can be left out. From chapter 02 on the course uses a task that people really have. A date is given as one of 32 locales writes it, "4. März 2021" or "march 4th, 2021", and is to be written as `2021-03-04`. Chapter 02 shows the data; no day in the test set is ever seen in training.

**Predict.** How many bits does it take to name one day of two centuries? The texts are up to a few dozen characters long: how will a fixed context of 64 numbers do here, compared with copies of that length?
"""

# %%
dates = measure.read_record("chapter_02_dates")
train = data.sample_dates(20_000, torch.Generator().manual_seed(0))
days = (datetime.date(2099, 12, 31) - datetime.date(1900, 1, 1)).days + 1
print(f"longest training text: {max(len(d.text) for d in train)} characters")
print(f"{days:,} days: {math.log2(days):.1f} bits")
print("context   width   whole dates right   symbols right")
for context, width in (*(("fixed", width) for width in widths), ("dot", 64)):
    runs = [r for r in dates["runs"] if (r["context"], r["width"]) == (context, width)]
    whole, symbols = ([r[what] for r in runs] for what in ("exact_match", "token_accuracy"))
    spread = f"{min(whole):.3f} to {max(whole):.3f}"
    print(f"{context:9} {width:5} {spread:>19} {mean(symbols):15.3f}")

# %% [markdown]
"""
<details><summary>Answer</summary>

A date holds about 16 bits<!-- shown: 16 -->, however long it is written, and a wide fixed context does well: 98 to 99% at width 128<!-- shown: 98% 99% -->. At width 64 it gets 89 to 92% of the dates right, attention 99.9%<!-- shown: 89% 92% 99.9% -->. Width 16 shows why exact match counts: 70% of the symbols and 2% of the dates<!-- shown: 70% 2% -->. The bottleneck is a matter of *how much has to pass*, not of how long the text is.

</details>
"""

# %% [markdown] tags=["further"]
"""
## 12. What published texts say, once more

In short words, each with its text. Decide before you open the answers: right, wrong, or right under a condition?

1. Attention, unlike sequential methods, enables parallel computation (A).
2. Attention removes the sequential bottleneck of recurrent networks (C).
3. RNN encoder–decoders compress the whole input into one vector of fixed size (C).
4. RNNs struggle with long distances because of vanishing gradients (E).
5. Attention raises memory from O(n + m) to O(nm) (C).
6. Quality stays the same beyond 50 words (C).
7. For a batch of 32 sequences the encoder processes 32 × 50 = 1600 time steps sequentially (C).
8. An RNN uses 5–10% of the hardware; with attention utilisation rises to 60–80% (C).
"""

# %% [markdown]
"""
<details><summary>Answers</summary>

1. Wrong as it stands: dropping the recurrence does. The first attention sat inside a recurrent decoder (section 9).
2. Right for self-attention in training; writing stays one symbol at a time.
3. Right for the plain model of formulas (2) and (3).
4. Right about the start of training; our trained models get the gradient and fail all the same (section 8).
5. Right for the weights kept in training; a step of writing needs O(n).
6. Right up to the lengths seen in training. Ours falls beyond them (section 6).
7. Wrong: 50 steps wait; 1600 states are updated, 32 at a time (section 9).
8. Nobody can check it: the text names neither hardware nor model.

</details>
"""

# %% [markdown]
"""
## Yours: the copying model, built from your parts

The experiment of section 6 once more, small enough for a few seconds: sources of 1 to 8 symbols, and formula (1) in place of the gates. Your `encode` reads, your `rnn_step` writes, your `context_vector` looks, your `exact_match` judges. What you have not passed yet is the course's.
"""


# %%
def matrices(cell):
    """Return W_xh, W_hh and b from the parameters of one of torch's cells."""
    W_xh, W_hh, b, more = cell.parameters()
    return W_xh.T, W_hh.T, b + more


class YourSeq2Seq(Seq2Seq):
    """The model of section 6; its parts read and write by formula (1)."""

    def __init__(self, parts, look):
        super().__init__(look, width=32)
        self.parts = parts
        self.reader, self.writer = nn.RNNCell(32, 32), nn.RNNCell(64, 32)

    def read(self, x, lengths):
        return self.parts.encode(x, lengths, *matrices(self.reader))

    def move(self, x, s):
        return self.parts.rnn_step(x, s, *matrices(self.writer))


# %%
def copying(parts):
    """Train both models for 200 steps; return the copies of 2, 4, 6 and 8 symbols that are right."""
    generator, shares = torch.Generator().manual_seed(0), {}
    short = repeat_pairs(torch.randint(1, 9, (6400,), generator=generator), generator)
    attention = partial(attention_context, average=parts.context_vector)
    for name, look in (("fixed", fixed_context), ("attention", attention)):
        torch.manual_seed(0)
        model = YourSeq2Seq(parts, look).double()  # in float64 another order of sums shows nowhere
        losses = train_seq2seq(model, short, steps=200, seed=0, batch=32, learning_rate=1e-2)
        tests = [unseen_pairs(length) for length in (2, 4, 6, 8)]
        written = [write_all(model, test).tokens for test in tests]
        right = map(parts.exact_match, written, (t.target[:, 1:] for t in tests), [PAD] * 4)
        shares[name] = [*right, losses[-1]]
    return shares


# %% tags=["nbval-ignore-output"] reason="says whose parts ran and how long they took"
parts = yours("rnn_step", "encode", "context_vector", "exact_match")
note = parts.run(copying)
note

# %%
print("whole copies right at length   2     4     6     8     last loss")
for name, (*right, loss) in note.result.items():
    print(f"{name:28}", "".join(f"{share:6.2f}" for share in right), f"{loss:12.2f}")

# %% [markdown]
"""
Section 6 on a small scale, with parts that you can read to the last line: the fixed context of 32 numbers loses the copy between 2 and 4 symbols, while attention still gets more than a third of the copies of 8 right<!-- shown: 0.37 -->.
"""

# %% [markdown]
r"""
## Recap

1. An encoder's state is $\tanh(x_t W_{xh} + h_{t-1} W_{hh} + b)$; the fixed context is the state at the last *real* symbol.
2. A fixed-context decoder sees the same $d_h$ numbers at every step. Attention gives each step its own weighted average of all states.
3. Copying random symbols, a fixed context of 64 numbers collapsed between lengths 5 and 15 at our budget, and at greater lengths with more training or more width. Attention held up to the trained length of 40.
"""

# %% [markdown]
r"""
4. The first symbol's gradient falls exponentially with length before training; after training it arrives. The collapse remains, so vanishing gradients alone do not explain it.
5. Recurrent steps wait for each other, with attention or without: n + m of them, whatever the batch.
"""

# %% tags=["remove-cell"]
progress(1)

# %% [markdown]
"""
**Next**: chapter 02 finds the weights: additive and multiplicative attention, on dates.
"""

# %% [markdown]
"""
## Go further

- Sutskever et al. (2014): the context as last state, and the reversed source.
- Cho et al. (2014): the context at every step, and the GRU; Cho et al. (2014b): the collapse with length.
- Bahdanau et al. (2015): attention; figure 2 is the curve of section 6.
- Luong et al. (2015): other scores, and the 5.0 points.
- Bengio et al. (1994): vanishing gradients.
- Elman (1990): the network of formula (1), with a logistic function where we have tanh.
"""

# %% [markdown]
r"""
<details><summary>BibTeX</summary>

```bibtex
@inproceedings{sutskever2014sequence,
  title = {Sequence to Sequence Learning with Neural Networks},
  author = {Sutskever, Ilya and Vinyals, Oriol and Le, Quoc V.},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2014}, url = {https://arxiv.org/abs/1409.3215}}
@inproceedings{cho2014learning,
  title = {Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine Translation},
  author = {Cho, Kyunghyun and van Merri{\"e}nboer, Bart and Gulcehre, Caglar and Bahdanau, Dzmitry and Bougares, Fethi and Schwenk, Holger and Bengio, Yoshua},
  booktitle = {EMNLP}, year = {2014}, url = {https://arxiv.org/abs/1406.1078}}
@inproceedings{cho2014properties,
  title = {On the Properties of Neural Machine Translation: Encoder-Decoder Approaches},
  author = {Cho, Kyunghyun and van Merri{\"e}nboer, Bart and Bahdanau, Dzmitry and Bengio, Yoshua},
  booktitle = {SSST-8}, year = {2014}, url = {https://arxiv.org/abs/1409.1259}}
@inproceedings{bahdanau2015neural,
  title = {Neural Machine Translation by Jointly Learning to Align and Translate},
  author = {Bahdanau, Dzmitry and Cho, Kyunghyun and Bengio, Yoshua},
  booktitle = {ICLR}, year = {2015}, url = {https://arxiv.org/abs/1409.0473}}
@inproceedings{luong2015effective,
  title = {Effective Approaches to Attention-based Neural Machine Translation},
  author = {Luong, Minh-Thang and Pham, Hieu and Manning, Christopher D.},
  booktitle = {EMNLP}, year = {2015}, url = {https://arxiv.org/abs/1508.04025}}
@article{bengio1994learning,
  title = {Learning Long-Term Dependencies with Gradient Descent is Difficult},
  author = {Bengio, Yoshua and Simard, Patrice and Frasconi, Paolo},
  journal = {IEEE Transactions on Neural Networks}, volume = {5}, number = {2}, pages = {157--166}, year = {1994}}
@article{elman1990finding,
  title = {Finding Structure in Time}, author = {Elman, Jeffrey L.},
  journal = {Cognitive Science}, volume = {14}, number = {2}, pages = {179--211}, year = {1990}}
```

</details>
"""
