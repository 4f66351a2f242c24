// What two models wrote at each length, without a kernel: the controls, the symbols and the table.
import { make, uniqueId, watch, writer } from "./shared.js";
import { compare, curvePanel, sentence } from "./length_explorer_drawing.js";

const PART = 10; // symbols in one small table, so that a line can break

function render({ model, el }) {
  const id = uniqueId();
  const write = writer(model);
  const names = model.get("names");
  const curves = model.get("curves");
  const byLength = new Map();
  for (const sample of model.get("samples")) {
    const length = Array.from(sample[0]).length;
    byLength.set(length, [...(byLength.get(length) ?? []), sample.map((text) => Array.from(text))]);
  }
  const lengths = [...byLength.keys()].sort((a, b) => a - b);
  const longest = Math.max(lengths.at(-1), ...curves.flat().map((row) => row[0]));

  const slider = make("input", {
    id: `${id}-length`,
    type: "range",
    min: 0,
    max: lengths.length - 1,
    step: 1,
    oninput: () => write({ length: lengths[+slider.value], example: 0 }),
  });
  const output = make("output", { htmlFor: slider.id });
  const again = make("button", {
    type: "button",
    textContent: "Another example",
    onclick: () =>
      write({ example: (model.get("example") + 1) % byLength.get(model.get("length")).length }),
  });
  const said = make("p", { className: "acw-said", "aria-live": "polite" });
  const parts = make("div", { className: "acw-parts" });
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("viewBox", "0 0 400 188");
  picture.setAttribute("role", "img");
  const numbers = make("table");
  const root = make(
    "div",
    {
      className: "acw acw-lengths",
      role: "group",
      "aria-label": "Copies by length",
      "data-lm-suppress-shortcuts": "true",
    },
    make(
      "div",
      { className: "acw-control" },
      make("label", { for: slider.id, textContent: "source length" }),
      slider,
      output,
      again,
    ),
    make(
      "figure",
      {},
      make("figcaption", { textContent: "Share of symbols copied right (line: mean, band: all runs)" }),
      picture,
    ),
    said,
    parts,
    make("p", { className: "acw-note", textContent: "Framed: wrong. –: nothing written." }),
    make(
      "details",
      {},
      make("summary", { textContent: "Every measured length, as a table" }),
      make("div", { className: "acw-scroll", tabIndex: 0, role: "group", "aria-label": "Accuracies" }, numbers),
    ),
  );

  const cell = ({ symbol, right }) =>
    right
      ? make("td", { textContent: symbol })
      : make(
          "td",
          {},
          make("mark", { textContent: symbol || "–" }),
          make("span", { className: "acw-hidden", textContent: " wrong" }),
        );
  const row = (name, cells) =>
    make("tr", {}, make("th", { scope: "row", textContent: name }), ...cells);

  function part(start, source, copies) {
    const piece = (all) => all.slice(start, start + PART);
    const end = Math.min(start + PART, source.length);
    return make(
      "table",
      {},
      make("caption", { textContent: end === start + 1 ? `symbol ${end}` : `symbols ${start + 1} to ${end}` }),
      make(
        "tbody",
        {},
        row("source", piece(source).map((textContent) => make("td", { textContent }))),
        ...names.map((name, i) => row(name, piece(copies[i]).map(cell))),
      ),
    );
  }

  function update() {
    const length = model.get("length");
    const all = byLength.get(length);
    const [source, ...written] = all[model.get("example") % all.length];
    const copies = written.map((one) => compare(source, one));
    slider.value = lengths.indexOf(length);
    slider.setAttribute("aria-valuetext", `${length} symbols`);
    output.textContent = length;
    again.disabled = all.length < 2;
    said.textContent = sentence(names, source, copies);
    const starts = Array.from({ length: Math.ceil(length / PART) }, (_, i) => i * PART);
    parts.replaceChildren(...starts.map((start) => part(start, source, copies)));
    picture.innerHTML = curvePanel({ names, curves, trained: model.get("trained"), length, longest });
    picture.setAttribute(
      "aria-label",
      `Accuracy against source length up to ${longest}; the numbers are in the table below. Shown: ${length}`,
    );
  }

  const percent = (share) => `${(100 * share).toFixed(0)} %`;
  numbers.append(
    make("caption", { textContent: "Share of symbols right: mean of the runs (lowest to highest)" }),
    make("thead", {}, make("tr", {}, ...["length", ...names].map((textContent) => make("th", { scope: "col", textContent })))),
    make(
      "tbody",
      {},
      ...[...new Set(curves.flat().map((point) => point[0]))]
        .sort((a, b) => a - b)
        .map((n) =>
          row(
            n,
            curves.map((rows) => {
              const found = rows.find((point) => point[0] === n);
              const text = found
                ? `${percent(found[2])} (${percent(found[1])} to ${percent(found[3])})`
                : "not measured";
              return make("td", { textContent: text });
            }),
          ),
        ),
    ),
  );
  el.append(root);
  update();
  const stop = watch(model, ["length", "example"], update);
  return () => {
    stop();
    root.remove();
  };
}

export default { render };
