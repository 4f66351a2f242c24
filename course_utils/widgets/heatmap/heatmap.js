// A heatmap of attention weights that lives without a kernel: what it shows, its controls, and what they do.
import { button, choice, div, fill, format, make, offer, onWidth, say, shell, uniqueId, watch, widget } from "../shared.js";
import { cellAt, steer } from "../cells.js";
import { task } from "../task.js";
import {
  colourRange, decode, difference, extent, labels, mapOf, naming, pairRows, pairSentence, pairSummary, ranking, sentence,
  shareMoved, signedRange, summary,
} from "./heatmap_values.js";
import { GAP, layout, paint, panel, svgFile } from "./heatmap_picture.js";

const THUMB = 68;
const DATA = ["data", "shape", "pair_names", "query_tokens", "key_tokens", "title", "head_names", "layer_names"];

/** The stacks in the data, one or two, and how far all their values and their differences reach. */
function unpack(get) {
  const shape = get("shape");
  const all = decode(get("data"), get("encoding"));
  const size = shape.reduce((product, n) => product * n);
  const stacks = get("pair_names").length ? [all.subarray(0, size), all.subarray(size)] : [all];
  const extents = extent(all);
  const apart = stacks[1] ? extent(difference(...stacks)) : null;
  return { shape, stacks, extents, apart, isWeights: extents.low >= 0 && extents.high <= 1 };
}

/** The name of a map by its layer and head, as far as there are several. */
function mapName(get, layer, head) {
  const [layers, heads] = get("shape");
  return [layers > 1 && get("layer_names")[layer], heads > 1 && get("head_names")[head]].filter(Boolean).join(", ");
}

/** The maps on show, their colours and their title, by what the reader chose. */
function look(get, held) {
  const { shape, stacks, isWeights } = held;
  const [kind, names] = [get("view"), get("pair_names")];
  const here = [get("layer"), get("head")];
  const there = stacks[1] ? here : get("partner");
  const [queries, keys] = [get("query_tokens"), get("key_tokens")];
  const [rows, columns] = shape.slice(2);
  const common = {
    rows, columns, queries, keys,
    rowLabels: labels(queries, rows),
    columnLabels: labels(keys, columns),
    weights: isWeights,
  };
  const headName = mapName(get, ...here);
  const first = { ...common, values: mapOf(stacks[0], shape, ...here), name: names[0] ?? headName };
  const partner = names[1] ?? mapName(get, ...there);
  const second = { ...common, values: mapOf(stacks.at(-1), shape, ...there), name: partner };
  const isPair = kind === "side" || kind === "difference";
  const apart = isPair ? difference(first.values, second.values) : null;
  const less = { ...first, values: apart };
  const maps = { first: [first], second: [second], side: [first, second], difference: [less] }[kind];
  const range = rangeOf(get, held, maps.map(({ values }) => extent(values)));
  const between = `${second.name} − ${first.name}`;
  const shown = { side: `${first.name} and ${second.name}`, difference: between }[kind] ?? maps[0].name;
  const named = (map) => (kind === "side" ? map.name : isPair || stacks[1] ? shown : "");
  const views = maps.map((map) => ({ ...map, range, name: named(map) }));
  const of = stacks[1] ? [headName, shown] : [shown];
  const title = [get("title"), ...of].filter(Boolean).join(" · ");
  return { kind, isPair, first, second, apart, views, range, there, headName, title };
}

function rangeOf(get, { extents, apart }, own) {
  const mode = get("color_range");
  const low = Math.min(...own.map((one) => one.low));
  const high = Math.max(...own.map((one) => one.high));
  if (get("view") !== "difference") return colourRange(mode, extents, { low, high });
  const alone = mode === "head" || !apart;
  return { ...signedRange(alone ? { low, high } : apart), mode: alone ? "head" : "all" };
}

/** A small picture of another head of the layer, in the colours of what is shown. */
function thumb(get, held, head) {
  const { shape, stacks } = held;
  const [a, b] = stacks.map((stack) => mapOf(stack, shape, get("layer"), head));
  const view = b ? get("view") : "first";
  const values = view === "difference" ? difference(a, b) : view === "second" ? b : a;
  const alike = (name) => (name === "view" ? view : get(name));
  return { values, rows: shape[2], columns: shape[3], range: rangeOf(alike, held, [extent(values)]) };
}

/** What the colours may span, each as a value and in words. */
function spans(get, { shape, stacks, isWeights }) {
  const several = shape[0] > 1 || shape[1] > 1;
  if (get("view") === "difference") {
    if (!stacks[1]) return [["head", "± largest"]];
    return [["all", "± largest of all"], several && ["head", "± largest of this head"]].filter(Boolean);
  }
  const all = ["all", isWeights ? "0 to largest of all" : "all the data"];
  const own = ["head", isWeights ? "0 to largest of this head" : "this head's data"];
  return [isWeights && ["unit", "0 to 1"], all, several && own].filter(Boolean);
}

/** The views there are to choose from, each as a value and in words. */
function kinds(get, { shape, stacks }) {
  const pair = [["side", "side by side"], ["difference", "difference"]];
  const [first, second] = get("pair_names");
  if (stacks[1]) return [...pair, ["first", first], ["second", second]];
  return shape[0] * shape[1] > 1 ? [["first", "one map"], ...pair] : [];
}

/** The largest value of each row; of a comparison, how far its two maps are apart there. */
function peaksOf({ isPair, apart, views }) {
  const { rows, columns, values } = views[0];
  const row = (i) => (isPair ? apart.map(Math.abs) : values).subarray(i * columns, (i + 1) * columns);
  return Array.from({ length: rows }, (_, i) => row(i).reduce((most, x) => Math.max(most, x), -Infinity));
}

// What is shown, saved as a file.
const asUrl = (svg) => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
const save = (href, name) => make("a", { href, download: name }).click();

const saveSvg = (svg, name) => save(asUrl(svg), `${name}.svg`);

async function savePng(svg, name) {
  const image = new Image();
  image.src = asUrl(svg);
  await image.decode();
  const canvas = make("canvas", { width: image.width * 2, height: image.height * 2 });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  save(canvas.toDataURL("image/png"), `${name}.png`);
}

/** A name that every file system takes. */
const fileName = (title) => (title || "heatmap").replace(/[^\p{L}\p{N}]+/gu, "-").toLowerCase();

export default widget(DATA, ({ model, write }) => {
  const id = uniqueId();
  const get = (name) => model.get(name);
  let held,
    seen,
    hovered = null;

  const title = make("p", { className: "acw-title" });
  const layers = choice("Layer", (_, layer) => write({ layer }));
  const view = choice("View", (view) => write({ view }));
  const partner = choice("Compared with", (_, index) =>
    write({ partner: [Math.floor(index / held.shape[1]), index % held.shape[1]] }),
  );
  const colours = choice("Colours", (color_range) => write({ color_range }));
  const heads = div("acw-heads");
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
  const goal = task("find the query whose largest value is the smallest of all.");
  const file = () => {
    const images = seen.views.map(({ values }, i) => (values.length > 4096 ? panels[i].image() : null));
    return svgFile(seen.views, seen.title, images);
  };
  const saving = (words, save) => button(words, () => save(file(), fileName(seen.title)));
  const bar = div("acw-bar");
  bar.append(layers.field, view.field, partner.field, colours.field);
  bar.append(saving("Save PNG", savePng), saving("Save SVG", saveSvg));
  const figure = div("acw-figure", plot, readout);
  const main = div("acw-main", figure, headField);
  const root = shell("heatmap", "Heatmap", title, bar, main, goal.line, details, said);

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
    seen.peaks = peaksOf(seen);
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
    goal.line.hidden = views[0].rows < 2;
    if (hovered === null) goal.met(views[0].rows > 1 && seen.peaks[row] === Math.min(...seen.peaks));
    say(readout, isPair ? pairSentence(first, second, row, column) : sentence(views[0], row, column));
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

  const begin = () => [
    watch(model, ["head", "layer", "color_range", "view", "partner"], show),
    watch(model, ["cell"], () => point()),
    onWidth(figure, () => fit()),
  ];
  return { root, update: load, begin };
});
