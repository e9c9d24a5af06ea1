// node node.js make BITS WRITTEN: writes doubles from a fixed seed, their bits to one file and their JSON.stringify text to
// the other, one per line.
// node node.js compare BITS WRITTEN OURS: fails and shows the first differences unless OURS has the same text.
'use strict';
const { readFileSync, writeFileSync } = require('fs');

const view = new DataView(new ArrayBuffer(8));

// SplitMix64, so that the numbers are the same on every machine.
let state = 8785n;
function random64() {
  state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
  let mixed = state;
  mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 30n)) * 0xbf58476d1ce4e5b9n);
  mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn);
  return mixed ^ (mixed >> 31n);
}
const below = (count) => Number(random64() % BigInt(count));
const sign = () => (below(2) === 0 ? 1 : -1);

function fromBits(bits) {
  view.setBigUint64(0, bits);
  return view.getFloat64(0);
}
function toBits(number) {
  view.setFloat64(0, number);
  return view.getBigUint64(0);
}
// The double that is so many steps further from zero, or nearer if negative.
const step = (number, steps) => fromBits(BigInt.asUintN(64, toBits(number) + BigInt(steps)));

const kinds = {
  'any bits': [80000, () => fromBits(random64())],
  'any decimals': [40000, () => sign() * Number(`${below(1e9)}${below(1e9)}`.slice(0, 1 + below(18)) + `e${below(340) - 330}`)],
  'near the borders of the plain form': [20000, () => sign() * Number(`${1 + below(999999)}e${below(30) - 12}`)],
  'whole': [10000, () => sign() * Number(random64() >> BigInt(below(64)))],
  'halves and quarters': [10000, () => sign() * (below(2 ** 40) + below(4) / 4)],
  'cents': [10000, () => (sign() * below(1e9)) / 100],
  'near powers of two': [10000, () => step(2 ** (below(2097) - 1073), below(9) - 4)],
  'near powers of ten': [10000, () => step(Number(`1e${below(632) - 323}`), below(9) - 4)],
  'subnormal': [10000, () => fromBits(random64() >> BigInt(12 + below(52)))],
};
// Every power of two and of ten with its neighbours, and the ends of the range.
function* certain() {
  for (let power = -1074; power < 1024; ++power) for (const by of [-1, 0, 1]) yield step(2 ** power, by);
  for (let power = -323; power < 309; ++power) for (const by of [-1, 0, 1]) yield step(Number(`1e${power}`), by);
  yield* [0, -0, Number.MIN_VALUE, Number.MAX_VALUE, -Number.MAX_VALUE, 2 ** 53 - 1, 2 ** 53, 2 ** 53 + 2, 2 ** 63, 2 ** 64];
}

function make(bitsFile, writtenFile) {
  const bits = [];
  const written = [];
  const add = (number) => {
    if (!Number.isFinite(number)) return;
    bits.push(toBits(number).toString(16).padStart(16, '0'));
    written.push(JSON.stringify(number));
  };
  for (const number of certain()) add(number);
  for (const [count, next] of Object.values(kinds)) for (let made = 0; made < count; ++made) add(next());
  writeFileSync(bitsFile, bits.join('\n') + '\n');
  writeFileSync(writtenFile, written.join('\n') + '\n');
}

function compare(bitsFile, writtenFile, oursFile) {
  const [bits, written, ours] = [bitsFile, writtenFile, oursFile].map((file) => readFileSync(file, 'utf8').split('\n'));
  const wrong = bits.map((_, line) => line).filter((line) => written[line] !== ours[line]);
  for (const line of wrong.slice(0, 20)) {
    console.error(`${bits[line]}: JSON.stringify writes ${written[line]}, hapax ${ours[line]}`);
  }
  if (wrong.length > 0 || ours.length !== bits.length || bits.length < 200000) {
    console.error(`${wrong.length} of ${bits.length - 1} numbers differ; hapax wrote ${ours.length - 1}`);
    process.exit(1);
  }
  console.log(`${bits.length - 1} numbers are written as JSON.stringify writes them`);
}

const [command, ...files] = process.argv.slice(2);
({ make, compare })[command](...files);
