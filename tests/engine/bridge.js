// Lets Perfetto's trace processor, built as WebAssembly for a browser's worker, run under Node.
// usage: node bridge.js FOLDER    FOLDER holds engine_bundle.js and the .wasm files
// Standard input and output carry TraceProcessorRpcStream bytes; the engine's log goes to stderr.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

const folder = process.argv[2];

function writeAll(descriptor, bytes) {
  let written = 0;
  while (written < bytes.length) {
    try {
      written += fs.writeSync(descriptor, bytes, written);
    } catch (problem) {
      if (problem.code !== 'EAGAIN') throw problem; // the reader of the pipe is slow
    }
  }
}

// A worker loads its WebAssembly with synchronous requests; here these read files of the folder.
class FileRequest {
  open(_method, url) {
    this.file = path.join(folder, path.basename(url));
  }

  send() {
    const content = fs.readFileSync(this.file);
    const start = content.byteOffset;
    this.response = content.buffer.slice(start, start + content.length);
    this.status = 200;
  }
}

const log = (...words) => writeAll(2, Buffer.from(words.join(' ') + '\n'));
const worker = {location: {href: 'http://localhost/'}};
const surroundings = {
  self: worker,
  location: worker.location,
  WorkerGlobalScope: class {},
  XMLHttpRequest: FileRequest,
  importScripts() {},
  console: {log, warn: log, error: log, info: log, debug: log},
  TextDecoder, TextEncoder, URL, performance, crypto, setTimeout, clearTimeout, queueMicrotask,
};
const bundle = fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8');
const context = vm.createContext(surroundings); // it has no `process`, so the bundle sees a worker
vm.runInContext(bundle, context, {filename: 'engine_bundle.js'});
const InnerBytes = vm.runInContext('Uint8Array', context); // the engine asks for its own kind

const port = {onmessage: null, postMessage: (bytes) => writeAll(1, bytes)};
worker.onmessage({data: port});
setTimeout(() => { // once the engine has finished its start, which it does in a microtask
  process.stdin.on('data', (bytes) => port.onmessage({data: new InnerBytes(bytes)}));
  process.stdin.on('end', () => process.exit(0));
}, 0);
