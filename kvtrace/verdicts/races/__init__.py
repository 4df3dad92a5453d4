"""The rule `race`: two programs of one launch touch a byte, one writes, and nothing orders them."""
