// Views of a widget, one at a time.
import { make, uniqueId } from "./shared.js";

/**
 * A list of tabs, and a panel below it for each; `show` opens one. @param {Object<string, string>} views names and words
 * @param {(view: string) => void} chosen @param {Object<string, Node[]>} contents what each panel holds
 */
export function tabs(label, views, chosen, contents) {
  const id = uniqueId();
  const names = Object.keys(views);
  const beside = { ArrowLeft: -1, ArrowRight: 1 };
  const all = names.map((view, i) =>
    make("button", {
      type: "button", id: `${id}-tab-${view}`, role: "tab", textContent: views[view], "aria-controls": `${id}-${view}`,
      onclick: () => chosen(view),
      onkeydown(event) {
        const to = all[(i + (beside[event.key] ?? 0) + names.length) % names.length];
        if (to === all[i]) return;
        event.preventDefault();
        to.click();
        to.focus();
      },
    }),
  );
  const panels = names.map((view) =>
    make("div", { id: `${id}-${view}`, role: "tabpanel", "aria-labelledby": `${id}-tab-${view}` }, ...contents[view]),
  );
  const show = (open) =>
    names.forEach((view, i) => {
      all[i].setAttribute("aria-selected", String(view === open));
      all[i].tabIndex = view === open ? 0 : -1;
      panels[i].hidden = view !== open;
    });
  return { list: make("div", { className: "acw-tabs", role: "tablist", "aria-label": label }, ...all), panels, show };
}
