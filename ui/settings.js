// The settings: what concerns the reader alone is kept in this browser or told to the conversation, the rest is saved.
(() => {
  "use strict";
  const page = window.citewell;
  const field = (selector) => document.querySelector(`#cw-settings ${selector}`);
  const all = (selector) => [...document.querySelectorAll(`#cw-settings ${selector}`)];
  const say = (button, words) => { button.closest(".cw-actions").querySelector(".cw-told").textContent = words; };

  page.routes.settings = async () => {
    page.show("settings");
    await page.there("#cw-settings .cw-settings");
    if (!field(".cw-form")) field(".cw-settings").innerHTML = await page.ask("settings", "form", null);
    fill();
  };
  // The form shows what is in force: of this conversation, and of this browser.
  function fill() {
    const within = document.querySelector(".cw-within");
    all("[data-where]").forEach((input) => { input.value = (within && within.dataset[input.dataset.where]) || ""; });
    field("#cw-language").value = page.kept("language");
    field("#cw-theme").value = page.kept("theme") || "system";
  }

  const written = () => Object.fromEntries(all("[data-where]").map((input) => [input.dataset.where, input.value]));
  page.actions["apply-filter"] = async (button) => {
    const values = written();
    const { fits, said } = await page.ask("settings", "filtered", { ...values, library: page.library() });
    say(button, said);
    if (fits) page.tell({ do: "filter", text: JSON.stringify(values) });
  };
  page.actions["drop-filter"] = (button) => {
    all("[data-where]").forEach((input) => { input.value = ""; });
    page.tell({ do: "filter", text: "{}" });
    if (button.closest(".cw-actions")) say(button, "Every paper is looked at.");
  };
  page.actions["drop-language"] = () => speak("");
  function speak(language) {
    page.keep("language", language);
    page.tell({ do: "language", text: language });
  }
  if (page.kept("language")) page.tell({ do: "language", text: page.kept("language") });

  document.addEventListener("change", (event) => {
    const { id, name, value } = event.target;
    if (id === "cw-language") speak(value);
    if (id === "cw-theme") page.theme(value);
    if (name === "cw-llm") all(".cw-server").forEach((part) => { part.hidden = value !== "server"; });
  });

  function model() {
    const hosted = field('[name="cw-llm"][value="server"]').checked;
    const values = Object.fromEntries(all("[data-set]").map((input) => [input.dataset.set, input.value.trim()]));
    return hosted ? values : { llm_url: "" };
  }
  async function send(button, what, values) {
    say(button, what === "test" ? "Asking it…" : "Saving…");
    button.disabled = true;
    try {
      say(button, await page.ask("settings", what, values));
    } catch {
      say(button, "The server did not answer; is Citewell still running?");
    }
    button.disabled = false;
  }
  // A sentence of the reader's own, and what was measured.
  page.routes.check = () => page.show("check");
  page.actions["check-sentence"] = () => page.tell({ do: "check", text: document.querySelector("#cw-sentence").value }, "check");
  page.routes.quality = async () => {
    page.show("quality");
    await page.there("#cw-quality .cw-measured");
    document.querySelector("#cw-quality").tabIndex = 0; // it scrolls, and may hold nothing else to be focused
    document.querySelector("#cw-quality .cw-measured").innerHTML = await page.ask("quality", "shown", { library: page.library() });
  };

  page.another.push(() => { if (document.body.dataset.view === "quality") page.routes.quality(); });

  page.actions["test-llm"] = (button) => send(button, "test", model());
  page.actions["save-llm"] = (button) => send(button, "save", model());
  page.actions["save-budget"] = (button) => send(button, "save", { evidence_tokens: Number(field("#cw-budget").value) });
})();
