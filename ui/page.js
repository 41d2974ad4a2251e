// The page's own behaviour: markers open their words, cards fold, answers are copied. Nothing is fetched.
(() => {
  "use strict";
  let pending = null; // a marker clicked whose sources are on their way

  const panel = () => document.querySelector(".cw-sources");
  const still = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const narrow = () => window.matchMedia("(max-width: 899px)").matches;

  // The ways to Python, one a view: each set by a hidden component when it is loaded; what is clicked before that waits.
  function tell(what, view = "chat") {
    const way = (window.citewellWays || {})[view];
    if (way) way({ library: page.library(), ...what });
    else setTimeout(() => tell(what, view), 50);
  }

  // What the other scripts of the page use: actions by name, what to do after each change of the page, addresses.
  const page = { tell, actions: {}, settled: [], routes: {}, show: null, ask: null, another: [] };
  // The library that the conversation is held with; "" is the one that the page is served for.
  page.library = () => (document.querySelector(".cw-within") || { dataset: {} }).dataset.library || "";
  window.citewell = page;

  // Scrolls nothing but the nearest box that scrolls, so that the page itself stays where it is on a wide screen.
  function bringIntoView(element, box) {
    if (!box || box.scrollHeight <= box.clientHeight + 1) {
      element.scrollIntoView({ block: "center", behavior: still() ? "auto" : "smooth" });
      return;
    }
    const at = element.getBoundingClientRect();
    const frame = box.getBoundingClientRect();
    const room = Math.max(24, Math.min(140, (frame.height - at.height) / 2));
    box.scrollTo({ top: box.scrollTop + at.top - frame.top - room, behavior: still() ? "auto" : "smooth" });
  }

  function unfold(card, open) {
    const abstract = card.querySelector(".cw-abstract.cw-foldable, .cw-abstract.cw-folded");
    const more = card.querySelector("[data-do=more]");
    if (!abstract || !more) return;
    abstract.classList.add("cw-foldable");
    abstract.classList.toggle("cw-folded", !open);
    more.setAttribute("aria-expanded", String(open));
    more.textContent = open ? "Fold" : "Whole abstract";
    if (!open) keepQuoteInView(abstract);
  }

  // A folded abstract shows its first quote, not its first lines.
  function keepQuoteInView(abstract) {
    const mark = abstract.querySelector("mark");
    abstract.classList.remove("cw-cut-top");
    if (!mark) { abstract.scrollTop = 0; return; }
    const line = parseFloat(getComputedStyle(abstract).lineHeight) || 22;
    const top = mark.getBoundingClientRect().top - abstract.getBoundingClientRect().top + abstract.scrollTop;
    if (top + Math.min(mark.getBoundingClientRect().height, 3 * line) > abstract.clientHeight - line) {
      abstract.scrollTop = Math.round(Math.max(0, top - 1.12 * line)); // one line of what comes before, fading
      abstract.classList.toggle("cw-cut-top", abstract.scrollTop > 2);
    } else {
      abstract.scrollTop = 0;
    }
  }

  function showWords(ref) {
    const root = panel();
    const marks = root ? [...root.querySelectorAll("mark")].filter((m) => m.dataset.refs.split(" ").includes(ref)) : [];
    const card = marks.length ? marks[0].closest(".cw-card") : root && root.querySelector(`#cw-source-${ref}`);
    if (!card) return;
    unfold(card, true);
    document.querySelectorAll(".cw-flash").forEach((e) => e.classList.remove("cw-flash"));
    void card.offsetWidth; // so that the animation starts anew
    marks.forEach((m) => m.classList.add("cw-flash"));
    card.classList.add("cw-flash");
    card.focus({ preventScroll: true });
    bringIntoView(marks[0] || card, document.querySelector("#cw-side"));
  }

  async function copy(button) {
    const text = button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = document.createElement("textarea");
      field.value = text;
      field.style.position = "fixed";
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    const words = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = words; }, 1600);
  }

  document.addEventListener("click", (event) => {
    const target = event.target.closest("[data-do]");
    if (!target) return;
    event.preventDefault();
    const { do: what, turn, ref, text, key, to } = target.dataset;
    if (page.actions[what]) {
      page.actions[what](target);
    } else if (what === "cite") {
      const root = panel();
      if (root && root.dataset.turn === turn && !root.hasAttribute("aria-busy")) showWords(ref);
      else { pending = { turn, ref }; tell({ do: "show", turn: Number(turn) }); }
    } else if (what === "more") {
      unfold(target.closest(".cw-card"), target.getAttribute("aria-expanded") !== "true");
    } else if (what === "back") {
      const link = document.querySelector(`.cw-ref[data-turn="${turn}"]`) || document.querySelector("#cw-chat");
      link.scrollIntoView({ block: "center", behavior: still() ? "auto" : "smooth" });
      link.focus({ preventScroll: true });
    } else if (what === "copy") {
      copy(target);
    } else if (what === "show") {
      pending = { turn, ref: null };
      tell({ do: "show", turn: Number(turn) });
    } else {
      tell({ do: what, turn: turn === undefined ? null : Number(turn), text: text || "", key: key || "" }, to);
    }
  });

  // What is typed into a search field is told when the typing pauses.
  const typing = new WeakMap();
  document.addEventListener("input", (event) => {
    const { input: what, to } = event.target.dataset || {};
    if (!what) return;
    clearTimeout(typing.get(event.target));
    typing.set(event.target, setTimeout(() => tell({ do: what, text: event.target.value }, to), 250));
  });

  // A field with one line to say is told when Enter is pressed.
  document.addEventListener("keydown", (event) => {
    const { enter: what, turn, to } = event.target.dataset || {};
    if (!what || event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    if (event.target.value.trim()) tell({ do: what, turn: Number(turn), text: event.target.value }, to);
  });

  // The address says which view is open: "#talk/KEY", "#library". It is obeyed when it changes and when the page opens.
  function go() {
    const [view, ...rest] = location.hash.slice(1).split("/");
    const route = page.routes[view];
    if (route) route(decodeURIComponent(rest.join("/")));
  }
  window.addEventListener("hashchange", go);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", go);
  else setTimeout(go, 0); // gradio may bring this script when the page is there already; the other scripts come first

  // Says a finished answer to a screen reader, once; the tokens of a draft are not read out.
  let announcer = null;
  let announced = "";
  function announce() {
    const turns = document.querySelectorAll("#cw-past .cw-turn");
    const last = turns.length ? turns[turns.length - 1].querySelector(".cw-answer") : null;
    const text = last ? [...last.children].filter((e) => !e.matches(".cw-tools, .cw-legend, .cw-opinion")).map((e) => e.textContent).join(" ") : "";
    if (text === announced) return;
    announced = text;
    if (!announcer) {
      announcer = document.createElement("div");
      announcer.className = "cw-vh";
      announcer.setAttribute("aria-live", "polite");
      document.body.append(announcer);
    }
    announcer.textContent = text;
  }

  // The conversation follows what is written, unless the reader has scrolled up.
  let following = true;
  let height = 0;
  let talk = "";
  document.addEventListener("scroll", (event) => {
    const chat = event.target;
    if (chat.id === "cw-chat") following = chat.scrollHeight - chat.scrollTop - chat.clientHeight < 80;
  }, true);
  function follow() {
    const chat = document.querySelector("#cw-chat");
    if (!chat) return;
    const head = document.querySelector(".cw-talkhead");
    const key = head ? head.dataset.key : "";
    if (key !== talk) { talk = key; following = true; } // another conversation is shown from its end
    const fresh = document.querySelector("#cw-live .cw-status[role=status]") !== null; // a question was just sent
    if (chat.scrollHeight !== height && (following || fresh)) chat.scrollTop = chat.scrollHeight;
    height = chat.scrollHeight;
  }

  let shown = "";
  let scheduled = false;
  function settle() {
    scheduled = false;
    follow();
    announce();
    page.settled.forEach((done) => done());
    document.querySelectorAll("#cw-checked .cw-folded").forEach(keepQuoteInView);
    const root = panel();
    if (!root) return;
    // Other sources than before: gradio changes the elements in place, so what was scrolled or lit stays so.
    const now = [root.dataset.turn, root.getAttribute("aria-label"), root.hasAttribute("aria-busy")].join();
    if (now !== shown) {
      shown = now;
      root.querySelectorAll(".cw-flash").forEach((e) => e.classList.remove("cw-flash"));
      root.querySelectorAll(".cw-folded").forEach(keepQuoteInView);
      document.querySelector("#cw-side").scrollTop = 0;
    }
    if (pending && root.dataset.turn === pending.turn) {
      const { ref } = pending;
      pending = null;
      if (ref) showWords(ref);
      else if (narrow()) root.scrollIntoView({ behavior: still() ? "auto" : "smooth" });
    }
  }
  new MutationObserver(() => {
    if (!scheduled) { scheduled = true; requestAnimationFrame(settle); }
  }).observe(document.documentElement, { childList: true, characterData: true, subtree: true });
})();
