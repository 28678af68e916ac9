// Before anything is painted: the theme that was chosen, so that the page does not flash.
try {
  const chosen = localStorage.getItem('theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch { /* without storage the system's choice holds */ }
