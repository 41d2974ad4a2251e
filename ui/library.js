// The library: a table of which only the rows in sight are there, the paper chosen beside it, and changes of the sources.
(() => {
  "use strict";
  const page = window.citewell;
  const ROW = 64; // pixels, as in style.css
  const look = { search: "", sort: "place", down: false, source: "", year: "" };
  let total = 0;
  let held = { first: 0, last: 0 };
  let asked = 0; // numbers the questions to Python: an answer that comes late is dropped
  let filled = false;
  const DRAWN = "#cw-library .cw-page";
  const find = (selector) => document.querySelector(`#cw-library ${selector}`);

  page.routes.library = async () => {
    page.show("library");
    await page.there(DRAWN);
    document.querySelector("#cw-library").classList.remove("cw-reading");
    fill();
  };
  page.routes.paper = async (id) => {
    page.show("library");
    await page.there(DRAWN);
    fill();
    open(id);
  };

  function fill() {
    if (filled) return;
    filled = true;
    hint = hint || find(".cw-page").innerHTML;
    load(0);
    page.ask("library", "filters", { library: page.library() }).then((html) => { find(".cw-filters").innerHTML = html; });
    page.ask("library", "listed", { library: page.library() }).then((html) => { find(".cw-source-list").innerHTML = html; });
  }

  async function load(first) {
    const number = ++asked;
    if (!find(".cw-count").textContent) find(".cw-count").textContent = "Looking through the papers…";
    const found = await page.ask("library", "rows", { ...look, first, library: page.library() });
    if (number !== asked) return;
    find(".cw-count").textContent = found.said;
    if (found.total < 0) { filled = false; find(".cw-window").replaceChildren(); setTimeout(() => { if (document.body.dataset.view === "library") fill(); }, 2000); return; }
    total = found.total;
    const part = find(".cw-window");
    find(".cw-room").style.height = `${total * ROW}px`;
    part.style.transform = `translateY(${found.first * ROW}px)`;
    part.innerHTML = found.html;
    for (const column of ["authors", "year"]) find(".cw-table").classList.toggle(`cw-bare-${column}`, found.bare.includes(column));
    find(".cw-table").setAttribute("aria-rowcount", String(total + 1));
    held = { first: found.first, last: found.first + part.children.length };
    mark();
  }

  function anew() {
    find(".cw-scroll").scrollTop = 0;
    load(0);
  }

  // What comes into sight is fetched before it does.
  document.addEventListener("scroll", (event) => {
    const box = event.target;
    if (!box.classList || !box.classList.contains("cw-scroll")) return;
    const first = Math.floor(box.scrollTop / ROW);
    const last = Math.min(total, first + Math.ceil(box.clientHeight / ROW) + 1);
    if (Math.max(0, first - 10) < held.first || Math.min(total, last + 10) > held.last) load(Math.max(0, first - 80));
  }, true);

  let typing;
  document.addEventListener("input", (event) => {
    if (event.target.id !== "cw-find-papers") return;
    clearTimeout(typing);
    typing = setTimeout(() => {
      const search = event.target.value.trim();
      if (search && !look.search) { look.sort = "relevance"; look.down = false; }
      if (!search && look.sort === "relevance") look.sort = "place";
      look.search = search;
      arrows();
      anew();
    }, 200);
  });
  document.addEventListener("change", (event) => {
    const filter = event.target.dataset && event.target.dataset.filter;
    if (!filter) return;
    look[filter] = event.target.value;
    anew();
  });
  page.actions.sort = (button) => {
    look.down = look.sort === button.dataset.text ? !look.down : button.dataset.text === "year";
    look.sort = button.dataset.text;
    arrows();
    anew();
  };
  function arrows() {
    document.querySelectorAll("#cw-library .cw-sort").forEach((button) => {
      const on = button.dataset.text === look.sort;
      const header = button.closest("[role=columnheader]");
      if (on) header.setAttribute("aria-sort", look.down ? "descending" : "ascending");
      else header.removeAttribute("aria-sort");
    });
  }

  let chosen = "";
  let hint = ""; // what the page of a paper says before one is chosen
  async function open(id) {
    chosen = id;
    mark();
    const html = await page.ask("library", "paper", { id, library: page.library() });
    if (chosen !== id) return;
    find(".cw-page").innerHTML = html;
    document.querySelector("#cw-library").classList.add("cw-reading");
    document.querySelector("#cw-beside").scrollTop = 0;
    const title = find(".cw-page h2");
    if (title) title.focus({ preventScroll: true });
    if (window.matchMedia("(max-width: 899px)").matches) window.scrollTo(0, 0);
  }
  function mark() {
    document.querySelectorAll("#cw-library .cw-window .cw-row").forEach((row) => {
      row.classList.toggle("cw-chosen", row.dataset.key === chosen);
    });
  }
  page.actions["to-table"] = () => {
    location.hash = "#library";
  };
  // A row opens its paper wherever it is clicked.
  document.addEventListener("click", (event) => {
    const row = event.target.closest("#cw-library .cw-window .cw-row");
    if (row && !event.target.closest("a, button")) location.hash = `#paper/${row.dataset.key}`;
  });

  page.actions["ask-about"] = (button) => {
    page.show("chat");
    history.pushState(null, "", document.querySelector("[data-view-link=chat]").getAttribute("href"));
    page.tell({ do: "fill", text: button.dataset.text });
    document.querySelector("#cw-box textarea").focus();
  };

  page.actions["remove-source"] = (button) => {
    page.sure(button, "Really remove?", () => page.tell({ do: "remove-source", text: button.dataset.text }, "library"));
  };
  for (const name of ["split", "join"]) {
    page.actions[name] = (button) => page.tell({ do: name, text: button.dataset.text }, "library");
  }

  page.another.push(() => {
    Object.assign(look, { search: "", sort: "place", down: false, source: "", year: "" });
    filled = false;
    chosen = "";
    const search = document.querySelector("#cw-find-papers");
    if (search) search.value = "";
    find(".cw-page").innerHTML = hint;
    if (document.body.dataset.view === "library") page.routes.library();
  });

  // A change has been made: everything is looked at again.
  let reported = "";
  page.settled.push(() => {
    const report = document.querySelector("#cw-report .cw-report[data-number]");
    if (!report || report.dataset.number === reported) return;
    reported = report.dataset.number;
    filled = false;
    fill();
    if (chosen) open(chosen);
  });
})();
