"""Second-order dynamics from positions alone: dx = v dt, dv = F(x, v) dt + σ(x, v) dW."""
