"use strict";
// Draws the figures of the selected chapter; tables and text are in the page already.
(() => {
  const home = document.getElementById("data"), data = JSON.parse(home.textContent);
  const LINEAR_PART = Number(home.dataset.linearPart) / (1 - 0.1); // as in Matplotlib's symmetric logarithmic scale
  const seconds = Number(document.body.dataset.reload || 0);
  const view = { chapter: Object.keys(data)[0], statistic: "mean", scale: "log", bands: true, reference: true, hidden: new Set() };
  const night = matchMedia("(prefers-color-scheme: dark)");
  const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "cross", "x", "star", "triangle-down"];
  const GLYPHS = ["●", "■", "▲", "◆", "✚", "✖", "★", "▼"];
  const ACTIONS = ["#e69f00", "#009e73", "#cc79a7", "#d55e00", "#8f7ae0", "#8c8c00", "#808890", "#b5446e"];
  const DECADES = Array.from({ length: 13 }, (_, exponent) => 10 ** exponent);
  const CONFIG = { displayModeBar: false, responsive: false };
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

  // scales of vertical axes: the kind, and where a value is drawn
  const linear = (factor = 1) => ({ kind: "linear", at: (value) => value * factor, factor });
  const logarithmic = (ticks) => ({ kind: "log", ticks, at: (value) => value, factor: 1 });
  const symmetric = (threshold, ticks) => ({
    kind: "symlog", ticks, factor: 1,
    at: (value) => { const size = Math.abs(value) / threshold; return Math.sign(value) * (size <= 1 ? size * LINEAR_PART : LINEAR_PART + Math.log10(size)); },
  });

  // a line and its band for each selected learner
  function traces(curves, scale) {
    const found = [], at = (value) => (value === null ? null : scale.at(value));
    for (const group of shown()) {
      const [middle, low, high] = curves(group)[view.statistic];
      const x = group.episode;
      if (view.bands && low.every((value) => value !== null)) {
        found.push({
          type: "scatter", mode: "lines", name: `${group.name} band`, meta: "band", hoverinfo: "skip", showlegend: false,
          x: [...x, ...[...x].reverse()], y: [...high.map(at), ...[...low].reverse().map(at)],
          fill: "toself", fillcolor: faint(lineColor(group), 0.18), line: { width: 0 },
        });
      }
      found.push({
        type: "scatter", mode: x.length > 1 ? "lines" : "markers", name: label(group), meta: "line", x, y: middle.map(at),
        customdata: middle.map((value) => (value === null ? null : value * scale.factor)), hoverinfo: "none",
        line: { color: lineColor(group), width: 2.2, dash: group.dash }, marker: { color: lineColor(group) },
      });
    }
    return found;
  }

  function escaped(text) {
    return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  }

  function episodes(isLog) {
    const axis = { type: isLog ? "log" : "linear", title: { text: "episode", standoff: 6, font: { size: 12 } }, nticks: 6 };
    return isLog ? { ...axis, tickvals: DECADES, ticktext: DECADES.map(power) } : axis;
  }

  function scaleOf(kind) {
    const [name, threshold, ticks] = data[view.chapter].scale[kind];
    if (view.scale === "linear" || name === "linear") return linear();
    return name === "log" ? logarithmic(ticks) : symmetric(threshold, ticks);
  }

  function drawRegret(canvas, kind) {
    const curves = (group) => group.regret[kind], scale = scaleOf(kind);
    const found = traces(curves, scale), notes = [];
    const last = (group) => group.regret[kind][view.statistic][0][group.episode.length - 1];
    const top = shown().filter((group) => last(group) > 0).sort((a, b) => last(b) - last(a))[0];
    if (view.reference && top) {
      const c = top.reference[kind][view.statistic], y = top.episode.map((k) => c * Math.sqrt(k));
      found.push({
        type: "scatter", mode: "lines", name: "c√K", meta: "reference", x: top.episode, y: y.map(scale.at), customdata: y, hoverinfo: "none",
        line: { color: color("--soft"), width: 1.6, dash: "dot" },
      });
      notes.push(`Dotted: ${digits(c, 3)}·√K, through the end of ${top.name}.`);
    }
    if (scale.kind === "symlog") notes.push(`Linear between −${power(data[view.chapter].scale[kind][1])} and ${power(data[view.chapter].scale[kind][1])}, logarithmic beyond.`.replace(/<sup>(.*?)<\/sup>/g, (_, text) => [...text].map((d) => "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"["0123456789−".indexOf(d)]).join("")));
    canvas.dataset.scale = scale.kind;
    react(canvas, found, { xaxis: episodes(view.scale === "log"), yaxis: values(scale, regretTitle(data[view.chapter].units[kind])) }, notes);
  }

  function regretTitle(unit) {
    const words = `cumulative regret (${unit})`;
    return words.length > 34 ? words.replace(" (", "\n(") : words;
  }

  // a number as in the figures of Matplotlib: in digits, or as a power of ten
  function power(value) {
    const size = Math.abs(value);
    if (size === 0 || (size > 1e-3 && size < 1e4)) return digits(value).replace(",", "");
    const exponent = Math.floor(Math.log10(size) + 1e-9), lead = digits(value / 10 ** exponent);
    const factor = /^−?1$/.test(lead) ? lead.slice(0, -1) : `${lead}×`;
    return `${factor}10<sup>${String(exponent).replace("-", "−")}</sup>`;
  }

  function values(scale, title) {
    const text = escaped(title).replace("\n", "<br>");
    const axis = { type: scale.kind === "log" ? "log" : "linear", title: { text, standoff: 4, font: { size: 12 } }, exponentformat: "power", nticks: 6 };
    return scale.kind === "linear" ? axis : { ...axis, tickvals: scale.ticks.map(scale.at), ticktext: scale.ticks.map(power) };
  }

  function drawShare(canvas) {
    const found = traces((group) => group.share, linear(100));
    react(canvas, found, { xaxis: episodes(view.scale === "log"), yaxis: { ...values(linear(), "percent of episodes"), rangemode: "tozero" } }, []);
  }

  function drawTotal(canvas, index) {
    const found = traces((group) => group.totals[index], linear());
    const budget = data[view.chapter].budgets[index], x = groups()[0].episode, ends = [x[0], x[x.length - 1]];
    if (budget !== null) found.push({ type: "scatter", mode: "lines", name: "budget", meta: "budget", x: ends, y: [budget, budget], customdata: [budget, budget], hoverinfo: "none", line: { color: color("--soft"), width: 1.6, dash: "dash" } });
    react(canvas, found, { xaxis: episodes(view.scale === "log"), yaxis: values(linear(), `${data[view.chapter].quantities[index]} per episode`) }, []);
  }

  function drawMultiplier(canvas, index) {
    const found = traces((group) => group.multiplier[index], linear());
    const price = data[view.chapter].prices[index], x = groups()[0].episode, ends = [x[0], x[x.length - 1]];
    found.push({ type: "scatter", mode: "lines", name: "price at the optimum", meta: "price", x: ends, y: [price, price], customdata: [price, price], hoverinfo: "none", line: { color: color("--soft"), width: 1.6, dash: "dot" } });
    react(canvas, found, { xaxis: episodes(view.scale === "log"), yaxis: { ...values(linear(), "multiplier"), rangemode: "tozero" } }, []);
  }

  function react(canvas, found, change, notes) {
    const height = canvas.clientHeight || 300, xaxis = { ...change.xaxis, showspikes: true, spikemode: "across", spikesnap: "data", spikethickness: 1, spikedash: "dot", spikecolor: color("--soft") };
    Plotly.react(canvas, found, layout(canvas.clientWidth, height, { ...change, hovermode: "x", xaxis }), CONFIG);
    const note = canvas.parentElement.querySelector(".note");
    note.textContent = notes.join(" ");
    note.hidden = notes.length === 0;
    read(canvas, Infinity);
    if (!canvas.dataset.listens) {
      canvas.dataset.listens = "true";
      canvas.on("plotly_hover", (event) => read(canvas, event.points[0].x));
      canvas.on("plotly_unhover", () => read(canvas, Infinity));
    }
  }

  // the values at an episode, under the figure, so that they cover no curve
  function read(canvas, episode) {
    const home = canvas.parentElement.querySelector(".readout"), lines = canvas.data.filter((trace) => trace.meta !== "band");
    home.replaceChildren();
    if (!lines.length) return;
    const place = (x) => { const k = x.findIndex((value) => value >= episode); return k < 0 ? x.length - 1 : k; };
    const head = document.createElement("b"), first = lines[0];
    head.textContent = `episode ${digits(first.x[place(first.x)], 9)}`;
    home.append(head);
    for (const trace of lines) {
      const item = document.createElement("span"), swatch = document.createElement("i"), value = trace.customdata[place(trace.x)];
      swatch.className = `swatch ${trace.line.dash}`; swatch.style.color = trace.line.color;
      item.append(swatch, `${trace.name.replace(" (heuristic)", "")} ${value === null ? "–" : digits(value)}`);
      home.append(item);
    }
  }

  // --- files --------------------------------------------------------------------------------

  function save(name, address) {
    const link = document.createElement("a");
    link.href = address;
    link.download = name.replace(/[^A-Za-z0-9.=]+/g, "-");
    link.click();
  }

  // rows as CSV; words that a spreadsheet would take for a formula are quoted by an apostrophe
  function saveRows(name, rows) {
    const cell = (value) => {
      let text = value === null ? "" : String(value);
      if (typeof value === "string" && /^[=+\-@]/.test(text)) text = `'${text}`;
      return /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
    };
    const text = rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
    const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    save(`${name}.csv`, address);
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  function saveTable(id) {
    const text = (cell) => [...cell.childNodes].map((node) => node.textContent.trim()).filter(Boolean).join("; ");
    saveRows(id, [...document.getElementById(id).rows].map((row) => [...row.cells].map(text)));
  }

  function saveCurves(name, canvas) {
    const { plot, index } = canvas.dataset;
    const curves = { regret: (group) => group.regret[index], share: (group) => group.share, multiplier: (group) => group.multiplier[index], total: (group) => group.totals[index] }[plot];
    const rows = [["learner", "episode", "statistic", "middle", "low", "high"]];
    for (const group of groups()) {
      for (const [statistic, [middle, low, high]] of Object.entries(curves(group))) {
        group.episode.forEach((episode, k) => rows.push([group.name, episode, statistic, middle[k], low[k], high[k]]));
      }
    }
    saveRows(name, rows);
  }

  async function savePicture(name, canvas, format, title) {
    const { width, height } = canvas._fullLayout, top = title ? 34 : 0, more = canvas.dataset.plot ? 70 : 0;
    const change = {
      ...canvas.layout, width, height: height + top + more, paper_bgcolor: color("--card"), showlegend: more > 0,
      legend: { orientation: "h", yref: "container", y: 0, yanchor: "bottom", x: 0 },
      title: { text: escaped(title), x: 0.02, y: 0.98, yanchor: "top", yref: "container", font: { size: 14 } },
      margin: { ...canvas.layout.margin, t: canvas.layout.margin.t + top, b: canvas.layout.margin.b + more },
    };
    const address = await Plotly.toImage({ data: canvas.data, layout: change }, { format, width, height: height + top + more, scale: format === "png" ? 3 : 1 });
    save(`${name}.${format}`, address);
  }

  addEventListener("click", (event) => {
    const button = event.target.closest?.(".save");
    if (!button) return;
    if (button.dataset.table) { saveTable(button.dataset.table); return; }
    const figure = button.closest("figure"), canvas = figure.querySelector(".canvas"), title = figure.dataset.title;
    const name = `${article().querySelector("h2").textContent}-${title}`;
    if (button.dataset.kind === "csv") saveCurves(name, canvas);
    else savePicture(name, canvas, button.dataset.kind, `${title}, ${article().querySelector("h2").textContent}`);
  });

  // --- policies and visits --------------------------------------------------------------------

  function panels() {
    const home = article().querySelector(".pictures"), picture = data[view.chapter].picture;
    if (!home.childElementCount) {
      picture.panels.forEach((panel) => {
        const figure = document.createElement("figure"), title = document.createElement("h4"), canvas = document.createElement("div"), caption = document.createElement("figcaption");
        figure.className = "plot"; canvas.className = "canvas";
        figure.dataset.title = title.textContent = panel.name;
        canvas.setAttribute("role", "img");
        canvas.setAttribute("aria-label", `Visits and most likely actions of ${panel.name} in ${home.dataset.label}`);
        const saves = document.createElement("span");
        saves.className = "saves";
        for (const kind of ["png", "svg"]) {
          const button = document.createElement("button");
          button.type = "button"; button.className = "save"; button.dataset.kind = kind; button.textContent = kind.toUpperCase();
          button.setAttribute("aria-label", `Save ${panel.name} as ${button.textContent}`);
          saves.append(button);
        }
        caption.append(title, saves); figure.append(caption, canvas); home.append(figure);
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
    const draws = { regret: drawRegret, share: drawShare, multiplier: drawMultiplier, total: drawTotal };
    article().querySelectorAll("[data-plot]").forEach((canvas) => draws[canvas.dataset.plot](canvas, canvas.dataset.index));
    if (data[view.chapter].picture) drawPictures();
    document.body.dataset.drawn = [view.chapter, view.statistic, view.scale].join(" ");
  }

  function learners() {
    const home = document.getElementById("learners");
    home.replaceChildren(...groups().map((group) => {
      const item = document.createElement("label"), box = document.createElement("input"), swatch = document.createElement("span");
      box.type = "checkbox"; box.checked = !view.hidden.has(group.name); box.value = group.name;
      swatch.className = `swatch ${group.dash}`; swatch.style.color = lineColor(group);
      box.addEventListener("change", () => { if (box.checked) view.hidden.delete(group.name); else view.hidden.add(group.name); draw(); });
      const extra = document.createElement("span");
      extra.className = "extra"; extra.textContent = `${label(group).slice(group.name.length)}, n ${group.n}`;
      item.append(box, swatch, group.name, extra);
      return item;
    }));
  }

  function show(chapter) {
    document.querySelectorAll("article").forEach((each) => { each.hidden = each.id !== chapter; });
    view.chapter = chapter;
    // only regrets have a reference
    document.getElementById("reference").parentElement.hidden = !data[chapter].kinds.length;
    learners();
    draw();
  }

  // what is chosen survives that the page of a running experiment reloads itself
  const KEY = `tightrope ${location.pathname}`;
  function remember() {
    try { sessionStorage.setItem(KEY, JSON.stringify({ ...view, hidden: [...view.hidden], top: scrollY })); } catch { /* no storage */ }
  }

  function recall() {
    let found = null;
    try { found = JSON.parse(sessionStorage.getItem(KEY)); sessionStorage.removeItem(KEY); } catch { /* no storage */ }
    if (!found || !(found.chapter in data)) return;
    Object.assign(view, found, { hidden: new Set(found.hidden) });
    const select = document.getElementById("chapter");
    if (select) select.value = view.chapter;
    for (const name of ["statistic", "scale"]) document.querySelectorAll(`input[name=${name}]`).forEach((box) => { box.checked = box.value === view[name]; });
    for (const name of ["bands", "reference"]) document.getElementById(name).checked = view[name];
    setTimeout(() => scrollTo(0, found.top));
  }

  if (seconds) {
    const reload = () => { remember(); location.reload(); };
    setTimeout(() => {
      if (!document.hidden) reload(); else document.addEventListener("visibilitychange", reload, { once: true });
    }, 1000 * seconds);
  }
  if (!view.chapter) return; // no run is finished
  recall();

  const more = document.getElementById("more");
  more.addEventListener("click", () => {
    const isOpen = more.parentElement.classList.toggle("open");
    more.setAttribute("aria-expanded", String(isOpen));
  });
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
  show(view.chapter);
})();
