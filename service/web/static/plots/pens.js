// A pen that writes SVG where a canvas would be painted: the few methods of CanvasRenderingContext2D that the plots use.

export class SvgPen {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.parts = [];
    this.path = [];
    this.state = { strokeStyle: '#000', fillStyle: '#000', lineWidth: 1, globalAlpha: 1, font: '', textAlign: 'start', textBaseline: 'alphabetic', dash: [] };
    this.kept = [];
    this.groups = 0;
    this.clips = 0;
    for (const name of Object.keys(this.state)) {
      Object.defineProperty(this, name, { get: () => this.state[name], set: (value) => { this.state[name] = value; } });
    }
  }

  save() { this.kept.push([{ ...this.state }, this.groups]); }

  restore() {
    const [state, groups] = this.kept.pop();
    for (; this.groups > groups; this.groups--) this.parts.push('</g>');
    this.state = state;
  }

  beginPath() { this.path = []; }
  moveTo(x, y) { this.path.push(`M${dot(x)} ${dot(y)}`); }
  lineTo(x, y) { this.path.push(`L${dot(x)} ${dot(y)}`); }
  closePath() { this.path.push('Z'); }
  rect(x, y, w, h) { this.path.push(`M${dot(x)} ${dot(y)}h${dot(w)}v${dot(h)}h${dot(-w)}Z`); }
  /** Whole circles only. */
  arc(x, y, r) { this.path.push(`M${dot(x - r)} ${dot(y)}a${dot(r)} ${dot(r)} 0 1 0 ${dot(2 * r)} 0a${dot(r)} ${dot(r)} 0 1 0 ${dot(-2 * r)} 0Z`); }
  setLineDash(dash) { this.state.dash = dash; }

  stroke() {
    const dash = this.state.dash.length ? ` stroke-dasharray="${this.state.dash.join(' ')}"` : '';
    this.parts.push(`<path d="${this.path.join('')}" fill="none" stroke="${this.state.strokeStyle}" stroke-width="${dot(this.state.lineWidth)}" stroke-linejoin="round"${this.opacity()}${dash}/>`);
  }

  fill() { this.parts.push(`<path d="${this.path.join('')}" fill="${this.state.fillStyle}"${this.opacity()}/>`); }

  clip() {
    const id = `clip${++this.clips}`;
    this.parts.push(`<clipPath id="${id}"><path d="${this.path.join('')}"/></clipPath><g clip-path="url(#${id})">`);
    this.groups++;
  }

  fillText(text, x, y) {
    const anchor = { center: 'middle', right: 'end', end: 'end' }[this.state.textAlign] ?? 'start';
    const size = Number(/([\d.]+)px/.exec(this.state.font)?.[1] ?? 12);
    const down = { middle: 0.35, top: 0.8, bottom: -0.2 }[this.state.textBaseline] ?? 0;
    const weight = /^(bold|600)/.test(this.state.font) ? ' font-weight="600"' : '';
    this.parts.push(`<text x="${dot(x)}" y="${dot(y + down * size)}" font-size="${dot(size)}"${weight} text-anchor="${anchor}" fill="${this.state.fillStyle}"${this.opacity()}>${escaped(text)}</text>`);
  }

  /** A seam of the paper's colour around letters. */
  strokeText(text, x, y) {
    const { fillStyle } = this.state, written = this.parts.length;
    this.fillText(text, x, y);
    this.parts[written] = this.parts[written].replace(`fill="${fillStyle}"`, `fill="none" stroke="${this.state.strokeStyle}" stroke-width="${dot(this.state.lineWidth)}" stroke-linejoin="round"`);
  }

  /** About as wide as the text will be. */
  measureText(text) { return { width: 0.55 * text.length * Number(/([\d.]+)px/.exec(this.state.font)?.[1] ?? 12) }; }

  drawImage(canvas, x, y, w, h) {
    this.parts.push(`<image href="${canvas.toDataURL()}" x="${dot(x)}" y="${dot(y)}" width="${dot(w)}" height="${dot(h)}" preserveAspectRatio="none"/>`);
  }

  opacity() { return this.state.globalAlpha < 1 ? ` opacity="${this.state.globalAlpha}"` : ''; }

  text() {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}" font-family="Helvetica, Arial, sans-serif">${this.parts.join('')}</svg>\n`;
  }
}

function dot(v) { return String(Math.round(v * 100) / 100); }

function escaped(text) { return text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]); }
