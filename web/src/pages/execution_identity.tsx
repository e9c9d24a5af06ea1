// What makes a request the same as this one, who holds that now, and what the next request would meet.
import type { JSX } from 'preact';
import { get, post } from '../api/http';
import type { AskedIdentity, Execution, HeldIdentity } from '../api/types';
import { Copy } from '../components/copy';
import { ErrorNote, Loading } from '../components/notes';
import { Fields } from '../components/page_head';
import { StatusBadge } from '../components/status';
import { Text } from '../components/text';
import { Ago, At } from '../components/time';
import { count } from '../lib/format';
import { formatJson } from '../lib/lossless_json';
import { useResource } from '../lib/use_resource';
import { useHas } from '../state/me';
import { href } from '../state/router';

const strategies: Record<string, string> = {
  strict: 'the task and its whole input',
  caller_provided: 'the key that the caller gives',
  always_unique: 'nothing: each request is another one, unless it brings a key',
  contextual: 'the task and some fields of its input',
};

interface Told {
  strategy: string;
  scope: string;
  key: string | null;
  identity: string | null;
  fingerprint: string | null;
  holder: { id: string; status: HeldIdentity['next_enqueue']; run: number } | null;
  heldUntil: string | null;
  asked?: number | undefined;
  deduplicated?: number | undefined;
  would: string;
  sentence: string | null;
  material: string[];
}

async function ask(e: Execution, own: boolean, signal: AbortSignal): Promise<Told> {
  if (own) {
    const held = await get<HeldIdentity>(`v1/executions/${e.id}/identity`, {}, { signal });
    return {
      strategy: held.strategy, scope: held.scope, key: held.key, identity: e.identity, fingerprint: held.fingerprint, holder: held.holder,
      heldUntil: held.held_until ?? null, asked: held.asked, deduplicated: held.deduplicated, would: held.next_enqueue, sentence: held.sentence,
      material: held.material,
    };
  }
  // The question that an enqueue of the same request would ask; nothing is written.
  const body = `{"queue":${JSON.stringify(e.queue)},"input":${formatJson(e.input ?? null, 0)}${e.task_id === null ? '' : `,"task_id":${JSON.stringify(e.task_id)}`}}`;
  const asked = await post<AskedIdentity>(`v1/tasks/${encodeURIComponent(e.task)}/identity`, undefined, { rawBody: body, signal });
  return {
    strategy: asked.task_id === null ? asked.strategy : 'caller_provided', scope: asked.scope, key: asked.task_id, identity: asked.identity ?? e.identity,
    fingerprint: asked.fingerprint, holder: asked.holder, heldUntil: asked.holder?.held_until ?? null, would: asked.would, sentence: null,
    material: asked.canonical === null ? [] : [asked.canonical],
  };
}

const meets: Record<string, string> = {
  created: 'The next request like it makes a new execution.',
  deduplicated: 'The next request like it gets the holder instead of a new execution.',
  replaced: 'The next request like it replaces the pending one.',
  taken_over: 'The next request like it takes over from the holder.',
  rejected: 'The next request like it is refused.',
  TaskAlreadyExists: 'The next request like it is refused while the holder goes on (409), or gets the holder if it asks for that.',
  TaskAlreadyCompleted: 'The next request like it is answered with the recorded result.',
  TaskAlreadyFinished: 'The next request like it is refused: the holder has ended, and its task does not run again under the key.',
  IdempotencyMismatch: 'The next request under this key with this input is refused: the holder has another input (422).',
  QueueDraining: 'The next request like it is refused: the queue drains.',
};

export function IdentityTab({ e }: { e: Execution }): JSX.Element {
  const own = useHas('/v1/executions/{id}/identity');
  const told = useResource(`identity ${e.id} ${e.status} ${String(own)}`, (signal) => ask(e, own === true, signal), { enabled: own !== undefined });
  const data = told.data;
  if (!data) return told.error ? <ErrorNote error={told.error} retry={told.reload} what="Asking for the identity" /> : <Loading what="the identity" />;
  return (
    <div class="identity">
      <p class="lead"><Text value={data.sentence ?? meets[data.would] ?? `The next request like it: ${data.would}.`} /></p>
      <Fields items={[
        ['Requests are the same by', <span>{strategies[data.strategy] ?? data.strategy} <span class="tag">{data.strategy}</span></span>],
        ['Within', <span>{data.scope === 'task' ? 'this task' : data.scope === 'queue' ? 'this queue' : 'the whole namespace'}</span>],
        data.key !== null && ['Key', <><Text value={data.key} mono /> <Copy text={data.key} label="Copy the key" /></>],
        ...data.material.map((each): [string, JSX.Element] => ['Made from', <Text value={each} mono />]),
        ['Held by', data.holder === null ? <span class="dim">nobody now</span> : (
          <span>
            {data.holder.id === e.id ? 'this execution' : <a class="mono" href={href(`executions/${data.holder.id}`)}>{data.holder.id}</a>}{' '}
            <StatusBadge status={data.holder.status} /> <span class="dim num">run {data.holder.run}</span>
          </span>
        )],
        data.holder !== null && ['Held until', data.heldUntil ? <span><At at={data.heldUntil} /> (<Ago at={data.heldUntil} />)</span> : <span>as long as its record is kept</span>],
        data.asked !== undefined && ['Asked for', <span class="num">about {count(data.asked)} times, deduplicated about {count(data.deduplicated)} times</span>],
        data.identity !== null && ['Identity', <><a class="mono wrap" href={href('executions', { identity: data.identity })}>{data.identity}</a></>],
        data.fingerprint !== null && ['Fingerprint of the input', <span class="mono wrap">{data.fingerprint}</span>],
      ]} />
      <p class="dim">{data.asked !== undefined ? 'How often it was asked for is counted in memory and written now and then, so it is approximate.' : ''} A link on the identity lists all its runs.</p>
    </div>
  );
}
