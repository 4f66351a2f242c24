// Remembers, in this browser alone, where each chapter was left, and offers to go on there.
(() => {
  const KEY = "attention-course";
  const nameOf = (address) => address.match(/notebooks\/(\w+)\.html/)?.[1];
  const here = nameOf(location.pathname);

  function places() {
    try {
      return JSON.parse(localStorage.getItem(KEY)) ?? {};
    } catch {
      return {}; // a browser that keeps nothing
    }
  }

  function keep(place) {
    const all = places();
    all[here] = { ...place, done: place.done || Boolean(all[here]?.done) };
    try {
      localStorage.setItem(KEY, JSON.stringify(all));
    } catch {
      // as above
    }
  }

  /** The section being read; none before the first. */
  function look() {
    const read = [...document.querySelectorAll("article h2")].filter(
      (heading) => heading.getBoundingClientRect().top < innerHeight / 2,
    );
    if (!read.length || !scrollY) return;
    const heading = read.at(-1);
    const done = scrollY + innerHeight > document.documentElement.scrollHeight - innerHeight;
    keep({ at: Date.now(), id: heading.closest("section").id, title: heading.firstChild.textContent.trim(), done });
  }

  const said = (place) => (place.done ? "read" : "begun");

  function mark() {
    const all = places();
    for (const link of document.querySelectorAll("nav.bd-links a")) {
      const place = all[nameOf(link.href)];
      if (place) link.insertAdjacentHTML("beforeend", ` <small class="place">${said(place)}</small>`);
    }
    for (const step of document.querySelectorAll(".front-path li")) {
      const place = all[nameOf(step.querySelector("a").href)];
      if (place) step.querySelector("small").append(` · ${said(place)}`);
    }
    const [last] = Object.entries(all).filter(([, place]) => !place.done).sort(([, a], [, b]) => b.at - a.at);
    const begin = document.querySelector(".front-begin");
    if (!last || !begin) return;
    const [name, { id, title }] = last;
    const link = document.createElement("a");
    link.href = `notebooks/${name}.html#${encodeURIComponent(id)}`;
    link.textContent = `Go on: chapter ${name.slice(0, 2)}, ${title}`;
    begin.append(link);
  }

  addEventListener("DOMContentLoaded", mark);
  let waiting;
  if (here) {
    addEventListener("scroll", () => {
      clearTimeout(waiting);
      waiting = setTimeout(look, 250);
    });
  }
})();
