// The table of trials: find, sort, only what is odd.
function startTable() {
  const table = document.querySelector('#trials table'), body = table.tBodies[0], rows = [...body.rows];
  const odd = (r) => r.querySelector('.bad, .differs, em') !== null;
  const texts = new Map(rows.map((r) => [r, r.textContent.toLowerCase()]));
  $('filter').hidden = false;
  const filter = () => {
    const words = $('find').value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const r of rows) {
      r.hidden = !(words.every((w) => texts.get(r).includes(w)) && (!$('odd').checked || odd(r)));
      if (!r.hidden) n++;
    }
    $('found').textContent = n === rows.length ? '' : n + ' of ' + rows.length;
  };
  $('find').addEventListener('input', filter);
  $('odd').addEventListener('change', filter);

  [...table.tHead.rows[0].cells].forEach((th, k) => {
    const button = make('button', { type: 'button' }, ...th.childNodes);
    th.append(button);
    button.addEventListener('click', () => {
      const down = th.getAttribute('aria-sort') === 'ascending';
      for (const o of table.tHead.rows[0].cells) o.removeAttribute('aria-sort');
      th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const key = (r) => { const text = (r.cells[k].firstChild || r.cells[k]).textContent.trim(), n = parseFloat(text.replace(/^[a-z] /, '')); return [text, n]; };
      const keys = new Map(rows.map((r) => [r, key(r)]));
      const sorted = rows.slice().sort((a, b) => {
        const [s, m] = keys.get(a), [t, n] = keys.get(b);
        if (s === '' || t === '') return (s === '') - (t === ''); // nothing comes last
        const c = th.classList.contains('number') && !isNaN(m) && !isNaN(n) ? m - n : s.localeCompare(t, 'en', { numeric: true });
        return down ? -c : c;
      });
      body.append(...sorted);
    });
  });
}

// startMaps lets one meter be chosen, and the boxes be walked with arrow keys.
function startMaps() {
  const maps = [...document.querySelectorAll('.map')], buttons = [...document.querySelectorAll('#meters button')];
  const choose = (n) => {
    maps.forEach((m, i) => { m.hidden = i !== n; });
    buttons.forEach((b, i) => b.setAttribute('aria-pressed', i === n));
  };
  if (buttons.length > 1) {
    $('meters').hidden = false;
    buttons.forEach((b, i) => b.addEventListener('click', () => choose(i)));
    choose(0);
  }
  for (const m of maps) {
    const grid = [...m.querySelectorAll('tbody tr')].map((r) => [...r.querySelectorAll('td')].map((d) => d.querySelector('a')));
    const boxes = grid.flat().filter(Boolean);
    boxes.forEach((b, i) => { b.tabIndex = i ? -1 : 0; });
    const focus = (b) => { boxes.forEach((o) => { o.tabIndex = o === b ? 0 : -1; }); b.focus(); };
    m.addEventListener('keydown', (e) => {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[e.key];
      let y = grid.findIndex((r) => r.includes(document.activeElement));
      if (!step || y < 0) return;
      e.preventDefault();
      let x = grid[y].indexOf(document.activeElement);
      do { y += step[0]; x += step[1]; } while (grid[y] && x >= 0 && x < grid[y].length && !grid[y][x]);
      if (grid[y] && grid[y][x]) focus(grid[y][x]);
    });
    for (const b of boxes) {
      b.addEventListener('click', () => { trialDialog.repeats = b.dataset.trials.trim().split(' ').map(Number); });
    }
  }
}
