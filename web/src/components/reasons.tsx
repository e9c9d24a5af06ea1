// The reasons of explain, with the remedies that this page can do as buttons; others stay as the command that does them.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { post } from '../api/http';
import type { Execution, Reason } from '../api/types';
import { useAct } from '../lib/use_resource';
import { useHas, useMay } from '../state/me';
import { href } from '../state/router';
import { Copy } from './copy';
import { DiscardDialog, RetryDialog, SignalDialog } from './execution_dialogs';
import { ErrorNote, toast } from './notes';
import { Sentence } from './sentence';
import { Text } from './text';

interface Remedy {
  label: string;
  run?: () => void;
  to?: string;
}

// Their buttons do all that the command of the remedy does.
const coveredByButtons = new Set(['dead_letter', 'paused', 'waiting']);

export function Reasons({ e, reasons, onChange }: { e: Execution; reasons: Reason[]; onChange: () => void }): JSX.Element {
  const may = useMay('admin');
  const maySignal = useMay('enqueue');
  const hasRunNow = useHas('/v1/executions/{id}/run-now', 'post') === true;
  const { busy, error, run } = useAct();
  const [asking, setAsking] = useState<'retry' | 'discard' | 'signal' | null>(null);
  const queue = href(`queues/${encodeURIComponent(e.queue)}`);

  const remedies = (reason: Reason): Remedy[] => {
    switch (reason.code) {
      case 'dead_letter':
        return may ? [{ label: 'Retry…', run: () => setAsking('retry') }, { label: 'Discard…', run: () => setAsking('discard') }] : [];
      case 'failed': case 'cancelled': case 'timed_out':
        return may && !e.dead && !e.retried_as ? [{ label: 'Retry…', run: () => setAsking('retry') }] : [];
      case 'paused':
        return may ? [{ label: 'Resume the queue', run: () => void run(async () => {
          await post(`v1/queues/${encodeURIComponent(e.queue)}/resume`);
          toast(`${e.queue} goes on`);
          onChange();
        }) }] : [];
      case 'delayed': case 'retrying':
        return may && hasRunNow ? [{ label: 'Run now', run: () => void run(async () => {
          await post(`v1/executions/${e.id}/run-now`);
          toast('It is due now');
          onChange();
        }) }] : [];
      case 'waiting':
        return maySignal && reason.remedy?.startsWith('hapax signal') ? [{ label: 'Send the signal…', run: () => setAsking('signal') }] : [];
      case 'rate_limit': case 'concurrency': case 'worker_concurrency': case 'concurrency_key': case 'key_rate_limit':
        return [{ label: 'Change the limit', to: queue }];
      case 'no_worker': case 'no_worker_for_task':
        return [{ label: 'See the workers', to: href('workers') }];
      case 'ordering_key': case 'earlier_run':
        return [{ label: 'See who is before it', to: href('executions', { queue: e.queue, status: 'pending,running' }) }];
      case 'retried':
        return e.retried_as ? [{ label: 'See the new run', to: href(`executions/${e.retried_as}`) }] : [];
      default:
        return [];
    }
  };
  // The name of the signal that is waited for stands in the remedy: hapax signal ID NAME --data JSON.
  const signal = reasons.map((reason) => /^hapax signal \S+ (\S+)/.exec(reason.remedy ?? '')?.[1]).find(Boolean);
  return (
    <>
      <ul class="reasons">
        {reasons.map((reason) => (
          <li key={reason.code + reason.sentence}>
            <p><Sentence value={reason.sentence} /></p>
            <div class="remedies">
              {remedies(reason).map((remedy) => remedy.to
                ? <a key={remedy.label} class="button small" href={remedy.to}>{remedy.label}</a>
                : <button key={remedy.label} type="button" class="small" disabled={busy} onClick={remedy.run}>{remedy.label}</button>)}
              {reason.remedy && !(remedies(reason).length > 0 && coveredByButtons.has(reason.code)) && <span class="remedy-text"><Text value={reason.remedy} /> {reason.remedy.startsWith('hapax ') && <Copy text={reason.remedy} label="Copy the command" />}</span>}
            </div>
          </li>
        ))}
      </ul>
      <ErrorNote error={error} />
      {asking === 'retry' && <RetryDialog e={e} onClose={() => setAsking(null)} />}
      {asking === 'discard' && <DiscardDialog e={e} onClose={() => setAsking(null)} onDone={onChange} />}
      {asking === 'signal' && <SignalDialog e={e} name={signal ?? ''} onClose={() => setAsking(null)} onDone={onChange} />}
    </>
  );
}
