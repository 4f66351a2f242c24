// What d_k and temperature do to scores, weights and gradient, without a kernel: the controls.
import { fill, format, make, slider, uniqueId, watch, writer } from "./shared.js";
import { MAX_KEYS, QUERIES, WIDTHS, curve, draw, look, variance } from "./scale_explorer_numbers.js";
import { expectation, scorePanel, sentence, trendPanel, weightPanel } from "./scale_explorer_panels.js";

function render({ model, el }) {
  const id = uniqueId();
  const write = writer(model);
  let drawn, seed, curves, drawnFor;

  const control = (name, words, range, value) => {
    const made = slider(`${id}-${name}`, words, range, (x) => write(value(x)));
    return { ...made, row: make("div", { className: "acw-control" }, made.label, made.input, made.output) };
  };
  const width = control("width", "d_k", { min: 0, max: 10 }, (x) => ({ d_k: WIDTHS[x] }));
  const warmth = control("warmth", "temperature τ", { min: -20, max: 20 }, (x) => ({
    temperature: +(10 ** (x / 20)).toPrecision(3),
  }));
  const keys = control("keys", "keys", { min: 2, max: MAX_KEYS }, (x) => ({ num_keys: x }));
  const scale = make("input", {
    type: "checkbox",
    id: `${id}-scale`,
    onchange: () => write({ scaled: scale.checked }),
  });
  const again = make("button", {
    type: "button",
    textContent: "Draw again",
    onclick: () => write({ seed: (model.get("seed") + 1) % 2 ** 31 }),
  });
  const said = make("p", { className: "acw-said", "aria-live": "polite" });

  const panel = (words) => {
    const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [name, value] of Object.entries({ viewBox: "0 0 340 196", role: "img", "aria-label": words }))
      picture.setAttribute(name, value);
    const caption = make("figcaption");
    return { picture, caption, figure: make("figure", {}, caption, picture) };
  };
  const panels = [
    panel("Histogram of the scores and the expected normal curve"),
    panel("Weights of one query"),
    panel("Mean entropy against d_k"),
    panel("Mean gradient norm against d_k"),
  ];
  const table = make("table", { className: "acw-numbers" });
  const every = make("table");
  const details = make(
    "details",
    { ontoggle: () => update() },
    make("summary", { textContent: "Every d_k, as a table" }),
    make("div", { className: "acw-scroll", tabIndex: 0, role: "group", "aria-label": "Every d_k" }, every),
  );
  const root = make(
    "div",
    {
      className: "acw acw-explorer",
      role: "group",
      "aria-label": "d_k and temperature",
      "data-lm-suppress-shortcuts": "true",
    },
    make(
      "div",
      { className: "acw-controls" },
      width.row,
      make(
        "div",
        { className: "acw-switch" },
        make("label", { for: `${id}-scale` }, scale, "divide by √d_k"),
        again,
      ),
      warmth.row,
      keys.row,
    ),
    said,
    make("div", { className: "acw-panels" }, ...panels.map((one) => one.figure)),
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
    width.input.value = seen.index;
    warmth.input.value = Math.round(20 * Math.log10(temperature));
    keys.input.value = numKeys;
    scale.checked = scaled;
    for (const [at, text] of [
      [width, d_k],
      [warmth, temperature.toPrecision(2)],
      [keys, numKeys],
    ]) {
      at.output.textContent = text;
      at.input.setAttribute("aria-valuetext", text);
    }
    said.textContent = sentence(seen);
    const captions = [
      `Scores: variance ${format(seen.variance)}, ${expectation(seen)}`,
      `Weights of one query: largest ${format(one.top)}`,
      `Entropy: ${format(mean.entropy)} of at most ln ${numKeys} = ${format(equal.entropy)}`,
      `Gradient through the softmax: ${format(mean.gradient)}`,
    ];
    const steep = Math.max(...curves.flat().map((point) => point.gradient));
    const ceiling = Math.ceil(steep * 10 + 0.2) / 10;
    const drawings = [
      scorePanel(seen),
      weightPanel(seen),
      trendPanel(
        seen,
        "entropy",
        equal.entropy * 1.08,
        Array.from({ length: Math.floor(equal.entropy) + 1 }, (_, i) => i),
      ),
      trendPanel(
        seen,
        "gradient",
        ceiling,
        Array.from({ length: Math.round(ceiling * 10) + 1 }, (_, i) => i / 10),
      ),
    ];
    panels.forEach(({ picture, caption }, i) => {
      caption.textContent = captions[i];
      picture.setAttribute("aria-label", captions[i]);
      picture.innerHTML = drawings[i];
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

  el.append(root);
  update();
  const stop = watch(model, ["d_k", "temperature", "scaled", "num_keys", "seed"], update);
  return () => {
    stop();
    root.remove();
  };
}

export default { render };
