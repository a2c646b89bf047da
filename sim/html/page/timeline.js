// Lets the reader zoom and move the pipeline, and shows the values of a bar.
function startTimeline(canvas, tip, range, pathBox, data) {
  const drawing = new TimelineDrawing(canvas, data);
  const view = { from: 0, to: data.length };
  let pending = false;

  const draw = () => {
    pending = false;
    drawing.draw(view, pathBox.checked);
    range.textContent = `${timeText(view.from * data.unit_s)} to ${timeText(view.to * data.unit_s)}`;
    canvas.dataset.from = String(view.from * data.unit_s);
    canvas.dataset.to = String(view.to * data.unit_s);
  };
  const redraw = () => { if (!pending) { pending = true; requestAnimationFrame(draw); } };
  const show = (from, to) => {
    const span = Math.min(data.length, Math.max(Math.min(20, data.length), to - from));
    view.from = Math.min(Math.max(0, from), data.length - span);
    view.to = view.from + span;
    redraw();
  };
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
      return `${where}: ${activities[activity]} pass\n${which}\n${times}\n${effects[activity] ?? "frees"} ${bytes} of activations`;
    }
    return activity === 3 ? `${where}: sends a message\n${which}\n${times}\n${bytesText(data.message_bytes)}` : `${where}: ${name}\n${times}`;
  };
  const hover = (event) => {
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const found = drawing.barAt(x, y, view);
    tip.hidden = found === null;
    if (found === null) return;
    tip.textContent = words(found);
    tip.style.left = `${Math.min(x + 14, box.width - tip.offsetWidth - 4)}px`;
    tip.style.top = `${y + 18}px`;
  };

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, from: view.from, to: view.to };
    canvas.setPointerCapture(event.pointerId);
    canvas.style.cursor = "grabbing";
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag === null) return hover(event);
    tip.hidden = true;
    const shift = (drag.x - event.clientX) / drawing.plotWidth * (drag.to - drag.from);
    show(drag.from + shift, drag.to + shift);
  });
  const drop = () => { drag = null; canvas.style.cursor = ""; };
  canvas.addEventListener("pointerup", drop);
  canvas.addEventListener("pointercancel", drop);
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
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
  };
  canvas.addEventListener("keydown", (event) => {
    const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (action) { event.preventDefault(); action(); }
  });
  const buttons = { in: () => zoom(0.6), out: () => zoom(1 / 0.6), all: () => show(0, data.length) };
  for (const button of document.querySelectorAll("[data-zoom]")) button.addEventListener("click", buttons[button.dataset.zoom]);
  pathBox.addEventListener("change", redraw);
  new ResizeObserver(() => { if (canvas.parentElement.clientWidth !== drawing.width) { drawing.resize(); draw(); } }).observe(canvas.parentElement);
  document.addEventListener("themechange", () => { drawing.restyle(); redraw(); });
  draw();
}
