// One small task inside a widget, and its tick.
import { make } from "./shared.js";

/** A line with a task; call `met` with whether the widget now shows what is asked. Once ticked it stays ticked. */
export function task(words) {
  const sign = make("span", { textContent: "○", "aria-hidden": "true" });
  const done = make("strong", { "aria-live": "polite" });
  const line = make("p", { className: "acw-task" }, sign, make("span", { textContent: `Try: ${words}` }), done);
  const met = (isMet) => {
    if (!isMet || done.textContent) return;
    line.classList.add("done");
    sign.textContent = "✓";
    done.textContent = "Done.";
  };
  return { line, met };
}
