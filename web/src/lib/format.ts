// Numbers, durations and instants as people read them.

const units: [string, number][] = [
  ['w', 604800],
  ['d', 86400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
];

// 0.0032 → "3.2 ms", 75 → "1m 15s", 200000 → "2d 7h". At most two units.
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–';
  if (seconds < 0) return '−' + duration(-seconds);
  if (seconds < 0.001) return seconds === 0 ? '0 s' : `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 1) return `${(seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  let rest = Math.round(seconds);
  const parts: string[] = [];
  for (const [name, size] of units.slice(1)) {
    if (rest >= size && parts.length < 2) {
      parts.push(Math.floor(rest / size) + name);
      rest %= size;
    } else if (parts.length > 0) break;
  }
  return parts.join(' ');
}

// The API's duration texts: "1h30m", "9s651ms659us". null: not one.
export function parseDuration(text: string | null | undefined): number | null {
  if (text === null || text === undefined || text === '') return null;
  if (text === '0') return 0;
  const sizes: Record<string, number> = { w: 604800, d: 86400, h: 3600, m: 60, s: 1, ms: 0.001, us: 0.000001 };
  let total = 0;
  const rest = text.replace(/([0-9]+)(ms|us|w|d|h|m|s)/g, (_, digits: string, unit: string) => {
    total += Number(digits) * (sizes[unit] ?? 0);
    return '';
  });
  return rest === '' ? total : null;
}

const whole = new Intl.NumberFormat('en');
export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : whole.format(value);
}

// 12,345 → "12.3k": for places that are too narrow for the whole number.
export function shortCount(value: number): string {
  const size = Math.abs(value);
  if (size < 10_000) return whole.format(Math.round(value * 10) / 10);
  if (size < 1_000_000) return `${(value / 1000).toFixed(size < 100_000 ? 1 : 0)}k`;
  if (size < 1e9) return `${(value / 1e6).toFixed(1)}M`;
  return `${(value / 1e9).toFixed(1)}G`;
}

export function counted(value: number, one: string, many = one + 's'): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function relative(at: number, now: number): string {
  const seconds = (now - at) / 1000;
  if (Math.abs(seconds) < 1.5) return 'now';
  // Whole units, so that a column of ages is calm.
  const size = Math.abs(seconds);
  let text: string;
  if (size < 60) text = `${Math.round(size)}s`;
  else if (size < 3600) text = `${Math.floor(size / 60)}m`;
  else if (size < 86400) text = `${Math.floor(size / 3600)}h ${Math.floor((size % 3600) / 60)}m`;
  else text = `${Math.floor(size / 86400)}d ${Math.floor((size % 86400) / 3600)}h`;
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

const formats = new Map<string, Intl.DateTimeFormat>();
function formatOf(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = zone + JSON.stringify(options);
  let format = formats.get(key);
  if (!format) {
    format = new Intl.DateTimeFormat('sv-SE', { ...options, ...(zone === 'local' ? {} : { timeZone: zone }) });
    formats.set(key, format);
  }
  return format;
}

// "2026-03-01 09:00:00.123 CET": sorts as it reads, in the chosen zone.
export function exact(at: number, zone: string): string {
  const text = formatOf(zone, {
    year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit',
    fractionalSecondDigits: 3,
  }).format(at);
  return `${text.replace(',', '.').replace(/\.000$/, '')} ${zoneName(at, zone)}`;
}

export function clock(at: number, zone: string, seconds = false): string {
  return formatOf(zone, { hour: '2-digit', minute: '2-digit', ...(seconds ? { second: '2-digit' } : {}) }).format(at);
}

export function day(at: number, zone: string): string {
  return new Intl.DateTimeFormat('en-GB', {
    weekday: 'short', day: 'numeric', month: 'short', ...(zone === 'local' ? {} : { timeZone: zone }),
  }).format(at);
}

function zoneName(at: number, zone: string): string {
  if (zone === 'UTC') return 'UTC';
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZoneName: 'short', ...(zone === 'local' ? {} : { timeZone: zone }),
  }).formatToParts(at);
  return parts.find((part) => part.type === 'timeZoneName')?.value ?? zone;
}

export function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
