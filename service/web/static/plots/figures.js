// Figures of a document: each is drawn by uPlot's axes and our layers.
import { paintLayers, paletteOf } from './layers.js';
import { extent, extentWithin, heightOfRows, labelOf, named, ticksOf } from './whole.js';
import { add } from './elements.js';
import { said } from './readout.js';
import { tools } from './saving.js';
import { simulated } from './simulation.js';

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
  const plot = simulated(JSON.parse(figure.querySelector('script').textContent)), canvas = figure.querySelector('.canvas');
  if (drawn.has(canvas)) return;
  let palette = paletteOf(figure);
  const xRange = extent(plot, 'x'), yRange = extent(plot, 'y');
  const readout = add(figure, 'p', 'readout');
  readout.setAttribute('aria-hidden', 'true');
  canvas.after(readout);
  const small = () => canvas.clientWidth < 420;
  const height = () => heightOfRows(plot) ?? Math.round(plot.square ? Math.min(460, Math.max(300, 0.86 * canvas.clientWidth)) : plot.wide || figure.closest('.record') ? 240 : small() ? 250 : 290);
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
  // What uPlot is about to show along x: it asks for the range along y before it has taken this over.
  let seen = xRange;
  const isWhole = () => seen[0] <= xRange[0] && seen[1] >= xRange[1];
  const reset = tools(figure, plot, () => {
    u.setData(u.data);
    canvas.querySelector('.u-over').dispatchEvent(new MouseEvent('mouseleave'));
  });
  const most = (u, name) => Math.max(2, Math.floor(name === 'x' ? u.width / 75 : u.height / 48));
  const u = new uPlot(
    {
      width: Math.max(200, canvas.clientWidth),
      height: height(),
      padding: [10, 14, 0, 0],
      scales: {
        x: { time: false, distr: plot.x.log ? 3 : 1, range: (_, low, high) => { seen = low < high ? [low, high] : xRange; return seen; } },
        // A map is zoomed in both directions; of a curve, what is left of it fills the height.
        y: { distr: plot.y.log ? 3 : 1, range: (_, low, high) => (plot.square ? (low < high ? [low, high] : yRange) : isWhole() ? yRange : extentWithin(plot, seen)) },
      },
      axes: [
        axis('x', xRange, { label: labelOf(plot.x), labelSize: 20, labelFont: font, labelGap: 2, size: 30 }),
        axis('y', yRange, { size: (self, texts) => 14 + 6.6 * Math.max(2, ...(texts ?? ['']).map((t) => t.length)), ...(plot.square ? { label: labelOf(plot.y), labelSize: 18, labelFont: font } : {}) }),
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      legend: { show: false },
      cursor: { y: plot.square, points: { show: false }, drag: { x: true, y: plot.square, setScale: true } },
      hooks: {
        draw: [(self) => paintLayers(plot.layers, self.ctx, placeOf(self), palette)],
        setScale: [(_, scale) => { if (scale === 'x') reset.hidden = isWhole(); }],
        setCursor: [(self) => { readout.textContent = said(plot, self); keepHeight(readout); }],
      },
    },
    [xRange, yRange],
    canvas,
  );
  if (named(plot).length > 1 || plot.layers.some((layer) => layer.kind === 'dots')) legend(figure, plot);
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

/** What is below a readout must not jump as its text grows and shrinks. */
function keepHeight(readout) {
  const kept = parseFloat(readout.style.minHeight) || 0;
  if (readout.offsetHeight > kept) readout.style.minHeight = `${readout.offsetHeight}px`;
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

function legend(figure, plot) {
  const list = add(figure, 'ul', 'legend');
  for (const layer of named(plot)) {
    const item = add(list, 'li');
    add(item, 'span', `swatch ${layer.kind} ${layer.style}${layer.dashed ? ' dashed' : ''}`);
    item.append(layer.name);
  }
  figure.querySelector('figcaption').after(list);
}
