// Sends a CloudEvent and shows which activities took it.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError, post } from '../api/http';
import type { RoutedEvent } from '../api/types';
import { useAct } from '../lib/use_resource';
import { useMay } from '../state/me';
import { href } from '../state/router';
import { JsonField, jsonOf } from './json_field';
import { ErrorNote } from './notes';
import { Text } from './text';

const first = (): string => `evt-${Date.now().toString(36)}`;

export function EventComposer(): JSX.Element {
  const may = useMay('enqueue');
  const [members, setMembers] = useState({ type: 'order.created', source: '/shop', subject: '', id: first() });
  const [data, setData] = useState('{\n  "order": 7,\n  "country": "CH"\n}');
  const [sent, setSent] = useState<RoutedEvent[]>([]);
  const { busy, error, run } = useAct();
  if (!may) return <p class="note">Sending events needs a token with the scope <code>enqueue</code>.</p>;
  const field = (name: keyof typeof members, label: string, help: string, required = true): JSX.Element => (
    <label class="field">
      <span>{label} <span class="dim">{help}</span></span>
      <input value={members[name]} required={required} maxLength={1024} onInput={(event) => setMembers({ ...members, [name]: event.currentTarget.value })} />
    </label>
  );
  return (
    <div class="split">
      <form
        class="composer"
        onSubmit={(event) => {
          event.preventDefault();
          void run(async () => {
            const texts = Object.entries(members).filter(([, value]) => value !== '').map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
            const body = `{"specversion":"1.0",${texts.join(',')},"data":${data}}`;
            const routed = await post<RoutedEvent>('v1/events', undefined, { rawBody: body, contentType: 'application/cloudevents+json' });
            setSent((before) => [routed, ...before].slice(0, 20));
          });
        }}
      >
        {field('type', 'Type', 'patterns of activities match it')}
        {field('source', 'Source', 'where it comes from')}
        {field('id', 'Id', 'the same id starts nothing twice')}
        {field('subject', 'Subject', 'optional', false)}
        <JsonField label="Data" value={data} onChange={setData} rows={8} />
        <ErrorNote error={error} what="Sending" />
        {error instanceof ApiError && error.problem.event !== undefined && <Routed event={error.problem.event as RoutedEvent} />}
        <div class="dialog-foot">
          <button type="button" onClick={() => setMembers({ ...members, id: first() })}>New id</button>
          <button type="submit" class="primary" disabled={busy || !jsonOf(data).good}>{busy ? 'Sending…' : 'Send'}</button>
        </div>
      </form>
      <div aria-live="polite">
        <h2>Who took it</h2>
        {sent.length === 0 ? <p class="dim">Nothing was sent yet. Send the same id twice to see that it starts nothing again.</p> : sent.map((event, index) => <Routed key={index} event={event} />)}
      </div>
    </div>
  );
}

function Routed({ event }: { event: RoutedEvent }): JSX.Element {
  const runs = event.runs ?? [];
  return (
    <article class="routed">
      <p><Text value={event.type} /> <span class="dim">from</span> <Text value={event.source} /> <Text value={event.id} mono /></p>
      {runs.length === 0 && (event.paused ?? []).length === 0 && <p class="dim">No activity wants it: look at the type, the source and the filters of the subscriptions.</p>}
      <ul>
        {runs.map((run) => (
          <li key={run.activity}>
            <a href={href(`schedules/${encodeURIComponent(run.activity)}`)}><Text value={run.activity} /></a>{' '}
            {run.error ? <span class="bad"><Text value={run.error} /></span> : run.created ? <span class="tag good">started</span> : <span class="tag">it had started before</span>}{' '}
            {run.execution && <a class="mono" href={href(`executions/${run.execution}`)}>{run.execution}</a>}
          </li>
        ))}
        {(event.paused ?? []).map((name) => <li key={name}><Text value={name} /> <span class="tag warn">paused</span></li>)}
      </ul>
    </article>
  );
}
