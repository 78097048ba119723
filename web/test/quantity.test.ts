// Quantities look as they do on the screen of the command line and in its documents.

import assert from "node:assert/strict";
import test from "node:test";
import {
  amount,
  duration,
  fixed,
  grouped,
  inUnit,
  rate,
  rateUnit,
  roundAmount,
  roundDuration,
  roundRate,
  span,
  took,
} from "../src/quantity.ts";

test("a rate is shown in the unit that suits it", () => {
  assert.equal(rate(0), "0 bit/s");
  assert.equal(rate(999.9), "999 bit/s");
  assert.equal(rate(64_000), "64.00 kbit/s");
  assert.equal(rate(40_004_691), "40.00 Mbit/s");
  assert.equal(rate(1_000_000_000), "1000.00 Mbit/s");
  assert.equal(rate(10_000_000_000), "10.000 Gbit/s");
});

test("a tie is rounded to the even digit, as the documents do", () => {
  assert.equal(fixed(2.5, 0), "2");
  assert.equal(fixed(3.5, 0), "4");
  assert.equal(fixed(0.25, 1), "0.2");
  assert.equal(rate(12_125_000), "12.12 Mbit/s");
  assert.equal(rate(12_375_000), "12.38 Mbit/s");
  assert.equal(fixed(-0.125, 2), "-0.12");
});

test("what rounds to zero has no minus", () => {
  assert.equal(fixed(-0.004, 2), "0.00");
  assert.equal(fixed(-0, 0), "0");
  assert.equal(fixed(-0.006, 2), "-0.01");
});

test("what is no tie is rounded to the nearest digit", () => {
  assert.equal(fixed(0.35, 1), "0.3", "the nearest binary number lies below 0.35");
  assert.equal(fixed(1.006, 2), "1.01");
});

test("a time is shown in the unit that suits it", () => {
  assert.equal(duration(0.054002208), "54.00 ms");
  assert.equal(duration(0.00005672), "56.7 µs");
  assert.equal(duration(1.5), "1500.00 ms");
  assert.equal(duration(10), "10.0 s");
});

test("how long something takes is said as people say it", () => {
  assert.equal(span(9.94), "9.9 s");
  assert.equal(span(59.6), "1 min");
  assert.equal(span(200), "3 min 20 s");
  assert.equal(span(3_900), "1 h 5 min");
  assert.equal(took(0.06156), "61.56 ms");
});

test("amounts of bytes keep their digits up to ten thousand", () => {
  assert.equal(amount(9_999), "9999 B");
  assert.equal(amount(120_810_984), "120.81 MB");
});

test("what somebody chose has no decimals that say nothing", () => {
  assert.equal(roundRate(40e6), "40 Mbit/s");
  assert.equal(roundRate(1e9), "1 Gbit/s");
  assert.equal(roundAmount(64_000), "64 kB");
  assert.equal(roundDuration(0.0725), "72.5 ms");
});

test("thousands stand apart", () => {
  assert.equal(grouped(0), "0");
  assert.equal(grouped(999), "999");
  assert.equal(grouped(1_234_567), "1,234,567");
});

test("an axis has one unit for all its numbers", () => {
  assert.deepEqual(rateUnit(39e6), [1e6, "Mbit/s"]);
  assert.deepEqual(rateUnit(2e9), [1e9, "Gbit/s"]);
});

test("the unknown is never shown as nothing", () => {
  assert.equal(inUnit(null, "bit/s"), "–");
  assert.equal(inUnit(0, "bytes"), "0 B");
});
