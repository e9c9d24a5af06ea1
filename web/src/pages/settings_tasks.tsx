// The tasks' catalogue.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { get, remove, request } from '../api/http';
import type { TaskEntry } from '../api/types';
import { Ask } from '../components/dialog';
import { JsonField, jsonOf } from '../components/json_field';
import { Empty, ErrorNote, Loading, toast } from '../components/notes';
import { Table, type Column } from '../components/table';
import { Text } from '../components/text';
import { Ago } from '../components/time';
import { formatJson, parseJson } from '../lib/lossless_json';
import { useResource } from '../lib/use_resource';
import { useMay } from '../state/me';
import { href, query } from '../state/router';

export function TasksTab(): JSX.Element {
  const may = useMay('admin');
  const [editing, setEditing] = useState<TaskEntry | 'new' | null>(null);
  const [deleting, setDeleting] = useState<TaskEntry | null>(null);
  const read = useResource(`tasks ${query().get('ns') ?? ''}`, (signal) => get<{ tasks: TaskEntry[] }>('v1/tasks', {}, { signal, lossless: true }));
  const text = (name: string) => (entry: TaskEntry): JSX.Element => { const value = entry.definition[name]; return <Text value={value === undefined || value === null ? null : typeof value === 'string' ? value : formatJson(value, 0)} />; };
  const columns: Column<TaskEntry>[] = [
    { name: 'task', label: 'Task', kind: 'wide', cell: (entry) => <a href={href('executions', { task: entry.task })}><Text value={entry.task} /></a> },
    { name: 'strategy', label: 'Same by', cell: text('identity_strategy') },
    { name: 'keys', label: 'Fields', cell: text('identity_keys') },
    { name: 'queue', label: 'Queue', cell: text('queue') },
    { name: 'attempts', label: 'Attempts', kind: 'number', cell: text('max_attempts') },
    { name: 'timeout', label: 'Timeout', kind: 'number', cell: text('timeout') },
    { name: 'origin', label: 'From', cell: (entry) => <Text value={entry.origin} /> },
    { name: 'updated', label: 'Changed', kind: 'number', cell: (entry) => <Ago at={entry.updated_at} /> },
    ...(may ? [{ name: 'act', label: '', cell: (entry: TaskEntry) => <div class="actions"><button type="button" class="small" onClick={() => setEditing(entry)}>Edit…</button><button type="button" class="small danger-ghost" onClick={() => setDeleting(entry)}>Remove…</button></div> }] : []),
  ];
  return (
    <>
      <div class="section-head"><p class="dim">A catalogued task has one identity strategy at every door.</p>{may && <button type="button" onClick={() => setEditing('new')}>Catalogue a task…</button>}</div>
      <ErrorNote error={read.data ? undefined : read.error} retry={read.reload} />
      {!read.data ? !read.error && <Loading what="tasks" /> : read.data.tasks.length === 0
        ? <Empty title="The catalogue is empty"><p>A descriptor in code that names a strategy, a <code>[tasks.X]</code> table, or this page catalogues a task. A name that nobody catalogued runs each time it is asked for.</p></Empty>
        : <Table label="Tasks" rows={read.data.tasks} id={(entry) => entry.task} columns={columns} />}
      {editing && <EditTask entry={editing === 'new' ? null : editing} onClose={() => setEditing(null)} onDone={read.reload} />}
      {deleting && (
        <Ask title={`Take ${deleting.task} out of the catalogue?`} yes="Remove 1" danger onClose={() => setDeleting(null)} act={async () => { await remove(`v1/tasks/${encodeURIComponent(deleting.task)}`); read.reload(); }}>
          <p>Requests for it without a key then run each time.</p>
        </Ask>
      )}
    </>
  );
}

function EditTask({ entry, onClose, onDone }: { entry: TaskEntry | null; onClose: () => void; onDone: () => void }): JSX.Element {
  const [name, setName] = useState(entry?.task ?? '');
  const [text, setText] = useState(formatJson(entry?.definition ?? { identity_strategy: 'strict', queue: 'default', max_attempts: 4 }));
  return (
    <Ask
      title={entry ? `Task ${entry.task}` : 'Catalogue a task'} yes="Save" wide disabled={!jsonOf(text).good || name === ''} onClose={onClose}
      act={async () => { await request('PUT', `v1/tasks/${encodeURIComponent(name)}`, { rawBody: formatJson(parseJson(text), 0) }); toast('Saved'); onDone(); }}
    >
      {!entry && <label class="field"><span>Name</span><input data-first required value={name} maxLength={200} onInput={(event) => setName(event.currentTarget.value)} /></label>}
      <JsonField label="Definition" value={text} onChange={setText} rows={12} />
    </Ask>
  );
}
