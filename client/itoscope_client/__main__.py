"""`python -m itoscope_client` is the command `itoscope`."""

from itoscope_client.cli import main

main()
