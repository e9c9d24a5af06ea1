// A new activity or another definition of one: fields for a schedule, with its next fires while the expression is typed,
// and the whole definition as JSON for everything else.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError, post, request } from '../api/http';
import type { Activity, Preview } from '../api/types';
import { formatJson, parseJson, type Json } from '../lib/lossless_json';
import { useResource } from '../lib/use_resource';
import { useHas } from '../state/me';
import { go, href } from '../state/router';
import { Ask } from './dialog';
import { JsonField, jsonOf } from './json_field';
import { toast } from './notes';
import { Text } from './text';
import { Ago, At } from './time';

const example = {
  name: 'Daily report',
  trigger: { type: 'cron', cron: '0 9 * * MON-FRI', time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC', misfire_policy: 'catchup', overlap: 'skip' },
  target: { task: 'generate-report', queue: 'reports' },
  input: { kind: 'daily' },
};

const typedPause = 300; // ms

export function ActivityForm({ activity, onClose }: { activity?: Activity; onClose: () => void }): JSX.Element {
  const [id, setId] = useState(activity?.id ?? '');
  const [text, setText] = useState(formatJson((activity?.definition ?? example) as Json));
  const parsed = jsonOf(text);
  const trigger = parsed.good && parsed.value !== null && typeof parsed.value === 'object' ? (parsed.value as Record<string, Json>).trigger : undefined;
  const cron = trigger !== null && typeof trigger === 'object' && (trigger as Record<string, Json>).type === 'cron' ? (trigger as Record<string, Json>) : null;
  const setMember = (name: string, value: string): void => {
    if (!parsed.good) return;
    const whole = parsed.value as Record<string, Json>;
    const next = { ...(whole.trigger as Record<string, Json>) };
    if (value === '') delete next[name];
    else next[name] = value;
    setText(formatJson({ ...whole, trigger: next }));
  };
  return (
    <Ask
      title={activity ? `Edit ${activity.name}` : 'New activity'} yes={activity ? 'Save' : 'Make it'} wide disabled={!parsed.good || id === ''} onClose={onClose}
      act={async () => {
        const saved = await request<Activity>('PUT', `v1/activities/${encodeURIComponent(id)}`, { rawBody: formatJson(parseJson(text), 0) });
        toast('Saved');
        if (!activity) go(href(`schedules/${encodeURIComponent(saved.id)}`));
      }}
    >
      {!activity && <label class="field"><span>Id</span><input data-first required value={id} maxLength={200} placeholder="daily-report" onInput={(event) => setId(event.currentTarget.value)} /></label>}
      {cron && (
        <div class="row">
          <label class="field"><span>Cron</span><input class="mono" value={typeof cron.cron === 'string' ? cron.cron : ''} maxLength={255} onInput={(event) => setMember('cron', event.currentTarget.value)} /></label>
          <label class="field"><span>Time zone</span><input value={typeof cron.time_zone === 'string' ? cron.time_zone : ''} placeholder="UTC" maxLength={64} list="zones" onInput={(event) => setMember('time_zone', event.currentTarget.value)} />
            <datalist id="zones">{zones().map((zone) => <option key={zone} value={zone} />)}</datalist></label>
          <label class="field"><span>Missed ticks</span>
            <select value={typeof cron.misfire_policy === 'string' ? cron.misfire_policy : 'skip'} onChange={(event) => setMember('misfire_policy', event.currentTarget.value)}>
              {['skip', 'catchup', 'compress'].map((each) => <option key={each} value={each}>{each}</option>)}
            </select></label>
        </div>
      )}
      {cron && <TypedPreview trigger={formatJson(cron, 0)} />}
      <JsonField label="Definition" value={text} onChange={setText} rows={14} />
    </Ask>
  );
}

function zones(): string[] {
  const all = (Intl as { supportedValuesOf?: (what: string) => string[] }).supportedValuesOf;
  try {
    return ['UTC', ...(all?.('timeZone') ?? [])];
  } catch {
    return ['UTC'];
  }
}

// The next fires of what is typed, for servers that preview a trigger which is not stored.
function TypedPreview({ trigger }: { trigger: string }): JSX.Element | null {
  const has = useHas('/v1/activities/preview', 'post') === true;
  const [asked, setAsked] = useState(trigger);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(trigger), typedPause);
    return () => clearTimeout(timer);
  }, [trigger]);
  const told = useResource(`typed ${asked}`, (signal) => post<Preview>('v1/activities/preview', undefined, { rawBody: `{"trigger":${asked},"count":5}`, signal }), { enabled: has });
  if (!has) return null;
  if (told.error) return <p class="bad small-text" role="status">{told.error instanceof ApiError ? <Text value={told.error.message} /> : 'no preview now'}</p>;
  if (!told.data) return <p class="dim small-text">next fires…</p>;
  return (
    <div class="typed-preview">
      <p><Text value={told.data.description} /></p>
      <ul class="fires">{told.data.fires.map((fire) => <li key={fire.run_id}><At at={fire.due} /> <Ago at={fire.due} />{fire.note && <span class="tag warn"><Text value={fire.note} /></span>}</li>)}</ul>
    </div>
  );
}
