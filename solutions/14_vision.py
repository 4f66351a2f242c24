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
# Look at images: vision and cross-modal attention

A small Vision Transformer runs in this page. It cuts a digit into patches, and each patch is a token.

Play for one minute: look at a head, then press *shuffle patches*, once with *positions* switched on and once without. **When does the answer change, and why only then?** At the end of the chapter you can explain it.
"""

# %% tags=["remove-input"]
from course_utils.measure import read_record
from course_utils.widgets import patch_explorer

opening = patch_explorer(read_record("chapter_14_explorer"), image=6, layer=2)
opening

# %% [markdown]
r"""
*You will be able to*

1. cut an image into tokens, and say which pixel goes where;
2. build a Vision Transformer's input, and say what positions and class token do;
3. implement object-query attention, and match predictions to objects;
4. write the contrastive loss and gated cross-attention (further: the loss that judges each pair alone);
5. (further) tell dual encoder, single stream and cross-attention apart by what can be precomputed;
6. write the non-local block, and identify token, position and mask in other domains (further).

*You need* chapters 04 (cross-attention), 05 (heads), 06 (masks), 07 (positions), 11 (blocks); 08 for section 12.

*Core path · further*
"""

# %% [markdown]
r"""
How to read: each experiment begins with a question. Write down your guess, run the cell, then open the answer.

Images have the axes $(B, C, h, w)$: batch, channels, rows, columns. The images are handwritten digits of 8 × 8 pixels, which come with scikit-learn: 1,347 to learn from, 450 to test on.

Three small models are trained in this notebook, one seed each. Longer runs were recorded by scripts in `benchmarks/`, with the same functions; each table says how many seeds it has.

Texts A to E, whose sentences this course checks, are listed on the page *What is measured here*.
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
import copy
import sys
import time
from functools import partial

import torch
from matplotlib import pyplot as plt
from sklearn import linear_model, svm
from torch import nn
from torch.nn import functional as F
from tqdm import tqdm

from course_utils import attention, interpretability, measure, models, plotting
from course_utils.data.digit_scenes import caption
from course_utils.data.digits import load_digits, shifted
from course_utils.guessing import guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.models.tasks import captions, digit_training, dots, pair_training
from course_utils.models.vision.detection import Detector
from course_utils.models.vision.two_towers import mean_of
from course_utils.positions import is_permutation_equivariant

plotting.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=2, sci_mode=False, linewidth=88)
bar = partial(tqdm, ncols=70, mininterval=1, file=sys.stdout)
digits = load_digits()
recorded = ("digits", "dots", "detection", "pairs", "siglip")
records = (measure.read_record(f"chapter_14_{name}") for name in recorded)
digits_record, dots_record, detection_record, pairs_record, siglip_record = records


# %%
def runs_of(record, *models):
    """Return the runs of these models, in their order."""
    return [run for name in models for run in record["runs"] if run["model"] == name]


# %% [markdown]
r"""
## 1. An image becomes a sequence

A Transformer reads a sequence of vectors. An image is a grid of pixels. The **Vision Transformer** (ViT; Dosovitskiy et al., 2021) cuts the grid into square **patches**, flattens each, and calls them tokens.
"""

# %% tags=["remove-input"]
from course_utils.diagrams import diagram

diagram("14")

# %% [markdown]
r"""
By hand: an image of 4 × 4 pixels, numbered in reading order, and patches of 2 × 2. The first patch holds the pixels 0, 1, 4 and 5.

**Predict.** One line of code looks as if it did the same: `image.reshape(4, 4)`, four rows of four numbers. What is in its first row?
"""

# %%
image = torch.arange(16.0).reshape(1, 1, 4, 4)
print(image[0, 0], "\n")
print("patches", *models.patchify(image, 2)[0].int().tolist(), sep="\n  ")
print("reshape", *image.reshape(4, 4).int().tolist(), sep="\n  ")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The pixels 0, 1, 2 and 3: the first row of the image. `reshape` never moves a number in memory; it only regroups the numbers in the order in which they lie there. To bring two rows of a patch together the axes must be permuted in between: split rows and columns, put the two patch axes last, then flatten.

</details>

With real pixels the mistake is hard to see from the shape, but easy to see in a picture.
"""

# %% mystnb={"image": {"alt": "Three pictures of one handwritten 3. Left, the image. Middle, its sixteen patches in reading order: the 3 cut apart. Right, sixteen squares made by a plain reshape: horizontal slices, no 3 to be seen."}}
three = digits.test_images[(digits.test_labels == 3).nonzero()[0]]
figure = plt.figure(figsize=(plotting.WIDTH, 2.5))
plotting.headline(figure, "Patches, and what a plain reshape makes of them")
parts_of = (
    ("image", three),
    ("patchify", models.patchify(three, 2)),
    ("reshape", three.reshape(1, 16, 4)),
)
for place, (name, pieces) in zip(figure.subfigures(1, 3), parts_of, strict=True):
    across = 1 if name == "image" else 4
    grid = place.subplots(across, across, squeeze=False)
    place.suptitle(name, fontsize=12)
    for axes, piece in zip(grid.flat, pieces[0], strict=True):
        side = int(piece.numel() ** 0.5)
        axes.imshow(piece.reshape(side, side), cmap="gray_r", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(True)

# %% [markdown]
r"""
An image of $h \times w$ pixels gives $N = hw/p^2$ patches of $C p^2$ numbers, in reading order.

**Predict.** The first ViT read 224 × 224 pixels in three colours, in patches of 16 × 16. How many tokens, if one more is put in front? By what factor does the number of weights per head grow if the patches are half as wide?
"""

# %% guess={"name": "14.weights", "kind": "number", "asks": "How many weights has one head of a ViT that reads {size} × {size} pixels in patches of {patch} × {patch}, with a class token?", "low": 1000, "high": 10000000, "log": true, "reads": "224 pixels, patches of 8: {_} tokens, {} weights", "varied": [{"size": 224, "patch": 8}, {"size": 224, "patch": 14}, {"size": 384, "patch": 16}, {"size": 512, "patch": 16}], "becomes": "((size // patch) ** 2 + 1) ** 2"}
guess("14.weights")

# %%
for size, patch in ((8, 2), (224, 32), (224, 16), (224, 8)):
    N = (size // patch) ** 2
    print(f"{size:3} pixels, patches of {patch:2}: {N:3} + 1 tokens", end="")
    print(f", {(N + 1) ** 2:7,} weights in a head")

# %% [markdown]
r"""
<details><summary>Answer</summary>

$14 \cdot 14 = 196$ patches, and with the class token 197. Each patch has $3 \cdot 256 = 768$ numbers. Halving the width gives four times as many patches and almost sixteen times as many weights: the cost is $O(N^2)$, and $N$ itself is quadratic in $1/p$. That is why patches are not single pixels.

</details>
"""

# %% [markdown]
r"""
### Exercise: `patchify`

*Difficulty · importance · minutes*

Write `patchify(images, patch) -> patches`.

- `images` is `(B, C, h, w)`; `patches` is `(B, N, C·p·p)` with $p$ = `patch`.
- The patch in row $i$ and column $j$ of the grid is number $i \cdot (w/p) + j$.
- Inside a patch the order is channel, row, column: the order of a flattened `nn.Conv2d` kernel.
- `ValueError` where $p$ does not divide $h$ or $w$, including where it is larger.
"""


# %% exercise="patchify"
def patchify(images, patch):
    """Cut images into square patches, in reading order."""
    ### BEGIN SOLUTION: Refuse what does not fit, split rows and columns, bring the patch axes last, flatten.
    batch, channels, height, width = images.shape
    if height % patch or width % patch:
        raise ValueError(f"patch must divide {height} and {width}, got {patch}")
    rows, columns = height // patch, width // patch
    grid = images.reshape(batch, channels, rows, patch, columns, patch)
    turned = grid.permute(0, 2, 4, 1, 3, 5)
    return turned.reshape(batch, rows * columns, channels * patch * patch)
    ### END SOLUTION


# %%
check("patchify", patchify)
# hint("patchify")  # remove the first # for a hint; each call gives one more

# %% [markdown]
r"""
Three things turn patches into a ViT's input: a linear **embedding** $E$; a learned **class token** in front, whose last state will be classified; and a learned **position** for every token, the class token included.

$$z_0 = [\,x_\text{class};\; x_1 E;\; \dots;\; x_N E\,] + E_\text{pos}$$

### Exercise: `vit_tokens`

*Difficulty · importance · minutes*

Write `vit_tokens(images, patch, W_e, b_e, class_token, positions) -> tokens`.

- `W_e` is `(C·p·p, d_model)`, `b_e` and `class_token` are `(d_model,)`, `positions` is `(1 + N, d_model)`; the result is `(B, 1 + N, d_model)`.
- The class token comes first, without `b_e`; then the patches @ `W_e` + `b_e`, in the order of `patchify`.
- Row 0 of `positions` is the class token's. $p$ divides $h$ and $w$.
"""


# %% exercise="vit_tokens"
def vit_tokens(images, patch, W_e, b_e, class_token, positions):
    """Return the class token and the embedded patches, each with its position."""
    ### BEGIN SOLUTION: Cut, embed, put the class token in front of every image, add the positions.
    batch, channels, height, width = images.shape
    rows, columns = height // patch, width // patch
    grid = images.reshape(batch, channels, rows, patch, columns, patch)
    patches = grid.permute(0, 2, 4, 1, 3, 5).reshape(batch, rows * columns, -1)
    embedded = patches @ W_e + b_e
    first = class_token.expand(batch, 1, -1)
    return torch.cat([first, embedded], dim=1) + positions
    ### END SOLUTION


# %%
check("vit_tokens", vit_tokens)
# hint("vit_tokens")

# %% [markdown]
r"""
**Check yourself.** A ViT's code begins with `nn.Conv2d(3, 768, kernel_size=16, stride=16)`. Is it a convolutional network?

- A. Yes: it learns local filters first.
- B. No: a convolution whose stride is its kernel's size is a linear layer on each patch.
- C. Partly: neighbouring patches share pixels.

<details><summary>Answer</summary>

- A is wrong: after this layer nothing is local, every token may look at every other.
- **B is right.** That is why the order inside a patch is channel, row, column: the kernel, flattened, is a column of $E$.
- C is wrong: with stride 16 no pixel is in two patches.

</details>
"""

# %% [markdown]
r"""
## 2. What is it good for? A comparison

From here on nothing is new: blocks of multi-head attention and a feed-forward layer, a norm, a linear layer on the class token. Here is the whole model.
"""


# %%
def in_the_open(model, images):
    """Return a ViT's scores, and what the class token reads in every layer and head."""
    W_e, b_e = model.embed.weight.T, model.embed.bias
    learned = model.class_token, model.positions
    x = models.vit_tokens(images, model.patch, W_e, b_e, *learned)
    read = []
    for block in model.blocks:
        read.append(block.weights(x)[:, :, 0].detach())
        x = x + block.attention(block.attention_norm(x))
        x = x + block.feed_forward(x)
    return model.out(model.norm(x)[:, 0]), read


# %% [markdown]
r"""
It is trained for 30 passes through the 1,347 digits, each shifted anew by up to one pixel.

**Predict.** Against it stand a convolutional network (CNN) with about as many parameters, logistic regression and an SVM. Which are best? And which still are when the test digits are shifted by a pixel?
"""

# %% guess={"name": "14.ranks", "kind": "order", "asks": "Which of these models is right for the most unshifted test digits, which for the second most, and so on?", "take": "descending", "options": {"ViT": "ViT, seed 0 {}", "logistic regression": "logistic regression, seed 0 {}", "SVM": "SVM, seed 0 {}", "CNN": "CNN, seed 0 {}"}}
guess("14.ranks")

# %% tags=["nbval-ignore-output"] reason="the bar's speed, and weights that differ between processors"
torch.manual_seed(0)
vit = digit_training.digit_vit()
_ = digit_training.train_on_digits(vit, steps=630, seed=0, progress=bar)
for name, right in digit_training.judge_on_digits(vit).items():
    print(f"{name:7} {right:.2f}")

# %%
print("recorded, 40 rounds          test   shifted test")
for run in runs_of(digits_record, "CNN", "ViT", "SVM", "logistic regression"):
    name = f"{run['model']}, seed {run['seed']}"
    print(f"{name:27}  {run['test']:.3f}  {run['shifted']:.3f}", end="")
    size = run.get("parameters")
    print(f"  {size:,} parameters" if size else "")

# %% [markdown]
r"""
<details><summary>Answer</summary>

On the images as they are, the CNN is first with 0.993 to 0.998<!-- shown: 0.993 0.998 -->, then the SVM with 0.989<!-- shown: 0.989 -->, the ViT with 0.973 to 0.982<!-- shown: 0.973 0.982 --> and logistic regression with 0.962<!-- shown: 0.962 -->. On shifted images the two networks hold up, while the others fall apart: 0.43 to 0.47, and 0.33 to 0.40<!-- shown: 0.43 0.47 0.33 0.40 -->.

</details>

Is it that an SVM compares pixel with pixel? But only the networks were trained on shifted images.

**Predict.** An SVM that has seen all nine shifts of every training image: does it still fall apart?
"""

# %% guess={"name": "14.nine_shifts", "kind": "choice", "asks": "Which classifies the largest share of the shifted test digits correctly: the ViT, or an SVM or a logistic regression that has seen all nine shifts of every training image?", "take": "largest", "options": {"the ViT": {"record": "chapter_14_digits", "where": {"model": "ViT"}, "value": "shifted"}, "the SVM": {"record": "chapter_14_digits", "where": {"model": "SVM, shifts"}, "value": "shifted"}, "logistic regression": {"record": "chapter_14_digits", "where": {"model": "logistic regression, shifts"}, "value": "shifted"}}}
guess("14.nine_shifts")

# %%
side = range(3)
padded = F.pad(digits.images, (1, 1, 1, 1))
nine = torch.cat([padded[..., i : i + 8, j : j + 8] for i in side for j in side])
machine = svm.SVC().fit(nine.flatten(1).numpy(), digits.labels.repeat(9).numpy())
for seed in range(3):
    moved = shifted(digits.test_images, torch.Generator().manual_seed(1_000 + seed))
    right = machine.score(moved.flatten(1).numpy(), digits.test_labels.numpy())
    print(f"SVM, nine shifts: shifted test, draw {seed}: {right:.3f}")
for run in runs_of(digits_record, "SVM, shifts", "logistic regression, shifts"):
    print(f"recorded, {run['model']:27} seed {run['seed']}", end="")
    print(f"  {run['test']:.3f}  {run['shifted']:.3f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

No: it classifies 0.976 to 0.987 of the shifted digits correctly<!-- shown: 0.976 0.987 -->, more than any of the three ViTs (0.951 to 0.964<!-- shown 3: 0.951 0.964 -->). It was the training data, not the way of comparing. For logistic regression, which has one weight per pixel and class, nine shifts are too much: 0.82 of the images as they are, 0.62 to 0.64 of the shifted ones<!-- shown: 0.82 0.62 0.64 -->.

</details>

**Predict.** The same ViT, with all positions held at zero. The tokens are then a set: which patches there are, not where. How many digits will it still classify correctly (a guess is right once in ten), and of which kind more?
"""

# %% guess={"name": "14.no_positions", "kind": "choice", "asks": "On which test digits is a ViT without positions, trained on shifted ones, right more often?", "take": "largest", "options": {"unshifted ones": {"record": "chapter_14_digits", "where": {"model": "none"}, "value": "test"}, "ones shifted by up to a pixel": {"record": "chapter_14_digits", "where": {"model": "none"}, "value": "shifted"}}}
guess("14.no_positions")

# %%
for run in runs_of(digits_record, "ViT", "none"):
    name = "with positions" if run["model"] == "ViT" else "without"
    print(f"{name:14} seed {run['seed']}: {run['test']:.2f}, shifted {run['shifted']:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

0.46 to 0.52 on the images as they are, and 0.63 to 0.66 on shifted ones<!-- shown: 0.46 0.52 0.63 0.66 -->. Two thirds, then, can be told apart by their patches as a set. The shifted images are of the kind that it was trained on: a shift cuts an image into other patches, and as a set these are not the same.

</details>

A convolution has neighbourhood built in; a ViT learns it from 17 position vectors. Dosovitskiy et al. (2021) overtook CNNs after pre-training on 300 million images. That many are not necessary: DeiT (Touvron et al., 2021) came level with the 1.3 million of ImageNet, by heavy augmentation and with a CNN as teacher. "Competitive with CNNs" (text E) needs one or the other.
"""

# %% [markdown]
r"""
**Check yourself.** Your ViT is trained on 224 × 224 pixels and is to read 448 × 448, with the same patch size. What stops it?

- A. The embedding $E$ has the wrong shape.
- B. There are four times as many patches, and no position for most of them.
- C. Nothing: attention takes any length.

<details><summary>Answer</summary>

- A is wrong: patches have the size they had.
- **B is right.** The usual remedy interpolates the learned positions as if they were an image of 14 × 14, to 28 × 28.
- C is half right: attention would, the table of positions does not.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 3. What the class token reads

The class token has nothing to say at first: it is the same for every image. It collects. Its row of weights can be drawn over the image.

**Predict.** Two layers. In which one does the class token look more narrowly? And where: at ink or at paper? To answer a third question, it may read only ink, or only paper: what does that cost?
"""

# %%
scores, _ = in_the_open(vit, digits.test_images)
same = torch.allclose(scores, vit(digits.test_images), atol=1e-4)
print("in the open, the same:", same)

# %% mystnb={"image": {"alt": "Four digits, and over each what the class token reads in layer 1 and in layer 2, patch by patch."}}
shown = torch.tensor([(digits.test_labels == k).nonzero()[0, 0] for k in (0, 3, 4, 7)])
_, read = in_the_open(vit, digits.test_images[shown])
figure, grid = plt.subplots(3, 4, figsize=(plotting.WIDTH, 4.4))
plotting.headline(figure, "What the class token reads, mean of four heads")
for column, number in enumerate(shown):
    grid[0, column].imshow(digits.test_images[number, 0], cmap="gray_r")
    for layer, rows in enumerate(read, start=1):
        patches = rows[column].mean(dim=0)[1:].reshape(4, 4)
        drawn = grid[layer, column].imshow(patches, cmap="cividis", vmin=0, vmax=0.4)
for axes, name in zip(grid[:, 0], ("image", "layer 1", "layer 2"), strict=True):
    axes.set_ylabel(name, rotation=0, ha="right", va="center")
for axes in grid.flat:
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(True)
_ = figure.colorbar(drawn, ax=grid[1:], shrink=0.8, extend="max", label="weight")


# %%
@torch.no_grad()
def reading_only(allowed):
    """Return the share of digits right if the class token reads only these patches."""
    x = vit.tokens(digits.test_images)
    mask = torch.ones(len(x), 1, 17, 17, dtype=torch.bool)
    mask[:, 0, 0, 1:] = allowed
    for block in vit.blocks:
        x = block(x, mask)
    named = vit.out(vit.norm(x)[:, 0]).argmax(dim=-1)
    return (named == digits.test_labels).double().mean()


# %% guess={"name": "14.ink", "kind": "choice", "asks": "If the class token may read only patches with much ink, or only all the others: with which is the ViT right for more test digits?", "take": "largest", "options": {"with the patches that have much ink": "only those above 0.3 ink: {} right", "with the others": "only those above 0.3 ink: {_} right; only the others: {}"}}
guess("14.ink")

# %% tags=["nbval-ignore-output"] reason="the weights come from the training above"
_, read = in_the_open(vit, digits.test_images)
ink = models.patchify(digits.test_images, 2).mean(dim=-1)
inked = ink > 0.3
for layer, rows in enumerate(read, start=1):
    entropy = interpretability.attention_entropy(rows).mean(dim=0)
    share = (rows[..., 1:] * inked[:, None]).sum(dim=-1) / rows[..., 1:].sum(dim=-1)
    print(f"layer {layer}: entropy", *(f"{e:.2f}" for e in entropy), end="")
    print(f" of {torch.tensor(17.0).log():.2f}", end="")
    print(f"; weight on inked patches {share.mean():.2f}")
print(f"inked patches: {inked.float().mean():.2f} of all")
print(f"the class token reads all patches: {reading_only(inked | ~inked):.2f} right")
for least in (0.2, 0.3, 0.4):
    black, white = reading_only(ink > least), reading_only(ink <= least)
    print(f"only those above {least} ink: {black:.2f} right; only the others: {white:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Narrowly in both, more in layer 2: entropies between 0.7 and 1.6, where an even spread has 2.83<!-- shown: 2.83 -->. Not at ink: 0.44 of all patches are inked (mean above 0.3)<!-- shown: 0.44 -->, and they get about 0.38 of the weight.

And the others say more: with them alone it classifies 0.73 correctly, with inked ones alone 0.30<!-- shown: 0.73 0.30 -->, and so it is wherever the line between ink and paper is drawn. (The others are not blank: half hold some ink.) A map shows *where* a head reads, not what it finds (chapter 13).

</details>

The widget below contains two smaller models (patches of 2 × 2 and of 4 × 4). Look at a head, then press *shuffle patches*: each patch moves.

**Predict.** What will a shuffle do to the answer with *positions* switched on? And switched off?
"""

# %%
opening

# %% [markdown]
r"""
<details><summary>Answer</summary>

With positions the answer changes: a patch in another place is another token. Without them *nothing* changes, to the last digit that is shown: the weights move along with their patches, and the class token's average knows no order. (The answers without positions are poor: these models have never seen tokens without them.)

</details>

Two choices look harmless. ViT's own code draws the positions with a standard deviation of 0.02, as BERT's does; ours had 0.3. And instead of the class token one may classify the mean of the patches.

**Predict.** Which of the two choices costs accuracy in the same number of steps?
"""

# %%
kinds = {
    "ViT": "std 0.3, class token",
    "narrow": "std 0.02, class token",
    "mean": "std 0.3, mean of patches",
}
for run in runs_of(digits_record, *kinds):
    print(f"{kinds[run['model']]:24} seed {run['seed']}: {run['test']:.3f}")

# %%
swapped = digits.test_images.roll(4, dims=-1)  # the same patches in other places
for std in (0.3, 0.02):
    torch.manual_seed(0)
    model = digit_training.digit_vit(position_std=std)
    with torch.no_grad():
        patches = model.embed(models.patchify(digits.test_images, 2)).std()
        here, there = model(digits.test_images), model(swapped)
    print(f"std {std:4}, untrained: embedded patches {patches:.2f}", end="")
    print(f", moved patches change scores by {(here - there).std() / here.std():.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The narrow positions: 0.916 to 0.969, against 0.973 to 0.982<!-- shown 2: 0.916 0.969 0.973 0.982 -->. An embedded patch has a standard deviation of 0.39, and a position of 0.02 is small beside it<!-- shown: 0.39 -->: before training, moving patches to other places changes the scores six times less than with 0.3<!-- shown: 0.06 0.01 -->. So at first the model reads little more than a set of patches. Whether more steps would make up for it was not tried: 840 here, hundreds of thousands in ViT's own training, whose choice this experiment does not judge.

The mean of the patches is at least as good as the class token, 0.980 to 0.987<!-- shown 2: 0.980 0.987 -->. A class token is a habit from BERT, not a necessity.

</details>
"""

# %% [markdown]
r"""
## 4. Five questions for an image: object queries

What if an image holds several digits, and we want all, with their places? DETR (Carion et al., 2020) asks with a fixed list of learned vectors, the **object queries**. Each looks at the image by cross-attention and answers with a class, or "nothing", and a place.
"""

# %% [markdown]
r"""
Here: canvases of 24 × 24 pixels with one to three digits, five queries. A convolutional stem turns the canvas into 36 tokens, the **memory**. If $x$ is what the queries hold so far, a layer computes

$$\text{softmax}\!\left(\tfrac{(x + p_q) W_Q\,[(m + p_m) W_K]^\top}{\sqrt{d_k}}\right) m W_V$$

**Predict.** $p_q$ are the object queries, $p_m$ the memory's positions. Why does the value not get $p_m$?
"""

# %% [markdown]
r"""
<details><summary>Answer</summary>

Where to look and what to take away are two questions. Positions guide the search, anew in every layer. The values hand over what is there. (Section 1's $z_0$ has positions in the stream, and so in the values.)

</details>
"""

# %% [markdown]
r"""
### Exercise: `object_query_attention`

*Difficulty · importance · minutes*

Write `object_query_attention(x, query_position, memory, memory_position, W_q, W_k, W_v) -> out`.

- `x` is `(B, Q, d)`, `memory` is `(B, S, d)`; the positions are `(Q, d)` and `(S, d)`; `out` is `(B, Q, d_v)`.
- Positions are added on both sides of the score, not to the values.
- One head, scaled by $1/\sqrt{d_k}$, no residual, no mask.
"""


# %% exercise="object_query_attention"
def object_query_attention(x, query_position, memory, memory_position, W_q, W_k, W_v):
    """Return what each object query reads from the memory."""
    ### BEGIN SOLUTION: Who asks, what is asked, what is read? Which of the three get a position?
    query = (x + query_position) @ W_q
    key = (memory + memory_position) @ W_k
    return F.scaled_dot_product_attention(query, key, memory @ W_v)
    ### END SOLUTION


# %%
check("object_query_attention", object_query_attention)
# hint("object_query_attention")

# %% [markdown]
r"""
**Predict.** Suppose all five object queries were the same vector, and $x$ is zero at first. What can the five answers be?
"""

# %%
torch.manual_seed(0)
canvas = torch.rand(1, 1, 24, 24)
for name, detector in (("alike", Detector(alike=True)), ("different", Detector())):
    rows = detector(canvas)[1][0, :, 0]
    print(f"queries {name:9}: rows", *(f"{row:.3f}" for row in rows))

# %% [markdown]
r"""
<details><summary>Answer</summary>

One answer, five times. Self-attention among the queries cannot tell them apart: it is permutation equivariant (chapter 07), so equal inputs stay equal. The object queries are the *positions* of a list: nothing else says which answer is whose.

</details>
"""

# %% [markdown]
r"""
## 5. Who answers for which digit?

A canvas has three digits; the model gives five answers in no particular order. A loss needs pairs. The cost of each possible pair goes into a table: rows are queries, columns are digits (a distance, less the probability of the right name).

**Predict.** Find by hand the cheapest way to give each of the two digits a query of its own:

| cost | digit 0 | digit 1 |
|---|---|---|
| query 0 | 2 | 3 |
| query 1 | 2 | 9 |
| query 2 | 9 | 4 |

What does "each digit takes its cheapest query" give, and what does "digit 0 chooses first" give?
"""

# %%
cost = torch.tensor([[[2.0, 3.0], [2.0, 9.0], [9.0, 4.0]]])
print("each its cheapest: queries", cost.argmin(dim=1)[0].tolist(), "(one twice)")
second = cost[0, :, 1].clone()
second[0] = torch.inf
print(f"digit 0 first:     queries [0, {second.argmin()}], cost {2 + second.min():.0f}")
best = models.match_queries(cost)[0]
least = cost[0, best, [0, 1]].sum()
print(f"matched:           queries {best.tolist()}, cost {least:.0f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Both digits take query 0. If digit 0 chooses first, and breaks its tie for query 0, digit 1 is left with query 2: cost 6. The best is 5: digit 0 takes query 1, which is as good for it and useless to the other.

</details>

This is the **assignment problem**; the Hungarian algorithm solves it in $O(n^3)$, and `scipy.optimize.linear_sum_assignment` has it. For at most eight queries one may as well try all assignments.
"""

# %% [markdown]
r"""
### Exercise: `match_queries`

*Difficulty · importance · minutes*

Write `match_queries(cost) -> query`.

- `cost` is `(B, Q, T)` with 1 ≤ T ≤ Q ≤ 8; the result is `(B, T)`, long: the query that each object gets.
- No query is used twice in a sequence, and the sum of the costs is as small as possible. In the cases checked, the best assignment is unique.
- Each sequence of the batch is matched separately. No gradient is needed.
"""


# %% exercise="match_queries"
def match_queries(cost):
    """Return the query of each object, none twice, at the least total cost."""
    ### BEGIN SOLUTION: One sequence at a time: of all ways to use no query twice, which costs least?
    from scipy.optimize import linear_sum_assignment

    found = [linear_sum_assignment(one.detach().T.double())[1] for one in cost]
    return torch.tensor([columns.tolist() for columns in found])
    ### END SOLUTION


# %%
check("match_queries", match_queries)
# hint("match_queries")

# %% [markdown]
r"""
The detector was trained in three ways, beforehand: with the optimal matching; with each digit taking its cheapest query, whoever else has it; and with five identical queries.

A digit counts as *located* if an as yet unclaimed answer lies within 2 pixels of its centre, and as *named* if that answer is the right digit too. Naming by guessing among ten digits would be right for 0.10.

**Predict.** In which of the three are most digits located? After 1,000 steps, does the model know better where digits are, or which?
"""

# %% guess={"name": "14.named", "kind": "number", "asks": "What share of the digits does the detector name right after 1,000 steps with the optimal matching, a mean of the seeds?", "low": 0, "high": 1, "reads": {"record": "chapter_14_detection", "where": {"how": "optimal"}, "value": "named"}}
guess("14.named")

# %%
for run in detection_record["runs"]:
    print(f"{run['how']:9} seed {run['seed']}, {run['steps']} steps:", end=" ")
    print(f"located {run['located']:.2f}, named {run['named']:.2f}", end="")
    print(f", {run['claims']:.2f} answers for each digit")

# %% [markdown]
r"""
<details><summary>Answer</summary>

With either matching 0.95 to 0.97 are located<!-- shown: 0.95 0.97 -->: so few digits, far apart, seldom want the same query. *Which* they are is known hardly better than by a guess: 0.13 and 0.10 are named with the optimal matching, 0.12 and 0.22 with the cheapest query<!-- shown: 0.13 0.10 0.12 0.22 -->. The seeds of one matching differ as much as the two matchings.

With identical queries hardly anything is located, and the last column tells how: the model says "nothing" nearly always, with 0.12 and 0.00 answers for each digit<!-- shown: 0.12 0.00 -->. Of five equal answers two are matched with a digit on average, and three are told "nothing": the safer answer for all.

</details>

And where do the queries look? The last layer's weights, over three canvases that the detector had never seen:
"""

# %% mystnb={"image": {"alt": "Three canvases with three digits each, and five maps beside each: where each query looks. White dots mark where a query that found something points; maps of queries that answer nothing are pale."}}
figure, grid = plt.subplots(3, 6, figsize=(plotting.WIDTH, 3.8))
plotting.headline(figure, "Where each of five queries looks, and points")
for row, scene in zip(grid, detection_record["shown"], strict=True):
    row[0].imshow(scene["pixels"], cmap="gray_r")
    for query, axes in enumerate(row[1:]):
        says, (y, x) = scene["says"][query], scene["points"][query]
        weights, faint = scene["weights"][query], 0.35 if says == 10 else 1.0
        like = {"cmap": "cividis", "vmin": 0, "vmax": 1, "extent": (0, 24, 24, 0)}
        drawn = axes.imshow(weights, **like, alpha=faint)
        if says != 10:
            axes.plot(24 * x, 24 * y, "o", color="white", markeredgecolor="black")
            bar_of = drawn
        axes.set_xlabel("nothing" if says == 10 else f"a {says}", fontsize=10)
_ = figure.colorbar(bar_of, ax=grid, shrink=0.7, label="weight")
for axes in grid.flat:
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(True)
for query, axes in enumerate(grid[0, 1:]):
    axes.set_title(f"query {query}", loc="center", fontsize=10)

# %% [markdown]
r"""
Each query has a part of the canvas that it watches: query 3 the left, query 1 the lower right. One that answers puts most of its weight on one or two tokens, close to the digit though not always on it: a token holds its surroundings too, through four convolutions. The points are right, the names are often not.

For **segmentation** one asks the other way round: for every place of the image, which query fits it best? The maps above are too coarse for that. Models for segmentation (MaskFormer, Mask2Former) compare each query with each *pixel's* vector and let the scores be the mask.
"""

# %% [markdown]
r"""
**Check yourself.** Two digits are side by side. Imagine training with each of the two matchings. What does "each its cheapest query" allow that the optimal matching forbids?

- A. That a digit has no query.
- B. That one query is trained towards two digits, and the others are told "nothing".
- C. That the loss is not differentiable.

<details><summary>Answer</summary>

- A is wrong: every digit takes one.
- **B is right**: the one query is pulled to a point between both. With few digits, far apart, that is rare, so the loss in our numbers is small. In a crowd it is not.
- C is wrong: neither matching is differentiated; both only choose the pairs.

</details>
"""

# %% [markdown]
r"""
## 6. Two towers

Images *and* text. CLIP (Radford et al., 2021) has an encoder for each. Every picture becomes one vector, every caption becomes one vector, and a pair that belongs together should have a large cosine: larger than either has with any other in the batch, **both ways**.

By hand, two pictures and two captions, with the cosines below and a temperature of 0.5, which divides:

| cosine | caption 0 | caption 1 |
|---|---|---|
| picture 0 | 0.5 | 0.0 |
| picture 1 | 0.5 | 0.5 |

**Predict.** Picture 0 is right with probability $e^{1}/(e^1 + e^0)$. And picture 1? Which direction has the larger loss?
"""

# %%
cosines = torch.tensor([[0.5, 0.0], [0.5, 0.5]])
logits = cosines / 0.5
tables = {"pictures choose captions": logits, "captions choose pictures": logits.T}
for name, table in tables.items():
    right = table.softmax(dim=-1).diagonal()
    print(f"{name}: right with {right[0]:.2f} and {right[1]:.2f}", end="")
    print(f", loss {F.cross_entropy(table, torch.arange(2)):.3f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Picture 1 cannot decide: 0.50. The losses of the two directions are equal here, by symmetry of this small table; in general they are two different numbers, and the loss is their mean. With one direction only, part of the table goes unpunished: where only captions choose, a caption may be closer to *every* picture by the same amount at no cost, and then every picture chooses it.

</details>
"""

# %% [markdown]
r"""
### Exercise: `contrastive_loss`

*Difficulty · importance · minutes*

Write `contrastive_loss(a, b, temperature) -> loss`.

- `a` and `b` are `(B, d)`; row $i$ belongs to row $i$. First scale each row of both to length 1; a row of zeros stays zeros.
- Logits are cosines *divided* by `temperature`, a number or a () tensor, which then gets a gradient.
- The mean of two cross-entropies: $a_i$ among all $b$, and $b_i$ among all $a$, its own partner included; each is a mean over the batch.
"""


# %% exercise="contrastive_loss"
def contrastive_loss(a, b, temperature):
    """Return how badly each row finds its partner, in both directions."""
    ### BEGIN SOLUTION: Normalise the rows, compare all pairs, and take the cross-entropy along both axes.
    logits = F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T / temperature
    own = torch.arange(len(a))
    return (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2
    ### END SOLUTION


# %%
check("contrastive_loss", contrastive_loss)
# hint("contrastive_loss")

# %% [markdown]
r"""
The data: strips of three digits, and captions in letters. 800 of the thousand numbers are for learning; the other 200 are never shown, neither as strip nor as caption.
"""

# %% mystnb={"image": {"alt": "Four strips of three handwritten digits each, with their captions in words above."}}
pictures, texts = pair_training.gallery()
numbers = pair_training.split_numbers()[1]
figure, grid = plt.subplots(2, 2, figsize=(plotting.WIDTH, 2.8))
plotting.headline(figure, "Four strips of the gallery, with their captions")
for axes, number, picture in zip(grid.flat, numbers, pictures, strict=False):
    axes.imshow(picture[0], cmap="gray_r")
    axes.set_title(caption(number.item()), fontsize=11)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(True)

# %% [markdown]
r"""
Both towers are small Transformers, one over patches and one over letters; the mean of the last states, projected, is the vector. They never see each other before the cosine.

**Predict.** 300 steps. How often will a strip of an unseen number find its caption among 200? (A guess: 1 in 200.)
"""

# %% guess={"name": "14.caption", "kind": "number", "asks": "How large a share of 200 unseen strips finds its own caption among 200 by cosine, after 300 steps of the two towers?", "low": 0.005, "high": 1, "log": true, "reads": "a strip finds its caption {}, a caption its strip"}
guess("14.caption")

# %% tags=["nbval-ignore-output"] reason="the bar's speed"
torch.manual_seed(0)
towers = pair_training.TwoTowers()
_ = pair_training.train_towers(towers, steps=300, seed=0, progress=bar)

# %%
cosines = pair_training.all_scores(towers)
forth, back = pair_training.recall_at_1(cosines)
print(f"a strip finds its caption {forth:.2f}, a caption its strip {back:.2f}")
print(f"the temperature was 0.10 and is {towers.log_temperature.exp():.3f}")
wrong = (cosines.argmax(dim=1) != torch.arange(200)).nonzero()[:4, 0]
for number in wrong:
    taken = numbers[cosines[number].argmax()]
    print(f"  {caption(numbers[number].item())}  is taken for  {caption(taken.item())}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

More than half, 0.56 both ways<!-- shown: 0.56 -->. Guessing finds one in 200. And neither the number nor its handwriting was in training: the towers have learnt digits at places, not numbers. Two of the four mistakes shown have the right digits in the wrong order.

The temperature is learnt as well, and falls: the surer the model, the sharper it may be.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 7. A loss for each pair alone

CLIP's softmax needs a whole row of the table, and a whole column, before it says anything about one pair. **SigLIP** (Zhai et al., 2023) asks of each pair alone: do these two belong together? With learned $t$ and $b$, and $z_{ij} = 1$ where $i = j$, else $-1$:

$$-\frac1N\sum_{i,j}\log\sigma\big(z_{ij}\,(e^{t}\cos_{ij} + b)\big)$$

A large batch is spread over devices, each of which holds some of the captions.

**Predict.** 16 pairs, four captions on each of four devices. Each device computes the loss of its part of the table, and the parts are added. For which loss is that the loss of the whole batch?
"""

# %% guess={"name": "14.parts", "kind": "choice", "asks": "A table of 16 images and 16 captions is cut into four parts of four captions, and the losses of the parts are added: for which loss is the sum that of the whole table?", "take": "printed", "options": {"for the sigmoid alone": "sigmoid:{_}equal True softmax:{_}equal False", "for the softmax alone": "sigmoid:{_}equal False softmax:{_}equal True", "for both": "sigmoid:{_}equal True softmax:{_}equal True", "for neither": "sigmoid:{_}equal False softmax:{_}equal False"}}
guess("14.parts")


# %%
def of_sigmoid(logits, own):
    """Return the sum of the losses of all pairs of a part of the table."""
    return -F.logsigmoid(torch.where(own, logits, -logits)).sum()


def of_softmax(logits, own):
    """Return the sum of the losses of the images whose captions are in this part."""
    return -logits.log_softmax(dim=1)[own].sum()


pair = torch.randn(2, 16, 8, generator=torch.Generator().manual_seed(0))
table, own = 5 * F.normalize(pair[0], dim=1) @ F.normalize(pair[1], dim=1).T, torch.eye(16) > 0
for name, loss in (("sigmoid", of_sigmoid), ("softmax", of_softmax)):
    whole = loss(table, own) / 16
    parts = zip(table.split(4, dim=1), own.split(4, dim=1), strict=True)
    added = sum(loss(*part) for part in parts) / 16
    print(f"{name}: whole {whole:.3f}, parts {added:.3f}, equal {torch.allclose(whole, added)}")
lse = torch.stack([part.logsumexp(dim=1) for part in table.split(4, dim=1)]).logsumexp(dim=0)
print(f"softmax after an exchange of 16 sums: {(lse - table.diagonal()).mean():.3f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

For the sigmoid's. A part of the table holds all that its pairs need. In the softmax each image has to be told how all the other captions fit: with four to choose from instead of 16 the loss comes out at 2.205 instead of 3.799<!-- shown: 2.205 3.799 -->. It takes a second pass, in which the devices exchange the sums of their parts.

</details>
"""

# %% [markdown]
r"""
The price: of $N^2$ questions only $N$ have the answer *yes*.

**Predict.** At the start all cosines are near 0. What is the loss of 64 pairs with a bias of 0? By how much do partners pull together then, and strangers push apart? And with the bias of $-10$ that the paper begins with?
"""

# %%
print("pairs   bias        loss   an image: pull of its partner   push of its strangers")
for N in (64, 32_768):
    for b in torch.tensor([0.0, -10.0], dtype=torch.float64):
        start = F.softplus(-b) + (N - 1) * F.softplus(b)
        pull, push = (-b).sigmoid(), (N - 1) * b.sigmoid()
        print(f"{N:6,} {b:5.0f} {start:11.2f} {pull:31.2f} {push:23.3f}")
few = torch.zeros(64, 1), torch.zeros(64, 1), torch.tensor(0.0), torch.tensor(-10.0)
print(f"siglip_loss of 64 pairs whose cosines are 0, bias -10: {models.siglip_loss(*few):.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

$64 \ln 2 = 44.36$<!-- shown: 44.36 -->. The 63 strangers push 63 times as hard as the partner pulls, so the first thing to be learned is that everything is unlike everything. With $-10$ the strangers are nearly silent, and the partner's pull is all there is. At 32,768 pairs, a batch of the paper's size, pull and push are of the same order: 1.00 and 1.488<!-- shown: 1.00 1.488 -->.

</details>

Section 6's towers were trained with all three, for the same 300 steps on the same batches of 64.

**Predict.** The softmax let more than half of the strips find their captions. And the sigmoid, with a bias of 0 and of $-10$ at the start?
"""

# %% guess={"name": "14.bias", "kind": "number", "asks": "With the sigmoid loss and a bias that begins at 0, how large a share of 200 unseen strips finds its own caption among 200 after 300 steps?", "low": 0.005, "high": 1, "log": true, "reads": {"record": "chapter_14_siglip", "where": {"loss": "sigmoid, bias 0"}, "value": "finds_caption"}}
guess("14.bias")

# %%
print("                             first loss   a strip finds its caption   a caption its strip")
for run in siglip_record["runs"]:
    print(f"{run['loss']:18} seed {run['seed']} {run['first_loss']:15.2f}", end="")
    print(f" {run['finds_caption']:27.2f} {run['finds_picture']:21.2f}", end="")
    print(f"   bias {run['bias']:.2f} at the end" if "bias" in run else "")

# %% [markdown]
r"""
<details><summary>Answer</summary>

With a bias of 0 about a third: 0.28 to 0.32<!-- shown: 0.28 0.32 -->. With $-10$ it is 0.47 to 0.56<!-- shown: 0.47 0.56 -->, hardly less than the 0.54 to 0.56 of the softmax<!-- shown: 0.54 0.56 -->. The bias does not get there by itself: from 0 it has come to $-0.10$ at most<!-- shown: -0.10 -->. With 64 pairs, then, the sigmoid gains nothing here. What it gains is memory and messages in large batches, and a probability for each pair by itself.

</details>
"""

# %% [markdown]
r"""
### Exercise: `siglip_loss`

*Difficulty · importance · minutes*

Write `siglip_loss(images, texts, log_scale, bias) -> loss`.

- `images` and `texts` are `(N, d)`; row $i$ belongs to row $i$. First scale each row of both to length 1; none is all zeros.
- `log_scale` and `bias` are () tensors. A logit is $e^{t}$ times the cosine, plus $b$; all four arguments get gradients.
- The sum over **all** $N^2$ pairs of $-\log\sigma(z_{ij}\,\text{logit}_{ij})$, divided by $N$.
- Logits up to $\pm 10^4$ give a finite loss.
"""


# %% exercise="siglip_loss"
def siglip_loss(images, texts, log_scale, bias):
    """Return how badly pairs are told from strangers, each pair by itself."""
    ### BEGIN SOLUTION: Normalise the rows, make all logits, give each its label's sign, add -log σ.
    cosines = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    logits = log_scale.exp() * cosines + bias
    labels = 2 * torch.eye(len(images), dtype=images.dtype) - 1
    return -F.logsigmoid(labels * logits).sum() / len(images)
    ### END SOLUTION


# %%
check("siglip_loss", siglip_loss)
# hint("siglip_loss")

# %% [markdown] tags=["further"]
r"""
## 8. What can be stored beforehand?

"Vision-Language: CLIP, cross-modal attention", says text D, and 90 lines later: "CLIP: Contrastive learning with cross-attention".

**Find the error**: where in the towers does a letter look at a patch?

<details><summary>Answer</summary>

Nowhere. CLIP is a **dual encoder**: attention inside each tower, none between them. It has no cross-attention, and it generates nothing. (CLIP's own text tower is causal; ours looks both ways.)

</details>
"""

# %% [markdown]
r"""
The alternative is **fusion**: letters that look at patches by cross-attention, and one score for one pair. It was trained to prefer the right caption to one with a wrong digit and to a random one.

**Predict.** There is a gallery of 200 strips and 200 captions, and all scores are wanted. How often does each model run an image encoder? A caption encoder? And which of fusion's layers could be run once, too?
"""


# %%
def scores_of_pairs(model, pictures, texts):
    """Return the score of every picture with every caption: a whole run for each pair."""
    rows = [model(one.expand(len(texts), -1, -1, -1), texts) for one in pictures]
    return torch.stack(rows)


# %%
def scores_with_stored(model, pictures, texts):
    """Return the same; both encoders run once, and only what crosses runs for each pair."""
    letters, rows = model.text(texts), []
    for patches in model.image(pictures):
        read = patches.expand(len(texts), -1, -1)
        x = letters + model.read(model.read_norm(letters), read, read)
        x = model.last(x, (texts > 0)[:, None, None])
        rows.append(model.out(mean_of(x, texts))[:, 0])
    return torch.stack(rows)


# %% tags=["nbval-ignore-output"] reason="times"
torch.manual_seed(0)
fusion, few = pair_training.Fusion(), 20
with torch.no_grad():
    start = time.process_time()
    pair_training.all_scores(towers)
    both, found = time.process_time() - start, []
    for way in (scores_of_pairs, scores_with_stored):
        start = time.process_time()
        found.append(way(fusion, pictures[:few], texts))
        pairs = (time.process_time() - start) * len(pictures) / few
        print(f"{way.__name__:18} {pairs / both:4.0f} times as long as the towers, for 200 x 200")
print("same scores:", torch.allclose(*found, atol=1e-5))

# %%
for run in runs_of(pairs_record, "towers", "fusion"):
    print(f"{run['model']:6} seed {run['seed']}, {run['steps']} steps:", end=" ")
    print(f"a strip finds its caption {run['finds_caption']:.2f}", end="")
    print(f", a caption its strip {run['finds_picture']:.2f}")
for way in ("gallery_seconds", "stored_seconds"):
    pairs = zip(*(runs_of(pairs_record, model) for model in ("towers", "fusion")), strict=True)
    times = [f"{crossed[way] / two['gallery_seconds']:.0f}" for two, crossed in pairs]
    print(f"{way:15}, recorded: {' and '.join(times)} times the towers'")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The towers run each encoder 200 times, which is two batches: $N + N$. Fusion as it was trained runs all of its layers for each of 40,000 pairs. That is not necessary: letters do not see patches before the cross-attention, so both encoders may run once here as well, and the scores are the same. What remains is $N \cdot N$ runs of the layers that cross: recorded, 47 and 49 times as long as the towers instead of 119 and 121<!-- shown: 47 49 119 121 -->. More than half of the time went into encoding the same things again. The rest cannot be avoided, and grows with $N$ compared with the towers.

</details>
"""

# %% [markdown]
r"""
<details><summary>And how well do they find?</summary>

Retrieval quality is mixed, after 400 steps each: in both seeds fusion is ahead from strip to caption, 0.81 and 0.76 against 0.65 and 0.59, and behind from caption to strip, 0.42 and 0.45 against 0.59<!-- shown: 0.81 0.76 0.65 0.59 0.42 0.45 -->. It was only ever asked which *caption* fits. In practice the two are combined: towers fetch a hundred candidates, fusion ranks them (ALBEF does so).

</details>
"""

# %% [markdown]
r"""
There are three wirings, then. The next cell draws them as masks, with three image tokens (i) and four text tokens (t): a row may look at what is blue, as in chapter 06. (Two simplifications: CLIP's text half is a triangle, and the image half of DALL-E is thinned out by rows, columns and neighbourhoods.)

**Predict.** DALL-E (the first) writes an image after its text: 256 text tokens, then 1,024 image tokens, all in one causal stream. Which of the three pictures is that?
"""

# %% mystnb={"image": {"alt": "Three masks of seven tokens. Dual encoder: two separate squares, image with image, text with text. Single stream: one triangle over text and then image. Cross-attention: the image square, and text rows that see the whole image and the text before them."}}
image, text = torch.ones(3, 3).bool(), attention.causal_mask(4, 4)
dual = torch.block_diag(image.int(), torch.ones(4, 4).int())
crossing = torch.block_diag(image.int(), text.int())
crossing[3:, :3] = 1
wirings = {
    "dual encoder": (dual, "iiitttt"),
    "single stream": (attention.causal_mask(7, 7), "ttttiii"),
    "cross-attention": (crossing, "iiitttt"),
}
figure, grid = plt.subplots(1, 3, figsize=(plotting.WIDTH, 2.7))
plotting.headline(figure, "Who may look at whom: i is image, t is text")
for axes, (name, (mask, letters)) in zip(grid, wirings.items(), strict=True):
    axes.imshow(mask, cmap=plotting.MASK_COLOURS, vmin=0, vmax=1)
    axes.spines[:].set_visible(True)
    axes.set_xticks(range(7), letters)
    axes.set_yticks(range(7), letters)
    axes.set_title(name, fontsize=11, loc="center")
print(f"DALL-E: {256 + 1024:,} tokens in one stream")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The middle one: a decoder like GPT, over two kinds of tokens. So the row "DALL-E, CLIP · Cross-modal attention · Text-to-image generation" in text E's table is wrong about both.

</details>

| wiring | models | stored beforehand |
|---|---|---|
| dual encoder | CLIP | every vector of both sides; a query costs one encoder and dot products |
| single stream | DALL-E 1 | what comes first, as a KV cache (chapter 10) |
| single stream, image first | LLaVA, Qwen2-VL, PaliGemma, Gemma 3 | the same |
| cross-attention | Flamingo, image captioning, latent diffusion, translation | keys and values of what is read, for each layer |

**Fusion** is called *early* when tokens meet in the first layers and *late* when only vectors meet. Late fusion needs **aligned** spaces: that is what the contrastive loss makes.
"""

# %% [markdown]
r"""
The fourth row is how most open language models have read images since LLaVA (Liu et al., 2023). A ViT trained with CLIP's or SigLIP's loss turns the patches into vectors; a **projector** of one or two linear layers makes them as wide as the language model's stream; there they stand in front of the text, like words. Its layers do not change. In LLaVA and Qwen2-VL the mask stays causal; in PaliGemma and Gemma 3 the tokens of an image see one another both ways.

**Predict.** What an image costs, then, is a number of tokens. LLaVA-1.5 reads 336 × 336 pixels in patches of 14. How many tokens? What if 2 × 2 patches are joined into one token, as in Qwen2-VL?
"""

# %%
for name, pixels, patch, joined in (
    ("LLaVA-1.5", 336, 14, 1), ("PaliGemma", 224, 14, 1), ("Qwen2-VL at 336", 336, 14, 2),
    ("Gemma 3", 896, 14, 4),
):  # fmt: skip
    side = pixels // patch
    print(f"{name:15} {side**2:5,} patches, {(side // joined) ** 2:3} tokens in the stream")
vectors, words = torch.randn(1, 576, 1024), torch.randn(1, 20, 4096)  # from the ViT; embedded
projector = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 4096))
stream = torch.cat([projector(vectors), words], dim=1)
print(f"LLaVA-1.5's stream of an image and 20 words: {tuple(stream.shape)}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

576, and 144 if four are joined<!-- shown: 576 144 -->. Each is kept in every layer's cache like a word. That is why these models join or average neighbouring patches; Gemma 3 averages 4 × 4 of them, so that 4,096 patches become 256 tokens<!-- shown: 4,096 256 -->. Flamingo pays otherwise: its images take no place in the stream, but its cross-attention layers are new parameters (section 9).

</details>
"""

# %% [markdown]
r"""
**Check yourself.** In latent diffusion (Rombach et al., 2022) a text guides the generation of an image. Which of the two asks, and which is read?

- A. The text asks, the image is read.
- B. The image's latents ask, the text is read.
- C. Both are in one stream.

<details><summary>Answer</summary>

- A is wrong: that is captioning.
- **B is right.** What is being written asks; what it is written from is read. Keys and values of the text are computed once and serve all steps.
- C is a possible design, and newer models use it, but not this one.

</details>
"""

# %% [markdown]
r"""
## 9. Images for a text-only model

A text model exists, and was expensive to train. Can it learn to read images without being damaged? Flamingo (Alayrac et al., 2022) freezes it, and puts new layers between the old ones, each behind a **gate**:

$$x + \tanh(g)\cdot\text{attention}(x W_Q,\; c\,W_K,\; c\,W_V)\,W_O$$

$x$ is the text, which asks; $c$ is the image, which is read; $g$ is a learned number that begins at 0.
"""

# %% [markdown]
r"""
**Find the error.** Text D lists "Image captioning (text attends to image features)" among the uses of cross-attention and, 200 lines later, "Image Captioning: Visual features attend to generated text". Which is right?

<details><summary>Answer</summary>

The first. The caption is being written; it asks. If the image asked, the output would be a changed *image*, one vector for each patch, and no next word.

</details>
"""

# %% [markdown]
r"""
### Exercise: `gated_cross_attention`

*Difficulty · importance · minutes*

Write `gated_cross_attention(x, context, W_q, W_k, W_v, W_o, gate, attn_mask=None) -> out`.

- `x` is `(B, L, d)`, `context` is `(B, S, d_c)`; `gate` is a () tensor; one head, scaled by $1/\sqrt{d_k}$.
- `x + tanh(gate) · (attention @ W_o)`. Gate 0 gives `x` itself.
- `attn_mask` is boolean, True = may read, and broadcasts to `(B, L, S)`. A query that may read nothing comes out as `x`, with finite gradients.
"""


# %% exercise="gated_cross_attention"
def gated_cross_attention(x, context, W_q, W_k, W_v, W_o, gate, attn_mask=None):
    """Return x plus tanh(gate) times what it reads from the context."""
    ### BEGIN SOLUTION: Queries of x, keys and values of the context; an empty row reads zeros; the gate scales what is added.
    query, key, value = x @ W_q, context @ W_k, context @ W_v
    read = attention.scaled_dot_product_attention(query, key, value, attn_mask)
    return x + gate.tanh() * (read @ W_o)
    ### END SOLUTION


# %%
check("gated_cross_attention", gated_cross_attention)
# hint("gated_cross_attention")

# %% [markdown]
r"""
First, a writer that has only ever seen captions. It learns to spell digits, one letter at a time.

**Predict.** What is the best loss per letter that a writer without pictures can have? (A caption has three digits, and 15 characters or so, its end included.)
"""

# %% guess={"name": "14.letters", "kind": "number", "asks": "What is the least possible loss per letter of a writer that knows the spelling but does not see the digits?", "low": 0.01, "high": 3, "log": true, "unit": "nats", "reads": "three digits cost {} over"}
guess("14.letters")

# %% tags=["nbval-ignore-output"] reason="the bar's speed"
torch.manual_seed(0)
writer = captions.Captioner()
_ = captions.train_captions(
    writer, writer.text.parameters(), steps=200, seed=0, sees=False, progress=bar
)

# %%
letters = (texts > 0).sum(dim=-1).float().mean() + 1
best = 3 * torch.tensor(10.0).log() / letters
alone = captions.judge_captions(writer, sees=False)
print(f"text alone: {alone['loss']:.3f} nats per letter", end="")
print(f", digits right {alone['digits']:.2f}")
print(f"three digits cost {best:.3f} over {letters:.1f} letters")

# %% [markdown]
r"""
<details><summary>Answer</summary>

$3 \ln 10 = 6.9$ nats for the digits, which nobody can guess, and nothing for the spelling: spread over all letters, 0.463<!-- shown: 0.463 -->. The writer is at 0.487<!-- shown: 0.487 -->, 5% above: it knows nearly all that there is to know without looking. (Its digits are no better than a guess, which is right for 0.10.)

</details>

Now the pictures. The whole model in the open:
"""


# %%
def with_pictures(model, fed, pictures):
    """Return the scores of each next letter, with the gated layers in between."""
    x = model.text.token(fed) + model.text.position.weight[: fed.shape[1]]
    causal = attention.causal_mask(fed.shape[1], fed.shape[1])
    patches = model.image(pictures)
    for block, W, gate in zip(model.text.blocks, model.W, model.gates, strict=True):
        x = attention.gated_cross_attention(x, patches, *W, gate)
        x = block(x, causal)
    return model.text.out(model.text.norm(x))


# %% [markdown]
r"""
**Predict.** The gates are at 0, the new layers random. How far is the first output from the text model's? And with both gates at 1?
"""

# %%
fed, _ = captions.fed_and_wanted(texts)
with torch.no_grad():
    seen, unseen = with_pictures(writer, fed, pictures), writer(fed)
    opened = copy.deepcopy(writer)
    nn.init.ones_(opened.gates)
    far = (with_pictures(opened, fed, pictures) - unseen).abs().max()
print("gates 0: equal to the last bit:", torch.equal(seen, unseen))
print(f"gates 1: up to {far:.0f} apart", end="")
print(f", loss {captions.judge_captions(opened, sees=True)['loss']:.2f}")

# %% tags=["nbval-ignore-output"] reason="the bar's speed"
new = [*writer.image.parameters(), writer.W, writer.gates]
_ = captions.train_captions(writer, new, steps=200, seed=0, sees=True, progress=bar)

# %%
seeing = captions.judge_captions(writer, sees=True)
print(f"with pictures: {seeing['loss']:.3f} nats per letter", end="")
print(f", digits {seeing['digits']:.2f}")
unseeing = captions.judge_captions(writer, sees=False)["loss"]
print(f"without: {unseeing:.3f}, as before")
print("tanh of the gates:", *(f"{gate:+.2f}" for gate in writer.gates.tanh()))
for run in runs_of(pairs_record, "gate 0", "gate 1", "all"):
    before, after = run["before"]["loss"], run["after"]["loss"]
    print(f"seed {run['seed']}, {run['model']:6}: loss {before:.3f}, then {after:.3f}", end="")
    print(f", digits {run['after']['digits']:.2f}", end="")
    print(f"; without a picture {run['blind']['loss']:.3f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

With the gates at 0 the first output is the text model's, to the last bit. After 200 steps the loss is 0.099, and 0.94 of the digits are right<!-- shown: 0.099 0.94 -->; the gates have opened a little, one negatively.

The record, 300 steps and two seeds, compares. With the gates at 1 the loss begins higher, at 0.655 and 0.510 instead of 0.480 and 0.484<!-- shown: 0.655 0.510 0.480 0.484 -->, and ends a little lower: the closed gate buys a start that harms nothing, not speed. Because the text model is frozen, it can still write without a picture. Trained jointly ("all"), the captions' loss is lower, 0.030 and 0.018 instead of 0.062 and 0.057, with about as many digits right<!-- shown: 0.030 0.018 0.062 0.057 -->; but without a picture it is 1.017 and 0.972<!-- shown: 1.017 0.972 -->, twice what it was: it has forgotten how to do that.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** "GPT-4V: Dense cross-modal attention", says text D. Is it right?

<details><summary>Answer</summary>

Nobody outside can say: its architecture was not published. "Undisclosed" is the right entry. Flamingo's, in the same list as "Interleaved vision-text attention", is known: gated cross-attention layers in a frozen language model, with images at any place of the text (section 9).

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 10. Which image may a word see?

Flamingo's texts have several images in them: `<image> a four <image> a seven`. Each word reads **the last image before it**, and reaches the earlier ones through the text's own causal attention. Every image has the same number of tokens, whatever its size: a *resampler*, 64 learned queries that read the image's features (section 4's idea), stands before. Behind each gated attention comes a gated feed-forward layer. Both are left out here.

**Predict.** Of six tokens, those at places 1 and 4 are image marks; each image has 2 tokens. Write down the mask's six rows of four. What does place 0 see?
"""

# %%
marks = torch.tensor([[False, True, False, False, True, False]])
mask = attention.last_image_mask(marks, 2, 2)
for place, row in enumerate(mask[0].int().tolist()):
    print(place, "<image>" if marks[0, place] else "word   ", row)

# %% [markdown]
r"""
<details><summary>Answer</summary>

Place 0 sees nothing: its row is empty, and `gated_cross_attention` returns its $x$ unchanged. The mark itself sees its own image. From place 4 on the second image is seen, and only that one.

</details>

### Exercise: `last_image_mask`

*Difficulty · importance · minutes*

Write `last_image_mask(marks, num_images, tokens_per_image) -> mask`.

- `marks` is `(B, L)`, True where an image is, at most `num_images` per sequence; `mask` is `(B, L, num_images · tokens_per_image)`.
- A place sees the tokens of the last image at or before it, and nothing before the first.
- Image $m$, from 0, has the keys $mT$ to $(m+1)T - 1$. Images that never come are never seen.
"""


# %% exercise="last_image_mask"
def last_image_mask(marks, num_images, tokens_per_image):
    """Return which image tokens each place of a text may read."""
    ### BEGIN SOLUTION: Count the marks so far; compare with the number of the image that each key belongs to.
    image = torch.arange(num_images).repeat_interleave(tokens_per_image)
    return marks.cumsum(dim=-1).unsqueeze(-1) - 1 == image
    ### END SOLUTION


# %%
check("last_image_mask", last_image_mask)
# hint("last_image_mask")

# %% [markdown] tags=["further"]
r"""
## 11. A layer that sees the whole image: non-local blocks

Before ViT, attention entered CNNs as one extra layer. A **non-local block** (Wang et al., 2018) adds to each place a weighted sum over *all* places:

$$y_i = \frac{1}{C(x)} \sum_j f(x_i, x_j)\, g(x_j), \qquad \text{out}_i = x_i + y_i W_\text{out}$$
"""

# %% [markdown]
r"""
Text D calls $f = e^{\theta(x_i)^\top \phi(x_j)}$ "Gaussian". The paper has four $f$, and you know all of them under other names:

| paper | pair, $f(x_i, x_j)$ | divisor, $C(x)$ | here |
|---|---|---|---|
| Gaussian | $e^{x_i^\top x_j}$ | $\sum_j f$ | softmax attention without projections |
| **embedded Gaussian** | $e^{\theta(x_i)^\top\phi(x_j)}$ | $\sum_j f$ | softmax attention with $W_Q$, $W_K$, **no scale** |
| dot product | $\theta(x_i)^\top\phi(x_j)$ | $N$ | no softmax, divided by the number of places |
| concatenation | $\text{ReLU}(v^\top[\theta(x_i), \phi(x_j)])$ | $N$ | the concatenation score of chapter 02, with a ReLU |
"""

# %%
generator = torch.Generator().manual_seed(0)
x = torch.randn(1, 5, 3, 4, generator=generator)
W = [torch.randn(5, 6, generator=generator) / 2 for _ in range(3)]
W_out = torch.randn(6, 5, generator=generator)
places = x.flatten(2).mT  # (1, 12, 5): the sequence
theta, phi, g = (places @ one for one in W)
same = attention.scaled_dot_product_attention(theta, phi, g, scale=1.0) @ W_out
out = attention.non_local_block(x, *W, W_out)
equal = torch.allclose(out, x + same.mT.view_as(x))
print("embedded Gaussian = attention with scale 1:", equal)

# %% [markdown]
r"""
### Exercise: `non_local_block`

*Difficulty · importance · minutes*

Write `non_local_block(x, W_theta, W_phi, W_g, W_out) -> out`, the embedded Gaussian.

- `x` is `(B, C, h, w)`; `W_theta` and `W_phi` are `(C, d)`, `W_g` is `(C, d_g)`, `W_out` is `(d_g, C)`, applied at every place as `x @ W`.
- Softmax over all $h \cdot w$ places $j$, its own included, **no scale**; `out` is `x + y @ W_out`, `(B, C, h, w)`.
"""


# %% exercise="non_local_block"
def non_local_block(x, W_theta, W_phi, W_g, W_out):
    """Return x plus what each place reads from all places."""
    ### BEGIN SOLUTION: Make the places a sequence, attend without a scale, and lay the result back on the grid.
    places = x.flatten(2).mT
    scores = (places @ W_theta) @ (places @ W_phi).mT
    y = torch.softmax(scores, dim=-1) @ (places @ W_g)
    return x + (y @ W_out).mT.reshape(x.shape)
    ### END SOLUTION


# %%
check("non_local_block", non_local_block)
# hint("non_local_block")

# %% [markdown]
r"""
A task that asks for it: twelve dots in two colours on 14 × 14 pixels, one of them marked. Each other dot must say whether it has the marked dot's colour. Three convolutions of 3 × 3 see 7 × 7 pixels.

**Predict.** What share can a network get right if it sees the marked dot only when it is near? And with one non-local block before the third convolution?
"""

# %%
for run in dots_record["runs"]:
    name = "with" if run["non_local"] else "without"
    print(f"{name:7} {run['steps']} steps, seed {run['seed']}", end="")
    print(f": {run['right']:.3f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Without the block 0.52 to 0.60<!-- shown: 0.519 0.602 -->, little better than a guess: the marked dot is near for few. With it, once it has learned the trick, all of them: the third convolution finds the marked dot's colour at every place, and can compare.

The seed decides when: after 300 steps two seeds have learned it, while seed 0 is at 0.567<!-- shown: 0.567 --> and needs more.

With $W_\text{out}$ at zero, the paper notes, the block can be put into a trained network without changing what it does at first. Section 9's gate at 0 is the same idea.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 12. Cross-covariance attention on images

For images with many patches, XCiT (El-Nouby et al., 2021) swaps the two roles: *features* attend to features (chapter 08). Text D prints

$$\text{XCA}(Q, K, V) = \text{softmax}\!\left(\tfrac{Q^\top K}{\tau}\right) V^\top$$

**Predict.** $Q$, $K$ and $V$ are $n \times d$. What shape has this? And $Q^\top K$ is a sum over $n$ tokens: what becomes of the softmax when $n$ grows?
"""

# %% guess={"name": "14.entropy", "kind": "curve", "asks": "With random queries and keys of width 32, how large is the mean entropy of XCA's rows, as printed, for n tokens?", "low": 0.01, "high": 10, "log": true, "unit": "nats", "x": [50, 800, 12800], "across": "number of tokens n", "reads": "{x} {_}, {} {x}, {x}"}
guess("14.entropy")

# %%
print("     n  as printed: std of scores, entropy    normalised: std, entropy")
for n in (50, 800, 12_800):
    q, k, v = torch.randn(3, n, 32, generator=torch.Generator().manual_seed(0))
    printed = q.T @ k
    normed = F.normalize(q, dim=0).T @ F.normalize(k, dim=0)
    told = []
    for scores in (printed, normed):
        entropy = interpretability.attention_entropy(scores.softmax(dim=-1)).mean()
        told.append(f"{scores.std():7.3f}, {entropy:.3f}")
    print(f"{n:6,}           {told[0]}                {told[1]}")
out = printed.softmax(dim=-1) @ v.T
print("shape as printed:", tuple(out.shape), "for", tuple(v.shape))

# %% [markdown]
r"""
<details><summary>Answer</summary>

$d \times n$: the output lies on its side. And the scores grow like $\sqrt n$, so that the rows saturate: at 12,800 tokens their entropy is 0.043 nats of 3.466<!-- shown: 0.043 3.466 -->. The paper normalises each *column* of $Q$ and $K$ to length 1, and transposes back. Then unrelated features give nearly even rows, whatever $n$ is; sharpness is left to the learned temperature.

</details>

Text D goes on: "Complexity depends on feature dimension $d$ not sequence length $n$".

**Predict.** By what factor do the FLOPs of XCA grow when $n$ doubles?
"""

# %%
for n in (50, 100, 200, 400):
    q = torch.randn(1, 1, n, 32)
    xca = measure.count_flops(attention.cross_covariance_attention, q, q, q, 1.0)
    full = measure.count_flops(attention.scaled_dot_product_attention, q, q, q)
    print(f"n = {n:3}: XCA {xca:9,} = 4 n d²: {xca == 4 * n * 32**2}", end="")
    print(f"   attention {full:10,} = 4 n² d: {full == 4 * n**2 * 32}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

It doubles: $4nd^2$. *Linear* in $n$ and quadratic in $d$, where attention is $4n^2d$. What does not depend on $n$ is the size of the table of weights.

</details>

And it learns: the ViT of section 2 (three seeds), and the same with XCA in its first layer (one seed), a little behind on the images as they are, level on the shifted ones:
"""

# %%
for run in runs_of(digits_record, "ViT", "XCA"):
    print(f"{run['model']} seed {run['seed']}: {run['test']:.3f}", end="")
    print(f", shifted {run['shifted']:.3f}")

# %% [markdown] tags=["further"]
r"""
## 13. What is a token, a position, a mask?

| domain | token | position | mask |
|---|---|---|---|
| video (TimeSformer) | patch of a frame | row, column, time | attend in time, then in space |
| sound and picture (Nagrani et al.) | patch of a spectrogram; of a frame | time; row and column | across in later layers, through a few shared tokens |
| graph (GAT) | node | none: the edges say it | the adjacency matrix |
| point cloud | point | its coordinates | near neighbours, or none |
| time series (PatchTST) | step, or a segment of steps | time | causal, or none |
| molecule (Graphormer) | atom | distances as a bias | bonds, or none |
| protein (AlphaFold 2) | residue × sequence; pair | pairs as a bias | rows, columns, triangles |
| offline RL (Decision Transformer) | return, state, action | the step | causal |
"""

# %% [markdown]
r"""
"AlphaFold 2 · Evolutionary attention", in text E's table, means this. Its Evoformer holds a table of related sequences (rows: sequences, columns: residues) and attends along rows, then along columns; and it holds a table of *pairs* of residues, where an edge $ij$ attends to the edges that share an end with it: **triangle attention**.

Six demonstrations. First, **video**.

**Predict.** 8 frames of 196 patches. How many times as many scores does joint attention compute as attention in time first and then in space?
"""

# %%
T, N = 8, 196
joint, divided = (T * N) ** 2, N * T**2 + T * N**2
print(f"joint {joint:,}, time then space {divided:,}: {joint / divided:.1f} times")

# %% [markdown]
r"""
<details><summary>Answer</summary>

$(TN)^2 = 2{,}458{,}624$ compared with $N T^2 + T N^2 = 319{,}872$: 7.7 times<!-- shown: 7.7 -->.

</details>

Second, a **graph**: attention over edges is attention with the adjacency matrix as `attn_mask`.

**Predict.** On a path 0–1–2–3–4, with each node its own neighbour, how many layers does it take until node 4 hears of node 0?
"""

# %%
x = torch.randn(1, 5, 8, generator=torch.Generator().manual_seed(0))
edges = torch.eye(5) + torch.diag(torch.ones(4), 1) + torch.diag(torch.ones(4), -1)
other = x.clone()
other[0, 0] += 1.0  # node 0 changes
edges = edges.bool()
for layer in range(1, 5):
    x = attention.scaled_dot_product_attention(x, x, x, edges)
    other = attention.scaled_dot_product_attention(other, other, other, edges)
    noticed = (x != other).any(dim=-1)[0].nonzero()[:, 0]
    print(f"after layer {layer} nodes that noticed:", noticed.tolist())

# %% [markdown]
r"""
<details><summary>Answer</summary>

Four: one edge per layer, as with convolutions and windows.

</details>

Third, a **point cloud**: points have no order. With coordinates as features and no positions a layer must be permutation equivariant (chapter 07's test). Fourth, **Decision Transformer**: return to go, state and action of each step, interleaved, under a causal mask.

**Predict.** Which tokens may the prediction of an action look at: of which kinds, and up to which step?
"""

# %%
points = torch.rand(1, 30, 3, generator=torch.Generator().manual_seed(0))
layer = lambda x: attention.scaled_dot_product_attention(x, x, x)  # noqa: E731
shuffled = torch.randperm(30, generator=torch.Generator().manual_seed(1))
print("equivariant:", is_permutation_equivariant(layer, points, shuffled))

steps = [f"{kind}{step}" for step in range(3) for kind in ("return", "state", "action")]
asked = steps.index("state2")  # the next token is action2
seen = attention.causal_mask(9, 9)[asked]
names = [name for name, may in zip(steps, seen, strict=True) if may]
print("action2 is predicted from:", *names)

# %% [markdown]
r"""
<details><summary>Answer</summary>

All returns and states up to its own step, and the *earlier* actions. To ask for good behaviour one writes a high return in front: offline reinforcement learning as the continuation of a sequence.

</details>

Fifth, a **molecule**: atoms are tokens, and the distance of two atoms is a bias on their score. (Ying et al., 2021, count it in bonds; here it is measured in space.) Sixth, a **time series** (Nie et al., 2023), cut into segments as an image into patches.

**Predict.** The molecule is rotated, then its atoms are listed in another order. What becomes of each atom's output? And a series of 512 steps in segments of 16: how many times fewer scores?
"""

# %%
draw = partial(torch.randn, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
atoms, kinds_of = draw(9, 3), draw(1, 9, 16)  # where they are, and what they are


def among_atoms(places, x):
    """Return attention with the score lowered by the squared distance of two atoms."""
    return F.scaled_dot_product_attention(x, x, x, attn_mask=-(torch.cdist(places, places) ** 2))


rotation, order = torch.linalg.qr(draw(3, 3))[0], torch.randperm(9)
plain = among_atoms(atoms, kinds_of)
turned = among_atoms(atoms @ rotation.T, kinds_of)
listed = among_atoms(atoms[order], kinds_of[:, order])
print("rotated: unchanged", torch.allclose(plain, turned))
print("in another order: moved along", torch.allclose(plain[:, order], listed))
series = torch.arange(512.0).unfold(0, 16, 16)
print("segments:", tuple(series.shape), f"; {512**2 // len(series) ** 2} times fewer scores")

# %% [markdown]
r"""
<details><summary>Answer</summary>

A rotation changes nothing, since distances do not change; another order moves the outputs along with the atoms. (A mirror image has the same distances too: such a layer cannot tell left-handed molecules from right-handed ones.) The series has 32 tokens, and 256 times fewer scores<!-- shown: 256 -->.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 14. What published texts say, once more

Six more, from texts D and E. Which of them hold?

<details><summary>Answer</summary>

- D, "Patch-based attention … Complexity: $O(N^2)$ where $N = HW/P^2$ (number of patches)": right for the patches; with the class token there are $N + 1$ tokens.
- D, "Attention in CNNs … $f(x_i, x_j) = e^{\theta(x_i)^\top \phi(x_j)}$ (Gaussian)": *embedded* Gaussian (section 11).
- D, of XCA: "Complexity depends on feature dimension $d$ not sequence length $n$": linear in $n$ (section 12).
- E, "DALL-E, CLIP · Cross-modal attention · Text-to-image generation": CLIP generates nothing, DALL-E 1 is one stream (section 8).
- D, "Object Detection: DETR, attention-based detection" and "Image Generation: Cross-attention in diffusion models": right, both.
- E, "Vision Transformer (ViT) · Image patches as tokens · Competitive with CNNs": with very many images, or DeiT's recipe (section 2).

</details>
"""

# %% [markdown]
r"""
And one about the future. Text E's list of directions has "Adaptive Computation: Dynamic allocation of computational resources based on input complexity". Its simplest form is an **early exit** (Teerapittayanon et al., 2016): a second classifier after layer 1. An image of which it is sure leaves; the others go on.

**Predict.** For the ViT of section 2, frozen, with a linear classifier on the class token after layer 1: what share of the test digits can leave early before accuracy drops?
"""

# %%
with torch.no_grad():
    after_one = [vit.blocks[0](vit.tokens(x))[:, 0] for x in (digits.images, digits.test_images)]
    whole = vit(digits.test_images).argmax(dim=-1)
leave = linear_model.LogisticRegression(max_iter=2000).fit(
    after_one[0].numpy(), digits.labels.numpy()
)
chances = torch.from_numpy(leave.predict_proba(after_one[1].numpy()))

# %% tags=["nbval-ignore-output"] reason="the weights come from section 2's training"
for least in (0.0, 0.9, 0.99, 0.999, 1.1):
    out = chances.amax(dim=-1) >= least
    answer = torch.where(out, chances.argmax(dim=-1), whole)
    share = (answer == digits.test_labels).double().mean()
    print(f"leave at {least:5} or more: {out.double().mean():4.0%} leave, {share:.3f} right")

# %% [markdown]
r"""
<details><summary>Answer</summary>

At a probability of 0.9 or more 56% of the digits leave after layer 1, and accuracy is no lower, 0.980 instead of 0.976<!-- shown: 56% 0.980 0.976 -->: half of the layers saved for more than half of the digits. If all must leave, 0.902 are right<!-- shown: 0.902 -->. (One training, 450 digits; processors differ in the last place.)

</details>
"""

# %% [markdown]
r"""
## Yours: the chapter's experiments, with your functions

The ViT's digits, the gallery and the captions once more, with the models trained above; object queries and matching on random numbers, and the dots in an untrained network. Functions that you have passed run instead of the course's.
"""

# %% tags=["nbval-ignore-output"] reason="whose functions run, and how fast, depends on the reader"
parts = yours(
    "patchify",
    "vit_tokens",
    "object_query_attention",
    "match_queries",
    "contrastive_loss",
    "siglip_loss",
    "gated_cross_attention",
    "last_image_mask",
    "non_local_block",
)
torch.manual_seed(0)
net, dotted = dots.DotNet(non_local=True), dots.draw_dots(8, torch.default_generator)[0]
marks = torch.tensor([[False, True, False, False, True, False]])  # section 10's
parts


# %%
@torch.no_grad()
def chapter(parts):
    """Classify digits, ask, match, compare, caption, look back, and compare dots."""
    W_e, b_e = vit.embed.weight.T, vit.embed.bias
    x = parts.vit_tokens(digits.test_images, 2, W_e, b_e, vit.class_token, vit.positions)
    for block in vit.blocks:
        x = block(x)
    named = vit.out(vit.norm(x)[:, 0]).argmax(dim=-1) == digits.test_labels
    draw = partial(torch.randn, generator=torch.Generator().manual_seed(0))
    shapes = (2, 5, 8), (5, 8), (2, 9, 8), (9, 8), (3, 8, 8)
    asked = [draw(*shape) for shape in shapes]
    cost = draw(4, 5, 3)
    query = parts.match_queries(cost)
    writer_of = captions.Captioner(read=parts.gated_cross_attention)
    writer_of.load_state_dict(writer.state_dict())
    net.block = parts.non_local_block
    cut = parts.patchify(digits.test_images, 4)
    vectors = towers.encode_image(pictures), towers.encode_text(texts)
    return {
        "patches": (cut * torch.arange(16)).sum(dim=(1, 2)).mean(),
        "digits named": named.double().mean(),
        "read by queries": parts.object_query_attention(*asked[:4], *asked[4]).norm(),
        "cost of the matching": cost.gather(1, query.unsqueeze(1)).sum(),
        "loss of the towers": parts.contrastive_loss(*vectors, 0.07),
        "sigmoid loss": parts.siglip_loss(*vectors, torch.tensor(2.3), torch.tensor(-10.0)),
        "captions": captions.caption_loss(writer_of, texts, pictures),
        "last image": parts.last_image_mask(marks, 3, 2).sum(dim=-1).tolist(),
        "scores of dots": net(dotted).norm(),
    }


# %% tags=["nbval-ignore-output"] reason="the times, and whose functions run"
note = parts.run(chapter)
for name, value in note.course.items():
    shown = torch.as_tensor(value).double().flatten().tolist()
    print(f"{name}:", *(f"{number:.3g}" for number in shown))
note

# %% [markdown]
r"""
## Recap

1. An image becomes $N = hw/p^2$ tokens in reading order: split, **permute**, flatten. A plain reshape cuts slices.
2. The class token comes first and collects; positions are learned, one for each token. Without them the patches are a set, by which two thirds of the digits can be told apart. On few images a ViT is no better than a CNN, or than an SVM that has seen the same shifts.
3. Object queries are the positions of a list of answers; equal queries give equal answers. Positions steer queries and keys, not values. A matching gives each object a query of its own.
"""

# %% [markdown]
r"""
4. The contrastive loss is two cross-entropies over one table of cosines; SigLIP's judges each pair alone. A gated cross-attention layer begins as the identity: at the start it cannot spoil what it is added to.
5. Two towers store every vector beforehand and compare by dot products; fusion can store what its encoders make, and runs what crosses once for every pair. A single stream is a language model over two kinds of tokens: most that read images work so. In cross-attention, what is being written asks.
6. A non-local block is attention without a scale, and with a residual. Elsewhere: ask what the token is, what the position is, and what the mask.
"""

# %% tags=["remove-cell"]
progress(14)

# %% [markdown]
"""
**Next**: chapter 15 asks why attention works.
"""

# %% [markdown]
r"""
## Go further

- Dosovitskiy et al. (2021): ViT. Touvron et al. (2021): DeiT. El-Nouby et al. (2021): XCiT. Wang et al. (2018): non-local blocks.
- Carion et al. (2020): DETR. Cheng et al. (2021): MaskFormer, masks from queries.
- Radford et al. (2021): CLIP. Zhai et al. (2023): SigLIP. Ramesh et al. (2021): DALL-E. Li et al. (2021): ALBEF, two towers and fusion in one. Alayrac et al. (2022): Flamingo. Rombach et al. (2022): latent diffusion. Liu et al. (2023), Wang et al. (2024), Beyer et al. (2024), Gemma Team (2025): images as tokens.
- Bertasius et al. (2021): video. Veličković et al. (2018): graphs. Zhao et al. (2021): point clouds. Ying et al. (2021): molecules. Nie et al. (2023): time series. Nagrani et al. (2021): sound and picture. Jumper et al. (2021): AlphaFold 2. Chen et al. (2021): Decision Transformer. Teerapittayanon et al. (2016): early exits.
"""

# %% [markdown]
r"""
<details><summary>BibTeX</summary>

```bibtex
@inproceedings{dosovitskiy2021image,
  title = {An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale},
  author = {Dosovitskiy, Alexey and Beyer, Lucas and Kolesnikov, Alexander and others},
  booktitle = {ICLR}, year = {2021}, url = {https://arxiv.org/abs/2010.11929}}
@inproceedings{touvron2021deit,
  title = {Training Data-Efficient Image Transformers and Distillation Through Attention},
  author = {Touvron, Hugo and Cord, Matthieu and Douze, Matthijs and Massa, Francisco and Sablayrolles, Alexandre and J{\'e}gou, Herv{\'e}},
  booktitle = {ICML}, year = {2021}, url = {https://arxiv.org/abs/2012.12877}}
@inproceedings{wang2018nonlocal,
  title = {Non-local Neural Networks}, author = {Wang, Xiaolong and Girshick, Ross and Gupta, Abhinav and He, Kaiming},
  booktitle = {CVPR}, year = {2018}, url = {https://arxiv.org/abs/1711.07971}}
@inproceedings{carion2020detr,
  title = {End-to-End Object Detection with Transformers},
  author = {Carion, Nicolas and Massa, Francisco and Synnaeve, Gabriel and Usunier, Nicolas and Kirillov, Alexander and Zagoruyko, Sergey},
  booktitle = {ECCV}, year = {2020}, url = {https://arxiv.org/abs/2005.12872}}
@inproceedings{cheng2021maskformer,
  title = {Per-Pixel Classification is Not All You Need for Semantic Segmentation},
  author = {Cheng, Bowen and Schwing, Alexander G. and Kirillov, Alexander},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2021}, url = {https://arxiv.org/abs/2107.06278}}
@inproceedings{radford2021clip,
  title = {Learning Transferable Visual Models From Natural Language Supervision},
  author = {Radford, Alec and Kim, Jong Wook and Hallacy, Chris and others},
  booktitle = {ICML}, year = {2021}, url = {https://arxiv.org/abs/2103.00020}}
@inproceedings{ramesh2021dalle,
  title = {Zero-Shot Text-to-Image Generation}, author = {Ramesh, Aditya and Pavlov, Mikhail and Goh, Gabriel and others},
  booktitle = {ICML}, year = {2021}, url = {https://arxiv.org/abs/2102.12092}}
@inproceedings{li2021albef,
  title = {Align before Fuse: Vision and Language Representation Learning with Momentum Distillation},
  author = {Li, Junnan and Selvaraju, Ramprasaath R. and Gotmare, Akhilesh D. and Joty, Shafiq and Xiong, Caiming and Hoi, Steven C. H.},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2021}, url = {https://arxiv.org/abs/2107.07651}}
@inproceedings{alayrac2022flamingo,
  title = {Flamingo: a Visual Language Model for Few-Shot Learning}, author = {Alayrac, Jean-Baptiste and Donahue, Jeff and Luc, Pauline and others},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2022}, url = {https://arxiv.org/abs/2204.14198}}
```

</details>
"""

# %% [markdown]
r"""
<details><summary>More BibTeX</summary>

```bibtex
@inproceedings{zhai2023siglip,
  title = {Sigmoid Loss for Language Image Pre-Training}, author = {Zhai, Xiaohua and Mustafa, Basil and Kolesnikov, Alexander and Beyer, Lucas},
  booktitle = {ICCV}, year = {2023}, url = {https://arxiv.org/abs/2303.15343}}
@inproceedings{liu2023llava,
  title = {Visual Instruction Tuning}, author = {Liu, Haotian and Li, Chunyuan and Wu, Qingyang and Lee, Yong Jae},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2023}, url = {https://arxiv.org/abs/2304.08485}}
@misc{wang2024qwen2vl,
  title = {{Qwen2-VL}: Enhancing Vision-Language Model's Perception of the World at Any Resolution}, author = {Wang, Peng and Bai, Shuai and Tan, Sinan and others},
  year = {2024}, url = {https://arxiv.org/abs/2409.12191}}
@misc{beyer2024paligemma,
  title = {{PaliGemma}: A versatile 3B {VLM} for transfer}, author = {Beyer, Lucas and Steiner, Andreas and Pinto, Andr{\'e} Susano and others},
  year = {2024}, url = {https://arxiv.org/abs/2407.07726}}
@misc{gemma2025gemma3,
  title = {Gemma 3 Technical Report}, author = {{Gemma Team}}, year = {2025}, url = {https://arxiv.org/abs/2503.19786}}
@inproceedings{rombach2022latent,
  title = {High-Resolution Image Synthesis with Latent Diffusion Models},
  author = {Rombach, Robin and Blattmann, Andreas and Lorenz, Dominik and Esser, Patrick and Ommer, Bj{\"o}rn},
  booktitle = {CVPR}, year = {2022}, url = {https://arxiv.org/abs/2112.10752}}
@inproceedings{bertasius2021timesformer,
  title = {Is Space-Time Attention All You Need for Video Understanding?},
  author = {Bertasius, Gedas and Wang, Heng and Torresani, Lorenzo},
  booktitle = {ICML}, year = {2021}, url = {https://arxiv.org/abs/2102.05095}}
@inproceedings{velickovic2018graph,
  title = {Graph Attention Networks},
  author = {Veli{\v{c}}kovi{\'c}, Petar and Cucurull, Guillem and Casanova, Arantxa and Romero, Adriana and Li{\`o}, Pietro and Bengio, Yoshua},
  booktitle = {ICLR}, year = {2018}, url = {https://arxiv.org/abs/1710.10903}}
@inproceedings{zhao2021point,
  title = {Point Transformer}, author = {Zhao, Hengshuang and Jiang, Li and Jia, Jiaya and Torr, Philip and Koltun, Vladlen},
  booktitle = {ICCV}, year = {2021}, url = {https://arxiv.org/abs/2012.09164}}
@inproceedings{ying2021graphormer,
  title = {Do Transformers Really Perform Badly for Graph Representation?}, author = {Ying, Chengxuan and Cai, Tianle and Luo, Shengjie and others},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2021}, url = {https://arxiv.org/abs/2106.05234}}
@inproceedings{nie2023patchtst,
  title = {A Time Series is Worth 64 Words: Long-term Forecasting with Transformers},
  author = {Nie, Yuqi and Nguyen, Nam H. and Sinthong, Phanwadee and Kalagnanam, Jayant},
  booktitle = {ICLR}, year = {2023}, url = {https://arxiv.org/abs/2211.14730}}
@inproceedings{nagrani2021bottlenecks,
  title = {Attention Bottlenecks for Multimodal Fusion},
  author = {Nagrani, Arsha and Yang, Shan and Arnab, Anurag and Jansen, Aren and Schmid, Cordelia and Sun, Chen},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2021}, url = {https://arxiv.org/abs/2107.00135}}
@inproceedings{teerapittayanon2016branchynet,
  title = {{BranchyNet}: Fast Inference via Early Exiting from Deep Neural Networks},
  author = {Teerapittayanon, Surat and McDanel, Bradley and Kung, H. T.},
  booktitle = {ICPR}, year = {2016}, url = {https://arxiv.org/abs/1709.01686}}
@article{jumper2021alphafold,
  title = {Highly Accurate Protein Structure Prediction with {AlphaFold}}, author = {Jumper, John and Evans, Richard and Pritzel, Alexander and others},
  journal = {Nature}, volume = {596}, pages = {583--589}, year = {2021}, doi = {10.1038/s41586-021-03819-2}}
@inproceedings{chen2021decision,
  title = {Decision Transformer: Reinforcement Learning via Sequence Modeling},
  author = {Chen, Lili and Lu, Kevin and Rajeswaran, Aravind and Lee, Kimin and Grover, Aditya and Laskin, Michael and Abbeel, Pieter and Srinivas, Aravind and Mordatch, Igor},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2021}, url = {https://arxiv.org/abs/2106.01345}}
@inproceedings{elnouby2021xcit,
  title = {{XCiT}: Cross-Covariance Image Transformers}, author = {El-Nouby, Alaaeldin and Touvron, Hugo and Caron, Mathilde and others},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2021}, url = {https://arxiv.org/abs/2106.09681}}
```

</details>
"""
