// One decoder step after another, by hand: the controls and the page.
import { decimal } from "../numbers.js";
import { slider } from "../inputs.js";
import { button, depict, div, figure, fill, make, picture, shell, spoken, widget } from "../shared.js";
import { STAGES, look } from "./look_stepper_walk.js";
import { formulas, pair, plane, sentence } from "./look_stepper_picture.js";

const TRAITS = ["words", "states", "first", "turn", "keep", "factor", "step"];

export default widget(TRAITS, ({ model, write, read }) => {
  const last = () => STAGES.length * model.get("words").length;
  const go = (step) => write({ step: Math.max(0, Math.min(step, last())) });
  const by = (words, where) => button(words, () => go(where()));

  const start = by("Start", () => 0);
  const back = by("Back", () => model.get("step") - 1);
  const forward = by("Step", () => model.get("step") + 1);
  const place = slider("stage", { min: 0, max: last() }, go);
  const sharp = slider("factor of the scores", { min: 1, max: 12 }, (x) => write({ factor: x / 2 }));
  const said = spoken("acw-said");
  const drawn = picture("0 0 300 300");
  const table = make("table");
  const lines = div("acw-lines");
  const written = make("p", { className: "acw-written" });
  const root = shell("look", "A decoder, step by step",
    div("acw-steps", start, back, forward, place.label, place.input, place.output),
    div("acw-steps", sharp.label, sharp.input, sharp.output),
    said,
    div("acw-columns",
      figure("Circles: the encoder's states, larger with weight", drawn),
      make("div", {}, table, lines, written),
    ),
  );

  function update() {
    const state = read();
    const seen = look(state, state.step);
    const words = sentence(state, seen);
    start.disabled = back.disabled = state.step === 0;
    forward.disabled = state.step === last();
    place.show(state.step, `${state.step} of ${last()}`);
    sharp.show(2 * state.factor, state.factor);
    said.textContent = words;
    depict(drawn, words, plane(state, seen));
    const bar = (weight) => make("span", { className: "bar", style: `width: ${(4 * weight).toFixed(2)}rem` });
    const share = (weight) => make("span", {}, decimal(weight), bar(weight));
    const rows = state.words.map(([word], i) => [
      word,
      pair(state.states[i]),
      seen.shown >= 1 ? decimal(seen.scores[i]) : "…",
      seen.shown >= 2 ? share(seen.weights[i]) : "…",
    ]);
    fill(table, "", ["read", "state h", "score", "weight"], rows);
    lines.replaceChildren(...formulas(state, seen).map((textContent) => make("p", { textContent })));
    written.textContent = `Written so far: ${seen.written.join(" ") || "nothing"}`;
  }

  return { root, update };
});
