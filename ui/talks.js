// The list of conversations: opened by its address, renamed and deleted in its place, taken away as a file.
(() => {
  "use strict";
  const { tell, actions, settled, routes } = window.citewell;

  routes.talk = (key) => {
    window.citewell.show("chat");
    tell({ do: "open", text: key });
    show(false);
  };
  routes.chat = () => window.citewell.show("chat");
  tell({ do: "list" });

  // On a narrow screen the list lies over the conversation and goes when one is chosen.
  function show(open) {
    document.body.classList.toggle("cw-talks-shown", open);
    document.querySelectorAll(".cw-talks-open").forEach((b) => b.setAttribute("aria-expanded", String(open)));
    if (open) document.querySelector("#cw-talks .cw-find").focus();
  }
  actions.talks = () => show(!document.body.classList.contains("cw-talks-shown"));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") show(false); });

  actions["rename-talk"] = (button) => {
    const item = button.closest(".cw-talk-item");
    const link = item.querySelector(".cw-talk-link");
    const field = document.createElement("input");
    field.className = "cw-find";
    field.value = link.title;
    field.setAttribute("aria-label", "New title");
    link.hidden = true;
    link.after(field);
    field.focus();
    field.select();
    let open = true;
    const done = (keep) => {
      if (!open) return; // taking the field away makes it lose the focus too
      open = false;
      field.remove();
      link.hidden = false;
      if (keep && field.value.trim() && field.value !== link.title) {
        tell({ do: "rename-talk", key: item.dataset.key, text: field.value });
      }
    };
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") done(true);
      if (event.key === "Escape") { event.stopPropagation(); done(false); }
    });
    field.addEventListener("blur", () => done(true));
  };

  actions["delete-talk"] = (button) => {
    window.citewell.sure(button, "Really delete?", () => tell({ do: "delete-talk", key: button.closest(".cw-talk-item").dataset.key }));
  };

  // A file made by Python is saved by the browser, once.
  let saved = "0";
  settled.push(() => {
    const file = document.querySelector(".cw-file");
    if (!file || file.dataset.number === saved) return;
    saved = file.dataset.number;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([file.dataset.content], { type: file.dataset.kind }));
    link.download = file.dataset.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
  actions.export = (button) => {
    button.closest("details").open = false;
    tell({ do: "export", text: button.dataset.text });
  };
  document.addEventListener("click", (event) => {
    document.querySelectorAll(".cw-menu[open]").forEach((menu) => { if (!menu.contains(event.target)) menu.open = false; });
  });

  // The address follows the conversation on the page, so that it can be opened again.
  let known = "";
  settled.push(() => {
    const head = document.querySelector("#cw-past");
    if (!head) return;
    const key = (document.querySelector(".cw-talkhead") || { dataset: {} }).dataset.key || "";
    if (key === known) return;
    known = key;
    document.querySelectorAll("[data-view-link=chat]").forEach((link) => { link.href = key ? `#talk/${key}` : "#chat"; });
    const view = location.hash.slice(1).split("/")[0];
    if (["talk", "chat", ""].includes(view)) history.replaceState(null, "", key ? `#talk/${key}` : "#chat");
  });
})();
