// A plot with its axes, title and legend on one sheet: what is saved as PNG and SVG.
import { linearTicks, logTicks, namedTicks } from './ticks.js';
import { paintLayers } from './layers.js';

/** Smallest and largest number along an axis, `x` or `y`. */
export function extent(plot, axis) {
  return plot[axis].range ?? spanned(plot, axis, () => true) ?? (plot[axis].log ? [1, 10] : [0, 1]);
}

/** Smallest and largest y where x is within a range, within the y that the whole plot shows. */
export function extentWithin(plot, [left, right]) {
  const whole = extent(plot, 'y'), found = spanned(plot, 'y', (x) => left <= x && x <= right);
  if (!found) return whole;
  const [low, high] = [Math.max(found[0], whole[0]), Math.min(found[1], whole[1])];
  return low < high ? [low, high] : whole;
}

/** Ends of the numbers along an axis at places that are seen; null where there are none. */
function spanned(plot, axis, isSeen) {
  let low = Infinity, high = -Infinity;
  const take = (v) => {
    if (v === null || !Number.isFinite(v) || (plot[axis].log && v <= 0)) return;
    low = Math.min(low, v);
    high = Math.max(high, v);
  };
  for (const layer of plot.layers) {
    if (axis === 'x') (layer.kind === 'bars' ? layer.edges : layer.kind === 'rule' ? [] : layer.x).forEach(take);
    else if (layer.kind === 'band') [layer.low, layer.high].forEach((ends) => ends.forEach((v, i) => isSeen(layer.x[i]) && take(v)));
    else if (layer.kind === 'dots' && layer.error) layer.y.forEach((v, i) => isSeen(layer.x[i]) && [v - (layer.error[i] ?? 0), v + (layer.error[i] ?? 0)].forEach(take));
    else if (layer.kind === 'bars') layer.y.forEach((v, i) => (isSeen(layer.edges[i]) || isSeen(layer.edges[i + 1])) && take(v));
    else if (layer.kind !== 'rule') layer.y.forEach((v, i) => isSeen(layer.x[i]) && take(v));
    if (axis === 'y' && layer.kind === 'bars') take(0);
  }
  if (low > high) return null;
  if (plot[axis].log) return low < high ? [low, high] : [low / 2, high * 2];
  const margin = low < high ? (axis === 'y' ? 0.06 * (high - low) : 0) : Math.abs(low) || 1;
  const bottom = axis === 'y' && low === 0 ? 0 : low - margin;
  return [bottom, high + margin];
}

/** From numbers to a share of the axis, 0 to 1. */
export function scaleOf(axis, [low, high]) {
  return axis.log
    ? (v) => Math.log(Math.max(v, 1e-300) / low) / Math.log(high / low)
    : (v) => (v - low) / (high - low);
}

export function ticksOf(axis, [low, high], most) {
  if (isNamed(axis)) return namedTicks(axis.ticks, low, high);
  return axis.log ? logTicks(low, high, most) : linearTicks(low, high, most);
}

/** Whether an axis has rows with names rather than numbers. */
export function isNamed(axis) {
  return axis.ticks?.length > 0;
}

/** Height of a plot whose vertical axis has rows with names; undefined for others. */
export function heightOfRows(plot) {
  return isNamed(plot.y) ? 80 + 36 * plot.y.ticks.length : undefined;
}

export function labelOf(axis) {
  return axis.unit ? `${axis.label} (${axis.unit})` : axis.label;
}

/** Layers that a legend names, once each. */
export function named(plot) {
  const seen = new Set();
  return plot.layers.filter((layer) => layer.name && layer.kind !== 'marks' && !seen.has(layer.name) && seen.add(layer.name));
}

/** Draw all of it with a pen, `unit` pixels a dot. */
export function drawWhole(plot, pen, width, height, palette, unit = 1) {
  const px = (v) => v * unit, legend = named(plot);
  const xr = extent(plot, 'x'), yr = extent(plot, 'y'), toX = scaleOf(plot.x, xr), toY = scaleOf(plot.y, yr);
  const rows = legend.length > 1 ? legend.length : 0;
  const left = isNamed(plot.y) ? 16 + 6 * Math.max(...plot.y.ticks.map((name) => name.length)) : 64;
  const box = { left: px(left), top: px(40), width: width - px(left + 20), height: height - px(90 + 16 * rows), unit };
  const at = { ...box, x: (v) => box.left + toX(v) * box.width, y: (v) => box.top + (1 - toY(v)) * box.height };
  pen.fillStyle = palette.paper;
  pen.beginPath();
  pen.rect(0, 0, width, height);
  pen.fill();
  pen.fillStyle = palette.ink;
  pen.font = `600 ${px(14)}px Helvetica, Arial, sans-serif`;
  pen.textBaseline = 'alphabetic';
  pen.textAlign = 'start';
  pen.fillText(plot.square ? plot.title : labelOf({ label: plot.title, unit: plot.y.unit }), px(12), px(24));
  pen.font = `${px(11)}px Helvetica, Arial, sans-serif`;
  axis(pen, ticksOf(plot.x, xr, 7), (v) => [at.x(v), box.top + box.height], [0, 1], palette, px);
  axis(pen, ticksOf(plot.y, yr, 6), (v) => [box.left, at.y(v)], [-1, 0], palette, px);
  pen.textAlign = 'center';
  pen.textBaseline = 'top';
  pen.fillStyle = palette.ink;
  pen.fillText(labelOf(plot.x), box.left + box.width / 2, box.top + box.height + px(26));
  if (plot.square) {
    pen.textAlign = 'start';
    pen.textBaseline = 'bottom';
    pen.fillText(labelOf(plot.y), px(12), box.top - px(2));
  }
  paintLayers(plot.layers, pen, at, palette);
  pen.strokeStyle = palette.muted;
  pen.lineWidth = px(1);
  pen.beginPath();
  pen.rect(box.left, box.top, box.width, box.height);
  pen.stroke();
  if (rows) legend.forEach((layer, k) => entry(pen, layer, px(64), box.top + box.height + px(58 + 16 * k), palette, px));
}

function axis(pen, ticks, place, [outX, outY], palette, px) {
  pen.strokeStyle = palette.muted;
  pen.fillStyle = palette.ink;
  pen.lineWidth = px(1);
  pen.textAlign = outX ? 'right' : 'center';
  pen.textBaseline = outX ? 'middle' : 'top';
  ticks.values.forEach((v, i) => {
    const [x, y] = place(v);
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x + px(4 * outX), y + px(4 * outY));
    pen.stroke();
    pen.fillText(ticks.texts[i], x + px(7 * outX), y + px(7 * outY));
  });
}

function entry(pen, layer, x, y, palette, px) {
  pen.strokeStyle = pen.fillStyle = palette[layer.style];
  pen.beginPath();
  if (layer.kind === 'dots') {
    pen.arc(x + px(10), y, px(2.2), 0, 2 * Math.PI);
    pen.fill();
  } else if (layer.kind === 'line' || layer.kind === 'arrows') {
    pen.lineWidth = px(2);
    pen.setLineDash(layer.dashed ? [px(5), px(4)] : []);
    pen.moveTo(x, y);
    pen.lineTo(x + px(20), y);
    pen.stroke();
    pen.setLineDash([]);
  } else {
    pen.globalAlpha = 0.32;
    pen.rect(x, y - px(5), px(20), px(10));
    pen.fill();
    pen.globalAlpha = 1;
  }
  pen.fillStyle = palette.ink;
  pen.textAlign = 'start';
  pen.textBaseline = 'middle';
  pen.fillText(layer.name, x + px(28), y);
}
