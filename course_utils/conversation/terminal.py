"""A conversation in plain lines: what is typed, and what the model replies."""

from collections.abc import Callable
from dataclasses import fields, replace

from course_utils.conversation.dialogue import Dialogue, Settings
from course_utils.conversation.fitting import Fitting

HELP = """\
/set NAME VALUE   change a setting        /settings   show them
/new              begin a new conversation  /template   show what the model reads
/quit             end; Ctrl+C stops a reply"""


def talk(dialogue: Dialogue, fitting: Fitting, ask: Callable[[str], str] = input) -> None:
    """Converse until `/quit` or the end of the input."""
    print(*fitting.lines(), "", *described(dialogue.settings), "", HELP, sep="\n")
    while True:
        try:
            said = ask("\nyou> ").strip()
        except (EOFError, KeyboardInterrupt):
            print()
            return
        if said == "/quit":
            return
        if said.startswith("/"):
            print(*obeyed(dialogue, said), sep="\n")
        elif said:
            answer(dialogue, said)


def answer(dialogue: Dialogue, said: str) -> None:
    """Print the reply as it is written; Ctrl+C stops it."""
    print("model> ", end="", flush=True)
    try:
        for new in dialogue.reply(said):
            print(new, end="", flush=True)
    except KeyboardInterrupt:
        print(" … [stopped]", end="")
    except ValueError as error:
        print(f"[{error}]", end="")
    print()


def obeyed(dialogue: Dialogue, command: str) -> list[str]:
    """Do what a command says, and return what is to be shown."""
    name, *rest = command.split(maxsplit=2)
    if name == "/new":
        dialogue.begin()
        return ["A new conversation."]
    if name == "/settings":
        return described(dialogue.settings)
    if name == "/template":
        return [dialogue.template()]
    if name == "/set" and rest:
        try:
            dialogue.settings = changed(dialogue.settings, rest[0], " ".join(rest[1:]))
        except ValueError as error:
            return [str(error)]
        return described(dialogue.settings)
    return [HELP]


def described(settings: Settings) -> list[str]:
    """Return a line for each setting."""
    return [f"{one.name:<12} {getattr(settings, one.name)}" for one in fields(settings)]


def changed(settings: Settings, name: str, text: str) -> Settings:
    """Return the settings with another value for one of them.

    Raises:
        ValueError: There is no such setting, or it cannot have that value.
    """
    names = [one.name for one in fields(settings)]
    if name not in names:
        raise ValueError(f"the setting must be one of {', '.join(names)}, got {name!r}")
    kind = type(getattr(settings, name))
    try:
        value = kind(text)
    except ValueError:
        raise ValueError(f"{name} must be of type {kind.__name__}, got {text!r}") from None
    return replace(settings, **{name: value})
