"""The page at / and the report: templates, plots as data, and the little script that draws them."""
