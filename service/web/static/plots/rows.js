// The numbers of a figure as rows: what is saved as CSV, and shown as a table.
import { short } from './ticks.js';
import { isNamed, labelOf } from './whole.js';
import { add } from './elements.js';

/** Rows of a layer: name, x, y, and what is below and above. */
function rowsOf(layer) {
  switch (layer.kind) {
    case 'line': return layer.x.map((x, i) => [layer.name, x, layer.y[i], '', '']);
    case 'dots': return layer.x.map((x, i) => [layer.name, x, layer.y[i], ...(layer.error ? [layer.y[i] - layer.error[i], layer.y[i] + layer.error[i]] : ['', ''])]);
    case 'band': return layer.x.map((x, i) => [layer.name, x, '', layer.low[i], layer.high[i]]);
    case 'bars': return layer.y.map((y, i) => [layer.name, (layer.edges[i] + layer.edges[i + 1]) / 2, y, '', '']);
    case 'marks': return layer.x.map((x, i) => [layer.text[i], x, layer.y[i], '', '']);
    case 'arrows': return layer.x.map((x, i) => [layer.name, x, layer.y[i], layer.u[i], layer.v[i]]);
    case 'heat': return heatRows(layer);
    default: return [];
  }
}

function heatRows(layer) {
  const [nx, ny] = layer.shape, rows = [];
  const columns = [[layer.values, layer.top], ...(layer.ends ?? []).map((codes) => [codes, layer.ceiling])].map(([codes, top]) => [atob(codes), top / 255]);
  const middle = ([low, high], k, n) => low + ((high - low) * (k + 0.5)) / n;
  for (let i = 0; i < nx; i++) {
    for (let j = 0; j < ny; j++) {
      const [value, ...ends] = columns.map(([shades, unit]) => shades.charCodeAt(i * ny + j) * unit);
      rows.push([layer.name, middle(layer.x, i, nx), middle(layer.y, j, ny), value, '', ...ends]);
    }
  }
  return rows;
}

function headings(plot) {
  return plot.square ? ['', labelOf(plot.x), labelOf(plot.y), 'value or first component', 'second component', 'low', 'high'] : ['', labelOf(plot.x), isNamed(plot.y) ? plot.y.label : labelOf({ label: plot.title, unit: plot.y.unit }), 'low', 'high'];
}

/** Rows of layers, with names in place of numbers along y where it has some. */
function rowsOfAll(plot, layers) {
  const row = (v) => (isNamed(plot.y) && typeof v === 'number' ? plot.y.ticks[Math.round(v)] : v);
  return layers.flatMap(rowsOf).map(([name, x, y, ...more]) => [name, x, row(y), ...more]);
}

/** All of them. */
export function csvOf(plot) {
  const quoted = (v) => (typeof v === 'string' && /[",\n]/.test(v) ? `"${v.replaceAll('"', '""')}"` : v === null ? '' : String(v));
  return [headings(plot), ...rowsOfAll(plot, plot.layers)].map((row) => row.map(quoted).join(',')).join('\n') + '\n';
}

/** A table below the figure; of a map there are too many. */
export function tabulate(figure, plot) {
  const scroll = add(figure, 'div', 'scroll tall');
  scroll.tabIndex = 0;
  scroll.setAttribute('role', 'region');
  scroll.setAttribute('aria-label', `Numbers of the plot ${plot.title}`);
  const table = add(scroll, 'table'), head = add(add(table, 'thead'), 'tr'), body = add(table, 'tbody');
  const rows = rowsOfAll(plot, plot.layers.filter((layer) => layer.kind !== 'heat')).slice(0, 2000);
  for (const heading of headings(plot).slice(0, rows[0]?.length)) add(head, 'th', '', heading || 'what').scope = 'col';
  for (const row of rows) {
    const line = add(body, 'tr');
    for (const cell of row) add(line, 'td', '', typeof cell === 'number' ? short(cell) : cell ?? '–');
  }
}
