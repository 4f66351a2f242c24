"""A conversation in a panel of a notebook: written in a thread, so that its buttons work."""

import html
from collections.abc import Callable
from dataclasses import fields
from threading import Event, Thread
from typing import Any

from course_utils.conversation.dialogue import Dialogue
from course_utils.conversation.fitting import Fitting
from course_utils.conversation.terminal import changed


def is_here() -> bool:
    """Return whether this runs in a notebook's kernel."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return False
    return getattr(get_ipython(), "kernel", None) is not None


def show(dialogue: Dialogue, fitting: Fitting) -> None:
    """Display the panel."""
    from IPython.display import display

    display(Panel(dialogue, fitting).whole)  # type: ignore[no-untyped-call]


class Panel:
    """The conversation, a line to type in, buttons, settings, and whose the parts are.

    Args:
        dialogue: The conversation.
        fitting: Whose its parts are.
    """

    def __init__(self, dialogue: Dialogue, fitting: Fitting) -> None:
        import ipywidgets as widgets

        self.dialogue, self._stop, self._thread = dialogue, Event(), Thread()
        self.shown = widgets.HTML()
        self.line = widgets.Text(placeholder="Ask something, then Enter", layout={"width": "auto"})
        self.line.continuous_update = False
        self.line.observe(lambda change: self.send(), "value")
        buttons = [
            self._button("Send", self.send),
            self._button("Stop", self._stop.set),
            self._button("New conversation", self.renew),
        ]
        self.settings = {
            one.name: widgets.Text(
                value=str(getattr(dialogue.settings, one.name)),
                description=one.name, continuous_update=False,
            )
            for one in fields(dialogue.settings)
        }  # fmt: skip
        for name, box in self.settings.items():
            box.observe(lambda change, name=name: self._change(name, change["new"]), "value")
        self.said, self.template = widgets.HTML(), widgets.HTML()
        whose = widgets.HTML(_preformatted("\n".join(fitting.lines())))
        folded = widgets.Accordion([widgets.VBox([*self.settings.values()]), self.template, whose])
        for number, title in enumerate(("Settings", "What the model reads", "Whose parts")):
            folded.set_title(number, title)
        head = widgets.HTML(html.escape(f"{fitting.chosen.count()}."))
        row = widgets.HBox(buttons)
        self.whole = widgets.VBox([head, self.shown, self.line, row, self.said, folded])
        self._draw()

    def send(self) -> None:
        """Begin the reply to what is in the line."""
        said = self.line.value.strip()
        if said and not self._thread.is_alive():
            self.line.value = ""
            self._stop.clear()
            self._thread = Thread(target=self._write, args=(said,))
            self._thread.start()

    def wait(self) -> None:
        """Wait until the reply is written."""
        self._thread.join()

    def renew(self) -> None:
        """Begin a new conversation."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self.dialogue.begin()
        self.said.value = ""
        self._draw()

    def _button(self, name: str, press: Callable[[], object]) -> Any:
        import ipywidgets as widgets

        button = widgets.Button(description=name)
        button.on_click(lambda _: press())
        return button

    def _write(self, said: str) -> None:
        written = ""
        self.said.value = ""
        try:
            for new in self.dialogue.reply(said, self._stop.is_set):
                written += new
                self._draw(written)
        except Exception as error:  # in a thread nobody else would see it
            self.said.value = html.escape(str(error))
        self._draw()

    def _change(self, name: str, text: str) -> None:
        try:
            self.dialogue.settings = changed(self.dialogue.settings, name, text)
        except ValueError as error:
            self.said.value = html.escape(str(error))
            self.settings[name].value = str(getattr(self.dialogue.settings, name))
        else:
            self._draw()

    def _draw(self, writing: str = "") -> None:
        said = [f"{one['role']}> {one['content']}" for one in self.dialogue.messages]
        said += [f"assistant> {writing}"] * bool(writing)
        self.shown.value = _preformatted("\n\n".join(said))
        self.template.value = _preformatted(self.dialogue.template())


def _preformatted(text: str) -> str:
    return f'<pre style="white-space:pre-wrap">{html.escape(text)}</pre>'
