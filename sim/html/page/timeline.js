// Lets the reader zoom and move the pipeline, find passes, follow messages and sum up a range.
function startTimeline(data, title) {
  const part = (name) => document.getElementById(name);
  const canvas = part("timeline"), tip = part("timeline-tip"), pathBox = part("show-path"), selectBox = part("drag-selects");
  const drawing = new TimelineDrawing(canvas, data), messages = new Messages(data);
  const view = { from: 0, to: data.length };
  let pending = false, range = null, selected = null, hovered = null;

  const marks = () => {
    const bars = [selected, hovered].filter((bar) => bar !== null && bar.index >= 0);
    return { path: pathBox.checked, range, bars: bars.slice(0, 1), links: bars.flatMap((bar) => messages.of(bar)) };
  };
  const draw = () => {
    pending = false;
    const shown = marks();
    drawing.draw(view, shown);
    part("timeline-range").textContent = `${timeText(view.from * data.unit_s)} to ${timeText(view.to * data.unit_s)}`;
    canvas.dataset.from = String(view.from * data.unit_s);
    canvas.dataset.to = String(view.to * data.unit_s);
    canvas.dataset.arrows = shown.links.map(({ from, to }) => `${from.row}>${to.row}`).join(" ");
  };
  const redraw = () => { if (!pending) { pending = true; requestAnimationFrame(draw); } };
  const show = (from, to) => {
    const span = Math.min(data.length, Math.max(Math.min(20, data.length), to - from));
    view.from = Math.min(Math.max(0, from), data.length - span);
    view.to = view.from + span;
    redraw();
  };
  const choose = (from, to) => {
    range = to > from ? { from: Math.max(0, from), to: Math.min(data.length, to) } : null;
    showSums(part("timeline-sums"), data, range);
    redraw();
  };
  const select = (bar) => { selected = bar; redraw(); };
  const zoom = (factor, x = labelWidth + drawing.plotWidth / 2) => {
    const centre = drawing.time(x, view);
    show(centre - (centre - view.from) * factor, centre + (view.to - centre) * factor);
  };
  const move = (part) => show(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));

  const words = (found) => {
    const seconds = (units) => units * data.unit_s, where = `Stage ${found.row}`;
    if (found.index < 0) return found.lane === 0 ? `${where}: bubble\nwaits for another stage` : `${where}\nno communication`;
    const bars = data.lanes[found.row][found.lane], i = found.index, activity = bars.activity[i];
    const times = `${timeText(seconds(bars.end[i] - bars.begin[i]))}, from ${timeText(seconds(bars.begin[i]))} to ${timeText(seconds(bars.end[i]))}`;
    const which = `micro-batch ${bars.microbatch[i]}${data.chunks > 1 ? `, chunk ${bars.chunk[i]}` : ""}`;
    const name = activities[activity][0].toUpperCase() + activities[activity].slice(1);
    if (isPass(activity)) {
      const bytes = bytesText(data.stash_bytes[found.row][bars.chunk[i]]);
      const effects = { 0: "keeps", 5: "reads", 7: "restores" };
      const ways = messages.of(found).map(({ from, to }) => from.row === found.row && from.index === i ? `\nsends to stage ${to.row}` : `\nreceives from stage ${from.row}`);
      return `${where}: ${activities[activity]} pass\n${which}\n${times}\n${effects[activity] ?? "frees"} ${bytes} of activations${ways.join("")}`;
    }
    return activity === 3 ? `${where}: sends a message\n${which}\n${times}\n${bytesText(data.message_bytes)}` : `${where}: ${name}\n${times}`;
  };
  const hover = (event) => {
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const found = drawing.barAt(x, y, view);
    tip.hidden = found === null;
    if (found?.row !== hovered?.row || found?.lane !== hovered?.lane || found?.index !== hovered?.index) { hovered = found; redraw(); }
    if (found === null) return;
    tip.textContent = words(found);
    tip.style.left = `${Math.min(x + 14, box.width - tip.offsetWidth - 4)}px`;
    tip.style.top = `${Math.max(y + 18, (found.row + 2) * drawing.rowHeight + 4)}px`;  // below the arrow to the next stage
  };

  // A mouse selects a range, a finger moves; Shift does the other. A press without a drag selects the bar.
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    const x = event.clientX - canvas.getBoundingClientRect().left;
    drag = { x: event.clientX, from: view.from, to: view.to, time: drawing.time(x, view), selects: selectBox.checked !== event.shiftKey, moved: false };
    canvas.setPointerCapture(event.pointerId);
    if (!drag.selects) canvas.style.cursor = "grabbing";
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag === null) return hover(event);
    drag.moved ||= Math.abs(event.clientX - drag.x) > 3;
    if (!drag.moved) return;
    tip.hidden = true;
    if (drag.selects) {
      const time = drawing.time(event.clientX - canvas.getBoundingClientRect().left, view);
      return choose(Math.min(drag.time, time), Math.max(drag.time, time));
    }
    const shift = (drag.x - event.clientX) / drawing.plotWidth * (drag.to - drag.from);
    show(drag.from + shift, drag.to + shift);
  });
  const drop = (event) => {
    if (drag !== null && !drag.moved && event.type === "pointerup") {
      hover(event);
      select(hovered !== null && hovered.index >= 0 ? hovered : null);
    }
    drag = null;
    canvas.style.cursor = "";
  };
  canvas.addEventListener("pointerup", drop);
  canvas.addEventListener("pointercancel", drop);
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; hovered = null; redraw(); });
  canvas.addEventListener("dblclick", (event) => zoom(0.4, event.clientX - canvas.getBoundingClientRect().left));
  canvas.addEventListener("wheel", (event) => {
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) { event.preventDefault(); return move(event.deltaX / drawing.plotWidth); }
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), event.clientX - canvas.getBoundingClientRect().left);
  }, { passive: false });

  const keys = {
    "+": () => zoom(0.7), "=": () => zoom(0.7), w: () => zoom(0.7), "-": () => zoom(1 / 0.7), s: () => zoom(1 / 0.7),
    ArrowLeft: () => move(-0.15), a: () => move(-0.15), ArrowRight: () => move(0.15), d: () => move(0.15),
    0: () => show(0, data.length), Home: () => show(0, data.length),
    r: () => choose(view.from, view.to), Escape: () => { choose(0, 0); select(null); }, "/": () => part("find").focus(),
  };
  canvas.addEventListener("keydown", (event) => {
    const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (action) { event.preventDefault(); action(); }
  });
  const buttons = { in: () => zoom(0.6), out: () => zoom(1 / 0.6), all: () => show(0, data.length) };
  for (const button of document.querySelectorAll("[data-zoom]")) button.addEventListener("click", buttons[button.dataset.zoom]);
  part("sum-view").addEventListener("click", () => choose(view.from, view.to));
  part("sums-close").addEventListener("click", () => choose(0, 0));
  selectBox.checked = matchMedia("(pointer: fine)").matches;
  pathBox.addEventListener("change", redraw);
  startSearch(part("find"), part("found"), data, (bar) => {
    const bars = data.lanes[bar.row][bar.lane], middle = (bars.begin[bar.index] + bars.end[bar.index]) / 2;
    const half = Math.min((view.to - view.from) / 2, 12 * Math.max(1, bars.end[bar.index] - bars.begin[bar.index]));
    show(middle - half, middle + half);
    select(bar);
    return words(bar);
  });
  startTrace(data, messages, title);
  new ResizeObserver(() => { if (canvas.parentElement.clientWidth !== drawing.width) { drawing.resize(); draw(); } }).observe(canvas.parentElement);
  document.addEventListener("themechange", () => { drawing.restyle(); redraw(); });
  draw();
}
