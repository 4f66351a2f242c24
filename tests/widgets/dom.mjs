// A document and a model, enough to render a widget in node.
import { Window } from "happy-dom";

export const tick = () => new Promise((done) => setTimeout(done, 0));

/** A fresh document with an element to render into; the globals that a module uses point at it. */
export function stage() {
  const window = new Window();
  Object.assign(globalThis, { window, document: window.document, ResizeObserver: undefined });
  const el = window.document.createElement("div");
  window.document.body.append(el);
  return { window, el };
}

/** Jupyter's model with no kernel: get, set, on, off, save_changes, and a count of who still listens. */
export function fakeModel(state) {
  const data = { ...state };
  const heard = new Map();
  return {
    saved: 0,
    get: (name) => data[name],
    set(name, value) {
      if (data[name] === value) return;
      data[name] = value;
      for (const f of heard.get(`change:${name}`) ?? []) f();
    },
    on: (name, f) => heard.set(name, [...(heard.get(name) ?? []), f]),
    off: (name, f) =>
      heard.set(
        name,
        (heard.get(name) ?? []).filter((g) => g !== f),
      ),
    save_changes() {
      this.saved++;
    },
    listeners: () => [...heard.values()].flat().length,
  };
}
