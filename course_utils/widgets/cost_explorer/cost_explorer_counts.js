// What a model and a step of its training cost: parameters, operations and bytes by part.
import { sum } from "../numbers.js";

/** Heads that divide the width, and key/value heads that divide those: the nearest below. */
export function fitting(sizes, choices) {
  const below = (places, most, whole) => places.filter((n) => n <= most && whole % n === 0).at(-1) ?? 1;
  const num_heads = below(choices.num_heads, sizes.num_heads, sizes.d_model);
  const num_kv_heads = below(choices.num_kv_heads, sizes.num_kv_heads, num_heads);
  return { ...sizes, num_heads, num_kv_heads, num_positions: sizes.form === "llama" ? 0 : sizes.num_positions };
}

const total = (parts) => sum(Object.values(parts));
const keyWidth = ({ d_model, num_heads, num_kv_heads }) => (d_model / num_heads) * num_kv_heads;
const matrices = ({ form }) => (form === "llama" ? 3 : 2);

/** Parameters by part. "gpt": biases, gain and bias in a norm, tied; "llama": gated, none of these. */
export function parameters(sizes) {
  const { vocab_size, d_model: d, num_layers, d_ff, num_positions, form } = sizes;
  const [kv, gpt] = [keyWidth(sizes), form === "gpt"];
  return {
    "token embedding": vocab_size * d,
    "learned positions": num_positions * d,
    attention: num_layers * (2 * d * d + 2 * d * kv + (gpt ? 2 * d + 2 * kv : 0)),
    "feed-forward": num_layers * (matrices(sizes) * d * d_ff + (gpt ? d_ff + d : 0)),
    norms: (2 * num_layers + 1) * d * (gpt ? 2 : 1),
    "output matrix": gpt ? 0 : vocab_size * d,
  };
}

/** Operations of one step by part, 2 a multiply-add; backward is two forwards. */
export function operationsOf(sizes) {
  const { vocab_size, d_model: d, num_layers, d_ff, num_tokens, batch, recompute } = sizes;
  const tokens = batch * num_tokens;
  const forward = {
    projections: num_layers * 2 * tokens * (2 * d * d + 2 * d * keyWidth(sizes)),
    "feed-forward": num_layers * 2 * tokens * matrices(sizes) * d * d_ff,
    "QKᵀ and PV": num_layers * 4 * tokens * num_tokens * d,
  };
  const parts = Object.fromEntries(Object.entries(forward).map(([name, flops]) => [name, 3 * flops]));
  return { ...parts, "output layer": 6 * tokens * d * vocab_size, "layers once more": recompute ? total(forward) : 0 };
}

/** Numbers saved for the backward pass: pre-norm layers with fused attention, no dropout. */
export function savedNumbers(sizes) {
  const { vocab_size, d_model: d, num_layers, d_ff, num_tokens, batch, form, recompute } = sizes;
  const layer = 6 * d + 2 * keyWidth(sizes) + (form === "llama" ? 4 : 2) * d_ff;
  const layers = recompute ? num_layers * d + layer : num_layers * layer;
  return batch * num_tokens * (layers + 2 * d + vocab_size);
}

const STATES = { sgd: 0, momentum: 1, adam: 2 };

/** Bytes by part. */
export function bytesOf(sizes) {
  const { trained, optimizer, mixed } = sizes;
  const all = total(parameters(sizes));
  const [some, wide] = [Math.round(trained * all), mixed ? 2 : 4];
  return {
    weights: wide * all,
    "float32 copies": mixed ? 4 * some : 0,
    gradients: wide * some,
    "optimizer states": 4 * STATES[optimizer] * some,
    "saved for backward": wide * savedNumbers(sizes),
  };
}

/** All that is said of a model and a step. */
export function costs(sizes) {
  const [byParameters, byOperations, byBytes] = [parameters(sizes), operationsOf(sizes), bytesOf(sizes)];
  const perToken = total(byOperations) / (sizes.batch * sizes.num_tokens);
  const run = perToken * sizes.train_tokens;
  return {
    byParameters, byOperations, byBytes, perToken, run,
    all: total(byParameters), flops: total(byOperations), bytes: total(byBytes),
    days: run / (sizes.petaflops * 1e15) / 86400,
  };
}

/** A duration as a reader says it. */
export function duration(days) {
  const units = [[365.25, "years"], [1, "days"], [1 / 24, "hours"], [1 / 1440, "minutes"], [1 / 86400, "seconds"]];
  const [size, name] = units.find(([unit]) => days >= unit) ?? units.at(-1);
  return `${+(days / size).toPrecision(3)} ${name}`;
}

/** A share as a reader says it. */
export function percent(part, whole) {
  const share = (100 * part) / whole;
  if (!part) return "–";
  if (share < 0.095) return "< 0.1%";
  return `${share >= 9.95 ? Math.round(share) : +share.toPrecision(2)}%`;
}

/** Parts with their words and shares, ready for a table. */
export const rowsOf = (parts, words) =>
  Object.entries(parts).map(([name, part]) => [name, part ? words(part) : "none", percent(part, total(parts)), part / total(parts)]);
