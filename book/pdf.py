"""Print the built site to one PDF: `python -m book.pdf [--edition EDITION] [--out FILE]`.

Chromium prints each page in reading order, as a reader's own "Print" would, with answers unfolded
and widgets in their initial state. The parts are joined, with an outline of chapters and sections;
links from page to page lead inside the file. Needs Chromium, and the site from `make book`.
"""

import argparse
import io
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from playwright.sync_api import Browser, Error, Playwright, sync_playwright
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, NumberObject, TextStringObject

from book import contents
from book.contents import ROOT, SITES
from course_utils.environment import find_chromium

HEADINGS = "article h1, article h2, article h3"
# The theme fades unfolded answers in; mathematics and widgets draw themselves.
READY = """async () => {
  dispatchEvent(new Event("beforeprint"));
  await globalThis.MathJax?.startup?.promise;
  await Promise.all(document.getAnimations().map((fading) => fading.finished.catch(() => {})));
  await new Promise((done) => setTimeout(done, 1000));
}"""
FOOT = """<div style="width: 100%; padding: 0 15mm; font: 8px sans-serif; color: #555;
  display: flex; justify-content: space-between"><span>{name}</span>
  <span>{name_short}<span class="pageNumber"></span></span></div>"""
PAPER = {"format": "A4", "scale": 0.8, "print_background": True, "outline": True, "tagged": True}
MARGIN = {"top": "15mm", "bottom": "17mm", "left": "15mm", "right": "15mm"}


def pages(edition: str) -> list[tuple[str, str]]:
    """Return the address below the site, and the title, of every page in reading order."""
    toc = contents.of_edition(contents.project(ROOT)["toc"], edition)
    return [(f"{contents.docname(file)}.html", title) for file, title in contents.titles(toc)]


def launch(playwright: Playwright) -> Browser:
    """Start Chromium: the system's, or the one that Playwright brings.

    Raises:
        Error: There is none; Playwright's message says how to get one.
    """
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    return playwright.chromium.launch(executable_path=find_chromium(), args=options)


def printed(
    browser: Browser, site: Path, names: list[tuple[str, str]]
) -> Iterator[tuple[str, PdfReader]]:
    """Print each page, and yield its name and its part of the PDF."""
    page = browser.new_page(color_scheme="light")
    for name, title in names:
        page.goto((site / name).as_uri(), wait_until="load")
        page.evaluate(READY)
        headings = page.locator(HEADINGS).all_inner_texts()
        title = title or headings[0].removesuffix("#").strip()
        short = f"{title[:2]} · " if title[:2].isdigit() else ""
        part = page.pdf(
            **PAPER, margin=MARGIN, display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOT.format(name=escape(title), name_short=short),
        )  # fmt: skip
        yield name, _with_outline(part, title, headings)
    page.close()


def _with_outline(part: bytes, title: str, headings: list[str]) -> PdfReader:
    """Return a part whose outline begins with its title in the contents.

    Chromium joins the lines of a heading without the space between them, and tells one that opens
    a sheet twice; the page itself is right.
    """
    known = {}
    for text in headings:
        words = text.removesuffix("#").split()
        known["".join(words)] = known["".join(words * 2)] = " ".join(words)
    reader = PdfReader(io.BytesIO(part))
    first = reader.root_object["/Outlines"]["/First"].get_object()  # type: ignore[index]
    nodes = [first]
    while nodes:
        node = nodes.pop()
        key = "".join(str(node["/Title"]).split())
        shown = title if node is first else known.get(key, str(node["/Title"]))
        node[NameObject("/Title")] = TextStringObject(shown)
        nodes += [node[key].get_object() for key in ("/First", "/Next") if key in node]
    return reader


def join(site: Path, parts: Iterator[tuple[str, PdfReader]], title: str) -> PdfWriter:
    """Join the parts; links among the pages of the site become links inside the file."""
    whole = PdfWriter()
    starts: dict[str, int] = {}
    for name, part in parts:
        starts[name] = len(whole.pages)
        whole.append(part)
    for page in whole.pages:
        for reference in page.get("/Annots") or ():
            _turn_inside(reference.get_object(), site, starts, whole)
    whole.add_metadata({"/Title": title})
    whole.compress_identical_objects()
    return whole


def _turn_inside(
    link: DictionaryObject, site: Path, starts: dict[str, int], whole: PdfWriter
) -> None:
    """Let a link to a file of the site lead to that page; to one that is not printed, nowhere."""
    address = str(link.get("/A", {}).get("/URI", ""))
    if not address.startswith("file:"):
        return
    path = Path(unquote(urlsplit(urldefrag(address).url).path))
    name = path.relative_to(site).as_posix() if path.is_relative_to(site) else ""
    del link["/A"]
    if name in starts:
        target = whole.pages[starts[name]].indirect_reference
        top = [target, NameObject("/FitH"), NumberObject(842)]
        link[NameObject("/Dest")] = ArrayObject(top)


def main() -> int:
    """Read the command line and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split(":")[0])
    parser.add_argument("--edition", choices=SITES, default="learner")
    parser.add_argument("--out", type=Path, help="the file (_build/attention[-instructor].pdf)")
    options = parser.parse_args()
    site = ROOT / "_build" / SITES[options.edition]
    suffix = "-instructor" if options.edition == "instructor" else ""
    out = options.out or ROOT / "_build" / f"attention{suffix}.pdf"
    if not (site / "index.html").is_file():
        sys.stderr.write(f"there is no site in {site}: run `make book` first\n")
        return 2
    try:
        title = contents.project(ROOT)["title"]
        with sync_playwright() as playwright:
            browser = launch(playwright)
            whole = join(site, printed(browser, site, pages(options.edition)), title)
            browser.close()
    except Error as error:
        sys.stderr.write(f"{error}\n")
        return 1
    whole.write(out)
    print(f"{out}: {len(whole.pages)} pages, {out.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
