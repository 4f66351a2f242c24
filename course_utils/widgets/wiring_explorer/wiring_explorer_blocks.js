// The blocks of a wiring, drawn from the inputs at the bottom to the outputs at the top.
import { escape, mark } from "../shared.js";
import { isSplit, parts } from "./wiring_explorer_reach.js";

const [TALL, LOW, BOX] = [96, 82, 136]; // the height of an attention and of a feed-forward part, and the width of a box

const text = (x, y, words, more = {}) => mark("text", { x, y, "text-anchor": "middle", ...more }, escape(words));
const box = (x, y, high, words, kind, below = "") =>
  mark("rect", { x: x - BOX / 2, y, width: BOX, height: high, rx: 4, class: kind }) +
  text(x, y + (below ? 16 : high / 2 + 4.5), words) + (below ? text(x, y + 31, below, { class: "small" }) : "");
const way = (d, kind = "way") => mark("path", { d, class: kind });
const head = (x, y, [dx, dy]) => way(`M${x - 5 * dx - 4 * dy} ${y - 5 * dy - 4 * dx}L${x} ${y}L${x - 5 * dx + 4 * dy} ${y - 5 * dy + 4 * dx}`);

/** Whom a part looks at, in few words. */
export function looks({ wiring, window }, name, isDecoder) {
  const near = window ? `, window ${window}` : "";
  if (name === "feed-forward") return "";
  if (name === "cross-attention") return "keys: the memory";
  if (name === "second attention") return "on itself, sees all";
  if (isDecoder || wiring === "gpt") return `sees no later place${near}`;
  return wiring === "prefix" ? `the source whole${near}` : `sees all${near}`;
}

/** A stack: its layer's parts from `bottom` upwards along the stream at x, boxes at `middle`. */
function stack(view, kinds, x, middle, bottom, isDecoder) {
  const drawn = [];
  const at = {};
  let y = bottom;
  kinds.forEach((name, i) => {
    const [high, norm] = [name === "feed-forward" ? LOW : TALL, `norm${"₁₂₃"[i]}`];
    const size = name === "feed-forward" ? 26 : 40;
    const [top, off] = [y - high + 16, view.pre_norm ? 0 : 12];
    const part = top + 6 + off + (view.pre_norm ? 0 : 2);
    drawn.push(way(`M${x} ${y - 4}H${middle}V${top + off}H${x}`));
    drawn.push(box(middle, part, size, name, "part", looks(view, name, isDecoder)));
    if (view.pre_norm) drawn.push(box(middle, part + size + 6, 20, norm, "norm"));
    drawn.push(mark("circle", { cx: x, cy: top + off, r: 8, class: "plus" }), text(x, top + off + 4.5, "+"));
    if (!view.pre_norm) {
      const side = Math.sign(x - middle) * 26;
      drawn.push(mark("rect", { x: x - 24 - side / 2, y: top - 18, width: 48, height: 18, rx: 4, class: "norm" }), text(x - side / 2, top - 4.5, norm));
    }
    at[name] = part + size / 2;
    y -= high;
  });
  const left = Math.min(x - 12, middle - BOX / 2 - 8);
  const right = Math.max(x + 12, middle + BOX / 2 + 8);
  const frame = mark("rect", { x: left, y: y + 2 - (view.pre_norm ? 0 : 4), width: right - left, height: bottom - y - 2, rx: 8, class: "frame" });
  return { inside: frame + way(`M${x} ${bottom + 14}V${y - 10}`) + drawn.join(""), top: y - 10, at };
}

/** The diagram: where the encoder's boxes are, where the decoder's. */
export function drawBlocks(view) {
  const [split, kinds] = [isSplit(view), parts(view)];
  const tall = (names) => names.reduce((sum, name) => sum + (name === "feed-forward" ? LOW : TALL), 0);
  const high = Math.max(...kinds.map(([, names]) => tall(names)));
  const floor = 118 + high; // the foot of the lowest part
  const names = { in: split ? ["source words", "words so far"] : ["words"], count: split ? [view.num_source, view.num_target] : [view.num_source + view.num_target] };
  const seats = split ? [[18, 104], [382, 296]] : [[282, 196]];
  const made = kinds.map(([, names], i) => stack(view, names, ...seats[i], floor, split && i === 1));
  const times = `× ${view.num_layers}`;
  const inside = made.map(({ inside, top }, i) => {
    const [x, middle] = seats[i];
    const foot =
      way(`M${x} ${floor + 44}V${floor + 14}`) + box(middle, floor + 16, 24, "embed + position", "part") +
      way(`M${middle + Math.sign(x - middle) * (BOX / 2)} ${floor + 28}H${x}`) +
      text(middle, floor + 58, `${names.count[i]} ${names.in[i]}`) + text(x, floor + 58, `${names.count[i]}×d`, { class: "small" });
    return inside + foot + text(middle + Math.sign(middle - x) * 20, top + 2, times, { class: "times" });
  });
  const [x, middle] = seats.at(-1);
  const { top, at } = made.at(-1);
  const last = view.pre_norm ? "norm, linear" : "linear";
  inside.push(way(`M${x} ${top}V44H${middle}`), box(middle, 26, 40, last, "part", "to the vocabulary"), way(`M${middle} 26V20`), head(middle, 18, [0, -1]), text(middle, 12, "next word at each place"));
  if (split) {
    const [encoder] = made;
    const y = encoder.top - 12;
    const reads = at["cross-attention"];
    const end = reads === undefined ? `H200` : `H200V${reads}H${296 - BOX / 2 - 1}`;
    inside.push(way(`M18 ${encoder.top}V${y}${end}`, "way memory"), text(106, y - 8, `${view.pre_norm ? "norm, " : ""}memory${reads === undefined ? ": not read" : ""}`, { class: "memory" }));
    if (reads !== undefined) inside.push(head(296 - BOX / 2 - 1, reads, [1, 0]));
  }
  return { box: `0 0 400 ${floor + 66}`, inside: inside.join("") };
}

/** The diagram in words. */
export function blockWords(view) {
  const all = parts(view).map(([label, names]) => `${label.replace("Every ", "")}: ${names.map((name) => {
    const whom = looks(view, name, label.includes("decoder"));
    return whom ? `${name} (${whom})` : name;
  }).join(", then ")}`);
  const order = view.pre_norm ? "a norm before each part" : "a norm after each sum";
  return `${all.join(". ")}. ${order}, a residual around each part, ${view.num_layers} times.`;
}
