// The decode stepper: generate token by token and see what is computed, kept, and paid for.
import { slider } from "../inputs.js";
import { choice, depict, div, fill, folded, make, picture, scroll, shell, widget } from "../shared.js";
import { walker } from "../player.js";
import { task } from "../task.js";
import { KINDS, keptHeads, stateAt, stepAt, steps } from "./decode_stepper_steps.js";
import { BARS, barWords, contents, drawBars, rows, sentence } from "./decode_stepper_picture.js";

const FIELDS = {
  prompt: { label: "prompt", min: 1 },
  chunk: { label: "fed at once", min: 1, only: ["mha", "gqa", "mqa", "window"] },
  window: { label: "window", min: 1, max: 16, only: ["window"] },
  num_sinks: { label: "sinks", min: 0, max: 4, only: ["window"] },
  num_layers: { label: "layers", min: 1, max: 96 },
  num_heads: { label: "heads", powers: [0, 5] },
  num_kv_heads: { label: "key/value heads", powers: [0, 5], only: ["gqa"] },
  d_k: { label: "head width d_k", powers: [4, 8] },
  bytes_per_element: { label: "bytes per number", powers: [0, 2] },
};
const BEAT = 900;

export default widget(["kind", "step", ...Object.keys(FIELDS)], ({ model, write, read }) => {
  const tokens = model.get("tokens");

  const reached = () => {
    const { kind, step, ...sizes } = read();
    sizes.total = tokens.length;
    sizes.prompt = Math.min(sizes.prompt, tokens.length - 1);
    sizes.chunk = Math.min(sizes.chunk, sizes.prompt);
    sizes.num_kv_heads = Math.min(sizes.num_kv_heads, sizes.num_heads);
    const of = steps(kind, sizes).length;
    return { kind, sizes, of, count: Math.min(step, of) };
  };
  /** Change what is kept, or how the prompt is fed, and stay at the same position. */
  const change = (traits) => {
    const { kind, sizes, count } = reached();
    const { last } = stateAt(kind, sizes, count);
    for (const [name, value] of Object.entries(traits)) model.set(name, value);
    const now = reached();
    write({ ...traits, step: stepAt(now.kind, now.sizes, last) });
  };

  const said = make("p", { className: "acw-said" });
  const { bar, show: showStep, stop } = walker(BEAT, said, {
    at: () => reached().count, last: () => reached().of, go: (step) => write({ step }),
  });
  const goal = task("choose what to keep, and step until an older token has to make room.");

  const kept = choice("kept", (kind) => change({ kind }), Object.entries(KINDS));
  const sliders = Object.entries(FIELDS).map(([name, { label, powers, min, max }]) => {
    const range = { min: powers?.[0] ?? min, max: powers?.[1] ?? max ?? tokens.length - 1 };
    return { name, ...slider(label, range, (value) => change({ [name]: powers ? 2 ** value : value })) };
  });
  const fields = (names) => sliders.filter(({ name }) => names.includes(name)).map(({ field }) => field);
  const strip = make("div", { className: "acw-strip", "aria-hidden": "true" });
  const holding = make("p", { className: "acw-holding" });
  const cache = make("div", { className: "acw-slots", "aria-hidden": "true" });
  const legend = make("figcaption");
  const bars = picture(`0 0 ${BARS.wide} ${BARS.high}`);
  const table = make("table");
  const root = shell("decode", "Decode stepper",
    div("acw-controls acw-rows", kept.field, ...fields(["prompt"])),
    bar, said, strip, holding, cache,
    make("figure", {}, legend, bars),
    scroll("Costs", table),
    goal.line,
    folded("More settings", div("acw-controls acw-rows", ...fields(Object.keys(FIELDS).slice(1)))),
  );

  const square = (name, ...parts) => make("span", { className: name }, ...parts);
  const small = (textContent) => make("small", { textContent });

  function update() {
    const { kind, sizes, count } = reached();
    const at = stateAt(kind, sizes, count);
    kept.select.value = kind;
    for (const { name, input, show } of sliders) {
      const { powers, only } = FIELDS[name];
      if (name === "chunk") input.max = sizes.prompt;
      if (name === "num_kv_heads") input.max = Math.log2(sizes.num_heads);
      show(powers ? Math.log2(sizes[name]) : sizes[name], sizes[name]);
      input.disabled = Boolean(only) && !only.includes(kind);
    }
    showStep();
    goal.met(at.dropped.length > 0);
    said.textContent = sentence(kind, sizes, count);
    strip.replaceChildren(
      ...tokens.map((token, p) => {
        const known = p < Math.max(sizes.prompt, at.last);
        const fed = p >= at.first && p < at.last;
        const next = p === at.last && at.last >= sizes.prompt;
        return square(`token${fed ? " fed" : known ? " known" : next ? " next" : " later"}`, small(p), known || next ? token : "·");
      }),
    );
    holding.textContent = contents(kind, sizes, count);
    const heads = keptHeads(kind, sizes);
    cache.replaceChildren(
      ...at.held.map((p, slot) => {
        const sink = kind === "window" && slot < sizes.num_sinks;
        const state = p === null ? "empty" : p >= at.first && p < at.last ? "new" : "held";
        const rows = Array.from({ length: heads }, () => square("head"));
        return square(`slot ${state}${sink ? " sink" : ""}`, square("position", p ?? "–"), ...rows, ...(sink ? [small("sink")] : []));
      }),
    );
    cache.classList.toggle("acw-thin", heads > 8);
    legend.textContent = barWords(kind, sizes);
    depict(bars, `${legend.textContent}. ${said.textContent}`, drawBars(kind, sizes, count));
    fill(table, "", ["", "this step", "so far", "so far, no cache"], rows(kind, sizes, count));
  }

  return { root, update, begin: () => [stop] };
});
