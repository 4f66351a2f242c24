// Guesses, questions with options, and lines to write in: all kept in this browser alone.
(() => {
  const kept = courseKept("attention-course-guesses");
  const page = location.pathname.match(/(\d\d_\w+)\.html/)?.[1] ?? location.pathname;

  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  /** What the card asks of Jupyter's model. */
  function modelOf(data, changed) {
    const heard = {};
    return {
      get: (name) => data[name],
      set(name, value) {
        data[name] = value;
        for (const f of heard[`change:${name}`] ?? []) f();
        changed(name, value);
      },
      on: (name, f) => (heard[name] = [...(heard[name] ?? []), f]),
      off: (name, f) => (heard[name] = heard[name].filter((g) => g !== f)),
      save_changes() {},
    };
  }

  /** What shows the answer to a guess: outputs of the cells that follow, and the folded answer behind the last. */
  function covers(cell, count) {
    const found = [];
    let left = count;
    for (let next = cell.nextElementSibling; next; next = next.nextElementSibling) {
      if (next.matches(".cell:has(.guess), h2, h3, section")) break;
      if (next.matches(".cell") && left) {
        left -= 1;
        found.push(...next.querySelectorAll(":scope > .cell_output"));
      } else if (!left && next.matches("details")) return [...found, next];
      else if (!left) break;
    }
    return found;
  }

  function ask(place) {
    const name = place.dataset.guess;
    const given = kept.all()[name] ?? null;
    const covered = covers(place.closest(".cell"), Number(place.dataset.cells));
    const open = () => {
      for (const part of covered) part.removeAttribute("hidden");
      wait.hidden = true;
      dispatchEvent(new Event("resize")); // what was hidden had no width
    };
    const wait = make("p", { className: "guess-waits" }, "What was measured follows your guess. ",
      make("button", { type: "button", textContent: "Show it without a guess", onclick: open }));
    const data = { question: JSON.parse(place.dataset.question), truth: JSON.parse(place.dataset.truth), given, ran: given !== null };
    const model = modelOf(data, (changed, value) => {
      if (changed !== "given" || value === null) return;
      kept.put(name, value);
      model.set("ran", true);
      open();
    });
    place.replaceChildren();
    globalThis.guessCard.render({ model, el: place });
    if (given !== null || !covered.length) return;
    place.append(wait);
    for (const part of covered) {
      part.setAttribute("hidden", "until-found"); // the browser's own search opens it
      part.addEventListener("beforematch", open);
    }
  }

  const letterOf = (item) => item.textContent.trim().match(/^([A-F])\b/)?.[1];

  /** Options become buttons; each shows its own reason, which the folded answer holds. */
  function offer(list, details) {
    const reasons = new Map([...details.querySelectorAll("li")].map((item) => [letterOf(item), item]));
    const options = [...list.children].filter((item) => item.tagName === "LI");
    if (options.length < 2 || !options.every((item) => letterOf(item) && reasons.has(letterOf(item)))) return false;
    list.classList.add("options");
    for (const item of options) {
      const words = item.querySelector(":scope > p") ?? item;
      const reason = reasons.get(letterOf(item));
      const isRight = /^\s*[A-F][^.:]*\bright\b/.test(reason.textContent);
      const says = make("div", { className: `reason ${isRight ? "right" : "wrong"}` });
      says.setAttribute("aria-live", "polite");
      const button = make("button", { type: "button" }, ...words.childNodes);
      for (const link of button.querySelectorAll("a")) link.replaceWith(...link.childNodes); // no button in a button
      button.setAttribute("aria-expanded", "false");
      button.addEventListener("click", () => {
        const opens = !says.childNodes.length;
        says.replaceChildren(...(opens ? [...reason.cloneNode(true).childNodes] : []));
        button.setAttribute("aria-expanded", String(opens));
      });
      item.replaceChildren(button, says);
    }
    return true;
  }

  /** A line to write in, below a question that nothing else asks for. */
  function lineBelow(question, at) {
    const name = `${page} ${at}`;
    const input = make("input", { type: "text", className: "guess-line", value: kept.all()[name] ?? "", placeholder: "Your guess, for yourself", autocomplete: "off" });
    input.setAttribute("aria-label", `Your guess: ${question.textContent.slice(0, 80)}`);
    input.addEventListener("change", () => kept.put(name, input.value));
    question.after(input);
  }

  function followed(question, selector) {
    for (let next = question.nextElementSibling; next && !next.matches("h2, h3, section"); next = next.nextElementSibling) {
      if (next.matches(selector)) return next;
      if (next.matches("p:has(> strong:first-child), .cell")) return null;
    }
    return null;
  }

  function questions() {
    const marks = [...document.querySelectorAll("article p > strong:first-child")];
    const asked = marks.filter((mark) => /^(Predict|Check yourself|Find the error)\b/.test(mark.textContent));
    asked.forEach((mark, at) => {
      const question = mark.parentElement;
      const list = followed(question, "ul");
      const details = list && followed(list, "details");
      if (details && offer(list, details)) return;
      if (followed(question, ".cell:has(.guess)")) return;
      lineBelow(question, at);
    });
  }

  addEventListener("DOMContentLoaded", () => {
    questions();
    for (const place of document.querySelectorAll(".guess[data-question]")) ask(place);
  });
})();
