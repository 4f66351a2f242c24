// The budget explorer: a model and a step by part; below, a budget and a law.
import { inBytes, inFlop, power } from "../numbers.js";
import { slider } from "../inputs.js";
import { choice, depict, div, fill, make, offer, picture, scroll, shell, spoken, uniqueId, widget } from "../shared.js";
import { costs, count, duration, fitting, lossAt, optimum, rowsOf } from "./budget_explorer_counts.js";
import { PLOT, drawCurve } from "./budget_explorer_picture.js";

const LABELS = {
  d_model: "width d_model", num_layers: "layers", num_heads: "heads", num_kv_heads: "key/value heads", d_ff: "width d_ff",
  vocab_size: "vocabulary", num_positions: "learned positions", num_tokens: "length", batch: "texts per step",
  trained: "share trained", train_tokens: "training tokens", petaflops: "Pflop/s sustained",
};
const MODEL = ["d_model", "num_layers", "num_heads", "num_kv_heads", "d_ff", "vocab_size", "num_positions"];
const STEP = ["num_tokens", "batch", "trained", "train_tokens", "petaflops"];
const SHAPE = [...MODEL, "form"];
const SIZES = [...SHAPE, ...STEP, "optimizer", "mixed", "recompute"];
const FORMS = { gpt: "biases, tied", llama: "gated, untied" };
const OPTIMIZERS = { sgd: "SGD", momentum: "SGD with momentum", adam: "Adam" };
const BUDGET = { min: 1200, max: 2700 };

/** A place of a slider in words. */
export function placed(name, value) {
  if (name === "trained") return `${+(100 * value).toPrecision(2)}%`;
  return name === "train_tokens" ? count(value) : value.toLocaleString("en");
}

/** The published model that has these sizes, if any. */
export const named = (sizes, presets) =>
  Object.keys(presets).find((name) => SHAPE.every((part) => presets[name][part] === sizes[part]));

/** The first panel in words. */
export function sentence(sizes, presets) {
  const { all, flops, bytes, perToken, run, days } = costs(sizes);
  const off = (100 * perToken) / (6 * all) - 100;
  return (
    `${named(sizes, presets) ?? "This model"}: ${count(all)} parameters. ` +
    `A step of ${sizes.batch} × ${sizes.num_tokens.toLocaleString("en")} tokens takes ${inFlop(flops)} and ${inBytes(bytes)}; ` +
    `${inFlop(perToken)} per token, where 6N says ${inFlop(6 * all)} (${off < 0 ? "−" : "+"}${Math.abs(off).toPrecision(2)}%). ` +
    `${count(sizes.train_tokens)} tokens: ${power(run)} flop, ${duration(days)}.`
  );
}

/** The second panel in words. */
export function advice(name, law, flops, own) {
  const { N, D, loss } = optimum(law, flops);
  const left = flops / 6 / own;
  return (
    `${name}, ${power(flops)} flop: ${count(N)} parameters and ${count(D)} tokens ` +
    `(${+(D / N).toPrecision(2)} per parameter), loss ${loss.toFixed(3)}. ` +
    `The model above could read ${count(left)} tokens: loss ${lossAt(law, own, left).toFixed(3)}.`
  );
}

/** What each law makes of a budget. */
export const answers = (laws, flops) =>
  Object.entries(laws).map(([name, law]) => {
    const { N, D, loss } = optimum(law, flops);
    return [name, count(N), count(D), String(+(D / N).toPrecision(2)), loss.toFixed(3)];
  });

function bars(table, caption, rows) {
  const bar = (share) =>
    share ? make("div", { className: "acw-bar", "aria-hidden": "true", style: `width: ${(100 * share).toFixed(1)}%` }) : "";
  const lines = rows.map(([part, much, percent, share]) => [part, much, percent, bar(share)]);
  fill(table, caption, ["part", "how much", "share", ""], lines);
}

export default widget([...SIZES, "law", "laws", "budget"], ({ model, write }) => {
  const id = uniqueId();
  const choose = (name, words, options) =>
    choice(words, (value) => write({ [name]: value }), Object.entries(options));
  const tick = (name, words) => {
    const input = make("input", { id: `${id}-${name}`, type: "checkbox", onchange: () => write({ [name]: input.checked }) });
    return [input, div("acw-tick", input, make("label", { for: input.id, textContent: words }))];
  };
  const presets = model.get("presets");
  const choices = model.get("choices");
  const preset = choice("model", (name) => write(presets[name] ?? {}), [...Object.keys(presets), "another"]);
  const form = choose("form", "form", FORMS);
  const optimizer = choose("optimizer", "optimizer", OPTIMIZERS);
  const law = choose("law", "law", {});
  const [mixed, mixedField] = tick("mixed", "mixed precision");
  const [recompute, recomputeField] = tick("recompute", "compute layers again");
  const among = (name) =>
    slider(LABELS[name], { min: 0, max: choices[name].length - 1 }, (i) => write({ [name]: choices[name][i] }));
  const sliders = Object.fromEntries([...MODEL, ...STEP].map((name) => [name, among(name)]));
  const fields = (names) => names.map((name) => sliders[name].field);
  const spend = slider("budget (flop)", BUDGET, (hundredths) => write({ budget: hundredths / 100 }));
  const said = spoken("acw-said");
  const advised = spoken("acw-advised");
  const tables = [make("table"), make("table"), make("table")];
  const compared = make("table");
  const curve = picture(`0 0 ${PLOT.wide} ${PLOT.high}`);
  const legend = (textContent) => make("p", { className: "acw-title", textContent });
  const part = (name, ...inside) => make("div", { role: "group", "aria-label": name }, legend(name), ...inside);
  const controls = (...inside) => div("acw-controls acw-rows", ...inside);
  const root = shell("budget", "Budget explorer",
    part(
      "A model, and one step of its training",
      controls(preset.field, form.field, ...fields(MODEL)),
      controls(...fields(STEP), optimizer.field, mixedField, recomputeField),
      said,
      scroll("Costs by part", div("acw-tables", ...tables)),
    ),
    part(
      "A budget, and what a law would buy with it",
      controls(law.field, spend.field),
      advised,
      make("figure", {}, curve),
      scroll("The laws' answers", compared),
    ),
  );

  function update() {
    const sizes = fitting(Object.fromEntries(SIZES.map((name) => [name, model.get(name)])), choices);
    preset.select.value = named(sizes, presets) ?? "another";
    [form.select.value, optimizer.select.value] = [sizes.form, sizes.optimizer];
    [mixed.checked, recompute.checked] = [sizes.mixed, sizes.recompute];
    for (const [name, { show }] of Object.entries(sliders)) {
      show(choices[name].indexOf(sizes[name]), placed(name, sizes[name]));
    }
    sliders.num_positions.input.disabled = sizes.form === "llama";
    const found = costs(sizes);
    said.textContent = sentence(sizes, presets);
    bars(tables[0], `parameters: ${found.all.toLocaleString("en")}`, rowsOf(found.byParameters, count));
    bars(tables[1], `operations of a step: ${inFlop(found.flops)}`, rowsOf(found.byOperations, inFlop));
    bars(tables[2], `bytes of a step: ${inBytes(found.bytes)}`, rowsOf(found.byBytes, inBytes));
    const laws = model.get("laws");
    const name = model.get("law");
    offer(law, Object.keys(laws));
    law.select.value = name;
    const [constants, flops] = [laws[name], 10 ** model.get("budget")];
    spend.show(Math.round(100 * model.get("budget")), power(flops));
    advised.textContent = advice(name, constants, flops, found.all);
    depict(curve, `Loss against parameters along 6ND = C. ${advised.textContent}`, drawCurve(constants, flops, found.all));
    fill(compared, "the same budget under each law", ["law", "parameters", "tokens", "per parameter", "loss"], answers(laws, flops));
  }

  return { root, update };
});
