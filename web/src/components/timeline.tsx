// A line of time with what ran (by outcome) and what will run. A span is chosen by dragging, or with the fields below it.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { clock, day, exact } from '../lib/format';
import { useStore } from '../lib/store';
import { settings } from '../state/settings';
import { statusLabel } from './status';

export interface Mark {
  at: number;
  kind: string; // a status, 'fire' or 'note'
  label: string;
  to?: string;
}

// More fires than this are drawn thin.
const crowd = 100;

export interface Span {
  from: number;
  to: number;
}

const hour = 3600e3;
const steps = [hour / 12, hour / 4, hour, 3 * hour, 6 * hour, 12 * hour, 24 * hour, 7 * 24 * hour];

// Ticks of the axis: round in the zone that is shown, about eight of them.
function ticks(from: number, to: number): number[] {
  const step = steps.find((each) => (to - from) / each <= 9) ?? 30 * 24 * hour;
  const list: number[] = [];
  const offset = -new Date(from).getTimezoneOffset() * 60e3;
  for (let at = Math.ceil((from + offset) / step) * step - offset; at < to; at += step) list.push(at);
  return list;
}

export function TimeAxis({ from, to, now }: Span & { now: number }): JSX.Element {
  const { zone } = useStore(settings);
  const long = to - from > 36 * hour;
  // The label "now" takes so much of the line.
  const room = (to - from) * 0.05;
  const percent = (at: number): string => `${((at - from) / (to - from)) * 100}%`;
  return (
    <div class="time-axis" aria-hidden="true">
      {ticks(from, to).filter((at) => at < now - room || at > now + room).map((at) => <span key={at} style={{ left: percent(at) }}>{long && clock(at, zone) === '00:00' ? day(at, zone) : long ? `${day(at, zone)} ${clock(at, zone)}` : clock(at, zone) === '00:00' ? day(at, zone) : clock(at, zone)}</span>)}
      {now > from && now < to && <span class="now" style={{ left: percent(now) }}>now</span>}
    </div>
  );
}

export function Timeline({ from, to, now, marks, goesOnFrom, span, onSpan, label }: Span & { now: number; marks: Mark[]; goesOnFrom?: number | undefined; span?: Span | null; onSpan?: (span: Span | null) => void; label: string }): JSX.Element {
  const { zone } = useStore(settings);
  const box = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<Span | null>(null);
  const percent = (at: number): number => ((at - from) / (to - from)) * 100;
  const at = (x: number): number => {
    const rect = box.current?.getBoundingClientRect();
    if (!rect || rect.width === 0) return from;
    return from + Math.min(1, Math.max(0, (x - rect.left) / rect.width)) * (to - from);
  };
  const shown = drag ?? span;
  const ended = marks.filter((mark) => !mark.kind.startsWith('fire'));
  const fires = marks.filter((mark) => mark.kind.startsWith('fire') && mark.at <= to).length;
  return (
    <div
      ref={box} class={`timeline${onSpan ? ' can-drag' : ''}${fires > crowd ? ' crowded' : ''}`} role="group"
      aria-label={`${label}: ${ended.length} runs, ${fires} to come`}
      onPointerDown={onSpan && ((event) => {
        if (event.button !== 0 || (event.target as Element).closest('a')) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ from: at(event.clientX), to: at(event.clientX) });
      })}
      onPointerMove={onSpan && ((event) => { if (drag) setDrag({ from: drag.from, to: at(event.clientX) }); })}
      onPointerUp={onSpan && (() => {
        if (!drag) return;
        setDrag(null);
        const chosen = { from: Math.min(drag.from, drag.to), to: Math.max(drag.from, drag.to) };
        onSpan(percent(chosen.to) - percent(chosen.from) < 0.5 ? null : chosen);
      })}
      onPointerCancel={() => setDrag(null)}
    >
      {ticks(from, to).map((tick) => <i key={tick} class="grid" style={{ left: `${percent(tick)}%` }} />)}
      {now > from && now < to && <i class="now" style={{ left: `${percent(now)}%` }} />}
      {shown && <i class="span" style={{ left: `${percent(Math.min(shown.from, shown.to))}%`, width: `${Math.abs(percent(shown.to) - percent(shown.from))}%` }} />}
      {goesOnFrom !== undefined && goesOnFrom < to && <i class="goes-on" style={{ left: `${percent(Math.max(from, goesOnFrom))}%` }} title="and so on" />}
      {marks.filter((mark) => mark.at >= from && mark.at <= to).slice(0, 600).map((mark) => {
        const text = `${mark.label}, ${exact(mark.at, zone)}`;
        const style = { left: `${percent(mark.at)}%` };
        return mark.to
          ? <a key={mark.kind + mark.at + mark.label} class={`mark is-${mark.kind}`} href={mark.to} title={text} aria-label={text} style={style} />
          : <i key={mark.kind + mark.at + mark.label} class={`mark is-${mark.kind}`} title={text} style={style} />;
      })}
    </div>
  );
}

// The last outcomes as a strip, oldest first: readable where the line of time is crowded.
export function OutcomeStrip({ outcomes }: { outcomes: { id: string; status: string; href: string; title: string }[] }): JSX.Element {
  return (
    <div class="strip" role="group" aria-label="Outcomes of the last runs, oldest first">
      {outcomes.map((each) => <a key={each.id} class={`is-${each.status}`} href={each.href} title={each.title} aria-label={`${statusLabel(each.status)}, ${each.title}`} />)}
    </div>
  );
}
