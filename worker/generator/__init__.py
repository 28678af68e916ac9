"""What a diffusion process does in the long run, read off its generator L f = b·∇f + ½ a:∇²f. Start in `analysis.py`."""
