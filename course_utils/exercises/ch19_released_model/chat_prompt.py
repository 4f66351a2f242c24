"""Exercise: TODO, in a few words."""

from course_utils.models import chat_prompt
from course_utils.checking.exercise import case, exercise

RIGHT = """
def chat_prompt(messages, default_system, add_generation_prompt=True):
    for number, one in enumerate(messages):
        check_instance(Mapping, **{f'message {number} of messages': one})
    written = list(messages)
    if written and written[0]['role'] != 'system':
        written.insert(0, {'role': 'system', 'content': default_system})
    text = ''.join((f"{BEGIN}{one['role']}\n{one['content']}{END}\n" for one in written))
    return text + f'{BEGIN}assistant\n' * add_generation_prompt
"""

EXERCISE = exercise(
    chat_prompt,
    right=RIGHT,
    asks="TODO: the task, in one sentence.",
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        case("small", TODO=2),
        case("other sizes", TODO=2),
        case("float32", TODO=2, dtype="float32"),
    ),
    mistakes=(),
    hints=(
        "TODO: a nudge.",
    ),
)
