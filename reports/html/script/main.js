function start() {
  const button = $('theme');
  button.hidden = false;
  button.addEventListener('click', () => { theme.chosen = theme.dark() ? 'light' : 'dark'; theme.apply(); });
  theme.system.addEventListener('change', () => theme.apply());
  theme.apply();

  const dialog = $('trial');
  let back = null;
  const follow = () => {
    const m = /^#trial-(\d+)$/.exec(location.hash);
    if (m) { back = back || document.activeElement; trialDialog.show(+m[1], trialDialog.repeats); }
    else if (dialog.open) dialog.close();
  };
  dialog.addEventListener('close', () => {
    trialDialog.clear();
    dialog.replaceChildren();
    trialDialog.repeats = [];
    if (/^#trial-/.test(location.hash)) history.replaceState(null, '', location.pathname + location.search);
    if (back && back.focus) back.focus({ preventScroll: true });
    back = null;
  });
  dialog.addEventListener('click', (e) => { if (e.target === dialog) dialog.close(); });
  addEventListener('hashchange', follow);

  // Trials of other sessions are not in this file.
  for (const a of document.querySelectorAll('a.maybe')) {
    if (!trials.has(+a.hash.slice(7))) a.replaceWith(a.textContent);
  }
  startMaps();
  startTable();
  startEnvironments();
  startTrends();
  follow();
}

start();
