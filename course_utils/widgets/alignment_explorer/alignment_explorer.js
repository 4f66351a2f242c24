// Where a model looked for each character it wrote, without a kernel: controls and picture.
import { button, choice, div, fill, folded, make, say, scroll, shell, spoken, watch, widget } from "../shared.js";
import { rove } from "../rove.js";
import { task } from "../task.js";
import { inside, largest, partAt, pieces, rowsOf, sentence, shown, signs } from "./alignment_explorer_words.js";

export default widget(["score", "date"], ({ model, write }) => {
  let view,
    hovered = null;

  const choose = (name, label, names) =>
    choice(label, (_, index) => write({ [name]: index }), [...names.entries()]);
  const sources = model.get("sources");
  const score = choose("score", "Score", model.get("scores"));
  const date = choose("date", "Date", sources.map((source) => `${source.locale}: \u2068${source.text}\u2069`));
  const native = make("p", { className: "acw-native", dir: "auto" });
  const source = make("div", { className: "acw-source", "aria-hidden": "true", dir: "ltr" });
  const target = make("div", {
    className: "acw-target",
    dir: "ltr",
    role: "group",
    "aria-label": "Written characters. Arrow keys move from one to the next.",
  });
  const readout = spoken("acw-readout");
  const goal = task("find a character with less than half of its weight on its own part of the date.");
  const table = make("table");
  const details = folded("Every character, as a table", scroll("Every character", table));
  details.addEventListener("toggle", fillTable);
  const step = (words, by) =>
    button(words, () => write({ date: (model.get("date") + by + sources.length) % sources.length }));
  const root = shell("alignment", "Alignments of dates",
    div("acw-bar", score.field, date.field, step("Previous", -1), step("Next", 1)),
    make("p", { className: "acw-head", textContent: "It read this; below, character by character in reading order" }),
    native,
    source,
    make("p", { className: "acw-head", textContent: "It wrote: point at a character, or use the arrow keys" }),
    target,
    readout,
    goal.line,
    details,
  );

  /** Another score or date. */
  function load() {
    const [s, d] = [model.get("score"), model.get("date")];
    const data = model.get("data");
    const bytes = new Uint8Array(data.buffer ?? data, data.byteOffset ?? 0, data.byteLength);
    const written = model.get("written");
    view = { source: sources[d], text: written[s][d], rows: rowsOf(bytes, sources, written, s, d) };
    score.select.selectedIndex = s;
    date.select.selectedIndex = d;
    native.textContent = view.source.text;
    native.lang = view.source.locale.replace("_", "-");
    const all = signs(view.source.text);
    view.cells = all.map((sign) =>
      make("span", { className: "acw-sign" }, make("b"), make("i", {}), make("span", { textContent: shown(sign) })),
    );
    view.pieces = pieces(view.source);
    view.boxes = view.pieces.map(({ name, start, end }) =>
      make("span", { className: name ? "acw-field" : "acw-gap" },
        make("span", { className: "acw-signs" }, ...view.cells.slice(start, end)),
        make("small", { textContent: name ?? "" }),
      ),
    );
    source.replaceChildren(...view.boxes);
    target.replaceChildren(
      ...signs(view.text).map((sign, place) => {
        const wrong = sign !== view.source.iso[place];
        return make("button", {
          type: "button",
          className: wrong ? "wrong" : "",
          textContent: sign,
          "aria-label": `${sign}${partAt(place) ? `, ${partAt(place)}` : ", hyphen"}${wrong ? ", wrong" : ""}`,
          onpointerenter: (event) => event.pointerType !== "touch" && point((hovered = place)),
          onpointerleave: () => point((hovered = null)),
          onfocus: () => settle(place),
          onclick: () => settle(place),
        });
      }),
    );
    hovered = null;
    point();
    fillTable();
  }

  function settle(place) {
    hovered = null;
    if (place !== model.get("place")) write({ place });
    point();
  }

  /** Light the source up for the character pointed at, else for the chosen one. */
  function point() {
    const place = Math.min(hovered ?? model.get("place"), view.rows.length - 1);
    if (place < 0) return;
    const row = view.rows[place];
    view.cells.forEach((cell, i) => {
      cell.children[0].textContent = row[i] >= 5 ? row[i] : "";
      cell.style.setProperty("--n", row[i]);
    });
    const part = partAt(place);
    view.boxes.forEach((box, i) => box.classList.toggle("here", view.pieces[i].name === part && part !== null));
    [...target.children].forEach((button, i) => {
      button.setAttribute("aria-pressed", String(i === place));
      button.tabIndex = i === place ? 0 : -1;
    });
    say(readout, sentence(view.source, view.text, view.rows, place, model.get("scores")[model.get("score")]));
    goal.met(hovered === null && part !== null && inside(row, view.source.spans[part]) < 50);
  }

  function fillTable() {
    if (!details.open) return;
    const all = signs(view.source.text);
    const rows = view.rows.map((row, place) => {
      const part = partAt(place);
      const shares = largest(row, 3).map((i) => `\u2068${shown(all[i])}\u2069 ${row[i]}`);
      return [signs(view.text)[place], part ?? "–", shares.join(", "), part ? inside(row, view.source.spans[part]) : "–"];
    });
    fill(table, "Weights in percent", ["wrote", "part", "largest shares", "inside its part"], rows);
  }

  rove(target, ["ArrowLeft", "ArrowRight"], () => [...target.children]);

  return { root, update: load, begin: () => [watch(model, ["place"], () => point())] };
});
