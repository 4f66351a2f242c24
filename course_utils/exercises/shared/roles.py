"""Mistakes with who asks and who is read, where one sequence reads another.

The lines speak of `x` and `context`, the arguments, and of the steps

    query = x @ W_q
    key = context @ W_k
    value = context @ W_v
"""

from course_utils.checking.mistakes import mistake


def before_the_query(*changes: str) -> tuple[str, ...]:
    """Return versions that change the sequences before they are projected."""
    return tuple(f"{change}\nquery = x @ W_q" for change in changes)


ROLES = (
    mistake("query from context", "The two sequences changed roles: the context asks. Whose positions does the output "
            "have, and so who asks?", *before_the_query("x, context = context, x")),
    mistake("keys and values from x", "The context plays no part: this is self-attention on `x`. Which of the three "
            "come from what is read?", "key = x @ W_k\nvalue = x @ W_v"),
    mistake("everything from the context", "`x` plays no part: this is self-attention on the context. Who asks?",
            "query = context @ W_q"),
    mistake("keys from one sequence, values from the other", "Keys and values come from two sequences. A weight found "
            "with a key is used on the value at the same place: which sequence must give both?", "key = x @ W_k",
            "value = x @ W_v", "query = context @ W_q\nkey = x @ W_k", "query = context @ W_q\nvalue = x @ W_v"),
    mistake(
        "x and context read together",
        "The queries read `x` as well as the context: the two were joined. Cross-attention reads the context alone.",
        *before_the_query(
            "both = torch.cat([x, context], dim=1)\nkey = both @ W_k\nvalue = both @ W_v",
            "key = (x + context) @ W_k\nvalue = (x + context) @ W_v",
            "x = x + context",
        ),
    ),
)
