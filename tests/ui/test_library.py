"""The library on the page: its table, its papers and its changes."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.embed import Embedder
from rag.feedback import Feedback
from rag.lexical import LexicalIndex
from rag.library import Library
from rag.records import Paper, Skipped, Source
from rag.splits import place_of
from rag.sync import Progress, Report, decide, sync
from serve.gate import Access
from tests.ui.conftest import script
from tests.ui.test_settings import Chooser
from ui.app import build_page, start
from ui.papers import paper_html, report_html, rows_html
from ui.quality_view import Measured
from ui.shelf import Look, Shelf, similar
from ui.sources import card


def paper(number: int, label: str, abstract: str = "An abstract.", **more: Any) -> Paper:
    return Paper(f"{number:03}", label, abstract, sources=(Source(f"{number % 2}.txt", number),), **more)


PAPERS = [
    paper(1, "Zebra", "It prunes graphs.", year=2020, authors=("Bo Li",)),
    paper(2, "Apple", "It cooks graphs and graphs.", year=2024),
    paper(3, "Mango Graph", "Fruit <b>salad</b>.", authors=("Al Ko", "B", "C"), title="Mango Graph: a fruit"),
]


@pytest.fixture
def shelf() -> Shelf:
    return Shelf(PAPERS, LexicalIndex.build(PAPERS))


@pytest.mark.parametrize(
    ("look", "found"),
    [
        (Look(), ["002", "001", "003"]),
        (Look(down=True), ["003", "001", "002"]),
        (Look(sort="label"), ["002", "003", "001"]),
        (Look(sort="authors"), ["003", "001", "002"]),
        (Look(sort="year"), ["001", "002", "003"]),
        (Look(sort="year", down=True), ["002", "001", "003"]),
        (Look(source="1.txt"), ["001", "003"]),
        (Look(year=2024), ["002"]),
        (Look(search="mango gr", sort="relevance"), ["003"]),
        (Look(search="graphs", sort="relevance"), ["002", "001", "003"]),
        (Look(search="bo li"), ["001"]),
        (Look(search="2024"), ["002"]),
        (Look(search="nowhere"), []),
    ],
)
def test_the_table_is_searched_filtered_and_sorted(shelf: Shelf, look: Look, found: list[str]) -> None:
    assert shelf.find(look) == found
    assert shelf.sources == [("0.txt", 1), ("1.txt", 2)]
    assert shelf.years == [(2024, 1), (2020, 1)]


@given(
    st.lists(
        st.builds(
            Paper,
            paper_id=st.text("abc", min_size=1),
            label=st.text("xy z"),
            abstract=st.text("uvw "),
            year=st.none() | st.integers(1990, 2030),
        ),
        unique_by=lambda p: p.paper_id,
        min_size=1,
        max_size=12,
    ),
    st.sampled_from(["place", "label", "authors", "year", "relevance"]),
    st.booleans(),
)
def test_every_order_of_the_table_holds_every_paper_once(papers: list[Paper], sort: str, down: bool) -> None:
    found = Shelf(papers, LexicalIndex.build(papers)).find(Look(sort=sort, down=down))
    assert sorted(found) == sorted(p.paper_id for p in papers)


def test_rows_and_papers_show_text_of_sources_as_text() -> None:
    wicked = paper(4, "<b>W</b>", "<script>x</script> $x^2$", url="javascript:alert(1)", doi='10.1/"><i>')
    for html in (rows_html([wicked], 7), paper_html(wicked, [wicked], [])):
        assert "<script" not in html
        assert "<b>" not in html
        assert "<i>" not in html
        assert "javascript" not in html
    assert 'aria-rowindex="9"' in rows_html([wicked], 7)
    assert "<math>" in paper_html(wicked, [], [])


def test_a_title_is_shown_whole_and_once() -> None:
    long = paper(5, "Deep k and…", title="Deep $k$ and wide nets")
    for html in (rows_html([long], 0), paper_html(long, [], []), card(long, (), 0, kind="found")):
        assert html.count("and wide nets") - html.count("What does Deep k and wide nets do") == 1
        assert "and…" not in html
    assert "Mango Graph</h2>" in paper_html(PAPERS[2], [], [])
    assert "Mango Graph: a fruit</p>" in paper_html(PAPERS[2], [], [])


def test_a_paper_shows_what_was_merged_into_it_with_a_way_back() -> None:
    merge = {
        "kind": "merge",
        "source": {"file": "b.txt", "row": 2},
        "record_id": "r1",
        "paper_id": "001",
        "reasons": ["same title"],
        "scores": {},
    }
    html = paper_html(PAPERS[0], [], [merge, merge | {"paper_id": "002"}])
    assert html.count("b.txt, row 2 <span") == 1
    assert html.count('data-do="split" data-text="b.txt#2"') == 1
    apart = {"kind": "split", "source": {"file": "b.txt", "row": 2}, "paper_id": "001", "apart_from": []}
    assert 'data-do="join" data-text="b.txt#2"' in paper_html(PAPERS[0], [], [apart])


def test_a_report_says_what_was_read_merged_and_skipped_and_why() -> None:
    skipped = (Skipped("a<.txt", 3, "no abstract"), Skipped("b.bin", None, "not text"))
    html = report_html(Report(1500, 1490, 10, skipped, 4, 0, 1, 1485, 9, 1.0), 3)
    assert '<p role="status">1,490 papers now · 4 new · 1 removed · 10 merged in all · 2 skipped in all</p>' in html
    assert "<li>a&lt;.txt, row 3: no abstract</li><li>b.bin: not text</li>" in html


def test_similar_papers_come_nearest_first_and_never_the_paper_itself(seeds_library: Library) -> None:
    fiedler = next(p for p in seeds_library.papers() if p.label == "FiedlerPrune")
    near = similar(seeds_library, fiedler.paper_id, k=5)
    assert len({p.paper_id for p in near} - {fiedler.paper_id}) == 5
    assert any("prun" in p.abstract.lower() for p in near[:2])


class Desk:
    """A small library of its own, indexed for real."""

    def __init__(self, folder: Path, sources: Path, embedder: Embedder) -> None:
        self.missing = "not open"
        self.uploads, self.pictures = folder / "uploads", folder / "pictures"
        self._folder = folder / "library"
        self._embedder = embedder
        self.change([sources], forget=[], on_progress=lambda *_: None)
        self._library = Library(self._folder, embedder)

    def library(self) -> Library:
        return self._library

    def change(self, paths: Sequence[Path], *, forget: Sequence[Path], on_progress: Progress) -> Report:
        return sync(
            self._folder,
            paths,
            lambda: self._embedder,
            embedder_print=self._embedder.fingerprint,
            forget=forget,
            on_progress=on_progress,
        )

    def decide(self, place: str, *, apart: bool) -> Report:
        return decide(
            self._folder,
            place_of(place),
            lambda: self._embedder,
            embedder_print=self._embedder.fingerprint,
            apart=apart,
        )[0]


@contextlib.contextmanager
def served(engine: Any, keeper: Desk, **options: Any) -> Iterator[str]:
    page = build_page(lambda: engine, examples=lambda: ["Which method needs no training?"], keeper=keeper, **options)
    try:
        yield start(page, port=0)
    finally:
        page.close(verbose=False)


@pytest.mark.browser
def test_the_library_is_looked_through_read_added_to_and_taken_from(
    opened: Callable[..., Any], engine: Any, embedder: Embedder, tmp_path: Path
) -> None:
    source = tmp_path / "first.txt"
    source.write_text(
        "We propose DeepGraph, a method that prunes the edges of large graphs before training starts.\n\n"
        "We propose CookNet, a method that learns recipes from pictures of food for most dishes.\n"
    )
    more = tmp_path / "more.txt"
    more.write_text(
        "We propose GraphTrim, a method that removes edges of graphs without any training at all.\n\n"
        "We propose DeepGraph, a method that prunes the edges of large graphs before training starts.\n\n"
        "TBA\n"
    )
    desk = Desk(tmp_path, source, embedder)
    with served(engine, desk) as url:
        page = opened(f"{url}#library", ready=".cw-window .cw-row")
        labels = "[...document.querySelectorAll('.cw-window .cw-label a')].map((e) => e.textContent).sort().join()"
        page.wait_for_function(f"{labels} === 'CookNet,DeepGraph'")
        page.fill("#cw-find-papers", "recipes")
        page.wait_for_function(f"{labels} === 'CookNet'")
        assert page.inner_text(".cw-count") == "1 of 2 papers"
        page.click(".cw-window .cw-row")
        page.wait_for_selector(".cw-near-list >> text=DeepGraph")
        page.fill("#cw-find-papers", "")
        page.set_input_files("#cw-drop input[type=file]", more)
        page.wait_for_selector(
            "#cw-report >> text=3 papers now · 1 new · 1 changed · 1 merged in all · 1 skipped in all"
        )
        page.wait_for_function(f"{labels} === 'CookNet,DeepGraph,GraphTrim'")
        assert "more.txt" in page.inner_text(".cw-source-list")
        page.click(".cw-window >> text=DeepGraph")
        page.wait_for_selector(".cw-paper >> text=more.txt, row 2")
        page.click("[data-do=ask-about]")
        page.wait_for_function("document.querySelector('#cw-box textarea').value.includes('DeepGraph')")
        page.click("[data-view-link=map]")
        page.wait_for_selector("#cw-map-said >> text=3 papers")
        at = page.evaluate(
            """async () => {
                const given = await window.citewell.ask("map", "atlas", {});
                const bytes = Uint8Array.from(atob(given.places), (sign) => sign.charCodeAt(0));
                const [x, y] = new Uint16Array(bytes.buffer);
                const box = document.querySelector("#cw-canvas").getBoundingClientRect();
                const on = (place, from, size) => from + 28 + (place / 65535) * (size - 56);
                return { x: on(x, box.left, box.width), y: on(y, box.top, box.height) };
            }"""
        )
        page.mouse.move(at["x"], at["y"])
        page.wait_for_function("!document.querySelector('.cw-tip').hidden")
        page.mouse.click(at["x"], at["y"])
        page.wait_for_function("location.hash.startsWith('#paper/')")
        page.click('[data-do=remove-source][aria-label="Remove more.txt"]')
        page.click("text=Really remove?")
        page.wait_for_selector("#cw-report >> text=2 papers now · 1 changed · 1 removed")
        page.wait_for_function(f"{labels} === 'CookNet,DeepGraph'")
        assert list(desk.uploads.iterdir()) == []


def test_a_source_that_is_forgotten_goes_and_its_files_stay(tmp_path: Path, embedder: Embedder) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("We propose DeepGraph, a method that prunes the edges of large graphs before training.\n")
    second.write_text("We propose CookNet, a method that learns recipes from pictures of food for most dishes.\n")
    desk = Desk(tmp_path, first, embedder)
    desk.change([second], forget=[], on_progress=lambda *_: None)
    report = desk.change([], forget=[second], on_progress=lambda *_: None)
    assert (report.papers, report.removed) == (1, 1)
    assert desk.library().catalogue.roots() == [str(first)]
    assert second.is_file()


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault_in_any_view(
    opened: Callable[..., Any], engine: Any, embedder: Embedder, tmp_path: Path, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    source = tmp_path / "first.txt"
    source.write_text(
        "We propose DeepGraph, a method that prunes the edges of large graphs before training starts.\n\n"
        "We propose CookNet, a method that learns recipes from pictures of food for most dishes.\n"
    )
    feedback = Feedback(tmp_path)
    feedback.add(script("q?", "q?", ()), "down", "wrong")
    more: dict[str, Any] = {"chooser": Chooser(), "feedback": feedback, "access": Access(this_machine_only=True)}
    with served(
        engine, Desk(tmp_path, source, embedder), report=lambda: Measured("r.json", "<p>x</p>", "a-b"), **more
    ) as url:
        page = opened(url, scheme=scheme)
        faults: dict[str, list[str]] = {}

        def look(view: str) -> None:
            found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
            faults[view] = [
                f"{fault['id']}: {node['html'][:200]}"
                for fault in found
                if fault["impact"] in ("serious", "critical")
                for node in fault["nodes"]
            ]

        look("welcome")
        page.fill("#cw-box textarea", "How does FiedlerPrune work?")
        page.press("#cw-box textarea", "Enter")
        page.wait_for_selector("#cw-past .cw-ref")
        page.wait_for_selector(".cw-talk-link")
        look("answer")
        page.click("[data-view-link=library]")
        page.click(".cw-window .cw-row")
        page.wait_for_selector(".cw-near-list a")
        look("library")
        page.click("[data-view-link=map]")
        page.wait_for_selector(".cw-key li")
        look("map")
        page.click("[data-view-link=check]")
        page.fill("#cw-sentence", "DeepGraph prunes the edges of large graphs.")
        page.click("[data-do=check-sentence]")
        page.wait_for_selector(".cw-verdict")
        assert page.inner_text(".cw-ruling") == "Your papers bear it out."
        look("check")
        page.click("[data-view-link=quality]")
        page.wait_for_selector(".cw-cases li")
        look("quality")
        page.click("[data-view-link=settings]")
        page.fill("#cw-filter-file", "first*")
        page.click("[data-do=apply-filter]")
        page.wait_for_selector("text=2 of 2 papers fit.")
        page.check('[name="cw-llm"][value=server]')
        look("settings")
    assert faults == {view: [] for view in faults}
    assert list(faults) == ["welcome", "answer", "library", "map", "check", "quality", "settings"]


class SlowDesk(Desk):
    """Gives its library out when it is told to."""

    def __init__(self, folder: Path, sources: Path, embedder: Embedder) -> None:
        super().__init__(folder, sources, embedder)
        self.ready = threading.Event()

    def library(self) -> Library:
        assert self.ready.wait(120)
        return super().library()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1440, 1024])
def test_the_table_says_that_it_is_being_filled_and_nothing_of_the_bar_lies_over_another(
    opened: Callable[..., Any], engine: Any, embedder: Embedder, tmp_path: Path, width: int
) -> None:
    source = tmp_path / "000_78485c96e14bfbbe.txt"
    source.write_text("We propose DeepGraph, a method that prunes the edges of large graphs before training starts.\n")
    desk = SlowDesk(tmp_path, source, embedder)
    more: dict[str, Any] = {"chooser": Chooser(), "access": Access(this_machine_only=True)}
    with served(engine, desk, **more) as url:
        page = opened(f"{url}#library", ready="text=Looking through the papers…", width=width)
        desk.ready.set()
        page.wait_for_selector(".cw-window .cw-row")
        assert page.inner_text(".cw-count") == "1 paper"
        assert len(page.locator(".cw-window .cw-place > span").evaluate("e => [...e.getClientRects()]")) == 1
        boxes = [page.locator(f"#cw-nav {part}").bounding_box() for part in ("[data-view-link=settings]", ".cw-theme")]
        assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]


@pytest.mark.browser
def test_the_sources_of_the_answer_are_named_on_a_map_too_large_for_all_names(
    opened: Callable[..., Any], engine: Any, embedder: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.atlas.MOST_NAMED", 1)
    source = tmp_path / "first.txt"
    source.write_text(
        "We propose DeepGraph, a method that prunes the edges of large graphs before training starts.\n\n"
        "We propose CookNet, a method that learns recipes from pictures of food for most dishes.\n"
    )
    desk = Desk(tmp_path, source, embedder)
    cited = next(p.paper_id for p in desk.library().papers() if p.label == "DeepGraph")
    with served(engine, desk) as url:
        page = opened(url)
        page.evaluate(
            """(id) => {
                window.written = [];
                const write = CanvasRenderingContext2D.prototype.fillText;
                CanvasRenderingContext2D.prototype.fillText = function (words, ...at) {
                    window.written.push(words);
                    return write.call(this, words, ...at);
                };
                const card = document.createElement("article");
                card.className = "cw-cited";
                card.dataset.paper = id;
                document.querySelector(".cw-sources").append(card);
            }""",
            cited,
        )
        page.click("[data-view-link=map]")
        page.wait_for_function("window.written.includes('DeepGraph')")
        assert "CookNet" not in page.evaluate("window.written")
