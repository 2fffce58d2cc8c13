// FoldedAxis maps the time of a trial (ms) to places: a server starts and rests for
// longer than it works, so that each stretch of time has its own scale.
class FoldedAxis {
  constructor(stretches) { this.stretches = stretches; }

  place(ms) {
    const all = this.stretches;
    for (let i = 0; i < all.length; i++) {
      const [from, to, x0, x1] = all[i];
      if (ms <= to || i === all.length - 1) return x0 + (x1 - x0) * Math.min(1, Math.max(0, (ms - from) / Math.max(1, to - from)));
    }
    return 0;
  }

  time(place) {
    for (const [from, to, x0, x1] of this.stretches) {
      if (place <= x1) return from + (to - from) * (place - x0) / Math.max(1e-9, x1 - x0);
    }
    return this.stretches[this.stretches.length - 1][1];
  }

  end() { return this.stretches[this.stretches.length - 1][1]; }

  get folded() { return this.stretches.length > 1; }

  // splits are places of round times, none nearer than a label is wide.
  splits(min, max, pixels) {
    const list = [];
    let last = -Infinity;
    const apart = (max - min) * 52 / Math.max(60, pixels);
    for (const [from, to, x0, x1] of this.stretches) {
      const low = Math.max(min, x0), high = Math.min(max, x1);
      if (high - low < apart) continue;
      const a = this.time(low + 1e-6), b = this.time(high);
      const step = niceStep(Math.max(1, (b - a) / ((high - low) / apart)));
      for (let t = Math.ceil(Math.max(from, a) / step) * step; t <= Math.min(to, b) + 1e-6; t += step) {
        const p = this.place(t);
        if (p - last >= apart * 0.9) { list.push(p); last = p; }
      }
    }
    return list;
  }

  label(place) {
    const s = this.time(place) / 1000;
    return +s.toFixed(3) + '';
  }
}
