// Toggle the rules of a mask; see the mask, the weights under it, and what each query reads.
import { inkOn, make, slider, uniqueId, viridis, watch, writer } from "./shared.js";
import {
  EXAMPLES,
  code,
  example,
  keyNames,
  maskOf,
  rowSentence,
  summary,
  weightsUnder,
} from "./mask_playground_rules.js";
import { packingTable } from "./mask_playground_packing.js";

const TRAITS = ["tokens", "on", "offset", "window", "pads", "left", "prefix", "second", "third", "num_queries", "row"];
const RULES = [
  ["causal", "causal", "offset", "offset", (S) => [-S, S]],
  ["window", "window", "window", "keys", (S) => [1, S]],
  ["prefix", "prefix", "prefix", "keys", (S) => [0, S]],
  ["documents", "documents", "second", "second at", (S) => [1, S - 1]],
  ["padding", "padding", "pads", "pads", (S) => [0, S]],
];

function render({ model, el }) {
  const id = uniqueId();
  const write = writer(model);
  let view,
    grids,
    shapeDrawn,
    hovered = null;

  const sizer = (name, words, [min, max]) =>
    slider(`${id}-${name}`, words, { min, max }, (value) => write({ [name]: value }));
  const box = (name, words, onchange) => {
    const input = make("input", { type: "checkbox", id: `${id}-${name}`, onchange });
    return { input, label: make("label", { for: `${id}-${name}` }, input, words) };
  };
  const numTokens = model.get("tokens").length;
  const rules = RULES.map(([rule, words, trait, unit, range]) => {
    const number = sizer(trait, unit, range(numTokens));
    number.input.setAttribute("aria-label", `${words}: ${unit}`);
    const check = box(`on-${rule}`, words, () =>
      write({
        on: RULES.map(([name]) => name).filter((name) =>
          name === rule ? check.input.checked : model.get("on").includes(name),
        ),
      }),
    );
    return { rule, trait, ...number, check };
  });
  const left = box("left", "pads on the left", () => write({ left: left.input.checked }));
  const third = sizer("third", "third document at", [1, numTokens]);
  const packing = packingTable();
  const queries = sizer("num_queries", "queries: the last", [1, numTokens]);
  const examples = make(
    "select",
    {
      id: `${id}-example`,
      onchange: () =>
        examples.selectedIndex && write({ ...example(examples.selectedIndex - 1, numTokens), row: 0 }),
    },
    make("option", { textContent: "your own" }),
    ...EXAMPLES.map(([textContent]) => make("option", { textContent })),
  );
  const said = make("p", { className: "acw-said" });
  const readout = make("p", { className: "acw-readout", "aria-live": "polite" });
  const maskTable = make("table", { className: "acw-mask" });
  const weightTable = make("table", { className: "acw-weights" });
  const python = make("pre", { tabIndex: 0, "aria-label": "This mask in Python" });
  const row = (...parts) => make("div", { className: "acw-rule" }, ...parts);
  const root = make(
    "div",
    {
      className: "acw acw-playground",
      role: "group",
      "aria-label": "Mask playground",
      "data-lm-suppress-shortcuts": "true",
    },
    make(
      "div",
      { className: "acw-rules" },
      row(make("label", { for: `${id}-example`, textContent: "Example" }), examples),
      row(queries.label, queries.input, queries.output),
      ...rules.map(({ check, label, input, output }) => row(check.label, label, input, output)),
      row(left.label),
      row(third.label, third.input, third.output),
    ),
    said,
    make("div", { className: "acw-grids" }, maskTable, weightTable),
    readout,
    packing.table,
    make("details", {}, make("summary", { textContent: "This mask in Python" }), python),
  );

  /** Another number of queries or other names: new tables. */
  function build(names) {
    const L = view.num_queries;
    const S = names.length;
    const head = () =>
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          make("th", { scope: "col", textContent: "query" }),
          ...names.map((name) => make("th", { scope: "col" }, make("span", { textContent: name }))),
        ),
      );
    const fill = (table, caption, header) => {
      const cells = Array.from({ length: L }, () => names.map(() => make("td")));
      const rows = cells.map((line, i) =>
        make(
          "tr",
          {
            onpointerenter: (event) => event.pointerType !== "touch" && point((hovered = i)),
            onpointerleave: () => point((hovered = null)),
            onclick: () => choose(i),
          },
          make("th", { scope: "row" }, header(names[i + S - L], i)),
          ...line,
        ),
      );
      table.classList.toggle("acw-tall", S > 8 || names.some((name) => name.length > 4));
      table.replaceChildren(
        make("caption", { textContent: caption }),
        head(),
        make("tbody", {}, ...rows),
      );
      return { rows, cells };
    };
    const buttons = [];
    const pick = (name, i) => {
      buttons[i] = make("button", { type: "button", textContent: name, onfocus: () => choose(i) });
      return buttons[i];
    };
    grids = [
      fill(maskTable, "Mask: 1 = may look", pick),
      fill(weightTable, "Weights: softmax under the mask", (name) => name),
    ];
    grids.buttons = buttons;
  }

  function choose(i) {
    hovered = null;
    if (i !== view.row) write({ row: i });
    else point();
  }

  /** Mark the row pointed at, else the chosen one, and say what its query reads. */
  function point() {
    const at = Math.min(hovered ?? view.row, view.num_queries - 1);
    for (const { rows } of grids) rows.forEach((line, i) => line.classList.toggle("here", i === at));
    grids.buttons.forEach((button, i) => {
      button.setAttribute("aria-pressed", String(i === at));
      button.tabIndex = i === Math.min(view.row, view.num_queries - 1) ? 0 : -1;
    });
    const now = rowSentence(view, at);
    if (readout.textContent !== now) readout.textContent = now;
  }

  function update() {
    view = Object.fromEntries(TRAITS.map((name) => [name, model.get(name)]));
    const names = keyNames(view);
    const shape = JSON.stringify([names, view.num_queries]);
    if (shape !== shapeDrawn) build(names);
    shapeDrawn = shape;
    for (const { rule, trait, check, input, output } of rules) {
      check.input.checked = view.on.includes(rule);
      const used = check.input.checked || (trait === "offset" && view.on.includes("window"));
      input.disabled = !used;
      input.value = view[trait];
      output.textContent = String(view[trait]).replace("-", "−");
    }
    third.input.disabled = !view.on.includes("documents");
    third.input.value = view.third;
    third.output.textContent = view.third < names.length ? String(view.third) : "none";
    packing.show(view);
    left.input.checked = view.left;
    left.input.disabled = !view.on.includes("padding");
    queries.input.value = view.num_queries;
    queries.output.textContent = `${view.num_queries} of ${names.length}`;
    const same = (traits) =>
      Object.entries(traits).every(([name, value]) =>
        name === "on" ? [...view.on].sort().join() === [...value].sort().join() : view[name] === value,
      );
    examples.selectedIndex = 1 + EXAMPLES.findIndex((_, i) => same(example(i, names.length)));
    const mask = maskOf(view);
    const weights = weightsUnder(mask, names.length);
    mask.forEach((line, i) =>
      line.forEach((seen, j) => {
        const [bit, weight] = grids.map(({ cells }) => cells[i][j]);
        bit.textContent = seen ? "1" : "0";
        bit.className = weight.className = seen ? "seen" : "hidden";
        const colour = viridis(weights[i][j]);
        weight.textContent = seen ? weights[i][j].toFixed(2).replace("0.", ".") : "0";
        weight.style.cssText = seen ? `background:rgb(${colour});color:${inkOn(colour)}` : "";
      }),
    );
    said.textContent = summary(view);
    python.textContent = code(view);
    point();
  }

  maskTable.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey || event.ctrlKey) return;
    const { buttons } = grids;
    const now = buttons.findIndex((button) => button.tabIndex === 0);
    const to = { ArrowUp: now - 1, ArrowDown: now + 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    buttons[Math.min(buttons.length - 1, Math.max(0, to))].focus();
  });

  el.append(root);
  update();
  const stop = watch(model, TRAITS, update);
  return () => {
    stop();
    root.remove();
  };
}

export default { render };
