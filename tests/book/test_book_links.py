"""Every link of the built site leads to something that is there, in both editions."""

import re
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.book.book_support import pages


class Links(HTMLParser):
    """Links and resources of a page, and the places in it that a link can name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.places: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"href", "src"} and value:
                self.targets.add(value)
            elif name == "id" and value:
                self.places.add(value)


@pytest.mark.thorough
@pytest.mark.parametrize("edition", ["learner", "instructor"])
def test_links_lead_somewhere(edition: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue("site" if edition == "learner" else "instructor_site")
    read = {name: Links((folder / name).read_text(encoding="utf-8")) for name in pages(edition)}
    broken = defaultdict(list)
    for name, links in read.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = (folder / name).parent.joinpath(unquote(parts.path)).resolve()
            found = there.relative_to(folder).as_posix() if parts.path else name
            places = read[found].places if found in read else {parts.fragment}
            if not (folder / found).exists() or unquote(parts.fragment) not in places:
                broken[name].append(target)
    assert dict(broken) == {}


def test_every_page_says_how_long_it_takes(site: Path) -> None:
    for name in pages():
        text = (site / name).read_text(encoding="utf-8")
        assert text.count('<p class="page-facts">') == 1, name
        assert re.search(r">(core path )?\d+ min\b", text), name


def test_every_page_but_the_ends_has_a_page_before_and_after(site: Path) -> None:
    names = pages()
    for index, name in enumerate(names):
        text = (site / name).read_text(encoding="utf-8")
        around = {"left-prev": names[:index][-1:], "right-next": names[index + 1 :][:1]}
        for kind, expected in around.items():
            found = re.findall(rf'class="{kind}"\s+href="([^"]+)"', text)
            there = [(site / name).parent.joinpath(target).resolve() for target in found]
            assert there == [site / page for page in expected], (name, kind)
