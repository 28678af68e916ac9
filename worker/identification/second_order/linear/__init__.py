"""Linear forces of second order by their exact likelihood."""
