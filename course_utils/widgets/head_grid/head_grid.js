// All heads of a layer side by side: one cell in all of them, heads on and off, without a kernel.
import { button, choice, div, figure, fill, folded, make, offer, onWidth, picture, say, scroll, shell, spoken, svg, uniqueId, watch, widget } from "../shared.js";
import { cellAt, steer } from "../cells.js";
import {
  colourRange, decode, extent, labels, largestInRow, mapOf, naming, percent, raster, textWidth,
} from "../heatmap/heatmap_values.js";
import { task } from "../task.js";
import { brief, cellSentence, gridLayout, offSentence, shares } from "./head_grid_values.js";
import { barDrawing, cross, legend, mapLabels } from "./head_grid_picture.js";

const DATA = ["data", "shape", "parts", "query_tokens", "key_tokens", "title", "head_names", "layer_names"];

export default widget(DATA, ({ model, write }) => {
  const id = uniqueId();
  let view,
    hovered = null;

  const title = make("p", { className: "acw-title" });
  const layers = choice("Layer", (_, layer) => write({ layer }));
  const switches = make("span", { className: "acw-switches" },
    button("All on", () => writeOff([])),
    button("All off", () => writeOff(view.heads.map((_, head) => head))),
  );
  const grid = make("div", {
    className: "acw-grid",
    tabIndex: 0,
    role: "application",
    "aria-roledescription": "grid of heads",
    "aria-describedby": `${id}-readout`,
  });
  const scale = svg("acw-legend");
  const readout = make("p", { className: "acw-readout", id: `${id}-readout`, "aria-live": "polite" });
  const said = spoken("acw-said");
  const bars = picture("0 0 0 0");
  const change = figure("How far each query's output moves", said, bars);
  const goal = task("switch off only the head that the chosen query needs most.");
  const table = make("table");
  const details = folded("This query in every head, as a table", scroll("Every head", table));
  details.addEventListener("toggle", fillTable);
  const root = shell("headgrid", "Heads side by side",
    title,
    div("acw-bar", layers.field, switches, scale),
    grid,
    readout,
    change,
    goal.line,
    details,
  );

  const cell = () => hovered ?? model.get("cell");
  const missing = () =>
    model
      .get("off")
      .filter(([layer]) => layer === model.get("layer"))
      .map(([, head]) => head)
      .sort((a, b) => a - b);
  function writeOff(heads) {
    const layer = model.get("layer");
    write({ off: [...model.get("off").filter((one) => one[0] !== layer), ...heads.map((h) => [layer, h])] });
  }
  function toggle(head) {
    const now = missing();
    writeOff(now.includes(head) ? now.filter((one) => one !== head) : [...now, head]);
  }

  /** New data: decode, and make one card for each head. */
  function load() {
    const shape = model.get("shape");
    const [, heads, rows, columns] = shape;
    const values = decode(model.get("data"), model.get("encoding"));
    const parts = decode(model.get("parts"), model.get("parts_encoding"));
    const [queries, keys, names] = [model.get("query_tokens"), model.get("key_tokens"), model.get("head_names")];
    const extents = extent(values);
    view = {
      shape,
      values,
      queries,
      keys,
      names,
      range: colourRange("auto", extents, extents),
      parts: parts.length ? parts : null,
      partsShape: [...shape.slice(0, 3), parts.length / (shape[0] * heads * rows)],
      rowLabels: labels(queries, rows),
      columnLabels: labels(keys, columns),
    };
    view.heads = names.map((name, head) => card(name, head));
    grid.replaceChildren(...view.heads.map((one) => one.card));
    title.textContent = model.get("title");
    title.hidden = !model.get("title");
    root.setAttribute("aria-label", model.get("title") || "Heads side by side");
    offer(layers, model.get("layer_names").map((name, layer) => [layer, name]));
    switches.hidden = change.hidden = goal.line.hidden = !view.parts;
    scale.innerHTML = legend(view.range);
    grid.setAttribute(
      "aria-label",
      `${heads} heads, ${rows} queries by ${columns} keys. Arrow keys move one cell in all heads.`,
    );
    show();
  }

  function card(name, head) {
    const canvas = make("canvas");
    const marks = svg("acw-marks");
    const map = make("div", { className: "acw-map", "aria-hidden": "true" }, canvas, marks);
    const state = make("span", { className: "acw-state", "aria-hidden": "true" });
    const value = div("acw-value");
    const press = { type: "button", onclick: () => toggle(head) };
    const button = view.parts ? make("button", press, name, state) : make("b", {}, name);
    return { canvas, marks, map, state, value, button, card: div("acw-card", div("acw-head", button), map, value) };
  }

  /** Another layer. */
  function show() {
    const [, , rows, columns] = view.shape;
    layers.select.selectedIndex = model.get("layer");
    view.maps = view.heads.map((_, head) => mapOf(view.values, view.shape, model.get("layer"), head));
    view.heads.forEach(({ canvas }, head) => {
      // One pixel a cell, enlarged by the browser; very large maps keep the largest of a few cells.
      [canvas.width, canvas.height] = [Math.min(columns, 512), Math.min(rows, 512)];
      const pixels = raster(view.maps[head], rows, columns, canvas.height, canvas.width, view.range);
      canvas.getContext("2d")?.putImageData(new ImageData(pixels, canvas.width, canvas.height), 0, 0);
    });
    fit();
    turn();
  }

  /** Another width. */
  function fit() {
    const [, heads, rows, columns] = view.shape;
    const widest = Math.max(...view.rowLabels.map(textWidth));
    view.at = gridLayout(grid.clientWidth || 640, heads, rows, columns, widest * 0.92 + 8);
    const { across, card, left, w, h } = view.at;
    const top = Math.min(64, Math.max(...view.columnLabels.map(textWidth)) * 0.92 + 6);
    view.at.top = top;
    grid.style.gridTemplateColumns = `repeat(${across}, ${card}px)`;
    const drawn = mapLabels(view);
    for (const { canvas, marks, map } of view.heads) {
      Object.assign(canvas.style, { left: `${left}px`, top: `${top}px`, width: `${w}px`, height: `${h}px` });
      map.style.height = `${top + h}px`;
      marks.setAttribute("width", card);
      marks.setAttribute("height", top + h);
      marks.innerHTML = `${drawn}<g class="cross"></g>`;
    }
    point();
    drawBars();
  }

  /** Put the cross and the words on the cell under the pointer, else on the chosen one. */
  function point() {
    const [row, column] = cell();
    const at = view.maps.map((map) => map[row * view.shape[3] + column]);
    const drawn = cross(view, row, column);
    view.heads.forEach(({ marks, value }, head) => {
      marks.lastElementChild.innerHTML = drawn;
      value.textContent = brief(at[head]);
    });
    say(readout, cellSentence(at, view.names, view.queries, view.keys, [row, column]));
    bars.querySelectorAll("[data-query]").forEach((bar, query) => bar.classList.toggle("here", query === row));
    if (details.open) fillTable();
  }

  /** Heads went on or off. */
  function turn() {
    const gone = missing();
    view.heads.forEach(({ card, button, state }, head) => {
      const isOff = gone.includes(head);
      card.classList.toggle("off", isOff);
      if (!view.parts) return;
      button.setAttribute("aria-pressed", String(!isOff));
      state.textContent = isOff ? "off" : "on";
    });
    if (!view.parts) return;
    view.far = shares(view.parts, view.partsShape, model.get("layer"), gone);
    said.textContent = offSentence(gone, view.names, view.far, view.queries);
    bars.setAttribute("aria-label", said.textContent);
    drawBars();
    reward();
    if (details.open) fillTable();
  }

  /** Tick the task if one head is off and the chosen query's output moves most without it. */
  function reward() {
    const gone = missing();
    if (!view.parts || gone.length !== 1 || view.heads.length < 2) return;
    const [row] = model.get("cell");
    const moved = view.heads.map((_, head) => shares(view.parts, view.partsShape, model.get("layer"), [head])[row]);
    goal.met(moved[gone[0]] === Math.max(...moved));
  }

  function drawBars() {
    if (!view.parts || !view.far) return;
    const drawn = barDrawing(grid.clientWidth || 640, view.far, view.rowLabels, !view.queries);
    bars.setAttribute("viewBox", `0 0 ${drawn.width} ${drawn.height}`);
    bars.setAttribute("width", drawn.width);
    bars.setAttribute("height", drawn.height);
    bars.innerHTML = drawn.inside;
    bars.querySelectorAll("[data-query]").forEach((bar, q) => bar.classList.toggle("here", q === cell()[0]));
  }

  function fillTable() {
    if (!details.open) return;
    const [row, column] = cell();
    const [columns, layer] = [view.shape[3], model.get("layer")];
    const gone = missing();
    const head = ["head", `weight on ${naming(view.keys, column)}`, "looks most at"];
    const line = (name, i) => {
      const best = largestInRow(view.maps[i], row, columns);
      const most = best === null ? "–" : `${naming(view.keys, best)}, ${brief(view.maps[i][row * columns + best])}`;
      const own = [name, brief(view.maps[i][row * columns + column]), most];
      if (!view.parts) return own;
      const alone = shares(view.parts, view.partsShape, layer, [i])[row];
      return [...own, percent(alone), gone.includes(i) ? "off" : "on"];
    };
    if (view.parts) head.push("output moves without it by", "now");
    fill(table, `query ${naming(view.queries, row)}`, head, view.names.map(line));
  }

  steer(grid, {
    under: (event) => {
      const here = view.heads.find(({ map }) => map.contains(event.target));
      if (!here) return null;
      const box = here.canvas.getBoundingClientRect();
      return cellAt(event.clientX - box.left, event.clientY - box.top, view.at);
    },
    size: () => view.shape.slice(2),
    chosen: () => model.get("cell"),
    choose: (cell) => write({ cell }),
    hover: (at) => {
      hovered = at;
      point();
    },
  });

  const begin = () => [
    watch(model, ["layer"], show),
    watch(model, ["off"], turn),
    watch(model, ["cell"], () => (point(), reward())),
    onWidth(grid, () => fit()),
  ];
  return { root, update: load, begin };
});
