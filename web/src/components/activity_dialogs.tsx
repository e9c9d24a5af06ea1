import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { post } from '../api/http';
import type { Activity } from '../api/types';
import { count } from '../lib/format';
import { Ask } from './dialog';
import { JsonField, jsonOf } from './json_field';
import { toast } from './notes';
import { Text } from './text';
import type { Span } from './timeline';

interface Props {
  activity: Activity;
  onClose: () => void;
  onDone: () => void;
}

const pathOf = (activity: Activity): string => `v1/activities/${encodeURIComponent(activity.id)}`;

export function PauseDialog({ activity, onClose, onDone }: Props): JSX.Element {
  const [note, setNote] = useState('');
  return (
    <Ask title={`Pause ${activity.name}?`} yes="Pause it" onClose={onClose} act={async () => { await post(`${pathOf(activity)}/pause`, note ? { note } : {}); onDone(); }}>
      <p>It starts nothing until it is resumed. What is missed meanwhile is handled by its misfire policy.</p>
      <label class="field"><span>Note: why, and until when</span><input data-first value={note} maxLength={500} onInput={(event) => setNote(event.currentTarget.value)} /></label>
    </Ask>
  );
}

const eventExample = '{\n  "specversion": "1.0",\n  "id": "evt-1",\n  "source": "/shop",\n  "type": "order.created",\n  "data": {}\n}';

export function TriggerDialog({ activity, onClose, onDone }: Props): JSX.Element {
  const [key, setKey] = useState('');
  const [event, setEvent] = useState(eventExample);
  const wantsEvent = activity.kind === 'event';
  return (
    <Ask
      title={`Run ${activity.name} now?`} yes="Run it" wide={wantsEvent} disabled={wantsEvent && !jsonOf(event).good} onClose={onClose}
      act={async () => {
        const members = [...(key ? [`"key":${JSON.stringify(key)}`] : []), ...(wantsEvent ? [`"event":${event}`] : [])];
        const started = await post<{ run_id: string; created: boolean }>(`${pathOf(activity)}/trigger`, undefined, { rawBody: `{${members.join(',')}}` });
        toast(started.created ? 'Started' : 'It was run under this key before');
        onDone();
      }}
    >
      {wantsEvent && <JsonField label="Event" value={event} onChange={setEvent} rows={9} />}
      <label class="field"><span>Key: the same key runs once (optional)</span><input data-first value={key} maxLength={255} onInput={(e) => setKey(e.currentTarget.value)} /></label>
    </Ask>
  );
}

interface Done {
  ticks: number;
  started: number;
  existing: number;
  refused: number;
  next_from?: string;
}

const callsMost = 100;

export function BackfillDialog({ activity, span, onClose, onDone }: Props & { span: Span | null }): JSX.Element {
  const [from, setFrom] = useState(span ? new Date(span.from).toISOString() : '');
  const [to, setTo] = useState(span ? new Date(span.to).toISOString() : '');
  const [told, setTold] = useState<Done | null>(null);
  return (
    <Ask
      title={`Backfill ${activity.name}`} yes="Run its ticks" disabled={from === '' || to === ''} onClose={onClose}
      act={async () => {
        const sum: Done = { ticks: 0, started: 0, existing: 0, refused: 0 };
        // One call goes through about 10,000 ticks and says where to go on.
        for (let next: string | undefined = from, calls = 0; next !== undefined && calls < callsMost; calls++) {
          const answer: Done = await post<Done>(`${pathOf(activity)}/backfill`, { from: next, to });
          for (const name of ['ticks', 'started', 'existing', 'refused'] as const) sum[name] += answer[name];
          setTold({ ...sum });
          next = answer.next_from;
        }
        toast(`${count(sum.started)} of ${count(sum.ticks)} ticks started, ${count(sum.existing)} had run already${sum.refused > 0 ? `, ${count(sum.refused)} refused` : ''}`);
        onDone();
      }}
    >
      <p>Runs the ticks of a time gone by. Those that ran are not run again.</p>
      <label class="field"><span>From</span><input data-first required placeholder="2026-03-01 or 2026-03-01T09:00:00Z" value={from} maxLength={40} onInput={(event) => setFrom(event.currentTarget.value)} /></label>
      <label class="field"><span>To</span><input required placeholder="2026-03-07" value={to} maxLength={40} onInput={(event) => setTo(event.currentTarget.value)} /></label>
      {told && <p role="status"><Text value={`${count(told.ticks)} ticks looked at, ${count(told.started)} started`} /></p>}
    </Ask>
  );
}
