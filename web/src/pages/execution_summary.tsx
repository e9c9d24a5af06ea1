// Why it is where it is, payloads, and its members.
import type { JSX } from 'preact';
import type { Execution, Reason } from '../api/types';
import { AttemptsChart } from '../components/attempts_chart';
import { Reasons } from '../components/reasons';
import { JsonView } from '../components/json_view';
import { ErrorNote } from '../components/notes';
import { Fields } from '../components/page_head';
import { LongText, Text } from '../components/text';
import { Ago, At, Took } from '../components/time';
import type { Json } from '../lib/lossless_json';
import { href } from '../state/router';

export function SummaryTab({ e, reasons, whyError, onChange }: { e: Execution; reasons: Reason[] | undefined; whyError: unknown; onChange: () => void }): JSX.Element {
  return (
    <div class="summary">
      <div class="summary-main">
        <section>
          <h2>Why</h2>
          {whyError !== undefined && !reasons && <ErrorNote error={whyError} what="Explaining it" />}
          {reasons && <Reasons e={e} reasons={reasons} onChange={onChange} />}
        </section>
        {e.progress && (
          <section>
            <h2>Progress</h2>
            {e.progress.fraction !== undefined && <progress class="wide" max={1} value={e.progress.fraction} aria-label="Progress" />}
            <p><span class="num">{e.progress.fraction !== undefined ? `${Math.round(e.progress.fraction * 100)} % ` : ''}</span><Text value={e.progress.message ?? ''} /></p>
          </section>
        )}
        {(e.attempts?.length ?? 0) > 0 && <section><h2>Over time</h2><AttemptsChart e={e} /></section>}
        {e.error && (
          <section class="error-box" aria-label="Error">
            <h3>Error{e.error.type && <>: <Text value={e.error.type} /></>}</h3>
            <LongText value={e.error.message} />
            {e.error.detail && <details><summary>detail</summary><LongText value={e.error.detail} first={4000} /></details>}
          </section>
        )}
        <JsonView title="Input" value={e.input} empty="not kept" />
        {e.status === 'completed' && <JsonView title="Result" value={e.result} empty="not kept any more" />}
        {e.metadata && <JsonView title="Metadata" value={e.metadata as Json} />}
      </div>
      <aside>
        <h2 class="sr">Members</h2>
        <Fields items={[
          ['Task', <a href={href('executions', { task: e.task })}><Text value={e.task} /></a>],
          ['Queue', <a href={href(`queues/${encodeURIComponent(e.queue)}`)}><Text value={e.queue} /></a>],
          e.task_id !== null && [e.kind === 'workflow' ? 'Workflow id' : 'Key', <Text value={e.task_id} mono />],
          ['Attempt', <span class="num">{e.attempt} of {e.max_attempts}</span>],
          e.lost !== undefined && e.lost > 0 && ['Lost workers', <span class="num">{e.lost} of {e.max_lost}</span>],
          ['Run', <span class="num">{e.run}</span>],
          ['Created', <Ago at={e.created_at} />],
          e.status === 'pending' && ['Due', <Ago at={e.run_at} />],
          ['Started', <Ago at={e.started_at} />],
          ['Ended', <Ago at={e.finished_at} />],
          e.started_at !== null && ['Last attempt ran', <Took from={e.started_at} to={e.finished_at ?? (e.status === 'running' ? null : e.started_at)} />],
          ['Priority', <span class="num">{e.priority}</span>],
          e.worker && ['Worker', <Text value={e.worker} />],
          ['Fence', <span class="num">{e.fence}</span>],
          e.deadline && ['Deadline', <At at={e.deadline} />],
          e.timeout && ['Timeout', <span class="num">{e.timeout}</span>],
          e.retry && ['Retry', <span class="num">{e.retry.base} × {String(e.retry.multiplier)}, at most {e.retry.cap}, jitter {e.retry.jitter}</span>],
          e.expires_at && ['Kept until', <At at={e.expires_at} />],
          e.effect_key && ['Effect key', <Text value={e.effect_key} mono />],
          e.tags.length > 0 && ['Tags', <>{e.tags.map((tag) => <a key={tag} class="tag" href={href('executions', { tag })}><Text value={tag} /></a>)}</>],
          e.enqueued_by && ['Asked by', <Text value={e.enqueued_by} />],
          e.traceparent && ['Trace', <Text value={e.traceparent.split('-')[1] ?? e.traceparent} mono />],
          e.note && ['Note', <Text value={e.note} />],
        ]} />
      </aside>
    </div>
  );
}
