// Numbers and switches that a reader sets.
import { make, uniqueId } from "./shared.js";

/** A box to tick, inside its label. @param {(isChecked: boolean) => void} changed */
export function check(words, changed) {
  const input = make("input", { type: "checkbox", onchange: () => changed(input.checked) });
  return { input, label: make("label", {}, input, words) };
}

/** A labelled slider of whole numbers; `show` moves it and says its value. @param {(value: number) => void} changed */
export function slider(words, range, changed) {
  const id = uniqueId();
  const input = make("input", { id, type: "range", step: 1, ...range, oninput: () => changed(+input.value) });
  const label = make("label", { for: id, textContent: words });
  const output = make("output", { htmlFor: id });
  const show = (value, shown = value, said = shown) => {
    input.value = value;
    output.textContent = shown;
    input.setAttribute("aria-valuetext", said);
  };
  return { input, output, label, show, field: make("div", { className: "acw-field" }, label, input, output) };
}
