"""Right answers to the counting exercises of chapter 04."""

from fractions import Fraction

import torch
from torch import nn

# qkv_parameters


def parameters_matrix_by_matrix(d_model, num_heads, d_k, d_v, bias):
    total = 0
    for _ in range(num_heads):
        for width in (d_k, d_k, d_v):
            total += d_model * width
            if bias:
                total += width
    return total


def parameters_as_one_more_row(d_model, num_heads, d_k, d_v, bias):
    rows = d_model + 1 if bias else d_model
    return rows * num_heads * (d_k + d_k + d_v)


def parameters_of_meta_modules(d_model, num_heads, d_k, d_v, bias):
    layers = [
        nn.Linear(d_model, num_heads * width, bias=bias, device="meta") for width in (d_k, d_k, d_v)
    ]
    return sum(p.numel() for layer in layers for p in layer.parameters())


def parameters_of_meta_tensors(D, H, k, v, bias):
    shapes = [(D, H, k), (D, H, k), (D, H, v)] + ([(H, k), (H, k), (H, v)] if bias else [])
    return int(sum(torch.empty(shape, device="meta").numel() for shape in shapes))


def parameters_in_words(d_model, num_heads, d_k, d_v, bias):
    query = key = d_model * num_heads * d_k + bias * num_heads * d_k
    value = d_model * num_heads * d_v + bias * num_heads * d_v
    return query + key + value


def parameters_of_real_layers(d_model, num_heads, d_k, d_v, bias):
    layers = [nn.Linear(d_model, num_heads * width, bias=bias) for width in (d_k, d_k, d_v)]
    return sum(p.numel() for layer in layers for p in layer.parameters())


# matmul_intensity


def intensity_number_by_number(num_queries, num_keys, d_k, bytes_per_element, count_output):
    flops = 2 * num_queries * num_keys * d_k
    moved = num_queries * d_k * bytes_per_element
    moved += num_keys * d_k * bytes_per_element
    if count_output:
        moved += num_queries * num_keys * bytes_per_element
    return flops / moved


def intensity_cancelled(L, S, d, size, count_output):
    """Everything divided by L · S · d."""
    return 2 / (size * (1 / L + 1 / S + (1 / d if count_output else 0)))


def intensity_by_fractions(L, S, d, size, count_output):
    return float(Fraction(2 * L * S * d, size * (L * d + S * d + count_output * L * S)))


def intensity_of_meta_tensors(L, S, d, size, count_output):
    query, key = torch.empty(L, d, device="meta"), torch.empty(S, d, device="meta")
    scores = query @ key.T
    numbers = query.numel() + key.numel() + (scores.numel() if count_output else 0)
    return 2.0 * scores.numel() * d / (numbers * size)


def intensity_step_by_step(L, S, d, size, count_output):
    multiplications = additions = L * S * d
    read = (L + S) * d * size
    written = L * S * size if count_output else 0
    return (multiplications + additions) / (read + written)


def intensity_of_arrays(L, S, d, size, count_output):
    query, key = torch.ones(L, d), torch.ones(S, d)
    tensors = [query, key, query @ key.T][: 3 if count_output else 2]
    return float(2 * L * S * d / (size * sum(t.numel() for t in tensors)))


RIGHT_WAYS_COUNTS = {
    "qkv_parameters": (
        parameters_matrix_by_matrix,
        parameters_as_one_more_row,
        parameters_of_meta_modules,
        parameters_of_meta_tensors,
        parameters_in_words,
        parameters_of_real_layers,
    ),
    "matmul_intensity": (
        intensity_number_by_number,
        intensity_cancelled,
        intensity_by_fractions,
        intensity_of_meta_tensors,
        intensity_step_by_step,
        intensity_of_arrays,
    ),
}
