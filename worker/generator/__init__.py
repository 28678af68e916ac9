"""The long-run behaviour of a diffusion process, read off its generator. Start in `analysis.py`."""
