// What d_k and temperature do to scores, weights and gradient, without a kernel: the controls.
import { check, slider } from "../inputs.js";
import { button, depict, div, fill, folded, format, make, onWidth, picture, scroll, shell, spoken, widget } from "../shared.js";
import { task } from "../task.js";
import { MAX_KEYS, QUERIES, WIDTHS, curve, draw, look, variance } from "./scale_explorer_numbers.js";
import { LARGE, NARROW, SMALL, expectation, scorePanel, sentence, trendPanel, weightPanel } from "./scale_explorer_panels.js";

export default widget(["d_k", "temperature", "scaled", "num_keys", "seed"], ({ model, write }) => {
  let drawn, seed, curves, drawnFor;

  const width = slider("d_k", { min: 0, max: 10 }, (x) => write({ d_k: WIDTHS[x] }));
  const warmth = slider("temperature τ", { min: -20, max: 20 }, (x) =>
    write({ temperature: +(10 ** (x / 20)).toPrecision(3) }),
  );
  const keys = slider("keys", { min: 2, max: MAX_KEYS }, (x) => write({ num_keys: x }));
  const scale = check("divide by √d_k", (scaled) => write({ scaled }));
  const again = button("Draw again", () => write({ seed: (model.get("seed") + 1) % 2 ** 31 }));
  const said = spoken("acw-said");

  const goal = task("let one weight grow above 0.99, then undo that with one tick.");
  let hasPeaked = false;

  const box = ({ wide, high }) => `0 0 ${wide} ${high}`;
  const panels = [LARGE, SMALL, SMALL, SMALL].map((size) => ({ drawn: picture(box(size)), caption: make("figcaption") }));
  const [large, ...small] = panels.map(({ caption, drawn }) => make("figure", {}, caption, drawn));
  const table = make("table", { className: "acw-numbers" });
  const every = make("table");
  const details = folded("As tables: these settings, and every d_k", table, scroll("Every d_k", every));
  details.addEventListener("toggle", update);
  const root = shell("explorer", "d_k and temperature",
    div("acw-controls acw-rows acw-stay", width.field, scale.label),
    said,
    large,
    div("acw-panels", ...small),
    goal.line,
    details,
    folded("More settings", div("acw-controls acw-rows", warmth.field, keys.field, again)),
  );

  function update() {
    const [d_k, temperature, scaled, numKeys] = ["d_k", "temperature", "scaled", "num_keys"].map((name) =>
      model.get(name),
    );
    if (seed !== model.get("seed")) {
      seed = model.get("seed");
      drawn = draw(seed);
      drawnFor = null;
    }
    if (drawnFor !== `${temperature} ${numKeys}`) {
      curves = [false, true].map((divided) => curve(drawn, divided, temperature, numKeys));
      drawnFor = `${temperature} ${numKeys}`;
    }
    const seen = look(drawn, { index: WIDTHS.indexOf(d_k), scaled, temperature, numKeys }, curves);
    const { one, mean, equal } = seen;
    width.show(seen.index, d_k);
    warmth.show(Math.round(20 * Math.log10(temperature)), temperature.toPrecision(2));
    keys.show(numKeys);
    scale.input.checked = scaled;
    said.textContent = sentence(seen);
    hasPeaked ||= !scaled && one.top > 0.99;
    goal.met(hasPeaked && scaled && one.top < 0.99);
    const captions = [
      `Weights of one query: largest ${format(one.top)}`,
      `Scores: variance ${format(seen.variance)}, ${expectation(seen)}`,
      `Entropy: ${format(mean.entropy)} of at most ${format(equal.entropy)}`,
      `Gradient through the softmax: ${format(mean.gradient)}`,
    ];
    const steep = Math.max(...curves.flat().map((point) => point.gradient));
    const ceiling = Math.ceil(steep * 10 + 0.2) / 10;
    const upTo = (count, unit) => Array.from({ length: count + 1 }, (_, i) => i / unit);
    const size = root.clientWidth && root.clientWidth < 560 ? NARROW : LARGE;
    panels[0].drawn.setAttribute("viewBox", box(size));
    const drawings = [
      weightPanel(seen, size),
      scorePanel(seen, SMALL),
      trendPanel(seen, "entropy", equal.entropy * 1.2, upTo(Math.floor(equal.entropy), 1), SMALL),
      trendPanel(seen, "gradient", ceiling + 0.05, upTo(Math.round(ceiling * 5), 5), SMALL),
    ];
    panels.forEach(({ drawn, caption }, i) => {
      caption.textContent = captions[i];
      depict(drawn, captions[i], drawings[i]);
    });
    const row = (words, name) => [words, ...[one, mean, equal].map((of) => format(of[name]))];
    fill(
      table,
      "At these settings",
      ["quantity", "the query above", `mean of ${QUERIES} queries`, "if all weights were equal"],
      [
        row("largest weight", "top"),
        row("entropy, in nats", "entropy"),
        row("gradient: Frobenius norm of diag(w) − w\u00a0wᵀ", "gradient"),
      ],
    );
    if (details.open) {
      fill(
        every,
        `means of ${QUERIES} queries with ${numKeys} keys at temperature ${temperature.toPrecision(2)}`,
        [
          "d_k",
          "variance of q·k",
          ...["largest weight", "entropy", "gradient"].flatMap((name) => [`${name}, not divided`, "divided"]),
        ],
        WIDTHS.map((w, i) => [
          w,
          format(variance(drawn.pairs[i])),
          ...["top", "entropy", "gradient"].flatMap((name) => curves.map((all) => format(all[i][name]))),
        ]),
      );
    }
  }

  return { root, update, begin: () => [onWidth(root, update)] };
});
