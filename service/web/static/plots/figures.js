// Figures of a document: each is drawn by uPlot's axes and our layers, read by pointer, and saved as PNG, SVG or CSV.
import { short } from './ticks.js';
import { SvgPen } from './pens.js';
import { paintLayers, paletteOf } from './layers.js';
import { drawWhole, extent, labelOf, named, scaleOf, ticksOf } from './whole.js';

const drawn = new Map();
const widths = new ResizeObserver((entries) => {
  for (const { target } of entries) drawn.get(target)?.fit();
});

/** Draw every figure inside an element. */
export function drawAll(root) {
  for (const [canvas] of drawn) {
    if (!canvas.isConnected) {
      widths.unobserve(canvas);
      drawn.delete(canvas);
    }
  }
  for (const figure of root.querySelectorAll('figure[data-plot]')) draw(figure);
}

/** Draw all again, in the colours that hold now. */
export function redrawAll() {
  for (const figure of drawn.values()) figure.redraw();
}

function draw(figure) {
  const plot = JSON.parse(figure.querySelector('script').textContent), canvas = figure.querySelector('.canvas');
  if (drawn.has(canvas)) return;
  let palette = paletteOf(figure);
  const xRange = extent(plot, 'x'), yRange = extent(plot, 'y');
  const readout = add(figure, 'p', 'readout');
  readout.setAttribute('aria-hidden', 'true');
  canvas.after(readout);
  const small = () => canvas.clientWidth < 420;
  const height = () => Math.round(plot.square ? Math.min(460, Math.max(300, 0.86 * canvas.clientWidth)) : plot.wide || figure.closest('.record') ? 240 : small() ? 250 : 290);
  const font = '12px system-ui, sans-serif';
  const axis = (name, range, more) => ({
    stroke: () => palette.muted,
    font,
    grid: { stroke: () => palette.rule, width: 1, show: !plot.square },
    ticks: { stroke: () => palette.rule, size: 4, width: 1 },
    splits: (u) => ticksOf(plot[name], [u.scales[name].min, u.scales[name].max], most(u, name)).values,
    values: (u) => ticksOf(plot[name], [u.scales[name].min, u.scales[name].max], most(u, name)).texts,
    ...more,
  });
  const most = (u, name) => Math.max(2, Math.floor(name === 'x' ? u.width / 75 : u.height / 48));
  const u = new uPlot(
    {
      width: Math.max(200, canvas.clientWidth),
      height: height(),
      padding: [10, 14, 0, 0],
      scales: {
        x: { time: false, distr: plot.x.log ? 3 : 1, range: (_, low, high) => (low < high ? [low, high] : xRange) },
        y: { distr: plot.y.log ? 3 : 1, range: () => yRange },
      },
      axes: [
        axis('x', xRange, { label: labelOf(plot.x), labelSize: 20, labelFont: font, labelGap: 2, size: 30 }),
        axis('y', yRange, { size: (self, texts) => 14 + 6.6 * Math.max(2, ...(texts ?? ['']).map((t) => t.length)), ...(plot.square ? { label: labelOf(plot.y), labelSize: 18, labelFont: font } : {}) }),
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: true } },
      hooks: {
        draw: [(self) => paintLayers(plot.layers, self.ctx, placeOf(self), palette)],
        setCursor: [(self) => { readout.textContent = said(plot, self); }],
      },
    },
    [xRange, yRange],
    canvas,
  );
  if (named(plot).length > 1 || plot.layers.some((layer) => layer.kind === 'dots')) legend(figure, plot);
  tools(figure, plot);
  drawn.set(canvas, {
    fit() {
      if (canvas.clientWidth > 100 && (canvas.clientWidth !== u.width || height() !== u.height)) u.setSize({ width: canvas.clientWidth, height: height() });
    },
    redraw() {
      palette = paletteOf(figure);
      u.redraw(false, true);
    },
  });
  widths.observe(canvas);
}

/** Where uPlot has put the axes, in dots of its canvas. */
function placeOf(u) {
  return {
    x: (v) => u.valToPos(v, 'x', true),
    y: (v) => u.valToPos(v, 'y', true),
    left: u.bbox.left, top: u.bbox.top, width: u.bbox.width, height: u.bbox.height,
    unit: devicePixelRatio || 1,
  };
}

/** The numbers under the pointer. */
function said(plot, u) {
  if (u.cursor.left === undefined || u.cursor.left < 0) return '';
  const x = u.posToVal(u.cursor.left, 'x'), y = u.posToVal(u.cursor.top, 'y'), parts = [`${shortOf(plot.x)} ${short(x)}`];
  if (plot.square) parts.push(`${shortOf(plot.y)} ${short(y)}`);
  for (const layer of plot.layers) {
    const [value, low, high] = valueOf(layer, plot, x, y);
    if (value === undefined || value === null || layer.thin) continue;
    const known = low !== undefined && low !== null && high !== null;
    parts.push(`${layer.name} ${short(value)}${known ? ` (${short(low)} to ${short(high)})` : ''}`);
  }
  return parts.slice(0, 6).join(' · ');
}

/** `x` of `x – voltage`: there is one line for all. */
function shortOf(axis) { return axis.label.split(' – ')[0]; }

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

function legend(figure, plot) {
  const list = add(figure, 'ul', 'legend');
  for (const layer of named(plot)) {
    const item = add(list, 'li');
    add(item, 'span', `swatch ${layer.kind} ${layer.style}${layer.dashed ? ' dashed' : ''}`);
    item.append(layer.name);
  }
  figure.querySelector('figcaption').after(list);
}

function tools(figure, plot) {
  const bar = add(figure.querySelector('figcaption'), 'p', 'plot-tools');
  const button = (text, does, title) => {
    const made = add(bar, 'button', 'quiet', text);
    made.type = 'button';
    made.title = title;
    made.setAttribute('aria-label', `${title}: ${plot.title}`);
    made.addEventListener('click', does);
    return made;
  };
  button('PNG', () => savePng(figure, plot), 'Save as PNG');
  button('SVG', () => save(`${plot.name}.svg`, new Blob([svgOf(figure, plot)], { type: 'image/svg+xml' })), 'Save as SVG');
  button('CSV', () => save(`${plot.name}.csv`, new Blob([csvOf(plot)], { type: 'text/csv' })), 'Save the numbers as CSV');
  const table = button('Table', () => {
    const open = table.getAttribute('aria-expanded') !== 'true';
    table.setAttribute('aria-expanded', String(open));
    if (open) tabulate(figure, plot);
    else figure.querySelector('.scroll').remove();
  }, 'Show the numbers');
  table.setAttribute('aria-expanded', 'false');
}

/** Colours of a sheet of paper, whatever the page looks like. */
function onPaper(figure) {
  const sheet = add(document.body, 'div', 'visually-hidden');
  sheet.dataset.theme = 'light';
  const palette = paletteOf(sheet);
  sheet.remove();
  return palette;
}

function sizeOf(plot) {
  return plot.square ? [560, 540] : [720, 440];
}

function svgOf(figure, plot) {
  const [width, height] = sizeOf(plot), pen = new SvgPen(width, height);
  drawWhole(plot, pen, width, height, onPaper(figure));
  return pen.text();
}

function savePng(figure, plot) {
  const canvas = document.createElement('canvas'), [width, height] = sizeOf(plot), unit = 3;
  canvas.width = unit * width;
  canvas.height = unit * height;
  drawWhole(plot, canvas.getContext('2d'), canvas.width, canvas.height, onPaper(figure), unit);
  canvas.toBlob((blob) => save(`${plot.name}.png`, blob), 'image/png');
}

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
  return plot.square ? ['', labelOf(plot.x), labelOf(plot.y), 'value or first component', 'second component', 'low', 'high'] : ['', labelOf(plot.x), labelOf({ label: plot.title, unit: plot.y.unit }), 'low', 'high'];
}

function csvOf(plot) {
  const quoted = (v) => (typeof v === 'string' && /[",\n]/.test(v) ? `"${v.replaceAll('"', '""')}"` : v === null ? '' : String(v));
  return [headings(plot), ...plot.layers.flatMap(rowsOf)].map((row) => row.map(quoted).join(',')).join('\n') + '\n';
}

function tabulate(figure, plot) {
  const scroll = add(figure, 'div', 'scroll tall');
  scroll.tabIndex = 0;
  scroll.setAttribute('role', 'region');
  scroll.setAttribute('aria-label', `Numbers of the plot ${plot.title}`);
  const table = add(scroll, 'table'), head = add(add(table, 'thead'), 'tr'), body = add(table, 'tbody');
  const rows = plot.layers.filter((layer) => layer.kind !== 'heat').flatMap(rowsOf).slice(0, 2000);
  for (const heading of headings(plot).slice(0, rows[0]?.length)) add(head, 'th', '', heading || 'what').scope = 'col';
  for (const row of rows) {
    const line = add(body, 'tr');
    for (const cell of row) add(line, 'td', '', typeof cell === 'number' ? short(cell) : cell ?? '–');
  }
}

/** Offer a file to be saved. */
export function save(name, blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function add(parent, tag, className = '', text = '') {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  parent.append(made);
  return made;
}
