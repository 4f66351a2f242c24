// The variant explorer: controls, who sees whom, what it costs, and the recorded times.
import { inBytes, inFlop } from "../units.js";
import { slider } from "../inputs.js";
import { choice, depict, div, fill, make, picture, scroll, shell, spoken, widget } from "../shared.js";
import { task } from "../task.js";
import { VARIANTS, costs, plain, share } from "./variant_explorer_costs.js";
import { CURVE, drawCurves, drawPattern, pattern } from "./variant_explorer_picture.js";

const SIZES = ["length", "d_k", "num_heads", "num_kv_heads", "window"];
const LABELS = { length: "tokens n", d_k: "head width d_k", num_heads: "heads", num_kv_heads: "key/value heads", window: "window" };
const POWERS = { length: [7, 17], d_k: [4, 7], num_heads: [0, 5], num_kv_heads: [0, 5], window: [4, 12] };
const WINDOW_IS = { window: "window", strided: "stride", fixed: "block" };

/** What is recorded of a variant at a length, as words. */
export function recorded(variant, curves, length) {
  const { curve, against } = VARIANTS[variant];
  const at = (name) => (curves[name] ?? []).find(([n]) => n === length)?.[1];
  const [ours, theirs] = [at(curve), at(against)];
  if (ours === undefined) return `No time was recorded for ${length} tokens.`;
  const time = `Recorded: ${+ours.toPrecision(3)} ms`;
  if (theirs === undefined) return `${time}.`;
  const times = ours <= theirs ? `${+(theirs / ours).toPrecision(2)} times faster` : `${+(ours / theirs).toPrecision(2)} times slower`;
  return `${time}, ${times} than ${against}.`;
}

/** What the recorded times are, and the sizes they were taken with. */
export function measuredWith(variant) {
  const sizes = ["4 heads of 64", VARIANTS[variant].sizes].filter(Boolean).join(", ");
  return `recorded: milliseconds of one processor thread, both axes logarithmic; ${sizes}, whatever is set above`;
}

/** The picture in words. */
export function sentence(variant, sizes, curves) {
  const [ours, theirs] = [costs(variant, sizes), plain(variant, sizes)];
  const cache = ours.cache === null ? "it cannot generate" : `${share(ours.cache, theirs.cache)} of its cache`;
  const does =
    variant === "full"
      ? "the measure for all others"
      : `${share(ours.flops, theirs.flops)} of plain attention's operations, ${share(ours.table, theirs.table)} of its weights, ${cache}`;
  const { name } = VARIANTS[variant];
  return `${name[0].toUpperCase()}${name.slice(1)}, ${sizes.length} tokens: ${does}. ${recorded(variant, curves, sizes.length)}`;
}

const float32 = (numbers) => inBytes(4 * numbers);

/** The rows of the table. */
export function rows(variant, sizes) {
  const [ours, theirs] = [costs(variant, sizes), plain(variant, sizes)];
  return [
    ["operations", inFlop(ours.flops), inFlop(theirs.flops), share(ours.flops, theirs.flops)],
    ["weights or state", float32(ours.table), float32(theirs.table), share(ours.table, theirs.table)],
    ours.cache === null
      ? ["kept while generating", "not causal", float32(theirs.cache), "–"]
      : ["kept while generating", float32(ours.cache), float32(theirs.cache), share(ours.cache, theirs.cache)],
  ];
}

export default widget(["variant", ...SIZES, "curves"], ({ model, write }) => {
  const names = Object.entries(VARIANTS).map(([value, { name }]) => [value, name]);
  const chosen = choice("variant", (variant) => write({ variant }), names);
  const size = (name) => {
    const [min, max] = POWERS[name];
    return slider(LABELS[name], { min, max }, (power) => write({ [name]: 2 ** power }));
  };
  const sliders = Object.fromEntries(SIZES.map((name) => [name, size(name)]));
  const said = spoken("acw-said");
  const seen = make("figcaption");
  const squares = picture("0 0 264 264");
  const times = make("figcaption");
  const lines = picture(`0 0 ${CURVE.wide} 276`);
  const head = ["one layer, float32", "this", "plain", "share"];
  const table = make("table");
  const goal = task("keep less than a hundredth of what plain attention keeps while it generates.");
  const root = shell("variant", "Variants of attention",
    div("acw-controls acw-rows", chosen.field, ...Object.values(sliders).map(({ field }) => field)),
    said,
    div("acw-both", make("figure", {}, seen, squares), make("figure", {}, times, lines)),
    scroll("Costs", table),
    goal.line,
  );

  function update() {
    const variant = model.get("variant");
    const sizes = Object.fromEntries(SIZES.map((name) => [name, model.get(name)]));
    sizes.num_kv_heads = Math.min(sizes.num_kv_heads, sizes.num_heads);
    chosen.select.value = variant;
    for (const name of SIZES) {
      const { input, label, show } = sliders[name];
      if (name === "num_kv_heads") input.max = Math.log2(sizes.num_heads);
      show(Math.log2(sizes[name]), sizes[name]);
      if (name === "window") label.textContent = WINDOW_IS[variant] ?? "window";
    }
    sliders.num_kv_heads.input.disabled = variant !== "grouped";
    sliders.window.input.disabled = !(variant in WINDOW_IS);
    const curves = model.get("curves");
    said.textContent = sentence(variant, sizes, curves);
    const { says } = pattern(variant, sizes);
    seen.textContent = says;
    depict(squares, `Who sees whom: ${says}`, drawPattern(variant, sizes));
    times.textContent = measuredWith(variant);
    depict(lines, `Recorded times. ${recorded(variant, curves, sizes.length)}`, drawCurves(variant, curves, sizes.length));
    fill(table, "", head, rows(variant, sizes));
    const [kept, all] = [costs(variant, sizes).cache, plain(variant, sizes).cache];
    goal.met(kept !== null && kept < all / 100);
  }

  return { root, update };
});
