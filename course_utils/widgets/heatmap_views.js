// What a heatmap shows: which maps, under which names, in which colours.
import { colourRange, decode, extent, mapOf } from "./heatmap_values.js";
import { labels } from "./heatmap_words.js";
import { difference, signedRange } from "./heatmap_pair.js";

/** The stacks in the data, one or two, and how far all their values and their differences reach. */
export function unpack(get) {
  const shape = get("shape");
  const all = decode(get("data"), get("encoding"));
  const size = shape.reduce((product, n) => product * n);
  const stacks = get("pair_names").length ? [all.subarray(0, size), all.subarray(size)] : [all];
  const extents = extent(all);
  const apart = stacks[1] ? extent(difference(...stacks)) : null;
  return { shape, stacks, extents, apart, isWeights: extents.low >= 0 && extents.high <= 1 };
}

/** The name of a map by its layer and head, as far as there are several. */
export function mapName(get, layer, head) {
  const [layers, heads] = get("shape");
  return [layers > 1 && get("layer_names")[layer], heads > 1 && get("head_names")[head]].filter(Boolean).join(", ");
}

/** The maps on show, their colours and their title, by what the reader chose. */
export function look(get, held) {
  const { shape, stacks, isWeights } = held;
  const [kind, names] = [get("view"), get("pair_names")];
  const here = [get("layer"), get("head")];
  const there = stacks[1] ? here : get("partner");
  const [queries, keys] = [get("query_tokens"), get("key_tokens")];
  const common = { rows: shape[2], columns: shape[3], queries, keys, weights: isWeights };
  Object.assign(common, { rowLabels: labels(queries, shape[2]), columnLabels: labels(keys, shape[3]) });
  const headName = mapName(get, ...here);
  const first = { ...common, values: mapOf(stacks[0], shape, ...here), name: names[0] ?? headName };
  const partner = names[1] ?? mapName(get, ...there);
  const second = { ...common, values: mapOf(stacks.at(-1), shape, ...there), name: partner };
  const isPair = kind === "side" || kind === "difference";
  const apart = isPair ? difference(first.values, second.values) : null;
  const less = { ...first, values: apart };
  const maps = { first: [first], second: [second], side: [first, second], difference: [less] }[kind];
  const range = rangeOf(get, held, maps.map(({ values }) => extent(values)));
  const between = `${second.name} − ${first.name}`;
  const shown = { side: `${first.name} and ${second.name}`, difference: between }[kind] ?? maps[0].name;
  const named = (map) => (kind === "side" ? map.name : isPair || stacks[1] ? shown : "");
  const views = maps.map((map) => ({ ...map, range, name: named(map) }));
  const of = stacks[1] ? [headName, shown] : [shown];
  const title = [get("title"), ...of].filter(Boolean).join(" · ");
  return { kind, isPair, first, second, apart, views, range, there, headName, title };
}

function rangeOf(get, { extents, apart }, own) {
  const mode = get("color_range");
  const low = Math.min(...own.map((one) => one.low));
  const high = Math.max(...own.map((one) => one.high));
  if (get("view") !== "difference") return colourRange(mode, extents, { low, high });
  const alone = mode === "head" || !apart;
  return { ...signedRange(alone ? { low, high } : apart), mode: alone ? "head" : "all" };
}

/** A small picture of another head of the layer, in the colours of what is shown. */
export function thumb(get, held, head) {
  const { shape, stacks } = held;
  const [a, b] = stacks.map((stack) => mapOf(stack, shape, get("layer"), head));
  const view = b ? get("view") : "first";
  const values = view === "difference" ? difference(a, b) : view === "second" ? b : a;
  const alike = (name) => (name === "view" ? view : get(name));
  return { values, rows: shape[2], columns: shape[3], range: rangeOf(alike, held, [extent(values)]) };
}

/** What the colours may span, each as a value and in words. */
export function spans(get, { shape, stacks, isWeights }) {
  const several = shape[0] > 1 || shape[1] > 1;
  if (get("view") === "difference") {
    if (!stacks[1]) return [["head", "± largest"]];
    return [["all", "± largest of all"], several && ["head", "± largest of this head"]].filter(Boolean);
  }
  const all = ["all", isWeights ? "0 to largest of all" : "all the data"];
  const own = ["head", isWeights ? "0 to largest of this head" : "this head's data"];
  return [isWeights && ["unit", "0 to 1"], all, several && own].filter(Boolean);
}

/** The views there are to choose from, each as a value and in words. */
export function kinds(get, { shape, stacks }) {
  const pair = [["side", "side by side"], ["difference", "difference"]];
  const [first, second] = get("pair_names");
  if (stacks[1]) return [...pair, ["first", first], ["second", second]];
  return shape[0] * shape[1] > 1 ? [["first", "one map"], ...pair] : [];
}
