// One decoder step after another, by hand: the controls and the page.
import { decimal } from "../numbers.js";
import { slider } from "../inputs.js";
import { depict, div, figure, fill, make, picture, shell, widget } from "../shared.js";
import { walker } from "../player.js";
import { task } from "../task.js";
import { STAGES, look } from "./look_stepper_walk.js";
import { formulas, pair, plane, sentence } from "./look_stepper_picture.js";

const TRAITS = ["words", "states", "first", "turn", "keep", "factor", "step"];

const BEAT = 1600;

export default widget(TRAITS, ({ model, write, read }) => {
  const last = () => STAGES.length * model.get("words").length;
  const said = make("p", { className: "acw-said" });
  const { bar, show: showStep, stop } = walker(BEAT, said, { at: () => model.get("step"), last, go: (step) => write({ step }) }, "stage");
  const goal = task("find a factor with which not every word is written by the end.");
  const sharp = slider("factor of the scores", { min: 1, max: 12 }, (x) => write({ factor: x / 2 }));
  const drawn = picture("0 0 300 300");
  const table = make("table");
  const lines = div("acw-lines");
  const written = make("p", { className: "acw-written" });
  const root = shell("look", "A decoder, step by step",
    bar,
    div("acw-steps", sharp.label, sharp.input, sharp.output),
    said,
    div("acw-columns",
      figure("Circles: the encoder's states, larger with weight", drawn),
      make("div", {}, table, lines, written),
    ),
    goal.line,
  );

  function update() {
    const state = read();
    const seen = look(state, state.step);
    const words = sentence(state, seen);
    showStep();
    goal.met(state.step === last() && state.words.some(([, word]) => !seen.written.includes(word)));
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

  return { root, update, begin: () => [stop] };
});
