// Which input reaches which output: a mask for each attention, and their products through all layers.

export const WIRINGS = {
  bert: "BERT: one stream, every position sees every other",
  gpt: "GPT: one stream, left to right",
  prefix: "prefix: one stream, the source seen whole",
  t5: "T5: an encoder and a decoder",
  stub: "a faulty decoder: second attention on itself, unmasked",
};

/** Whether encoder and decoder are two stacks, not one stream. */
export const isSplit = ({ wiring }) => wiring === "t5" || wiring === "stub";

/** What each place is given and what it writes; a place of the source writes nothing. */
export function places({ wiring, source, target, num_source, num_target, pads }) {
  const words = source.slice(0, num_source).map((word, j) => (j < num_source - pads ? word : "pad"));
  const written = target.slice(0, num_target);
  const given = written.map((_, t) => (wiring === "bert" ? "mask" : t ? written[t - 1] : "start"));
  return { inputs: [...words, ...given], outputs: [...words.map(() => ""), ...written] };
}

/** The place that was clicked, counted over source and target. */
export const chosenPlace = ({ side, place, num_source, num_target }) =>
  side === "source" ? Math.min(place, num_source - 1) : num_source + Math.min(place, num_target - 1);

const table = (rows, columns, may) =>
  Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => may(i, j)));

/** Each attention of a layer: its name, the places where its queries and keys begin, and its mask. */
export function masks(view) {
  const { wiring, num_source: S, num_target: T, pads, window } = view;
  const near = (i, j) => !window || Math.abs(i - j) < window;
  const real = (j) => j < S - pads || j >= S;
  const causal = (i, j) => j <= i && near(i, j);
  if (!isSplit(view)) {
    const open = (i, j) => wiring === "bert" || j <= i || (wiring === "prefix" && j < S);
    const mask = table(S + T, S + T, (i, j) => open(i, j) && near(i, j) && real(j));
    return [{ name: "self-attention", rows: 0, columns: 0, mask }];
  }
  const encoder = table(S, S, (i, j) => near(i, j) && real(j));
  const second =
    wiring === "t5"
      ? { name: "cross-attention", rows: S, columns: 0, mask: table(T, S, (_, j) => real(j)) }
      : { name: "second attention", rows: S, columns: S, mask: table(T, T, () => true) };
  return [
    { name: "encoder", rows: 0, columns: 0, mask: encoder },
    { name: "decoder", rows: S, columns: S, mask: table(T, T, causal) },
    second,
  ];
}

/** One attention and the residual around it, over all places: true where a place reads another. */
export function reads({ num_source, num_target }, { rows, columns, mask }) {
  const size = num_source + num_target;
  return table(size, size, (i, j) => i === j || Boolean(mask[i - rows]?.[j - columns]));
}

/** The attentions of all layers from the first to the last, each as a table over all places. */
function sublayers(view) {
  const made = masks(view).map((one) => reads(view, one));
  const stacks = isSplit(view) ? [made.slice(0, 1), made.slice(1)] : [made];
  return stacks.flatMap((stack) => Array.from({ length: view.num_layers }, () => stack).flat());
}

/** Boolean product: i reads j if it reads some k that reads j. */
export const product = (a, b) => a.map((row) => b[0].map((_, j) => row.some((reads, k) => reads && b[k][j])));

/** After all layers: true where an input reaches an output. */
export const reach = (view) => sublayers(view).reduce((below, above) => product(above, below));

/** From the outputs down to the inputs: on how many paths each place below each attention reaches an output. */
export function paths(view, output) {
  const size = view.num_source + view.num_target;
  const levels = [Array.from({ length: size }, (_, j) => Number(j === output))];
  for (const above of sublayers(view).reverse()) {
    const last = levels[0];
    levels.unshift(last.map((_, j) => last.reduce((sum, count, i) => sum + (above[i][j] ? count : 0), 0)));
  }
  return levels;
}

/** The parts of each kind of layer, in order. */
export function parts(view) {
  const [self, feed] = ["self-attention", "feed-forward"];
  if (!isSplit(view)) return [["Every layer", [self, feed]]];
  return [
    ["Every encoder layer", [self, feed]],
    ["Every decoder layer", [self, view.wiring === "t5" ? "cross-attention" : "second attention", feed]],
  ];
}

/** How a layer writes itself, one formula for each part. */
export const formulas = (names, pre) =>
  names.map((name, i) => {
    const [norm, memory] = [`norm${"₁₂₃"[i]}`, name === "cross-attention" ? ", memory" : ""];
    const part = name.replace("-attention", "").replace(" attention", "").replace("-forward", "");
    return pre ? `x ← x + ${part}(${norm}(x)${memory})` : `x ← ${norm}(x + ${part}(x${memory}))`;
  });

const list = (words) => words.map((word) => `“${word}”`).join(", ");

/** What reaches the chosen output, in words. */
export function sentence(view) {
  const output = chosenPlace(view);
  const { inputs, outputs } = places(view);
  const counts = paths(view, output)[0];
  const lit = inputs.filter((_, j) => counts[j]);
  const dark = inputs.filter((_, j) => !counts[j]);
  const who = outputs[output] ? `The place that writes “${outputs[output]}”` : `The place of “${inputs[output]}”`;
  const sum = counts.reduce((a, b) => a + b);
  const layers = view.num_layers === 1 ? "1 layer" : `${view.num_layers} layers`;
  return [
    `${who}, after ${layers}: ${lit.length} of ${inputs.length} inputs reach it, on ${sum} ${sum === 1 ? "path" : "paths"}.`,
    `Lit: ${list(lit)}.`,
    dark.length ? `Dark: ${list(dark)}.` : "None is dark.",
  ].join(" ");
}
