// Elements of the page, made and put where they belong.

/** Show the element that a link of this page names: open what hides it, and go there. */
export function goTo(name) {
  const target = document.getElementById(name);
  if (!target) return;
  for (let fold = target.closest('details'); fold; fold = fold.parentElement.closest('details')) fold.open = true;
  target.tabIndex = -1;
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: 'start' });
}

/** Links to places of this page are followed here: the page's own addresses are its views. */
export function followLinks() {
  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[href^="#"]'), name = link?.getAttribute('href').slice(1);
    if (!name || name.startsWith('/')) return;
    event.preventDefault();
    goTo(name);
  });
  // What is folded away would be missing on paper.
  addEventListener('beforeprint', () => { for (const fold of document.querySelectorAll('details.group')) fold.open = true; });
}

/** A new last child. */
export function add(parent, tag, className = '', text = '') {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  parent.append(made);
  return made;
}
