"""Time all calls of this suite on a GPU; needs torch and Triton only."""
