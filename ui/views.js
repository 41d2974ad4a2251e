// The views of the page: one is shown at a time, and the address says which.
(() => {
  "use strict";
  const page = window.citewell;

  page.show = (view) => {
    document.body.dataset.view = view;
    mark();
  };
  function mark() {
    document.querySelectorAll("[data-view-link]").forEach((link) => {
      if (link.dataset.viewLink === document.body.dataset.view) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    });
  }
  page.settled.push(mark); // the links may be drawn after the first view is shown

  // What cannot be taken back asks once more, in its own button.
  page.sure = (button, question, act) => {
    const words = button.textContent;
    if (words === question) {
      button.blur();
      act();
      return;
    }
    button.textContent = question;
    button.addEventListener("blur", () => { button.textContent = words; }, { once: true });
  };

  // The theme: the system's, or the one chosen, which is kept in this browser.
  const THEMES = ["system", "light", "dark"];
  page.kept = (name) => { try { return localStorage.getItem(`citewell-${name}`) || ""; } catch { return ""; } };
  page.keep = (name, value) => { try { localStorage.setItem(`citewell-${name}`, value); } catch { /* a browser that keeps nothing */ } };
  const chosen = () => page.kept("theme") || "system";
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  function paint() {
    const theme = chosen();
    const dark = theme === "dark" || (theme === "system" && system.matches);
    if (document.body.classList.contains("dark") !== dark) document.body.classList.toggle("dark", dark);
    document.querySelectorAll(".cw-theme").forEach((button) => button.setAttribute("aria-label", `Theme: ${theme}`));
    document.querySelectorAll(".cw-theme").forEach((button) => button.setAttribute("title", `Theme: ${theme}`));
  }
  page.theme = (theme) => { page.keep("theme", theme); paint(); };
  page.actions.theme = () => page.theme(THEMES[(THEMES.indexOf(chosen()) + 1) % THEMES.length]);
  system.addEventListener("change", paint);
  page.settled.push(paint);

  // What Python gives without an event: functions of a hidden component, by the name of their view.
  page.ask = async (view, name, ...values) => {
    for (;;) {
      const server = (window.citewellServers || {})[view];
      if (server) return server[name](...values);
      await new Promise((done) => setTimeout(done, 50));
    }
  };

  // An address may be obeyed before gradio has drawn what it names.
  page.there = async (selector) => {
    while (!document.querySelector(selector)) await new Promise((done) => setTimeout(done, 50));
  };

  page.routes[""] = () => page.show("chat");
})();
