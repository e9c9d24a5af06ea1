import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { get, put } from '../api/http';
import type { Overview } from '../api/types';
import { Ask } from '../components/dialog';
import { Empty, ErrorNote, Loading } from '../components/notes';
import { PageHead } from '../components/page_head';
import { QueueTable } from '../components/queue_table';
import { counted } from '../lib/format';
import { useStore } from '../lib/store';
import { useResource } from '../lib/use_resource';
import { useMay } from '../state/me';
import { go, href, place, query, setParams } from '../state/router';
import { depthOf, takeSample } from '../state/samples';

export function QueuesPage(): JSX.Element {
  useStore(place);
  const params = query();
  const search = params.get('name') ?? '';
  const only = params.get('only') ?? '';
  const overview = useResource(`overview ${params.get('ns') ?? ''}`, (signal) => get<Overview>('v1/overview', {}, { signal }), { everyMs: 3000 });
  const [making, setMaking] = useState(false);
  const may = useMay('admin');
  useEffect(() => {
    if (overview.data) takeSample(overview.data);
  }, [overview.data]);
  const all = overview.data?.queues ?? [];
  const shown = all.filter((queue) => queue.queue.includes(search) && (only === '' || (only === 'paused' ? queue.paused || queue.draining : only === 'busy' ? depthOf(queue) + queue.running > 0 : queue.dead > 0)));
  return (
    <>
      <PageHead title="Queues" sub={overview.data ? counted(all.length, 'queue') : undefined}>
        {may && <button type="button" onClick={() => setMaking(true)}>New queue…</button>}
      </PageHead>
      <div class="filter-bar">
        <form role="search" class="search" onSubmit={(event) => event.preventDefault()}>
          <input type="search" aria-label="Search queues" placeholder="Name" value={search} maxLength={200} onInput={(event) => setParams({ name: event.currentTarget.value }, true)} />
          <kbd aria-hidden="true">/</kbd>
        </form>
        <div class="segments" role="group" aria-label="Which queues">
          {[['', 'all'], ['busy', 'with work'], ['paused', 'paused or draining'], ['dead', 'with dead letters']].map(([value, label]) => (
            <button key={value} type="button" aria-pressed={only === value} onClick={() => setParams({ only: value })}>{label}</button>
          ))}
        </div>
      </div>
      <ErrorNote error={overview.data ? undefined : overview.error} retry={overview.reload} what="Reading the queues" />
      {!overview.data && !overview.error ? <Loading what="queues" /> : shown.length > 0 ? <QueueTable queues={shown} /> : overview.data && (
        all.length === 0
          ? <Empty title="No queues yet"><p>A queue is made by the first execution or worker that names it: <code>hapax enqueue greet --queue emails</code>.</p></Empty>
          : <Empty title="No queue matches"><p><a href={href('queues')}>All queues</a></p></Empty>
      )}
      {making && <NewQueue onClose={() => setMaking(false)} />}
    </>
  );
}

function NewQueue({ onClose }: { onClose: () => void }): JSX.Element {
  const [name, setName] = useState('');
  return (
    <Ask title="New queue" yes="Make it" onClose={onClose} act={async () => { await put(`v1/queues/${encodeURIComponent(name)}`, {}); go(href(`queues/${encodeURIComponent(name)}`)); }}>
      <p>A queue is made by itself when something is enqueued; make one here to set its limits before.</p>
      <label class="field"><span>Name</span><input data-first required maxLength={200} value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
    </Ask>
  );
}
