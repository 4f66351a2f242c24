"""Right answers to the exercises of chapter 19 in other styles."""

import codecs
import heapq
import io
import itertools
import math
import re
import struct
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from jinja2 import Environment

# dequantize_q4_1


def weights_by_struct(blocks):
    rows = []
    for block in blocks.tolist():
        d, m = struct.unpack("<ee", bytes(block[:4]))
        levels = [byte & 0xF for byte in block[4:]] + [byte >> 4 for byte in block[4:]]
        rows.append([d * level + m for level in levels])
    return torch.tensor(rows)


def weights_by_numpy(blocks):
    table = blocks.numpy()
    head = table[:, :4].copy().view("<f2").astype(np.float32)
    low, high = table[:, 4:] % 16, table[:, 4:] // 16
    return torch.from_numpy(head[:, :1] * np.hstack([low, high]) + head[:, 1:])


def weights_as_gguf(blocks):
    """As gguf-py does: both shifts at once, and the axis of the shifts before that of the bytes."""
    d, m, packed = torch.split(blocks, [2, 2, 16], dim=-1)
    d, m = (part.contiguous().view(torch.float16).to(torch.float32) for part in (d, m))
    shifts = torch.tensor([0, 4], dtype=torch.uint8).reshape(1, 2, 1)
    levels = (packed.reshape(-1, 1, 16) >> shifts) & 0x0F
    return d * levels.reshape(-1, 32).float() + m


def weights_without_a_copy(blocks):
    """Every row is in one piece, so both numbers of its head can be read where they are."""
    head = blocks[:, :4].view(torch.float16)
    out = torch.empty(len(blocks), 32)
    out[:, :16] = torch.bitwise_and(blocks[:, 4:], 15)
    out[:, 16:] = torch.bitwise_right_shift(blocks[:, 4:], 4)
    return out.mul_(head[:, 0, None].float()).add_(head[:, 1, None].float())


def weights_by_a_table_of_levels(blocks):
    """The sixteen weights that a block can have, and which of them each level means."""
    head = blocks[:, :4].contiguous().view(torch.float16).float()
    table = head[:, 1:] + head[:, :1] * torch.arange(16)
    packed = blocks[:, 4:].long()
    index = torch.cat((packed.remainder(16), packed.div(16, rounding_mode="floor")), dim=1)
    return table.gather(1, index)


def weights_from_the_bits(blocks):
    """Sign, exponent and fraction of each float16 by hand, in Python's floats."""

    def number(low, high):
        bits = low | high << 8
        sign, exponent, fraction = bits >> 15, bits >> 10 & 31, bits & 1023
        size = fraction * 2.0**-24 if exponent == 0 else (1024 + fraction) * 2.0 ** (exponent - 25)
        return -size if sign else size

    rows = torch.empty(blocks.shape[0], 32, dtype=torch.float32)
    for n, block in enumerate(blocks):
        a, b, c, e, *packed = map(int, block)
        for j, byte in enumerate(packed):
            rows[n, j] = number(a, b) * (byte % 16) + number(c, e)
            rows[n, 16 + j] = number(a, b) * (byte // 16) + number(c, e)
    return rows


def weights_by_a_fused_product(blocks):
    raw = blocks.clone()
    pairs = raw[:, 4:].to(torch.int16)
    levels = torch.stack([pairs & 15, pairs // 16], dim=1).flatten(1).double()
    d, m = raw[:, :4].contiguous().view(torch.half).double().T
    return torch.addcmul(m[:, None], d[:, None], levels).float()


# quantize_blocks


def levels_by_loops(x, bits, block):
    rows = x.reshape(-1, x.shape[-1])
    q, scale, low = [], [], []
    for row in rows.tolist():
        for start in range(0, len(row), block):
            part = row[start : start + block]
            least, most = min(part), max(part)
            step = (most - least) / (2**bits - 1) or 1.0
            if most == least:
                step = 1.0
            q += [round((one - least) / step) for one in part]
            scale.append(step)
            low.append(least)
    few = (*x.shape[:-1], x.shape[-1] // block)
    return (
        torch.tensor(q, dtype=torch.uint8).reshape(x.shape),
        torch.tensor(scale, dtype=x.dtype).reshape(few),
        torch.tensor(low, dtype=x.dtype).reshape(few),
    )


def levels_by_numpy(x, bits, block):
    parts = x.numpy().reshape(*x.shape[:-1], -1, block)
    low, high = parts.min(-1), parts.max(-1)
    scale = (high - low) / x.numpy().dtype.type(2**bits - 1)
    scale[high == low] = 1
    q = np.rint((parts - low[..., None]) / scale[..., None]).astype(np.uint8)
    return [torch.from_numpy(one) for one in (q.reshape(x.shape), scale, low)]


def levels_as_ggml(x, bits, block):
    """As ggml does: times the inverse of the scale, half added, and cut off."""
    parts = x.reshape(*x.shape[:-1], x.shape[-1] // block, block)
    low, high = torch.aminmax(parts, dim=-1)
    scale = (high - low) / ((1 << bits) - 1)
    inverse = torch.where(scale > 0, 1 / scale, torch.zeros_like(scale))
    q = ((parts - low.unsqueeze(-1)) * inverse.unsqueeze(-1) + 0.5).to(torch.uint8)
    return q.clamp(max=(1 << bits) - 1).view(x.shape), scale.masked_fill(scale == 0, 1), low


def levels_by_the_nearest(x, bits, block):
    """The number of the level that is nearest, of all levels."""
    parts = torch.stack(x.split(block, dim=-1), dim=-2)
    low = parts.min(dim=-1).values
    scale = (parts.max(dim=-1).values - low) / (2**bits - 1)
    scale = scale + (scale == 0)
    grid = torch.arange(2**bits, dtype=x.dtype)
    levels = low[..., None] + scale[..., None] * grid
    q = (parts[..., None] - levels[..., None, :]).abs().argmin(-1)
    return q.reshape(x.shape).to(torch.uint8), scale, low


def levels_by_sorting(x, bits, block):
    ordered = x.unflatten(-1, (-1, block)).sort(-1).values
    low, spread = ordered[..., 0], ordered[..., -1] - ordered[..., 0]
    scale = torch.where(spread == 0, torch.ones_like(spread), spread / (2**bits - 1))
    wide = (one.repeat_interleave(block, dim=-1) for one in (low, scale))
    q = torch.round((x - next(wide)) / next(wide))
    return q.byte(), scale, low.clone()


def levels_by_buckets(x, bits, block):
    """Count the places halfway between two levels that a number exceeds."""
    low = x.unfold(-1, block, block).amin(-1)
    scale = (x.unfold(-1, block, block).amax(-1) - low) / (2**bits - 1)
    same = scale == 0
    scale = scale.where(~same, torch.ones((), dtype=x.dtype))
    halfway = torch.arange(2**bits - 1, dtype=x.dtype) + 0.5
    place = (x.unfold(-1, block, block) - low[..., None]) / scale[..., None]
    return (place[..., None] > halfway).sum(-1).flatten(-2).to(torch.uint8), scale, low


def levels_through_float64(x, bits, block):
    wide = x.double().contiguous().view(-1, block)
    low, high = wide.amin(1, True), wide.amax(1, True)
    step = torch.where(high > low, (high - low) / (2.0**bits - 1), torch.ones_like(low))
    q = ((wide - low).div(step)).round().int()
    few = torch.Size([*x.shape[:-1], x.shape[-1] // block])
    return q.to(torch.uint8).view(x.shape), step.to(x.dtype).view(few), low.to(x.dtype).view(few)


# merge_by_rank


def symbols_as_gpt2(piece, ranks):
    """As encoder.py of GPT-2: the first part of a pair is sought, then the second behind it."""
    word = tuple(piece)
    pairs = set(itertools.pairwise(word))
    while pairs:
        pair = min(pairs, key=lambda one: ranks.get(one, float("inf")))
        if pair not in ranks:
            break
        first, second = pair
        new, i = [], 0
        while i < len(word):
            try:
                j = word.index(first, i)
            except ValueError:
                new.extend(word[i:])
                break
            new.extend(word[i:j])
            i = j
            if i < len(word) - 1 and word[i + 1] == second:
                new.append(first + second)
                i += 2
            else:
                new.append(word[i])
                i += 1
        word = tuple(new)
        pairs = set(itertools.pairwise(word))
    return list(word)


def symbols_rule_by_rule(piece, ranks):
    symbols = list(piece)
    for left, right in sorted(ranks, key=ranks.get):
        i = 0
        while i + 1 < len(symbols):
            if symbols[i] == left and symbols[i + 1] == right:
                symbols[i : i + 2] = [left + right]
            i += 1
    return symbols


def symbols_one_at_a_time(piece, ranks):
    """As minbpe and tiktoken do it: one merge, and everything is looked at again."""
    symbols = [*piece]
    while len(symbols) >= 2:
        scored = [
            (ranks.get((a, b), math.inf), i) for i, (a, b) in enumerate(itertools.pairwise(symbols))
        ]
        rank, i = min(scored)
        if rank == math.inf:
            return symbols
        symbols = [*symbols[:i], symbols[i] + symbols[i + 1], *symbols[i + 2 :]]
    return symbols


def symbols_by_recursion(piece, ranks):
    def merge(symbols):
        found = sorted(
            (ranks[pair], at)
            for at, pair in enumerate(itertools.pairwise(symbols))
            if pair in ranks
        )
        if not found:
            return symbols
        at = found[0][1]
        return merge((*symbols[:at], symbols[at] + symbols[at + 1], *symbols[at + 2 :]))

    return list(merge(tuple(piece)))


def symbols_from_a_heap(piece, ranks):
    """A linked list, and a heap of the pairs that were ever neighbours."""
    symbols = dict(enumerate(piece))
    after = {i: i + 1 for i in symbols}
    before = {i: i - 1 for i in symbols}
    heap = []

    def push(i):
        pair = symbols.get(i), symbols.get(after.get(i))
        if pair in ranks:
            heapq.heappush(heap, (ranks[pair], i, pair))

    for i in symbols:
        push(i)
    while heap:
        _, i, pair = heapq.heappop(heap)
        if (symbols.get(i), symbols.get(after.get(i))) != pair:
            continue
        gone = after[i]
        symbols[i] += symbols.pop(gone)
        after[i] = after.pop(gone)
        before[after[i]] = i
        push(i)
        push(before[i])
    return [symbols[i] for i in sorted(symbols)]


def symbols_by_a_pattern(piece, ranks):
    """As in the paper of Sennrich et al.: symbols with a space between them, and a pattern."""
    text = " ".join(piece)
    for left, right in sorted(ranks, key=lambda pair: ranks[pair]):
        pattern = re.compile(r"(?<!\S)" + re.escape(f"{left} {right}") + r"(?!\S)")
        text = pattern.sub(lambda found: found[0].replace(" ", ""), text)
    return text.split()


def symbols_as_a_tuple_of_slices(piece, ranks):
    """Where the symbols begin; a merge takes one beginning out."""
    cuts = list(range(len(piece) + 1))
    while True:
        options = {}
        for a, b, c in zip(cuts, cuts[1:], cuts[2:], strict=False):
            rank = ranks.get((piece[a:b], piece[b:c]))
            if rank is not None:
                options.setdefault(rank, b)
        if not options:
            return [piece[a:b] for a, b in itertools.pairwise(cuts)]
        cuts.remove(options[min(options)])


# to_split_halves


def halves_as_hugging_face(features, num_heads, dim):
    """As `permute` in the conversion of Llama's weights, for any axis."""
    moved = features.transpose(0, dim)
    shape = moved.shape
    cut = moved.reshape(num_heads, shape[0] // num_heads // 2, 2, *shape[1:]).transpose(1, 2)
    return cut.reshape(shape).transpose(0, dim)


def halves_by_an_index(features, num_heads, dim):
    width = features.shape[dim] // num_heads
    order = [
        head * width + feature
        for head in range(num_heads)
        for feature in [*range(0, width, 2), *range(1, width, 2)]
    ]
    return features.index_select(dim, torch.tensor(order))


def halves_by_where_each_goes(features, num_heads, dim):
    """Each feature is told its place, and `scatter` brings it there."""
    size = features.shape[dim]
    width = size // num_heads
    number = torch.arange(size)
    place = number // width * width + number % width // 2 + number % 2 * (width // 2)
    out = torch.empty_like(features).movedim(dim, 0)
    out[place] = features.movedim(dim, 0)
    return out.movedim(0, dim)


def halves_by_sorting(features, num_heads, dim):
    number = torch.arange(features.shape[dim])
    width = len(number) // num_heads
    order = (number // width * 2 + number % 2).argsort(stable=True)
    return torch.take_along_dim(
        features,
        order.view([-1 if at == dim % features.dim() else 1 for at in range(features.dim())]),
        dim,
    )


def halves_in_place_of_numbers(features, num_heads, dim):
    axis = dim if dim >= 0 else dim + features.dim()
    cut = features.unflatten(axis, (num_heads, -1, 2))
    return cut.transpose(axis + 1, axis + 2).flatten(axis, axis + 2)


def halves_head_by_head(features, num_heads, dim):
    out = []
    for head in features.chunk(num_heads, dim):
        columns = head.unbind(dim)
        out += columns[::2] + columns[1::2]
    return torch.stack(out, dim=dim)


def halves_by_copying(features, num_heads, dim):
    made = features.clone().transpose(dim, -1).contiguous()
    given = features.transpose(dim, -1)
    d_k = given.shape[-1] // num_heads
    for h in range(num_heads):
        for i in range(d_k // 2):
            made[..., h * d_k + i] = given[..., h * d_k + 2 * i]
            made[..., h * d_k + d_k // 2 + i] = given[..., h * d_k + 2 * i + 1]
    return made.transpose(dim, -1)


def halves_by_einsum_of_a_view(features, num_heads, dim):
    last = features.movedim(dim, -1)
    cut = last.reshape(*last.shape[:-1], num_heads, last.shape[-1] // num_heads // 2, 2)
    return torch.einsum("...hip->...hpi", cut).reshape(last.shape).movedim(-1, dim)


# chat_prompt

BEGIN, END = "<|im_start|>", "<|im_end|>"
TEMPLATE = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\n' + default + '<|im_end|>\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def chat_by_its_template(messages, default_system, add_generation_prompt=True):
    template = Environment(trim_blocks=True, lstrip_blocks=True).from_string(TEMPLATE)
    return template.render(
        messages=messages, default=default_system, add_generation_prompt=add_generation_prompt
    )


def chat_by_formats(messages, default_system, add_generation_prompt=True):
    one = "<|im_start|>{role}\n{content}<|im_end|>\n"
    said = [one.format_map(message) for message in messages]
    if messages and messages[0]["role"] != "system":
        said = [one.format(role="system", content=default_system), *said]
    return "".join([*said, "<|im_start|>assistant\n" if add_generation_prompt else ""])


def chat_by_lines(messages, default_system, add_generation_prompt=True):
    """Lines that a single join puts together, with an empty one for the line end at the end."""
    lines = []
    for number, message in enumerate(messages):
        if number == 0 and message["role"] != "system":
            lines += [f"{BEGIN}system", f"{default_system}{END}"]
        lines += [BEGIN + message["role"], message["content"] + END]
    if add_generation_prompt:
        lines.append("<|im_start|>assistant")
    return "\n".join([*lines, ""]) if lines else ""


def chat_by_percent_signs(messages, default, opened=True):
    pairs = [(one["role"], one["content"]) for one in messages]
    if pairs[:1] and pairs[0][0] != "system":
        pairs.insert(0, ("system", default))
    text = "".join("<|im_start|>%s\n%s<|im_end|>\n" % pair for pair in pairs)  # noqa: UP031
    return (text + "<|im_start|>assistant\n") if opened else text


def chat_on_a_file(messages, default_system, add_generation_prompt=True):
    file, first = io.StringIO(newline=""), True
    for message in messages:
        if first and message["role"] != "system":
            print(f"{BEGIN}system\n{default_system}", end=f"{END}\n", file=file)
        print(BEGIN + message["role"], message["content"], sep="\n", end=f"{END}\n", file=file)
        first = False
    file.write(f"{BEGIN}assistant\n" * bool(add_generation_prompt))
    return file.getvalue()


def chat_by_taking_the_reply_off(messages, default_system, add_generation_prompt=True):
    """A reply without an end is written like any message, and what it has too much is cut off."""
    head = [{"role": "system", "content": default_system}]
    head = head if messages and messages[0]["role"] != "system" else []
    tail = [{"role": "assistant", "content": ""}] if add_generation_prompt else []
    text = ""
    for message in head + messages + tail:
        text = f"{text}{BEGIN}{message['role']}\n{message['content']}{END}\n"
    return text[: -len(f"{END}\n")] if tail else text


def chat_by_recursion(messages, default_system, add_generation_prompt=True, begun=False):
    if not messages:
        return "<|im_start|>assistant\n" if add_generation_prompt else ""
    first, *rest = messages
    if not begun and first["role"] != "system":
        first, rest = {"role": "system", "content": default_system}, messages
    said = "\n".join((f"{BEGIN}{first['role']}", first["content"] + END, ""))
    return said + chat_by_recursion(rest, default_system, add_generation_prompt, True)


# stream_text


def stream_by_an_incremental_decoder(pieces):
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    shown = [decoder.decode(piece) for piece in pieces]
    rest = decoder.decode(b"", final=True)
    if rest:
        shown[-1] += rest
    return shown


def stream_by_prefixes(pieces):
    """The text so far, without an incomplete end, less the text up to the piece before."""
    so_far = [b"".join(pieces[:n]) for n in range(len(pieces) + 1)]
    texts = [whole.decode("utf-8", "ignore") for whole in so_far]
    shown = [after[len(before) :] for before, after in pairwise(texts)]
    if len(texts[-1].encode()) < len(so_far[-1]):
        shown[-1] += "\ufffd"
    return shown


def stream_by_a_state_machine(pieces):
    shown, code, missing = [], 0, 0
    for piece in pieces:
        text = ""
        for byte in piece:
            if missing:
                code, missing = code << 6 | byte & 63, missing - 1
            elif byte < 0x80:
                code = byte
            elif byte < 0xE0:
                code, missing = byte & 31, 1
            elif byte < 0xF0:
                code, missing = byte & 15, 2
            else:
                code, missing = byte & 7, 3
            if not missing:
                text += chr(code)
        shown.append(text)
    if missing:
        shown[-1] += chr(0xFFFD)
    return shown


def stream_by_the_error(pieces):
    """The error itself says from where on the bytes are no character."""
    shown, left = [], b""
    for piece in pieces:
        left += piece
        try:
            text, left = left.decode(), b""
        except UnicodeDecodeError as error:
            text, left = left[: error.start].decode(), left[error.start :]
        shown.append(text)
    if left:
        shown[-1] = shown[-1] + left.decode(errors="replace")
    return shown


def stream_by_trying_shorter_ends(pieces):
    shown, buffer = [], bytearray()
    for piece in pieces:
        buffer.extend(piece)
        for cut in range(min(3, len(buffer)) + 1):
            try:
                text = bytes(buffer[: len(buffer) - cut]).decode("utf-8")
            except UnicodeDecodeError:
                continue
            break
        del buffer[: len(buffer) - cut]
        shown.append(text)
    return [*shown[:-1], shown[-1] + "\N{REPLACEMENT CHARACTER}"] if buffer else shown


def stream_by_last_bytes(pieces):
    """Each character goes to the piece that holds its last byte, found from the lengths."""
    whole = b"".join(pieces)
    text = whole.decode("utf-8", errors="ignore")
    owner = [number for number, piece in enumerate(pieces) for _ in piece]
    shown, at = [""] * len(pieces), 0
    for character in text:
        at += len(character.encode("utf-8"))
        shown[owner[at - 1]] += character
    if at < len(whole):
        shown[len(pieces) - 1] += "\ufffd"
    return shown


def stream_by_a_pattern(pieces):
    whole = re.compile(
        rb"[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
    )
    waiting, shown = b"", []
    for piece in pieces:
        found = whole.findall(waiting + piece)
        waiting = (waiting + piece)[sum(map(len, found)) :]
        shown.append(b"".join(found).decode("utf-8"))
    return tuple(shown[:-1]) + tuple(one + "\ufffd" * (waiting != b"") for one in shown[-1:])


# prompt_lookup


def lookup_by_windows(tokens, shortest, longest, num_draft):
    L = tokens.shape[0]
    for n in range(min(longest, L - 1), shortest - 1, -1):
        hits = (tokens.unfold(0, n, 1) == tokens[L - n :]).all(dim=1).nonzero(as_tuple=True)[0]
        start = int(hits[0]) + n
        if start < L:
            return tokens[start : start + num_draft].tolist()
    return []


def lookup_by_a_dict(tokens, shortest, longest, num_draft):
    text = tuple(int(token) for token in tokens)
    where = {}
    for n in range(shortest, min(longest, len(text)) + 1):
        for end in range(n, len(text)):
            where.setdefault(text[end - n : end], end)
    for n in range(longest, shortest - 1, -1):
        end = where.get(text[-n:]) if n <= len(text) else None
        if end is not None:
            return list(text[end : end + num_draft])
    return []


def lookup_by_a_string(tokens, shortest, longest, num_draft):
    """Each token is one character of a string, in which Python itself searches."""
    text = "".join(chr(0x10000 + token) for token in tokens.tolist())
    for n in range(min(longest, len(text) - 1), shortest - 1, -1):
        place = text.find(text[-n:], 0, len(text) - 1)
        if place >= 0:
            return [ord(c) - 0x10000 for c in text[place + n : place + n + num_draft]]
    return []


def lookup_by_a_pattern(tokens, shortest, longest, num_draft):
    words = [f"{token};" for token in tokens.tolist()]
    for n in range(min(longest, len(words)), shortest - 1, -1):
        found = re.search(rf"(?<!\d){''.join(words[-n:])}(?=\d)", "".join(words))
        if found:
            return [int(word) for word in "".join(words)[found.end() :].split(";")[:-1]][:num_draft]
    return []


def lookup_by_common_ends(tokens, shortest, longest, num_draft):
    """Count back from every place how many tokens agree; take the most, and the earliest."""
    text = tokens.tolist()
    best, at = shortest - 1, None
    for end in range(1, len(text)):
        n = 0
        while n < min(end, longest) and text[end - 1 - n] == text[-1 - n]:
            n += 1
        if n > best:
            best, at = n, end
    return [] if at is None else text[at:][:num_draft]


def lookup_with_numpy(tokens, shortest, longest, num_draft):
    array = tokens.numpy()
    for n in reversed(range(shortest, longest + 1)):
        if n >= len(array):
            continue
        windows = np.lib.stride_tricks.sliding_window_view(array, n)[:-1]
        found = np.flatnonzero((windows == array[-n:]).all(1))
        if found.size:
            return list(array[found[0] + n :][:num_draft])
    return []


def lookup_as_transformers(input_ids, shortest, longest, num_draft):
    length = input_ids.size(0)
    for size in range(min(longest, length - 1), shortest - 1, -1):
        windows = input_ids.unfold(dimension=0, size=size, step=1)
        ngram = input_ids[-size:]
        matches = (windows == ngram).all(dim=1)
        for index in matches.nonzero(as_tuple=True)[0]:
            start = index + size
            end = min(start + num_draft, length)
            if start < length:
                return input_ids[start:end].tolist()
    return []


# windowed_loss


def windows_token_by_token(model, tokens, window, stride):
    losses = []
    for place in range(1, len(tokens)):
        start = 0
        while start + window <= place:
            start += stride
        logits = model(tokens[start:place].unsqueeze(0))[0, -1]
        losses.append(F.cross_entropy(logits, tokens[place]))
    return float(torch.stack(losses).mean())


def windows_in_one_batch(model, tokens, window, stride):
    """All windows at once, the last one filled up; what is not new is left out by a mask."""
    N = len(tokens)
    count = max(0, -(-(N - window) // stride)) + 1
    padded = F.pad(tokens, (0, max(0, (count - 1) * stride + window - N)))
    parts = padded.unfold(0, window, stride)[:count]
    place = torch.arange(len(padded)).unfold(0, window, stride)[:count]
    new = (place > 0) & (place < N)
    new[1:] &= place[1:] >= place[:-1, -1:] + 1
    log_p = model(parts)[:, :-1].log_softmax(-1)
    losses = -log_p.gather(-1, parts[:, 1:, None])[..., 0]
    return (losses * new[:, 1:]).sum().item() / (N - 1)


def windows_by_ignored_targets(model, tokens, window, stride):
    """The old recipe of a documentation, put right: a window's sum, not its mean."""
    total, previous = torch.zeros((), dtype=torch.float64), 0
    for begin in range(0, len(tokens), stride):
        end = min(begin + window, len(tokens))
        inputs = tokens[begin:end].unsqueeze(0)
        targets = inputs.clone()
        targets[:, : inputs.size(1) - (end - previous)] = -100
        logits = model(inputs)
        total += F.cross_entropy(logits[0, :-1], targets[0, 1:], ignore_index=-100, reduction="sum")
        previous = end
        if end == len(tokens):
            break
    return (total / (len(tokens) - 1)).item()


def windows_with_a_while_loop(model, tokens, window, stride):
    first = model(tokens[None, :window])[0].log_softmax(-1)
    log_p = [first[at, tokens[at + 1]].item() for at in range(min(window, len(tokens)) - 1)]
    start = 0
    while start + window < len(tokens):
        start += stride
        part = tokens[start : start + window]
        rows = torch.log_softmax(model(part[None])[0], dim=-1)
        for at in range(len(log_p) + 1, start + len(part)):
            log_p.append(rows[at - start - 1, tokens[at]].item())
    return -sum(log_p) / len(log_p)


def windows_in_a_table(model, tokens, window, stride):
    """A place for each token's loss; later windows fill only what is still empty."""
    losses = torch.full((len(tokens),), torch.nan)
    for start in range(0, len(tokens) - 1, stride):
        part = tokens[start : start + window]
        with torch.no_grad():
            found = F.cross_entropy(model(part[None])[0, :-1], part[1:], reduction="none").float()
        mine = losses[start + 1 : start + len(part)]
        mine.copy_(torch.where(mine.isnan(), found, mine))
    return losses.nanmean().item()


def windows_last_first(model, tokens, window, stride):
    """From the last window to the first, so that the first one has the last word."""
    known = {}
    for start in reversed(range(0, len(tokens) - 1, stride)):
        part = tokens[start : start + window]
        scores = model(part.unsqueeze(0)).squeeze(0)
        loss = scores.logsumexp(-1)[:-1] - scores[:-1][torch.arange(len(part) - 1), part[1:]]
        known |= {start + 1 + at: float(one) for at, one in enumerate(loss)}
    return np.mean(list(known.values()))


RIGHT_WAYS_CH19 = {
    "dequantize_q4_1": (
        weights_by_struct,
        weights_by_numpy,
        weights_as_gguf,
        weights_without_a_copy,
        weights_by_a_table_of_levels,
        weights_from_the_bits,
        weights_by_a_fused_product,
    ),
    "quantize_blocks": (
        levels_by_loops,
        levels_by_numpy,
        levels_as_ggml,
        levels_by_the_nearest,
        levels_by_sorting,
        levels_by_buckets,
        levels_through_float64,
    ),
    "merge_by_rank": (
        symbols_as_gpt2,
        symbols_rule_by_rule,
        symbols_one_at_a_time,
        symbols_by_recursion,
        symbols_from_a_heap,
        symbols_by_a_pattern,
        symbols_as_a_tuple_of_slices,
    ),
    "to_split_halves": (
        halves_as_hugging_face,
        halves_by_an_index,
        halves_by_where_each_goes,
        halves_by_sorting,
        halves_in_place_of_numbers,
        halves_head_by_head,
        halves_by_copying,
        halves_by_einsum_of_a_view,
    ),
    "chat_prompt": (
        chat_by_its_template,
        chat_by_formats,
        chat_by_lines,
        chat_by_percent_signs,
        chat_on_a_file,
        chat_by_taking_the_reply_off,
        chat_by_recursion,
    ),
    "stream_text": (
        stream_by_an_incremental_decoder,
        stream_by_prefixes,
        stream_by_a_state_machine,
        stream_by_the_error,
        stream_by_trying_shorter_ends,
        stream_by_last_bytes,
        stream_by_a_pattern,
    ),
    "prompt_lookup": (
        lookup_by_windows,
        lookup_by_a_dict,
        lookup_by_a_string,
        lookup_by_a_pattern,
        lookup_by_common_ends,
        lookup_with_numpy,
        lookup_as_transformers,
    ),
    "windowed_loss": (
        windows_token_by_token,
        windows_in_one_batch,
        windows_by_ignored_targets,
        windows_with_a_while_loop,
        windows_in_a_table,
        windows_last_first,
    ),
}
