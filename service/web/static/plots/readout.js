// What a figure says under the pointer.
import { short } from './ticks.js';
import { isNamed } from './whole.js';

/** The numbers there. */
export function said(plot, u) {
  if (u.cursor.left === undefined || u.cursor.left < 0) return '';
  const x = u.posToVal(u.cursor.left, 'x'), y = u.posToVal(u.cursor.top, 'y'), parts = [`${shortOf(plot.x)} ${short(x)}`];
  if (isNamed(plot.y)) return saidOfRow(plot, Math.round(y));
  if (plot.square) parts.push(`${shortOf(plot.y)} ${short(y)}`);
  for (const layer of plot.layers) {
    const [value, low, high] = valueOf(layer, plot, x, y);
    if (value === undefined || value === null || layer.thin) continue;
    const known = low !== undefined && low !== null && high !== null;
    parts.push(`${briefly(layer.name)} ${short(value)}${known ? ` (${short(low)} to ${short(high)})` : ''}`);
  }
  return parts.join(' · ');
}

/** A row's name, and what its points and the intervals around them are. */
function saidOfRow(plot, row) {
  const here = (layer) => layer.x.filter((_, i) => layer.y[i] !== null && Math.round(layer.y[i]) === row);
  const parts = [plot.y.ticks[row] ?? ''];
  for (const layer of plot.layers) {
    if (layer.kind !== 'dots') continue;
    const interval = plot.layers.find((other) => other.kind === 'line' && other.style === layer.style);
    const [value] = here(layer), ends = interval ? here(interval).filter((v) => v !== null) : [];
    if (value !== undefined) parts.push(`${layer.name} ${short(value)}${ends.length ? ` (${short(Math.min(...ends))} to ${short(Math.max(...ends))})` : ''}`);
  }
  return parts.join(' · ');
}

/** `S_P` of `S_P: S&P`. */
function shortOf(axis) { return axis.label.split(': ')[0]; }

/** `mode 1` of `mode 1, relaxation time 13.1`: the legend says the rest. */
function briefly(name) { return name.replace(/, .*| \(.*\)$/, ''); }

/** What a layer says there, with the ends of its interval where it has one. */
function valueOf(layer, plot, x, y) {
  switch (layer.kind) {
    case 'line': {
      const band = plot.layers.find((other) => other.kind === 'band' && other.style === layer.style);
      return [nearest(layer.x, layer.y, x), ...(band ? [nearest(band.x, band.low, x), nearest(band.x, band.high, x)] : [])];
    }
    case 'dots': return [nearest(layer.x, layer.y, x)];
    case 'bars': return [layer.y[layer.edges.findIndex((e, i) => e <= x && x < layer.edges[i + 1])]];
    case 'heat': return heatAt(layer, cellOf(layer, x, y));
    default: return [];
  }
}

function nearest(xs, ys, x) {
  let best = null;
  xs.forEach((v, i) => { if (best === null || Math.abs(v - x) < Math.abs(xs[best] - x)) best = i; });
  return best === null ? null : ys[best];
}

/** The number of the cell of a map that holds a point; undefined outside. */
function cellOf({ x: [left, right], y: [bottom, top], shape: [nx, ny] }, x, y) {
  const i = Math.floor(((x - left) / (right - left)) * nx), j = Math.floor(((y - bottom) / (top - bottom)) * ny);
  return i >= 0 && i < nx && j >= 0 && j < ny ? i * ny + j : undefined;
}

/** Value of a cell, and the ends of its interval. */
function heatAt(layer, cell) {
  if (cell === undefined) return [];
  const of = (codes, top) => (atob(codes).charCodeAt(cell) / 255) * top;
  return [of(layer.values, layer.top), ...(layer.ends ?? []).map((codes) => of(codes, layer.ceiling))];
}
