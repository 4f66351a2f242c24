// The budget explorer: a model and a step by part; below, a budget and a law.
import { fill, make, slider, uniqueId, watch, writer } from "./shared.js";
import { costs, count, duration, fitting, inBytes, inFlop, lossAt, optimum, rowsOf } from "./budget_explorer_counts.js";
import { PLOT, drawCurve } from "./budget_explorer_picture.js";

const LABELS = {
  d_model: "width d_model", num_layers: "layers", num_heads: "heads", num_kv_heads: "key/value heads", d_ff: "width d_ff",
  vocab_size: "vocabulary", num_positions: "learned positions", num_tokens: "length", batch: "texts in a step",
  trained: "share trained", train_tokens: "training tokens", petaflops: "Pflop/s sustained",
};
const MODEL = ["d_model", "num_layers", "num_heads", "num_kv_heads", "d_ff", "vocab_size", "num_positions"];
const STEP = ["num_tokens", "batch", "trained", "train_tokens", "petaflops"];
const SHAPE = [...MODEL, "form"];
const FORMS = { gpt: "biases, tied", llama: "gated, untied" };
const OPTIMIZERS = { sgd: "SGD", momentum: "SGD with momentum", adam: "Adam" };
const BUDGET = { min: 1200, max: 2700 };

/** A place of a slider in words. */
export function placed(name, value) {
  if (name === "trained") return `${+(100 * value).toPrecision(2)} %`;
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
    `${inFlop(perToken)} per token, where 6N says ${inFlop(6 * all)} (${off < 0 ? "−" : "+"}${Math.abs(off).toPrecision(2)} %). ` +
    `${count(sizes.train_tokens)} tokens: ${run.toExponential(2).replace("e+", "e")} flop, ${duration(days)}.`
  );
}

/** The second panel in words. */
export function advice(name, law, flops, own) {
  const { N, D, loss } = optimum(law, flops);
  const left = flops / 6 / own;
  return (
    `${name}, ${flops.toExponential(2).replace("e+", "e")} flop: ${count(N)} parameters and ${count(D)} tokens ` +
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
  fill(table, caption, ["part", "how much", "share"], rows.map((row) => row.slice(0, 3)));
  table.querySelector("thead tr").append(make("td"));
  table.querySelectorAll("tbody tr").forEach((line, i) => {
    if (!rows[i][3]) return line.append(make("td"));
    const bar = make("div", { className: "acw-bar", "aria-hidden": "true" });
    bar.style.width = `${(100 * rows[i][3]).toFixed(1)}%`;
    return line.append(make("td", {}, bar));
  });
}

function render({ model, el }) {
  const id = uniqueId();
  const write = writer(model);
  const field = (...inside) => make("div", { className: "acw-field" }, ...inside);
  const select = (name, words, options, changed) => {
    const made = make("select", { id: `${id}-${name}`, onchange: () => changed(made.value) });
    made.append(...Object.entries(options).map(([value, textContent]) => make("option", { value, textContent })));
    return [made, field(make("label", { for: made.id, textContent: words }), made)];
  };
  const tick = (name, words) => {
    const input = make("input", { id: `${id}-${name}`, type: "checkbox", onchange: () => write({ [name]: input.checked }) });
    return [input, make("div", { className: "acw-tick" }, input, make("label", { for: input.id, textContent: words }))];
  };
  const presets = model.get("presets");
  const choices = model.get("choices");
  const own = Object.fromEntries([...Object.keys(presets), "another"].map((name) => [name, name]));
  const [preset, presetField] = select("preset", "model", own, (name) => write(presets[name] ?? {}));
  const [form, formField] = select("form", "form", FORMS, (value) => write({ form: value }));
  const [optimizer, optimizerField] = select("optimizer", "optimizer", OPTIMIZERS, (value) => write({ optimizer: value }));
  const [law, lawField] = select("law", "law", {}, (value) => write({ law: value }));
  const [mixed, mixedField] = tick("mixed", "mixed precision");
  const [recompute, recomputeField] = tick("recompute", "compute layers again");
  const sliders = {};
  const places = (name) => {
    const made = slider(`${id}-${name}`, LABELS[name], { min: 0, max: choices[name].length - 1 }, (i) => write({ [name]: choices[name][i] }));
    sliders[name] = made;
    return field(made.label, made.input, made.output);
  };
  const spend = slider(`${id}-budget`, "budget (flop)", BUDGET, (hundredths) => write({ budget: hundredths / 100 }));
  const said = make("p", { className: "acw-said", "aria-live": "polite" });
  const advised = make("p", { className: "acw-advised", "aria-live": "polite" });
  const tables = [make("table"), make("table"), make("table")];
  const compared = make("table");
  const curve = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  curve.setAttribute("viewBox", `0 0 ${PLOT.wide} ${PLOT.high}`);
  curve.setAttribute("role", "img");
  const legend = (textContent) => make("p", { className: "acw-title", textContent });
  const part = (name, ...inside) => make("div", { role: "group", "aria-label": name }, legend(name), ...inside);
  const controls = (...inside) => make("div", { className: "acw-controls" }, ...inside);
  const scroll = (name, ...inside) => make("div", { className: "acw-scroll", tabIndex: 0, role: "group", "aria-label": name }, ...inside);
  const root = make(
    "div",
    { className: "acw acw-budget", role: "group", "aria-label": "Budget explorer", "data-lm-suppress-shortcuts": "true" },
    part(
      "A model, and one step of its training",
      controls(presetField, formField, ...MODEL.map(places)),
      controls(...STEP.map(places), optimizerField, mixedField, recomputeField),
      said,
      scroll("Costs by part", make("div", { className: "acw-tables" }, ...tables)),
    ),
    part(
      "A budget, and what a law would buy with it",
      controls(lawField, field(spend.label, spend.input, spend.output)),
      advised,
      make("figure", {}, curve),
      scroll("The laws' answers", compared),
    ),
  );

  function update() {
    const names = [...SHAPE, ...STEP, "optimizer", "mixed", "recompute"];
    const sizes = fitting(Object.fromEntries(names.map((name) => [name, model.get(name)])), choices);
    preset.value = named(sizes, presets) ?? "another";
    [form.value, optimizer.value] = [sizes.form, sizes.optimizer];
    [mixed.checked, recompute.checked] = [sizes.mixed, sizes.recompute];
    for (const [name, { input, output }] of Object.entries(sliders)) {
      input.value = choices[name].indexOf(sizes[name]);
      output.textContent = placed(name, sizes[name]);
      input.setAttribute("aria-valuetext", output.textContent);
    }
    sliders.num_positions.input.disabled = sizes.form === "llama";
    const found = costs(sizes);
    said.textContent = sentence(sizes, presets);
    bars(tables[0], `parameters: ${found.all.toLocaleString("en")}`, rowsOf(found.byParameters, count));
    bars(tables[1], `operations of a step: ${inFlop(found.flops)}`, rowsOf(found.byOperations, inFlop));
    bars(tables[2], `bytes of a step: ${inBytes(found.bytes)}`, rowsOf(found.byBytes, inBytes));
    const laws = model.get("laws");
    law.replaceChildren(...Object.keys(laws).map((value) => make("option", { value, textContent: value })));
    law.value = model.get("law");
    const [constants, flops] = [laws[law.value], 10 ** model.get("budget")];
    spend.input.value = Math.round(100 * model.get("budget"));
    spend.output.textContent = flops.toExponential(2).replace("e+", "e");
    spend.input.setAttribute("aria-valuetext", spend.output.textContent);
    advised.textContent = advice(law.value, constants, flops, found.all);
    curve.innerHTML = drawCurve(constants, flops, found.all);
    curve.setAttribute("aria-label", `Loss against parameters along 6ND = C. ${advised.textContent}`);
    fill(compared, "the same budget under each law", ["law", "parameters", "tokens", "per parameter", "loss"], answers(laws, flops));
  }

  el.append(root);
  update();
  const stop = watch(model, [...SHAPE, ...STEP, "optimizer", "mixed", "recompute", "law", "laws", "budget"], update);
  return () => {
    stop();
    root.remove();
  };
}

export default { render };
