// Quantities as text: the same units and digits as in fullpipe's other outputs.

export const UNKNOWN = "–";

/** `value` with `places` decimals; ties to the even digit, no minus before zero, as in reports. */
export function fixed(value: number, places: number): string {
  const text = withMinusOfZero(value, places);
  return /^-[0.]*$/.test(text) ? text.slice(1) : text;
}

function withMinusOfZero(value: number, places: number): string {
  const halves = value * 2 ** (places + 1);
  if (!Number.isInteger(halves) || halves % 2 === 0) {
    return value.toFixed(places);
  }
  const shifted = Math.floor(value * 10 ** places);
  return ((shifted % 2 === 0 ? shifted : shifted + 1) / 10 ** places).toFixed(places);
}

/** A rate in the unit that suits it. */
export function rate(bps: number): string {
  const whole = Math.floor(bps);
  if (whole < 1e3) {
    return `${fixed(whole, 0)} bit/s`;
  }
  if (whole < 1e6) {
    return `${fixed(whole / 1e3, 2)} kbit/s`;
  }
  if (whole < 1e10) {
    return `${fixed(whole / 1e6, 2)} Mbit/s`;
  }
  return `${fixed(whole / 1e9, 3)} Gbit/s`;
}

/** A rate that somebody chose, without decimals that say nothing: `40 Mbit/s`. */
export function roundRate(bps: number): string {
  const [factor, unit] = rateUnit(bps);
  return `${short(bps / factor)} ${unit}`;
}

/** What rates up to `most_bps` are shown in: a divisor and its name. */
export function rateUnit(most_bps: number): [factor: number, unit: string] {
  if (most_bps < 1e3) {
    return [1, "bit/s"];
  }
  if (most_bps < 1e6) {
    return [1e3, "kbit/s"];
  }
  return most_bps < 1e9 ? [1e6, "Mbit/s"] : [1e9, "Gbit/s"];
}

/** An amount of bytes in the unit that suits it. */
export function amount(bytes: number): string {
  if (bytes < 1e4) {
    return `${fixed(bytes, 0)} B`;
  }
  if (bytes < 1e6) {
    return `${fixed(bytes / 1e3, 2)} kB`;
  }
  return bytes < 1e9 ? `${fixed(bytes / 1e6, 2)} MB` : `${fixed(bytes / 1e9, 2)} GB`;
}

/** An amount of bytes that somebody chose: `64 kB`. */
export function roundAmount(bytes: number): string {
  if (bytes < 1e3) {
    return `${short(bytes)} B`;
  }
  return bytes < 1e6 ? `${short(bytes / 1e3)} kB` : `${short(bytes / 1e6)} MB`;
}

/** A time in the unit that suits it. */
export function duration(seconds: number): string {
  const time = Math.round(Math.max(seconds, 0) * 1e9) / 1e9;
  if (time >= 10) {
    return `${fixed(time, 1)} s`;
  }
  return time >= 0.001 ? `${fixed(time * 1e3, 2)} ms` : `${fixed(time * 1e6, 1)} µs`;
}

/** A time that somebody chose: `27 ms`. */
export function roundDuration(seconds: number): string {
  if (seconds >= 1) {
    return `${short(seconds)} s`;
  }
  return seconds >= 0.001 ? `${short(seconds * 1e3)} ms` : `${short(seconds * 1e6)} µs`;
}

/** How long something takes, as people say it: `42 s`, `3 min 20 s`, `1 h 5 min`. */
export function span(seconds: number): string {
  const whole = Math.round(seconds);
  if (seconds < 10) {
    return `${fixed(seconds, 1)} s`;
  }
  if (whole < 60) {
    return `${whole} s`;
  }
  const [minutes, rest] = [Math.floor(whole / 60), whole % 60];
  if (minutes < 60) {
    return rest === 0 ? `${minutes} min` : `${minutes} min ${rest} s`;
  }
  const [hours, left] = [Math.floor(minutes / 60), minutes % 60];
  return left === 0 ? `${hours} h` : `${hours} h ${left} min`;
}

/** How long a run took; simulated ones are over in milliseconds. */
export function took(seconds: number): string {
  return seconds < 1 ? duration(seconds) : span(seconds);
}

/** A count with its thousands apart. */
export function grouped(count: number): string {
  const digits = fixed(Math.max(count, 0), 0);
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A count of things: `1 line`, `2 lines`. */
export function counted(count: number, thing: string): string {
  return `${grouped(count)} ${thing}${count === 1 ? "" : "s"}`;
}

export function percent(value: number, places: number): string {
  return `${fixed(value, places)} %`;
}

/** Up to three decimals, without zeros at the end. */
export function short(value: number): string {
  return String(Number(value.toFixed(3)));
}

/** A moment of RFC 3339 in the reader's own time zone: `2026-11-22 12:29:28`. */
export function moment(rfc3339: string): string {
  const at = new Date(rfc3339);
  if (Number.isNaN(at.getTime())) {
    return rfc3339;
  }
  const two = (part: number): string => String(part).padStart(2, "0");
  const date = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
  return `${date} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** Of a counter's unit as the server names it. */
export function inUnit(value: number | null, unit: string): string {
  if (value === null) {
    return UNKNOWN;
  }
  switch (unit) {
    case "bit/s":
      return rate(value);
    case "bytes":
      return `${grouped(value)} B`;
    case "s":
      return duration(value);
    case "ms":
      return duration(value / 1e3);
    case "us":
    case "µs":
      return duration(value / 1e6);
    case "percent":
      return percent(value, 2);
    default:
      return `${Number.isInteger(value) ? grouped(value) : short(value)} ${unit}`.trim();
  }
}
