// What is drawn above the cells of a head grid, its colour bar, and the bars of the output, as SVG marks.
import { escape, format, mark, cividis } from "../shared.js";
import { stepFor } from "../cells.js";
import { percent } from "../heatmap/heatmap_values.js";

/** Tokens at the edges of a map, as many as can be read. */
export function mapLabels(view) {
  const { left, top, cellWidth, cellHeight, rows, columns } = view.at;
  const out = [];
  for (let r = 0; r < rows; r += stepFor(13, cellHeight, !view.queries)) {
    const y = top + (r + 0.5) * cellHeight + 4;
    out.push(mark("text", { x: left - 4, y, "text-anchor": "end" }, escape(view.rowLabels[r])));
  }
  for (let c = 0; c < columns; c += stepFor(13, cellWidth, !view.keys)) {
    const x = left + (c + 0.5) * cellWidth + 4;
    const transform = `translate(${x.toFixed(1)} ${top - 3}) rotate(-90)`;
    out.push(mark("text", { x: 0, y: 0, transform }, escape(view.columnLabels[c])));
  }
  return out.join("");
}

/** The row, the column and the cell that are pointed at; the two tokens stand out. */
export function cross(view, row, column) {
  const { left, top, cellWidth, cellHeight, w, h } = view.at;
  const [x, y] = [left + column * cellWidth, top + row * cellHeight];
  const d = `M${left} ${y}h${w}v${cellHeight}h${-w}zM${x} ${top}h${cellWidth}v${h}h${-cellWidth}z`;
  const here = `M${x} ${y}h${cellWidth}v${cellHeight}h${-cellWidth}z`;
  const turned = `translate(${(x + cellWidth / 2 + 4).toFixed(1)} ${top - 3}) rotate(-90)`;
  return (
    mark("path", { class: "under", d }) +
    mark("path", { class: "over", d }) +
    mark("path", { class: "over here", d: here }) +
    mark(
      "text",
      { class: "token", x: left - 4, y: y + cellHeight / 2 + 4, "text-anchor": "end" },
      escape(view.rowLabels[row]),
    ) +
    mark("text", { class: "token", x: 0, y: 0, transform: turned }, escape(view.columnLabels[column]))
  );
}

/** The colour bar, 150 by 14. */
export function legend(range) {
  const bar = Array.from({ length: 40 }, (_, i) =>
    mark("rect", { x: 34 + i * 2, y: 3, width: 2.5, height: 9, fill: `rgb(${cividis(i / 39)})` }),
  );
  const text = (x, anchor, value) =>
    mark("text", { x, y: 12, "text-anchor": anchor }, escape(value === 0 ? "0" : value === 1 ? "1" : format(value)));
  return text(28, "end", range.low) + bar.join("") + text(120, "start", range.high);
}

/** One bar for each query; the axis ends at 100% or at the largest share. */
export function barDrawing(width, far, rowLabels, positions) {
  const [left, top, high] = [46, 8, 84];
  const slot = Math.min(44, (width - left - 4) / far.length);
  const limit = Math.max(1, ...far.filter(Number.isFinite));
  const y = (share) => top + high * (1 - Math.min(share, limit) / limit);
  const right = left + slot * far.length;
  const out = [0, 0.5, 1].map((part) => {
    const share = part * limit;
    return (
      mark("path", { class: part ? "grid" : "axis", d: `M${left} ${y(share)}H${right}` }) +
      mark("text", { class: "muted", x: left - 6, y: y(share) + 4, "text-anchor": "end" }, percent(share))
    );
  });
  far.forEach((share, query) => {
    const x = left + (query + 0.12) * slot;
    const bar = mark("rect", { x, y: y(share), width: slot * 0.76, height: Math.max(0, y(0) - y(share)) });
    const middle = left + (query + 0.5) * slot;
    const named = query % stepFor(13, slot, positions) === 0;
    const transform = `translate(${(middle + 4).toFixed(1)} ${y(0) + 5}) rotate(-90)`;
    const name = named ? mark("text", { "text-anchor": "end", transform }, escape(rowLabels[query])) : "";
    out.push(mark("g", { "data-query": query }, bar + name));
  });
  const foot = 8 + 7.2 * Math.max(...rowLabels.map((label) => [...label].length));
  return { width: Math.max(right + 4, 160), height: top + high + foot, inside: out.join("") };
}
