// Several libraries: the one that the conversation is held with is shown in every view.
(() => {
  "use strict";
  const page = window.citewell;
  let shown = page.library();

  async function fill() {
    const pick = document.querySelector("#cw-pick");
    const names = await page.ask("libraries", "names", null);
    pick.replaceChildren(...names.map(({ name, value }) => new Option(name, value)));
    pick.hidden = names.length < 2;
    pick.value = page.library();
    document.querySelectorAll(".cw-new-library").forEach((part) => { part.hidden = false; });
  }
  page.there("#cw-pick").then(fill);

  function use(name) {
    page.tell({ do: "use", text: name });
    const leaving = { talk: "#chat", paper: "#library" }[location.hash.slice(1).split("/")[0]];
    if (leaving) history.replaceState(null, "", leaving);
  }
  document.addEventListener("change", (event) => { if (event.target.id === "cw-pick") use(event.target.value); });
  page.actions["new-library"] = async (button) => {
    const name = document.querySelector("#cw-library-name").value;
    const fault = await page.ask("libraries", "create", { name });
    button.closest(".cw-actions").querySelector(".cw-told").textContent = fault;
    if (fault) return;
    document.querySelector("#cw-library-name").value = "";
    await fill();
    use(name.trim());
  };

  // Another library: what was shown of the one before is looked at anew.
  page.settled.push(() => {
    const now = page.library();
    if (now === shown) return;
    shown = now;
    const pick = document.querySelector("#cw-pick");
    if (pick) pick.value = now;
    page.another.forEach((done) => done());
  });
})();
