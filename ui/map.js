// The map: every paper a dot on a canvas; wheel, drag and pinch move it, hovering names a paper, clicking opens it.
(() => {
  "use strict";
  const page = window.citewell;
  const SIDE = 65535;
  const LIGHT = ["#35a793", "#e2884f", "#8f93ee", "#e0709c", "#9dbf4a", "#e3b93c", "#62b1e8", "#c08a80", "#b083d4", "#93a4b5"]; // on dark paper
  const DARK = ["#17806f", "#c2571a", "#5b5fc7", "#b5346b", "#6f8f1f", "#c99700", "#2b86c5", "#8c564b", "#7a3fa0", "#5a6b7b"];
  const OTHER = "#8d867a"; // of what has none of the names
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
    lit = new Set(data && cards.length ? await ask("numbers", { ids: cards }) : []);
    draw();
    if (!data || data.labels.length) return;
    await Promise.all([...lit].map(label));
    draw();
  };
  const ask = (name, more) => page.ask("map", name, { library: page.library(), name: data ? data.name : "", ...more });

  // The picture may have to be made first: it is asked for until it is there, by one asker at a time.
  let asking = null;
  function load() {
    asking ??= look().finally(() => { asking = null; });
    return asking;
  }
  async function look() {
    for (;;) {
      const library = page.library();
      const got = await ask("atlas");
      if (library !== page.library()) continue; // another one was chosen meanwhile
      if (got.count >= 0) { take(got); return; }
      wait(got);
      if (!got.again) return;
      await new Promise((done) => setTimeout(done, 700));
    }
  }
  function wait({ said, done, total, making, again }) {
    const box = document.querySelector("#cw-map-making");
    const bar = box.querySelector("progress");
    box.hidden = false;
    document.querySelector("#cw-map-said").textContent = "";
    box.querySelector(".cw-making-words").textContent = total ? `${said}: ${done.toLocaleString("en")} of ${total.toLocaleString("en")}` : said;
    box.querySelector(".cw-dot").hidden = !again;
    box.querySelector(".cw-note").hidden = !making;
    bar.hidden = !making;
    if (total) { bar.max = total; bar.value = done; } else bar.removeAttribute("value");
  }
  let watcher = null;
  function take(got) {
    const bytes = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    const colours = {};
    for (const [name, { of, names }] of Object.entries(got.colours)) {
      const held = { of: bytes(of), names, counts: new Array(names.length + 1).fill(0) };
      for (let i = 0; i < got.count; i++) held.counts[Math.min(held.of[i], names.length)] += 1;
      colours[name] = held;
    }
    data = { name: got.name, count: got.count, places: new Uint16Array(bytes(got.places).buffer), colours, labels: got.labels };
    data.middles = middles(data.colours.topic);
    under = -1;
    labels = new Map();
    grid = Array.from({ length: CELLS * CELLS }, () => []);
    for (let i = 0; i < data.count; i++) grid[cell(data.places[2 * i]) + CELLS * cell(data.places[2 * i + 1])].push(i);
    document.querySelector("#cw-map-making").hidden = true;
    document.querySelector("#cw-map-said").textContent = `${got.count.toLocaleString("en")} papers`;
    if (!watcher) { watcher = new ResizeObserver(draw); watcher.observe(canvas().parentElement); }
  }
  function middles({ of, names, counts }) {
    const sums = names.map(() => [0, 0]);
    for (let i = 0; i < data.count; i++) {
      if (of[i] >= names.length) continue;
      sums[of[i]][0] += data.places[2 * i];
      sums[of[i]][1] += data.places[2 * i + 1];
    }
    return sums.map(([x, y], topic) => [x / Math.max(1, counts[topic]), y / Math.max(1, counts[topic])]);
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
    const { of, names, counts } = data.colours[by()];
    const hues = palette(by(), names.length);
    const hue = (i) => (of[i] < names.length ? hues[of[i] % hues.length] : OTHER);
    const radius = Math.max(1, Math.min(5.5, 60 / Math.sqrt(data.count) + 0.6 * at.scale));
    const alpha = lit.size ? 0.35 : 0.8;
    const seen = inView(size);
    if (seen.length > MANY) dust(pen, seen, size, ratio, radius, alpha, hue);
    else dots(pen, seen, size, radius, alpha, hue);
    pen.globalAlpha = 1;
    if (data.labels.length) name(pen, size, radius);
    else entitle(pen, size, by() === "topic" ? names : [], radius);
    const ink = getComputedStyle(document.body).getPropertyValue("--cw-ink");
    for (const i of [...lit, ...(under >= 0 ? [under] : [])]) {
      pen.beginPath();
      pen.arc(toX(data.places[2 * i], size), toY(data.places[2 * i + 1], size), radius + 4, 0, 7);
      pen.fillStyle = hue(i);
      pen.fill();
      pen.lineWidth = 2;
      pen.strokeStyle = ink;
      pen.stroke();
    }
    key(names, hues, counts);
  }

  function inView(size) {
    const room = (long) => (MARGIN + 9) / (long - 2 * MARGIN); // around the sheet, in shares of it
    const [x0, x1] = [at.x - room(size.width) / at.scale, at.x + (1 + room(size.width)) / at.scale].map((share) => share * SIDE);
    const [y0, y1] = [at.y - room(size.height) / at.scale, at.y + (1 + room(size.height)) / at.scale].map((share) => share * SIDE);
    const seen = [];
    for (let i = 0; i < data.count; i++) {
      const x = data.places[2 * i], y = data.places[2 * i + 1];
      if (x >= x0 && x <= x1 && y >= y0 && y <= y1) seen.push(i);
    }
    return seen;
  }

  // A few thousand: the pen's own round dots.
  const MANY = 3000;
  function dots(pen, seen, size, radius, alpha, hue) {
    pen.globalAlpha = alpha;
    for (const i of seen) {
      pen.fillStyle = hue(i);
      pen.beginPath();
      pen.arc(toX(data.places[2 * i], size), toY(data.places[2 * i + 1], size), radius, 0, 7);
      pen.fill();
    }
  }

  // A hundred thousand: their pixels are set in memory, which takes a fraction of what the pen does, and kept while nothing
  // but the paper under the pointer changes.
  let kept = { picture: null, of: "" };
  function dust(pen, seen, size, ratio, radius, alpha, hue) {
    const { width, height } = pen.canvas;
    const of = [data.name, by(), hue(seen[0]), alpha, at.x, at.y, at.scale, width, height].join();
    if (of !== kept.of) kept = { picture: sown(pen.createImageData(width, height), seen, size, ratio, radius, inks(pen, alpha, hue)), of };
    pen.putImageData(kept.picture, 0, 0);
  }
  function sown(picture, seen, size, ratio, radius, ink) {
    const { width, height } = picture;
    const pixels = new Uint32Array(picture.data.buffer);
    const side = Math.max(2, Math.round(2 * radius * ratio));
    const insets = Array.from({ length: side }, (_, row) => { // of each row of a disc
      const off = row + 0.5 - side / 2;
      return side < 4 ? 0 : Math.round(side / 2 - Math.sqrt((side / 2) ** 2 - off * off));
    });
    for (const i of seen) {
      const x = Math.round(toX(data.places[2 * i], size) * ratio - side / 2), y = Math.round(toY(data.places[2 * i + 1], size) * ratio - side / 2);
      if (x < 0 || y < 0 || x + side > width || y + side > height) continue;
      const value = ink.get(i);
      for (let row = 0; row < side; row++) {
        const from = (y + row) * width + x;
        for (let at = from + insets[row], to = from + side - insets[row]; at < to; at++) pixels[at] = value;
      }
    }
    return picture;
  }
  // The colour of each paper as the four bytes of a pixel.
  function inks(pen, alpha, hue) {
    const known = new Map();
    const bytes = new Uint8Array(4), word = new Uint32Array(bytes.buffer);
    return { get(i) {
      const name = hue(i);
      if (!known.has(name)) {
        pen.fillStyle = name; // reads back as #rrggbb
        bytes.set([1, 3, 5].map((from) => parseInt(pen.fillStyle.slice(from, from + 2), 16)));
        bytes[3] = Math.round(alpha * 255);
        known.set(name, word[0]);
      }
      return known.get(name);
    } };
  }

  // Where there are too many papers to name, those of the answer are, and the topics amid their papers, the largest first.
  function entitle(pen, size, names, radius) {
    const style = getComputedStyle(document.body);
    pen.font = "600 14px system-ui, sans-serif";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    pen.lineWidth = 5;
    pen.strokeStyle = style.getPropertyValue("--cw-card");
    pen.fillStyle = style.getPropertyValue("--cw-ink");
    const taken = [];
    for (const i of lit) {
      if (!labels.has(i)) continue;
      const words = short(labels.get(i)), wide = pen.measureText(words).width, off = radius + 10;
      const [x, y] = [toX(data.places[2 * i], size), toY(data.places[2 * i + 1], size)];
      if (x < 0 || y < 0 || x > size.width || y > size.height) continue;
      const left = x + off + wide < size.width - 8 ? x + off : x - off - wide;
      taken.push([left, y, left + wide]);
      pen.strokeText(words, left, y);
      pen.fillText(words, left, y);
    }
    names.forEach((words, topic) => {
      const wide = pen.measureText(words).width;
      const [x, y] = [toX(data.middles[topic][0], size), toY(data.middles[topic][1], size)];
      if (x < 0 || y < 0 || x > size.width || y > size.height) return;
      const left = Math.max(8, Math.min(size.width - wide - 8, x - wide / 2));
      const top = [0, 24, -24, 48, -48].map((off) => y + off).find((line) => line > 10 && line < size.height - 10
        && !taken.some((other) => left < other[2] && other[0] < left + wide && Math.abs(line - other[1]) < 22));
      if (top === undefined) return;
      taken.push([left, top, left + wide]);
      pen.strokeText(words, left, top);
      pen.fillText(words, left, top);
    });
  }

  const LONGEST = 40; // characters of a name in the picture
  function short(html) {
    const box = document.createElement("template");
    box.innerHTML = html;
    const words = box.content.textContent;
    return words.length > LONGEST ? `${words.slice(0, LONGEST - 1).trimEnd()}…` : words;
  }

  // Names beside the dots, as many as there is room for; those of the answer's sources first.
  function name(pen, size, radius) {
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

  const KEYS = 12;
  let keyed = "";
  function key(names, hues, counts) {
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
    // Of many years some from the first to the last, which tell how the colours go.
    const shown = names.length <= KEYS ? names.keys() : Array.from({ length: KEYS }, (_, k) => Math.round((k * (names.length - 1)) / (KEYS - 1)));
    for (const i of shown) entry(hues[i % hues.length], `${names[i]} (${counts[i].toLocaleString("en")})`);
    if (counts[names.length]) entry(OTHER, `${by() === "year" ? "no year" : "other"} (${counts[names.length].toLocaleString("en")})`);
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
  let resting;
  let labels = new Map(); // of the papers that the pointer has rested on
  function hover(event) {
    if (!data) return;
    const box = canvas().getBoundingClientRect();
    const found = find(event.clientX - box.left, event.clientY - box.top);
    if (found === under) return;
    under = found;
    draw();
    document.querySelector(".cw-tip").hidden = true;
    canvas().style.cursor = found < 0 ? "grab" : "pointer";
    clearTimeout(resting);
    if (found >= 0) resting = setTimeout(() => tip(found), labels.has(found) ? 0 : 60); // not for each dot the pointer passes
  }
  // Brings the label of a paper, where it is not here yet.
  async function label(found) {
    const { name } = data;
    if (labels.has(found)) return;
    const { html } = await ask("named", { number: found });
    if (data && data.name === name) labels.set(found, html);
  }
  async function tip(found) {
    await label(found);
    if (found !== under || !labels.has(found)) return;
    const box = document.querySelector(".cw-tip");
    const size = frame();
    box.innerHTML = labels.get(found);
    box.hidden = false;
    const x = toX(data.places[2 * found], size), y = toY(data.places[2 * found + 1], size);
    box.style.left = `${Math.max(8, Math.min(size.width - box.offsetWidth - 8, x + 12))}px`;
    box.style.top = `${Math.max(8, Math.min(size.height - box.offsetHeight - 8, y - box.offsetHeight - 10))}px`;
  }

  function zoom(factor, px, py) {
    const size = frame();
    const fx = (px - MARGIN) / (size.width - 2 * MARGIN), fy = (py - MARGIN) / (size.height - 2 * MARGIN);
    const scale = Math.max(1, Math.min(60, at.scale * factor));
    at = { x: at.x + fx / at.scale - fx / scale, y: at.y + fy / at.scale - fy / scale, scale };
    if (scale === 1) at = { x: 0, y: 0, scale };
    moving();
  }
  page.actions["map-whole"] = () => { at = { x: 0, y: 0, scale: 1 }; moving(); };
  function moving() { // what was under the pointer is not there any more
    under = -1;
    clearTimeout(resting);
    document.querySelector(".cw-tip").hidden = true;
    draw();
  }

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
      moving();
    }
    moved += Math.abs(event.clientX - before.clientX) + Math.abs(event.clientY - before.clientY);
    down.set(event.pointerId, event);
  });
  document.addEventListener("pointerup", async (event) => {
    if (!down.delete(event.pointerId) || moved > 6) return;
    const box = canvas().getBoundingClientRect();
    const found = find(event.clientX - box.left, event.clientY - box.top);
    if (found < 0) return;
    const { id } = await ask("named", { number: found });
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
