// A heatmap of attention weights that lives without a kernel: its controls, and what they do.
import { format, make, uniqueId, watch, writer } from "./shared.js";
import { ranking } from "./heatmap_values.js";
import { naming, sentence, summary } from "./heatmap_words.js";
import { pairRows, pairSentence, pairSummary, shareMoved } from "./heatmap_pair.js";
import { kinds, look, mapName, spans, thumb, unpack } from "./heatmap_views.js";
import { cellAt, steer } from "./heatmap_moves.js";
import { GAP, layout, svgFile } from "./heatmap_picture.js";
import { choice, fill, offer, onWidth } from "./heatmap_parts.js";
import { paint, panel } from "./heatmap_panel.js";
import { fileName, savePng, saveSvg } from "./heatmap_files.js";

const THUMB = 68;

function render({ model, el }) {
  const id = uniqueId();
  const write = writer(model);
  const get = (name) => model.get(name);
  let held,
    seen,
    hovered = null;

  const title = make("p", { className: "acw-title" });
  const layers = choice(`${id}-layer`, "Layer", (select) => write({ layer: select.selectedIndex }));
  const view = choice(`${id}-view`, "View", (select) => write({ view: select.value }));
  const partner = choice(`${id}-partner`, "Compared with", ({ selectedIndex }) =>
    write({ partner: [Math.floor(selectedIndex / held.shape[1]), selectedIndex % held.shape[1]] }),
  );
  const colours = choice(`${id}-colours`, "Colours", (select) => write({ color_range: select.value }));
  const heads = make("div", { className: "acw-heads" });
  const headField = make("fieldset", {}, make("legend", { textContent: "Head" }), heads);
  const readout = make("p", { className: "acw-readout", id: `${id}-readout`, "aria-live": "polite" });
  const panels = [panel(), panel()];
  const plot = make("div", {
    className: "acw-plot",
    tabIndex: 0,
    role: "application",
    "aria-roledescription": "heatmap",
    "aria-describedby": `${id}-readout`,
  });
  const said = make("p", { className: "acw-note" });
  const table = make("table");
  const asTable = make("summary");
  const details = make("details", { ontoggle: () => fillTable() }, asTable, table);
  const file = () => {
    const images = seen.views.map(({ values }, i) => (values.length > 4096 ? panels[i].image() : null));
    return svgFile(seen.views, seen.title, images);
  };
  const button = (textContent, save) =>
    make("button", { type: "button", textContent, onclick: () => save(file(), fileName(seen.title)) });
  const bar = make("div", { className: "acw-bar" });
  bar.append(layers.field, view.field, partner.field, colours.field);
  bar.append(button("Save PNG", savePng), button("Save SVG", saveSvg));
  const figure = make("div", { className: "acw-figure" }, plot, readout);
  const main = make("div", { className: "acw-main" }, figure, headField);
  const root = make(
    "div",
    { className: "acw acw-heatmap", role: "group", "data-lm-suppress-shortcuts": "true" },
    title,
    bar,
    main,
    details,
    said,
  );

  /** New data: decode, and make the controls that fit it. */
  function load() {
    held = unpack(get);
    const [depth, count] = held.shape;
    title.textContent = get("title");
    title.hidden = !get("title");
    root.setAttribute("aria-label", get("title") || "Heatmap");
    offer(layers, get("layer_names").map((name, layer) => [layer, name]));
    offer(
      partner,
      Array.from({ length: depth * count }, (_, i) => [i, mapName(get, Math.floor(i / count), i % count)]),
    );
    offer(view, kinds(get, held));
    headField.hidden = count < 2;
    heads.replaceChildren(
      ...get("head_names").map((name, head) => {
        const input = make("input", { type: "radio", name: `${id}-head`, onchange: () => write({ head }) });
        return make("label", {}, make("canvas", { "aria-hidden": "true" }), make("span", {}, input, ` ${name}`));
      }),
    );
    show();
  }

  /** Another head, layer, comparison or span of colours. */
  function show() {
    seen = look(get, held);
    const { kind, isPair, first, second, apart, views, range, there } = seen;
    layers.select.selectedIndex = get("layer");
    view.select.value = kind;
    partner.field.hidden = !isPair || held.stacks.length > 1;
    partner.select.selectedIndex = there[0] * held.shape[1] + there[1];
    offer(colours, spans(get, held));
    colours.select.value = range.mode;
    main.classList.toggle("two", kind === "side");
    plot.setAttribute("aria-label", `${seen.title || "Weights"}. Arrow keys move from cell to cell.`);
    asTable.textContent = `Largest ${isPair ? "differences " : ""}of this row, as a table`;
    const moved = isPair && held.isWeights ? shareMoved(first.values, second.values, first.columns) : null;
    said.textContent = isPair
      ? pairSummary(first, second, apart, moved)
      : summary(views[0], held.shape[1], [seen.headName, views[0].name].filter(Boolean).join(", "));
    const span = `${format(range.low)} to ${format(range.high)}`;
    if (!held.isWeights) said.append(` Values reach outside 0 to 1: the colours span ${span}.`);
    heads.querySelectorAll("label").forEach((label, head) => {
      label.querySelector("input").checked = head === get("head");
      if (held.shape[1] > 1) paint(label.querySelector("canvas"), thumb(get, held, head), THUMB, THUMB);
    });
    plot.replaceChildren(...views.map((_, i) => panels[i].map));
    fit();
  }

  /** Another width. */
  function fit() {
    const room = figure.clientWidth || 560;
    const at = (width, { rowLabels, columnLabels, name }) => layout(width, rowLabels, columnLabels, Boolean(name));
    const half = Math.floor((room - GAP) / 2);
    const beside = seen.views.length > 1 && at(half, seen.views[0]).width <= half;
    seen.views.forEach((one, i) => {
      one.at = at(beside ? half : room, one);
      panels[i].draw(one);
    });
    point();
  }

  /** Put the cross and the readout on the cell under the pointer, else on the chosen one. */
  function point() {
    const { isPair, first, second, views } = seen;
    const [row, column] = hovered ?? get("cell");
    views.forEach((_, i) => panels[i].point(row, column));
    const now = isPair ? pairSentence(first, second, row, column) : sentence(views[0], row, column);
    if (readout.textContent !== now) readout.textContent = now;
    if (details.open) fillTable();
  }

  function fillTable() {
    const { isPair, first, second, apart, views } = seen;
    const { values, columns, queries, keys, weights } = views[0];
    const [row] = hovered ?? get("cell");
    const caption = `query ${naming(queries, row)}`;
    if (isPair) {
      fill(table, caption, ["key", first.name, second.name, "difference"], pairRows(first, second, apart, row, 8));
      return;
    }
    const best = ranking(values, row, columns, 8);
    const rows = best.map((c) => [naming(keys, c), format(values[row * columns + c])]);
    fill(table, caption, ["key", weights ? "weight" : "value"], rows);
  }

  steer(plot, {
    under: (event) => {
      const i = seen.views.length > 1 && panels[1].map.contains(event.target) ? 1 : 0;
      const box = panels[i].canvas.getBoundingClientRect();
      return cellAt(event.clientX - box.left, event.clientY - box.top, seen.views[i].at);
    },
    size: () => held.shape.slice(2),
    chosen: () => get("cell"),
    choose: (cell) => write({ cell }),
    hover: (cell) => {
      hovered = cell;
      point();
    },
  });

  el.append(root);
  load();
  const given = ["data", "shape", "pair_names", "query_tokens", "key_tokens", "title", "head_names", "layer_names"];
  const stops = [
    watch(model, given, load),
    watch(model, ["head", "layer", "color_range", "view", "partner"], show),
    watch(model, ["cell"], () => point()),
    onWidth(figure, () => fit()),
  ];
  return () => {
    stops.forEach((stop) => stop());
    root.remove();
  };
}

export default { render };
