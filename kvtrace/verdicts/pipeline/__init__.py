"""What Triton's passes put under way in TTGIR, and whether anything comes too early."""
