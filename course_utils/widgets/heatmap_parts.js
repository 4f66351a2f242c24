// Pieces of the page that pictures of weights are made of.
import { make } from "./shared.js";

/** A labelled choice. @param {(select) => void} chosen */
export function choice(id, label, chosen) {
  const select = make("select", { id, onchange: () => chosen(select) });
  return { select, field: make("span", {}, make("label", { for: id }, label), select) };
}

/** Offer these in a choice, each [value, words]; hidden where there is nothing to choose. */
export function offer({ select, field }, options) {
  field.hidden = options.length < 2;
  select.replaceChildren(...options.map(([value, textContent]) => make("option", { value, textContent })));
}

/** Put a caption, a head and rows of texts into a table. */
export function fill(table, caption, head, rows) {
  const line = (tag, texts) =>
    make("tr", {}, ...texts.map((textContent) => make(tag, { textContent, ...(tag === "th" && { scope: "col" }) })));
  table.replaceChildren(
    make("caption", { textContent: caption }),
    make("thead", {}, line("th", head)),
    make("tbody", {}, ...rows.map((texts) => line("td", texts))),
  );
}

/** An SVG element that is no text of its own. */
export function svg(className) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  element.setAttribute("class", className);
  element.setAttribute("aria-hidden", "true");
  return element;
}

/** Call when an element gets another width; returns what stops it. */
export function onWidth(element, fit) {
  let seen = element.clientWidth;
  const observer =
    globalThis.ResizeObserver &&
    new ResizeObserver(() => {
      if (element.clientWidth === seen) return;
      seen = element.clientWidth;
      requestAnimationFrame(fit);
    });
  observer?.observe(element);
  return () => observer?.disconnect();
}
