"use strict";
// Draws the figures of the selected chapter; tables and text are in the page already.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const view = { chapter: Object.keys(data)[0], statistic: "mean", scale: "log", bands: true, reference: true, hidden: new Set() };
  const night = matchMedia("(prefers-color-scheme: dark)");
  const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "cross", "x", "star", "triangle-down"];
  const GLYPHS = ["●", "■", "▲", "◆", "✚", "✖", "★", "▼"];
  const ACTIONS = ["#e69f00", "#009e73", "#cc79a7", "#d55e00", "#8f7ae0", "#8c8c00", "#808890", "#b5446e"];
  const CONFIG = { displayModeBar: false, responsive: false };
  const TINY = 1e-300, DECADES = 6; // largest range of a logarithmic axis
  let printing = false;

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const lineColor = (group) => group.color[night.matches && !printing ? 1 : 0];
  const article = () => document.getElementById(view.chapter);
  const groups = () => data[view.chapter].groups;
  const shown = () => groups().filter((group) => !view.hidden.has(group.name));
  const label = (group) => (group.heuristic ? `${group.name} (heuristic)` : group.name);
  const faint = (hex, alpha) => hex + Math.round(255 * alpha).toString(16).padStart(2, "0");
  const digits = (value, count = 4) => Number(value).toLocaleString("en-US", { maximumSignificantDigits: count }).replace("-", "−");

  function layout(width, height, change) {
    const axis = () => ({ gridcolor: color("--grid"), linecolor: color("--line"), zerolinecolor: color("--soft"), zerolinewidth: 1, tickfont: { size: 11 }, automargin: true });
    return {
      width, height, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
      font: { family: "system-ui, sans-serif", size: 12, color: color("--ink") },
      margin: { l: 56, r: 12, t: 10, b: 40 }, hovermode: "x unified", dragmode: false,
      hoverlabel: { bgcolor: color("--card"), bordercolor: color("--line"), font: { color: color("--ink"), size: 12 } },
      ...change,
      xaxis: { ...axis(), ...change.xaxis }, yaxis: { ...axis(), ...change.yaxis },
    };
  }

  // a line and its band for each selected learner; a logarithmic axis omits values that are not positive
  function traces(curves, isLog, factor = 1) {
    const found = [];
    for (const group of shown()) {
      const [middle, low, high] = curves(group)[view.statistic];
      const x = group.episode;
      const fit = (value) => (value === null || (isLog && value <= 0) ? null : value * factor);
      if (view.bands && low.every((value) => value !== null)) {
        const floor = (value) => (isLog ? Math.max(value, TINY) : value) * factor; // below the axis
        const keep = x.map((_, k) => k).filter((k) => !isLog || high[k] > 0);
        const back = [...keep].reverse();
        found.push({
          type: "scatter", mode: "lines", name: `${group.name} band`, meta: "band", hoverinfo: "skip",
          x: [...keep, ...back].map((k) => x[k]), y: [...keep.map((k) => floor(high[k])), ...back.map((k) => floor(low[k]))],
          fill: "toself", fillcolor: faint(lineColor(group), 0.18), line: { width: 0 },
        });
      }
      found.push({
        type: "scatter", mode: x.length > 1 ? "lines" : "markers", name: label(group), meta: "line", x, y: middle.map(fit),
        line: { color: lineColor(group), width: 2.2, dash: group.dash }, marker: { color: lineColor(group) },
        hovertemplate: `%{y:.4~g}<extra>${escaped(label(group))}</extra>`,
      });
    }
    return found;
  }

  function escaped(text) {
    return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  }

  function episodes(isLog) {
    return { type: isLog ? "log" : "linear", title: { text: "episode", standoff: 6, font: { size: 12 } }, exponentformat: "power", dtick: isLog ? 1 : undefined, nticks: isLog ? undefined : 6 };
  }

  // whether a logarithmic axis is suitable: some end is positive, none negative, few points below zero
  function allowsLog(curves) {
    const all = shown().map((group) => curves(group)[view.statistic][0]);
    const end = (y) => y[y.length - 1];
    return all.some((y) => end(y) > 0) && all.every((y) => end(y) >= 0 && y.filter((v) => v < 0).length <= 0.1 * y.length);
  }

  function drawRegret(canvas, kind) {
    const curves = (group) => group.regret[kind];
    const wantsLog = view.scale === "log", isLog = wantsLog && allowsLog(curves);
    const found = traces(curves, isLog);
    const notes = [];
    if (wantsLog && !isLog && shown().length) notes.push("This axis is linear because values are not positive.");
    if (isLog && shown().some((group) => curves(group)[view.statistic][0].some((v) => v <= 0))) notes.push("Points at or below zero are omitted.");
    const last = (group) => group.regret[kind][view.statistic][0][group.episode.length - 1];
    const top = shown().filter((group) => last(group) > 0).sort((a, b) => last(b) - last(a))[0];
    if (view.reference && top) {
      const c = top.reference[kind][view.statistic];
      found.push({
        type: "scatter", mode: "lines", name: "c√K", meta: "reference", x: top.episode, y: top.episode.map((k) => c * Math.sqrt(k)),
        line: { color: color("--soft"), width: 1.6, dash: "dot" }, hovertemplate: "%{y:.4~g}<extra>c√K</extra>",
      });
      notes.push(`Dotted: ${digits(c, 3)}·√K, through the end of ${top.name}.`);
    }
    const unit = data[view.chapter].units[kind];
    const yaxis = values(isLog, unit);
    if (isLog) yaxis.range = reach(found);
    react(canvas, found, { xaxis: episodes(wantsLog), yaxis }, notes);
  }

  function values(isLog, unit) {
    return { type: isLog ? "log" : "linear", title: { text: escaped(unit.length > 30 ? unit.slice(0, 28) + "…" : unit), standoff: 4, font: { size: 12 } }, exponentformat: "power", nticks: 6 };
  }

  // limits of a logarithmic axis that contain the lines; bands may extend below
  function reach(found) {
    const lines = found.filter((trace) => trace.meta === "line").flatMap((trace) => trace.y).filter((v) => v > 0);
    const all = found.flatMap((trace) => trace.y).filter((v) => v > 0);
    const top = Math.log10(Math.max(...all)), bottom = Math.log10(Math.min(...lines));
    return [Math.max(bottom, top - DECADES) - 0.15, top + 0.1];
  }

  function drawShare(canvas) {
    const found = traces((group) => group.share, false, 100);
    react(canvas, found, { xaxis: episodes(view.scale === "log"), yaxis: { ...values(false, "percent"), rangemode: "tozero" } }, []);
  }

  function drawMultiplier(canvas, index) {
    const found = traces((group) => group.multiplier[index], false);
    const price = data[view.chapter].prices[index], x = groups()[0].episode;
    found.push({ type: "scatter", mode: "lines", name: "optimum", meta: "price", x: [x[0], x[x.length - 1]], y: [price, price], line: { color: color("--soft"), width: 1.6, dash: "dot" }, hovertemplate: "%{y:.4~g}<extra>price at the optimum</extra>" });
    react(canvas, found, { xaxis: episodes(view.scale === "log"), yaxis: { ...values(false, "multiplier"), rangemode: "tozero" } }, []);
  }

  function react(canvas, found, change, notes) {
    const height = canvas.clientHeight || 300;
    Plotly.react(canvas, found, layout(canvas.clientWidth, height, change), CONFIG);
    const note = canvas.parentElement.querySelector(".note");
    note.textContent = notes.join(" ");
    note.hidden = notes.length === 0;
  }

  // --- policies and visits --------------------------------------------------------------------

  function panels() {
    const home = article().querySelector(".pictures"), picture = data[view.chapter].picture;
    if (!home.childElementCount) {
      picture.panels.forEach((panel) => {
        const figure = document.createElement("figure"), title = document.createElement("h4"), canvas = document.createElement("div"), caption = document.createElement("figcaption");
        figure.className = "plot"; canvas.className = "canvas";
        title.textContent = panel.name;
        canvas.setAttribute("role", "img");
        canvas.setAttribute("aria-label", `Visits and most likely actions of ${panel.name} in ${home.dataset.label}`);
        caption.append(title); figure.append(caption, canvas); home.append(figure);
      });
      if (picture.kind === "map") { stages(picture); ground(picture); }
    }
    return [...home.querySelectorAll(".canvas")];
  }

  function stages(picture) {
    const bar = article().querySelector(".stage"), slider = bar.querySelector("input"), output = bar.querySelector("output");
    const tell = () => {
      const stage = picture.stages[slider.value];
      output.textContent = stage === null ? `all ${picture.horizon} combined` : `${stage} of 0 to ${picture.horizon - 1}`;
      slider.setAttribute("aria-valuetext", output.textContent);
    };
    bar.hidden = false;
    slider.max = picture.stages.length - 1;
    slider.addEventListener("input", () => { tell(); drawPictures(); });
    tell();
  }

  function ground(picture) {
    const letters = [...new Set(picture.rows.join(""))].filter((letter) => !"#SG. ".includes(letter)).sort();
    const items = [["start", "start"], ["goal", "goal"], ["ground", `ground ${letters.map((letter) => `‘${letter}’`).join(", ")}`], ["wall", "wall"]];
    const isThere = { start: picture.starts.length, goal: picture.rows.some((row) => row.includes("G")), ground: letters.length, wall: picture.rows.some((row) => row.includes("#")) };
    const home = article().querySelector(".legend");
    items.filter(([kind]) => isThere[kind]).forEach(([kind, words]) => {
      const item = document.createElement("span"), key = document.createElement("i");
      key.className = `key ${kind}`;
      item.append(key, words);
      home.append(item);
    });
  }

  // cell size available for a symbol; in smaller cells colors show the actions
  function isDense(picture) {
    const canvas = article().querySelector(".pictures .canvas");
    return (canvas.clientWidth - 80) / picture.stages.length < 9;
  }

  function legend(picture) {
    const home = article().querySelector(".legend"), few = picture.actions.length <= SYMBOLS.length, dense = isDense(picture);
    home.replaceChildren();
    if (dense && !few) { home.append("Marks from dark to bright: actions from first to last."); return; }
    const used = new Set(picture.panels.flatMap((panel) => panel.action.flat()));
    picture.actions.forEach((name, k) => {
      if (!used.has(k)) return;
      const item = document.createElement("span"), key = document.createElement("span");
      key.className = dense ? "key action" : "";
      if (dense) key.style.color = ACTIONS[k]; else key.textContent = `${few ? GLYPHS[k] : k} `;
      item.append(key, name);
      home.append(item);
    });
    if (picture.states.length < picture.all_states) home.append(`${picture.states.length} of ${picture.all_states} most visited states`);
  }

  const scaleOfColors = () => [[0, color("--low")], [0.35, color("--mid")], [1, color("--high")]];

  function drawPictures() {
    const picture = data[view.chapter].picture;
    const isMap = picture.kind === "map";
    const index = isMap ? Number(article().querySelector(".stage input").value) : 0;
    const most = Math.max(...picture.panels.map((panel) => isMap ? panel.stages[index].most : Math.max(...panel.often.flat())));
    const canvases = panels();
    if (!isMap) legend(picture);
    canvases.forEach((canvas, k) => {
      const panel = picture.panels[k];
      if (isMap) drawMap(canvas, picture, panel.stages[index], most); else drawHeat(canvas, picture, panel, most);
    });
  }

  function drawMap(canvas, picture, stage, most) {
    const R = picture.rows.length, C = picture.rows[0].length, width = canvas.clientWidth;
    const cell = Math.min(46, (width - 8) / C), isWall = (r, c) => picture.rows[r][c] === "#";
    const often = stage.often.map((row, r) => row.map((v, c) => (isWall(r, c) ? null : v)));
    const wall = stage.often.map((row, r) => row.map((_, c) => (isWall(r, c) ? 1 : null)));
    const words = stage.often.map((row, r) => row.map((v, c) => {
      const a = stage.action[r][c];
      return `row ${r}, column ${c}: ${digits(v, 3)} visits` + (a < 0 ? "" : `<br>${escaped(picture.actions[a])} in ${Math.round(100 * stage.share[r][c])} %`);
    }));
    const arrows = { x: [], y: [], angle: [], opacity: [], symbol: [], size: [] };
    stage.action.forEach((row, r) => row.forEach((a, c) => {
      if (a < 0 || isWall(r, c)) return;
      const [down, right] = picture.moves[a], share = stage.share[r][c];
      const size = cell * (down || right ? 0.3 + 0.15 * share : 0.25), back = down || right ? size / cell / 2 / Math.hypot(down, right) : 0;
      arrows.x.push(c + right * back); arrows.y.push(r + down * back); // markers are positioned by the arrow tip
      arrows.angle.push((Math.atan2(right, -down) * 180) / Math.PI);
      arrows.symbol.push(down || right ? "arrow" : "circle");
      arrows.size.push(size);
      arrows.opacity.push((0.25 + 0.75 * share) * (stage.often[r][c] < 0.02 * most ? 0.45 : 1));
    }));
    const places = (test) => { const at = { x: [], y: [], text: [] }; picture.rows.forEach((row, r) => [...row].forEach((letter, c) => { if (test(letter, r, c)) { at.x.push(c); at.y.push(r); at.text.push(letter); } })); return at; };
    const frame = (at, shade, text) => ({ type: "scatter", mode: "markers+text", x: at.x, y: at.y, text: text || at.text, textposition: "middle center", textfont: { color: color("--mark"), size: Math.max(7, cell * 0.34) }, marker: { symbol: "square-open", size: cell * 0.8, color: shade, line: { width: 2, color: shade } }, hoverinfo: "skip" });
    const start = new Set(picture.starts.map(String));
    const ground = frame(places((letter) => !"#SG. ".includes(letter)), color("--ground"));
    ground.mode = "markers"; ground.marker.line.width = 1.5;
    const found = [
      { type: "heatmap", z: often, zmin: 0, zmax: most || 1, colorscale: scaleOfColors(), showscale: false, xgap: 1, ygap: 1, text: words, hovertemplate: "%{text}<extra></extra>", meta: "visits" },
      { type: "heatmap", z: wall, colorscale: [[0, color("--wall")], [1, color("--wall")]], showscale: false, hoverinfo: "skip" },
      ground,
      frame(places((_, r, c) => start.has(`${r},${c}`)), color("--start"), "S"),
      frame(places((letter) => letter === "G"), color("--goal")),
      { type: "scatter", mode: "markers", x: arrows.x, y: arrows.y, hoverinfo: "skip", meta: "actions", marker: { symbol: arrows.symbol, angle: arrows.angle, size: arrows.size, opacity: arrows.opacity, color: color("--mark"), line: { width: 0 } } },
    ];
    found[3].mode = "markers";
    found[0].xgap = found[0].ygap = cell > 8 ? 1 : 0;
    const plain = { visible: false, fixedrange: true };
    Plotly.react(canvas, found, layout(width, R * cell + 8, {
      margin: { l: 2, r: 2, t: 4, b: 4 }, hovermode: "closest", plot_bgcolor: color("--line"),
      xaxis: { ...plain, range: [-0.5, C - 0.5], constrain: "domain" }, yaxis: { ...plain, range: [R - 0.5, -0.5], scaleanchor: "x" },
    }), CONFIG);
  }

  function drawHeat(canvas, picture, panel, most) {
    const few = picture.actions.length <= SYMBOLS.length, rows = picture.states.length, width = canvas.clientWidth;
    const height = Math.max(150, Math.min(520, 60 + rows * 22)), cell = Math.min((width - 80) / picture.stages.length, (height - 50) / rows);
    const words = panel.often.map((row, s) => row.map((v, h) => {
      const a = panel.action[s][h];
      return `${escaped(picture.states[s])}, stage ${picture.stages[h]}: ${digits(v, 3)}` + (a < 0 ? "" : `<br>${escaped(picture.actions[a])} in ${Math.round(100 * panel.share[s][h])} %`);
    }));
    const dense = isDense(picture), marks = { x: [], y: [], symbol: [], text: [], opacity: [], color: [] };
    panel.action.forEach((row, s) => row.forEach((a, h) => {
      if (a < 0) return;
      marks.x.push(picture.stages[h]); marks.y.push(s); marks.symbol.push(dense ? "square" : SYMBOLS[a % SYMBOLS.length]); marks.color.push(few ? ACTIONS[a] : a); marks.text.push(String(a));
      marks.opacity.push(0.3 + 0.7 * panel.share[s][h]);
    }));
    const size = dense ? Math.max(3, Math.min(6, cell)) : Math.min(10, cell * 0.55);
    const found = [
      { type: "heatmap", x: picture.stages, y: picture.states.map((_, s) => s), z: panel.often, zmin: 0, zmax: most, colorscale: scaleOfColors(), showscale: false, xgap: 1, ygap: 1, text: words, hovertemplate: "%{text}<extra></extra>", meta: "visits" },
      { type: "scatter", mode: few || dense ? "markers" : "text", x: marks.x, y: marks.y, text: marks.text, textfont: { size: Math.max(7, size), color: color("--mark") }, hoverinfo: "skip", meta: "actions", marker: { symbol: marks.symbol, size, opacity: marks.opacity, color: dense ? marks.color : color("--mark"), colorscale: "Viridis", line: { width: dense ? 0 : 1, color: color("--card") } } },
    ];
    Plotly.react(canvas, found, layout(width, height, {
      margin: { l: 40, r: 6, t: 4, b: 36 }, hovermode: "closest",
      xaxis: { title: { text: "stage", standoff: 4, font: { size: 12 } }, showgrid: false, zeroline: false, fixedrange: true, nticks: 8 },
      yaxis: { tickvals: picture.states.map((_, s) => s), ticktext: picture.states.map(escaped), range: [rows - 0.5, -0.5], showgrid: false, zeroline: false, fixedrange: true },
    }), CONFIG);
  }

  // --- selection ----------------------------------------------------------------------------

  function draw() {
    article().querySelectorAll("tr[data-statistic]").forEach((row) => { row.hidden = row.dataset.statistic !== view.statistic; });
    const draws = { regret: drawRegret, share: drawShare, multiplier: drawMultiplier };
    article().querySelectorAll("[data-plot]").forEach((canvas) => draws[canvas.dataset.plot](canvas, canvas.dataset.index));
    drawPictures();
    document.body.dataset.drawn = [view.chapter, view.statistic, view.scale].join(" ");
  }

  function learners() {
    const home = document.getElementById("learners");
    home.replaceChildren(...groups().map((group) => {
      const item = document.createElement("label"), box = document.createElement("input"), swatch = document.createElement("span");
      box.type = "checkbox"; box.checked = !view.hidden.has(group.name); box.value = group.name;
      swatch.className = `swatch ${group.dash}`; swatch.style.color = lineColor(group);
      box.addEventListener("change", () => { if (box.checked) view.hidden.delete(group.name); else view.hidden.add(group.name); draw(); });
      item.append(box, swatch, `${label(group)}, n ${group.n}`);
      return item;
    }));
  }

  function show(chapter) {
    article().hidden = true;
    view.chapter = chapter;
    article().hidden = false;
    learners();
    draw();
  }

  document.getElementById("chapter")?.addEventListener("change", (event) => show(event.target.value));
  for (const name of ["statistic", "scale"]) {
    document.querySelectorAll(`input[name=${name}]`).forEach((box) => box.addEventListener("change", () => { view[name] = box.value; draw(); }));
  }
  for (const name of ["bands", "reference"]) {
    document.getElementById(name).addEventListener("change", (event) => { view[name] = event.target.checked; draw(); });
  }
  const again = () => { learners(); draw(); };
  night.addEventListener("change", again);
  let width = innerWidth, waiting;
  addEventListener("resize", () => {
    if (innerWidth === width) return; // the address bar of a phone changed the height only
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(draw, 120);
  });
  matchMedia("print").addEventListener("change", (event) => { printing = event.matches; again(); });
  // open all details for printing
  let opened = [];
  addEventListener("beforeprint", () => { opened = [...document.querySelectorAll("details:not([open])")]; opened.forEach((each) => { each.open = true; }); });
  addEventListener("afterprint", () => opened.forEach((each) => { each.open = false; }));
  const chosen = document.getElementById("chapter")?.value;
  show(chosen || view.chapter);
})();
