// SPDX-License-Identifier: MIT
// ONNX Runtime as one of the libraries that run.py measures in alternation. A process handles one shape and batch size;
// each command on stdin executes one measured run.
//
//     node ort_encoder.js MODEL.onnx TEXTS LENGTH THREADS     (NODE_PATH: the directory of onnxruntime-node)
//     infer f32 COUNT      prints the milliseconds of COUNT runs, or "- REASON"
'use strict';
const ort = require('onnxruntime-node');
const readline = require('readline');
const VOCABULARY = 1024; // as in all shapes

async function main() {
  const [path, texts, length, threads] = [process.argv[2], ...process.argv.slice(3, 6).map(Number)];
  const options = {intraOpNumThreads: threads, interOpNumThreads: 1, graphOptimizationLevel: 'all'};
  const session = await ort.InferenceSession.create(path, options);
  const ids = BigInt64Array.from({length: texts * length}, (_, i) => BigInt((i * 7919) % VOCABULARY));
  const feeds = {
    ids: new ort.Tensor('int64', ids, [texts, length]),
    attend: new ort.Tensor('float32', new Float32Array(texts * length).fill(1), [texts, length]),
  };
  await session.run(feeds);
  console.log(`ready ONNX Runtime ${require('onnxruntime-node/package.json').version}`);
  for await (const line of readline.createInterface({input: process.stdin})) {
    const [mode, dtype, count] = line.trim().split(/\s+/);
    if (mode !== 'infer' || dtype !== 'f32') {
      console.log(`- no ${mode} ${dtype}`);
      continue;
    }
    const times = [];
    for (let i = 0; i < Number(count); i++) {
      const start = process.hrtime.bigint();
      await session.run(feeds);
      times.push((Number(process.hrtime.bigint() - start) / 1e6).toFixed(4));
    }
    console.log(times.join(' '));
  }
}

main().catch((error) => {
  console.log(`- ${String(error.message).replace(/\s+/g, ' ')}`);
  process.exitCode = 1;
});
