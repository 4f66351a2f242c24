// One vector, overwritten with every symbol: its numbers, and what can still be read out of them.
import { presets } from "../presets.js";
import { walker } from "../player.js";
import { depict, div, figure, make, onWidth, picture, shell, widget } from "../shared.js";
import { task } from "../task.js";
import { NARROW, WIDE, drawSource, firstLost, moved, sentence } from "./overwriting_stepper_picture.js";

const TRAITS = ["sources", "states", "named", "shares", "tested", "symbols", "example", "step"];
const BEAT = 1100;
const ASKED = 1; // the second symbol

export default widget(TRAITS, ({ model, write, read }) => {
  const sources = model.get("sources");
  const names = sources.map((source) => `${source.slice(0, 5).join("")}…`);
  const start = presets("Sources", names, (name) => (stop(), write({ example: names.indexOf(name) })));
  const said = make("p", { className: "acw-said" });
  const { bar, show, stop } = walker(BEAT, said, {
    at: () => model.get("step"), last: () => model.get("shares").length, go: (step) => write({ step }),
  }, "symbol");
  const drawn = picture("0 0 1 1");
  const cells = model.get("states")[0][0].map(() => make("span"));
  const vector = make("div", { className: "acw-vector", role: "img" }, ...cells);
  const goal = task("find the first step after which the second symbol is named right in fewer than half of all sources.");
  const root = shell("overwriting", "One vector, overwritten",
    start.field,
    bar,
    figure("The state: the same numbers at every step. Blue: above 0, orange: below; framed: moved by more than 0.1", vector),
    said,
    figure("The source, what is read out of the state, and how often that is right in new sources", drawn),
    goal.line,
  );

  function update() {
    const state = read();
    const { states, example, step, shares } = state;
    const now = states[example][step - 1] ?? cells.map(() => 0);
    const before = states[example][step - 2] ?? cells.map(() => 0);
    const changed = moved(before, now);
    start.show(names[example]);
    show();
    cells.forEach((cell, i) => {
      const sign = now[i] < 0 ? "--warm" : "--accent";
      cell.style.background = `color-mix(in srgb, var(${sign}) ${Math.min(100, Math.abs(now[i]))}%, var(--paper))`;
      cell.classList.toggle("moved", changed.includes(i));
    });
    vector.setAttribute("aria-label", `${cells.length} numbers, ${changed.length} of them moved by more than 0.1 in this step`);
    const words = sentence(state, changed.length);
    said.textContent = words;
    const size = root.clientWidth && root.clientWidth < 560 ? NARROW : WIDE;
    drawn.setAttribute("viewBox", `0 0 ${size.wide} ${size.high}`);
    depict(drawn, words, drawSource(state, size));
    goal.met(step > 0 && step === firstLost(shares, ASKED));
  }

  return { root, update, begin: () => [stop, onWidth(root, update)] };
});
