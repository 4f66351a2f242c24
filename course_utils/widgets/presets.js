// Named settings as buttons.
import { button, make } from "./shared.js";

/** A row of buttons, one for each name; `show` marks the one in force, if any, and may say each in other words. */
export function presets(label, names, chosen) {
  const all = names.map((name) => button(name, () => chosen(name)));
  const show = (now, words = names) =>
    all.forEach((one, i) => {
      one.setAttribute("aria-pressed", String(names[i] === now));
      one.textContent = words[i];
    });
  return { field: make("div", { className: "acw-presets", role: "group", "aria-label": label }, ...all), show };
}
