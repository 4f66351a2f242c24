// One decoder step after another, by hand: the controls and the page.
import { fill, make, slider, uniqueId, watch, writer } from "./shared.js";
import { STAGES, look } from "./look_stepper_walk.js";
import { fixed, formulas, pair, plane, sentence } from "./look_stepper_picture.js";

const TRAITS = ["words", "states", "first", "turn", "keep", "factor", "step"];

function render({ model, el }) {
  const id = uniqueId();
  const write = writer(model);
  const given = () => Object.fromEntries(TRAITS.map((name) => [name, model.get(name)]));
  const last = () => STAGES.length * model.get("words").length;
  const go = (step) => write({ step: Math.max(0, Math.min(step, last())) });
  const by = (textContent, where) => make("button", { type: "button", textContent, onclick: () => go(where()) });

  const start = by("Start", () => 0);
  const back = by("Back", () => model.get("step") - 1);
  const forward = by("Step", () => model.get("step") + 1);
  const place = slider(`${id}-step`, "stage", { min: 0, max: last() }, go);
  const sharp = slider(`${id}-factor`, "factor of the scores", { min: 1, max: 12 }, (x) => write({ factor: x / 2 }));
  const said = make("p", { className: "acw-said", "aria-live": "polite" });
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("viewBox", "0 0 300 300");
  picture.setAttribute("role", "img");
  const table = make("table");
  const lines = make("div", { className: "acw-lines" });
  const written = make("p", { className: "acw-written" });
  const root = make(
    "div",
    { className: "acw acw-look", role: "group", "aria-label": "A decoder, step by step", "data-lm-suppress-shortcuts": "true" },
    make("div", { className: "acw-steps" }, start, back, forward, place.label, place.input, place.output),
    make("div", { className: "acw-steps" }, sharp.label, sharp.input, sharp.output),
    said,
    make(
      "div",
      { className: "acw-columns" },
      make("figure", {}, make("figcaption", { textContent: "Circles: the encoder's states, larger with weight" }), picture),
      make("div", {}, table, lines, written),
    ),
  );

  function update() {
    const state = given();
    const seen = look(state, state.step);
    const words = sentence(state, seen);
    start.disabled = back.disabled = state.step === 0;
    forward.disabled = state.step === last();
    place.input.value = state.step;
    place.output.textContent = `${state.step} of ${last()}`;
    sharp.input.value = 2 * state.factor;
    sharp.output.textContent = state.factor;
    sharp.input.setAttribute("aria-valuetext", state.factor);
    said.textContent = words;
    picture.setAttribute("aria-label", words);
    picture.innerHTML = plane(state, seen);
    const rows = state.words.map(([word], i) => [
      word,
      pair(state.states[i]),
      seen.shown >= 1 ? fixed(seen.scores[i]) : "…",
      seen.shown >= 2 ? fixed(seen.weights[i]) : "…",
    ]);
    fill(table, "", ["read", "state h", "score", "weight"], rows);
    table.querySelectorAll("tbody tr").forEach((row, i) => {
      const width = seen.shown >= 2 ? 4 * seen.weights[i] : 0;
      row.lastChild.append(make("span", { className: "bar", style: `width: ${width.toFixed(2)}rem` }));
    });
    lines.replaceChildren(...formulas(state, seen).map((textContent) => make("p", { textContent })));
    written.textContent = `Written so far: ${seen.written.join(" ") || "nothing"}`;
  }

  el.append(root);
  update();
  const stop = watch(model, TRAITS, update);
  return () => {
    stop();
    root.remove();
  };
}

export default { render };
