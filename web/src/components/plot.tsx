// A plot over time by uPlot, loaded when the first plot is shown. All plots of a page share the crosshair and the span.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { clock, duration, shortCount } from '../lib/format';
import { useStore } from '../lib/store';
import { settings } from '../state/settings';

export interface Line {
  label: string;
  tone: 'accent' | 'good' | 'bad' | 'warn' | 'calm' | 'soft';
  values: (number | null)[];
  fill?: boolean;
  dash?: boolean;
}

export interface PlotProps {
  title: string;
  times: number[]; // seconds
  lines: Line[];
  unit?: 'count' | 'seconds' | 'ms';
  marks?: { at: number; text: string }[]; // seconds
  height?: number;
  from?: number;
  to?: number;
}

const tones: Record<Line['tone'], string> = {
  accent: '--accent', good: '--good', bad: '--bad', warn: '--warn', calm: '--run', soft: '--dim',
};

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function formatted(value: number | null | undefined, unit: PlotProps['unit']): string {
  if (value === null || value === undefined) return '–';
  if (unit === 'seconds') return duration(value);
  if (unit === 'ms') return duration(value / 1000);
  return shortCount(value);
}

let library: Promise<{ default: typeof uPlot }> | undefined;
function loadLibrary(): Promise<{ default: typeof uPlot }> {
  library ??= Promise.all([import('uplot'), import('uplot/dist/uPlot.min.css')]).then(([code]) => code);
  return library;
}

export function Plot(props: PlotProps): JSX.Element {
  const { title, times, lines, unit = 'count', marks = [], height = 150, from, to } = props;
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [ready, setReady] = useState<typeof uPlot>();
  const [dark, setDark] = useState(matchMedia('(prefers-color-scheme: dark)').matches);
  const [at, setAt] = useState<number | null>(null);
  const { zone } = useStore(settings);
  const shape = lines.map((line) => line.label + line.tone).join();

  useEffect(() => {
    let gone = false;
    void loadLibrary().then((code) => !gone && setReady(() => code.default));
    const media = matchMedia('(prefers-color-scheme: dark)');
    const changed = (): void => setDark(media.matches);
    media.addEventListener('change', changed);
    return () => {
      gone = true;
      media.removeEventListener('change', changed);
    };
  }, []);

  useEffect(() => {
    const box = holder.current;
    if (!box || !ready) return;
    const grid = { stroke: colour('--line'), width: 1 };
    const axis = { stroke: colour('--dim'), grid, ticks: { show: false }, font: '11px system-ui, sans-serif' };
    const own = new ready(
      {
        width: box.clientWidth || 300,
        height,
        padding: [8, 6, 0, 0],
        legend: { show: false },
        cursor: { sync: { key: 'hapax' }, y: false, points: { size: 6 }, drag: { x: false, y: false } },
        scales: {
          x: { time: true, range: (_, low, high) => [latest.current.from ?? low, latest.current.to ?? high] },
          y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(1, (high ?? 1) * 1.08)] },
        },
        axes: [
          { ...axis, size: 24, space: 52, values: (_, splits) => splits.map((value) => clock(value * 1000, zone)) },
          { ...axis, size: 46, space: 34, values: (_, splits) => splits.map((value) => formatted(value, unit)) },
        ],
        series: [
          {},
          ...lines.map((line) => {
            const stroke = colour(tones[line.tone]);
            return {
              label: line.label, stroke, width: 1.6, points: { show: false }, spanGaps: false,
              ...(line.dash ? { dash: [4, 3] } : {}),
              ...(line.fill ? { fill: stroke + '26' } : {}),
            };
          }),
        ],
        hooks: {
          setCursor: [(u) => setAt(u.cursor.idx ?? null)],
          draw: [(u) => drawMarks(u, latest.current.marks ?? [])],
        },
      },
      [times, ...lines.map((line) => line.values)] as uPlot.AlignedData,
      box,
    );
    plot.current = own;
    const watch = new ResizeObserver(() => {
      if (box.clientWidth > 0 && Math.abs(box.clientWidth - own.width) > 1) own.setSize({ width: box.clientWidth, height });
    });
    watch.observe(box);
    return () => {
      watch.disconnect();
      own.destroy();
      plot.current = null;
    };
    // Lines of other names make another plot; new values go into the same one.
  }, [ready, dark, height, unit, zone, shape]);

  useEffect(() => {
    plot.current?.setData([times, ...lines.map((line) => line.values)] as uPlot.AlignedData);
  }, [times, lines, from, to, marks]);

  const index = at !== null && at < times.length ? at : times.length - 1;
  const when = times[index];
  const told = lines.map((line) => `${line.label} ${formatted(line.values[times.length - 1], unit)}`).join(', ');
  return (
    <figure class="plot">
      <figcaption>
        <h3>{title}</h3>
        <span class="plot-at num">{at !== null && when !== undefined ? clock(when * 1000, zone, true) : ''}</span>
        <ul class="legend">
          {lines.map((line) => (
            <li key={line.label} class={`tone-${line.tone}`}>
              <span class={line.dash ? 'swatch dash' : 'swatch'} aria-hidden="true" />
              {line.label} <b class="num">{formatted(line.values[index], unit)}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      <div ref={holder} class="plot-area" role="img" aria-label={`${title}. Now: ${told}`} />
    </figure>
  );
}

function drawMarks(u: uPlot, marks: { at: number; text: string }[]): void {
  const { ctx } = u;
  ctx.save();
  ctx.strokeStyle = colour('--accent');
  ctx.fillStyle = colour('--accent');
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.textAlign = 'left';
  ctx.font = `${10 * devicePixelRatio}px system-ui, sans-serif`;
  for (const mark of marks.slice(-20)) {
    const x = Math.round(u.valToPos(mark.at, 'x', true));
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, u.bbox.top);
    ctx.lineTo(x, u.bbox.top + u.bbox.height);
    ctx.stroke();
    ctx.fillText(mark.text.slice(0, 24), x + 4 * devicePixelRatio, u.bbox.top + 10 * devicePixelRatio);
  }
  ctx.restore();
}
