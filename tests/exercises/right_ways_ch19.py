"""Right answers to the exercises of chapter 19 in other styles."""

import codecs
import io
import re
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from jinja2 import Environment

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
