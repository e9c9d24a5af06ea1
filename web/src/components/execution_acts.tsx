// The acts on one execution, those that its status and the token allow.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { post } from '../api/http';
import type { Execution } from '../api/types';
import { useHas, useMay } from '../state/me';
import { CancelDialog, DiscardDialog, NoteDialog, QueryDialog, RetryDialog, SignalDialog } from './execution_dialogs';
import { toast } from './notes';

type Asking = 'cancel' | 'retry' | 'discard' | 'signal' | 'query' | 'note';

export function ExecutionActs({ e, onChange }: { e: Execution; onChange: () => void }): JSX.Element {
  const admin = useMay('admin');
  const enqueue = useMay('enqueue');
  const hasRunNow = useHas('/v1/executions/{id}/run-now', 'post') === true;
  const [asking, setAsking] = useState<Asking | null>(null);
  const over = e.status !== 'pending' && e.status !== 'running';
  const close = (): void => setAsking(null);
  const waits = e.status === 'pending' && !e.waiting && Date.parse(e.run_at) > Date.now();
  return (
    <>
      {e.kind === 'workflow' && !over && enqueue && <button type="button" onClick={() => setAsking('signal')}>Signal…</button>}
      {e.kind === 'workflow' && !over && <button type="button" onClick={() => setAsking('query')}>Query…</button>}
      {admin && waits && hasRunNow && (
        <button
          type="button"
          onClick={() => void post(`v1/executions/${e.id}/run-now`).then(() => { toast('It is due now'); onChange(); }, (error: Error) => toast(error.message, true))}
        >
          Run now
        </button>
      )}
      {admin && e.dead && <button type="button" onClick={() => setAsking('note')}>Note…</button>}
      {admin && e.dead && <button type="button" class="danger-ghost" onClick={() => setAsking('discard')}>Discard…</button>}
      {admin && !over && !e.cancel_requested && <button type="button" class="danger-ghost" onClick={() => setAsking('cancel')}>Cancel…</button>}
      {admin && over && e.status !== 'completed' && !e.retried_as && <button type="button" class="primary" onClick={() => setAsking('retry')}>Retry…</button>}
      {admin && e.status === 'completed' && <RetryCompleted e={e} />}
      {asking === 'cancel' && <CancelDialog e={e} onClose={close} onDone={onChange} />}
      {asking === 'retry' && <RetryDialog e={e} onClose={close} />}
      {asking === 'discard' && <DiscardDialog e={e} onClose={close} onDone={onChange} />}
      {asking === 'note' && <NoteDialog e={e} onClose={close} onDone={onChange} />}
      {asking === 'signal' && <SignalDialog e={e} name="" onClose={close} onDone={onChange} />}
      {asking === 'query' && <QueryDialog e={e} onClose={close} />}
    </>
  );
}

// A completed execution is not retried as it is; with an edited input it is another request.
function RetryCompleted({ e }: { e: Execution }): JSX.Element | null {
  const [asking, setAsking] = useState(false);
  const may = useHas('/v1/executions/{id}/run-now', 'post') === true && e.kind === 'task';
  if (!may) return null;
  return (
    <>
      <button type="button" onClick={() => setAsking(true)}>Again with an edited input…</button>
      {asking && <RetryDialog e={e} edited onClose={() => setAsking(false)} />}
    </>
  );
}
