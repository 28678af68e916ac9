// The report draws its figures as it is opened.
const button = document.getElementById('theme');
const dark = () => (document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
const show = () => { button.textContent = dark() ? 'Light' : 'Dark'; };
button.addEventListener('click', () => {
  document.documentElement.dataset.theme = dark() ? 'light' : 'dark';
  show();
  redrawAll();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { show(); redrawAll(); });
show();
drawAll(document);
followLinks();
