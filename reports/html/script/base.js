// The page's own code: data come from the JSON in the page, and text is only ever set
// as text.
'use strict';
const $ = (id) => document.getElementById(id);

// make builds an element: attributes, then children (elements or text).
function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === 'class') e.className = value;
    else if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (value !== undefined) e.setAttribute(name, value);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

function readJSON(id) {
  const e = $(id);
  return e ? JSON.parse(e.textContent) : null;
}

const report = readJSON('report');
const trials = new Map((report.trials || []).map((t) => [t.id, t]));

// css gives a colour of the theme in force.
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

// decode sums up numbers of which each is the distance from the one before.
function decode(deltas) {
  let sum = 0;
  return deltas.map((d) => (sum += d));
}

// size writes tenths of a MiB for people.
function size(tenths) {
  const mib = tenths / 10;
  if (Math.abs(mib) >= 1024) return (mib / 1024).toFixed(2) + ' GiB';
  return (Math.abs(mib) < 10 && mib !== 0 ? mib.toFixed(1) : mib.toFixed(0)) + ' MiB';
}

function seconds(ms) {
  const s = ms / 1000;
  return (s < 10 ? s.toFixed(2) : s < 100 ? s.toFixed(1) : s.toFixed(0)) + ' s';
}

// niceStep is the smallest of 1, 2, 5 times a power of ten that is at least so much.
function niceStep(least) {
  const power = Math.pow(10, Math.floor(Math.log10(least)));
  return [1, 2, 5, 10].map((m) => m * power).find((s) => s >= least * (1 - 1e-9));
}

// Sizes on an axis: steps of 1, 2, 4, 8 ... MiB and GiB, values in tenths of a MiB.
function sizeSplits(u, axis, min, max) {
  const room = Math.max(2, Math.floor(u.bbox.height / devicePixelRatio / 34));
  let step = 10;
  while ((max - min) / step > room) step *= 2;
  const list = [];
  for (let v = Math.ceil(min / step) * step; v <= max; v += step) list.push(v);
  return list;
}

function sizeLabels(u, splits) {
  const step = splits.length > 1 ? (splits[1] - splits[0]) / 10 : 1;
  // Steps of less than a quarter of a GiB read better in MiB.
  if (splits.length === 0 || splits[splits.length - 1] < 10240 || step < 256) return splits.map((v) => v / 10 + ' MiB');
  const digits = step >= 1024 ? 0 : 2;
  return splits.map((v) => (v / 10240).toFixed(digits) + ' GiB');
}

const charts = new Set(); // those on show, each {rebuild()}

// theme follows the system until somebody chooses.
const theme = {
  system: matchMedia('(prefers-color-scheme: dark)'),
  chosen: null,
  dark() { return this.chosen === null ? this.system.matches : this.chosen === 'dark'; },
  apply() {
    document.documentElement.dataset.theme = this.dark() ? 'dark' : 'light';
    $('theme').textContent = this.dark() ? 'Light' : 'Dark';
    $('theme').setAttribute('aria-label', 'Switch to ' + (this.dark() ? 'light' : 'dark') + ' colours');
    for (const c of charts) c.rebuild();
  },
};
