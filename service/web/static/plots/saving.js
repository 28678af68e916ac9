// A figure's buttons: save it as PNG, SVG or CSV, or show its numbers.
import { SvgPen } from './pens.js';
import { paletteOf } from './layers.js';
import { drawWhole, heightOfRows, named } from './whole.js';
import { add } from './elements.js';
import { csvOf, tabulate } from './rows.js';

/** Put them into its caption; return the one that undoes a zoom, which is hidden until there is one. */
export function tools(figure, plot, whole) {
  const bar = add(figure.querySelector('figcaption'), 'p', 'plot-tools');
  const button = (text, does, title) => {
    const made = add(bar, 'button', 'quiet', text);
    made.type = 'button';
    made.title = title;
    made.setAttribute('aria-label', `${text}: ${title === text ? '' : `${title}, `}${plot.title}`);
    made.addEventListener('click', does);
    return made;
  };
  const reset = button('Reset zoom', () => whole(), 'Reset zoom');
  reset.hidden = true;
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
  return reset;
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
  if (plot.square) return [560, 540];
  const rows = heightOfRows(plot);
  return [720, rows ? rows + 90 + 16 * named(plot).length : 440];
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

/** Offer a file to be saved. */
export function save(name, blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
