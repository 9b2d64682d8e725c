/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* page.js: lines of source, tile IR and PTX that find each other, by pointing at them or by keys.
   A line of PTX names its line of tile IR (data-i), that its line of the source (data-s). */
(function () {
  "use strict";
  const names = ["source", "ir", "ptx"];
  const panes = names.map((name) => {
    const box = document.getElementById(name);
    return { box, lines: [...box.querySelectorAll("div")], now: null, linked: [] };
  });
  const where = document.getElementById("where");
  const paneOf = (line) => panes.find((p) => p.box === line.parentElement);

  /* The lines that name another, by what they name. */
  const collect = (pane, key) => {
    const by = new Map();
    for (const line of pane.lines) {
      const of = line.dataset[key];
      if (of) by.has(of) ? by.get(of).push(line) : by.set(of, [line]);
    }
    return by;
  };
  const irOf = collect(panes[1], "s"), ptxOf = collect(panes[2], "i");
  const lineNamed = (id) => document.getElementById(id);

  /* Of a line: those of the source, of tile IR and of PTX that belong to it, itself too. */
  function family(line) {
    const number = line.id.slice(1);
    if (line.id[0] === "s") {
      const ir = irOf.get(number) || [];
      return [[line], ir, ir.flatMap((x) => ptxOf.get(x.id.slice(1)) || [])];
    }
    const ir = line.id[0] === "i" ? line : line.dataset.i && lineNamed("i" + line.dataset.i);
    const source = ir && ir.dataset.s && lineNamed("s" + ir.dataset.s);
    const ptx = line.id[0] === "p" ? [line] : ptxOf.get(number) || [];
    return [source ? [source] : [], ir ? [ir] : [], ptx];
  }

  const isSeen = (box, line) =>
    line.offsetTop >= box.scrollTop && line.offsetTop + line.offsetHeight <= box.scrollTop + box.clientHeight;

  function scrollTo(box, line) {
    if (!isSeen(box, line)) box.scrollTop = line.offsetTop - box.clientHeight / 2;
  }

  function describe(line, lines) {
    const ir = lines[1].length === 1 ? lines[1][0] : null;
    const count = (n, what) => n + " line" + (n === 1 ? "" : "s") + " of " + what;
    const parts = [];
    if (lines[0].length) parts.push("source line " + lines[0][0].dataset.n);
    parts.push(ir ? "IR " + ir.id.slice(1) + (ir.dataset.by ? ", made by " + ir.dataset.by : "") : count(lines[1].length, "tile IR"));
    parts.push(line.id[0] === "p" ? "PTX line " + line.id.slice(1) : count(lines[2].length, "PTX"));
    return parts.join("; ");
  }

  /* Shows a line and what belongs to it; those of other panes are scrolled to. */
  function show(line) {
    const lines = family(line), own = paneOf(line);
    panes.forEach((pane, i) => {
      pane.linked.forEach((x) => x.classList.remove("linked", "now"));
      if (pane.now) pane.now.classList.remove("now");
      pane.linked = lines[i];
      pane.linked.forEach((x) => x.classList.add("linked"));
      if (pane === own) {
        pane.now = line;
        line.classList.add("now");
        pane.box.setAttribute("aria-activedescendant", line.id);
      } else if (lines[i].length && !lines[i].some((x) => isSeen(pane.box, x))) {
        scrollTo(pane.box, lines[i][0]);
      }
    });
    where.textContent = describe(line, lines);
  }

  /* A pane goes on where the line that was shown last has something in it. */
  function enter(pane) {
    const line = pane.linked.find((x) => x === pane.now) || pane.linked[0] || pane.now || pane.lines[0];
    if (!line) return;
    show(line);
    scrollTo(pane.box, line);
  }

  function go(line) {
    const pane = paneOf(line);
    show(line);
    pane.box.focus();
    show(line);
    scrollTo(pane.box, line);
  }

  function move(pane, by) {
    const at = pane.lines.indexOf(pane.now);
    const line = pane.lines[Math.max(0, Math.min(pane.lines.length - 1, at + by))];
    if (!line) return;
    show(line);
    scrollTo(pane.box, line);
  }

  const page = (pane) => Math.max(1, Math.floor(pane.box.clientHeight / pane.lines[0].offsetHeight) - 1);
  const keys = {
    ArrowDown: (p) => move(p, 1),
    j: (p) => move(p, 1),
    ArrowUp: (p) => move(p, -1),
    k: (p) => move(p, -1),
    PageDown: (p) => move(p, page(p)),
    PageUp: (p) => move(p, -page(p)),
    Home: (p) => move(p, -p.lines.length),
    End: (p) => move(p, p.lines.length),
    Enter: (p, back) => panes[(panes.indexOf(p) + (back ? 2 : 1)) % 3].box.focus(),
  };

  let x = -1, y = -1; /* a pane that scrolls moves lines under a pointer that rests */
  for (const pane of panes) {
    pane.box.setAttribute("role", "listbox");
    pane.lines.forEach((line) => line.setAttribute("role", "option"));
    pane.box.addEventListener("focus", () => enter(pane));
    pane.box.addEventListener("keydown", (e) => {
      if (e.ctrlKey || e.altKey || e.metaKey || !Object.hasOwn(keys, e.key) || !pane.lines.length) return;
      e.preventDefault();
      keys[e.key](pane, e.shiftKey);
    });
    const point = (e) => {
      const line = e.target.closest("[id]");
      if (line && line !== pane.box && line !== pane.now) show(line);
    };
    pane.box.addEventListener("mousemove", (e) => {
      if (e.clientX === x && e.clientY === y) return;
      x = e.clientX;
      y = e.clientY;
      point(e);
    });
    pane.box.addEventListener("click", point);
  }

  document.addEventListener("click", (e) => {
    const link = e.target.closest("a[href^='#']");
    const line = link && lineNamed(link.getAttribute("href").slice(1));
    if (!line || !line.parentElement.classList.contains("code")) return;
    e.preventDefault();
    go(line);
  });
  const asked = lineNamed(location.hash.slice(1));
  if (asked && asked.parentElement.classList.contains("code")) go(asked);
})();
