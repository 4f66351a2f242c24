// Shows a page's widgets without a kernel, from the widget state that MyST-NB keeps in the page.
// An anywidget runs its own JavaScript, as it does in Jupyter, and so lives as long as it asks Python nothing.
// Any other control shows its last values and results, and says that it needs a kernel.
// A plain script, not a module: a page opened from a folder (file://) may load no modules by address.
(() => {
  const KIND = "application/vnd.jupyter.widget-";
  const states = {};
  const models = new Map();
  const styles = new Set();

  function make(tag, properties) {
    return Object.assign(document.createElement(tag), properties);
  }

  /** The saved state with its binary values put back where they were, as DataViews. */
  function restore({ state, buffers = [] }) {
    const data = structuredClone(state);
    for (const { path, data: text } of buffers) {
      const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
      const holder = path.slice(0, -1).reduce((at, key) => at[key], data);
      holder[path.at(-1)] = new DataView(bytes.buffer);
    }
    return data;
  }

  /** The part of Jupyter's model that an anywidget may use when no kernel listens. */
  function createModel(data) {
    const listeners = new Map();
    const heard = (name) => listeners.get(name) ?? [];
    const emit = (name, ...args) => heard(name).forEach((f) => f(...args));
    const model = {
      get: (name) => data[name],
      set(name, value) {
        const values = typeof name === "string" ? { [name]: value } : name;
        const changed = Object.keys(values).filter((key) => data[key] !== values[key]);
        Object.assign(data, values);
        for (const key of changed) emit(`change:${key}`, model, data[key]);
        if (changed.length) emit("change", model);
      },
      on(names, f) {
        for (const name of names.split(/\s+/)) listeners.set(name, [...heard(name), f]);
      },
      off(names, f) {
        if (!names) listeners.clear();
        for (const name of names?.split(/\s+/) ?? []) {
          listeners.set(name, f ? heard(name).filter((g) => g !== f) : []);
        }
      },
      save_changes() {},
      send() {},
    };
    return model;
  }

  /** Load a widget's module and initialise its model, once however many views show it. */
  async function load(id) {
    const data = restore(states[id]);
    const url = URL.createObjectURL(new Blob([data._esm], { type: "text/javascript" }));
    try {
      const { default: exported } = await import(url);
      const widget = typeof exported === "function" ? await exported() : exported;
      const props = { model: createModel(data), signal: new AbortController().signal, experimental: {} };
      await widget.initialize?.(props);
      return { widget, props };
    } finally {
      URL.revokeObjectURL(url);
    }
  }

  async function showAnywidget(id, el) {
    const css = states[id].state._css;
    if (css && !styles.has(css)) {
      styles.add(css);
      document.head.append(make("style", { textContent: css }));
    }
    if (!models.has(id)) models.set(id, load(id));
    const { widget, props } = await models.get(id);
    if (!widget.render) throw new Error("its module renders nothing");
    await widget.render({ ...props, el });
  }

  /** Append what a control and its parts last showed: values by their labels, text and figures. */
  function appendSaved(id, el, seen = new Set()) {
    if (seen.has(id) || !states[id]) return;
    seen.add(id);
    const { state } = states[id];
    if (state.description && state.value != null) {
      el.append(make("p", { textContent: `${state.description} ${state.value}` }));
    }
    for (const output of state.outputs ?? []) {
      const png = output.data?.["image/png"];
      const text = output.text ?? output.data?.["text/plain"];
      if (png) el.append(make("img", { src: `data:image/png;base64,${png}`, alt: "The control's last figure" }));
      else if (text) el.append(make("pre", { textContent: [text].flat().join("") }));
    }
    const parts = JSON.stringify(state).matchAll(/IPY_MODEL_(\w+)/g);
    for (const [, part] of parts) appendSaved(part, el, seen);
  }

  function explain(el, sentence) {
    el.classList.add("needs-kernel");
    el.prepend(make("p", { textContent: `${sentence} Open the notebook in Jupyter to use it.` }));
  }

  async function show(script) {
    const el = make("div", { className: "course-widget" });
    script.replaceWith(el);
    try {
      const { model_id: id } = JSON.parse(script.textContent);
      if (!states[id]) {
        explain(el, "This control was saved without its state.");
      } else if (states[id].model_module === "anywidget") {
        await showAnywidget(id, el);
      } else {
        explain(el, "This control needs a running kernel; here is what it last showed.");
        appendSaved(id, el);
      }
    } catch (error) {
      console.error(error);
      el.replaceChildren();
      explain(el, `This picture could not be drawn here (${error.message}).`);
    }
  }

  const scripts = (kind) => document.querySelectorAll(`script[type="${KIND}${kind}+json"]`);
  for (const script of scripts("state")) Object.assign(states, JSON.parse(script.textContent).state);
  for (const script of scripts("view")) show(script);
})();
