// The map: every paper a dot on a canvas; wheel, drag and pinch move it, hovering names a paper, clicking opens it.
(() => {
  "use strict";
  const page = window.citewell;
  const SIDE = 65535;
  const LIGHT = ["#35a793", "#e2884f", "#8f93ee", "#e0709c", "#9dbf4a", "#e3b93c", "#62b1e8", "#c08a80", "#b083d4", "#93a4b5"]; // on dark paper
  const DARK = ["#17806f", "#c2571a", "#5b5fc7", "#b5346b", "#6f8f1f", "#c99700", "#2b86c5", "#8c564b", "#7a3fa0", "#5a6b7b"];
  let data = null;
  let at = { x: 0, y: 0, scale: 1 }; // what of the sheet is seen: its left upper corner, and how much it is enlarged
  let lit = new Set(); // numbers of the papers that the answer on the page rests on
  let grid = null; // numbers of the papers by the cell they lie in, for finding the one under the pointer
  const CELLS = 128;
  const canvas = () => document.querySelector("#cw-canvas");
  const by = () => document.querySelector("#cw-map-by").value;

  page.routes.map = async () => {
    page.show("map");
    await page.there("#cw-canvas");
    if (!data) await load();
    const cards = [...document.querySelectorAll(".cw-sources .cw-cited[data-paper]")].map((card) => card.dataset.paper);
    lit = new Set(data && cards.length ? await page.ask("map", "numbers", { ids: cards, library: page.library() }) : []);
    draw();
  };

  async function load() {
    const said = document.querySelector("#cw-map-said");
    const got = await page.ask("map", "atlas", { library: page.library() });
    if (got.count < 0) { said.textContent = got.said; setTimeout(() => { if (document.body.dataset.view === "map") page.routes.map(); }, 2000); return; }
    const bytes = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    const colours = {};
    for (const [name, { of, names }] of Object.entries(got.colours)) colours[name] = { of: bytes(of), names };
    data = { count: got.count, places: new Uint16Array(bytes(got.places).buffer), colours, labels: got.labels };
    grid = Array.from({ length: CELLS * CELLS }, () => []);
    for (let i = 0; i < data.count; i++) grid[cell(data.places[2 * i]) + CELLS * cell(data.places[2 * i + 1])].push(i);
    said.textContent = `${got.count.toLocaleString("en")} papers`;
    new ResizeObserver(draw).observe(canvas().parentElement);
  }
  const cell = (place) => Math.min(CELLS - 1, Math.floor((place / (SIDE + 1)) * CELLS));

  const MARGIN = 28; // pixels
  function frame() {
    const box = canvas().parentElement.getBoundingClientRect();
    return { width: box.width, height: box.height };
  }
  const toX = (place, size) => MARGIN + ((place / SIDE - at.x) * at.scale) * (size.width - 2 * MARGIN);
  const toY = (place, size) => MARGIN + ((place / SIDE - at.y) * at.scale) * (size.height - 2 * MARGIN);

  const years = (count) => Array.from({ length: count }, (_, i) => `hsl(${200 - 170 * (i / Math.max(1, count - 1))} 62% 45%)`);
  const palette = (name, count) => (name === "year" ? years(count) : document.body.classList.contains("dark") ? LIGHT : DARK);

  let wanted = false;
  function draw() {
    if (wanted) return;
    wanted = true;
    requestAnimationFrame(() => { wanted = false; paint(); });
  }
  function paint() {
    const size = frame();
    if (!data || !size.width) return;
    const ratio = window.devicePixelRatio || 1;
    const sheet = canvas();
    if (sheet.width !== Math.round(size.width * ratio) || sheet.height !== Math.round(size.height * ratio)) {
      sheet.width = Math.round(size.width * ratio);
      sheet.height = Math.round(size.height * ratio);
    }
    const pen = sheet.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, size.width, size.height);
    const { of, names } = data.colours[by()];
    const hues = palette(by(), names.length);
    const radius = Math.max(1, Math.min(5.5, 60 / Math.sqrt(data.count) + 0.6 * at.scale));
    // One colour after the other: changing the pen's colour for every dot is what would take long.
    const groups = Array.from({ length: names.length + 1 }, () => []);
    for (let i = 0; i < data.count; i++) groups[Math.min(of[i], names.length)].push(i);
    pen.globalAlpha = lit.size ? 0.35 : 0.8;
    groups.forEach((group, number) => {
      pen.fillStyle = number < names.length ? hues[number % hues.length] : "#8d867a";
      for (const i of group) {
        const x = toX(data.places[2 * i], size), y = toY(data.places[2 * i + 1], size);
        if (x < -9 || y < -9 || x > size.width + 9 || y > size.height + 9) continue;
        if (radius < 2) { pen.fillRect(x - radius, y - radius, 2 * radius, 2 * radius); continue; }
        pen.beginPath();
        pen.arc(x, y, radius, 0, 7);
        pen.fill();
      }
    });
    pen.globalAlpha = 1;
    name(pen, size, radius);
    const ink = getComputedStyle(document.body).getPropertyValue("--cw-ink");
    for (const i of [...lit, ...(under >= 0 ? [under] : [])]) {
      const hue = of[i] < names.length ? hues[of[i] % hues.length] : "#8d867a";
      pen.beginPath();
      pen.arc(toX(data.places[2 * i], size), toY(data.places[2 * i + 1], size), radius + 4, 0, 7);
      pen.fillStyle = hue;
      pen.fill();
      pen.lineWidth = 2;
      pen.strokeStyle = ink;
      pen.stroke();
    }
    key(names, hues, groups);
  }

  // Names beside the dots, as many as there is room for; those of the answer's sources first.
  function name(pen, size, radius) {
    if (!data.labels.length) return;
    const style = getComputedStyle(document.body);
    pen.textBaseline = "middle";
    const taken = [];
    for (let i = 0; i < data.count; i++) {
      const x = toX(data.places[2 * i], size), y = toY(data.places[2 * i + 1], size);
      taken.push([x - radius, y - radius, x + radius, y + radius]);
    }
    const order = [...lit, ...Array.from({ length: data.count }, (_, i) => i).filter((i) => !lit.has(i))];
    for (const i of order) {
      const x = toX(data.places[2 * i], size), y = toY(data.places[2 * i + 1], size);
      pen.font = `${lit.has(i) ? "600 " : ""}12px system-ui, sans-serif`;
      pen.fillStyle = style.getPropertyValue(lit.has(i) ? "--cw-ink" : "--cw-soft");
      const wide = pen.measureText(data.labels[i]).width, off = radius + (lit.has(i) ? 10 : 5);
      const free = [x + off, x - off - wide].find((left) => { // right of the dot, or left of it
        const box = [left, y - 8, left + wide, y + 8];
        if (box[0] < 6 || box[1] < 0 || box[2] > size.width - 6 || box[3] > size.height) return false;
        return lit.has(i) || !taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]);
      });
      if (free === undefined) continue;
      taken.push([free, y - 8, free + wide, y + 8]);
      pen.fillText(data.labels[i], free, y);
    }
  }

  let keyed = "";
  function key(names, hues, groups) {
    const now = by() + names.join() + lit.size + hues[0];
    if (now === keyed) return;
    keyed = now;
    const list = document.querySelector(".cw-key");
    list.replaceChildren();
    const entry = (hue, words, ring) => {
      const item = document.createElement("li");
      const dot = document.createElement("span");
      dot.style.background = hue;
      if (ring) dot.className = "cw-ring";
      item.append(dot, words);
      list.append(item);
    };
    names.slice(0, 12).forEach((name, i) => entry(hues[i % hues.length], `${name} (${groups[i].length.toLocaleString("en")})`));
    if (groups[names.length].length) entry("#8d867a", `other (${groups[names.length].length.toLocaleString("en")})`);
    if (lit.size) entry("transparent", "sources of the answer", true);
  }

  // The paper under the pointer: of those in the cells around it the nearest within 12 pixels.
  function find(px, py) {
    const size = frame();
    const fx = at.x + (px - MARGIN) / (size.width - 2 * MARGIN) / at.scale;
    const fy = at.y + (py - MARGIN) / (size.height - 2 * MARGIN) / at.scale;
    const reach = Math.ceil((CELLS * 12) / Math.min(size.width, size.height) / at.scale) + 1;
    const cx = Math.floor(fx * CELLS), cy = Math.floor(fy * CELLS);
    let best = -1, least = 144;
    for (let y = Math.max(0, cy - reach); y <= Math.min(CELLS - 1, cy + reach); y++) {
      for (let x = Math.max(0, cx - reach); x <= Math.min(CELLS - 1, cx + reach); x++) {
        for (const i of grid[x + CELLS * y]) {
          const dx = toX(data.places[2 * i], size) - px, dy = toY(data.places[2 * i + 1], size) - py;
          if (dx * dx + dy * dy < least) { least = dx * dx + dy * dy; best = i; }
        }
      }
    }
    return best;
  }

  let under = -1;
  async function hover(event) {
    if (!data) return;
    const box = canvas().getBoundingClientRect();
    const found = find(event.clientX - box.left, event.clientY - box.top);
    if (found === under) return;
    under = found;
    draw();
    const tip = document.querySelector(".cw-tip");
    canvas().style.cursor = found < 0 ? "grab" : "pointer";
    if (found < 0) { tip.hidden = true; return; }
    const { html } = await page.ask("map", "named", { number: found, library: page.library() });
    if (found !== under) return;
    const size = frame();
    tip.innerHTML = html;
    tip.hidden = false;
    const x = toX(data.places[2 * found], size), y = toY(data.places[2 * found + 1], size);
    tip.style.left = `${Math.max(8, Math.min(size.width - tip.offsetWidth - 8, x + 12))}px`;
    tip.style.top = `${Math.max(8, Math.min(size.height - tip.offsetHeight - 8, y - tip.offsetHeight - 10))}px`;
  }

  function zoom(factor, px, py) {
    const size = frame();
    const fx = (px - MARGIN) / (size.width - 2 * MARGIN), fy = (py - MARGIN) / (size.height - 2 * MARGIN);
    const scale = Math.max(1, Math.min(60, at.scale * factor));
    at = { x: at.x + fx / at.scale - fx / scale, y: at.y + fy / at.scale - fy / scale, scale };
    if (scale === 1) at = { x: 0, y: 0, scale };
    draw();
  }
  page.actions["map-whole"] = () => { at = { x: 0, y: 0, scale: 1 }; draw(); };

  // Pointers that are down: one drags, two pinch.
  const down = new Map();
  let moved = 0;
  const on = (event) => event.target.id === "cw-canvas";
  document.addEventListener("pointerdown", (event) => {
    if (!on(event) || !data) return;
    down.set(event.pointerId, event);
    moved = 0;
    canvas().setPointerCapture(event.pointerId);
  });
  document.addEventListener("pointermove", (event) => {
    if (!on(event) || !data) return;
    const before = down.get(event.pointerId);
    if (!before) { hover(event); return; }
    const size = frame();
    const other = [...down.values()].find((one) => one.pointerId !== event.pointerId);
    if (other) {
      const far = (a, b) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
      const box = canvas().getBoundingClientRect();
      zoom(far(event, other) / Math.max(1, far(before, other)), (event.clientX + other.clientX) / 2 - box.left, (event.clientY + other.clientY) / 2 - box.top);
    } else {
      at.x -= (event.clientX - before.clientX) / (size.width - 2 * MARGIN) / at.scale;
      at.y -= (event.clientY - before.clientY) / (size.height - 2 * MARGIN) / at.scale;
      draw();
    }
    moved += Math.abs(event.clientX - before.clientX) + Math.abs(event.clientY - before.clientY);
    down.set(event.pointerId, event);
  });
  document.addEventListener("pointerup", async (event) => {
    if (!down.delete(event.pointerId) || moved > 6) return;
    const box = canvas().getBoundingClientRect();
    const found = find(event.clientX - box.left, event.clientY - box.top);
    if (found < 0) return;
    const { id } = await page.ask("map", "named", { number: found, library: page.library() });
    if (id) location.hash = `#paper/${id}`;
  });
  document.addEventListener("pointercancel", (event) => down.delete(event.pointerId));
  document.addEventListener("wheel", (event) => {
    if (!on(event) || !data) return;
    event.preventDefault();
    const box = canvas().getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  document.addEventListener("change", (event) => { if (event.target.id === "cw-map-by") draw(); });

  page.another.push(() => {
    data = null;
    if (document.body.dataset.view === "map") page.routes.map();
  });

  // After a change of the library the map is made anew when it is looked at again.
  page.settled.push(() => {
    const report = document.querySelector("#cw-report .cw-report[data-number]");
    if (report && report.dataset.number !== page.changed) { page.changed = report.dataset.number; data = null; }
  });
})();
