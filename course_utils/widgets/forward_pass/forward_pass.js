// A forward pass of a released model: all heads, the map of one, the lens and the next words; one choice for all.
import { decimal } from "../numbers.js";
import { check, slider } from "../inputs.js";
import { button, choice, div, fill, folded, make, note, offer, onWidth, say, scroll, shell, spoken, widget } from "../shared.js";
import { MEASURES, atlas, largest, rowOf, unpack, upTo, withoutFirst } from "./forward_pass_numbers.js";
import { atlasGrid, drawAtlas, drawLens, drawMap, headAt, lensGrid, mapGrid, placeOf } from "./forward_pass_picture.js";
import { barList, lensList, plot, scale, stepper } from "./forward_pass_parts.js";
import { task } from "../task.js";
import { liveParts } from "./forward_pass_live.js";
import {
  countSentence, headSentence, keySentence, lensSentence, quoted, restingSentence,
} from "./forward_pass_words.js";

const TRAITS = [
  "prompts", "prompt", "layer", "head", "position", "predicted", "measure", "times", "without_first", "asked", "removed", "without", "told",
];
const NARROW = 600;

export default widget(TRAITS, ({ model, write, read }) => {
  const [layers, heads, resting] = ["layers", "heads", "resting"].map((name) => model.get(name));
  const sizes = { layers, heads, ...model.get("packing") };
  const known = new Map(); // unpacked prompts, by what was packed
  let [prompt, key, hovered, unfolded, width, stopped] = [null, 0, {}, false, 0, false];
  let [atlasCells, mapCells, lensCells] = [null, null, null];

  const state = () => {
    const now = read();
    return { ...now, position: Math.min(now.position, now.prompts[now.prompt].tokens.length - 1) };
  };
  const chosen = choice("prompt", (i) => go({ prompt: +i }));
  const guess = choice("layer", () => {}, upTo(layers));
  const measure = choice("atlas", (name) => write({ measure: name }), Object.entries(MEASURES));
  const times = slider("only heads above", { min: 0, max: 10 }, (value) => write({ times: value }));
  const without = check("take the first token out", (without_first) => write({ without_first }));
  const every = check("all layers", (isChecked) => {
    unfolded = isChecked;
    update();
  });
  const steppers = {
    layer: stepper("layer", (by) => go({ layer: state().layer + by })),
    head: stepper("head", (by) => go({ head: state().head + by })),
    position: stepper("position", (by) => go({ position: state().position + by })),
  };
  const said = spoken("acw-said");
  const goal = task("find a head that puts more than half of its weight on the very token at the position.");
  const live = liveParts(model, write);

  /** Another choice; another prompt begins at its last position. */
  function go(changes) {
    key = 0;
    const { prompt: other } = changes;
    write(other === undefined ? changes : { ...changes, position: model.get("prompts")[other].tokens.length - 1 });
  }
  const hover = (name) => (cell) => {
    hovered = cell ? { [name]: cell } : {};
    speak(state());
  };

  const predict = div("acw-predict",
    "Predict first: a head rests if its queries put more than half of their weight on the first token. What is the first layer in which most heads rest?",
    div("", guess.field, button("Show the atlas", () => write({ predicted: +guess.select.value }))),
  );
  const answer = spoken("acw-answer");
  const controls = div("acw-bar acw-atlasbar", measure.field, times.field);
  const count = spoken("acw-count");

  const atlasPlot = plot("All heads", {
    grid: () => atlasCells,
    chosen: () => placeOf(atlasCells, state().layer, state().head),
    choose: (cell) => go(headAt(atlasCells, cell)),
    hover: hover("atlas"),
  });
  const mapPlot = plot("Map of the chosen head", {
    grid: () => mapCells,
    chosen: () => [state().position, key],
    choose: ([query, column]) => {
      write({ position: query });
      key = Math.min(column, query);
      update();
    },
    hover: (cell) => hover("map")(cell && cell[1] <= cell[0] ? cell : null),
  });
  const lensPlace = ([row, column]) => ({ layer: lensCells.states[row] - 1, position: lensCells.from + column });
  const lensPlot = plot("Lens: layers and positions", {
    grid: () => lensCells,
    chosen: () => {
      const { layer, position } = state();
      return [lensCells.states.findIndex((one) => one <= layer + 1), position - lensCells.from];
    },
    choose: (cell) => {
      const { layer, position } = lensPlace(cell);
      go({ layer: Math.max(0, layer), position });
    },
    hover: hover("lens"),
  });
  const [mapSaid, lensSaid] = [spoken("acw-readout"), spoken("acw-readout")];
  const [atlasName, mapName, lensName, barsName] = ["", "", "", ""].map(() => make("figcaption"));
  const [bars, list] = [make("table", { className: "acw-list" }), make("table", { className: "acw-list" })];
  const part = (className, ...inside) => make("figure", { className }, ...inside);
  const atlasFigure = part("acw-atlas", atlasName, atlasPlot.box);
  const views = div("acw-views",
    atlasFigure,
    part("acw-map", mapName, mapPlot.box, mapSaid, without.label),
    part("acw-next", barsName, bars, ...live.head),
  );
  const lens = part("acw-lens", lensName, lensPlot.box, list, lensSaid, every.label);
  const tables = [make("table"), make("table", { className: "acw-list" })];
  const details = folded("As tables", ...tables.map((table) => scroll("The chosen position", table)));
  details.addEventListener("toggle", update);
  const root = shell("forward", "A forward pass of a released model",
    div("acw-bar", chosen.field, ...live.text),
    predict,
    answer,
    controls,
    count,
    div("acw-bar", ...Object.values(steppers).map((one) => one.field)),
    said,
    goal.line,
    views,
    scale(),
    lens,
    note("All are counted from 0. Weights are rounded to 1/255. The lens puts the last norm and the output layer on a stream."),
    details,
  );

  /** Unpack the prompt on show, unless it is; then show it. */
  function found(packed) {
    if (known.has(packed.data)) return known.get(packed.data);
    known.set(packed.data, null);
    unpack(packed, sizes).then(
      (one) => {
        known.set(packed.data, one);
        if (!stopped) update();
      },
      (error) => say(said, `The numbers cannot be unpacked: ${error.message}`),
    );
    return null;
  }

  const rowAt = ({ layer, head, without_first }, query) => {
    const row = rowOf(prompt, layer, head, query);
    return without_first ? withoutFirst(row) : row;
  };

  /** What is said of the cells under the pointer, else of the chosen ones. */
  function speak(now) {
    if (!prompt) return;
    const at = { ...now, ...(hovered.atlas && headAt(atlasCells, hovered.atlas)) };
    say(said, headSentence(prompt, at, rowOf(prompt, at.layer, at.head, at.position)));
    const cell = hovered.map ?? [now.position, Math.min(key, now.position)];
    say(mapSaid, keySentence(prompt.tokens, cell, rowAt(now, cell[0]), now.without_first));
    say(lensSaid, lensSentence(prompt, hovered.lens ? lensPlace(hovered.lens) : now));
  }

  function draw(now) {
    const narrow = width < NARROW;
    atlasName.textContent = `All heads at position ${now.position}`;
    if (now.predicted >= 0) {
      const seen = atlas(prompt, now);
      atlasCells = atlasGrid(width, narrow, layers, heads);
      atlasPlot.draw(drawAtlas(atlasCells, seen, now));
      say(count, countSentence(seen, now));
    }
    mapName.textContent = `Layer ${now.layer}, head ${now.head}: queries down, keys across`;
    mapCells = mapGrid(width, narrow, prompt.tokens);
    const rows = prompt.tokens.map((_, query) => rowAt(now, query));
    mapPlot.draw(drawMap(mapCells, rows, prompt.tokens, [now.position, Math.min(key, now.position)]));
    lensName.textContent = narrow ? `Lens at position ${now.position}` : "Lens: after each layer, the likeliest word at each position";
    lensCells = lensGrid(width, prompt, now.position, unfolded);
    lensPlot.box.hidden = narrow;
    list.hidden = !narrow;
    if (narrow) lensList(list, prompt, now, unfolded);
    else lensPlot.draw(drawLens(lensCells, prompt, now));
  }

  function showTables(now) {
    const row = rowAt(now, now.position);
    const rows = largest(row).map(([i, w]) => [i, quoted(prompt.tokens[i]), decimal(w, 3)]);
    fill(tables[0], `Largest weights of layer ${now.layer}, head ${now.head}, query ${now.position}`, ["key", "token", "weight"], rows);
    lensList(tables[1], prompt, now, true);
  }

  function showControls(now) {
    if (chosen.select.length !== now.prompts.length) offer(chosen, now.prompts.map(({ name }, i) => [i, name]));
    chosen.select.value = now.prompt;
    measure.select.value = now.measure;
    times.show(now.times, now.times ? `${now.times} × base rate` : "all");
    times.input.disabled = now.measure === "entropy";
    without.input.checked = now.without_first;
    steppers.layer.show(now.layer, layers);
    steppers.head.show(now.head, heads);
    const { tokens } = now.prompts[now.prompt];
    steppers.position.show(now.position, tokens.length, quoted(tokens[now.position]));
    const asked = now.predicted < 0;
    predict.hidden = !asked;
    for (const one of [answer, controls, count, atlasFigure]) one.hidden = asked;
    if (!asked) say(answer, restingSentence(resting, heads, now.predicted));
  }

  function update() {
    const now = state();
    hovered = {};
    width = lens.clientWidth || 928;
    showControls(now);
    prompt = found(now.prompts[now.prompt]);
    if (!prompt) return;
    draw(now);
    const after = live.show(now, prompt);
    barsName.textContent = `Next word after ${quoted(prompt.tokens[now.position])}`;
    barList(bars, prompt, now.position, after);
    speak(now);
    const [most] = largest(rowOf(prompt, now.layer, now.head, now.position));
    goal.met(now.position > 0 && most[0] === now.position && most[1] > 0.5);
    if (details.open) showTables(now);
  }

  const begin = () => [onWidth(views, update), () => (stopped = true)];
  return { root, update, begin };
});
