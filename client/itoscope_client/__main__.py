"""The command `itoscope` as `python -m itoscope_client`."""

from itoscope_client.cli import main

main()
