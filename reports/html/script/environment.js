// What differs between two environments, the likeliest causes on top.
function startEnvironments() {
  const all = report.environments || [], box = $('environment');
  if (all.length < 2) {
    box.append(make('p', {}, 'All trials ran in one environment.'));
    if (all.length === 1) box.append(make('details', {}, make('summary', {}, all[0].facts.length + ' facts'), facts('', all[0].facts)));
    return;
  }
  const select = (label, at) => {
    const s = make('select', { 'aria-label': label }, ...all.map((e, i) => make('option', { value: i }, e.label + (/^\d+$/.test(e.trials) ? ' (trial ' : ' (trials ') + e.trials + ')')));
    s.value = at;
    s.addEventListener('change', show);
    return s;
  };
  const before = select('before', report.compare[0]), after = select('after', report.compare[1]);
  const table = make('div', { class: 'scroll', tabindex: '0', 'aria-label': 'differences' });
  box.append(make('p', { class: 'choice' }, before, 'and', after), table);

  function show() {
    const a = new Map(all[+before.value].facts), b = new Map(all[+after.value].facts);
    // Facts come in the order of likelihood; what only the first has goes after.
    const names = [...b.keys(), ...[...a.keys()].filter((n) => !b.has(n))].filter((n) => a.get(n) !== b.get(n));
    if (!names.length) { table.replaceChildren(make('p', {}, 'Nothing that was recorded differs.')); return; }
    const value = (m, n) => (m.has(n) ? make('td', {}, m.get(n)) : make('td', { class: 'dim' }, 'absent'));
    table.replaceChildren(make('p', { class: 'hint' }, names.length + ' of ' + new Set([...a.keys(), ...b.keys()]).size + ' facts differ; likely causes of a change of memory on top.'),
      make('table', { class: 'facts wide' },
        make('thead', {}, make('tr', {}, make('th', {}, 'fact'), make('th', {}, all[+before.value].label), make('th', {}, all[+after.value].label))),
        make('tbody', {}, ...names.map((n) => make('tr', {}, make('th', { scope: 'row' }, n), value(a, n), value(b, n))))));
  }
  show();
}
