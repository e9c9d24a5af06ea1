// A queue's settings, edited in place: only what was changed is sent, an emptied field takes the setting away.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError, put } from '../api/http';
import type { Queue } from '../api/types';
import { useAct } from '../lib/use_resource';
import { ErrorNote, toast } from './notes';

interface Setting {
  name: 'rate_limit' | 'concurrency' | 'worker_concurrency' | 'key_concurrency' | 'key_rate_limit' | 'retention' | 'failed_retention' | 'dedup_window';
  label: string;
  help: string;
  example: string;
  number?: boolean;
}

const list: Setting[] = [
  { name: 'rate_limit', label: 'Rate', help: 'starts of the whole queue', example: '100/sec' },
  { name: 'concurrency', label: 'At once', help: 'running at once, all workers together', example: 'unlimited', number: true },
  { name: 'worker_concurrency', label: 'Per worker', help: 'running at once on one worker', example: 'unlimited', number: true },
  { name: 'key_concurrency', label: 'Per key', help: 'running at once of one concurrency key', example: '1', number: true },
  { name: 'key_rate_limit', label: 'Rate per key', help: 'starts of one concurrency or ordering key', example: '30/min burst 5' },
  { name: 'retention', label: 'Retention', help: 'how long ended ones are kept', example: '7d' },
  { name: 'failed_retention', label: 'Retention of failures', help: 'how long failed ones are kept', example: 'as retention' },
  { name: 'dedup_window', label: 'Dedup window', help: 'how long a completed one holds its key', example: 'as retention' },
];

function shownValue(queue: Queue, setting: Setting): string {
  const value = queue[setting.name];
  if (setting.name === 'retention' && queue.retention_is_default) return '';
  return value === null ? '' : String(value);
}

export function LimitsForm({ queue, may, onSaved }: { queue: Queue; may: boolean; onSaved: (queue: Queue) => void }): JSX.Element {
  const [edits, setEdits] = useState<Partial<Record<Setting['name'], string>>>({});
  const { busy, error, run } = useAct();
  const changed = list.filter((setting) => edits[setting.name] !== undefined && edits[setting.name] !== shownValue(queue, setting));
  const field = error instanceof ApiError ? String(error.problem.field ?? '') : '';
  return (
    <form
      class="limits"
      onSubmit={(event) => {
        event.preventDefault();
        void run(async () => {
          const body = Object.fromEntries(changed.map((setting) => {
            const text = (edits[setting.name] ?? '').trim();
            return [setting.name, text === '' ? null : setting.number ? Number(text) : text];
          }));
          onSaved(await put<Queue>(`v1/queues/${encodeURIComponent(queue.queue)}`, body));
          setEdits({});
          toast('Saved: workers see it within seconds');
        });
      }}
    >
      {list.map((setting) => (
        <label key={setting.name} class={`field ${edits[setting.name] !== undefined && edits[setting.name] !== shownValue(queue, setting) ? 'changed' : ''}`}>
          <span>{setting.label} <span class="dim">{setting.help}</span></span>
          <input
            value={edits[setting.name] ?? shownValue(queue, setting)} readOnly={!may} placeholder={setting.example} aria-invalid={field === setting.name}
            {...(setting.number ? { inputMode: 'numeric' as const, pattern: '[0-9]*' } : {})} maxLength={60}
            onInput={(event) => setEdits({ ...edits, [setting.name]: event.currentTarget.value })}
          />
        </label>
      ))}
      <ErrorNote error={error} />
      {changed.length > 0 && (
        <div class="dialog-foot">
          <button type="button" onClick={() => setEdits({})}>Take back</button>
          <button type="submit" class="primary" disabled={busy}>{busy ? 'Saving…' : `Save ${changed.length === 1 ? changed[0]!.label.toLowerCase() : `${changed.length} settings`}`}</button>
        </div>
      )}
    </form>
  );
}
