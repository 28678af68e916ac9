"""Conversion of any data to an upload; what the service reads is sent unchanged."""

from itoscope_client.inputs.source import upload_of
from itoscope_client.inputs.upload import LayoutOptions, Upload

__all__ = ["LayoutOptions", "Upload", "upload_of"]
