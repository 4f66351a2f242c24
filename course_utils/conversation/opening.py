"""`chat()`: talk to the released model, in a notebook or in a terminal."""

from course_utils.answers.parts import choose
from course_utils.conversation import notebook, terminal
from course_utils.conversation.dialogue import Dialogue, Settings
from course_utils.conversation.fitting import TRIALS, Fitting, fit
from course_utils.model_file import ModelFileError
from course_utils.models.released.gguf import gguf_model
from course_utils.plain_validation import check_instance


def chat(settings: Settings | None = None) -> None:
    """Talk to the released model, which runs on the functions that you have passed.

    In a notebook it opens a panel, elsewhere it reads and writes lines.

    Args:
        settings: The system line and how tokens are drawn; they can also be changed while talking.
    """
    if settings is not None:
        check_instance(Settings, settings=settings)
    try:
        dialogue, fitting = open_dialogue(settings or Settings())
    except ModelFileError as error:
        print(error)
        return
    if notebook.is_here():
        notebook.show(dialogue, fitting)
    else:
        terminal.talk(dialogue, fitting)


def open_dialogue(settings: Settings) -> tuple[Dialogue, Fitting]:
    """Return a conversation that runs on the learner's functions, and which they are.

    Raises:
        ModelFileError: The model's file is not there, or it is damaged.
    """
    fitting = fit(choose(*TRIALS))
    chosen = fitting.chosen
    model = gguf_model.model(chosen.own)
    return Dialogue(model, chosen.functions(chosen.own), settings), fitting
