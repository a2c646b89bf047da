// Finds passes by words, and the messages between passes.
const kindWords = {
  f: [0], forward: [0], b: [1, 5, 6], backward: [1, 5, 6], i: [5], input: [5], w: [6], weight: [6], r: [7], recompute: [7],
  message: [3], messages: [3], data: [4], optimizer: [2],
};
const placeWords = { s: "stage", stage: "stage", c: "chunk", chunk: "chunk", m: "microbatch", mb: "microbatch", micro: "microbatch", batch: "microbatch", microbatch: "microbatch" };
const fillWords = new Set(["pass", "passes", "for", "of", "on", "in", "at", ",", "-", "#"]);

// Reads "B 12", "forward 3 stage 2" or "f3 s2 c1". A number without a word before it is a micro-batch. Returns null where a
// word has no meaning.
function readQuery(text) {
  const query = { kinds: null };
  let place = "microbatch";
  for (const word of text.toLowerCase().match(/[a-z]+|\d+|\S/g) ?? []) {
    if (/^\d/.test(word)) { query[place] = Number(word); place = "microbatch"; }
    else if (Object.hasOwn(kindWords, word)) query.kinds = kindWords[word];
    else if (Object.hasOwn(placeWords, word)) place = placeWords[word];
    else if (!fillWords.has(word)) return null;
  }
  return Object.keys(query).length > 1 || query.kinds ? query : null;
}

// Returns the matching bars as {row, lane, index} in order of start. Without a kind only passes match.
function findBars(data, query) {
  const found = [], lane = query.kinds?.some((kind) => kind === 3 || kind === 4) ? 1 : 0;
  data.lanes.forEach((lanes, row) => {
    if (query.stage !== undefined && query.stage !== row) return;
    const bars = lanes[lane];
    for (let index = 0; index < bars.count; ++index) {
      const kind = bars.activity[index];
      if (query.kinds ? !query.kinds.includes(kind) : !isPass(kind)) continue;
      if (query.chunk !== undefined && query.chunk !== bars.chunk[index]) continue;
      if (query.microbatch !== undefined && query.microbatch !== bars.microbatch[index]) continue;
      found.push({ row, lane, index });
    }
  });
  return found.sort((a, b) => data.lanes[a.row][lane].begin[a.index] - data.lanes[b.row][lane].begin[b.index]);
}

// Knows which message leads from which pass to which. `data.senders` has [stage, activity, chunk, sending stage, sending
// chunk] of every kind of pass that waits for another stage. Results of forward passes go to forward passes.
class Messages {
  constructor(data) {
    this.data = data;
    this.maps = new Map();  // made when they are first needed, so that the page opens at once
  }
  bars(row, lane) {
    const place = 2 * row + lane;
    if (!this.maps.has(place)) this.maps.set(place, this.byKey(this.data.lanes[row][lane]));
    return this.maps.get(place);
  }
  key(activity, chunk, microbatch) { return (microbatch * this.data.chunks + chunk) * 8 + activity; }
  byKey(bars) {
    const map = new Map();
    for (let i = 0; i < bars.count; ++i) {
      const key = this.key(bars.activity[i], bars.chunk[i], bars.microbatch[i]);
      if (map.has(key)) map.get(key).push(i); else map.set(key, [i]);
    }
    return map;
  }
  pass(row, activities, chunk, microbatch) {
    for (const activity of activities) {
      const index = this.bars(row, 0).get(this.key(activity, chunk, microbatch))?.[0];
      if (index !== undefined) return { row, lane: 0, index };
    }
    return null;
  }
  // The message that a pass sends starts no earlier than the pass does. The strip has messages of both directions.
  sentBy({ row, index }) {
    const [work, strip] = this.data.lanes[row];
    const found = this.bars(row, 1).get(this.key(3, work.chunk[index], work.microbatch[index])) ?? [];
    return found.find((i) => strip.begin[i] >= work.begin[index] && strip.begin[i] >= work.end[index] - (work.end[index] - work.begin[index]) / 2) ?? -1;
  }
  // Returns the messages of a pass, or of the pass that sent a message, as {from, to, message}: two passes, and the bar of
  // the message in the strip of its sender, or -1.
  of({ row, lane, index }) {
    if (index < 0) return [];
    const bars = this.data.lanes[row][lane], chunk = bars.chunk[index], microbatch = bars.microbatch[index], activity = bars.activity[index];
    if (lane === 1) return this.ofMessage(row, index);
    const links = [], forward = [0], backward = [1, 5], same = activity === 0 ? forward : backward;
    for (const [stage, kind, itsChunk, sender, sentChunk] of this.data.senders) {
      let from = null, to = null;
      if (stage === row && kind === activity && itsChunk === chunk) {
        to = { row, lane, index };
        from = this.pass(sender, kind === 0 ? forward : backward, sentChunk, microbatch);
      } else if (sender === row && sentChunk === chunk && same.includes(kind) && same.includes(activity)) {
        from = { row, lane, index };
        to = this.pass(stage, [kind], itsChunk, microbatch);
      }
      if (from && to) links.push({ from, to, message: this.sentBy(from) });
    }
    return links;
  }
  ofMessage(row, index) {
    const strip = this.data.lanes[row][1];
    if (strip.activity[index] !== 3) return [];
    return [[0], [1], [5]].map((kinds) => this.pass(row, kinds, strip.chunk[index], strip.microbatch[index])).filter(Boolean)
      .flatMap((pass) => this.of(pass).filter((link) => link.from.row === row && link.message === index));
  }
}

// Jumps to a match when Enter is pressed, and to the next one when it is pressed again.
function startSearch(input, output, data, jump) {
  let asked = "", found = [], at = 0;
  input.form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (text !== asked) {
      const query = readQuery(text);
      [asked, at, found] = [text, -1, query === null ? null : findBars(data, query)];
    }
    if (found === null) { output.textContent = "Not understood. Examples: B 12; forward 3 stage 2; f3 s2 c1"; return; }
    if (found.length === 0) { output.textContent = "No such pass."; return; }
    at = (at + 1) % found.length;
    output.textContent = `${at + 1} of ${found.length}. ${jump(found[at]).replaceAll("\n", "; ")}`;
  });
}
