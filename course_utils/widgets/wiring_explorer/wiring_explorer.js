// Choose a wiring: its blocks, its masks, and every input that reaches an output through all layers.
import { slider } from "../inputs.js";
import { choice, depict, div, fill, folded, make, note, picture, say, scroll, shell, spoken, svg, widget } from "../shared.js";
import { rove } from "../rove.js";
import { tabs } from "../tabs.js";
import { task } from "../task.js";
import { WIRINGS, chosenPlace, formulas, masks, parts, paths, places, reach, sentence } from "./wiring_explorer_reach.js";
import { columnOf, columns, drawLayers, litPlaces } from "./wiring_explorer_picture.js";
import { blockWords, drawBlocks } from "./wiring_explorer_blocks.js";

const TRAITS = [
  "wiring", "pre_norm", "num_layers", "num_source", "num_target", "pads", "window", "source", "target", "side", "place", "view",
];
const ORDERS = [["pre", "pre-norm: norm, part, add"], ["post", "post-norm: part, add, norm"]];
const VIEWS = { blocks: "Blocks", masks: "Masks", paths: "Paths" };
const SHOWN = { order: ["blocks"], num_layers: ["blocks", "paths"], pads: ["masks", "paths"], window: ["masks", "paths"] };

export default widget(TRAITS, ({ model, write, read }) => {
  const wiring = choice("wiring", (wiring) => write({ wiring }), Object.entries(WIRINGS));
  const order = choice("order", (value) => write({ pre_norm: value === "pre" }), ORDERS);
  const sizes = {
    num_layers: ["layers", 1, 6],
    pads: ["padding", 0, model.get("source").length],
    window: ["window", 0, 6],
    num_source: ["source tokens", 1, model.get("source").length],
    num_target: ["target tokens", 1, model.get("target").length],
  };
  const sliders = Object.entries(sizes).map(([name, [words, min, max]]) => {
    const made = slider(words, { min, max }, (value) => write({ [name]: value }));
    return { name, ...made };
  });
  const fields = sliders.map(({ field }) => field);
  const said = spoken("acw-said");
  const outputs = make("div", { className: "acw-row acw-outputs", role: "group", "aria-label": "Outputs: choose one" });
  const layers = svg("acw-layers");
  const inputs = div("acw-row acw-inputs");
  const grids = div("acw-grids");
  const reached = make("div");
  const blocks = picture("0 0 1 1");
  const lines = div("acw-formulas");
  const counts = make("table");
  const goal = task("find, under Paths, a place that can see the very word that it writes.");
  const { list, panels, show } = tabs("What is shown", VIEWS, (view) => write({ view }), {
    blocks: [div("acw-both", make("figure", {}, blocks), lines)],
    masks: [note("A row is a query, a column a key: 1 where the query may look."), grids],
    paths: [
      said,
      note("Outputs of the last layer: choose one."),
      outputs, layers, inputs,
      note("Inputs. Filled circles and bold words reach the output; lines show where the paths run, dashed ones over the memory."),
      folded("Reach of every output, and paths from each input", scroll("Reach", reached), counts),
    ],
  });
  const root = shell("wiring", "Wiring explorer",
    list,
    div("acw-controls acw-rows", ...[wiring, order].map(({ field }) => field), ...fields.slice(0, 3)),
    ...panels,
    goal.line,
    folded("More settings", div("acw-controls acw-rows", ...fields.slice(3))),
  );

  const current = () => {
    const view = read();
    return { ...view, pads: Math.min(view.pads, view.num_source) };
  };
  const choose = (view, j) => {
    const isSource = j < view.num_source;
    write({ side: isSource ? "source" : "target", place: isSource ? j : j - view.num_source });
  };

  let shape;
  const buttons = [];
  /** Other places: new buttons, in the picture's columns. */
  function build(view, names) {
    outputs.style.gridTemplateColumns = inputs.style.gridTemplateColumns = `repeat(${columns(view)}, minmax(0, 1fr))`;
    const column = (j) => `${columnOf(view, j) + 1}`;
    buttons.splice(0, buttons.length, ...names.inputs.map((word, j) => {
      const label = names.outputs[j] ? `output ${names.outputs[j]}` : `place of ${word}`;
      const onclick = () => choose(current(), j);
      const button = make("button", { type: "button", "aria-label": `${label} (${j})`, onclick },
        make("span", { textContent: names.outputs[j] || `(${word})` }));
      button.style.gridColumn = column(j);
      return button;
    }));
    outputs.replaceChildren(...buttons);
    inputs.replaceChildren(...names.inputs.map((textContent, j) => {
      const word = make("span", { textContent });
      word.style.gridColumn = column(j);
      return word;
    }));
  }

  function grid(caption, rows, head, mask, here) {
    const span = (textContent) => make("span", { textContent });
    const made = make("table");
    const cells = mask.map((row, i) => [span(rows[i]), ...row.map(Number)]);
    fill(made, caption, ["", ...head.map(span)], cells).forEach((row, i) => {
      row.classList.toggle("here", i === here);
      row.querySelectorAll("td").forEach((cell, j) => (cell.className = mask[i][j] ? "seen" : "hidden"));
    });
    made.style.setProperty("--columns", head.length);
    return made;
  }

  function update() {
    const view = current();
    const names = places(view);
    const now = JSON.stringify([names, columns(view)]);
    if (now !== shape) build(view, names);
    shape = now;
    show(view.view);
    for (const [name, { field }] of Object.entries({ order, ...Object.fromEntries(sliders.map((one) => [one.name, one])) }))
      field.hidden = Boolean(SHOWN[name]) && !SHOWN[name].includes(view.view);
    wiring.select.value = view.wiring;
    order.select.value = view.pre_norm ? "pre" : "post";
    for (const { name, input, show } of sliders) {
      if (name === "pads") input.max = view.num_source;
      show(view[name], name === "window" && !view.window ? "none" : view[name]);
    }
    say(said, sentence(view));
    const chosen = chosenPlace(view);
    buttons.forEach((button, j) => button.setAttribute("aria-pressed", String(j === chosen)));
    const drawn = drawLayers(view);
    layers.setAttribute("viewBox", drawn.box);
    layers.innerHTML = drawn.inside;
    const lit = litPlaces(view)[0];
    [...inputs.children].forEach((word, j) => word.classList.toggle("on", lit[j]));
    grids.replaceChildren(...masks(view).map(({ name, rows, columns: from, mask }) =>
      grid(`Mask: ${name}`, names.inputs.slice(rows, rows + mask.length), names.inputs.slice(from, from + mask[0].length), mask, chosen - rows)));
    const ends = names.inputs.map((word, j) => names.outputs[j] || word);
    reached.replaceChildren(div("acw-grids", grid("Reach: outputs × inputs", ends, names.inputs, reach(view), chosen)));
    const diagram = drawBlocks(view);
    blocks.setAttribute("viewBox", diagram.box);
    depict(blocks, blockWords(view), diagram.inside);
    lines.replaceChildren(
      ...parts(view).flatMap(([label, kinds]) => [
        make("p", { textContent: label }),
        ...formulas(kinds, view.pre_norm).map((textContent) => make("p", { className: "line", textContent })),
      ]),
      note(view.pre_norm
        ? "After the last layer one more norm is needed: nothing has normalised the stream itself."
        : "The stream leaves every layer normalised: one more norm at the end would change nothing."),
    );
    const numbers = paths(view, chosen)[0];
    fill(counts, "A path stays or looks in every attention; staying counts once", ["input", "paths"], names.inputs.map((word, j) => [word, numbers[j]]));
    const sees = lit[chosen + 1] && names.outputs[chosen] && names.inputs[chosen + 1] === names.outputs[chosen];
    goal.met(view.view === "paths" && Boolean(sees));
  }

  rove(outputs, ["ArrowLeft", "ArrowRight"], () => buttons, (j) => choose(current(), j));

  return { root, update };
});
