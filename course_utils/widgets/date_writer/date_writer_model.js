// Chapter 02's model in JavaScript: a GRU reads a text both ways, a second one looks with additive attention and writes.
import { softmax } from "../numbers.js";
import { half } from "../half.js";

const [START, END, UNKNOWN, FIRST] = [1, 2, 3, 4];
const DIGITS = "-0123456789";
const LONGEST = 11;
const BLOCK = 32;

/** Every number of a model by torch's names, from blocks of Q8_0 in base64: a scale in float16, then 32 signed bytes. */
export function unpack({ weights, layout }) {
  const bytes = Uint8Array.from(atob(weights), (c) => c.charCodeAt(0));
  const signed = new Int8Array(bytes.buffer);
  const all = new Float64Array((bytes.length / (BLOCK + 2)) * BLOCK);
  for (let from = 0, to = 0; from < bytes.length; from += BLOCK + 2, to += BLOCK) {
    const scale = half(bytes[from] | (bytes[from + 1] << 8));
    for (let i = 0; i < BLOCK; i++) all[to + i] = scale * signed[from + 2 + i];
  }
  const state = {};
  let at = 0;
  for (const [name, shape] of layout) {
    const size = shape.reduce((a, b) => a * b, 1);
    state[name] = { data: all.subarray(at, at + size), width: shape.at(-1), rows: shape.length > 1 ? shape[0] : 1 };
    at += size;
  }
  return state;
}

/** A text as the training texts are: lower case, composed letters, one kind of space, no marks of direction. */
export const plain = (text) =>
  text.replace(/\p{Zs}/gu, " ").normalize("NFC").replace(/[\u200e\u200f\u061c]/g, "").toLowerCase().trim();

/** The characters that a text is read by, their numbers, and those that the model does not know. */
export function signsOf(text, alphabet) {
  const known = Array.from(alphabet);
  const signs = Array.from(plain(text));
  return {
    signs,
    tokens: signs.map((sign) => (known.includes(sign) ? FIRST + known.indexOf(sign) : UNKNOWN)),
    unknown: [...new Set(signs.filter((sign) => !known.includes(sign)))],
  };
}

const rowOf = ({ data, width }, i) => data.subarray(i * width, (i + 1) * width);

/** weight · x + bias, as nn.Linear. */
function linear(x, weight, bias) {
  const out = new Float64Array(weight.rows);
  const { data, width } = weight;
  for (let o = 0, at = 0; o < out.length; o++, at += width) {
    let sum = bias.data[o];
    for (let i = 0; i < width; i++) sum += x[i] * data[at + i];
    out[o] = sum;
  }
  return out;
}

/** x · weight, a row vector times a matrix. */
function times(x, weight) {
  const out = new Float64Array(weight.width);
  for (let i = 0; i < x.length; i++)
    for (let o = 0; o < out.length; o++) out[o] += x[i] * weight.data[i * weight.width + o];
  return out;
}

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** The next state of a GRU; `suffix` ends torch's names of its four parts. */
function gru(x, h, state, name, suffix = "") {
  const part = (kind) => state[`${name}.${kind}${suffix}`];
  const [a, b] = [linear(x, part("weight_ih"), part("bias_ih")), linear(h, part("weight_hh"), part("bias_hh"))];
  const size = h.length;
  return h.map((old, i) => {
    const [reset, update] = [sigmoid(a[i] + b[i]), sigmoid(a[size + i] + b[size + i])];
    return (1 - update) * Math.tanh(a[2 * size + i] + reset * b[2 * size + i]) + update * old;
  });
}

function joined(a, b) {
  const out = new Float64Array(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}

/** The states of a text, each from both directions, and the last of each direction. */
function encode(state, tokens) {
  const rows = tokens.map((token) => rowOf(state["encoder.embed.weight"], token));
  const size = state["encoder.gru.weight_hh_l0"].width;
  const run = (inputs, suffix) => {
    let h = new Float64Array(size);
    return inputs.map((x) => (h = gru(x, h, state, "encoder.gru", suffix)));
  };
  const forward = run(rows, "_l0");
  const backward = run([...rows].reverse(), "_l0_reverse").reverse();
  return { states: forward.map((h, i) => joined(h, backward[i])), summary: joined(forward.at(-1), backward[0]) };
}

/**
 * Write what a text says: for each written sign its probabilities and the weights it was read with.
 * @param {number[]} tokens of the text, at least one
 * @returns {{text: string, steps: {token: number, chances: number[], weights: number[]}[], chance: number}}
 */
export function writeDate(state, tokens) {
  const { states, summary } = encode(state, tokens);
  const score = (name) => state[`decoder.context.score.${name}`];
  const keys = states.map((h) => times(h, score("W_k")));
  const v = score("v").data;
  let s = linear(summary, state["decoder.first.weight"], state["decoder.first.bias"]).map(Math.tanh);
  let token = START;
  const steps = [];
  while (steps.length < LONGEST && token !== END) {
    const query = times(s, score("W_q"));
    const weights = softmax(keys.map((key) => key.reduce((sum, k, i) => sum + Math.tanh(query[i] + k) * v[i], 0)));
    const context = new Float64Array(v.length);
    states.forEach((h, j) => h.forEach((x, i) => (context[i] += weights[j] * x)));
    s = gru(joined(rowOf(state["embed.weight"], token), context), s, state, "decoder.cell");
    const chances = softmax(linear(joined(s, context), state["predict.weight"], state["predict.bias"]));
    token = chances.indexOf(Math.max(...chances));
    steps.push({ token, chances, weights });
  }
  const shown = steps.filter((step) => step.token !== END);
  return {
    steps: shown,
    text: shown.map((step) => signOf(step.token)).join(""),
    chance: steps.reduce((product, { token, chances }) => product * chances[token], 1),
  };
}

/** A written sign; the marks that are none are a dot. */
export const signOf = (token) => DIGITS[token - FIRST] ?? "·";

const FORM = /^(\d{4})-(\d\d)-(\d\d)$/;

/** Whether a text is YYYY-MM-DD and a day of the calendar. */
export function isDay(text) {
  const [, year, month, day] = (FORM.exec(text) ?? []).map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return year > 0 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** Whether a text has that form, and is no day. */
export const isNoDay = (text) => FORM.test(text) && !isDay(text);
