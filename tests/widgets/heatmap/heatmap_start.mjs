// The traits of a small heatmap: two heads, two queries, three keys.
import { floats } from "../dom.mjs";

export const START = {
  data: floats(0.1, 0.2, 0.7, 0.3, 0.3, 0.4, 0.5, 0.25, 0.25, 0.05, 0.9, 0.05), encoding: "float32", shape: [1, 2, 2, 3],
  query_tokens: null, key_tokens: ["a", "b", "c"], head_names: ["Head 0", "Head 1"], layer_names: ["Layer 0"],
  title: "Weights", color_range: "auto", view: "first", partner: [0, 1], pair_names: [], layer: 0, head: 0, cell: [0, 0],
};
