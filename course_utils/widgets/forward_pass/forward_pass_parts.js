// Parts of the widget: a plot of cells, a stepper, a scale of colours, and lists with bars.
import { cellAt, steer } from "../cells.js";
import { fill, make, svg, uniqueId, cividis } from "../shared.js";
import { lensAt, upTo } from "./forward_pass_numbers.js";
import { layerOf, lensStates } from "./forward_pass_picture.js";
import { barRows, chance, quoted } from "./forward_pass_words.js";

/** A drawing of cells that follows the pointer and the keys. */
export function plot(words, { grid, chosen, choose, hover }) {
  const drawing = svg("acw-drawing");
  const box = make("div", { className: "acw-plot", tabIndex: 0, role: "application", "aria-roledescription": "grid of cells", "aria-label": `${words}. Arrow keys move.` }, drawing);
  const under = ({ clientX, clientY }) => {
    const { left, top } = drawing.getBoundingClientRect();
    const { left: before, top: above, rows, columns, cellWidth, cellHeight } = grid();
    const [x, y] = [clientX - left - before, clientY - top - above];
    if (x < 0 || y < 0 || x >= columns * cellWidth || y >= rows * cellHeight) return null;
    return cellAt(x / cellWidth, y / cellHeight, { rows, columns, cellWidth: 1, cellHeight: 1 });
  };
  steer(box, { under: (event) => grid() && under(event), size: () => [grid().rows, grid().columns], chosen, choose, hover });
  const draw = (inside) => {
    const { wide, high } = grid();
    drawing.setAttribute("width", wide);
    drawing.setAttribute("height", high);
    drawing.innerHTML = inside;
  };
  return { box, draw };
}

/** Two buttons around a number. @param {(by: number) => void} moved */
export function stepper(name, moved) {
  const id = uniqueId();
  const one = (textContent, by) => make("button", { type: "button", textContent, "aria-label": `${name} ${by < 0 ? "down" : "up"}`, onclick: () => moved(by) });
  const [down, up] = [one("−", -1), one("+", 1)];
  const output = make("output", { id });
  const field = make("div", { className: "acw-step", role: "group", "aria-label": name }, make("span", { textContent: name }), down, output, up);
  const show = (value, count, more = "") => {
    output.textContent = `${value} ${more}`.trim();
    down.disabled = value === 0;
    up.disabled = value === count - 1;
  };
  return { field, show };
}

/** What the colours mean. */
export function scale() {
  const stops = upTo(9).map((i) => `rgb(${cividis(i / 8)})`);
  const strip = make("i", { style: `background: linear-gradient(to right, ${stops.join(", ")})`, "aria-hidden": "true" });
  return make("p", { className: "acw-scale" }, "0", strip, "1 (entropy: its most)");
}

const bar = (className, p) => make("span", { className, style: `width: ${(100 * p).toFixed(1)}%` });

/** The next words with their bars; below each what it comes to without a head. */
export function barList(table, prompt, position, after) {
  const rows = barRows(prompt, position, after);
  const head = ["word", "", ...(after ? ["before", "without"] : ["probability"])];
  table.classList.toggle("both", !!after);
  fill(table, "", head, rows.map((row) => [
    quoted(row.word),
    make("span", { className: "track" }, bar("was", row.chance), ...(after ? [bar("now", row.after)] : [])),
    chance(row.chance),
    ...(after ? [chance(row.after)] : []),
  ]));
}

/** The lens at one position: after each layer the likeliest word. */
export function lensList(table, prompt, { layer, position }, unfolded) {
  const states = lensStates(prompt.layers, unfolded);
  const lines = fill(table, "", ["layer", "word", "", "probability"], states.map((state) => {
    const [best] = lensAt(prompt, state, position).words;
    return [layerOf(state), quoted(best.word), make("span", { className: "track" }, bar("was", best.chance)), chance(best.chance)];
  }));
  lines.forEach((line, i) => line.classList.toggle("chosen", states[i] === layer + 1));
}
