// Paths of a model dX = b dt + σ dW, simulated where they are drawn: by the Euler–Maruyama scheme, from a seed.

/** The plot, with the numbers of its simulated layers. */
export function simulated(plot) {
  return { ...plot, layers: plot.layers.map((layer) => (layer.simulation ? { ...layer, ...pathOf(layer.simulation) } : layer)) };
}

/** Points of one variable of all stretches, null between them: each bin shows its smallest and its largest sample. */
function pathOf({ names, positions, drift, diffusion, bounds, noise, scales, seed, stretches, step, finer, shown }) {
  const b = drift.map((tree) => compiled(tree, names)), a = diffusion.map(([i, j, tree]) => [i, j, compiled(tree, names)]);
  const normal = normalsOf(seed), h = step / finer, x = [], y = [], blur = Math.sqrt(noise[shown]);
  for (const { begin, steps, bins, start } of stretches) {
    const state = [...start];
    let low = Infinity, high = -Infinity, bin = 0;
    if (x.length) { x.push(begin); y.push(null); }
    for (let k = 0; k < steps && state.every(Number.isFinite); k++) {
      const seen = state[shown] + (blur && blur * normal());
      low = Math.min(low, seen);
      high = Math.max(high, seen);
      if (Math.floor(((k + 1) * bins) / steps) > bin) {
        const time = begin + (bin * steps * step) / bins;
        x.push(time);
        y.push(low);
        if (high > low) { x.push(time); y.push(high); }
        low = Infinity;
        high = -Infinity;
        bin++;
      }
      for (let fine = 0; fine < finer; fine++) advance(state, positions, b, a, h, normal, bounds, scales);
    }
  }
  return { x, y };
}

/** One step. Of positions with velocities, these move half a step before and after the kick, which keeps an orbit's size. The drift is tamed, which a step that is short against the record's range does not notice: a long one would explode. */
function advance(state, positions, b, a, h, normal, bounds, scales) {
  const coast = () => {
    for (let i = 0; i < positions; i++) state[i] += (h / 2) * state[positions + i];
  };
  coast();
  const force = b.map((f) => f(state)), root = rootOf(state, a), kicks = state.map(() => normal() * Math.sqrt(h));
  for (let i = positions; i < state.length; i++) {
    state[i] += (force[i] * h) / (1 + (Math.abs(force[i]) * h) / scales[i]);
    for (let j = 0; j <= i; j++) state[i] += root[i][j] * kicks[j];
  }
  coast();
  for (let i = 0; i < state.length; i++) {
    const [low, high] = bounds[i];
    if (low !== null && state[i] < low) state[i] = 2 * low - state[i];
    if (high !== null && state[i] > high) state[i] = 2 * high - state[i];
  }
}

/** The Cholesky root of the diffusion; what is negative there is no noise. */
function rootOf(state, a) {
  const n = state.length, matrix = Array.from({ length: n }, () => new Array(n).fill(0)), root = Array.from({ length: n }, () => new Array(n).fill(0));
  for (const [i, j, f] of a) matrix[i][j] = matrix[j][i] = f(state);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let rest = matrix[i][j];
      for (let k = 0; k < j; k++) rest -= root[i][k] * root[j][k];
      root[i][j] = i === j ? Math.sqrt(Math.max(rest, 0)) : root[j][j] > 0 ? rest / root[j][j] : 0;
    }
  }
  return root;
}

/** A tree of lists as a function of the state. */
function compiled(tree, names) {
  if (typeof tree === 'number') return () => tree;
  if (typeof tree === 'string') {
    const k = names.indexOf(tree);
    return (state) => state[k];
  }
  const [name, ...parts] = tree, [f, g] = parts.map((part) => compiled(part, names));
  switch (name) {
    case '+': return (s) => f(s) + g(s);
    case '-': return (s) => f(s) - g(s);
    case '*': return (s) => f(s) * g(s);
    case '/': return (s) => f(s) / g(s);
    case '^': return (s) => f(s) ** g(s);
    default: return (s) => Math[name](f(s));
  }
}

/** Standard normal numbers that a seed decides: Mulberry32, by Box and Muller's transformation. */
function normalsOf(seed) {
  let state = seed >>> 0, spare = null;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
  };
  return () => {
    if (spare !== null) {
      const kept = spare;
      spare = null;
      return kept;
    }
    const radius = Math.sqrt(-2 * Math.log(uniform())), angle = 2 * Math.PI * uniform();
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
}
