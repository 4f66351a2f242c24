// Patterns and a state in the plane: drag them, and see the state walk down the energy, without a kernel.
import { decimal } from "../numbers.js";
import { handle, pointed, put } from "../plane.js";
import { check, slider } from "../inputs.js";
import { depict, div, fill, heat, make, picture, scroll, shell, spoken, widget } from "../shared.js";
import { UPDATES, valleys, walk } from "./hopfield_landscape_numbers.js";
import { task } from "../task.js";
import { SIDE, at, contours, energyPanel, from, names, sentence, trail } from "./hopfield_landscape_panels.js";

const BETA = { min: -10, max: 20 }; // ten steps to a factor of ten

export default widget(["patterns", "count", "start", "beta", "as_attention"], ({ model, write }) => {
  const most = model.get("patterns").length;

  const beta = slider("", BETA, (x) => write({ beta: +(10 ** (x / 10)).toPrecision(3) }));
  const count = slider("", { min: 1, max: most }, (x) => write({ count: x }));
  const swap = check(" call it attention", (as_attention) => write({ as_attention }));
  const step = make("p", { className: "acw-step" });
  const said = spoken("acw-said");

  const land = picture(`0 0 ${SIDE} ${SIDE}`);
  const plane = make("div", {
    className: "acw-plane",
    onpointerdown: (event) => {
      if (event.target.closest(".acw-grip")) return;
      event.preventDefault();
      start.focus();
      start.setPointerCapture(event.pointerId);
      moveStart(pointed(event, plane, from));
    },
  }, land);
  const moveStart = (to) => write({ start: to });
  const start = handle({ className: "acw-grip start" }, { plane, from, seat: () => model.get("start"), move: moveStart });
  const grips = Array.from({ length: most }, (_, i) =>
    handle({ className: "acw-grip pattern", textContent: i + 1 }, {
      plane,
      from,
      seat: () => model.get("patterns")[i],
      move: (to) => write({ patterns: model.get("patterns").with(i, to) }),
    }),
  );
  plane.append(start, ...grips);

  const curve = picture(`0 0 ${SIDE} 140`);
  const table = make("table", { className: "acw-numbers" });
  const goal = task("find a setting at which several patterns share one valley.");
  const root = shell("hopfield", "Hopfield landscape",
    div("acw-controls acw-rows", beta.field, count.field, swap.label),
    step,
    div("acw-main",
      make("figure", { className: "acw-land" },
        make("figcaption", { textContent: "Energy over the plane: the deeper the blue, the lower the energy" }),
        plane,
        make("p", {
          className: "acw-note",
          textContent:
            "Click where the walk should start, or drag a handle. Arrow keys move the handle that has the focus " +
            "(with Shift: larger steps).",
        }),
      ),
      said,
      scroll("Every step", table),
      make("figure", { className: "acw-fall" }, make("figcaption", { textContent: "Energy after each step" }), curve),
    ),
    goal.line,
  );

  let drawnFor, found;

  function update() {
    const patterns = model.get("patterns").slice(0, model.get("count"));
    const [sharpness, begin, asAttention] = ["beta", "start", "as_attention"].map((name) => model.get(name));
    const steps = walk(begin, patterns, sharpness, UPDATES);
    const words = names(asAttention);
    const key = JSON.stringify([patterns, sharpness]);
    if (key !== drawnFor) {
      found = valleys(patterns, sharpness).length;
      land.innerHTML = `<g>${contours(patterns, sharpness)}</g><g></g>`;
      drawnFor = key;
    }
    land.lastElementChild.innerHTML = trail(steps);
    land.setAttribute("aria-label", `The energy over the plane, with ${found === 1 ? "one valley" : `${found} valleys`}, and the walk of the ${words.state}`);
    depict(curve, `Energy: ${steps.map((one) => decimal(one.energy, 3)).join(", ")}`, energyPanel(steps));
    beta.label.textContent = words.beta;
    beta.show(Math.round(10 * Math.log10(sharpness)), +sharpness.toPrecision(3));
    count.label.textContent = words.count;
    count.show(patterns.length);
    swap.input.checked = asAttention;
    step.textContent = words.step;
    said.textContent = sentence({ patterns, beta: sharpness, steps, found, asAttention });
    goal.met(found === 1 && patterns.length > 1);
    start.textContent = asAttention ? "q" : "ξ";
    [start, ...grips].forEach((grip, i) => {
      grip.hidden = i > patterns.length;
      const spot = i ? model.get("patterns")[i - 1] : begin;
      put(grip, at(spot), SIDE);
      grip.setAttribute("aria-label", i ? `${words.pattern} ${i}` : words.state);
      grip.setAttribute("aria-valuenow", spot[0].toFixed(2));
      grip.setAttribute("aria-valuetext", spot.map((one) => decimal(one)).join(", "));
    });
    const rows = fill(
      table,
      `The state before each step, its energy, and the ${words.weights}`,
      ["step", "state", "energy", ...patterns.map((_, i) => i + 1)],
      steps.map((one, i) => [
        i,
        one.state.map((x) => decimal(x)).join(", "),
        decimal(one.energy, 3),
        ...one.weights.map((w) => w.toFixed(2)),
      ]),
    );
    rows.forEach((row, i) =>
      [...row.querySelectorAll("td")].slice(2).forEach((cell, j) => heat(cell, steps[i].weights[j])),
    );
  }

  return { root, update };
});
