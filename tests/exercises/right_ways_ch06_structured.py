"""Right ways to write prefix_mask and document_mask."""

import torch
import torch.nn.functional as F

# prefix_mask


def prefix_by_writing_columns(num_positions, prefix_length):
    mask = torch.ones(num_positions, num_positions, dtype=torch.bool).tril()
    mask[:, :prefix_length] = True
    return mask


def prefix_by_writing_a_square(n, p):
    mask = torch.tril(torch.ones(n, n)).bool()
    mask[:p, :p] = 1
    return mask


def prefix_by_loops(n, p):
    return torch.tensor([[j < p or j <= i for j in range(n)] for i in range(n)])


def prefix_by_the_farther_edge(n, p):
    last = torch.arange(n).clamp(min=p - 1)
    return torch.arange(n) <= last.unsqueeze(-1)


def prefix_by_exclusion(n, p):
    i, j = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
    return torch.logical_not((j > i) & (j >= p))


# document_mask


def documents_by_loops(document_ids):
    batch, length = document_ids.shape
    mask = torch.zeros(batch, 1, length, length, dtype=torch.bool)
    for b in range(batch):
        for i in range(length):
            for j in range(i + 1):
                mask[b, 0, i, j] = document_ids[b, i] == document_ids[b, j]
    return mask


def documents_by_tril(document_ids):
    same = document_ids[:, None, :, None] == document_ids[:, None, None, :]
    return same.tril()


def documents_by_difference(ids):
    return ((ids[:, :, None] - ids[:, None, :]) == 0).tril().unsqueeze(1)


def documents_by_multiplying(ids):
    n = ids.shape[1]
    same = torch.eq(ids.unsqueeze(2), ids.unsqueeze(1)).long()
    return (same * torch.ones(n, n, dtype=torch.long).tril()).bool()[:, None]


def documents_by_unique_numbers(ids):
    _, numbers = ids.unique(return_inverse=True)
    member = F.one_hot(numbers).double()
    return (member @ member.mT > 0.5).tril().view(len(ids), 1, ids.shape[1], ids.shape[1])


def documents_sequence_by_sequence(ids):
    tables = [torch.stack([row == one for one in row]).tril() for row in ids]
    return torch.stack(tables)[:, None, :, :]


RIGHT_WAYS_STRUCTURED = {
    "prefix_mask": (
        prefix_by_writing_columns,
        prefix_by_writing_a_square,
        prefix_by_loops,
        prefix_by_the_farther_edge,
        prefix_by_exclusion,
    ),
    "document_mask": (
        documents_by_loops,
        documents_by_tril,
        documents_by_difference,
        documents_by_multiplying,
        documents_by_unique_numbers,
        documents_sequence_by_sequence,
    ),
}
