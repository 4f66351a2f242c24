// A heatmap of attention weights that lives without a kernel: its controls, and what they do.
import { format, make, uniqueId, watch, writer } from "./shared.js";
import { colourRange, decode, extent, ranking, raster } from "./heatmap_values.js";
import { labels, naming, sentence, summary, textWidth } from "./heatmap_words.js";
import { cellAt, moved } from "./heatmap_moves.js";
import { drawing, layout, svgFile } from "./heatmap_picture.js";

const THUMB = 68;

/** Fill a canvas with cells at the screen's own resolution. */
function paint(canvas, values, rows, columns, w, h, range, density = globalThis.devicePixelRatio || 1) {
  canvas.width = Math.max(1, Math.round(w * density));
  canvas.height = Math.max(1, Math.round(h * density));
  const context = canvas.getContext("2d");
  if (!context) return;
  const pixels = raster(values, rows, columns, canvas.height, canvas.width, range);
  context.putImageData(new ImageData(pixels, canvas.width, canvas.height), 0, 0);
}

function save(href, name) {
  make("a", { href, download: name }).click();
}

async function savePng(svg, name) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = make("canvas", { width: image.width * 2, height: image.height * 2 });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  save(canvas.toDataURL("image/png"), name);
}

function render({ model, el }) {
  const id = uniqueId();
  const write = writer(model);
  let view,
    all,
    shape,
    extents,
    hovered = null;

  const title = make("p", { className: "acw-title" });
  const layers = make("select", {
    id: `${id}-layer`,
    onchange: () => write({ layer: layers.selectedIndex }),
  });
  const layerField = make("span", {}, make("label", { for: `${id}-layer` }, "Layer"), layers);
  const colours = make("select", {
    id: `${id}-colours`,
    onchange: () => write({ color_range: colours.value }),
  });
  const colourField = make("span", {}, make("label", { for: `${id}-colours` }, "Colours"), colours);
  const heads = make("div", { className: "acw-heads" });
  const headField = make("fieldset", {}, make("legend", { textContent: "Head" }), heads);
  const canvas = make("canvas", { "aria-hidden": "true" });
  const marks = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  marks.setAttribute("aria-hidden", "true");
  const readout = make("p", { className: "acw-readout", id: `${id}-readout`, "aria-live": "polite" });
  const plot = make(
    "div",
    {
      className: "acw-plot",
      tabIndex: 0,
      role: "application",
      "aria-roledescription": "heatmap",
      "aria-describedby": `${id}-readout`,
    },
    canvas,
    marks,
  );
  const said = make("p", { className: "acw-note" });
  const table = make("table");
  const details = make(
    "details",
    { ontoggle: () => fillTable() },
    make("summary", { textContent: "Largest of this row, as a table" }),
    table,
  );
  const fullTitle = () => [model.get("title"), headName()].filter(Boolean).join(" · ");
  const file = () => svgFile(view, fullTitle(), view.values.length > 4096 ? cellImage() : null);
  const fileName = () => (fullTitle() || "heatmap").replace(/[^\p{L}\p{N}]+/gu, "-").toLowerCase();
  const asSvg = () =>
    save(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(file())}`, `${fileName()}.svg`);
  const asPng = () => savePng(file(), `${fileName()}.png`);
  const bar = make(
    "div",
    { className: "acw-bar" },
    layerField,
    colourField,
    make("button", { type: "button", textContent: "Save PNG", onclick: asPng }),
    make("button", { type: "button", textContent: "Save SVG", onclick: asSvg }),
  );
  const figure = make("div", { className: "acw-figure" }, plot, readout);
  const root = make(
    "div",
    { className: "acw acw-heatmap", role: "group", "data-lm-suppress-shortcuts": "true" },
    title,
    bar,
    make("div", { className: "acw-main" }, figure, headField),
    details,
    said,
  );

  const ofHead = (head) => {
    const size = shape[2] * shape[3];
    const start = (model.get("layer") * shape[1] + head) * size;
    return all.subarray(start, start + size);
  };
  function headName() {
    return [
      shape[0] > 1 && model.get("layer_names")[model.get("layer")],
      shape[1] > 1 && model.get("head_names")[model.get("head")],
    ]
      .filter(Boolean)
      .join(", ");
  }
  function cellImage() {
    const sheet = make("canvas");
    paint(
      sheet,
      view.values,
      view.rows,
      view.columns,
      Math.max(view.columns, view.at.w * 2),
      Math.max(view.rows, view.at.h * 2),
      view.range,
      1,
    );
    return sheet.toDataURL("image/png");
  }

  /** New data: decode, and make the controls that fit it. */
  function load() {
    shape = model.get("shape");
    all = decode(model.get("data"), model.get("encoding"));
    extents = extent(all);
    title.textContent = model.get("title");
    title.hidden = !model.get("title");
    root.setAttribute("aria-label", model.get("title") || "Heatmap");
    layers.replaceChildren(...model.get("layer_names").map((name) => make("option", { textContent: name })));
    layerField.hidden = shape[0] < 2;
    headField.hidden = shape[1] < 2;
    heads.replaceChildren(
      ...model
        .get("head_names")
        .map((name, head) =>
          make(
            "label",
            {},
            make("canvas", { "aria-hidden": "true" }),
            make(
              "span",
              {},
              make("input", { type: "radio", name: `${id}-head`, onchange: () => write({ head }) }),
              ` ${name}`,
            ),
          ),
        ),
    );
    const weights = extents.low >= 0 && extents.high <= 1;
    const choices = [
      weights && ["unit", "0 to 1"],
      ["all", weights ? "0 to largest of all" : "all the data"],
      (shape[0] > 1 || shape[1] > 1) && ["head", weights ? "0 to largest of this head" : "this head's data"],
    ];
    colourField.hidden = choices.filter(Boolean).length < 2;
    colours.replaceChildren(
      ...choices.filter(Boolean).map(([value, textContent]) => make("option", { value, textContent })),
    );
    show();
  }

  /** Another head, layer or span of colours. */
  function show() {
    const [, , rows, columns] = shape;
    const [queries, keys] = [model.get("query_tokens"), model.get("key_tokens")];
    const values = ofHead(model.get("head"));
    const range = colourRange(model.get("color_range"), extents, extent(values));
    view = {
      values,
      rows,
      columns,
      queries,
      keys,
      range,
      weights: extents.low >= 0 && extents.high <= 1,
      rowLabels: labels(queries, rows),
      columnLabels: labels(keys, columns),
    };
    layers.selectedIndex = model.get("layer");
    colours.value = range.mode;
    plot.setAttribute("aria-label", `${fullTitle() || "Weights"}. Arrow keys move from cell to cell.`);
    said.textContent =
      summary(view, shape[1], headName()) +
      (view.weights
        ? ""
        : ` Values reach outside 0 to 1: the colours span ${format(range.low)} to ${format(range.high)}.`);
    heads.querySelectorAll("label").forEach((label, head) => {
      label.querySelector("input").checked = head === model.get("head");
      const own = ofHead(head);
      if (shape[1] > 1) {
        paint(
          label.querySelector("canvas"),
          own,
          rows,
          columns,
          THUMB,
          THUMB,
          colourRange(model.get("color_range"), extents, range.mode === "head" ? extent(own) : extents),
        );
      }
    });
    fit();
  }

  /** Another width. */
  function fit() {
    view.at = layout(figure.clientWidth || 560, view.rowLabels, view.columnLabels);
    const { left, top, w, h, width, height } = view.at;
    Object.assign(canvas.style, { left: `${left}px`, top: `${top}px`, width: `${w}px`, height: `${h}px` });
    Object.assign(plot.style, { width: `${width}px`, height: `${height}px` });
    paint(canvas, view.values, view.rows, view.columns, w, h, view.range);
    marks.setAttribute("width", width);
    marks.setAttribute("height", height);
    marks.innerHTML =
      drawing(view) +
      '<path class="under"/><path class="over"/><path class="over here"/>' +
      '<g class="tag"><rect rx="2"/><text text-anchor="end"/></g><g class="tag"><rect rx="2"/><text/></g>';
    view.cross = [...marks.children].slice(-5);
    point();
  }

  /** Put the cross and the readout on the cell under the pointer, else on the chosen one. */
  function point() {
    const [row, column] = hovered ?? model.get("cell");
    const { left, top, cellWidth, cellHeight, w, h, upright } = view.at;
    const [under, over, here, rowTag, columnTag] = view.cross;
    const [x, y] = [left + column * cellWidth, top + row * cellHeight];
    const bands = `M${left} ${y}h${w}v${cellHeight}h${-w}zM${x} ${top}h${cellWidth}v${h}h${-cellWidth}z`;
    under.setAttribute("d", bands);
    over.setAttribute("d", bands);
    here.setAttribute("d", `M${x} ${y}h${cellWidth}v${cellHeight}h${-cellWidth}z`);
    const place = ([box, text], label, width, transform, from) => {
      text.textContent = label;
      box.parentNode.setAttribute("transform", transform);
      for (const [name, value] of Object.entries({ x: from, y: -13, width, height: 17 }))
        box.setAttribute(name, value);
    };
    const rowText = view.rowLabels[row];
    const rowWidth = textWidth(rowText) + 8;
    place(
      rowTag.children,
      rowText,
      rowWidth,
      `translate(${left - 5} ${y + cellHeight / 2 + 4})`,
      4 - rowWidth,
    );
    const columnText = view.columnLabels[column];
    const width = textWidth(columnText) + 8;
    const middle = Math.max(x + cellWidth / 2, upright ? 0 : left + 8);
    columnTag.children[1].setAttribute("text-anchor", upright ? "middle" : "start");
    place(
      columnTag.children,
      columnText,
      width,
      upright ? `translate(${middle} ${top - 6})` : `translate(${middle + 4} ${top - 5}) rotate(-90)`,
      upright ? -width / 2 : -4,
    );
    const now = sentence(view, row, column);
    if (readout.textContent !== now) readout.textContent = now;
    if (details.open) fillTable();
  }

  function fillTable() {
    const [row] = hovered ?? model.get("cell");
    const cells = (tag, ...texts) =>
      texts.map((textContent) => make(tag, { textContent, ...(tag === "th" && { scope: "col" }) }));
    table.replaceChildren(
      make("caption", { textContent: `query ${naming(view.queries, row)}` }),
      make("thead", {}, make("tr", {}, ...cells("th", "key", view.weights ? "weight" : "value"))),
      make(
        "tbody",
        {},
        ...ranking(view.values, row, view.columns, 8).map((c) =>
          make("tr", {}, ...cells("td", naming(view.keys, c), format(view.values[row * view.columns + c]))),
        ),
      ),
    );
  }

  const under = (event) => {
    const box = canvas.getBoundingClientRect();
    return cellAt(event.clientX - box.left, event.clientY - box.top, view.at);
  };
  const hover = (cell) => {
    hovered = cell;
    point();
  };
  plot.addEventListener("pointermove", (event) => hover(under(event)));
  plot.addEventListener("pointerleave", () => hover(null));
  plot.addEventListener("click", (event) => write({ cell: under(event) }));
  plot.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey) return;
    const cell = moved(event.key, event.ctrlKey, model.get("cell"), view.rows, view.columns);
    if (!cell) return;
    event.preventDefault();
    hovered = null;
    write({ cell });
  });

  el.append(root);
  load();
  const stops = [
    watch(model, ["data", "shape", "query_tokens", "key_tokens", "title", "head_names", "layer_names"], load),
    watch(model, ["head", "layer", "color_range"], show),
    watch(model, ["cell"], () => point()),
  ];
  let seen = figure.clientWidth;
  const observer =
    globalThis.ResizeObserver &&
    new ResizeObserver(() => {
      if (figure.clientWidth === seen) return;
      seen = figure.clientWidth;
      requestAnimationFrame(fit);
    });
  observer?.observe(figure);
  return () => {
    stops.forEach((stop) => stop());
    observer?.disconnect();
    root.remove();
  };
}

export default { render };
