"""What of a command line is recorded: all of it but what looks like a secret."""

import pytest

from kvtrace.capture.secrets import masked


@pytest.mark.parametrize(
    ("given", "recorded"),
    [
        ("python train.py --lr 3e-4 --steps=10", "python train.py --lr 3e-4 --steps=10"),
        ("x --api-key abc --seed 1", "x --api-key *** --seed 1"),
        ("x --api_key=abc", "x --api_key=***"),
        ("x --hub.token abc", "x --hub.token ***"),
        ("x --password= --n 1", "x --password= --n 1"),
        ("x --token --verbose", "x --token --verbose"),
        ("env HF_TOKEN=abc python x.py", "env HF_TOKEN=*** python x.py"),
        ("x hf_abcdefghijklmnopqrst", "x ***"),
        ("x --header=Bearer:sk-abcdefghijklmnop", "x --header=Bearer:***"),
        ("x ghp_0123456789abcdefghijABCDEFGHIJ012345", "x ***"),
        ("x eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK", "x ***"),
        ("x https://me:pass@host/path", "x https://me:***@host/path"),
        ("x --tokenizer gpt2 --max-tokens 5", "x --tokenizer gpt2 --max-tokens 5"),
        ("x --model sk-small", "x --model sk-small"),
        ("x --key-dim 64 --num-keys=4", "x --key-dim 64 --num-keys=4"),
    ],
)
def test_secrets_are_masked_and_nothing_else(given, recorded):
    assert " ".join(masked(given.split())) == recorded
