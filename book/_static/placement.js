// Asks the placement's questions one at a time, and says where to start after two chapters that are not known. What is
// known is kept where place.js keeps what was read. Without JavaScript the page is a list with folded answers.
addEventListener("DOMContentLoaded", () => {
  const MISSES = 2;
  const { places, keep } = globalThis.coursePlaces;
  const element = (tag, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };
  const button = (textContent, onclick) => element("button", { type: "button", textContent, onclick });

  const questions = [...document.querySelectorAll(".placement")].map((box) => {
    const section = box.closest("section");
    const name = box.dataset.chapter;
    const known = places()[name]?.known;
    return { box, section, name, known, core: box.dataset.core, title: section.querySelector("h2").firstChild.textContent };
  });
  if (!questions.length) return;
  const stage = questions[0].section.parentElement;
  const count = element("p", { className: "placement-count" });
  const result = element("section", { className: "placement-result" });
  stage.append(result);
  let isWhole = false; // all questions are wanted

  const missed = () => questions.filter(({ known }) => known === false);
  const left = () => questions.filter(({ known }) => known === undefined);
  const link = ({ name, title }) => element("a", { href: `notebooks/${name}.html`, textContent: title });

  function settle(question, known) {
    question.known = known;
    keep(question.name, { known });
  }

  /** Turn the list of a question's options into buttons. */
  function dress(question) {
    const list = question.box.querySelector("ul");
    const answer = question.box.querySelector("details");
    const options = element("div", { className: "placement-options" });
    options.setAttribute("role", "group");
    options.setAttribute("aria-label", "Answers");
    const said = element("p", { className: "placement-said" });
    said.setAttribute("aria-live", "polite");
    const choose = (chosen, letter) => {
      if (options.dataset.done) return;
      options.dataset.done = "true";
      const isRight = letter === question.box.dataset.right;
      for (const each of options.children) {
        each.setAttribute("aria-disabled", "true");
        each.setAttribute("aria-pressed", String(each === chosen));
        each.classList.toggle("right", each.dataset.letter === question.box.dataset.right);
      }
      said.textContent = isRight ? "Right." : `${letter ? `Not ${letter}: ` : ""}${question.box.dataset.right} is right.`;
      settle(question, isRight);
      answer.hidden = false;
      answer.open = true;
      question.next.hidden = false;
      question.next.focus();
    };
    for (const item of list.children) {
      const letter = item.textContent.trim()[0];
      const one = button("", () => choose(one, letter));
      one.dataset.letter = letter;
      one.append(...(item.querySelector("p") ?? item).childNodes);
      options.append(one);
    }
    const skip = button("I do not know", () => choose(skip, ""));
    options.append(skip);
    list.replaceWith(options, said);
    answer.hidden = true;
    question.next = button("Next", () => show(true));
    question.next.className = "placement-next";
    question.next.hidden = true;
    question.box.append(question.next);
  }

  function tell() {
    const [first] = missed();
    const known = questions.filter((question) => question.known);
    const heading = element("h2", { tabIndex: -1 });
    result.replaceChildren(heading);
    if (first) {
      heading.append("Start with ", link(first));
      result.append(element("p", { textContent: `Its core path takes ${first.core} minutes.` }));
    } else {
      heading.append("You answered all of them");
      const page = element("a", { href: "notebooks/00_start_here.html", textContent: "first page" });
      result.append(element("p", {}, "Take any chapter and write its exercises: they ask for more. The ", page, " says how."));
    }
    if (first && known.length) {
      const list = element("ul", {}, ...known.map((question) => element("li", {}, link(question))));
      result.append(element("p", { textContent: "You may skim these; their exercises tell whether that is enough." }), list);
    }
    const more = left().length;
    const ways = element("p", { className: "placement-ways" });
    const goOn = () => {
      isWhole = true;
      show(true);
    };
    if (more) ways.append(button(`Go on: ${more} ${more === 1 ? "question" : "questions"} left`, goOn));
    const again = () => {
      for (const { name } of questions) keep(name, { known: undefined });
      location.reload();
    };
    ways.append(button("Begin again", again));
    result.append(ways);
    return heading;
  }

  /** Show the next question, or the result where enough is known; give it the focus after a click. */
  function show(isAsked) {
    const [next] = left();
    const isOver = !next || (!isWhole && missed().length >= MISSES);
    for (const { section } of questions) section.hidden = true;
    result.hidden = !isOver;
    count.hidden = isOver;
    if (!isOver) {
      next.section.hidden = false;
      count.textContent = `Question ${questions.indexOf(next) + 1} of ${questions.length}`;
      next.section.prepend(count);
    }
    const heading = isOver ? tell() : next.section.querySelector("h2");
    heading.tabIndex = -1;
    if (isAsked) heading.focus();
  }

  questions.forEach(dress);
  show(false);
});
