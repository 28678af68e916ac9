"""The page at / and the report: templates, plots as data, and the script that draws them."""
