// A meter of one series of cells over versions and time, with the changes in it.
class TrendChart {
  constructor(box, trend, meter) {
    Object.assign(this, { box, trend, meter, changes: [...trend.outcomes, ...meter.changes] });
    this.host = make('div', { tabindex: '0', role: 'img', 'aria-label': this.words() });
    this.at = make('div', { class: 'at' });
    box.replaceChildren(this.host, this.at);
    this.host.addEventListener('keydown', (e) => this.key(e));
    this.rebuild();
    charts.add(this);
    this.watch = new ResizeObserver(() => this.u && this.box.clientWidth && this.u.setSize(this.sizes()));
    this.watch.observe(box);
  }

  close() { charts.delete(this); this.watch.disconnect(); this.u.destroy(); }

  words() {
    return this.trend.name + ', ' + this.meter.label + ', ' + this.trend.points.length + ' trials, ' + this.changes.length + ' changes. Arrow keys move, Enter opens a trial.';
  }

  sizes() { return { width: Math.max(200, this.box.clientWidth), height: 300 }; }

  rebuild() {
    if (this.u) this.u.destroy();
    const { points } = this.trend, bytes = this.meter.unit === 'MiB';
    const values = this.meter.values.map((v) => (v === null ? null : bytes ? v * 10 : v));
    const known = values.filter((v) => v !== null);
    const low = known.length ? Math.min(...known) : 0, high = known.length ? Math.max(...known) : 640;
    const margin = Math.max((high - low) * 0.25, high * 0.03, bytes ? 10 : 0.01);
    const floor = Math.max(0, low - margin);
    // A trial that failed has no value: its cross stands on the lower edge.
    const failed = points.map((p, i) => (p.outcome !== 'pass' ? floor + (high + margin - floor) * 0.04 : null));
    const color = css('value');
    const axisStyle = { stroke: css('faint'), grid: { stroke: css('line'), width: 1 }, ticks: { stroke: css('line') } };
    this.u = new uPlot({
      ...this.sizes(), padding: [30, 14, 0, 0], legend: { show: false },
      cursor: { drag: { x: true, y: false }, points: { size: 11 } },
      scales: { x: { time: false, range: (u, a, b) => (a === 0 && b >= points.length - 1 ? [-0.6, points.length - 0.4] : [a, b]) }, y: { range: () => [floor, high + margin] } },
      series: [{}, { stroke: color, width: 1, points: { show: true, size: points.length > 150 ? 4 : 7, fill: color } }, { stroke: css('bad'), paths: () => null, points: { show: false } }],
      axes: [
        { ...axisStyle, grid: { show: false }, size: 34, splits: () => this.starts(), values: (u, s) => this.labels(u, s), gap: 8 },
        { ...axisStyle, size: 76, ...(bytes ? { splits: sizeSplits, values: sizeLabels } : { values: (u, s) => s.map((v) => +v.toPrecision(6) + ' ' + this.meter.unit) }) },
      ],
      plugins: [{ hooks: { draw: [(u) => this.marks(u, failed)] } }],
      hooks: { setCursor: [(u) => this.say(u)] },
    }, [points.map((p, i) => i), values, failed], this.host);
    this.u.over.addEventListener('click', () => this.openAt());
  }

  // starts are the places where another version begins.
  starts() {
    const { points } = this.trend;
    return points.map((p, i) => i).filter((i) => i === 0 || points[i].place !== points[i - 1].place);
  }

  labels(u, splits) {
    const { points } = this.trend;
    let free = -Infinity;
    return splits.map((i) => {
      const at = u.valToPos(i, 'x'), text = points[i].place, half = text.length * 3.4;
      if (at - half < free) return '';
      free = at + half + 6;
      return text;
    });
  }

  marks(u, failed) {
    const { ctx } = u, r = devicePixelRatio, { left, top, width, height } = u.bbox;
    ctx.save();
    ctx.beginPath(); ctx.rect(left, 0, width, top + height); ctx.clip();
    ctx.font = 12 * r + 'px system-ui, sans-serif';
    ctx.textBaseline = 'middle';
    ctx.lineWidth = r;
    ctx.strokeStyle = css('line');
    for (const i of this.starts().slice(1)) this.upright(u, i - 0.5, [2 * r, 3 * r]);
    ctx.setLineDash([]);
    ctx.strokeStyle = css('bad');
    ctx.lineWidth = 2 * r;
    failed.forEach((v, i) => {
      if (v === null) return;
      const x = u.valToPos(i, 'x', true), y = u.valToPos(v, 'y', true), s = 4.5 * r;
      ctx.beginPath(); ctx.moveTo(x - s, y - s); ctx.lineTo(x + s, y + s); ctx.moveTo(x - s, y + s); ctx.lineTo(x + s, y - s); ctx.stroke();
    });
    let free = -Infinity; // a label that would touch the one before is left out: the list below has all
    [...this.changes].sort((a, b) => a.at - b.at).forEach((c) => {
      ctx.strokeStyle = ctx.fillStyle = css(c.worse ? 'bad' : 'good');
      ctx.lineWidth = 1.6 * r;
      const at = this.upright(u, c.at - 0.5, []);
      const text = fitText(ctx, changeWords(c, this.meter.unit), width * 0.8), w = ctx.measureText(text).width;
      const from = Math.max(left, Math.min(at + 4 * r, left + width - w));
      if (from < free) return;
      free = from + w + 8 * r;
      ctx.textAlign = 'left';
      ctx.fillText(text, from, top - 13 * r);
    });
    ctx.restore();
  }

  upright(u, i, dash) {
    const at = u.valToPos(i, 'x', true);
    u.ctx.setLineDash(dash);
    u.ctx.beginPath(); u.ctx.moveTo(at, u.bbox.top - (dash.length ? 0 : 22 * devicePixelRatio)); u.ctx.lineTo(at, u.bbox.top + u.bbox.height); u.ctx.stroke();
    return at;
  }

  say(u) {
    const { idx } = u.cursor, p = idx == null ? null : this.trend.points[idx];
    this.at.textContent = p ? 'trial ' + p.trial + ', ' + p.version + (p.commit && p.commit !== p.version ? ' (' + p.commit + ')' : '') +
      (p.started ? ', ' + p.started : '') + ': ' + (p.outcome === 'pass' ? amount(this.meter.values[idx], this.meter.unit) : p.outcome) : '';
  }

  openAt() {
    const { idx } = this.u.cursor;
    if (idx != null && trials.has(this.trend.points[idx].trial)) location.hash = 'trial-' + this.trend.points[idx].trial;
  }

  key(e) {
    const n = this.trend.points.length, idx = this.u.cursor.idx;
    if (e.key === 'Enter') { this.openAt(); return; }
    if (e.key !== 'ArrowLeft' && e.key !== 'ArrowRight') return;
    e.preventDefault();
    const k = idx == null ? 0 : Math.min(n - 1, Math.max(0, idx + (e.key === 'ArrowLeft' ? -1 : 1)));
    this.u.setCursor({ left: this.u.valToPos(k, 'x'), top: 20 });
  }
}

// amount writes a value of a meter.
function amount(v, unit) {
  if (v === null || v === undefined) return 'no reading';
  return unit === 'MiB' ? size(v * 10) : +v.toPrecision(4) + (unit ? ' ' + unit : '');
}

function changeWords(c, unit) {
  if (c.kind !== 'shift' && c.kind !== 'slope') return c.kind;
  const d = c.after - c.before;
  return c.kind + ' ' + (d > 0 ? '+' : '−') + amount(Math.abs(d), unit);
}

// changeItem is a change in words, with what else differs there.
function changeItem(t, c, label) {
  const p = t.points[c.at];
  const item = make('li', { class: c.worse ? 'worse' : '' }, make('strong', {}, c.kind), ' from ' + p.place + ' (',
    trials.has(p.trial) ? make('a', { href: '#trial-' + p.trial }, 'trial ' + p.trial) : 'trial ' + p.trial, ') on: ' + (label || '') + c.reason);
  if (c.causes) item.append(make('ul', { class: 'causes' }, ...c.causes.map((w) => make('li', {}, w))));
  return item;
}

function startTrends() {
  const lines = $('trend-choice'), meters = $('trend-meter');
  if (!lines) return;
  let chart = null;
  const show = () => {
    if (chart) chart.close();
    const t = report.trends[+lines.value], m = t.meters[+meters.value];
    chart = new TrendChart($('trend'), t, m);
    const items = [...t.outcomes, ...m.changes].map((c) => changeItem(t, c));
    for (const text of t.untold || []) items.push(make('li', {}, text));
    if (t.too_few) items.push(make('li', {}, 'too few repeats to tell changes of the numbers: ' + t.too_few));
    $('trend-changes').replaceChildren(...(items.length ? items : [make('li', {}, 'nothing here changed that is not noise')]));
  };
  const choose = () => {
    const t = report.trends[+lines.value];
    meters.replaceChildren(...t.meters.map((m, i) => make('option', { value: i }, m.label + (m.changes.length ? ' (' + m.changes.length + ' changed)' : ''))));
    // The meter that most should be looked at.
    const of = (f) => t.meters.findIndex((m) => m.changes.some(f));
    meters.value = Math.max(0, of((c) => c.worse) >= 0 ? of((c) => c.worse) : of(() => true));
    show();
  };
  lines.addEventListener('change', choose);
  meters.addEventListener('change', show);
  choose();
}
