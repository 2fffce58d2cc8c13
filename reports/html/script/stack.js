// Charts of one trial: who holds the memory, stacked, under lanes of phases and nodes.
const laneHeight = 15;

// lanes draws phases and nodes above the plot, and readings and failures in it.
function lanes(data, axis, withNames) {
  const draw = (u) => {
    const { ctx } = u, r = devicePixelRatio, { left, top, width } = u.bbox;
    const x = (ms) => Math.min(left + width, Math.max(left, u.valToPos(axis.place(ms), 'x', true)));
    ctx.save();
    ctx.font = 11 * r + 'px system-ui, sans-serif';
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'left';
    for (const b of data.bars) {
      const x0 = x(b.from), x1 = x(b.to), node = b.kind === 'node';
      if (x1 - x0 < 0.3) continue;
      const y = top - (node ? 1 : 2) * laneHeight * r - 2 * r;
      ctx.fillStyle = css(node ? 'node' + (b.class || 0) % 8 : ['prompt', 'settle'].includes(b.kind) ? b.kind : 'phase');
      ctx.fillRect(x0, y, Math.max(1, x1 - x0 - (x1 - x0 > 3 * r ? r : 0)), (laneHeight - 1) * r);
      if (!withNames) continue;
      const name = fitText(ctx, b.name, x1 - x0 - 6 * r);
      if (name) { ctx.fillStyle = css('lane-ink'); ctx.fillText(name, x0 + 3 * r, y + laneHeight * r / 2); }
    }
    for (const m of data.marks || []) {
      const at = u.valToPos(axis.place(m.at), 'x', true);
      if (at < left - 1 || at > left + width + 1) continue;
      ctx.strokeStyle = ctx.fillStyle = css(m.bad ? 'bad' : 'faint');
      ctx.lineWidth = (m.bad ? 2 : 1) * r;
      ctx.setLineDash(m.bad ? [] : [4 * r, 3 * r]);
      ctx.beginPath(); ctx.moveTo(at, top); ctx.lineTo(at, top + u.bbox.height); ctx.stroke();
      const text = fitText(ctx, m.text, width * 0.7), right = m.text === 'rested' || at + ctx.measureText(text).width + 8 * r > left + width;
      ctx.textAlign = right ? 'right' : 'left';
      const y = top + (m.bad ? 35 : right && m.text !== 'rested' ? 22 : 9) * r, w = ctx.measureText(text).width;
      ctx.globalAlpha = 0.8; ctx.fillStyle = css('paper');
      ctx.fillRect(right ? at - w - 6 * r : at + 2 * r, y - 8 * r, w + 4 * r, 16 * r);
      ctx.globalAlpha = 1; ctx.fillStyle = css(m.bad ? 'bad' : 'faint');
      ctx.fillText(text, right ? at - 4 * r : at + 4 * r, y);
      ctx.textAlign = 'left';
    }
    ctx.restore();
  };
  return { hooks: { draw: [draw] } };
}

// limit draws how much there is.
function limit(stack) {
  const draw = (u) => {
    if (!stack.limit) return;
    const { ctx } = u, r = devicePixelRatio, { left, width } = u.bbox, y = u.valToPos(stack.limit, 'y', true);
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = css('ink');
    ctx.lineWidth = r;
    ctx.setLineDash([6 * r, 3 * r]);
    ctx.beginPath(); ctx.moveTo(left, y); ctx.lineTo(left + width, y); ctx.stroke();
    ctx.font = 11 * r + 'px system-ui, sans-serif';
    ctx.textBaseline = 'bottom';
    ctx.textAlign = 'left';
    ctx.fillText(fitText(ctx, stack.limit_text, width), left + 4 * r, y - 2 * r);
    ctx.restore();
  };
  return { hooks: { draw: [draw] } };
}

// fitText shortens text to a width, to nothing where not even three letters fit.
function fitText(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  for (let n = Math.min(text.length - 1, 60); n >= 3; n--) {
    const short = text.slice(0, n) + '…';
    if (ctx.measureText(short).width <= width) return short;
  }
  return '';
}

// spansAt names what ran at a time.
function spansAt(data, ms) {
  return data.bars.filter((b) => b.from <= ms && ms <= b.to).map((b) => b.name).join(', ');
}

// StackChart shows one stack of a trial in a box of the page.
class StackChart {
  constructor(box, data, stack, axis, key) {
    Object.assign(this, { box, data, stack, axis, key });
    this.times = decode(stack.t);
    this.layers = stack.layers.map((l) => ({ name: l.name, kind: l.kind, v: decode(l.v) }));
    this.at = make('div', { class: 'at', 'aria-live': 'off' });
    this.host = make('div', { tabindex: '0', role: 'img', 'aria-label': this.words() });
    box.append(this.host, this.at);
    this.host.addEventListener('keydown', (e) => this.key_(e));
    this.rebuild();
    charts.add(this);
    this.watch = new ResizeObserver(() => this.u && this.box.clientWidth && this.u.setSize(this.sizes()));
    this.watch.observe(box);
  }

  close() { charts.delete(this); this.watch.disconnect(); if (this.u) this.u.destroy(); }

  // words say what the picture shows.
  words() {
    const list = this.layers.map((l) => l.name + ' up to ' + size(Math.max(...l.v)));
    return this.stack.title + ' over ' + seconds(this.axis.end()) + ': ' + [...list, this.stack.aside, this.stack.limit_text].filter(Boolean).join('; ') + '. Arrow keys move, + and - zoom, 0 shows all.';
  }

  sizes() { return { width: Math.max(200, this.box.clientWidth), height: 250 }; }

  rebuild() {
    if (this.u) this.u.destroy();
    const x = this.times.map((t) => this.axis.place(t));
    const sums = new Array(x.length).fill(0), rows = [];
    for (const l of this.layers) rows.push(l.v.map((v, i) => (sums[i] += v)));
    const n = this.layers.length;
    const stepped = uPlot.paths.stepped({ align: 1 });
    const series = [{ label: 'at', value: (u, v) => (v == null ? '–' : seconds(this.axis.time(v))) }];
    const bands = [];
    // The topmost sum is drawn first, each band down to the sum below it.
    for (let i = n - 1; i >= 0; i--) {
      const l = this.layers[i], color = css(l.kind) || css('trial');
      series.push({
        label: l.name, stroke: color, fill: color, width: 1 / devicePixelRatio, paths: stepped, points: { show: false },
        value: (u, v, s, k) => (k == null ? '–' : size(l.v[k])),
      });
      if (i > 0) bands.push({ series: [n - i, n - i + 1], fill: color });
    }
    const axisStyle = { stroke: css('faint'), grid: { stroke: css('line'), width: 1 }, ticks: { stroke: css('line') } };
    this.u = new uPlot({
      ...this.sizes(), series, bands, padding: [2 * laneHeight + 6, 12, 0, 0],
      cursor: { sync: { key: this.key }, drag: { x: true, y: false }, points: { show: false } },
      scales: { x: { time: false, range: (u, min, max) => [min, max] }, y: { range: (u, min, max) => [0, Math.max(640, max * 1.12, (this.stack.limit || 0) * 1.1)] } },
      axes: [
        { ...axisStyle, splits: (u, i, min, max) => this.axis.splits(min, max, u.bbox.width / devicePixelRatio), values: (u, s) => s.map((p) => this.axis.label(p)), label: 'seconds' + (this.axis.folded ? ' (start and rest drawn narrower)' : ''), size: 32, labelSize: 22, labelGap: 2, labelFont: '12px system-ui, sans-serif' },
        { ...axisStyle, splits: sizeSplits, values: sizeLabels, size: 72 },
      ],
      legend: { live: true },
      plugins: [limit(this.stack), lanes(this.data, this.axis, true)],
      hooks: { setCursor: [(u) => this.say(u)] },
    }, [x, ...rows.reverse()], this.host);
  }

  say(u) {
    const { idx } = u.cursor;
    if (idx == null) { this.at.textContent = ''; return; }
    const ms = this.times[idx];
    const total = this.layers.reduce((sum, l) => sum + l.v[idx], 0);
    this.at.textContent = 'at ' + seconds(ms) + ': ' + size(total) + ', ' + spansAt(this.data, ms);
  }

  zoom(from, to) { this.u.setScale('x', { min: this.axis.place(from), max: this.axis.place(to) }); }

  key_(e) {
    const { min, max } = this.u.scales.x, mid = (min + max) / 2, half = (max - min) / 2;
    const idx = this.u.cursor.idx ?? this.u.valToIdx(mid), step = e.shiftKey ? 20 : 1;
    switch (e.key) {
      case 'ArrowLeft': case 'ArrowRight': {
        const k = Math.min(this.times.length - 1, Math.max(0, idx + (e.key === 'ArrowLeft' ? -step : step)));
        this.u.setCursor({ left: this.u.valToPos(this.u.data[0][k], 'x'), top: 10 });
        break;
      }
      case '+': case '=': this.u.setScale('x', { min: mid - half / 2, max: mid + half / 2 }); break;
      case '-': this.u.setScale('x', { min: Math.max(0, mid - half * 2), max: Math.min(10000, mid + half * 2) }); break;
      case '0': this.u.setScale('x', { min: 0, max: 10000 }); break;
      default: return;
    }
    e.preventDefault();
  }
}
