// Attempts as bars over time: hatched while it waited, filled while it ran.
import type { JSX } from 'preact';
import type { Execution } from '../api/types';
import { clock, day, duration } from '../lib/format';
import { useStore } from '../lib/store';
import { useNow } from '../lib/ticker';
import { settings } from '../state/settings';
import { statusLabel } from './status';

interface Bar {
  kind: 'wait' | 'run';
  outcome: string;
  from: number;
  to: number;
  label: string;
}

const barsMost = 200;

export function attemptBars(e: Execution, now: number): Bar[] {
  const bars: Bar[] = [];
  let waitsFrom = Date.parse(e.created_at);
  for (const attempt of (e.attempts ?? []).slice(-barsMost)) {
    if (!attempt.started_at) continue;
    const from = Date.parse(attempt.started_at);
    const to = attempt.ended_at ? Date.parse(attempt.ended_at) : Math.max(now, from);
    if (from > waitsFrom) bars.push({ kind: 'wait', outcome: '', from: waitsFrom, to: from, label: `waited ${duration((from - waitsFrom) / 1000)} for attempt ${attempt.number}` });
    bars.push({ kind: 'run', outcome: attempt.outcome, from, to, label: `attempt ${attempt.number}: ${statusLabel(attempt.outcome)}, ran ${duration((to - from) / 1000)}` });
    waitsFrom = to;
  }
  if (e.status === 'pending') {
    const to = Math.max(now, waitsFrom);
    bars.push({ kind: 'wait', outcome: '', from: waitsFrom, to, label: `waits for ${duration((to - waitsFrom) / 1000)}` });
  }
  return bars;
}

export function AttemptsChart({ e }: { e: Execution }): JSX.Element | null {
  const now = useNow();
  const { zone } = useStore(settings);
  const bars = attemptBars(e, now);
  const first = bars[0];
  const last = bars[bars.length - 1];
  if (!first || !last) return null;
  const span = Math.max(1, last.to - first.from);
  const percent = (at: number): number => ((at - first.from) / span) * 100;
  const waited = bars.filter((bar) => bar.kind === 'wait').reduce((sum, bar) => sum + bar.to - bar.from, 0) / 1000;
  const ran = bars.filter((bar) => bar.kind === 'run').reduce((sum, bar) => sum + bar.to - bar.from, 0) / 1000;
  return (
    <figure class="attempts-chart">
      <div class="bars" role="img" aria-label={bars.map((bar) => bar.label).join('; ')}>
        {bars.map((bar) => (
          <span
            key={`${bar.kind}${bar.from}`} class={`bar ${bar.kind} is-${bar.outcome}`} title={bar.label}
            style={{ left: `${percent(bar.from)}%`, width: `${Math.max(0.4, percent(bar.to) - percent(bar.from))}%` }}
          />
        ))}
      </div>
      <figcaption>
        <span class="num">{day(first.from, zone)} {clock(first.from, zone, true)}</span>
        <span><i class="key wait" /> waited <b class="num">{duration(waited)}</b> · <i class="key run" /> ran <b class="num">{duration(ran)}</b></span>
        <span class="num">{clock(last.to, zone, true)}</span>
      </figcaption>
    </figure>
  );
}
