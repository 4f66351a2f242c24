// The parts of a drawn plot, as SVG text.
import { escape, mark } from "./shared.js";

export const label = (x, y, text, more = {}) => mark("text", { x, y, ...more }, escape(text));

/** What stands at an axis. */
export const tick = (x, y, text, anchor = "middle") => label(x, y, text, { class: "muted", "text-anchor": anchor });

export const rule = (x1, y1, x2, y2, name) => mark("line", { x1, y1, x2, y2, class: name });

/** Straight lines from point to point, as a path's d. */
export const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
