// The explanation graph: what two layers of attention say about a prediction, and what hiding a word says.
import { slider } from "../inputs.js";
import { choice, div, fill, folded, make, onWidth, scroll, shell, spoken, svg, widget } from "../shared.js";
import { METHODS, agreement, explained, unpack } from "./explanation_graph_numbers.js";
import { task } from "../task.js";
import { draw, nodeName, rows, sentence, verdict } from "./explanation_graph_picture.js";

const TRAITS = ["method", "layer", "head", "residual", "source", "target"];

export default widget(TRAITS, ({ model, write, read }) => {
  const [tokens, shape] = [model.get("tokens"), model.get("shape")];
  const own = {
    tokens,
    weights: unpack(model.get("weights"), shape),
    gradients: unpack(model.get("gradients"), shape),
    importance: model.get("importance"),
    reader: model.get("reader"),
  };
  let hovered = null; // a node that the pointer is on is shown, but not chosen

  const above = Array.from({ length: shape[0] }, (_, l) => tokens.map((_, i) => [l + 1, i])).reverse().flat();
  const all = {
    method: Object.entries(METHODS),
    source: tokens.map((token, i) => [i, `${i}: ${token}`]),
    target: above.map((node) => [node.join(" "), nodeName(tokens, node)]),
    layer: Array.from({ length: shape[0] }, (_, l) => [l, `${l + 1}`]),
    head: [[-1, "mean of all"], ...Array.from({ length: shape[1] }, (_, h) => [h, `${h + 1}`])],
  };
  const method = choice("ranking", (method) => write({ method }), all.method);
  const source = choice("input token", (value) => write({ source: +value }), all.source);
  const target = choice("node above", (node) => write({ target: node.split(" ").map(Number) }), all.target);
  const layer = choice("layer", (value) => write({ layer: +value }), all.layer);
  const head = choice("head", (value) => write({ head: +value }), all.head);
  const residual = slider("residual's share", { min: 0, max: 10 }, (tenths) => write({ residual: tenths / 10 }));

  const picture = svg("acw-picture");
  const said = spoken("acw-said");
  const agrees = make("p", { className: "acw-agrees" });
  const table = make("table");
  const goal = task("find a ranking whose rank correlation with leave-one-out is above 0.7.");
  const title = make("p", { className: "acw-title", textContent: model.get("title") });
  const frame = div("acw-frame", picture);
  const controls = [method, layer, head, source, target, residual].map(({ field }) => field);
  const root = shell("explanation", "Explanation graph",
    title,
    div("acw-controls", ...controls),
    frame, said, agrees, goal.line,
    folded("As a table", scroll("All values", table)),
  );

  const nodeAt = (event) => {
    const node = event.target?.getAttribute?.("data-node");
    return node ? node.split(" ").map(Number) : null;
  };
  const traits = ([level, position]) => (level ? { target: [level, position] } : { source: position });
  const point = (node) => {
    if (String(node) === String(hovered)) return;
    hovered = node;
    update();
  };
  picture.addEventListener("pointermove", (event) => event.pointerType !== "touch" && point(nodeAt(event)));
  picture.addEventListener("pointerleave", () => point(null));
  picture.addEventListener("click", (event) => {
    const node = nodeAt(event);
    if (node) write(traits(node));
  });

  function update() {
    const kept = read();
    const chosen = { ...kept, ...(hovered ? traits(hovered) : {}) };
    if (chosen.method === "raw") chosen.target = [chosen.layer + 1, chosen.target[1]];
    const found = explained(own, chosen);
    method.select.value = kept.method;
    source.select.value = String(kept.source);
    target.select.value = kept.target.join(" ");
    layer.select.value = String(kept.layer);
    head.select.value = String(kept.head);
    layer.select.disabled = head.select.disabled = kept.method !== "raw";
    residual.input.disabled = kept.method === "raw" || kept.method === "gradient";
    residual.show(Math.round(kept.residual * 10), kept.residual.toFixed(1));
    const wide = Math.max(300, Math.min(880, frame.clientWidth || 640));
    const { at, inside } = draw(own, chosen, found, wide);
    picture.setAttribute("viewBox", `0 0 ${at.wide} ${at.high}`);
    picture.setAttribute("height", at.high);
    picture.setAttribute("width", at.wide);
    picture.innerHTML = inside;
    said.textContent = sentence(own, chosen, found);
    agrees.textContent = verdict(own, chosen, found);
    goal.met(!hovered && agreement(found.values, own.importance, own.reader).signed > 0.7);
    fill(table, "", ["token", METHODS[chosen.method], "place", "leave-one-out", "place"], rows(own, found));
  }

  return { root, update, begin: () => [onWidth(frame, update)] };
});
