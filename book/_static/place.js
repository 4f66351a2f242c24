// Remembers, in this browser alone, where each chapter was left and whether the placement found it known, and offers to
// go on there.
(() => {
  const kept = courseKept("attention-course");
  const nameOf = (address) => address.match(/notebooks\/(\w+)\.html/)?.[1];
  const here = nameOf(location.pathname);

  const places = () => kept.all();

  function keep(name, place) {
    const before = places()[name];
    kept.put(name, { ...before, ...place, done: place.done || Boolean(before?.done) });
  }

  /** The section being read; none before the first. */
  function look() {
    const read = [...document.querySelectorAll("article h2")].filter(
      (heading) => heading.getBoundingClientRect().top < innerHeight / 2,
    );
    if (!read.length || !scrollY) return;
    const heading = read.at(-1);
    const done = scrollY + innerHeight > document.documentElement.scrollHeight - innerHeight;
    keep(here, { at: Date.now(), id: heading.closest("section").id, title: heading.firstChild.textContent.trim(), done });
  }

  const said = ({ done, id, known }) => (done ? "read" : id ? "begun" : known ? "known" : "");

  function mark() {
    const all = places();
    for (const link of document.querySelectorAll("nav.bd-links a")) {
      const place = all[nameOf(link.href)];
      if (place && said(place)) link.insertAdjacentHTML("beforeend", ` <small class="place">${said(place)}</small>`);
    }
    for (const step of document.querySelectorAll(".front-path li")) {
      const place = all[nameOf(step.querySelector("a").href)];
      if (place && said(place)) step.querySelector("small").append(` · ${said(place)}`);
    }
    const begun = Object.entries(all).filter(([, place]) => place.id && !place.done);
    const [last] = begun.sort(([, a], [, b]) => b.at - a.at);
    const [first] = Object.keys(all).filter((name) => all[name].known === false && !all[name].done).sort();
    const begin = document.querySelector(".front-begin");
    const name = last?.[0] ?? first;
    if (!name || !begin) return;
    const link = document.createElement("a");
    const page = `notebooks/${name}.html`;
    link.href = last ? `${page}#${encodeURIComponent(last[1].id)}` : page;
    link.textContent = last
      ? `Go on: chapter ${name.slice(0, 2)}, ${last[1].title}`
      : `Your answers: start with chapter ${name.slice(0, 2)}`;
    begin.append(link);
  }

  globalThis.coursePlaces = { places, keep };
  addEventListener("DOMContentLoaded", mark);
  let waiting;
  if (here) {
    addEventListener("scroll", () => {
      clearTimeout(waiting);
      waiting = setTimeout(look, 250);
    });
  }
})();
