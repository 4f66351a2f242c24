// One map of a heatmap on the page: its cells on a canvas, its words and the cross above them.
import { make } from "./shared.js";
import { raster } from "./heatmap_values.js";
import { textWidth } from "./heatmap_words.js";
import { drawing } from "./heatmap_picture.js";
import { svg } from "./heatmap_parts.js";

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
  const map = make("div", { className: "acw-map" }, canvas, marks);
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
