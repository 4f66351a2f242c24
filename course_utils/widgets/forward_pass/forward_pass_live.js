// What the reader may do where Python has the model: write a text, take a head out.
import { button, make, say, spoken, uniqueId } from "../shared.js";
import { withoutSentence } from "./forward_pass_words.js";

const WAITING = "Python is at work, if there is a kernel.";

/** The controls, for the top and below the bars, and `show`, which returns what Python says of the head that is out. */
export function liveParts(model, write) {
  if (!model.get("live")) return { text: [], head: [], show: () => undefined };
  const id = uniqueId();
  const box = make("input", { id, type: "text", maxLength: 400, placeholder: "at most 48 tokens" });
  const read = () => {
    if (box.value.trim()) write({ asked: box.value, told: WAITING });
  };
  box.addEventListener("keydown", (event) => event.key === "Enter" && read());
  const told = spoken("acw-told");
  const toggle = button("Take this head out", () => {
    const [removed, prompt, layer, head] = ["removed", "prompt", "layer", "head"].map((name) => model.get(name));
    write({ removed: removed.length && removed[0] === prompt ? [] : [prompt, layer, head] });
  });
  const change = spoken("acw-change");

  function show({ prompt, removed, without, told: words, position }, seen) {
    say(told, words);
    const out = removed.length > 0 && removed[0] === prompt;
    toggle.textContent = out ? "Put the head back" : "Take this head out";
    const after = out && String(without.removed) === String(removed) ? without : undefined;
    const [, layer, head] = removed;
    say(change, !out ? "" : after ? withoutSentence({ layer, head, position }, seen, after) : WAITING);
    return after;
  }
  const field = make("div", { className: "acw-field acw-own" }, make("label", { for: id, textContent: "your text" }), box, button("Read it", read));
  return { text: [field, told], head: [toggle, change], show };
}
