// A small Vision Transformer in JavaScript: patches, tokens, layers, and what the class token reads.
import { dot, entropy, softmax, sum } from "../numbers.js";
import { half } from "../half.js";

/** Every number of a model by torch's names, from the float16 values of its base64 text. */
export function unpack({ weights, layout }) {
  const bytes = Uint8Array.from(atob(weights), (c) => c.charCodeAt(0));
  const bits = new Uint16Array(bytes.buffer);
  const state = {};
  let at = 0;
  for (const [name, shape] of layout) {
    const size = shape.reduce((a, b) => a * b, 1);
    state[name] = { shape, data: Float64Array.from(bits.subarray(at, at + size), half) };
    at += size;
  }
  return state;
}

/** Cut a square image of 8 × 8 numbers into patches in reading order, each row by row. */
export function cut(pixels, patch) {
  const side = 8 / patch;
  return Array.from({ length: side * side }, (_, n) =>
    Array.from({ length: patch * patch }, (_, k) => {
      const row = Math.floor(n / side) * patch + Math.floor(k / patch);
      return pixels[8 * row + (n % side) * patch + (k % patch)];
    }),
  );
}

/** Which patch stands at each place after shuffle number `shuffle`; 0 leaves them in order. */
export function order(count, shuffle) {
  const places = Array.from({ length: count }, (_, i) => i);
  if (!shuffle) return places;
  let state = shuffle;
  for (let i = count - 1; i > 0; i--) {
    for (let k = 0; k < 3; k++) state = (state * 16807) % 2147483647; // Park and Miller
    const j = state % (i + 1);
    [places[i], places[j]] = [places[j], places[i]];
  }
  return places;
}

/** rows @ weightᵀ + bias, as nn.Linear. */
function linear(rows, weight, bias) {
  const [wide, width] = weight.shape;
  return rows.map((row) =>
    Array.from({ length: wide }, (_, o) => {
      let sum = bias.data[o];
      for (let i = 0; i < width; i++) sum += row[i] * weight.data[o * width + i];
      return sum;
    }),
  );
}

function norm(rows, weight, bias) {
  return rows.map((row) => {
    const mean = sum(row) / row.length;
    const variance = row.reduce((a, b) => a + (b - mean) ** 2, 0) / row.length;
    return row.map((x, i) => ((x - mean) / Math.sqrt(variance + 1e-5)) * weight.data[i] + bias.data[i]);
  });
}

/** x Φ(x); the error function is Abramowitz and Stegun's 7.1.26, off by less than 1.5e-7. */
function gelu(x) {
  const z = Math.abs(x) / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * z);
  const series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const erf = 1 - series * Math.exp(-z * z);
  return 0.5 * x * (1 + Math.sign(x) * erf);
}

const add = (a, b) => a.map((row, i) => row.map((x, j) => x + b[i][j]));

function attend(x, state, layer, heads) {
  const name = `blocks.${layer}.attention.`;
  const width = x[0].length;
  const size = width / heads;
  const all = linear(x, state[`${name}in_proj_weight`], state[`${name}in_proj_bias`]);
  const part = (row, which, head) => row.slice(which * width + head * size, which * width + (head + 1) * size);
  const found = x.map(() => []);
  const weights = [];
  for (let head = 0; head < heads; head++) {
    const [query, key, value] = [0, 1, 2].map((which) => all.map((row) => part(row, which, head)));
    const rows = query.map((q) => softmax(key.map((k) => dot(k, q) / Math.sqrt(size))));
    weights.push(rows);
    rows.forEach((row, i) => {
      for (let c = 0; c < size; c++) found[i].push(row.reduce((sum, w, j) => sum + w * value[j][c], 0));
    });
  }
  return { weights, out: linear(found, state[`${name}out_proj.weight`], state[`${name}out_proj.bias`]) };
}

/**
 * Read an image: the probabilities of the ten digits, and the weights [layer][head][query][key].
 * @param {number[][]} patches in the order in which they stand
 */
export function read(state, patches, { heads, layers, positions }) {
  const place = state.positions;
  const width = place.shape[1];
  const embedded = linear(patches, state["embed.weight"], state["embed.bias"]);
  let x = [[...state.class_token.data], ...embedded];
  if (positions) x = x.map((row, i) => row.map((y, j) => y + place.data[i * width + j]));
  const weights = [];
  const of = (name) => [state[`${name}.weight`], state[`${name}.bias`]];
  for (let layer = 0; layer < layers; layer++) {
    const block = `blocks.${layer}`;
    const seen = attend(norm(x, ...of(`${block}.attention_norm`)), state, layer, heads);
    weights.push(seen.weights);
    x = add(x, seen.out);
    const hidden = linear(norm(x, ...of(`${block}.feed_forward.0`)), ...of(`${block}.feed_forward.1`));
    x = add(x, linear(hidden.map((row) => row.map(gelu)), ...of(`${block}.feed_forward.3`)));
  }
  const [scores] = linear(norm(x.slice(0, 1), ...of("norm")), ...of("out"));
  return { weights, probabilities: softmax(scores) };
}

/** Everything that the page shows for its settings. */
export function view({ state, pixels, patch, layer, head, positions, shuffle, heads, layers }) {
  const pieces = cut(pixels, patch);
  const places = order(pieces.length, shuffle);
  const patches = places.map((n) => pieces[n]);
  const { weights, probabilities } = read(state, patches.map((one) => one.map((x) => x / 16)), { heads, layers, positions });
  const row = weights[layer - 1][head - 1][0];
  return { patches, places, row, probabilities, entropy: entropy(row) };
}
