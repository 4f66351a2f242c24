"""What goes wrong when a variance is estimated: each mistake as something to run."""

import math

import torch

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch03_scaled_dot_product._variances import (
    all_pairs,
    centred,
    draw,
    drawn,
    elementwise,
    global_random,
    of,
    of_samples,
    one_query,
    over_samples,
    reseeded,
    row_variances,
    same_vector,
    signs,
    uniform_of_variance_one,
    unit_vectors,
)
from course_utils.measure.variance import dot_product_variance

MISCONCEPTIONS = (
    Misconception(
        "the generator not used",
        global_random,
        "The numbers come from a global random state, so two runs differ and others' runs "
        "are disturbed. Which argument of `torch.randn` names the source?",
        sign=lambda trace: trace.used_global_random,
    ),
    Misconception(
        "d_k itself",
        lambda d_k, num_samples, generator: float(d_k),
        "The answer is d_k to the last digit, whatever the seed. That is the theory; an estimate "
        "from samples scatters around it.",
    ),
    Misconception(
        "a seed of its own",
        reseeded,
        "The estimate is the same whatever generator is given. Who should choose the seed?",
    ),
    Misconception(
        "standard deviation",
        of(lambda dots, d_k: dots.std()),
        "This grows like the root of d_k. What is the square of a standard deviation called?",
    ),
    Misconception(
        "scaled already",
        of(lambda dots, d_k: (dots / math.sqrt(d_k)).var()),
        "The answer is 1 for every width: either the products were divided by √d_k first, or a "
        "single product of two numbers was looked at instead of the sum of d_k of them.",
        also=(elementwise, of(lambda dots, d_k: dots.var() / d_k)),
    ),
    Misconception(
        "mean of the features instead of their sum",
        of(lambda dots, d_k: (dots / d_k).var()),
        "The answer falls as the width grows. A dot product adds its d_k terms; what divides them?",
    ),
    Misconception(
        "mean instead of variance",
        of(lambda dots, d_k: dots.mean()),
        "The answer is near 0: that is the mean of q·k. Its variance says how far it strays.",
    ),
    Misconception(
        "mean size instead of variance",
        of(lambda dots, d_k: dots.abs().mean()),
        "This is the mean distance from 0. The variance is the mean of another power of it.",
    ),
    Misconception(
        "key and query the same vector",
        same_vector,
        "The answer is twice too large: each vector was multiplied with itself. How many "
        "independent vectors does a pair have?",
    ),
    Misconception(
        "uniform instead of normal numbers",
        drawn(torch.rand),
        "The answer is too small: the numbers are drawn from an interval, not from a normal "
        "distribution. Which function draws unit normals?",
        also=(drawn(centred),),
    ),
    Misconception(
        "summed over the samples",
        over_samples,
        "The sum ran over the pairs, not inside one. Which axis holds the d_k features?",
        also=(lambda d, n, g: float(torch.stack(draw(d, n, g)).prod(0).sum(0).var()),),
    ),
    Misconception(
        "sum of squares not divided",
        of(lambda dots, d_k: dots.square().sum()),
        "The answer grows with the number of samples. What turns a sum of squares into a mean?",
    ),
    Misconception(
        "other pairs than asked for",
        all_pairs,
        "The estimates scatter less or more from seed to seed than `num_samples` independent dot "
        "products can explain. How many are taken, and is each vector used in one of them only?",
        also=(
            lambda d, n, g: elementwise(d, n, g) * d,
            lambda d, n, g: dot_product_variance(d, 4 * n, g),
            lambda d, n, g: dot_product_variance(d, max(2, n // 4), g),
            lambda d, n, g: dot_product_variance(d, max(2, n // 2), g),
        ),
    ),
    Misconception(
        "num_samples ignored",
        lambda d, n, g: dot_product_variance(d, 1000, g),
        "The number of pairs is the same whatever `num_samples` says. Where is the argument used?",
        also=(lambda d, n, g: dot_product_variance(d, 100, g),),
    ),
    Misconception(
        "the wrong distribution",
        lambda d, n, g: float((torch.randn(n, generator=g) * math.sqrt(d)).var()),
        "At width 1 the estimates scatter too little for products of two unit normals. Either "
        "other numbers were drawn, or the theory was put in where the product should be.",
        also=(drawn(uniform_of_variance_one), drawn(signs)),
    ),
    Misconception(
        "no dot product taken",
        lambda d, n, g: float(torch.randn(n, d, generator=g).square().sum(-1).mean()),
        "The answer is near d_k, but no dot product of two vectors went into it. What does one "
        "pair give, and over what is the variance taken?",
        also=(
            lambda d, n, g: d * (1 + 0.01 * float(torch.randn((), generator=g))),
            lambda d, n, g: row_variances(d, n, g),
        ),
    ),
    Misconception(
        "the generator rewound",
        lambda d, n, g: dot_product_variance(d, n, torch.Generator().manual_seed(g.initial_seed())),
        "The same generator gives the same number again and again: another one was made from its "
        "seed, or its state was put back. Draw from the generator that is given.",
    ),
    Misconception(
        "one query for all keys",
        lambda d, n, g: one_query(d, n, g),
        "One query was compared with all keys, so the answer hangs on that query's length. How "
        "many vectors does each pair need?",
        also=(lambda d, n, g: one_query(d, n, g, key_first=True),),
    ),
    Misconception(
        "estimate rounded",
        lambda d, n, g: float(round(dot_product_variance(d, n, g))),
        "The estimates are whole numbers for every seed. Where do the digits go?",
        also=(lambda d, n, g: float(int(dot_product_variance(d, n, g))),),
    ),
    Misconception(
        "divided once more",
        of_samples(lambda dots, n: dots.var() / n),
        "The answer shrinks as the number of samples grows: that is the variance of the mean. "
        "Which one is asked for, of one product or of their mean?",
        also=(of_samples(lambda dots, n: dots.square().sum() / (n * n)),),
    ),
    Misconception(
        "numbers of another variance drawn",
        lambda d, n, g: dot_product_variance(d, n, g) * d * d,
        "The answer grows much faster than the width: the numbers that were drawn do not have "
        "variance 1. What do the arguments of the drawing function mean?",
        also=(lambda d, n, g: dot_product_variance(d, n, g) * d,),
    ),
    Misconception(
        "vectors of length 1",
        unit_vectors,
        "The answer falls as the width grows: the vectors were divided by their length first. Does "
        "a unit normal vector have length 1?",
    ),
)
