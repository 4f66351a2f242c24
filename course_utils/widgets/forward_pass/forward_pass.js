// A forward pass of a released model: all heads, the map of one, the lens and the next words; one choice for all.
import { check, slider } from "../inputs.js";
import { choice, div, fill, folded, make, note, onWidth, say, scroll, shell, spoken, widget } from "../shared.js";
import { MEASURES, atlas, nextAt, rowOf, unpack, withoutFirst } from "./forward_pass_numbers.js";
import { atlasGrid, drawAtlas, drawLens, drawMap, headAt, lensGrid, mapGrid, placeOf } from "./forward_pass_picture.js";
import { barList, lensList, plot, scale, stepper } from "./forward_pass_parts.js";
import { liveParts } from "./forward_pass_live.js";
import {
  chance, countSentence, headSentence, keySentence, lensRows, lensSentence, quoted, restingSentence, weightRows,
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
  const guess = choice("layer", () => {}, Array.from({ length: layers }, (_, i) => i));
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
  const live = liveParts(model, write);

  /** Another choice; another prompt begins at its last position. */
  function go(changes) {
    const { prompts } = read();
    const last = changes.prompt === undefined ? {} : { position: prompts[changes.prompt].tokens.length - 1 };
    if (last.position !== undefined || changes.position !== undefined) key = 0;
    write({ ...changes, ...last });
  }
  const hover = (name) => (cell) => {
    hovered = cell ? { [name]: cell } : {};
    speak(state());
  };

  const question = make("p", {},
    "First a prediction. A head rests where it puts more than half of its weight on the first token, on average over the queries. " +
      "What is the first layer in which most of the nine heads rest?",
  );
  const predict = div("acw-predict", question, guess.field, make("button", { type: "button", textContent: "Show the atlas", onclick: () => write({ predicted: +guess.select.value }) }));
  const answer = make("p", { className: "acw-answer" });
  const controls = div("acw-bar acw-atlasbar", measure.field, times.field);
  const count = make("p", { className: "acw-count" });

  const atlasPlot = plot("Atlas: all heads", "grid of heads", {
    grid: () => atlasCells,
    chosen: () => placeOf(atlasCells, state().layer, state().head),
    choose: (cell) => go(headAt(atlasCells, cell)),
    hover: hover("atlas"),
  });
  const mapPlot = plot("Map of the chosen head", "grid of weights", {
    grid: () => mapCells,
    chosen: () => [state().position, key],
    choose: ([query, column]) => {
      write({ position: query });
      key = Math.min(column, query);
      update();
    },
    hover: (cell) => hover("map")(cell && cell[1] <= cell[0] ? cell : null),
  });
  const lensPlot = plot("Lens: layers and positions", "grid of words", {
    grid: () => lensCells,
    chosen: () => {
      const { layer, position } = state();
      const above = lensCells.states.findIndex((one) => one <= layer + 1);
      return [above < 0 ? lensCells.rows - 1 : above, position - lensCells.from];
    },
    choose: ([row, column]) => go({ layer: Math.max(0, lensCells.states[row] - 1), position: lensCells.from + column }),
    hover: hover("lens"),
  });
  const [mapSaid, lensSaid] = [spoken("acw-readout"), spoken("acw-readout")];
  const caption = () => make("figcaption");
  const captions = { atlas: caption(), map: caption(), lens: caption(), bars: caption() };
  const [bars, list] = [make("table", { className: "acw-list" }), make("table", { className: "acw-list" })];
  const atlasFigure = make("figure", { className: "acw-atlas" }, captions.atlas, atlasPlot.box);
  const mapFigure = make("figure", { className: "acw-map" }, captions.map, mapPlot.box, mapSaid, without.label);
  const views = div("acw-views", atlasFigure, mapFigure, make("figure", { className: "acw-next" }, captions.bars, bars, ...live.head));
  const lens = make("figure", { className: "acw-lens" }, captions.lens, lensPlot.box, list, lensSaid, every.label);
  const tables = [make("table"), make("table"), make("table")];
  const details = folded("The chosen position as tables", ...tables.map((table) => scroll("The chosen position", table)));
  details.addEventListener("toggle", update);
  const root = shell("forward", "A forward pass of a released model",
    div("acw-bar", chosen.field, ...live.text),
    predict,
    answer,
    controls,
    count,
    div("acw-bar", ...Object.values(steppers).map((one) => one.field)),
    said,
    views,
    scale(),
    lens,
    note("Layers, heads and positions are counted from 0. Weights are rounded to 1/255. The lens reads the stream after a layer as if it were the last: with the model's last norm and output layer."),
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

  const rowAt = (now, layer, head, query) => {
    const row = rowOf(prompt, layer, head, query);
    return now.without_first ? withoutFirst(row) : row;
  };

  /** What is said of the cells under the pointer, else of the chosen ones. */
  function speak(now) {
    if (!prompt) return;
    const at = hovered.atlas ? headAt(atlasCells, hovered.atlas) : { layer: now.layer, head: now.head };
    say(said, headSentence(prompt, { ...now, ...at }, rowOf(prompt, at.layer, at.head, now.position)));
    const cell = hovered.map ?? [now.position, Math.min(key, now.position)];
    say(mapSaid, keySentence(prompt.tokens, cell, rowAt(now, now.layer, now.head, cell[0]), now.without_first));
    const [row, column] = hovered.lens ?? [];
    const there = hovered.lens ? { layer: lensCells.states[row] - 1, position: lensCells.from + column } : now;
    say(lensSaid, lensSentence(prompt, there));
  }

  function draw(now) {
    const narrow = width < NARROW;
    captions.atlas.textContent = `All heads at position ${now.position}`;
    if (now.predicted >= 0) {
      const seen = atlas(prompt, now);
      atlasCells = atlasGrid(width, narrow, layers, heads);
      atlasPlot.draw(drawAtlas(atlasCells, seen, now));
      say(count, countSentence(seen, now));
    }
    captions.map.textContent = `Layer ${now.layer}, head ${now.head}: queries down, keys across`;
    mapCells = mapGrid(width, narrow, prompt.tokens);
    const rows = prompt.tokens.map((_, query) => rowAt(now, now.layer, now.head, query));
    mapPlot.draw(drawMap(mapCells, rows, prompt.tokens, [now.position, Math.min(key, now.position)]));
    captions.lens.textContent = narrow ? `The lens at position ${now.position}` : "The lens: after each layer (29 on top), the likeliest word at each position";
    lensCells = lensGrid(width, prompt, now.position, unfolded);
    lensPlot.box.hidden = narrow;
    list.hidden = !narrow;
    if (narrow) lensList(list, prompt, now, unfolded);
    else lensPlot.draw(drawLens(lensCells, prompt, now));
  }

  function showTables(now) {
    const row = rowAt(now, now.layer, now.head, now.position);
    const next = nextAt(prompt, now.position).map((one) => [quoted(one.word), chance(one.chance)]);
    fill(tables[0], `Largest weights of layer ${now.layer}, head ${now.head}, query ${now.position}`, ["key", "token", "weight"], weightRows(prompt.tokens, row));
    fill(tables[1], `The lens at position ${now.position}`, ["after layer", "three likeliest words", "entropy in nats"], lensRows(prompt, now.position));
    fill(tables[2], `Next words at position ${now.position}`, ["word", "probability"], next);
  }

  function showControls(now) {
    const names = now.prompts.map(({ name }, i) => [i, name]);
    if (chosen.select.length !== names.length) chosen.select.replaceChildren(...names.map(([value, textContent]) => make("option", { value, textContent })));
    chosen.select.value = now.prompt;
    measure.select.value = now.measure;
    times.show(now.times, now.times ? `${now.times} × base rate` : "0: all heads");
    times.input.disabled = now.measure === "entropy";
    without.input.checked = now.without_first;
    steppers.layer.show(now.layer, layers);
    steppers.head.show(now.head, heads);
    const { tokens } = now.prompts[now.prompt];
    steppers.position.show(now.position, tokens.length, quoted(tokens[now.position]));
    const asked = now.predicted < 0;
    predict.hidden = !asked;
    for (const part of [answer, controls, count, atlasFigure]) part.hidden = asked;
    if (!asked) say(answer, restingSentence(resting, heads, now.predicted));
  }

  function update() {
    const now = state();
    width = root.querySelector(".acw-lens").clientWidth || 928;
    showControls(now);
    prompt = found(now.prompts[now.prompt]);
    if (!prompt) return;
    draw(now);
    const after = live.show(now, prompt);
    captions.bars.textContent = `Next word after ${quoted(prompt.tokens[now.position])}`;
    barList(bars, prompt, now.position, after);
    speak(now);
    if (details.open) showTables(now);
  }

  const begin = () => [onWidth(views, update), () => (stopped = true)];
  return { root, update, begin };
});
