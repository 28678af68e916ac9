"""Conversion of whatever holds the data to an upload.

What the service reads is sent unchanged, everything else is converted here.
"""

from itoscope_client.inputs.options import LayoutOptions
from itoscope_client.inputs.source import upload_of
from itoscope_client.inputs.upload import Upload

__all__ = ["LayoutOptions", "Upload", "upload_of"]
