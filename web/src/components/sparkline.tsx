import type { JSX } from 'preact';

const width = 84;
const height = 22;

// A small line without axes; its label says the figures.
export function Sparkline({ values, label, bars }: { values: (number | null)[]; label: string; bars?: boolean }): JSX.Element {
  const known = values.filter((value): value is number => value !== null);
  const most = Math.max(1, ...known);
  const step = width / Math.max(1, values.length - (bars ? 0 : 1));
  const y = (value: number): number => height - 1.5 - (value / most) * (height - 3);
  const points = values
    .map((value, index) => (value === null ? null : `${(index * step).toFixed(1)},${y(value).toFixed(1)}`))
    .filter((point) => point !== null);
  return (
    <svg class={bars ? 'sparkline bars' : 'sparkline'} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${label}: at most ${most}, now ${known.at(-1) ?? 'unknown'}`}>
      {bars ? (
        values.map((value, index) => value ? (
          <rect key={index} x={index * step} y={y(value)} width={Math.max(1, step - 1)} height={height - y(value)} />
        ) : null)
      ) : points.length > 1 ? (
        <>
          <polygon points={`0,${height} ${points.join(' ')} ${width},${height}`} />
          <polyline points={points.join(' ')} />
        </>
      ) : (
        <line x1="0" x2={width} y1={height - 1.5} y2={height - 1.5} />
      )}
    </svg>
  );
}
