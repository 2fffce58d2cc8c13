// One trial, in a dialog: what it was, how it ended and why, its memory over time.
const trialDialog = {
  open: [], // charts
  repeats: [],

  show(id, repeats) {
    const t = trials.get(id);
    if (!t) return;
    this.clear();
    this.repeats = repeats && repeats.includes(id) ? repeats : trialsOfCell(t);
    const dialog = $('trial'), was = dialog.open && document.activeElement.getAttribute('aria-label');
    dialog.replaceChildren(this.bar(t), ...this.verdict(t));
    if (!dialog.open) dialog.showModal();
    // Who steps through trials stays on the button; else the title has the focus, on which
    // a key that is still held does nothing.
    const again = [...dialog.querySelectorAll('.bar button')].find((b) => b.getAttribute('aria-label') === was && !b.disabled);
    (again || $('trial-title')).focus();
    dialog.scrollTop = 0;
    this.charts(t, dialog);
    dialog.append(make('div', { class: 'columns' }, facts('Trial', t.facts.map(([k, v]) => [k, v])), peaks('Peaks', t.peaks), peaks('At rest', t.readings)));
    dialog.append(...nodes(t));
    if (t.remarks) dialog.append(make('h3', {}, 'Remarks'), make('ul', {}, ...t.remarks.map((r) => make('li', {}, r))));
  },

  clear() { for (const c of this.open) c.close(); this.open = []; },

  bar(t) {
    const at = this.repeats.indexOf(t.id), go = (d) => () => { location.hash = 'trial-' + this.repeats[at + d]; };
    const button = (text, label, d) => {
      const b = make('button', { type: 'button', 'aria-label': label, onclick: go(d) }, text);
      b.disabled = this.repeats[at + d] === undefined;
      return b;
    };
    return make('div', { class: 'bar' },
      make('h2', { id: 'trial-title', tabindex: '-1' }, 'Trial ' + t.id + ': ' + t.title),
      make('div', {},
        ...(this.repeats.length > 1 ? [button('‹', 'trial before of this cell', -1), button('›', 'next trial of this cell', 1)] : []),
        make('button', { type: 'button', 'aria-label': 'close', onclick: () => $('trial').close() }, '✕')));
  },

  verdict(t) {
    const list = [make('p', { class: 'outcome ' + (t.failed && !t.expected ? 'bad' : '') },
      make('strong', {}, t.outcome), t.simulated ? '  ·  SIMULATED, not a measurement' : '')];
    if (t.message) list.push(make('p', {}, t.message));
    if (t.evidence) list.push(make('pre', { tabindex: '0', 'aria-label': 'evidence' }, t.evidence.join('\n')));
    if (t.advice) list.push(make('ul', { class: 'advice' }, ...t.advice.map((a) => make('li', {}, a))));
    return list;
  },

  charts(t, dialog) {
    const data = readJSON('chart-' + t.id);
    if (!data || !data.stacks.length) {
      dialog.append(make('p', { class: 'hint' }, 'No series of this trial are in this file.'));
      return;
    }
    const axis = new FoldedAxis(data.stretches), zoom = make('div', { class: 'zoom', role: 'group', 'aria-label': 'show' });
    dialog.append(zoom);
    for (const stack of data.stacks) {
      const box = make('div', { class: 'chart' });
      dialog.append(make('h3', {}, stack.title + ' ', make('span', { class: 'source' }, stack.total + ', who holds it' + (stack.aside ? ', ' + stack.aside : ''))), box);
      this.open.push(new StackChart(box, data, stack, axis, 'trial'));
    }
    const show = (text, from, to) => zoom.append(make('button', { type: 'button', onclick: () => this.open.forEach((c) => c.zoom(from, to)) }, text));
    show('all', 0, axis.end());
    for (const b of data.bars.filter((b) => b.kind !== 'node' && b.kind !== 'idle').slice(0, 12)) show(b.name, b.from, b.to);
  },
};

// trialsOfCell are all trials of the same cell, to step through.
function trialsOfCell(t) {
  return report.trials.filter((o) => o.cell === t.cell).map((o) => o.id).sort((a, b) => a - b);
}

function facts(title, rows) {
  if (!rows || !rows.length) return make('div');
  return make('div', {}, make('h3', {}, title), make('table', { class: 'facts' },
    make('tbody', {}, ...rows.map(([k, v]) => make('tr', {}, make('th', { scope: 'row' }, k), make('td', {}, v))))));
}

function peaks(title, rows) {
  if (!rows || !rows.length) return make('div');
  return make('div', {}, make('h3', {}, title), make('table', { class: 'facts' }, make('tbody', {},
    ...rows.map((p) => make('tr', {}, make('th', { scope: 'row' }, p.meter, make('small', {}, p.how)), make('td', { class: 'number' }, p.value))))));
}

// nodes are the executions of nodes, the hungriest of each prompt not hidden in a picture.
function nodes(t) {
  if (!t.nodes) return [];
  const cell = (text, kind) => make('td', { class: kind }, text || '');
  const head = ['prompt', 'node', 'seconds', 'VRAM peak', 'RAM peak'];
  const used = head.map((h, i) => i < 3 || t.nodes.some((n) => (i === 3 ? n.vram : n.ram)));
  const rows = t.nodes.map((n) => make('tr', {},
    ...[cell(n.prompt + '', 'number'), cell(n.name), cell(n.seconds.toFixed(2), 'number'), cell(n.vram, 'number'), cell(n.ram, 'number')].filter((c, i) => used[i])));
  return [make('h3', {}, 'Nodes'), make('div', { class: 'scroll' }, make('table', { class: 'trials' },
    make('thead', {}, make('tr', {}, ...head.filter((h, i) => used[i]).map((h) => make('th', { scope: 'col', class: h === 'node' ? '' : 'number' }, h)))), make('tbody', {}, ...rows)))];
}
