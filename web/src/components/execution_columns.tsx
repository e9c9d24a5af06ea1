// The columns that lists of executions may show.
import type { JSX } from 'preact';
import type { Execution } from '../api/types';
import { formatJson } from '../lib/lossless_json';
import { href } from '../state/router';
import { executionNote, StatusBadge } from './status';
import type { Column } from './table';
import { Text } from './text';
import { Ago, Took } from './time';

const payloadShown = 120;

function short(value: unknown): JSX.Element {
  return <span class="mono payload"><Text value={value === undefined ? null : formatJson(value, 0).slice(0, payloadShown)} /></span>;
}

export const allColumns: Record<string, Column<Execution>> = {
  status: { name: 'status', label: 'Status', cell: (e) => <StatusBadge status={e.status} note={executionNote(e)} /> },
  task: {
    name: 'task', label: 'Task', kind: 'wide',
    cell: (e) => <a href={href(`executions/${e.id}`)}><Text value={e.task} />{e.kind === 'workflow' && <span class="tag">workflow</span>}</a>,
  },
  key: { name: 'key', label: 'Key', kind: 'wide', cell: (e) => <Text value={e.task_id} mono /> },
  queue: { name: 'queue', label: 'Queue', cell: (e) => <Text value={e.queue} /> },
  attempt: { name: 'attempt', label: 'Attempt', kind: 'number', cell: (e) => <span class={e.attempt > 1 ? 'num' : 'num zero'}>{e.attempt}/{e.max_attempts}</span> },
  created: { name: 'created', label: 'Created', kind: 'number', cell: (e) => <Ago at={e.created_at} /> },
  took: { name: 'took', label: 'Ran', kind: 'number', cell: (e) => <Took from={e.started_at} to={e.finished_at ?? (e.status === 'running' ? null : e.started_at)} /> },
  finished: { name: 'finished', label: 'Ended', kind: 'number', cell: (e) => <Ago at={e.finished_at} /> },
  due: { name: 'due', label: 'Due', kind: 'number', cell: (e) => e.status === 'pending' ? <Ago at={e.run_at} /> : <span class="none">–</span> },
  error: { name: 'error', label: 'Error', kind: 'wide', cell: (e) => e.error ? <Text value={`${e.error.type ? e.error.type + ': ' : ''}${e.error.message}`} /> : <span class="none">–</span> },
  worker: { name: 'worker', label: 'Worker', cell: (e) => <Text value={e.worker ?? null} /> },
  tags: { name: 'tags', label: 'Tags', cell: (e) => e.tags.length === 0 ? <span class="none">–</span> : <>{e.tags.slice(0, 4).map((tag) => <a key={tag} class="tag" href={href('executions', { tag })}><Text value={tag} /></a>)}</> },
  metadata: { name: 'metadata', label: 'Metadata', kind: 'wide', cell: (e) => short(e.metadata ?? undefined) },
  priority: { name: 'priority', label: 'Priority', kind: 'number', cell: (e) => e.priority },
  run: { name: 'run', label: 'Run', kind: 'number', cell: (e) => e.run },
  progress: { name: 'progress', label: 'Progress', cell: (e) => e.progress?.fraction === undefined ? <span class="none">–</span> : <progress max={1} value={e.progress.fraction} aria-label="Progress" title={e.progress.message ?? ''} /> },
  input: { name: 'input', label: 'Input', kind: 'wide', cell: (e) => short(e.input) },
  result: { name: 'result', label: 'Result', kind: 'wide', cell: (e) => short(e.result) },
  enqueued_by: { name: 'enqueued_by', label: 'Asked by', cell: (e) => <Text value={e.enqueued_by ?? null} /> },
  id: { name: 'id', label: 'Id', cell: (e) => <Text value={e.id} mono /> },
};

const usual = ['status', 'task', 'key', 'queue', 'attempt', 'created', 'took', 'error'];

export function shownColumns(chosen: string[] | null): string[] {
  const known = (chosen ?? []).filter((name) => name in allColumns);
  return known.length > 0 ? known : usual;
}

export function executionColumns(names: string[]): Column<Execution>[] {
  return names.map((name) => allColumns[name]!);
}

export function ColumnChoice({ chosen, payloads, onChange }: { chosen: string[]; payloads: boolean; onChange: (next: string[]) => void }): JSX.Element {
  return (
    <details class="menu">
      <summary class="button">Columns</summary>
      <div class="menu-body">
        {Object.values(allColumns).filter((column) => payloads || (column.name !== 'input' && column.name !== 'result')).map((column) => (
          <label key={column.name} class="check">
            <input
              type="checkbox" checked={chosen.includes(column.name)}
              onChange={(event) => {
                const next = event.currentTarget.checked ? [...chosen, column.name] : chosen.filter((name) => name !== column.name);
                // In the order of the list above, whatever the order of the clicks.
                onChange(Object.keys(allColumns).filter((name) => next.includes(name)));
              }}
            />
            {column.label}
          </label>
        ))}
        <button type="button" class="link" onClick={() => onChange(usual)}>as usual</button>
      </div>
    </details>
  );
}
