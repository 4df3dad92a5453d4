"""What of a command line is recorded: all of it but what looks like a secret."""

import pytest

from kvtrace.capture.context import masked


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
        ("x --key abc -key=abc sort_key=3", "x --key *** -key=*** sort_key=3"),
        ("x --data pin=1&n=2 --data-raw={}", "x --data *** --data-raw=***"),
        ("x --data cifar10 --data=s3://b/a=1/x", "x --data cifar10 --data=s3://b/a=1/x"),
        ("x --auth-header Bearer:abc", "x --auth-header ***"),
        ("x --header Bearer:abc --n 1", "x --header Bearer:*** --n 1"),
        ("x -H Authorization: Bearer abc --n 1", "x -H Authorization: Bearer *** --n 1"),
        ("x Bearer abc", "x Bearer ***"),
        ("x --authToken abc --dbPassword=abc", "x --authToken *** --dbPassword=***"),
        ("x --pass abc --bypass on --compass n", "x --pass *** --bypass on --compass n"),
        ("x --secret-key abc --storage_key=abc", "x --secret-key *** --storage_key=***"),
        ("x password:abc", "x password:***"),
        ("x -phunter2", "x -p***"),
        ("x -p hunter2 -n 1", "x -p *** -n 1"),
        ("x -p 8080 -p8080 --port 1", "x -p 8080 -p8080 --port 1"),
        ("pytest -p no:cacheprovider -pxdist", "pytest -p no:cacheprovider -pxdist"),
        ("x -u me:abc --user me:abc", "x -u me:*** --user me:***"),
        ("x --url=http://h/?token=abc&n=1", "x --url=http://h/?token=***&n=1"),
        ("x --model hf:org/name --at 3:4", "x --model hf:org/name --at 3:4"),
        (
            "x https://ghp_0123456789abcdefghijABCDEFGHIJ012345@github.com/a/b",
            "x https://***@github.com/a/b",
        ),
        (
            "x https://s3.aws/b?X-Amz-Credential=AB%2F2026&X-Amz-Signature=0a1b2c&n=1",
            "x https://s3.aws/b?X-Amz-Credential=***&X-Amz-Signature=***&n=1",
        ),
        (
            "x https://a.blob/c?sv=2026&sig=abc%3D&se=1",
            "x https://a.blob/c?sv=2026&sig=***&se=1",
        ),
        (
            "x https://storage/b?X-Goog-Signature=abc",
            "x https://storage/b?X-Goog-Signature=***",
        ),
        (
            "x --tokens abc,def --n 1",
            "x --tokens *** --n 1",
        ),
        (
            "x --tokens 1000 --tokens=512",
            "x --tokens 1000 --tokens=512",
        ),
        (
            "x gsk_abcdefghijklmnopqrst",
            "x ***",
        ),
        (
            "x r8_abcdefghijklmnopqrst",
            "x ***",
        ),
        (
            "x dapi0123456789abcdef0123456789abcdef",
            "x ***",
        ),
        (
            "x https://hooks.slack.com/services/T000/B000/XXXX",
            "x https://hooks.slack.com/services/***",
        ),
        (
            "x https://discord.com/api/webhooks/1/abc --n 1",
            "x https://discord.com/api/webhooks/*** --n 1",
        ),
        (
            "x --capacity 5 --dapi on --design=4 --sigma 3",
            "x --capacity 5 --dapi on --design=4 --sigma 3",
        ),
        (
            "x postgresql://someuser@host/db ssh://git@host",
            "x postgresql://someuser@host/db ssh://git@host",
        ),
        (
            "x SG.abcdefghijklmnop.qrstuvwxyz",
            "x ***",
        ),
        (
            "x --signature abc",
            "x --signature ***",
        ),
    ],
)
def test_secrets_are_masked_and_nothing_else(given, recorded):
    assert " ".join(masked(given.split())) == recorded


@pytest.mark.parametrize(
    ("given", "recorded"),
    [
        ("Authorization: Bearer abc", "Authorization:***"),
        ("os.environ['HF_TOKEN']='abc'; main()", "os.environ['HF_TOKEN']='***'; main()"),
        ("os.environ.setdefault('HF_TOKEN', 'abc')", "os.environ.setdefault('HF_TOKEN', '***')"),
        ("count_tokens(x, 5); tokenizer='gpt2'", "count_tokens(x, 5); tokenizer='gpt2'"),
        ("X-Api-Key: abc", "X-Api-Key:***"),
        ('{"api_key": "abc", "n": 1}', '{"api_key": "***", "n": 1}'),
        ("host=h password=abc user=u", "host=h password=*** user=u"),
        ("Server=h;Password=abc;Port=1", "Server=h;Password=***;Port=1"),
        ("say: tokens are counted", "say: tokens are counted"),
    ],
)
def test_secrets_within_an_argument_are_masked(given, recorded):
    assert masked(["x", given]) == ["x", recorded]
