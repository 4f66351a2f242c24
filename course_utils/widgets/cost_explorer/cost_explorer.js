// The cost explorer: a model and one step of its training, by part.
import { check, slider } from "../inputs.js";
import { presets } from "../presets.js";
import { choice, div, fill, folded, make, scroll, shell, spoken, widget } from "../shared.js";
import { task } from "../task.js";
import { count, inBytes, inFlop, power } from "../units.js";
import { costs, duration, fitting, rowsOf } from "./cost_explorer_counts.js";

const LABELS = {
  d_model: "width d_model", num_layers: "layers", num_tokens: "length", batch: "texts per step", trained: "share trained",
  num_heads: "heads", num_kv_heads: "key/value heads", d_ff: "width d_ff", vocab_size: "vocabulary",
  num_positions: "learned positions", train_tokens: "training tokens", petaflops: "Pflop/s sustained",
};
const IN_VIEW = ["d_model", "num_layers", "num_tokens", "batch", "trained"];
const SHAPE = ["d_model", "num_layers", "num_heads", "num_kv_heads", "d_ff", "vocab_size", "num_positions", "form"];
const SIZES = [...Object.keys(LABELS), "form", "optimizer", "mixed", "recompute"];
const FORMS = { gpt: "biases, tied", llama: "gated, untied" };
const OPTIMIZERS = { sgd: "SGD", momentum: "SGD with momentum", adam: "Adam" };
const VIEWS = {
  parameters: { words: (found) => `${count(found.all)} parameters`, parts: "byParameters", said: count },
  operations: { words: (found) => `${inFlop(found.flops)} per step`, parts: "byOperations", said: inFlop },
  bytes: { words: (found) => `${inBytes(found.bytes)} in a step`, parts: "byBytes", said: inBytes },
};
const GOAL = { name: "Llama 7B", bytes: 80 * 2 ** 30 };

/** A place of a slider in words. */
export function placed(name, value) {
  if (name === "trained") return `${+(100 * value).toPrecision(2)}%`;
  return name === "train_tokens" ? count(value) : value.toLocaleString("en");
}

/** The published model that has these sizes, if any. */
export const named = (sizes, models) =>
  Object.keys(models).find((name) => SHAPE.every((part) => models[name][part] === sizes[part]));

/** The costs in words. */
export function sentence(sizes, models) {
  const { all, flops, bytes, perToken, run, days } = costs(sizes);
  const off = (100 * perToken) / (6 * all) - 100;
  return (
    `${named(sizes, models) ?? "This model"}: ${count(all)} parameters. ` +
    `A step of ${sizes.batch} × ${sizes.num_tokens.toLocaleString("en")} tokens takes ${inFlop(flops)} and ${inBytes(bytes)}; ` +
    `${inFlop(perToken)} per token, where 6N says ${inFlop(6 * all)} (${off < 0 ? "−" : "+"}${Math.abs(off).toPrecision(2)}%). ` +
    `${count(sizes.train_tokens)} tokens: ${power(run)} flop, ${duration(days)}.`
  );
}

export default widget([...SIZES, "view"], ({ model, write }) => {
  const choose = (name, words, options) =>
    choice(words, (value) => write({ [name]: value }), Object.entries(options));
  const models = model.get("presets");
  const choices = model.get("choices");
  const start = presets("Published models", Object.keys(models), (name) => write(models[name]));
  const form = choose("form", "form", FORMS);
  const optimizer = choose("optimizer", "optimizer", OPTIMIZERS);
  const mixed = check(" mixed precision", (mixed) => write({ mixed }));
  const recompute = check(" compute layers again", (recompute) => write({ recompute }));
  const among = (name) =>
    slider(LABELS[name], { min: 0, max: choices[name].length - 1 }, (i) => write({ [name]: choices[name][i] }));
  const sliders = Object.fromEntries(Object.keys(LABELS).map((name) => [name, among(name)]));
  const fields = (names) => names.map((name) => sliders[name].field);
  const said = spoken("acw-said");
  const views = presets("What is shown by part", Object.keys(VIEWS), (view) => write({ view }));
  const table = make("table");
  const goal = task("fit one step of Llama 7B into 80 GiB.");
  const controls = (...inside) => div("acw-controls acw-rows", ...inside);
  const rest = Object.keys(LABELS).filter((name) => !IN_VIEW.includes(name));
  const root = shell("cost", "Cost explorer",
    start.field,
    controls(...fields(IN_VIEW), optimizer.field, mixed.label, recompute.label),
    said,
    views.field,
    scroll("Costs by part", table),
    goal.line,
    folded("More settings", controls(form.field, ...fields(rest))),
  );

  function update() {
    const sizes = fitting(Object.fromEntries(SIZES.map((name) => [name, model.get(name)])), choices);
    const name = named(sizes, models);
    start.show(name);
    [form.select.value, optimizer.select.value] = [sizes.form, sizes.optimizer];
    [mixed.input.checked, recompute.input.checked] = [sizes.mixed, sizes.recompute];
    for (const [name, { show }] of Object.entries(sliders)) {
      show(choices[name].indexOf(sizes[name]), placed(name, sizes[name]));
    }
    sliders.num_positions.input.disabled = sizes.form === "llama";
    const found = costs(sizes);
    said.textContent = sentence(sizes, models);
    const view = model.get("view");
    views.show(view, Object.values(VIEWS).map(({ words }) => words(found)));
    const { parts, said: words } = VIEWS[view];
    const bar = (share) => {
      const style = `width: ${(100 * share).toFixed(1)}%`;
      return share ? make("div", { className: "acw-bar", "aria-hidden": "true", style }) : "";
    };
    const rows = rowsOf(found[parts], words).map(([part, much, percent, share]) => [part, much, percent, bar(share)]);
    fill(table, "", ["part", "how much", "share", ""], rows);
    goal.met(name === GOAL.name && found.bytes <= GOAL.bytes);
  }

  return { root, update };
});
