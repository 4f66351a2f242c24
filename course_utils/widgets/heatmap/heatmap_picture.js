// One map of a heatmap: where everything in it stands, its drawing as SVG, and the map on the page with its cells
// on a canvas below that drawing.
import { div, escape, format, inkOn, make, mark, svg } from "../shared.js";
import { stepFor } from "../cells.js";
import { colour, raster, shade, textWidth } from "./heatmap_values.js";

const MAX_CELL = 56;
const MAX_PLOT = 540;
const NAME = 20;
export const GAP = 16;

/** Sizes and places, in CSS pixels, of everything in the picture; a named one has its name on top. */
export function layout(width, rowLabels, columnLabels, named = false) {
  const [rows, columns] = [rowLabels.length, columnLabels.length];
  const left = 26 + Math.max(...rowLabels.map(textWidth));
  const room = Math.max(80, Math.min(MAX_PLOT, width - left - 14));
  const square = Math.min(MAX_CELL, room / columns, MAX_PLOT / rows);
  const crisp = (size) => (size > 6 ? Math.floor(size) : size);
  const cellWidth = crisp(Math.max(square, Math.min(MAX_CELL, room / columns, 110 / columns)));
  const cellHeight = crisp(Math.max(square, Math.min(MAX_CELL, 110 / rows)));
  const widest = Math.max(...columnLabels.map(textWidth));
  const upright = widest + 4 <= cellWidth;
  const top = (named ? NAME : 0) + 22 + (upright ? 16 : widest + 4);
  const [w, h] = [cellWidth * columns, cellHeight * rows];
  const whole = { width: left + Math.max(w + 10, 170), height: top + h + 42 };
  return { left, top, cellWidth, cellHeight, w, h, upright, rows, columns, ...whole };
}

/** Axes, labels, values where they fit, and the colour bar, as SVG marks; the cells lie below them. */
export function drawing(view) {
  const { at, rowLabels, columnLabels, values, range, queries, keys } = view;
  const { left, top, cellWidth, cellHeight, w, h, upright, rows, columns } = at;
  const out = [];
  const text = (x, y, inside, more = {}) => out.push(mark("text", { x, y, ...more }, escape(inside)));
  if (view.name) text(left, 13, view.name, { class: "name" });
  text(left + w / 2, view.name ? 12 + NAME : 12, "key", { class: "muted", "text-anchor": "middle" });
  const turned = `translate(11 ${top + h / 2}) rotate(-90)`;
  text(0, 0, "query", { class: "muted", "text-anchor": "middle", transform: turned });
  const rowStep = stepFor(15, cellHeight, !queries);
  for (let r = 0; r < rows; r += rowStep) {
    text(left - 5, top + (r + 0.5) * cellHeight + 4, rowLabels[r], { "text-anchor": "end" });
  }
  const columnStep = stepFor(upright ? 1 : 15, cellWidth, !keys);
  for (let c = 0; c < columns; c += columnStep) {
    const x = left + Math.max((c + 0.5) * cellWidth, upright ? 0 : 8);
    if (upright) text(x, top - 6, columnLabels[c], { "text-anchor": "middle" });
    else
      text(0, 0, columnLabels[c], { transform: `translate(${(x + 4).toFixed(1)} ${top - 5}) rotate(-90)` });
  }
  if (Math.min(cellWidth, cellHeight) >= 14) {
    const lines = [];
    for (let r = 1; r < rows; r++) lines.push(`M${left} ${top + r * cellHeight}h${w}`);
    for (let c = 1; c < columns; c++) lines.push(`M${left + c * cellWidth} ${top}v${h}`);
    out.push(mark("path", { class: "gaps", d: lines.join("") }));
  }
  if (cellWidth >= 36 && cellHeight >= 20) {
    values.forEach((value, i) => {
      const finite = Number.isFinite(value);
      const short = finite
        ? value.toFixed(2).replace("-0.00", "0.00").replace("-", "−")
        : { NaN: "NaN", Infinity: "∞", "-Infinity": "−∞" }[value];
      const style = finite
        ? `fill:${inkOn(colour(range, value))}`
        : "fill:#000;stroke:#c8c8c8;stroke-width:4;paint-order:stroke";
      const x = left + ((i % columns) + 0.5) * cellWidth;
      const y = top + (Math.floor(i / columns) + 0.5) * cellHeight + 4;
      text(x, y, short, { "text-anchor": "middle", style });
    });
  }
  const y = top + h + 14;
  for (let i = 0; i < 40; i++) {
    out.push(mark("rect", { x: left + i * 4, y, width: 4.5, height: 9, fill: `rgb(${shade(range, i / 39)})` }));
  }
  text(left, y + 23, format(range.low));
  text(left + 160, y + 23, format(range.high), { "text-anchor": "end" });
  return out.join("");
}

/** One map's cells: rectangles, or one image where there are many. */
function cells(view, image) {
  const { left, top, cellWidth, cellHeight, w, h, columns } = view.at;
  if (image) return mark("image", { href: image, x: left, y: top, width: w, height: h, preserveAspectRatio: "none" });
  const drawn = Array.from(view.values, (value, i) => {
    const [x, y] = [left + (i % columns) * cellWidth, top + Math.floor(i / columns) * cellHeight];
    const fill = Number.isFinite(value) ? `rgb(${colour(view.range, value)})` : "#c8c8c8";
    const box = mark("rect", { x, y, width: cellWidth, height: cellHeight, fill });
    if (Number.isFinite(value)) return box;
    return box + mark("path", { d: `M${x} ${y + cellHeight}l${cellWidth} ${-cellHeight}`, stroke: "#464646" });
  });
  return drawn.join("");
}

/**
 * What is shown as a file of its own, maps from left to right: small ones all vectors, large ones with the
 * cells as one image. @param {(string|null)[]} images one for each view
 */
export function svgFile(views, title, images) {
  const style =
    "text{font:12px Arial,Helvetica,sans-serif;fill:#1b1f24}.muted{fill:#545d68}.gaps{stroke:#fff;fill:none}" +
    ".title{font-size:15px;font-weight:bold}.name{font-weight:bold}";
  const rise = title ? 30 : 6;
  let across = 0;
  const maps = views.map((view, i) => {
    const transform = `translate(${across} ${rise})`;
    across += view.at.width + (i + 1 < views.length ? GAP : 0);
    return mark("g", { transform }, cells(view, images[i]) + drawing(view));
  });
  const width = Math.max(across, title ? title.length * 8.5 + 16 : 0) + 8;
  const size = { width, height: Math.max(...views.map((view) => view.at.height)) + rise };
  return mark(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", ...size, viewBox: `0 0 ${size.width} ${size.height}` },
    mark("style", {}, style) +
      mark("rect", { width: "100%", height: "100%", fill: "#fff" }) +
      (title ? mark("text", { class: "title", x: 8, y: 20 }, escape(title)) : "") +
      maps.join(""),
  );
}

/** Fill a canvas with cells at the screen's own resolution. */
export function paint(canvas, { values, rows, columns, range }, w, h, density = globalThis.devicePixelRatio || 1) {
  canvas.width = Math.max(1, Math.round(w * density));
  canvas.height = Math.max(1, Math.round(h * density));
  const context = canvas.getContext("2d");
  if (!context) return;
  const pixels = raster(values, rows, columns, canvas.height, canvas.width, range);
  context.putImageData(new ImageData(pixels, canvas.width, canvas.height), 0, 0);
}

/** A map that can be drawn again and again: `draw(view)`, then `point(row, column)`. */
export function panel() {
  const canvas = make("canvas", { "aria-hidden": "true" });
  const marks = svg("acw-marks");
  const map = div("acw-map", canvas, marks);
  let view, cross;

  function draw(shown) {
    view = shown;
    const { left, top, w, h, width, height } = view.at;
    Object.assign(canvas.style, { left: `${left}px`, top: `${top}px`, width: `${w}px`, height: `${h}px` });
    Object.assign(map.style, { width: `${width}px`, height: `${height}px` });
    paint(canvas, view, w, h);
    marks.setAttribute("width", width);
    marks.setAttribute("height", height);
    marks.innerHTML =
      drawing(view) +
      '<path class="under"/><path class="over"/><path class="over here"/>' +
      '<g class="tag"><rect rx="2"/><text text-anchor="end"/></g><g class="tag"><rect rx="2"/><text/></g>';
    cross = [...marks.children].slice(-5);
  }

  function name([box, text], label, width, transform, x) {
    text.textContent = label;
    box.parentNode.setAttribute("transform", transform);
    for (const [side, value] of Object.entries({ x, y: -13, width, height: 17 })) box.setAttribute(side, value);
  }

  function point(row, column) {
    const { left, top, cellWidth, cellHeight, w, h, upright } = view.at;
    const [under, over, here, rowTag, columnTag] = cross;
    const [x, y] = [left + column * cellWidth, top + row * cellHeight];
    const bands = `M${left} ${y}h${w}v${cellHeight}h${-w}zM${x} ${top}h${cellWidth}v${h}h${-cellWidth}z`;
    under.setAttribute("d", bands);
    over.setAttribute("d", bands);
    here.setAttribute("d", `M${x} ${y}h${cellWidth}v${cellHeight}h${-cellWidth}z`);
    const [rowText, columnText] = [view.rowLabels[row], view.columnLabels[column]];
    const [rowWidth, width] = [textWidth(rowText) + 8, textWidth(columnText) + 8];
    name(rowTag.children, rowText, rowWidth, `translate(${left - 5} ${y + cellHeight / 2 + 4})`, 4 - rowWidth);
    const middle = Math.max(x + cellWidth / 2, upright ? 0 : left + 8);
    columnTag.children[1].setAttribute("text-anchor", upright ? "middle" : "start");
    name(
      columnTag.children,
      columnText,
      width,
      upright ? `translate(${middle} ${top - 6})` : `translate(${middle + 4} ${top - 5}) rotate(-90)`,
      upright ? -width / 2 : -4,
    );
  }

  /** The cells alone, at twice their size or one pixel each. */
  function image() {
    const sheet = make("canvas");
    paint(sheet, view, Math.max(view.columns, view.at.w * 2), Math.max(view.rows, view.at.h * 2), 1);
    return sheet.toDataURL("image/png");
  }

  return { map, canvas, draw, point, image };
}
