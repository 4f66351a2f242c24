// What d_k and temperature do to scores, weights and gradient, without a kernel: the controls.
import { check, slider } from "../inputs.js";
import { button, depict, div, fill, folded, format, make, picture, scroll, shell, spoken, widget } from "../shared.js";
import { MAX_KEYS, QUERIES, WIDTHS, curve, draw, look, variance } from "./scale_explorer_numbers.js";
import { expectation, scorePanel, sentence, trendPanel, weightPanel } from "./scale_explorer_panels.js";

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

  const panels = Array.from({ length: 4 }, () => ({ drawn: picture("0 0 340 196"), caption: make("figcaption") }));
  const table = make("table", { className: "acw-numbers" });
  const every = make("table");
  const details = folded("Every d_k, as a table", scroll("Every d_k", every));
  details.addEventListener("toggle", update);
  const root = shell("explorer", "d_k and temperature",
    div("acw-controls acw-rows", width.field, div("acw-switch", scale.label, again), warmth.field, keys.field),
    said,
    div("acw-panels", ...panels.map(({ caption, drawn }) => make("figure", {}, caption, drawn))),
    table,
    details,
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
    const captions = [
      `Scores: variance ${format(seen.variance)}, ${expectation(seen)}`,
      `Weights of one query: largest ${format(one.top)}`,
      `Entropy: ${format(mean.entropy)} of at most ln ${numKeys} = ${format(equal.entropy)}`,
      `Gradient through the softmax: ${format(mean.gradient)}`,
    ];
    const steep = Math.max(...curves.flat().map((point) => point.gradient));
    const ceiling = Math.ceil(steep * 10 + 0.2) / 10;
    const upTo = (count, unit) => Array.from({ length: count + 1 }, (_, i) => i / unit);
    const drawings = [
      scorePanel(seen),
      weightPanel(seen),
      trendPanel(seen, "entropy", equal.entropy * 1.08, upTo(Math.floor(equal.entropy), 1)),
      trendPanel(seen, "gradient", ceiling, upTo(Math.round(ceiling * 10), 10)),
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

  return { root, update };
});
