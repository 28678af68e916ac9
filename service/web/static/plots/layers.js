// What a layer of a plot looks like, on whatever it is drawn.

/** Colours by name, as the style sheet has them where `element` is. */
export function paletteOf(element) {
  const style = getComputedStyle(element);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ['ink', 'muted', 'rule', 'paper', 'model', 'data', 'second', 'quiet', 'series1', 'series2', 'series3', 'series4', 'series5', 'heat0', 'heat1', 'heat2', 'heat3'];
  return Object.fromEntries(names.map((name) => [name, of(name)]));
}

/** Draw the layers in order. `at` says where: {x, y} from numbers to pixels, the box {left, top, width, height}, `unit` pixels a dot. */
export function paintLayers(layers, pen, at, palette) {
  pen.save();
  pen.beginPath();
  pen.rect(at.left, at.top, at.width, at.height);
  pen.clip();
  for (const layer of layers) painters[layer.kind](layer, pen, at, palette[layer.style], palette);
  pen.restore();
}

const painters = {
  band(layer, pen, at, colour) {
    pen.fillStyle = colour;
    pen.globalAlpha = 0.18;
    for (const [start, stop] of stretches(layer.low, layer.high)) {
      pen.beginPath();
      for (let i = start; i < stop; i++) (i === start ? pen.moveTo : pen.lineTo).call(pen, at.x(layer.x[i]), at.y(layer.high[i]));
      for (let i = stop - 1; i >= start; i--) pen.lineTo(at.x(layer.x[i]), at.y(layer.low[i]));
      pen.closePath();
      pen.fill();
    }
    pen.globalAlpha = 1;
  },

  line(layer, pen, at, colour) {
    pen.strokeStyle = colour;
    pen.lineWidth = (layer.thin ? 1 : 2) * at.unit;
    pen.setLineDash(layer.dashed ? [5 * at.unit, 4 * at.unit] : []);
    pen.beginPath();
    for (const [start, stop] of stretches(layer.y, layer.y)) {
      for (let i = start; i < stop; i++) (i === start ? pen.moveTo : pen.lineTo).call(pen, at.x(layer.x[i]), at.y(layer.y[i]));
    }
    pen.stroke();
    pen.setLineDash([]);
  },

  dots(layer, pen, at, colour) {
    pen.strokeStyle = pen.fillStyle = colour;
    pen.lineWidth = at.unit;
    if (layer.error) {
      pen.beginPath();
      layer.x.forEach((x, i) => {
        if (layer.error[i] === null) return;
        pen.moveTo(at.x(x), at.y(layer.y[i] - layer.error[i]));
        pen.lineTo(at.x(x), at.y(layer.y[i] + layer.error[i]));
      });
      pen.stroke();
    }
    pen.beginPath();
    layer.x.forEach((x, i) => { circle(pen, at.x(x), at.y(layer.y[i]), 2.2 * at.unit); });
    pen.fill();
  },

  bars(layer, pen, at, colour) {
    pen.fillStyle = colour;
    pen.globalAlpha = 0.32;
    pen.beginPath();
    layer.y.forEach((y, i) => {
      if (!y) return;
      const left = at.x(layer.edges[i]), right = at.x(layer.edges[i + 1]), top = at.y(y);
      // A hair between bars where there is room for it.
      const gap = right - left > 4 * at.unit ? at.unit / 2 : 0;
      pen.rect(left + gap, top, right - left - 2 * gap, at.y(0) - top);
    });
    pen.fill();
    pen.globalAlpha = 1;
  },

  rule(layer, pen, at, colour) {
    pen.strokeStyle = colour;
    pen.lineWidth = at.unit;
    pen.beginPath();
    if (layer.y !== null) {
      pen.moveTo(at.left, at.y(layer.y));
      pen.lineTo(at.left + at.width, at.y(layer.y));
    } else {
      pen.setLineDash([2 * at.unit, 3 * at.unit]);
      pen.moveTo(at.x(layer.x), at.top);
      pen.lineTo(at.x(layer.x), at.top + at.height);
    }
    pen.stroke();
    pen.setLineDash([]);
  },

  marks(layer, pen, at, colour, palette) {
    pen.font = `${11 * at.unit}px system-ui, sans-serif`;
    pen.textAlign = 'center';
    layer.x.forEach((x, i) => {
      const across = at.x(x), up = at.y(layer.y[i]);
      pen.beginPath();
      circle(pen, across, up, 4 * at.unit);
      pen.fillStyle = palette.paper;
      pen.fill();
      pen.lineWidth = 2 * at.unit;
      pen.strokeStyle = colour;
      pen.stroke();
      const above = up - at.top > 24 * at.unit;
      pen.textBaseline = above ? 'bottom' : 'top';
      // On a seam of paper: a map may be as light as the letters.
      pen.lineWidth = 4 * at.unit;
      pen.lineJoin = 'round';
      pen.strokeStyle = palette.paper;
      pen.strokeText(layer.text[i], across, up + (above ? -8 : 8) * at.unit);
      pen.fillStyle = palette.ink;
      pen.fillText(layer.text[i], across, up + (above ? -8 : 8) * at.unit);
    });
  },

  heat(layer, pen, at, colour, palette) {
    const [left, right] = layer.x.map(at.x), [bottom, top] = layer.y.map(at.y);
    if (pen.imageSmoothingEnabled !== undefined) pen.imageSmoothingEnabled = layer.smooth;
    pen.drawImage(mapOf(layer, palette), left, top, right - left, bottom - top);
  },

  arrows(layer, pen, at, colour) {
    const speed = layer.u.map((u, i) => Math.hypot((at.x(u) - at.x(0)) , (at.y(layer.v[i]) - at.y(0))));
    const sorted = speed.filter((s) => s > 0).sort((a, b) => a - b);
    if (!sorted.length) return;
    const usual = sorted[Math.floor(0.95 * (sorted.length - 1))];
    const cell = Math.sqrt((at.width * at.height) / layer.x.length);
    pen.strokeStyle = pen.fillStyle = colour;
    pen.lineWidth = 1.2 * at.unit;
    layer.x.forEach((x, i) => {
      if (!(speed[i] > 0)) return;
      // By the square root, so that slow places are seen beside fast ones.
      const length = cell * Math.min(1.05, 0.85 * Math.sqrt(speed[i] / usual));
      if (length < 2.5 * at.unit) return;
      const dx = ((at.x(layer.u[i]) - at.x(0)) / speed[i]) * length, dy = ((at.y(layer.v[i]) - at.y(0)) / speed[i]) * length;
      const fromX = at.x(x) - dx / 2, fromY = at.y(layer.y[i]) - dy / 2, toX = fromX + dx, toY = fromY + dy;
      const head = Math.min(0.4, (4.5 * at.unit) / length);
      pen.beginPath();
      pen.moveTo(fromX, fromY);
      pen.lineTo(toX - dx * head * 0.6, toY - dy * head * 0.6);
      pen.stroke();
      pen.beginPath();
      pen.moveTo(toX, toY);
      pen.lineTo(toX - head * (dx - 0.5 * dy), toY - head * (dy + 0.5 * dx));
      pen.lineTo(toX - head * (dx + 0.5 * dy), toY - head * (dy - 0.5 * dx));
      pen.closePath();
      pen.fill();
    });
  },
};

/** Index ranges in which both have numbers. */
function* stretches(one, other) {
  let start = null;
  for (let i = 0; i <= one.length; i++) {
    const there = i < one.length && one[i] !== null && other[i] !== null;
    if (there && start === null) start = i;
    if (!there && start !== null) {
      yield [start, i];
      start = null;
    }
  }
}

function circle(pen, x, y, r) {
  pen.moveTo(x + r, y);
  pen.arc(x, y, r, 0, 2 * Math.PI);
}

/** The map as a small picture, a dot a value. */
function mapOf(layer, palette) {
  const [nx, ny] = layer.shape, values = Uint8Array.from(atob(layer.values), (c) => c.charCodeAt(0));
  const stops = [palette.heat0, palette.heat1, palette.heat2, palette.heat3].map(rgb);
  const canvas = document.createElement('canvas');
  canvas.width = nx;
  canvas.height = ny;
  const pen = canvas.getContext('2d'), picture = pen.createImageData(nx, ny);
  for (let i = 0; i < nx; i++) {
    for (let j = 0; j < ny; j++) {
      const place = (values[i * ny + j] / 255) * (stops.length - 1), k = Math.min(stops.length - 2, Math.floor(place));
      const to = 4 * ((ny - 1 - j) * nx + i);
      for (let c = 0; c < 3; c++) picture.data[to + c] = stops[k][c] + (place - k) * (stops[k + 1][c] - stops[k][c]);
      picture.data[to + 3] = 255;
    }
  }
  pen.putImageData(picture, 0, 0);
  return canvas;
}

function rgb(hex) {
  return [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
}
